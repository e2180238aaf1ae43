"""Laws of the repository: layers, mirrored tests, module sizes, start-up, the public surface, what files may say."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from sepset.surface import NAMESPACES

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "sepset"
TESTS = ROOT / "tests"
MODULES = sorted(SOURCE.rglob("*.py"))

# Each row imports only rows above it in this list. Sides of a row never import each other; within a side, a later
# step may import an earlier one, and members of one step each other, as long as loading them makes no cycle.
LAYERS: tuple[tuple[tuple[frozenset[str], ...], ...], ...] = (
    ((frozenset({"errors", "surface"}), frozenset({"base"}), frozenset({"kernels", "semiring"})),),
    ((frozenset({"variables"}),),),
    ((frozenset({"factors"}),), (frozenset({"graphs"}),)),
    ((frozenset({"problem"}),), (frozenset({"data"}),)),
    ((frozenset({"cpds"}), frozenset({"models"})), (frozenset({"inference"}),)),
    ((frozenset({"engine"}),),),
    ((frozenset({"learning"}),),),
    ((frozenset({"causal"}),),),
    (
        (
            frozenset({"api"}),
            frozenset({"classify", "evaluation", "missing", "potentials", "priors", "recommend", "structure"}),
        ),
    ),
    ((frozenset({"io"}), frozenset({"datasets", "plotting", "sklearn", "testing"})),),
    ((frozenset({"cli", "studio", "__main__"}),),),
)
PLACE = {
    name: (row, side, step)
    for row, sides in enumerate(LAYERS)
    for side, steps in enumerate(sides)
    for step, names in enumerate(steps)
    for name in names
}
ROOT_PACKAGE = "sepset"  # `import sepset` itself: the collected public names, for the edges only
EDGES = (9, 1)

HEAVY = ("pandas", "polars", "matplotlib", "torch", "numba", "networkx", "duckdb")
LARGEST_MODULE = 600
LONGEST_BODY, LONGEST_FUNCTION = 40, 60
MOST_PRIVATE_NAMES = 36  # to be lowered with each that goes
MODULES_AT_IMPORT = 5
MOST_MODULES = 22
COMPILING = {"njit", "jit", "vectorize", "guvectorize", "kernel"}


def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def dotted(path: Path) -> tuple[str, ...]:
    """The module's name in parts: ("sepset", "graphs", "separation"); a package's `__init__` is the package."""
    parts = (ROOT_PACKAGE, *path.relative_to(SOURCE).with_suffix("").parts)
    return parts[:-1] if parts[-1] == "__init__" else parts


def package(name: tuple[str, ...]) -> str:
    """The row's member a module belongs to; the root package stands for itself."""
    return name[1] if len(name) > 1 else ROOT_PACKAGE


@cache
def exists(name: tuple[str, ...]) -> bool:
    path = SOURCE.joinpath(*name[1:])
    return path.is_dir() or path.with_suffix(".py").is_file()


def import_from(node: ast.ImportFrom, path: Path) -> Iterator[tuple[str, ...]]:
    if node.level:
        here = dotted(path) if path.name == "__init__.py" else dotted(path)[:-1]
        base = (*here[: len(here) - node.level + 1], *(node.module.split(".") if node.module else ()))
    else:
        base = tuple((node.module or "").split("."))
    if base[0] != ROOT_PACKAGE:
        return
    for alias in node.names:
        yield (*base, alias.name) if exists((*base, alias.name)) else base


def last_name(node: ast.AST) -> str:
    """The name that an expression ends with: `import_module` of `importlib.import_module`."""
    return str(getattr(node, "attr", getattr(node, "id", "")))


def named(nodes: Iterable[ast.AST], path: Path) -> Iterator[tuple[str, ...]]:
    """Every module of ours that these statements and calls import."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (tuple(a.name.split(".")) for a in node.names if a.name.split(".")[0] == ROOT_PACKAGE)
        elif isinstance(node, ast.ImportFrom):
            yield from import_from(node, path)
        elif isinstance(node, ast.Call) and last_name(node.func) == "import_module":
            for argument in node.args[:1]:
                if isinstance(argument, ast.Constant) and str(argument.value).split(".")[0] == ROOT_PACKAGE:
                    yield tuple(str(argument.value).split("."))


def loaded(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a module that run when it is imported: not functions, and not what only type checkers read."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and last_name(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from loaded(child)


class Facts(NamedTuple):
    """Everything that the laws ask of one file, so that it is parsed once.

    Attributes:
        imports: what it imports anywhere in it: at the top, in functions, for types, or by name.
        on_loading: what it imports when it is loaded.
        roots: the packages that it imports, of all libraries.
        decorators: the names of all decorators.
        compared: lines, and the classes that the class of a value is compared with there.
        lengths: lines and names of functions, with the lines of their statements, and those with their signatures.
        rebuilt: lines on which a collection is built again for each item.
    """

    imports: frozenset[tuple[str, ...]]
    on_loading: frozenset[tuple[str, ...]]
    roots: frozenset[str]
    decorators: tuple[str, ...]
    compared: tuple[tuple[int, frozenset[str]], ...]
    lengths: tuple[tuple[str, tuple[int, int]], ...]
    rebuilt: list[int]


@cache
def facts(path: Path) -> Facts:
    tree = parsed(path)
    nodes = list(ast.walk(tree))
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return Facts(
        frozenset(named(nodes, path)),
        frozenset(named(loaded(tree), path)),
        frozenset(imported_roots(nodes)),
        tuple(decorators(nodes)),
        tuple((node.lineno, frozenset(found)) for node in nodes if (found := compared(node))),
        tuple((f"{node.lineno} {node.name}", code_lines(node)) for node in functions),
        rebuilt(nodes),
    )


def imports(path: Path) -> frozenset[tuple[str, ...]]:
    return facts(path).imports


def lawful(importer: str, imported: str) -> bool:
    if importer == imported:
        return True
    row, side, step = PLACE[importer]
    if imported == ROOT_PACKAGE:
        return (row, step) >= EDGES
    other_row, other_side, other_step = PLACE[imported]
    return other_row < row or (other_row == row and other_side == side and other_step <= step)


def cycle_in(graph: dict[str, set[str]]) -> list[str]:
    """One cycle of a directed graph, or nothing."""
    done: set[str] = set()

    def visit(node: str, trail: list[str]) -> list[str]:
        if node in trail:
            return [*trail[trail.index(node) :], node]
        if node in done:
            return []
        done.add(node)
        return next((found for after in sorted(graph.get(node, ())) if (found := visit(after, [*trail, node]))), [])

    return next((found for node in sorted(graph) if (found := visit(node, []))), [])


def test_every_package_has_a_layer():
    members = {package(dotted(path)) for path in MODULES} - {ROOT_PACKAGE}
    assert members <= set(PLACE), f"no layer for {sorted(members - set(PLACE))}"


def test_imports_go_down_only():
    offences = [
        f"{path.relative_to(ROOT)} imports {'.'.join(target)}"
        for path in MODULES
        if (importer := package(dotted(path))) != ROOT_PACKAGE
        for target in sorted(imports(path))
        if not lawful(importer, package(target))
    ]
    assert not offences, "\n".join(offences)


def reaches_a_room(target: tuple[str, ...]) -> bool:
    """Whether an import is of a room of inference, not of the modules at its top."""
    rooms = {path.name for path in (SOURCE / "inference").iterdir() if (path / "__init__.py").is_file()}
    return target[:2] == (ROOT_PACKAGE, "inference") and len(target) > 2 and target[2] in rooms


def test_learning_asks_an_engine():
    """It knows the modules at the top of inference; methods are reached through `engine`, by capability."""
    offences = [
        f"{path.relative_to(ROOT)} imports {'.'.join(target)}"
        for path in (SOURCE / "learning").rglob("*.py")
        for target in sorted(imports(path))
        if reaches_a_room(target)
    ]
    assert not offences, "\n".join(offences)
    assert reaches_a_room(("sepset", "inference", "cliquetree", "method"))
    assert not reaches_a_room(("sepset", "inference", "method"))


def test_loading_makes_no_cycle():
    graph = {".".join(dotted(path)): {".".join(target) for target in facts(path).on_loading} for path in MODULES}
    assert cycle_in(graph) == []


def room(name: tuple[str, ...]) -> str:
    """The folder of a module; a module of the package itself is a room of its own."""
    inside = name[1:] if SOURCE.joinpath(*name[1:]).is_dir() else name[1:-1]
    return ".".join(inside) or name[-1]


def strong_components(graph: dict[str, set[str]]) -> list[set[str]]:
    """The sets of more than one node that can all reach each other."""

    def reached(start: str) -> set[str]:
        found, open_ = set(), [start]
        while open_:
            for after in graph.get(open_.pop(), ()):
                if after not in found:
                    found.add(after)
                    open_.append(after)
        return found

    after = {node: reached(node) for node in graph}
    classes = {frozenset(b for b in after[a] if a in after.get(b, ())) for a in graph}
    return [set(names) for names in classes if len(names) > 1]


def test_rooms_make_no_cycle():
    """Imports of every kind count: at the top, in functions, for types."""
    graph: dict[str, set[str]] = {}
    for path in MODULES:
        if path.name != "__init__.py":
            here = room(dotted(path))
            graph.setdefault(here, set()).update(room(target) for target in imports(path) if len(target) > 1)
    graph = {here: others - {here} for here, others in graph.items()}
    assert {", ".join(sorted(names)) for names in strong_components(graph)} == set()


def test_the_law_of_rooms_itself():
    assert strong_components({"a": {"b"}, "b": {"a", "c"}, "c": {"d"}, "d": set()}) == [{"a", "b"}]
    assert room(("sepset", "learning", "fit")) == room(("sepset", "learning")) == "learning"
    assert room(("sepset", "problem")) == "problem"


def test_folders_are_not_crowded():
    folders = {path.parent for path in MODULES}
    sizes = {folder: sum(path.stem != "__init__" for path in folder.glob("*.py")) for folder in folders}
    crowded = {str(folder.relative_to(SOURCE)) for folder, size in sizes.items() if size > MOST_MODULES}
    assert crowded == set()


@pytest.mark.parametrize(
    ("importer", "imported", "expected"),
    [
        ("graphs", "errors", True),
        ("graphs", "factors", False),
        ("factors", "graphs", False),
        ("models", "cpds", True),
        ("cpds", "models", False),
        ("inference", "models", False),
        ("models", "inference", False),
        ("base", "errors", True),
        ("errors", "base", False),
        ("base", "kernels", False),
        ("variables", "factors", False),
        ("problem", "data", False),
        ("engine", "inference", True),
        ("engine", "learning", False),
        ("learning", "engine", True),
        ("io", "sepset", False),
        ("cli", "sepset", True),
    ],
)
def test_the_layer_law_itself(importer, imported, expected):
    assert lawful(importer, imported) is expected


SNIPPET = """
import numpy, sepset.errors
from sepset import semiring
from . import graph
from ..factors.table import Table
if TYPE_CHECKING:
    from sepset.models import BayesNet
def late():
    from sepset.kernels.graphs import ordering
    importlib.import_module("sepset.cli")
"""


def test_the_reading_of_imports_itself():
    here = SOURCE / "graphs" / "separation.py"
    late = {"sepset.models", "sepset.kernels.graphs.ordering", "sepset.cli"}
    early = {"sepset.errors", "sepset.semiring", "sepset.graphs.graph", "sepset.factors.table"}
    assert {".".join(name) for name in named(ast.walk(ast.parse(SNIPPET)), here)} == early | late
    assert {".".join(name) for name in named(loaded(ast.parse(SNIPPET)), here)} == early


def test_the_cycle_law_itself():
    assert cycle_in({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert cycle_in({"a": {"b", "c"}, "b": {"c"}}) == []


def test_every_module_has_a_test_of_its_name():
    missing = [
        str(expected.relative_to(ROOT))
        for path in MODULES
        if not path.stem.startswith("__")
        and path.relative_to(SOURCE).with_suffix("").as_posix() not in NAMESPACES  # which are one line each
        and not (expected := TESTS / path.relative_to(SOURCE).with_name(f"test_{path.stem}.py")).is_file()
    ]
    assert not missing, "no test file: " + ", ".join(missing)


def test_every_test_has_a_module_or_a_claim():
    """Tests of no one module are in `claims` and `crosscheck`, those of helpers in `support`."""
    elsewhere = ("support", "claims", "crosscheck")
    orphans = [
        str(path.relative_to(ROOT))
        for path in sorted(TESTS.rglob("test_*.py"))
        if (place := path.relative_to(TESTS)).parts[0] not in elsewhere
        and not (SOURCE / place.with_name(path.name.removeprefix("test_"))).is_file()
        and path.stem != f"test_{place.parent.name}"  # of a package itself
    ]
    assert not orphans, "no module: " + ", ".join(orphans)


def test_every_room_says_what_is_in_it():
    silent = [
        str(path.relative_to(ROOT))
        for path in MODULES
        if path.name == "__init__.py" and len((ast.get_docstring(parsed(path)) or "").split()) < 4
    ]
    assert not silent


def test_no_merge_is_half_done():
    """Documents, which nothing parses, have no marks of a conflict."""
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks").rglob("*.md")]
    marked = [path.name for path in documents if re.search(r"(?m)^[<>]{7} ", path.read_text(encoding="utf-8"))]
    assert not marked


def test_modules_are_short():
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES}
    long = {str(path.relative_to(ROOT)): lines for path, lines in lengths.items() if lines > LARGEST_MODULE}
    assert not long


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[int, int]:
    """The lines of a function's statements, and those with its signature; without its docstring."""
    described = ast.get_docstring(function) is not None
    first = function.body[1:] if described else function.body
    body = first[-1].end_lineno - first[0].lineno + 1 if first else 0
    return body, function.end_lineno - function.lineno + 1 - (_lines(function.body[0]) if described else 0)


def _lines(node: ast.stmt) -> int:
    return node.end_lineno - node.lineno + 1


def test_functions_are_short():
    """Kernels as well: what is long in them is a function of its own, which the compiler inlines."""
    long = {
        f"{path.relative_to(ROOT)}:{name}": lines
        for path in MODULES
        for name, lines in facts(path).lengths
        if lines[0] > LONGEST_BODY or lines[1] > LONGEST_FUNCTION
    }
    assert not long


def test_the_law_of_short_functions_itself():
    text = 'def f(\n    a,\n):\n    """Says.\n\n    More.\n    """\n    b = a\n    return b\n'
    assert code_lines(ast.parse(text).body[0]) == (2, 5)
    assert code_lines(ast.parse("def f():\n    return 1").body[0]) == (1, 2)


def decorators(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        for decorator in getattr(node, "decorator_list", ()):
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            yield ast.unparse(called).rsplit(".", 1)[-1]


def imported_roots(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").split(".")[0]


def test_compiled_functions_live_in_kernels():
    offences = []
    for path in MODULES:
        if "kernels" in dotted(path):
            continue
        known = facts(path)
        offences += [f"{path.relative_to(ROOT)}: @{name}" for name in known.decorators if name in COMPILING]
        offences += [f"{path.relative_to(ROOT)}: import numba" for name in known.roots if name == "numba"]
    assert not offences, "\n".join(offences)


FOREIGN = ("cpds", "io")  # where classes of CPDs are told apart: their own room, and formats that know only some


def classes_of_cpds() -> set[str]:
    """The classes that are registered as CPDs, and the base class of the discrete ones."""
    found = {"DiscreteCPD"}
    for path in sorted((SOURCE / "cpds").glob("*.py")):
        for node in ast.walk(parsed(path)):
            marks = node.decorator_list if isinstance(node, ast.ClassDef) else ()
            if any(ast.unparse(mark).startswith("registered(") for mark in marks):
                found.add(node.name)
    return found


def is_type_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "type"


def compared(node: ast.AST) -> set[str]:
    """The names that an expression or a pattern compares the class of a value with."""
    if isinstance(node, ast.Call) and last_name(node.func) in ("isinstance", "issubclass"):
        where: list[ast.AST] = [*node.args[1:]]
    elif isinstance(node, ast.Compare) and any(is_type_call(side) for side in ast.walk(node)):
        where = [node]
    elif isinstance(node, ast.MatchClass):
        where = [node.cls]
    else:
        return set()
    names = {part.id for tree in where for part in ast.walk(tree) if isinstance(part, ast.Name)}
    return names | {part.attr for tree in where for part in ast.walk(tree) if isinstance(part, ast.Attribute)}


def test_cpds_are_asked_and_not_told_apart():
    """What learning and models need to know about a CPD is in `cpd.parameters`, or is a function of its own module."""
    classes = classes_of_cpds()
    assert len(classes) >= 12
    ladders = [
        f"{path.relative_to(ROOT)}:{line} {sorted(found)}"
        for path in MODULES
        if package(dotted(path)) not in FOREIGN
        for line, names in facts(path).compared
        if (found := names & classes)
    ]
    assert not ladders, ladders


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("isinstance(cpd, TableCPD)", {"TableCPD"}),
        ("isinstance(cpd, TableCPD | tree.TreeCPD)", {"TableCPD", "TreeCPD"}),
        ("type(cpd) is TableCPD", {"TableCPD"}),
        ("type(cpd) in (TableCPD, str)", {"TableCPD"}),
        ("match cpd:\n    case TreeCPD():\n        pass", {"TreeCPD"}),
        ("isinstance(prior, Dirichlet)", set()),
        ("TableCPD(x, [0.5, 0.5])", set()),
    ],
)
def test_the_law_of_ladders_itself(text, expected):
    nodes = ast.walk(ast.parse(text))
    assert set().union(*(compared(node) for node in nodes)) & {"TableCPD", "TreeCPD"} == expected


MEMBER = (ast.In, ast.NotIn)


def rebuilt(nodes: Iterable[ast.AST]) -> list[int]:
    """Lines of comprehensions that build the same collection for each item, only to ask whether the item is in it."""
    found = []
    loops = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)
    for loop in (node for node in nodes if isinstance(node, loops)):
        bound = {n.id for g in loop.generators for n in ast.walk(g.target) if isinstance(n, ast.Name)}
        tests = (n for g in loop.generators for test in g.ifs for n in ast.walk(test) if isinstance(n, ast.Compare))
        asked = [side for n in tests for op, side in zip(n.ops, n.comparators, strict=True) if type(op) in MEMBER]
        for call in (n for side in asked for n in ast.walk(side)):
            names = {n.id for n in ast.walk(call) if isinstance(n, ast.Name)}
            if isinstance(call, ast.Call) and names & {"set", "frozenset", "list", "tuple"} and not names & bound:
                found.append(call.lineno)
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[v for v in x if v not in set(y)]", [1]),
        ("{k: v for k, v in x if k in set(y.names)}", [1]),
        ("[v for v in x if v in y]", []),
        ("[v for v in x if v != tuple(y)]", []),
        ("[v for v in x if y in set(v)]", []),
    ],
)
def test_the_law_of_linear_time_itself(text, expected):
    assert rebuilt(ast.walk(ast.parse(text))) == expected


def test_no_collection_is_built_again_for_each_item():
    found = {path: lines for path in MODULES if (lines := facts(path).rebuilt)}
    assert not found, f"use base.membership: {found}"


def test_the_oracle_knows_nothing_of_the_library():
    allowed = set(sys.stdlib_module_names) | {"numpy"}
    assert set(facts(TESTS / "oracle.py").roots) <= allowed


def fresh(code: str) -> str:
    """What a new interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


LOADED = """
import json, sys
import sepset
print(json.dumps(sorted(sys.modules)))
"""


def test_import_is_light():
    loaded = json.loads(fresh(LOADED))
    assert not set(HEAVY) & {name.partition(".")[0] for name in loaded}
    assert len([name for name in loaded if name.partition(".")[0] == "sepset"]) <= MODULES_AT_IMPORT


OTHERS = {"_repr_html_", "_repr_svg_", "_replace", "_exit", "_path_original"}  # names that other libraries have given


def is_private(name: object) -> bool:
    return isinstance(name, str) and bool(re.fullmatch(r"_[^_].*", name.rpartition(".")[2])) and name not in OTHERS


def private_names(node: ast.AST) -> Iterator[str]:
    """The private names of others that are read, imported or replaced."""
    match node:
        case ast.Attribute(value=ast.Name(id="self" | "cls")):
            return
        case ast.Attribute(attr=name) if is_private(name):
            yield name
        case ast.ImportFrom(names=names):
            yield from (alias.name for alias in names if is_private(alias.name))
        case ast.Call(func=ast.Attribute(attr="setattr"), args=arguments):
            yield from (a.value for a in arguments if isinstance(a, ast.Constant) and is_private(a.value))


def test_tests_use_few_private_names():
    """Where nothing else shows what is tested: what is compiled, planned or searched, and when."""
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno} {name}"
        for path in sorted(TESTS.rglob("*.py"))
        if re.search(r"\b_[a-zA-Z]", path.read_text(encoding="utf-8"))
        for node in ast.walk(parsed(path))
        for name in private_names(node)
    ]
    assert len(found) <= MOST_PRIVATE_NAMES, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("found._kept", ["_kept"]),
        ("self._kept", []),
        ("found.__doc__", []),
        ("found._repr_html_()", []),
        ("from a import _b, c", ["_b"]),
        ("monkeypatch.setattr(a, '_b', 1)", ["_b"]),
    ],
)
def test_the_law_of_private_names_itself(text, expected):
    assert [name for node in ast.walk(ast.parse(text)) for name in private_names(node)] == expected


CLOCKS = {"perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns", "time", "time_ns"}


def clocks(tree: ast.AST) -> Iterator[str]:
    """Uses of the clock on the wall."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=ast.Name(id="time"), attr=name) if name in CLOCKS:
                yield f"{node.lineno}: time.{name}"
            case ast.ImportFrom(module="time" | "timeit"):
                yield f"{node.lineno}: from {node.module}"


def test_no_test_asks_the_clock_on_the_wall():
    """How long something takes says more of the machine than of us: work is counted, or bounded in processor time."""
    timed = [p for p in sorted(TESTS.rglob("*.py")) if re.search(r"\btime(it)?\b", p.read_text(encoding="utf-8"))]
    found = [f"{path.relative_to(ROOT)}:{use}" for path in timed for use in clocks(parsed(path))]
    assert not found, "\n".join(found)


UNSTABLE = {"argpartition", "minimum_spanning_tree", "reverse_cuthill_mckee"}


def unstable_sorts(tree: ast.AST) -> Iterator[str]:
    """Calls whose choice among equal items differs from one processor to another."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Attribute(attr="argsort"), keywords=given):
                if not any(k.arg == "kind" and isinstance(k.value, ast.Constant) for k in given):
                    yield f"{node.lineno}: argsort without kind='stable'"
            case ast.Attribute(attr=name) | ast.alias(name=name) if name in UNSTABLE:
                yield f"{node.lineno}: {name}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("np.argsort(x)", 1),
        ("x.argsort(axis=0)", 1),
        ("np.argsort(x, kind='stable')", 0),
        ("csgraph.reverse_cuthill_mckee(x)", 1),
        ("from scipy.sparse.csgraph import reverse_cuthill_mckee", 1),
        ("np.lexsort(x); sorted(x)", 0),
    ],
)
def test_the_law_of_stable_sorts_itself(text, expected):
    assert len(list(unstable_sorts(ast.parse(text)))) == expected


def test_equal_items_are_sorted_alike_on_every_processor():
    """Sorts made for wide registers are not stable, and which are used depends on the processor."""
    names = re.compile("|".join(("argsort", *sorted(UNSTABLE))))
    sorting = [path for path in MODULES if names.search(path.read_text(encoding="utf-8"))]
    found = [f"{path.relative_to(ROOT)}:{use}" for path in sorting for use in unstable_sorts(parsed(path))]
    assert not found, "\n".join(found)


SURFACE = """
import inspect, json, sys, types
import sepset
def public(names):
    ours = [name for name in names if not name.startswith("_") and name not in ("annotations", "TYPE_CHECKING")]
    return sorted(name for name in ours if not isinstance(getattr(sepset, name), types.ModuleType))
def documented(name):
    value = getattr(sepset, name)
    described = value if inspect.isclass(value) or inspect.isroutine(value) else type(value)
    text = (described.__doc__ or "").strip()
    written = text and not text.startswith(f"{getattr(described, '__name__', name)}(")  # a dataclass writes its own
    return bool(written) and (described is value or described.__module__.startswith("sepset"))
print(json.dumps({
    "all": list(sepset.__all__),
    "dir": public(dir(sepset)),
    "bare": [name for name in public(sepset.__all__) if not documented(name)],
    "vars": public(list(vars(sepset))),
    "modules": [n for n in sepset.__all__ if isinstance(getattr(sepset, n), types.ModuleType)],
}))
"""


@pytest.fixture(scope="module")
def surface() -> dict[str, list[str]]:
    return json.loads(fresh(SURFACE))


def linted(name: str) -> tuple[int, str]:
    """The order the linter gives a literal list: constants, then classes, then the rest."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def test_public_names_are_sorted_and_complete(surface):
    names = surface["all"]
    assert names in (sorted(names), sorted(names, key=linted))
    assert len(names) == len(set(names))
    values = [name for name in names if name not in surface["modules"] and not name.startswith("_")]
    assert surface["dir"] == sorted(values)
    assert set(surface["vars"]) <= set(values)


def test_public_names_are_documented(surface):
    assert surface["bare"] == []


def test_the_promised_names_are_public(surface):
    values = "BayesNet DAG Discrete Likelihood MarkovNet Not Real Soft Table TableCPD Vector"
    verbs = "d_separated log_probability map_assignment marginals plan query read sample write"
    promised = [*values.split(" "), *verbs.split(" ")]
    assert set(promised) <= set(surface["all"])


def repository_files() -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=False,
        cwd=ROOT,
    )
    if listing.returncode:  # an unpacked source distribution
        return [path for folder in ("src", "tests", "docs") for path in (ROOT / folder).rglob("*") if path.is_file()]
    return [path for name in listing.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()]


# Written so that this file does not match itself.
WORKPLACE = re.compile(r"(?<![\w/])/[w]ork(?![\w-])|\bissue [#]", re.IGNORECASE)


def test_no_file_mentions_the_workplace():
    mentions = []
    for path in repository_files():
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue
        mentions += [
            f"{path.relative_to(ROOT)}:{i}: {s.strip()}" for i, s in enumerate(lines, 1) if WORKPLACE.search(s)
        ]
    assert not mentions, "\n".join(mentions)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see /" + "work/main", True),
        ("Issue " + "#12", True),
        (".github/workflows/ci.yml", False),
        ("the tissue sample", False),
    ],
)
def test_the_mention_law_itself(text, expected):
    assert bool(WORKPLACE.search(text)) is expected
