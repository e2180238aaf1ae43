"""Kernels as plain Python and compiled: the same numbers, and a rule of sizes that says which."""

from __future__ import annotations

import ast
import os
from pathlib import Path

import numpy as np
import pytest

from sepset.kernels import kernel as kernels
from sepset.kernels.kernel import Kernel, Meter, Meters, Options, answered, load, load_all, pairs, plain, sizes, times
from support.bounded import child

OPTIONS = Options(False, False, False)
FOLDER = Path(kernels.__file__).parent


def total(values):
    out = np.float64(0.0)
    for v in values:
        out += v
    return out


def doubled(values):
    return 2 * summed(values)


summed = outer = None  # the kernels of a test


@pytest.fixture
def meter(monkeypatch):
    """A process that has loaded nothing and spent nothing."""
    fresh = Meters()
    monkeypatch.setattr(kernels, "METERS", fresh)
    monkeypatch.setattr(kernels, "_PLAIN", {})
    inner, caller = Kernel(total, OPTIONS, sizes), Kernel(doubled, OPTIONS, None)
    monkeypatch.setattr(kernels, "_KERNELS", [inner, caller])
    for name, made in {"total": inner, "summed": inner, "doubled": caller, "outer": caller}.items():
        monkeypatch.setitem(globals(), name, made)
    return fresh


def test_work_is_spent_until_it_would_exceed_what_loading_costs(monkeypatch):
    meter = Meter()
    monkeypatch.setattr(kernels, "PLAIN_WORK", 10)
    assert [meter.affords(sizes, (np.zeros(n),)) for n in (4, 7, 6, 1)] == [True, False, True, False]
    assert meter.spent == 10


def test_a_small_call_is_interpreted_and_a_large_one_loads_all(meter, monkeypatch):
    monkeypatch.setattr(kernels, "PLAIN_WORK", 10)
    made, inner, caller = [], summed, outer
    monkeypatch.setattr(kernels, "_compiled", lambda k: made.append(k) or (lambda *args: -1.0))
    assert (inner(np.ones(3)), made) == (3.0, [])
    assert (inner(np.ones(8)), made) == (-1.0, [inner, caller])
    assert summed is not inner, "the module has the compiled one"
    assert inner(np.ones(1)) == -1.0, "from then on, all calls"


def test_a_kernel_without_an_estimate_is_never_interpreted_from_outside(meter, monkeypatch):
    monkeypatch.setattr(kernels, "_compiled", lambda k: lambda *args: -1.0)
    assert outer(np.ones(3)) == -1.0


def test_kernels_called_by_an_interpreted_one_are_interpreted_as_well(meter):
    """Another thread may load the compiled kernels in the middle: the names of the running one do not change."""
    function = plain(outer)
    globals()["summed"] = None
    assert function(np.ones(3)) == 6.0


def test_a_kernel_that_was_made_while_others_were_loaded_is_compiled_too(meter, monkeypatch):
    """Another thread imports a module in that moment: its kernels are not among those that were loaded."""
    monkeypatch.setattr(kernels, "_compiled", lambda k: lambda *args: -1.0)
    late = Kernel(total, OPTIONS, sizes)
    load(late.kind)
    assert late(np.ones(3)) == -1.0


def test_kinds_of_kernels_are_loaded_apart(meter, monkeypatch):
    """Who counts rows does not wait for what plans contractions; questions, graphs and hybrid models are one kind."""
    monkeypatch.setattr(kernels, "_compiled", lambda k: lambda *args: -1.0)
    made = {}
    for name in ("compiled.steps", "graphs.ordering", "data.counting", "structure.chains"):
        made[name] = Kernel(total, OPTIONS, sizes)
        made[name].kind = kernels._kind(f"sepset.kernels.{name}")
        kernels._KERNELS.append(made[name])
    load("data")
    told = [made[name](np.ones(3)) for name in made]
    assert (told, answered()["tier"]) == ([3.0, 3.0, -1.0, 3.0], "plain")
    load()
    told = [made[name](np.ones(3)) for name in made]
    assert (told, answered()["tier"]) == ([-1.0, -1.0, -1.0, 3.0], "compiled")
    load_all()
    assert made["structure.chains"](np.ones(3)) == -1.0
    assert Kernel(total, OPTIONS, sizes)(np.ones(3)) == -1.0, "and kinds that come later"


def test_a_kernel_that_another_kind_calls_is_compiled_alone(meter, monkeypatch):
    """Typing a call compiles what is called; which form answers must not depend on that, nor on what is on disk."""
    monkeypatch.setattr(kernels, "_compiled", lambda k: lambda *args: -1.0)
    assert kernels.compiled_form(summed)(np.ones(3)) == -1.0
    assert summed(np.ones(3)) == 3.0


def test_warnings_of_numbers_stay_inside(meter):
    huge = np.full(2, 1e308)
    with np.errstate(all="raise"):
        assert summed(huge) == np.inf


def test_estimates_of_work():
    a, b = np.zeros((2, 3)), np.zeros(4)
    assert (sizes(a, 7, b), times(3)(a, b), sizes()) == (10.0, 30.0, 0.0)
    assert pairs(np.array([0, 2, 4]), np.array([5, 6, 5, 7])) == 4 + 1 + 1


def test_loading_again_changes_nothing():
    load()
    first = dict(kernels.METERS.compiled)
    load()
    assert first == kernels.METERS.compiled
    assert answered() == {"tier": "compiled"}


def test_a_kernel_that_is_not_on_disk_is_not_at_hand(tmp_path, monkeypatch):
    from sepset.kernels import compile as compiling

    class Cached:
        overloads: dict[object, object] = {}  # noqa: RUF012
        _cache = type("", (), {"_cache_file": type("", (), {"_index_path": str(tmp_path / "index")})})

    monkeypatch.setattr(compiling, "_has_helper", lambda: True)
    assert not compiling.is_ready(Cached)
    monkeypatch.setattr(compiling, "_has_helper", lambda: False)
    wanted = [compiling.is_ready(Cached) for _ in range(compiling.OFTEN)]
    assert (wanted[0], wanted[-1]) == (False, True), "no other process compiles it"
    monkeypatch.setattr(compiling, "_has_helper", lambda: True)
    (tmp_path / "index").write_bytes(b"")
    assert compiling.is_ready(Cached)


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_an_interpreted_kernel_calls_those_of_kinds_that_are_compiled():
    """Kernels that only kernels call have no entry for Python once they are compiled: there they run as written."""
    done = child(
        """
        import numpy as np
        from sepset.kernels.kernel import load

        load("propagation")
        from sepset.kernels.map import dual
        from sepset.kernels.propagation import wires

        codes, found = np.zeros(2, np.int64), []
        two_by_three = wires.Wires(**{name: np.array([2, 3, 0, 1]) for name in wires.Wires._fields})
        for _ in range(6):
            dual.advance(two_by_three, 2, 4, codes)
            found.append(tuple(codes.tolist()))
        print(type(dual.dual_bound).__name__, found)
        """
    )
    expected = "Kernel [(0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 0)]\n"
    assert (done.returncode, done.stdout) == (0, expected), done.stdout + done.stderr


def byte_sums(function):
    """Sums, differences and products with an entry of an array of bytes, which plain Python computes in a byte."""
    bytes_ = {a.arg for a in function.args.args if a.annotation is not None and ast.unparse(a.annotation) == "Bytes"}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and "np.uint8" in ast.unparse(node.value):
            bytes_.update(target.id for target in node.targets if isinstance(target, ast.Name))
    for node in ast.walk(function):
        sides = [node.left, node.right] if isinstance(node, ast.BinOp) else []
        sides += [node.value] if isinstance(node, ast.AugAssign) else []
        entries = [side for side in sides if isinstance(side, ast.Subscript) and isinstance(side.value, ast.Name)]
        is_sum = sides and not isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor | ast.RShift)
        if is_sum and any(entry.value.id in bytes_ for entry in entries):
            yield f"{function.name}, line {node.lineno}: {ast.unparse(node)}"


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: path.stem)
def test_no_kernel_adds_bytes(path):
    """Compiled sums of bytes are whole numbers; interpreted ones end at 255. `int(flags[i])` is the same in both."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert not [found for function in functions for found in byte_sums(function)]
