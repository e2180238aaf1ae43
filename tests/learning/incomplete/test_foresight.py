"""What is refused before columns are coded would be refused afterwards, and nothing else is."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sepset as ss
from sepset.inference import costs
from sepset.learning.blocks import Blocks
from sepset.learning.fit import fit
from sepset.learning.incomplete import foresight
from sepset.learning.incomplete.foresight import refuse_rows

SIZE = 2000
NAMES = [f"v{i}" for i in range(SIZE)]


@cache
def tangle() -> ss.DAG:
    """Up to three random parents for each node, far too wide for exact sums."""
    rng = np.random.default_rng(0)
    parents = (set(rng.integers(0, i, min(3, i)).tolist()) for i in range(1, SIZE))
    return ss.DAG(NAMES, [(NAMES[p], NAMES[i]) for i, chosen in enumerate(parents, 1) for p in chosen])


TREE = ss.DAG(NAMES, [(NAMES[(i - 1) // 2], NAMES[i]) for i in range(1, SIZE)])


def holes(missing: float = 0.9, states=("a", "b")) -> dict[str, list]:
    """The second cell is missing in this part of the columns."""
    gone = np.random.default_rng(1).random(SIZE) < missing
    return {name: [states[0], None if gone[i] else states[1], states[1]] for i, name in enumerate(NAMES)}


FORMS = {
    "mapping": lambda rows: rows,
    "arrays": lambda rows: {name: np.array(column, object) for name, column in rows.items()},
    "pandas": pd.DataFrame,
    "pandas objects": lambda rows: pd.DataFrame(rows, dtype=object),
    "polars": pl.DataFrame,
    "dataset": ss.Dataset,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", [ss.EM(), ss.HardEM(), ss.GradientAscent()], ids=lambda m: type(m).__name__)
def test_a_wide_graph_is_refused_before_a_column_is_coded(form, method, monkeypatch):
    data = FORMS[form](holes())
    monkeypatch.setattr("sepset.learning.fit.Template.of", lambda *_: pytest.fail("columns were coded"))
    with pytest.raises(ss.TooLarge, match="tables of more than"):
        ss.fit(tangle(), data, method)


@pytest.mark.parametrize("form", FORMS)
def test_columns_and_nodes_meet_by_name(form):
    """Half of the graph is too wide; its cells are missing, or those of the rest, which is a chain."""
    order, half = np.random.default_rng(2).permutation(SIZE), SIZE // 2
    inside = set(NAMES[:half])
    edges = [*filter(inside.issuperset, tangle().edges), *itertools.pairwise(NAMES[half:])]
    for is_wide in (False, True):
        rows = {name: ["a", None if (name in inside) is is_wide else "b", "b"] for name in NAMES}
        shuffled = {NAMES[i]: rows[NAMES[i]] for i in order.tolist()}
        verdicts = [
            is_refused(dag, FORMS[form](data))
            for dag in (ss.DAG(NAMES, edges), ss.DAG(shuffled, edges[::-1]))
            for data in (rows, shuffled)
        ]
        assert verdicts == [is_wide] * 4


def is_refused(dag: ss.DAG, data: object) -> bool:
    try:
        ss.EM().check_graph(dag, data, ())
    except ss.TooLarge:
        return True
    return False


def test_it_would_be_refused_afterwards(monkeypatch):
    monkeypatch.setattr(foresight, "WIDE", SIZE + 1)
    with pytest.raises(ss.TooLarge):
        ss.fit(tangle(), holes(), ss.EM())


def test_truth_values_are_states():
    with pytest.raises(ss.TooLarge):
        refuse_rows(tangle(), holes(states=(False, True)))


GOES_ON = {
    "a tree": (TREE, holes(1.0)),
    "no missing cell": (tangle(), {name: ["a", "b"] for name in NAMES}),
    "few missing cells": (tangle(), holes(0.02)),
    "numbers": (tangle(), holes(states=(0.5, 1.5))),
    "no rows": (tangle(), {name: [] for name in NAMES}),
    "no columns": (tangle(), {}),
    "a file": (tangle(), "rows.csv"),
    "numbers of states": (tangle(), holes(states=(0, 1))),
    "iterators": (tangle(), {name: iter("ab") for name in NAMES}),
}


@pytest.mark.parametrize("case", GOES_ON)
def test_what_is_not_known_to_be_hopeless_goes_on(case):
    refuse_rows(*GOES_ON[case])


def test_variables_that_are_given_count_for_nothing():
    refuse_rows(tangle(), holes(), known=NAMES)


def test_another_method_of_inference_is_asked_itself(monkeypatch):
    monkeypatch.setattr("sepset.learning.fit.Template.of", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        fit(tangle(), holes(), ss.EM(inference=ss.LoopyBP()))


def test_families_too_large_for_pairs_are_left_to_the_sizes_of_tables():
    refuse_rows(ss.DAG(NAMES, [(name, "v0") for name in NAMES[1:]]), holes(1.0))


def test_families_of_observed_children_count():
    """Nothing but the pairs of parents of observed nodes makes this graph wide."""
    rng, half = np.random.default_rng(0), SIZE // 2
    pairs = rng.integers(0, half, (half, 4))
    dag = ss.DAG(NAMES, [(NAMES[p], NAMES[half + i]) for i, parents in enumerate(pairs) for p in set(parents.tolist())])
    rows = {name: ["a", None if i < half else "b", "b"] for i, name in enumerate(NAMES)}
    with pytest.raises(ss.TooLarge):
        refuse_rows(dag, rows)
    for name in NAMES[half:]:
        rows[name] = [0.5, 1.5, 2.5]  # of measurements, little is known
    refuse_rows(dag, rows)


def test_rows_that_miss_very_many_numbers_are_refused_before_anything_is_made_for_each(monkeypatch):
    """A matrix of their covariances would take 2.3 GB."""
    reals = [ss.Real(f"x{i}") for i in range(17_000)]
    net = ss.BayesNet([ss.LinearGaussian(x, 0.0, covariance=1.0) for x in reals])
    monkeypatch.setattr(Blocks, "of", None)
    for method in (ss.EM(), ss.HardEM()):
        with pytest.raises(ss.TooLarge, match=r"The 16,999 numbers that a row misses have covariances of 2\.2 GiB"):
            ss.fit(net, {"x0": [0.5, 1.0]}, method)


@pytest.mark.parametrize("inference", [None, ss.CliqueTree()])
def test_numbers_that_a_row_misses_are_counted_whatever_the_inference(inference, monkeypatch):
    rows = {"x": [0.5, None, 1.5], "y": [None, None, 0.5]}
    x, y = ss.Real("x"), ss.Real("y")
    net = ss.BayesNet(ss.LinearGaussian(x, 0.0, covariance=1.0), ss.LinearGaussian(y, 0.0, covariance=1.0))
    monkeypatch.setattr(costs, "MOST_CONTEXT_ENTRIES", 3)
    with pytest.raises(ss.TooLarge, match="The 2 numbers that a row misses"):
        ss.fit(net, rows, ss.EM(inference=inference), until=2)
    monkeypatch.setattr(costs, "MOST_CONTEXT_ENTRIES", 4)
    found = ss.fit(net, rows, ss.EM(inference=inference), until=2)
    assert found.model.cpd("x").intercept == pytest.approx(1.0, abs=0.5)
