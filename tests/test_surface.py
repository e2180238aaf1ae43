"""The public surface: one table, lazy namespaces, one object per name, and stubs that say the same."""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import re
import sys
import types
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pytest

import sepset
from sepset import surface
from sepset.base.display import Report
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.data.counts import Counts
from sepset.data.dataset import Dataset
from sepset.data.missingness import MissingPatternsResult
from sepset.factors.moments import Gaussian
from sepset.graphs.base import Graph
from sepset.inference.result import Result
from sepset.learning.structure.exact.scoretable import ScoreTable
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Vector
from support.blocks import in_blocks
from support.bounded import child
from tools import generate

NAMES = {module: importlib.import_module(f"sepset.{module}").__all__ for module in surface.MODULES}
NAMES |= {namespace: list(surface.homes(table)) for namespace, table in surface.NAMESPACES.items()}


@pytest.mark.parametrize("namespace", sorted(NAMES))
def test_a_namespace_has_its_names_and_says_so(namespace):
    module = importlib.import_module(f"sepset.{namespace}")
    assert getattr(sepset, namespace) is module
    assert sorted(module.__all__) == sorted(NAMES[namespace])
    assert set(module.__all__) <= set(dir(module))
    assert all(getattr(module, name) is not None for name in module.__all__)


@in_blocks("name", surface.FLAT.split())
def test_a_flat_name_and_its_namespace_reach_one_object(name):
    holders = [namespace for namespace in surface.NAMESPACES if name in NAMES[namespace]]
    assert len(holders) == (name not in surface.homes(surface.VERBS))
    for namespace in holders:
        assert getattr(sepset, name) is getattr(getattr(sepset, namespace), name)


HOMONYMS = {"Annealing", "Holdout", "LeaveOneOut"}
"""Names of the field with a meaning in two namespaces: divisions of rows and scores of structures, and searches."""


def test_every_name_is_listed_once():
    listed = [*surface.homes(surface.VERBS), *chain.from_iterable(map(surface.homes, surface.NAMESPACES.values()))]
    twice = {name for name in listed if listed.count(name) > 1}
    assert twice <= HOMONYMS
    flat = surface.FLAT.split()
    assert len(flat) == len(set(flat))
    assert set(flat) <= set(listed) - HOMONYMS


def submodules(module: types.ModuleType) -> set[str]:
    """The names that importing a submodule sets in a package."""
    if not hasattr(module, "__path__"):
        return set()
    folder = Path(module.__path__[0])
    return {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}


@pytest.mark.parametrize("namespace", ["", *sorted(NAMES)])
def test_no_public_name_is_that_of_a_submodule(namespace):
    module = importlib.import_module(f"sepset.{namespace}".rstrip("."))
    values = {name for name in module.__all__ if not isinstance(getattr(module, name), types.ModuleType)}
    assert not values & submodules(module)


def test_a_misspelled_name_is_suggested():
    with pytest.raises(AttributeError, match=r"module 'sepset' has no attribute 'qurey'\. Did you mean 'query'\?"):
        _ = sepset.qurey
    with pytest.raises(AttributeError, match=r"module 'sepset\.graphs' .* 'cpdga'\. Did you mean 'cpdag'\?"):
        _ = sepset.graphs.cpdga


def test_a_name_of_another_namespace_is_found():
    with pytest.raises(AttributeError, match=r"has no attribute 'cpdag'\. It is sepset\.graphs\.cpdag\."):
        _ = sepset.cpdag


def test_namespaces_import_nothing_before_a_name_is_used():
    code = (
        "import sys, sepset as ss\n"
        "ss.graphs, ss.priors, ss.evaluation, ss.learning, ss.inference\n"
        "print([m for m in sys.modules if m.startswith(('sepset.learning.', 'sepset.graphs.', 'numpy'))])\n"
        "ss.graphs.cpdag\n"
        "print('sepset.graphs.equivalence' in sys.modules)"
    )
    assert child(code).stdout.split("\n")[:2] == ["[]", "True"]


def test_stubs_name_what_the_modules_have():
    for path, text in generate.stubs().items():
        module = ".".join(("sepset", *path.relative_to(generate.SOURCE).with_suffix("").parts)).removesuffix(
            ".__init__"
        )
        tree = ast.parse(text)
        imported = {alias.asname for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names}
        assert imported == set(importlib.import_module(module).__all__)


def key(name: str) -> str:
    return name.lower().replace("_", "")


def test_no_two_names_differ_only_by_case():
    alike = defaultdict(set)
    for name in {*chain.from_iterable(NAMES.values()), *surface.homes(surface.VERBS), *surface.NAMESPACES}:
        alike[key(name)].add(name)
    assert not [names for names in alike.values() if len(names) > 1]


DOCUMENTS = [generate.ROOT / "README.md", *(generate.ROOT / "docs").rglob("*.md")]


@in_blocks("name", surface.FLAT.split())
def test_every_flat_name_is_used_in_a_document(name):
    written = [path for path in DOCUMENTS if re.search(rf"\bss\.{name}\b", path.read_text(encoding="utf-8"))]
    assert written, f"no document shows ss.{name}"


THREE = {"fit", "d_separated", "separated", "chain_separated", "csi_separated", "active_trail"}
"""The functions with three positional parameters: (structure, data, method) and (graph, x, y)."""

PROTOCOLS = {
    ("rows", "num_rows", "rng"),  # draws of a conditional
    ("task", "state", "rng"),  # a step, or a round, of an iterative method
    ("child", "parents", "columns"),  # a family, as scores see it
    ("child", "candidates", "columns"),
    ("method", "task", "penalties"),
    ("q", "r", "total"),
    ("steps", "seconds", "info"),
    ("X", "y", "sample_weight"),  # scikit-learn's
}
"""The protocols whose methods take three positional parameters; a driver calls them."""


def positional(function: object, *, bound: bool = False) -> tuple[str, ...]:
    """The parameters that may be given by position, without the first of a bound method."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(p.name for p in inspect.signature(function).parameters.values() if p.kind in kinds)[bound:]


def callables() -> Iterator[tuple[str, tuple[str, ...]]]:
    """The public functions, constructors and methods, with their positional parameters; rows of a table are tuples."""
    values = [getattr(sepset, name) for name in surface.homes(surface.VERBS)]
    values += [getattr(getattr(sepset, space), name) for space, names in NAMES.items() for name in names]
    for value in values:
        if inspect.isfunction(value):
            yield value.__name__, positional(value)
        elif inspect.isclass(value):
            if not issubclass(value, enum.Enum | Exception | tuple):
                yield value.__name__, positional(value)
            for member, made in vars(value).items():
                function = getattr(made, "__func__", made)
                if not member.startswith("_") and inspect.isfunction(function):
                    found = positional(function, bound=not isinstance(made, staticmethod))
                    yield f"{value.__name__}.{member}", () if found in PROTOCOLS else found


def test_at_most_two_parameters_are_positional():
    many = {name: found for name, found in callables() if len(found) > 2}
    assert set(many) == THREE
    assert all(len(found) == 3 for found in many.values())


ROOMS = ("learning", "missing", "classify", "structure", "evaluation", "recommend")
NOT_RESULTS = (
    BayesNet,
    Graph,
    LinearGaussian,
    Discrete,
    Vector,
    Dataset,
    Counts,
    Gaussian,
    ScoreTable,
    MissingPatternsResult,
)
"""What learning makes and takes is no result about it: models, structures, parameters, rows, and their counts."""


def returned() -> Iterator[tuple[str, type]]:
    """The public functions of learning and evaluation, with the classes of the library that they return."""
    verbs = [getattr(sepset, name) for name in ("fit", "learn_structure", "structure_posterior")]
    functions = [getattr(getattr(sepset, space), name) for space in ROOMS for name in NAMES[space]]
    for function in filter(inspect.isfunction, [*verbs, *functions]):
        home = sys.modules[function.__module__]
        name = re.match(r"\w+", function.__annotations__["return"])[0]
        kind = vars(home).get(name)
        if isinstance(kind, type) and kind.__module__.startswith("sepset."):
            yield function.__name__, kind


def test_what_learning_and_evaluation_find_is_a_result():
    """With a method, guarantees and a status; shown as a table, and readable as plain values."""
    found = dict(returned())
    others = {name: kind for name, kind in found.items() if not issubclass(kind, (Result, *NOT_RESULTS))}
    assert not others
    results = {kind for kind in found.values() if issubclass(kind, Result)}
    assert len(results) > 30
    assert not [kind for kind in results if not issubclass(kind, Report)]
