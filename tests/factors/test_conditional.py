"""What elimination leaves behind: exact frequencies, modes, and no draw where there is no mass."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import chisquare

from sepset.errors import NotClosed
from sepset.factors.algebra import Conditional
from sepset.factors.conditional import TableConditional
from sepset.factors.table import Table
from sepset.variables.variable import Discrete
from support import small_tables as small

A, B, C = Discrete("A", 2), Discrete("B", 3), Discrete("C", 2)


@pytest.mark.parametrize("scale", [0.0, -3000.0])
def test_draws_follow_the_table(scale):
    rng = np.random.default_rng(3)
    values = np.array([[[1, 0], [2, 3], [0, 4]], [[5, 5], [0, 0], [1, 9]]], float)
    with np.errstate(divide="ignore"):
        table = Table.from_log((A, B, C), np.log(values) + scale)
    conditional, rest = table.eliminate([B, C])
    assert isinstance(conditional, Conditional)
    rows = {A: np.repeat([1, 0], 30_000)}
    drawn = conditional.sample(rows, 60_000, rng)
    counts = np.zeros((2, 3, 2))
    np.add.at(counts, (rows[A], drawn[B], drawn[C]), 1)
    expected = 30_000 * values / values.sum(axis=(1, 2), keepdims=True)
    assert (counts[values == 0] == 0).all()
    assert chisquare(counts[values > 0], expected[values > 0]).pvalue > 1e-4
    np.testing.assert_allclose(rest.log_values, np.log([10, 20]) + scale)


@given(small.factors(), st.data())
@settings(max_examples=60, deadline=None)
def test_modes_are_the_first_maximizers(f, data):
    scope, values = f
    out = [v for v in scope if data.draw(st.booleans())]
    kept = [v for v in scope if v not in out]
    conditional, _ = Table(scope, values).eliminate(out)
    rows = list(itertools.product(*(range(v.num_states) for v in kept)))
    columns = {v: np.array([row[i] for row in rows]) for i, v in enumerate(kept)}
    modes = conditional.mode(columns, len(rows))
    options = list(itertools.product(*(range(v.num_states) for v in out)))
    for place, row in enumerate(rows):
        fixed = dict(zip(kept, row, strict=True))
        scores = [values[tuple({**fixed, **dict(zip(out, o, strict=True))}[v] for v in scope)] for o in options]
        assert tuple(int(modes[v][place]) for v in out) == options[scores.index(max(scores))]


def test_modes_in_log_space_tell_close_values_apart():
    logs = np.array([1e6, np.nextafter(1e6, 2e6), -1e6])
    conditional, _ = Table.from_log(B, logs).eliminate(B)
    assert conditional.mode({}, 1)[B].tolist() == [1]


def test_zero_rows_cannot_be_drawn_from():
    conditional, _ = Table((A, B), [[0, 0, 0], [1, 2, 3]]).eliminate(B)
    rng = np.random.default_rng(0)
    with pytest.raises(NotClosed, match="nothing can be drawn"):
        conditional.sample({A: np.array([1, 0])}, 2, rng)
    assert conditional.sample({A: np.array([1, 1])}, 2, rng)[B].shape == (2,)


def test_no_rows():
    conditional, _ = Table((A, B), np.ones((2, 3))).eliminate(B)
    empty = {A: np.zeros(0, np.int64)}
    assert conditional.sample(empty, 0, np.random.default_rng(0))[B].shape == (0,)
    assert conditional.mode(empty, 0)[B].shape == (0,)


def test_nothing_eliminated_and_everything_eliminated():
    table = Table((A, B), [[1, 0, 0], [0, 0, 0]])
    nothing, rest = table.eliminate([])
    assert nothing.frontal == ()
    assert rest is table
    assert nothing.sample({A: np.array([0]), B: np.array([0])}, 1, np.random.default_rng(0)) == {}
    everything, total = table.eliminate([A, B])
    assert everything.parents == ()
    assert float(total) == 1.0
    drawn = everything.sample({}, 5, np.random.default_rng(0))
    assert drawn[A].tolist() == drawn[B].tolist() == [0] * 5


def test_tiny_and_huge_linear_values_can_be_drawn():
    table = Table(A, [1e-310, 3e-310])
    drawn = table.eliminate(A)[0].sample({}, 20_000, np.random.default_rng(0))[A]
    assert abs(drawn.mean() - 0.75) < 5 * math.sqrt(0.75 * 0.25 / 20_000)
    huge = Table(A, [1.7e308, 1.7e308])
    drawn = huge.eliminate(A)[0].sample({}, 20_000, np.random.default_rng(0))[A]
    assert abs(drawn.mean() - 0.5) < 5 * math.sqrt(0.25 / 20_000)


def test_draws_do_not_depend_on_how_rows_are_batched_in_distribution():
    rng = np.random.default_rng(0)
    many = Discrete("many", 2000)
    values = rng.random((2000, 2))
    conditional, _ = Table((many, A), values).eliminate(A)
    rows = {many: rng.integers(0, 2000, 200_000)}
    drawn = conditional.sample(rows, 200_000, rng)[A]
    p = (values[:, 1] / values.sum(axis=1))[rows[many]]
    assert abs((drawn - p).sum()) < 5 * math.sqrt((p * (1 - p)).sum())


def test_repr():
    assert repr(TableConditional((B,), (A, C), Table.ones((A, B, C)))) == "Conditional(B[3] | A[2], C[2])"
