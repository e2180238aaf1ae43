"""A mistaken argument ends in an error of the library, whichever function it is given to."""

from __future__ import annotations

import importlib
import inspect
import pickle
from enum import Enum
from functools import cache

import numpy as np
import pytest

import sepset as ss
from sepset.base.foreign import translated
from sepset.base.namespaces import INNER
from sepset.engine.prediction import Prediction
from sepset.engine.view import View
from sepset.inference.mapresult import MapResult
from sepset.inference.result import MarginalsResult, QueryResult
from sepset.learning.fit import PosteriorFitResult
from sepset.surface import NAMESPACES, VERBS, homes

ASIA = ss.datasets.load("asia")
ROWS = ASIA.sample(30, seed=1)
MORAL = ss.graphs.moralize(ASIA.dag)
X, Y = ss.Discrete("x"), ss.Discrete("y", 3)
R = ss.Real("r")


class Odd:
    """A value of no kind."""

    def __repr__(self) -> str:
        return "Odd()"


MISTAKES = [
    np.array(3), None, float("nan"), float("inf"), -1, 1.5, 1j, True, 10**30, b"abc", "", "zz", Odd(), [], {}, {1},
    [None], ["lung", "lung"], [["lung"], ["tub"]], ("lung", 3), {None: None}, {"zz": 1}, range(3), ss.CliqueTree,
    ss.CliqueTree(), len, np.ones((2, 2)), np.zeros(0), np.array([None, "a"], object), ASIA, ASIA.dag,
    MORAL, X, ROWS.take([]),
]  # fmt: skip
CALLS = {
    "query": (ss.query, {"model": ASIA, "targets": "lung", "given": {"smoke": "yes"}, "method": None}),
    "map_assignment": (ss.map_assignment, {"model": ASIA, "given": {"smoke": "yes"}, "over": ["lung"], "k": 2}),
    "sample": (ss.sample, {"model": ASIA, "num_rows": 2, "given": {"smoke": "yes"}, "seed": 0}),
    "predict": (ss.predict, {"model": ASIA, "data": ROWS, "targets": "lung"}),
    "plan": (ss.plan, {"model": ASIA, "targets": "lung", "given": ["smoke"]}),
    "fit": (
        ss.fit,
        {"structure": ASIA.dag, "data": ROWS, "method": ss.Bayes(ss.BDeu(1)), "variables": None, "seed": 0},
    ),
    "impute": (ss.impute, {"model": ASIA, "data": ROWS, "kind": "mode"}),
    "sensitivity": (ss.sensitivity, {"model": ASIA, "target": "lung", "state": "yes", "given": {}}),
    "value_of_information": (ss.value_of_information, {"model": ASIA, "target": "lung", "candidates": ["tub"]}),
    "d_separated": (ss.d_separated, {"graph": ASIA.dag, "x": "asia", "y": "xray", "given": "either"}),
    "separated": (ss.graphs.separated, {"graph": MORAL, "x": "asia", "y": "xray", "given": "either"}),
    "elimination_order": (ss.graphs.elimination_order, {"graph": MORAL, "cards": 2, "method": None, "last": "lung"}),
    "ancestors": (ss.graphs.ancestors, {"graph": ASIA.dag, "nodes": "lung"}),
    "hide_cells": (ss.missing.hide_cells, {"data": ROWS, "mechanism": ss.missing.MCAR(0.2), "seed": 0}),
    "tie": (ss.learning.tie, {"net": ASIA, "groups": {"a": ["lung"]}}),
    "divergence": (ss.evaluation.divergence, {"p": ASIA, "q": ASIA}),
    "calibration_curve": (
        ss.evaluation.calibration_curve,
        {"model": ASIA, "data": ROWS, "target": "lung", "state": "yes"},
    ),
    "do": (ASIA.do, {"interventions": {"lung": "yes"}}),
    "subnetwork": (ASIA.subnetwork, {"variables": "lung"}),
    "random": (ss.BayesNet.random, {"dag": ASIA.dag, "states": 2, "seed": 0}),
    "DAG": (ss.DAG, {"nodes": ["a", "b"], "edges": [("a", "b")]}),
    "DAG.parse": (ss.DAG.parse, {"text": "a -> b"}),
    "Discrete": (ss.Discrete, {"name": "a", "states": 2}),
    "Dataset": (ss.Dataset, {"data": {"a": [0, 1]}, "variables": None}),
    "TableCPD": (ss.TableCPD, {"child": X, "table": [[0.5, 0.5]] * 3, "given": Y}),
    "NoisyOr": (ss.NoisyOr, {"child": X, "given": {ss.Discrete("u"): 0.5}, "leak": 0.1}),
    "LinearGaussian": (ss.LinearGaussian, {"child": R, "intercept": 0.0, "covariance": 1.0}),
    "Table": (ss.Table, {"scope": [X, Y], "values": np.ones((2, 3))}),
    "Gaussian": (ss.Gaussian, {"scope": [R], "mean": [0.0], "covariance": [[1.0]]}),
}


def arguments(function, given: dict) -> dict:
    """The arguments by the names that the function has, in order."""
    names = list(inspect.signature(function).parameters)
    return {name if name in names else names[i]: value for i, (name, value) in enumerate(given.items())}


@pytest.mark.parametrize(("function", "given"), CALLS.values(), ids=CALLS.keys())
def test_mistakes_are_refused_in_our_own_words(function, given):
    right, raw = arguments(function, given), []
    function(**right)
    for name in right:
        for mistake in MISTAKES:
            try:
                function(**{**right, name: mistake})
            except (ss.SepsetError, OSError):
                continue
            except Exception as error:  # every other kind is a mistake of the library
                raw.append((name, mistake, error))
    assert raw == []


def public_functions():
    for table in (*NAMESPACES.values(), VERBS):
        for name, module in homes(table).items():
            found = getattr(importlib.import_module(f"sepset.{module}"), name)
            if inspect.isroutine(found) and not inspect.isgeneratorfunction(found):
                yield pytest.param(found, id=name)


@pytest.mark.parametrize("function", list(public_functions()))
def test_every_public_function_looks_at_its_arguments_after_a_failure(function):
    assert hasattr(function, "__wrapped__")


def public_classes():
    for space, table in NAMESPACES.items():
        for name in homes(table):
            found = getattr(getattr(ss, space), name)
            if not inspect.isclass(found) or name in INNER or issubclass(found, Exception | Enum):
                continue
            is_made = inspect.isfunction(found.__init__) and not inspect.isabstract(found)
            if is_made and not getattr(found, "_is_protocol", False):
                yield pytest.param(found, id=f"{space}.{name}")


@pytest.mark.parametrize("cls", list(public_classes()))
def test_every_public_class_names_a_mistaken_argument_of_a_new_object(cls):
    with pytest.raises(ss.errors.ArgumentError, match=f"^{cls.__name__} (has no zzz=|cannot be called like this)"):
        cls(zzz=1)


ENGINE = ss.prepare(ASIA)
OBJECTS = {
    "BayesNet": ASIA,
    "MarkovNet": ASIA.markov_net(),
    "FactorGraph": ASIA.factor_graph(),
    "ChainGraph": ss.models.to_chain_graph(ASIA),
    "DAG": ASIA.dag,
    "UndirectedGraph": MORAL,
    "MixedGraph": ss.graphs.cpdag(ASIA.dag),
    "Dataset": ROWS,
    "Engine": ENGINE,
}
ANSWERS = {
    View: lambda: ENGINE.observe({"smoke": "yes"}),
    QueryResult: lambda: ENGINE.query("lung"),
    MarginalsResult: lambda: ENGINE.marginals(),
    MapResult: lambda: ENGINE.map_assignment(),
    Prediction: lambda: ENGINE.predict(ROWS, targets="lung"),
    PosteriorFitResult: lambda: ss.fit(ASIA, ROWS, ss.Bayes(ss.BDeu(1))),
}
"""Found when a test first asks for them, not where tests are collected: that would compile kernels in every worker."""
OFTEN = {"about", "answer", "as_written", "column", "evidence", "id", "ids", "over", "point", "positions", "problem"}
OFTEN |= {"weighted_evidence", "with_joints", "with_parameters", "with_notes"}
"""Methods that every question or every step of learning calls: as they are, since a look at each call takes time."""


@cache
def answer(kind):
    found = ANSWERS[kind]()
    assert type(found) is kind
    return found


def methods():
    kinds = {name: type(value) for name, value in OBJECTS.items()} | {kind.__name__: kind for kind in ANSWERS}
    for name, kind in kinds.items():
        for method in dir(kind):
            found = inspect.getattr_static(kind, method)
            function = found.__func__ if isinstance(found, classmethod) else found
            place = getattr(function, "__module__", "") if inspect.isfunction(function) else ""
            is_shared = place == "sepset.base.display" or not place.startswith("sepset.")
            if not is_shared and not method.startswith("_") and method not in OFTEN:
                yield pytest.param(OBJECTS.get(name, kind), method, id=f"{name}.{method}")


@pytest.mark.parametrize(("value", "method"), list(methods()))
def test_a_mistaken_argument_of_a_method_is_named(value, method):
    value = answer(value) if isinstance(value, type) else value
    with pytest.raises(ss.errors.ArgumentError, match=rf"{method} has no zzz=.* It takes "):
        getattr(value, method)(zzz=1)
    parameters = inspect.signature(getattr(value, method)).parameters.values()
    if all(p.kind is not p.VAR_POSITIONAL for p in parameters):
        with pytest.raises(ss.errors.ArgumentError, match=rf"{method} takes "):
            getattr(value, method)(*[Odd()] * 12)


def test_signatures_and_pickles_of_methods_stay():
    assert str(inspect.signature(ASIA.parents)).startswith("(variable: ")
    assert str(inspect.signature(ss.EM)).startswith("(prior: ")
    assert pickle.loads(pickle.dumps(ASIA.parents))("lung") == ("smoke",)
    assert pickle.loads(pickle.dumps(ss.EM(restarts=3))) == ss.EM(restarts=3)


def test_errors_inside_a_function_given_by_the_user_stay_as_they_are():
    def statistic(rows):
        raise ValueError("mine")

    with pytest.raises(ValueError, match=r"^mine$"):
        ss.evaluation.bootstrap(ROWS, statistic)


def test_an_error_without_a_mistaken_argument_stays_as_it_is():
    @translated
    def broken(number: int) -> float:
        return 1 / (number - 1)

    with pytest.raises(ZeroDivisionError):
        broken(1)
