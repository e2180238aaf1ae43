"""Rows with kernels: densities, held-out scores and widths."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import optimize, stats

from sepset.data.kernelrows import Samples, best_width, chunks, held_out_log_likelihood, log_kernels
from sepset.errors import DataError
from support.tolerances import CLOSE


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_kernels_are_products_of_normals(num_at, num_points, size, seed):
    rng = np.random.default_rng(seed)
    at, points, width = rng.normal(size=(num_at, size)), rng.normal(size=(num_points, size)), rng.random(size) + 0.1
    found = log_kernels(at, points, width)
    for r in range(num_at):
        for m in range(num_points):
            assert found[r, m] == pytest.approx(stats.norm(points[m], width).logpdf(at[r]).sum(), abs=CLOSE)


def test_chunks():
    assert [(c.start, c.stop) for c in chunks(5, 500_000)] == [(0, 2), (2, 4), (4, 5)]
    assert list(chunks(0, 3)) == []


def held_out(rows, width, folds=None):
    """Each row's density under the others' kernels, by a plain loop; the last column is the child."""
    total = 0.0
    for m, row in enumerate(rows):
        other = [n for n in range(len(rows)) if (n != m if folds is None else folds[n] != folds[m])]
        if not other:
            continue
        joint = np.mean([stats.norm.pdf(row, rows[n], width).prod() for n in other])
        above = np.mean([stats.norm.pdf(row[:-1], rows[n][:-1], width[:-1]).prod() for n in other])
        total += math.log(joint / above)
    return total


@given(st.integers(2, 7), st.integers(1, 3), st.integers(0, 2**32 - 1), st.booleans())
def test_held_out_rows_are_scored_by_others(num_rows, size, seed, folded):
    rng = np.random.default_rng(seed)
    rows, width = rng.normal(size=(num_rows, size)), rng.random(size) + 0.5
    folds = rng.integers(2, size=num_rows) if folded else None
    found = held_out_log_likelihood(Samples.of(rows), width, size - 1, None if folds is None else [folds])
    assert found == pytest.approx(held_out(rows, width, folds), rel=1e-9, abs=1e-9)


def test_published_width():
    samples = Samples.of([[0.0], [1.0], [3.0]])
    assert best_width(samples, 0)[0] == pytest.approx(1.9019, abs=5e-5)
    assert best_width(samples, 0, scale=[10.0])[0] == pytest.approx(1.9019, abs=5e-5)
    rows, ends = [[0.0], [1.0], [3.0]], (0.5, 5.0)
    at = optimize.minimize_scalar(lambda a: -held_out(rows, np.array([a])), bounds=ends, method="bounded")
    assert best_width(samples, 0)[0] == pytest.approx(at.x, abs=1e-4)


def test_widths_are_better_than_their_neighbors():
    rng = np.random.default_rng(0)
    u = rng.normal(size=60)
    samples = Samples.of(np.stack([u, 100 * np.sin(u) + 10 * rng.normal(size=60)], axis=1))
    folds = [rng.integers(5, size=60)]
    for parts in (None, folds):
        found = best_width(samples, 1, folds=parts)
        best = held_out_log_likelihood(samples, found, 1, parts)
        assert all(held_out_log_likelihood(samples, found * f, 1, parts) <= best for f in (0.5, 0.9, 1.1, 2.0))
        np.testing.assert_allclose(found / found[0], samples.deviations() / samples.deviations()[0])


def test_contexts_share_a_width_and_lonely_rows_do_not_count():
    rows = np.array([[0.0], [1.0], [3.0], [50.0]])
    samples = Samples.of(rows, context=np.array([0, 0, 0, 1]), num_contexts=3)
    assert best_width(samples, 0)[0] == pytest.approx(1.9019, abs=5e-5)
    assert [len(p) for p in samples.points] == [3, 1, 0]


def test_repeated_rows_are_refused():
    with pytest.raises(DataError, match="rows repeat"):
        best_width(Samples.of([[0.0], [0.0], [1.0], [1.0]]), 0)
    with pytest.raises(DataError, match="has none"):
        best_width(Samples.of([[0.0]]), 0)


def test_samples_add_and_drop_what_has_no_weight():
    first = Samples.of([[1.0, 2.0], [3.0, 4.0]], [1.0, 0.0], context=np.array([0, 1]), num_contexts=2)
    second = Samples.of([[5.0, 6.0]], [0.5], context=np.array([1]), num_contexts=2)
    both = first + second
    assert [p.tolist() for p in both.points] == [[[1.0, 2.0]], [[5.0, 6.0]]]
    assert [w.tolist() for w in both.weights] == [[1.0], [0.5]]
    assert both.deviations().tolist() == [1.0, 1.0]
    assert repr(both) == "Samples(2 rows, 2 columns, 2 contexts)"
    with pytest.raises(DataError, match="different columns"):
        first + Samples.of([[1.0]])
    with pytest.raises(DataError, match="complete finite"):
        Samples.of([[np.nan]])
