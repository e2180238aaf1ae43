"""The executor: exponents carry ranges, wide ones are flagged, canceling stops it, and reads are normalized."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sepset.kernels.compiled import contraction as kernels, instructions as columns
from support.kernel_calls import run


def product(a, b, **changed):
    """One instruction that multiplies two vectors entry by entry, and what it leaves."""
    n = len(a)
    w = np.concatenate([a, b, np.full(n, np.nan)])
    op = np.zeros((1, columns.WIDTH), np.int64)
    op[0, columns.B], op[0, columns.DST], op[0, columns.SIZE] = n, 2 * n, n
    op[0, columns.TENSOR_A], op[0, columns.TENSOR_B], op[0, columns.TENSOR_D] = 0, 1, 2
    op[0, columns.COUNT] = 2
    groups = np.array([[1, 0, 0, 0], [n, 1, 1, 1]], dtype=np.int64)
    exponents, flags = np.array([3, 4, 0]), np.zeros(2, np.int64)
    cancel = np.array([changed.get("cancel", 0)], np.uint8)
    maximize = changed.get("maximize", False)
    run(w, ops=op, groups=groups, exponents=exponents, flags=flags, maximize=maximize, cancel=cancel)
    return w[2 * n :], exponents, flags


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 100])
def test_products_and_exponents(n, maximize):
    rng = np.random.default_rng(n)
    a, b = rng.random(n), rng.random(n)
    found, exponents, flags = product(a, b, maximize=maximize)
    np.testing.assert_array_equal(found, a * b)
    assert exponents.tolist() == [3, 4, 7]
    assert not flags.any()


@pytest.mark.parametrize(("power", "shift"), [(0, 0), (30, 60), (40, 80), (-40, -80), (-300, -600)])
def test_what_drifts_is_brought_back_exactly(power, shift):
    a = np.array([1.0, 0.75, 0.0]) * 2.0**power
    found, exponents, flags = product(a, a)
    kept = shift if abs(shift) > kernels.LIMIT else 0
    assert exponents[2] == 7 + kept
    assert not flags.any()
    np.testing.assert_array_equal(found, np.array([1.0, 0.75**2, 0.0]) * 2.0 ** (shift - kept))


@pytest.mark.parametrize(("bits", "wide"), [(100, False), (224, False), (226, True), (500, True)])
def test_a_range_that_products_would_not_survive_is_flagged(bits, wide):
    a = np.array([1.0, 2.0**-bits])
    _, _, flags = product(a, a)
    assert flags.tolist() == [int(wide), 0]


def test_zeros_alone_are_no_range():
    found, exponents, flags = product(np.zeros(3), np.ones(3))
    assert not found.any()
    assert exponents[2] == 7
    assert not flags.any()


def test_cancelling_stops_before_the_next_instruction():
    found, _, flags = product(np.ones(2), np.ones(2), cancel=1)
    assert np.isnan(found).all()
    assert flags.tolist() == [0, 1]


def test_gather_copies_with_strides_from_an_offset():
    store = np.arange(24.0)
    w = np.full(6, np.nan)
    # A 2 x 3 x 4 table at its last axis' code 1, transposed to 3 x 2.
    groups = np.array([[3, 4, 0, 2], [2, 12, 0, 1]], dtype=np.int64)
    run(w, store=store, rows=[0, 0, 2, 0, 0, 1], copies=groups, fixed=[[0], [1]], codes=[1])
    np.testing.assert_array_equal(w.reshape(3, 2), store.reshape(2, 3, 4)[:, :, 1].T)


def test_reads_are_normalized_zeros_stay_and_findings_are_point_masses():
    w = np.array([9.0, 1.0, 3.0, 0.0, 0.0, 5.0])
    out = np.full(8, np.nan)
    run(w, reads=[[1, 0, 2], [3, 2, 2], [5, 4, 1], [-2, 5, 3]], codes=[0, 2], out=out)
    np.testing.assert_array_equal(out, [0.25, 0.75, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0])


def test_the_log_total_counts_exponents_and_an_empty_mass():
    w = np.array([1.0, 3.0, 2.0, 0.0])
    exponents = np.array([10, 5, -3])
    total = run(w, roots=[[0, 0, 2], [2, 2, 1]], exponents=exponents)
    assert total == pytest.approx(math.log(8) + 7 * math.log(2))
    assert run(w, roots=[[0, 0, 2], [2, 3, 1]], exponents=exponents) == -math.inf
    assert run(w) == 0.0
