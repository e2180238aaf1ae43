"""Instructions, by hand and by layout, compiled and as plain Python, beside einsum and transposition."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sepset.kernels.compiled import contraction as kernels, instructions as columns, layout, loops, panels, tiles
from support.blocks import in_blocks
from support.kernel_calls import NONE, run
from support.small_contractions import compressed, product, random_table, size_of, uncompile
from support.tolerances import EXACT

SEEDS = range(60)
NEVER = np.zeros(1, np.uint8)


def strides_of(scope, cards):
    """Strides in C order by rank."""
    return {r: size_of(scope[i + 1 :], cards) for i, r in enumerate(scope)}


def group_rows(axes, cards, a=(), b=(), d=()):
    """One group an axis, in the order given, and neutral ones in front so that there are two."""
    by = [strides_of(scope, cards) for scope in (a, b, d)]
    rows = [[cards[r], *(strides.get(r, 0) for strides in by)] for r in axes]
    return [[1, 0, 0, 0]] * (2 - len(rows)) + rows


def loops_op(d, a, b, size, first, count, tensors=(2, 0, 1)):
    op = np.zeros(columns.WIDTH, np.int64)
    op[[columns.KIND, columns.DST, columns.A, columns.B, columns.SIZE]] = columns.LOOPS, d, a, b, size
    op[[columns.TENSOR_D, columns.TENSOR_A, columns.TENSOR_B]] = tensors
    op[[columns.FIRST, columns.COUNT]] = first, count
    return op


def execute(w, ops, groups, exponents=None, *, maximize=False, cancel=NEVER):
    exponents = np.zeros(8, np.int64) if exponents is None else exponents
    flags = np.zeros(2, np.int64)
    with np.errstate(over="ignore"):  # unsigned strides step back by wrapping around
        run(w, ops=ops, groups=groups, exponents=exponents, flags=flags, maximize=maximize, cancel=cancel)
    return exponents, flags


def workspace(*parts, room=0):
    """The parts end to end, then numbers that must be overwritten, then some that must not be."""
    flat = [np.ravel(part) for part in parts]
    offsets = np.cumsum([0, *(len(part) for part in flat)]).tolist()
    return np.concatenate([*flat, np.full(room, np.nan), [7.0]]), offsets


@pytest.fixture(params=["compiled", "plain"])
def either(request, monkeypatch):
    if request.param == "plain":
        uncompile(monkeypatch, kernels, loops, tiles)


@pytest.mark.parametrize("maximize", [False, True])
@in_blocks("seed", SEEDS)
@pytest.mark.usefixtures("either")
def test_loops_in_any_order_are_an_einsum(seed, maximize):
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, 5, 5).tolist()
    a, b = (tuple(sorted(rng.permutation(5)[: rng.integers(0, 5)].tolist())) for _ in range(2))
    union = sorted({*a, *b})
    d = tuple(r for r in union if rng.random() < 0.5) if rng.random() < 0.8 else tuple(union)
    tables = [random_table(rng, cards, scope) for scope in (a, b)]
    size = size_of(d, cards)
    w, (first, second, to) = workspace(*tables, room=size)
    groups = group_rows(rng.permutation(union).tolist(), cards, a, b, d)
    execute(w, [loops_op(to, first, second, size, 0, len(groups))], groups, maximize=maximize)
    expected = product(tables, [a, b], cards, union, d, np.max if maximize else np.sum)
    np.testing.assert_allclose(w[to : to + size], np.ravel(expected), rtol=EXACT)
    np.testing.assert_array_equal(w[:to], np.concatenate([np.ravel(table) for table in tables]))
    assert w[-1] == 7.0


@in_blocks("seed", SEEDS)
@pytest.mark.usefixtures("either")
def test_gather_copies_a_slice_with_its_axes_in_another_order(seed):
    rng = np.random.default_rng(seed)
    num = int(rng.integers(1, 5))
    shape = rng.integers(1, 5, num).tolist()
    table = rng.random(shape)
    axes = rng.permutation(num)
    held = int(rng.integers(0, num))
    place = tuple(int(rng.integers(shape[axis])) for axis in axes[:held])
    free = axes[held:].tolist()
    index = [slice(None)] * num
    for axis, code in zip(axes[:held].tolist(), place, strict=True):
        index[axis] = code
    expected = table[tuple(index)].transpose([sorted(free).index(axis) for axis in free])
    strides = strides_of(tuple(range(num)), shape)
    fixed = [list(range(held)), [strides[axis] for axis in axes[:held].tolist()]]
    near = strides_of(tuple(free), shape)
    groups = np.array([[shape[axis], strides[axis], 0, near[axis]] for axis in free])
    w = np.full(2 + expected.size + 1, 7.0)
    store = np.concatenate([np.full(3, np.nan), table.ravel()])
    run(w, store=store, rows=[2, 0, len(free), 3, 0, held], copies=groups, fixed=fixed, codes=place)
    np.testing.assert_array_equal(w[2:-1], expected.ravel())
    assert w[[0, 1, -1]].tolist() == [7.0] * 3


def tensors_of(cards, scopes, made, orders=None):
    """A contraction whose steps are known, with the axes of its tensors by rank or in these orders."""
    start, pool = compressed([(), *scopes])
    sizes = np.array([1.0, *(size_of(scope, cards) for scope in scopes)])
    moves = [
        strides_of(order, cards)[r]
        for scope, order in zip(scopes, scopes if orders is None else orders, strict=True)
        for r in scope
    ]
    steps = np.array(made, dtype=np.int64).reshape(-1, 3)
    return np.array(cards, dtype=np.float64), start, pool, sizes, steps, np.array(moves, dtype=np.int64)


# Panels wherever there can be some, all else in the order for tables that fill a cache; and no panels at all.
FREE = ("PANEL_PRODUCT", "PANEL_ENTRY", "PANEL", "PANELS_CALL", "BATCH_STATE", "SCATTERED_ENTRY")
COSTS = {
    "as measured": {},
    "panels": dict.fromkeys(FREE, 0.0),
    "streams": {"CACHED_ENTRIES": 4, "PANELS_CALL": math.inf},
}


@pytest.mark.parametrize("axes", ["by rank", "in any order"])
@pytest.mark.parametrize("costs", COSTS)
@in_blocks("seed", SEEDS)
def test_a_layout_computes_its_step_whatever_the_costs(seed, costs, axes, monkeypatch):
    uncompile(monkeypatch, layout, loops, panels, tiles)
    for name, value in COSTS[costs].items():
        for module in (layout, loops, panels):
            if hasattr(module, name):
                monkeypatch.setattr(module, name, value)
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, 5, 6).tolist()
    a, b = (tuple(sorted(rng.permutation(6)[: rng.integers(0, 6)].tolist())) for _ in range(2))
    union, shared = sorted({*a, *b}), {*a} & {*b}
    private = rng.random() < 0.3  # a sum over a variable of one operand is no product of rows and columns
    d = tuple(r for r in union if rng.random() < 0.5 or not (private or r in shared))
    tables = [random_table(rng, cards, scope) for scope in (a, b)]
    nothing = np.zeros(1, np.int64), *(NONE,) * 9
    orders = [scope if axes == "by rank" else tuple(rng.permutation(scope).tolist()) for scope in (a, b, d)]
    tensors = tensors_of(cards, [a, b, d], [(3, 1, 2)], orders)
    ops, groups, offsets, size, work, *_ = layout.assemble(*tensors, *nothing)
    assert work == size_of(union, cards)
    assert (np.diff(offsets) >= [1, tables[0].size, tables[1].size]).all()
    wide = [r for r in union if cards[r] > 1]
    roles = [r in d and r not in b for r in wide], [r not in d for r in wide], [r in d and r not in a for r in wide]
    has_panels = all(r in d or r in shared for r in wide) and all(map(any, roles))
    assert costs == "as measured" or (ops[0, columns.KIND] == columns.PANELS) == (has_panels and costs == "panels")
    laid = [table.transpose([s.index(r) for r in o]) for table, s, o in zip(tables, (a, b), orders, strict=False)]
    w = np.full(size + 1, np.nan)
    for place, table in zip(offsets, [np.ones(1), *laid], strict=False):
        w[place : place + table.size] = np.ravel(table)
    w[-1] = 7.0
    execute(w, ops, groups)
    expected = product(tables, [a, b], cards, union, d).transpose([d.index(r) for r in orders[2]])
    np.testing.assert_allclose(w[offsets[3] : offsets[3] + expected.size], np.ravel(expected), rtol=EXACT)
    assert w[-1] == 7.0


@in_blocks("seed", SEEDS)
@pytest.mark.parametrize("how", ["compiled", "plain"])
def test_factors_are_laid_out_as_their_reduced_transposes(seed, how, monkeypatch):
    if how == "plain":
        uncompile(monkeypatch, layout, loops, panels, tiles)
    rng = np.random.default_rng(seed)
    num = 6
    cards = rng.integers(1, 5, num).tolist()
    scopes = [tuple(rng.permutation(num)[: rng.integers(0, 5)].tolist()) for _ in range(4)]
    tables = [rng.random([cards[v] for v in scope]) for scope in scopes]
    seen = rng.permutation(num)[: rng.integers(0, 4)].tolist()
    codes = [int(rng.integers(cards[v])) for v in seen]
    order = [v for v in rng.permutation(num).tolist() if v not in seen]
    rank, place = np.full(num, -1), np.full(num, -1)
    rank[order], place[seen] = np.arange(len(order)), np.arange(len(seen))
    numbers = np.array([3, 0, 2])
    free = [tuple(sorted(rank[v] for v in scopes[n] if rank[v] >= 0)) for n in numbers]
    tensors = tensors_of([cards[v] for v in order], free, [])
    start, members = compressed(scopes)
    strides = np.array([s for scope in scopes for s in strides_of(scope, cards).values()], dtype=np.int64)
    ends = np.cumsum([0, *(table.size for table in tables)])
    found = layout.assemble(*tensors, start, members, strides, ends, numbers, rank, place, *(NONE,) * 3)
    offsets, (rows, copies, fixed) = found[2], found[5:8]
    w = np.full(found[3], np.nan)
    store = np.concatenate([np.ravel(table) for table in tables])
    run(w, store=store, rows=rows, copies=copies, fixed=fixed, codes=codes)
    for k, n in enumerate(numbers):
        index = tuple(codes[seen.index(v)] if v in seen else slice(None) for v in scopes[n])
        left = [v for v in scopes[n] if v not in seen]
        expected = tables[n][index].transpose([left.index(order[r]) for r in free[k]])
        first = offsets[k + 1]
        np.testing.assert_array_equal(w[first : first + expected.size], expected.ravel())
