"""The public functions and methods that take two objects with orders of their own, found from their signatures."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from typing import Any

from sepset.surface import MODULES, NAMESPACES, VERBS, homes

TYPES = (
    "BayesNet MarkovNet FactorGraph ChainGraph ChainComponent Model DAG UndirectedGraph MixedGraph Graph CPD "
    "TableCPD LinearGaussian Factor DiscreteFactor Table SparseTable Gaussian GaussianMixture CanonicalGaussian "
    "CanonicalTable Dataset Counts Moments Empirical Given Assignment Evidence Columns Posterior Engine View "
    "Classifier Procedure Learner LearningMethod Fits Loss QuerySuite ObservabilityModel Mechanism Hiding "
    "FitResult Observed MapResult Learned LearnedNetwork Constraints DependencyNet PAG Discretization "
    "MarginalsResult QueryResult MaxMarginalsResult GraphElimination ClusterGraph ScoreTable "
    "StructurePosteriorResult Feature Drawing Baskets Recommender"
)
"""The types of what lists variables, states or parents in some order."""

NAMES = {"data", "test", "frame", "rows", "holdout", "other", "X", "given", "evidence", "context", "train", "prior"}
NAMES |= {"interventions", "assignment", "counts", "start", "groups", "costs", "reference", "baskets", "table"}
"""The names of arguments that are such objects, whatever their annotation."""

OPERATORS = {"__init__", "__call__", "__mul__", "__add__"}


def public_objects() -> dict[str, Any]:
    """The public classes and functions by name."""
    found = {}
    for space, table in NAMESPACES.items():
        for name, module in homes(table).items():
            found[f"{space}.{name}"] = getattr(importlib.import_module(f"sepset.{module}"), name)
    for name, module in homes(VERBS).items():
        found[name] = getattr(importlib.import_module(f"sepset.{module}"), name)
    for module in MODULES:
        loaded = importlib.import_module(f"sepset.{module}")
        found |= {f"{module}.{name}": getattr(loaded, name) for name in loaded.__all__}
    return {name: value for name, value in found.items() if not name.startswith("errors.")}


def public_callables() -> Iterator[tuple[str, Any]]:
    """The public functions, constructors and methods by name; protocols describe those of others."""
    for name, value in public_objects().items():
        if not inspect.isclass(value):
            yield name, value
        elif not getattr(value, "_is_protocol", False):
            yield from _methods(name, value)


def _methods(name: str, kind: type) -> Iterator[tuple[str, Any]]:
    for method, value in inspect.getmembers(kind, callable):
        own = any(method in base.__dict__ for base in kind.__mro__ if base.__module__.startswith("sepset"))
        if own and (not method.startswith("_") or method in OPERATORS):
            yield f"{name}.{method}", value


def ordered_arguments(name: str, value: Any) -> list[str]:
    """The arguments that are objects with an order; the object of a method is one of them."""
    try:
        parameters = inspect.signature(value).parameters
    except (TypeError, ValueError):
        return []
    found = []
    for argument, parameter in parameters.items():
        if argument == "self":
            found += [] if name.endswith("__init__") else ["self"]
        elif argument in NAMES or re.search(rf"\b({TYPES.replace(' ', '|')})\b", str(parameter.annotation)):
            found.append(argument)
    return found


def takes_two() -> dict[str, list[str]]:
    """The public functions and methods that take two objects with orders, and which arguments these are."""
    found = {name: ordered_arguments(name, value) for name, value in public_callables()}
    return {name: arguments for name, arguments in found.items() if len(arguments) >= 2}
