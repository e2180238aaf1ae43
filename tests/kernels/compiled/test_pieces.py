"""Parts of large instructions: in any order they leave what the whole instruction leaves, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.kernels.compiled import contraction as kernels, instructions as columns, layout, loops, pieces, tiles
from sepset.kernels.kernel import load
from support.kernel_calls import run
from support.panel_instructions import panels
from support.small_contractions import uncompile


def strides(cards, axes):
    """The strides of a tensor whose axes are in this order."""
    found, step = dict.fromkeys(range(len(cards)), 0), 1
    for axis in reversed(axes):
        found[axis], step = step, step * cards[axis]
    return found


def instruction(cards, first, second, result):
    """Loops over all axes, and the sizes of the three tensors."""
    parts = [strides(cards, axes) for axes in (first, second, result)]
    groups = np.array([[cards[r], *(part[r] for part in parts)] for r in range(len(cards))], np.int64)
    sizes = [int(np.prod([cards[r] for r in axes])) for axes in (first, second, result)]
    op = np.zeros(columns.WIDTH, np.int64)
    op[columns.B], op[columns.DST], op[columns.SIZE] = sizes[0], sizes[0] + sizes[1], sizes[2]
    op[columns.TENSOR_A], op[columns.TENSOR_B], op[columns.TENSOR_D] = 0, 1, 2
    op[columns.COUNT] = len(groups)
    return op, groups, sizes


def whole(w, op, groups, maximize):
    found = w.copy()
    run(found, ops=[op], groups=groups, maximize=maximize, exponents=np.zeros(3, np.int64))
    return found


def by_parts(w, op, groups, maximize, rng):
    """All phases, the parts of each in random order."""
    found, state = w.copy(), (np.zeros(3, np.int64), np.zeros(3, np.int64), np.zeros((0, 2), np.int64))
    assert pieces.begin_step(found, op, groups, np.ones(3, np.uint8), *state, maximize) == kernels.DUE
    numbers = pieces.phases(op, groups, maximize)
    for phase in np.flatnonzero(numbers).tolist():
        for part in rng.permutation(int(numbers[phase])).tolist():
            pieces.run_parts(found, op, groups, phase, part, part + 1, maximize, np.zeros(1, np.uint8))
    pieces.end_step(found, op, groups, *state)
    return found, numbers


CASES = [
    ([9, 3, 4], (0, 1), (1, 2), (0, 2)),
    ([12, 5], (0, 1), (1, 0), (0,)),
    ([2] * 7, (0, 1, 2, 3, 4), (6, 5, 4, 3), (5, 0, 6, 2)),
    ([2] * 15, tuple(range(12)), tuple(reversed(range(3, 15))), (14, 0, 2, 7, 13, 5, 1, 12, 6)),
    ([3, 2, 2, 3, 2] * 3, tuple(range(11)), tuple(reversed(range(4, 15))), tuple(range(0, 15, 2))),
    ([4, 1, 2], (0, 1), (1, 2), (0, 1, 2)),
]


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("case", range(len(CASES)))
def test_parts_in_any_order_are_the_whole(case, maximize, monkeypatch):
    load()  # both forms are the compiled one: sums are reordered by the compiler
    rng = np.random.default_rng(case)
    cards, *axes = CASES[case]
    op, groups, sizes = instruction(cards, *axes)
    w = np.concatenate([rng.random(sizes[0] + sizes[1]), np.full(sizes[2], np.nan)])
    found, numbers = by_parts(w, op, groups, maximize, rng)
    np.testing.assert_array_equal(found, whole(w, op, groups, maximize))
    first, second, result = axes
    a, b = (w[: sizes[0]], w[sizes[0] : sizes[0] + sizes[1]])
    dense = np.einsum(
        a.reshape([cards[r] for r in first]), list(first), b.reshape([cards[r] for r in second]), list(second),
        [*result, *(r for r in range(len(cards)) if r not in result)],
    )  # fmt: skip
    expected = (np.max if maximize else np.sum)(dense.reshape(sizes[2], -1), axis=1)
    np.testing.assert_allclose(found[sizes[0] + sizes[1] :], expected, rtol=1e-12)
    assert numbers[pieces.MULTIPLY] >= 1


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize(("batch", "m", "n", "k"), [(1, 900, 70, 90), (3, 400, 65, 170), (9, 3, 4, 5)])
def test_blocks_of_rows_are_the_product(batch, m, n, k, maximize):
    load()
    rng = np.random.default_rng(m)
    left, right = rng.random((batch, k, m)), rng.random((batch, k, n))
    w = np.concatenate([left.ravel(), right.ravel(), np.zeros(batch * m * n)])
    op, groups = panels((batch, m, k, n), "bkm", "bkn", "bmn")
    found, numbers = by_parts(w, op, groups, maximize, rng)
    np.testing.assert_array_equal(found, whole(w, op, groups, maximize))
    products = [left[b].T[:, None] * right[b].T for b in range(batch)] if maximize else []
    expected = np.array([p.max(axis=2) for p in products]) if maximize else left.transpose(0, 2, 1) @ right
    np.testing.assert_allclose(found[left.size + right.size :], expected.ravel(), rtol=1e-12)
    assert numbers.tolist() == [0, 0, numbers[2], 0]


def test_the_kernels_in_plain_python(monkeypatch):
    for module in (pieces, kernels, loops, tiles):
        uncompile(monkeypatch, module)
    rng = np.random.default_rng(0)
    op, groups, sizes = instruction(*CASES[0])
    w = np.concatenate([rng.random(sizes[0] + sizes[1]), np.full(sizes[2], np.nan)])
    with np.errstate(all="ignore"):  # unsigned numbers go around, as in compiled code
        found, _ = by_parts(w, op, groups, False, rng)
    expected = w[: sizes[0]].reshape(9, 3) @ w[sizes[0] : sizes[0] + sizes[1]].reshape(3, 4)
    np.testing.assert_allclose(found[sizes[0] + sizes[1] :], np.ravel(expected), rtol=1e-12)


def laid_out(cards, orders):
    """One step over three tensors whose axes are in these orders, slowest first: its instruction as it is laid out."""
    scopes = [[], *map(sorted, orders)]
    moves = [strides(cards, order)[r] for order, scope in zip([(), *orders], scopes, strict=True) for r in scope]
    bounds = np.cumsum([0, *map(len, scopes)])
    sizes = np.array([np.prod([cards[r] for r in scope]) for scope in scopes], dtype=float)
    none, start = np.zeros(0, np.int64), np.zeros(1, np.int64)
    tensors = np.array(cards, float), bounds, np.concatenate(scopes).astype(np.int64), sizes, np.array([[3, 1, 2]])
    found = layout.assemble(*tensors, np.array(moves), start, none, none, none, none, none, none, none, none, none)
    return found[0][0], found[1], found[2], found[3]


PACKED = {
    "sum, second packed": ((0, 1, 2, 3, 4), (4, 1, 0, 2), (0, 1, 3)),
    "sum, some axes of one operand only": ((3, 2, 4, 0, 1), (1, 3), (0, 2, 3)),
    "product": ((2, 0, 1), (4, 3, 1), (0, 1, 2, 3, 4)),
    "first packed": ((1, 4, 3, 0), (0, 1, 2, 3, 4), (4, 2, 1)),
}


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("case", PACKED)
def test_packed_loops_are_the_sum_of_products(case, maximize):
    load()
    rng = np.random.default_rng(len(case))
    cards, orders = [13, 14, 9, 11, 10], PACKED[case]
    op, groups, places, size = laid_out(cards, orders)
    op[[columns.TENSOR_A, columns.TENSOR_B, columns.TENSOR_D]] = 0, 1, 2
    assert op[columns.KIND] == columns.PACKED
    a, b = (rng.random([cards[r] for r in order]) * rng.integers(0, 2, cards[order[-1]]) for order in orders[:2])
    w = np.full(size, np.nan)
    for place, values in zip(places[1:3], (a, b), strict=True):
        w[place : place + values.size] = values.ravel()
    found, numbers = by_parts(w, op, groups, maximize, rng)
    done = slice(places[3], places[3] + op[columns.SIZE])
    np.testing.assert_array_equal(found[done], whole(w, op, groups, maximize)[done])
    rest = [r for r in range(5) if r not in orders[2]]
    dense = np.einsum(a, list(orders[0]), b, list(orders[1]), [*orders[2], *rest]).reshape(op[columns.SIZE], -1)
    np.testing.assert_allclose(found[done], dense.max(axis=1) if maximize else dense.sum(axis=1), rtol=1e-12)
    assert numbers[pieces.MULTIPLY] > 1
    assert (numbers[[0, 1, 3]] > 0).any()
