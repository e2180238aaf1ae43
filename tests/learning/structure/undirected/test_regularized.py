"""Paths of penalties: settings, budgets, refusals."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest

import sepset as ss
from sepset.errors import ArgumentError, NotApplicable
from sepset.inference.result import Status
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.undirected.regularized import graph_of

X = np.random.default_rng(0).normal(size=(4, 60))
ROWS = {"a": X[0], "b": X[0] + X[1], "c": X[0] + X[2], "d": X[3]}


@pytest.mark.parametrize("penalty", [0, -1.0, math.nan, math.inf, True, None, "ebic", ss.structure.StARS])
def test_penalties_that_are_none(penalty):
    with pytest.raises(ArgumentError, match="penalty="):
        ss.GraphicalLasso(penalty)


def test_settings_out_of_range():
    for bad in ({"num_penalties": 0}, {"smallest": 0.0}, {"smallest": 1.0}, {"tolerance": 0.0}):
        with pytest.raises(ArgumentError, match=next(iter(bad))):
            ss.GraphicalLasso(**bad)


def test_the_path_begins_without_edges_and_is_even_on_the_scale_of_logarithms():
    found = ss.learn_structure(ROWS, method=ss.GraphicalLasso(num_penalties=5, smallest=0.1))
    penalties = [point.penalty for point in found.path]
    assert found.path[0].num_edges == 0
    np.testing.assert_allclose(np.diff(np.log(penalties)), math.log(0.1) / 4)


def test_budgets():
    found = ss.learn_structure(ROWS, method=ss.GraphicalLasso(), until=2)
    assert len(found.path) == 2
    assert found.status is Status.STEP_LIMIT
    assert ss.learn_structure(ROWS, method=ss.GraphicalLasso(0.2), until=1).status is Status.COMPLETED


def test_an_interruption_ends_with_the_best_so_far(monkeypatch):
    method = ss.GraphicalLasso()
    original = type(method).path

    def interrupted(self, columns, penalties):
        for place, point in enumerate(original(self, columns, penalties)):
            if place == 3:
                raise KeyboardInterrupt
            yield point

    monkeypatch.setattr(type(method), "path", interrupted)
    found = ss.learn_structure(ROWS, method=method)
    assert found.status is Status.INTERRUPTED
    assert len(found.path) == 3


def test_what_does_not_apply():
    method = ss.GraphicalLasso(0.1)
    gone = ROWS | {"a": np.where(np.arange(60) == 3, np.nan, X[0])}
    cases = [
        (ROWS, {"checkpoint": "file"}, "checkpoint"),
        (ROWS, {"interventions": {"a": [True] * 60}}, "interventions"),
        (ROWS, {"start": ss.DAG.parse("a -> b; c; d")}, "start="),
        (ROWS, {"constraints": ss.structure.Constraints(forbidden=["a -> b"])}, "constraints"),
        (gone, {"missing": "available"}, "missing"),
    ]
    for rows, options, match in cases:
        with pytest.raises(NotApplicable, match=match):
            ss.learn_structure(rows, method=method, **options)


def test_graphs_from_supports():
    support = np.zeros((4, 4), bool)
    support[0, 2] = support[2, 0] = True
    assert graph_of(Columns.of(ROWS), support) == ss.UndirectedGraph.parse("a - c; b; d")


def cut_short(monkeypatch, place, at):
    """The function at this place of the package, of which a call is interrupted."""
    module, name = f"sepset.learning.structure.undirected.{place}".rsplit(".", 1)
    original, calls = getattr(importlib.import_module(module), name), 0

    def interrupted(*args):
        nonlocal calls
        calls += 1
        if calls == at:
            raise KeyboardInterrupt
        return original(*args)

    monkeypatch.setattr(f"{module}.{name}", interrupted)


@pytest.mark.parametrize("penalty", [0.05, ss.structure.ExtendedBIC(), ss.structure.StARS()])
@pytest.mark.parametrize("kind", ["lasso", "logistic"])
def test_an_interruption_amid_the_first_regressions_keeps_them(kind, penalty, monkeypatch):
    """Regressions of the first two columns are known when Ctrl-C comes, or none: no other edge is in the result."""
    rows = ROWS if kind == "lasso" else {name: (x > 0).astype(int) for name, x in ROWS.items()}
    place, at = ("neighborhoods.lasso_regressions", 1) if kind == "lasso" else ("logistic.logistic_regression", 3)
    cut_short(monkeypatch, place, at)
    found = ss.learn_structure(rows, method=ss.structure.NeighborhoodSelection(penalty))
    assert found.status is Status.INTERRUPTED
    assert found.guarantees["structure"] is ss.Guarantee.ESTIMATE
    assert len(found.path) == 1
    has_edge = kind == "logistic" and penalty == 0.05
    assert set(found.graph.edges) == ({("a", "b")} if has_edge else set())


def test_an_interruption_amid_the_first_concentration_keeps_it(monkeypatch):
    """After one step of Newton's method: an estimate with its bound."""
    cut_short(monkeypatch, "concentration._moved", 2)
    found = ss.learn_structure(ROWS, method=ss.GraphicalLasso(0.05, tolerance=1e-12))
    assert found.status is Status.INTERRUPTED
    assert found.guarantees["structure"] is ss.Guarantee.ESTIMATE
    assert 0 < found.gap < np.inf
    assert found.graph.num_edges
    monkeypatch.undo()
    whole = ss.learn_structure(ROWS, method=ss.GraphicalLasso(0.05, tolerance=1e-12))
    assert found.score < whole.score <= found.bound


def test_an_interruption_of_the_choice_keeps_the_first_estimate(monkeypatch):
    def interrupted(*_args):
        raise KeyboardInterrupt

    monkeypatch.setattr(ss.GraphicalLasso, "refitted", interrupted)
    found = ss.learn_structure(ROWS, method=ss.GraphicalLasso())
    assert (found.status, len(found.path), found.graph.num_edges) == (Status.INTERRUPTED, 1, 0)
