"""Two instructions by slices: the sum of products of three tensors, for any parts in any order."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.kernels.compiled import contraction as kernels, instructions as columns, loops, slices, tiles
from sepset.kernels.kernel import load
from support.small_contractions import uncompile

A, B, C, D, SLICE = 0, 4, 10, 16, 20


def pair():
    """First $t_{ij} = a_i b_j$, then $d_i = \\sum_j c_j t_{ij}$, by slices of one i; with its groups and axes."""
    ops = np.zeros((2, columns.WIDTH), np.int64)
    ops[0, [columns.A, columns.B, columns.DST, columns.SIZE, columns.COUNT]] = A, B, SLICE, 6, 2
    ops[1, [columns.A, columns.B, columns.DST, columns.SIZE, columns.FIRST, columns.COUNT]] = C, SLICE, D, 1, 2, 2
    groups = np.array([[1, 0, 0, 0], [6, 0, 1, 1], [1, 0, 0, 0], [6, 1, 1, 0]], np.int64)
    return ops, groups, np.array([[4, 1, 0, 0, 0, 1]], np.int64)


def workspace(rng):
    w = np.full(SLICE + 6 * slices.SLICED_PARTS, np.nan)
    w[:D] = rng.random(D)
    return w


@pytest.fixture(params=["compiled", "plain"])
def _form(request, monkeypatch):
    load()
    if request.param == "plain":
        for module in (slices, kernels, loops, tiles):
            uncompile(monkeypatch, module)


@pytest.mark.parametrize("scale", [1.0, 0.25])
@pytest.mark.usefixtures("_form")
def test_parts_in_any_order_are_the_sum_of_three(scale):
    rng = np.random.default_rng(3)
    w, (ops, groups, axes) = workspace(rng), pair()
    with np.errstate(all="ignore"):  # unsigned numbers go around, as in compiled code
        for part in rng.permutation(slices.SLICED_PARTS).tolist():
            slices.run_slices(w, ops, groups, axes, 6, scale, 4, part, part + 1, np.zeros(1, np.uint8))
    a, b, c = w[A:B], w[B:C], w[C:D]
    np.testing.assert_allclose(w[D:SLICE], scale * a * (b @ c), rtol=1e-14)


@pytest.mark.usefixtures("_form")
def test_the_range_of_the_first_result_is_that_of_its_positive_entries():
    w, (ops, groups, axes) = workspace(np.random.default_rng(0)), pair()
    w[A:B], w[B:C] = [0.0, 1.0, 2.0**40, 0.0], [2.0**-70, 0.0, 0.0, 8.0, 1.0, 0.0]
    cancel = np.zeros(1, np.uint8)
    with np.errstate(all="ignore"):
        assert tuple(map(int, slices.first_span(w, ops, groups, axes, 4, cancel))) == (-70, 43)
        w[A:B] = 0.0
        assert tuple(map(int, slices.first_span(w, ops, groups, axes, 4, cancel))) == (0, 0)


@pytest.mark.parametrize(
    ("found", "shift", "is_wide"), [((-10, 5), 0, False), ((100, 130), 130, False), ((-600, 20), -290, True)]
)
@pytest.mark.usefixtures("_form")
def test_the_first_result_is_scaled_like_any_other(found, shift, is_wide):
    exponents, flags, spans = np.array([7, 1]), np.zeros(3, np.int64), np.zeros((2, 2), np.int64)
    slices.scale_first(1, *found, exponents, flags, spans)
    assert exponents.tolist() == [7, 1 + shift]
    assert spans[1].tolist() == [end - shift for end in found]
    assert bool(flags[2]) == is_wide


@pytest.mark.usefixtures("_form")
def test_products_out_of_range_are_noticed_before_they_are_made():
    w, (ops, groups, _) = workspace(np.random.default_rng(0)), pair()
    op = ops[1].copy()
    op[[columns.TENSOR_A, columns.TENSOR_B, columns.TENSOR_D]] = 0, 1, 2
    state = np.ones(3, np.uint8), np.array([3, 4, 0])
    spans = np.array([[-1000, 0], [-500, 0], [0, 0]])
    with np.errstate(all="ignore"):
        assert slices.begin_second(w, op, groups, *state, spans, 1) == kernels.DUE  # the other operand is looked at
        assert spans[0, 0] > -20
        assert (state[1][2], w[D]) == (7, 0.0)
        spans[1, 0] = -1020
        assert slices.begin_second(w, op, groups, *state, spans, 1) == slices.UNBOUNDED
        assert slices.begin_second(w, op, groups, np.zeros(3, np.uint8), state[1], spans, 1) == kernels.UNCHANGED
