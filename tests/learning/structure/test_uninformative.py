"""Columns from which no structure can be learned."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import sepset as ss
from sepset.base.numerics import matrices
from sepset.learning.structure import uninformative
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.uninformative import check_collinear, check_informative
from sepset.learning.structure.unused import uses_score

NOISE = np.random.default_rng(0).integers(0, 2, 40)


@pytest.mark.parametrize("method", [None, ss.GES(), ss.PC(), ss.FCI(), ss.ExactSearch(), ss.StructuralEM()])
def test_constant_columns_are_refused_by_name(method: object) -> None:
    rows = pd.DataFrame({"a": NOISE, "same": ["x"] * 40, "too": [3] * 40})
    with pytest.raises(
        ss.errors.DataError, match=r"'same', 'too' are constant: they have one value in all rows.*Drop them"
    ):
        ss.learn_structure(rows, method=method)
    with pytest.raises(ss.errors.DataError, match="'same', 'too'"):
        ss.structure_posterior(rows, method=ss.PartitionMCMC(num_samples=2))


def test_states_that_are_given_are_meant() -> None:
    rows = {"a": NOISE, "same": ["x"] * 40}
    for states in (("x",), ("x", "y")):
        assert ss.learn_structure(rows, variables=[ss.Discrete("same", states)]).graph.num_edges == 0
    assert ss.learn_structure(ss.Dataset(rows)).graph.num_edges == 0
    assert ss.learn_structure(rows, variables=iter([ss.Discrete("same", "xy")])).graph.num_edges == 0


def test_more_states_than_rows_are_refused() -> None:
    with pytest.raises(ss.errors.DataError, match=r"'id' has 1,000 states in 9 rows"):
        ss.learn_structure({"id": [0, 1, 2] * 3, "b": [0, 1, 1] * 3}, variables=[ss.Discrete("id", 1000)])
    with pytest.raises(ss.errors.DataError, match=r"'id' has 40 states in 40 rows.*Drop"):
        ss.learn_structure({"id": [f"user {k}" for k in range(40)], "b": NOISE})


def test_weights_may_be_rows_or_fractions_and_hidden_columns_have_none() -> None:
    """Few distinct rows that stand for many, rows whose weights sum to one, and columns without a cell are no error."""
    values = [ss.Discrete("a", 8), ss.Discrete("b", 2)]
    few = Columns.of({"a": [0, 1], "b": [0, 1]}, variables=values, weights=[20, 30])
    check_informative(few, None, values)
    shares = Columns.of({"a": [0, 1] * 5, "b": [0, 1] * 5}, variables=values, weights=[0.1] * 10)
    check_informative(shares, None, values)
    hidden = Columns.of({"b": [0, 1]}, variables=values, missing="available", hidden=True)
    check_informative(hidden, None, values)
    with pytest.raises(ss.errors.DataError, match="8 states in 2 rows"):
        check_informative(Columns.of({"a": [0, 1], "b": [0, 1]}, variables=values), None, values)


METHODS = {
    "default": None,
    "HillClimb": ss.HillClimb(),
    "GES": ss.GES(),
    "ExactSearch": ss.ExactSearch(),
    "ChowLiu": ss.ChowLiu(),
    "Forest": ss.structure.Forest(),
    "StructuralEM": ss.StructuralEM(),
    "OrderMCMC": ss.OrderMCMC(num_samples=2),
    "PartitionMCMC": ss.PartitionMCMC(num_samples=2),
    "StructureMCMC": ss.StructureMCMC(num_samples=2),
    "TreePosterior": ss.structure.TreePosterior(),
}
BY_TESTS = {
    "PC": lambda test: ss.PC(test=test),
    "FCI": lambda test: ss.FCI(test=test),
    "MMHC": lambda test: ss.MMHC(candidates=ss.structure.MMPC(test=test)),
}
X = np.random.default_rng(1).normal(size=(3, 60))


def learned(rows: object, method: object, score: object = None) -> object:
    """The result of any method, with the score if it uses one."""
    score = score if uses_score(method) else None
    if callable(getattr(method, "average", None)):
        return ss.structure_posterior(rows, method=method, score=score)
    return ss.learn_structure(rows, method=method, score=score)


@pytest.mark.parametrize("method", [*METHODS, *BY_TESTS])
def test_duplicated_discrete_columns_are_refused_by_all_methods(method: str) -> None:
    """Copies, also with the states in other words or in another order; not columns that differ in one row."""
    made = METHODS[method] if method in METHODS else BY_TESTS[method](ss.structure.G())
    other = np.random.default_rng(2).integers(0, 2, 40)
    for copy in (NOISE, 1 - NOISE, np.where(NOISE, "yes", "no"), pd.Categorical(np.where(NOISE, "a", "z"))):
        with pytest.raises(ss.errors.DataError, match=r"duplicated: 'copy' of 'a'.*Drop one of each pair"):
            learned(pd.DataFrame({"a": NOISE, "b": other, "copy": copy}), made)
    nearly = np.concatenate([1 - NOISE[:1], NOISE[1:]])
    learned(pd.DataFrame({"a": NOISE, "b": other, "nearly": nearly}), made)


def test_copies_that_are_meant_or_may_be_chance_are_kept() -> None:
    rows = {"a": NOISE, "copy": NOISE}
    assert ss.learn_structure(ss.Dataset(rows)).graph.num_edges == 1
    assert ss.learn_structure(rows, variables=[ss.Discrete("copy", 2)]).graph.num_edges == 1
    assert ss.learn_structure({"a": [0, 1] * 5, "copy": [0, 1] * 5}).graph.num_edges == 1
    weights = np.where(np.arange(40) == 3, 0.0, 1.0)
    only_weightless = np.where(np.arange(40) == 3, 1 - NOISE, NOISE)
    with pytest.raises(ss.errors.DataError, match="duplicated"):
        ss.learn_structure({"a": NOISE, "copy": only_weightless}, weights=weights)
    gaps = [None if k == 5 else int(v) for k, v in enumerate(NOISE)]
    ss.learn_structure({"a": NOISE.tolist(), "copy": gaps}, missing="available")
    with pytest.raises(ss.errors.DataError, match="duplicated"):
        ss.learn_structure({"a": gaps, "copy": gaps}, missing="available")


def test_many_copies_are_listed_shortly() -> None:
    with pytest.raises(ss.errors.DataError, match=r"'c0' of 'a', 'c1' of 'a', 'c2' of 'a', \.\.\. \(9 in all\)"):
        ss.learn_structure({"a": NOISE, **{f"c{k}": NOISE for k in range(9)}})


@pytest.mark.parametrize("method", [*METHODS, *BY_TESTS])
def test_collinear_and_constant_numbers_are_refused_by_all_methods(method: str) -> None:
    """In scores and tests alike; the relation names the columns that take part. Trees have pairs only."""
    made = METHODS[method] if method in METHODS else BY_TESTS[method](ss.structure.FisherZ())
    rows = {"x": X[0], "other": X[2], "y": X[0] + X[1]}
    for score in (ss.BIC(), ss.structure.BGe()):
        with pytest.raises(ss.errors.DataError, match="'copy' is a linear function of 'x' up to rounding"):
            learned({**rows, "copy": 5.0 - 3.0 * X[0]}, made, score)
        with pytest.raises(ss.errors.DataError, match=r"'flat' is constant.*Drop it\.$"):
            learned({**rows, "flat": np.full(60, 0.1)}, made, score)
        if method not in ("ChowLiu", "Forest", "TreePosterior"):
            with pytest.raises(ss.errors.DataError, match="'sum' is a linear function of 'x', 'y' up to rounding"):
                learned({**rows, "sum": 1e3 * (X[0] - X[1]) + 1e6}, made, score)


def test_wide_tables_of_numbers_are_collinear_by_count_alone() -> None:
    wide = {f"x{k}": row for k, row in enumerate(np.random.default_rng(3).normal(size=(8, 6)))}
    assert ss.learn_structure(wide).score > -np.inf
    with pytest.raises(ss.errors.DataError, match="'copy' is a linear function of 'x0'"):
        ss.learn_structure({**wide, "copy": 2.0 * wide["x0"]})


def test_numbers_beside_states_and_missing_cells_are_compared_too() -> None:
    rows = {"x": X[0], "a": (X[1] > 0).astype(int), "copy": -X[0]}
    with pytest.raises(ss.errors.DataError, match="'copy' is a linear function of 'x'"):
        ss.learn_structure(rows)
    gaps = np.where(np.arange(60) % 7 == 0, np.nan, X[0])
    with pytest.raises(ss.errors.DataError, match="'copy' is a linear function of 'x'"):
        ss.learn_structure({**rows, "x": gaps}, missing="available")


def first_pair(values):
    """The first column that is a multiple of an earlier one, and that one, by all correlations."""
    with np.errstate(all="ignore"):
        strength = np.nan_to_num(np.corrcoef(values)) ** 2
    pairs = np.argwhere(np.tril(strength, -1) >= 1 - 1e-11)
    return None if not len(pairs) else (int(pairs[0, 0]), int(pairs[0, 1]))


@pytest.mark.parametrize("seed", range(20))
def test_the_first_pair_of_collinear_columns_is_the_one_of_all_correlations(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(40, 7)) if seed % 2 else rng.integers(0, 3, (40, 5)).astype(float)
    for copy, original in rng.integers(0, 40, (seed % 4, 2)):
        values[copy] = rng.normal() + rng.choice([-3.0, 2.0]) * values[original]
    values = values[values.std(axis=1) > 0]
    columns = Columns.of(
        {f"x{i}": x for i, x in enumerate(values)}, variables=[ss.Real(f"x{i}") for i in range(len(values))]
    )
    expected = first_pair(values)
    if expected is None:
        check_collinear(columns, is_pairwise=True)
        return
    with pytest.raises(ss.errors.DataError, match=rf"'x{expected[0]}' is a linear function of 'x{expected[1]}' up"):
        check_collinear(columns, is_pairwise=True)


def test_columns_without_collinear_pairs_are_not_compared_pair_by_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = []
    monkeypatch.setattr(
        uninformative, "parts", lambda count, *work: compared.append(count) or matrices.parts(count, *work)
    )
    rng = np.random.default_rng(0)
    check_collinear(Columns.of({f"x{i}": rng.normal(size=30) for i in range(500)}))
    assert sum(compared) <= 4 * 500
