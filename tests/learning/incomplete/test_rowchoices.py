"""Every choice of hidden states of every row, once, with its joint density."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

import sepset as ss
from sepset.learning.incomplete.rowchoices import RowChoices, num_choices

D, E, X = ss.Discrete("d", 2), ss.Discrete("e", 3), ss.Real("x")
NET = ss.BayesNet(
    ss.TableCPD(D, [0.3, 0.7]),
    ss.TableCPD(E, [[0.5, 0.5, 0.0], [0.2, 0.2, 0.6]], given=D),
    ss.LinearGaussian(X, [0.0, 2.0, 4.0], covariance=[1.0, 0.5, 2.0], by=E),
)
COLUMNS = {D: np.array([-1, 0, -1, 1]), E: np.array([-1, -1, 2, 0]), X: np.array([1.0, np.nan, 3.0, np.nan])}


def test_choices_are_all_joint_states():
    assert num_choices(COLUMNS, 4).tolist() == [6, 3, 2, 1]
    seen = {row: set() for row in range(4)}
    for part in RowChoices.of(COLUMNS, np.arange(4)).completed(NET):
        for number, owner in enumerate(part.owner):
            row, numbers = int(part.rows[owner]), part.numbers.columns
            d, e, x = int(numbers[D][number]), int(numbers[E][number]), numbers[X][number]
            seen[row].add((d, e))
            joint = [0.3, 0.7][d] * np.array([[0.5, 0.5, 0.0], [0.2, 0.2, 0.6]])[d, e]
            if np.isnan(COLUMNS[X][row]):
                assert x == [0.0, 2.0, 4.0][e]
            else:
                joint *= stats.norm([0.0, 2.0, 4.0][e], np.sqrt([1.0, 0.5, 2.0][e])).pdf(x)
            assert np.exp(part.log_joint[number]) == pytest.approx(joint, rel=1e-12)
    for row, found in seen.items():
        options = [
            range(2) if COLUMNS[D][row] < 0 else [COLUMNS[D][row]],
            range(3) if COLUMNS[E][row] < 0 else [COLUMNS[E][row]],
        ]
        assert found == set(itertools.product(*options))


def test_posteriors_sum_to_one_and_best_choices_are_one_a_row():
    for part in RowChoices.of(COLUMNS, np.arange(4)).completed(NET):
        share, _ = part.posterior()
        assert np.add.reduceat(share, part.starts) == pytest.approx(1.0)
        chosen, _ = part.best()
        assert np.add.reduceat(chosen, part.starts).tolist() == [1.0] * len(part.rows)


def test_impossible_rows_are_named_by_their_places():
    columns = {D: np.array([0, 0]), E: np.array([1, 2]), X: np.array([1.0, 1.0])}
    with pytest.raises(ss.ImpossibleEvidence, match="rows 17, counted from 0"):
        next(iter(RowChoices.of(columns, np.array([5, 17])).completed(NET))).posterior()


def test_no_rows_and_too_many_states():
    nothing = {v: column[:0] for v, column in COLUMNS.items()}
    assert not list(RowChoices.of(nothing, np.zeros(0, np.int64)).completed(NET))
    wide = {ss.Discrete(f"v{i}", 4): np.array([-1]) for i in range(9)}
    with pytest.raises(ss.TooLarge, match="9 discrete variables with 262,144 joint states"):
        RowChoices.of(wide, np.arange(1))


def test_rows_that_miss_different_numbers_go_together():
    """The same choices, posteriors and moments as pattern by pattern, in fewer parts."""
    y = ss.Real("y")
    net = ss.BayesNet(*NET.cpds, ss.LinearGaussian(y, 1.0, coefficients=0.5, covariance=0.3, given=X))
    columns = COLUMNS | {y: np.array([np.nan, 2.0, 0.5, np.nan])}
    choices = RowChoices.of(columns, np.arange(4))
    apart, joined = list(choices.completed(net)), list(choices.together(net))
    assert (len(apart), len(joined)) == (4, 1)
    (part,) = joined
    for one in apart:
        (row,) = one.rows
        mine = part.owner == int(np.flatnonzero(part.rows == row)[0])
        np.testing.assert_allclose(part.log_joint[mine], one.log_joint, rtol=1e-12)
        for v in columns:
            np.testing.assert_allclose(part.numbers.columns[v][mine], one.numbers.columns[v], rtol=1e-12)
        spread = part.numbers.covariance((X, y))[part.numbers.group[mine]]
        np.testing.assert_allclose(spread, one.numbers.covariance((X, y))[one.numbers.group], atol=1e-12)
        np.testing.assert_allclose(part.best()[0][mine], one.best()[0])
    some = list(choices.together(net, np.array([0, 2])))
    assert sorted(r for p in some for r in p.rows.tolist()) == [0, 2]
    assert not list(choices.together(net, np.zeros(0, np.int64)))


def test_covariances_of_many_patterns_are_held_in_parts(monkeypatch):
    from sepset.learning.incomplete import rowchoices

    monkeypatch.setattr(rowchoices, "ENTRIES", 6)
    choices = RowChoices.of(COLUMNS, np.arange(4))
    parts = list(choices.together(NET))
    assert len(parts) == 2
    assert sorted(r for part in parts for r in part.rows.tolist()) == [0, 1, 2, 3]


@pytest.mark.parametrize("way", ["completed", "together"])
def test_some_rows_are_those_of_all(way):
    """Any rows, in any order and named twice, come once each with the numbers that they have among all."""
    rng = np.random.default_rng(2)
    data = ss.mask(NET.sample(60, 3), ss.MCAR(0.5), seed=4)
    columns = {D: data.codes("d").astype(np.int64), E: data.codes("e").astype(np.int64), X: data.values("x")}
    choices = RowChoices.of(columns, np.arange(60))

    def densities(rows=None):
        parts = list(getattr(choices, way)(NET, rows))
        found = [(int(p.rows[o]), float(v)) for p in parts for o, v in zip(p.owner, p.log_joint, strict=True)]
        return {row: [v for r, v in found if r == row] for row, _ in found}

    every = densities()
    assert sorted(every) == list(range(60))
    for size in (1, 7, 60):
        rows = rng.choice(60, size, replace=False)
        some = densities(np.concatenate([rows, rows[:1]]))
        assert sorted(some) == sorted(rows.tolist())
        for row, found in some.items():
            np.testing.assert_allclose(found, every[row], rtol=1e-12)
    assert densities(np.zeros(0, np.int64)) == {}
