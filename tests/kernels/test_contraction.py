"""Instructions written by hand and run over a workspace, beside einsum."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sepset.kernels import contraction as kernels
from small_contractions import product, random_table, size_of, uncompile
from tolerances import EXACT

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
    op = np.zeros(kernels.WIDTH, np.int64)
    op[[kernels.KIND, kernels.DST, kernels.A, kernels.B, kernels.SIZE]] = kernels.LOOPS, d, a, b, size
    op[[kernels.TENSOR_D, kernels.TENSOR_A, kernels.TENSOR_B]] = tensors
    op[[kernels.FIRST, kernels.COUNT]] = first, count
    return op


def execute(w, ops, groups, exponents=None, *, maximize=False, cancel=NEVER):
    exponents = np.zeros(8, np.int64) if exponents is None else exponents
    flags = np.zeros(2, np.int64)
    groups = np.array(groups, dtype=np.int64).reshape(-1, 4)
    with np.errstate(over="ignore"):  # unsigned strides step back by wrapping around
        kernels.execute(w, np.array(ops).reshape(-1, kernels.WIDTH), groups, exponents, flags, maximize, cancel)
    return exponents, flags


def workspace(*parts, room=0):
    """The parts end to end, then numbers that must be overwritten, then some that must not be."""
    flat = [np.ravel(part) for part in parts]
    offsets = np.cumsum([0, *(len(part) for part in flat)]).tolist()
    return np.concatenate([*flat, np.full(room, np.nan), [7.0]]), offsets


@pytest.fixture(params=["compiled", "plain"])
def either(request, monkeypatch):
    if request.param == "plain":
        uncompile(monkeypatch, kernels)


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
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


def packing(batch, rows, columns, source):
    """Groups that copy an array laid out as `source` ("bij" or permuted) to (batch, rows, columns)."""
    shape = {"b": batch, "i": rows, "j": columns}
    near = {axis: math.prod(shape[x] for x in source[n + 1 :]) for n, axis in enumerate(source)}
    return [[batch, near["b"], 0, rows * columns], [rows, near["i"], 0, columns], [columns, near["j"], 0, 1]]


def unpacking(batch, rows, columns, target):
    return [[n, into, 0, out] for n, out, _, into in packing(batch, rows, columns, target)]


@pytest.mark.parametrize(("batch", "m", "k", "n"), [(1, 1, 1, 1), (3, 2, 4, 3), (1, 5, 3, 2), (4, 1, 2, 1)])
@pytest.mark.parametrize("kind", ["as they lie", "a transposed", "b transposed", "all packed"])
@pytest.mark.usefixtures("either")
def test_matrix_products_are_an_einsum(batch, m, k, n, kind):
    rng = np.random.default_rng(batch + m)
    left, right = rng.random((batch, m, k)), rng.random((batch, k, n))
    size, groups = batch * m * n, [[1, 0, 0, 0]] * 2
    op = loops_op(0, 0, 0, size, 0, 2)
    op[kernels.KIND] = kernels.MATRIX
    op[[kernels.BATCH, kernels.M, kernels.N, kernels.K]] = batch, m, n, k
    a, b, order = left, right, (0, 1, 2)
    if kind == "a transposed":
        a, op[kernels.TRANSPOSED] = left.transpose(0, 2, 1), 1
    elif kind == "b transposed":
        b, op[kernels.TRANSPOSED] = right.transpose(0, 2, 1), 2
    elif kind == "all packed":
        a, b, order = left.transpose(2, 1, 0), right.transpose(2, 0, 1), (2, 0, 1)
        groups = [*packing(batch, m, k, "jib"), *packing(batch, k, n, "jbi"), *unpacking(batch, m, n, "jbi")]
        op[[kernels.PACK_A, kernels.COUNT_A, kernels.PACK_B, kernels.COUNT_B]] = 0, 3, 3, 3
        op[[kernels.UNPACK, kernels.COUNT_D]] = 6, 3
    w, (first, second, to) = workspace(a, b, room=size + left.size + right.size + size)
    op[[kernels.A, kernels.B, kernels.DST, kernels.SCRATCH]] = first, second, to, to + size
    execute(w, [op], groups)
    expected = np.einsum("bmk,bkn->bmn", left, right).transpose(order)
    np.testing.assert_allclose(w[to : to + size], expected.ravel(), rtol=EXACT)
    assert w[-1] == 7.0


def square(entries, exponents=None, **how):
    """The entries times themselves, by one instruction."""
    w, (first, to) = workspace(entries, room=len(entries))
    op = loops_op(to, first, first, len(entries), 0, 2, (1, 0, 0))
    found, flags = execute(w, [op], [[1, 0, 0, 0], [len(entries), 1, 1, 1]], exponents, **how)
    return w[to : to + len(entries)], int(found[1]), flags.tolist()


@pytest.mark.parametrize("power", [-60, -40, -31, -20, 0, 20, 30, 31, 60])
@pytest.mark.usefixtures("either")
def test_results_that_drift_are_rescaled_by_powers_of_two(power):
    entries = np.array([1.0, 0.0, 0.375, 1.5]) * 2.0**power
    values, exponent, flags = square(entries, np.array([5, 0]))
    drifts = abs(2 * power + 1) > kernels.LIMIT
    assert exponent == 10 + (2 * power + 1 if drifts else 0)
    assert np.ldexp(values, exponent - 10 - 2 * power).tolist() == [1.0, 0.0, 0.140625, 2.25]
    assert flags == [0, 0]


@pytest.mark.parametrize(("bits", "flag"), [(224, 0), (225, 0), (226, 1)])
@pytest.mark.usefixtures("either")
def test_a_range_too_wide_for_products_raises_a_flag(bits, flag):
    assert kernels.RANGE == 450
    assert square(np.array([1.0, 0.0, 2.0**-bits]))[2] == [flag, 0]


@pytest.mark.usefixtures("either")
def test_zeros_stay_zeros_and_keep_their_exponent():
    values, exponent, flags = square(np.zeros(3), np.array([-7, 0]))
    assert (values.tolist(), exponent, flags) == ([0.0] * 3, -14, [0, 0])


@pytest.mark.usefixtures("either")
def test_a_cancelled_run_stops_and_says_so():
    values, _, flags = square(np.ones(2), cancel=np.ones(1, np.uint8))
    assert np.isnan(values).all()
    assert flags == [0, 1]


@pytest.mark.parametrize("seed", SEEDS)
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
    offset = 3 + sum(strides[axis] * code for axis, code in zip(axes[:held].tolist(), place, strict=True))
    near = strides_of(tuple(free), shape)
    groups = np.array([[shape[axis], strides[axis], 0, near[axis]] for axis in free])
    w = np.full(2 + expected.size + 1, 7.0)
    store = np.concatenate([np.full(3, np.nan), table.ravel()])
    kernels.gather(w, store, np.array([[2, 0, len(free)]]), groups, np.array([offset]))
    np.testing.assert_array_equal(w[2:-1], expected.ravel())
    assert w[[0, 1, -1]].tolist() == [7.0] * 3


@pytest.mark.usefixtures("either")
def test_distributions_are_read_end_to_end_and_normalized():
    w = np.array([9.0, 1.0, 3.0, 0.0, 0.0, 5.0])
    found = kernels.read_normalized(w, np.array([1, 5, 3]), np.array([0, 2, 3, 5]))
    assert found.tolist() == [0.25, 0.75, 1.0, 0.0, 0.0]
    assert len(kernels.read_normalized(w, np.zeros(0, np.int64), np.zeros(1, np.int64))) == 0


@pytest.mark.usefixtures("either")
def test_the_total_multiplies_sums_and_powers_of_two():
    w = np.array([1.0, 2.0, 0.0, 5.0, 4.0])
    found = kernels.log_total(w, np.array([0, 3]), np.array([3, 2]), np.array([2000, -7]))
    assert math.isclose(found, math.log(27.0) + 1993 * math.log(2.0), rel_tol=EXACT)
    assert kernels.log_total(w, np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)) == 0.0
    with np.errstate(divide="ignore"):
        assert kernels.log_total(w, np.array([2]), np.array([1]), np.array([3])) == -math.inf
