"""The executor in logarithms beside einsum and the linear executor; zeros, huge ranges, and canceling."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sepset.kernels.compiled import instructions as columns, logspace
from support.blocks import in_blocks
from support.random_contractions import assembled, contracted, random_network, summed
from support.small_contractions import uncompile
from support.tolerances import CLOSE, EXACT

NEVER = np.zeros(1, np.uint8)


@pytest.fixture(params=["compiled", "plain"])
def either(request, monkeypatch):
    if request.param == "plain":
        uncompile(monkeypatch, logspace)


def filled(program, network, values):
    w = np.full(program.size, np.nan)
    w[0] = 0.0
    for number, table in enumerate(values, start=1):
        start = program.offsets[number]
        w[start : start + table.size] = table.ravel()
    return w


def run(network, *, maximize=False, shift=0.0):
    """The workspace after all steps from the logarithms of a network's tables, each times e to `shift`."""
    made, ranked = contracted(network, targets=not maximize)
    reads, program = made.reads, assembled(made)
    with np.errstate(divide="ignore"):
        logs = [np.log(table) + shift for table in ranked.tables]
    w = filled(program, ranked, logs)
    logspace.execute_log(w, program.ops, program.groups, maximize, NEVER)
    roots = np.array(made.roots)
    totals = logspace.normalize_log(
        w, program.offsets[roots], np.concatenate([[0], np.cumsum(made.sizes[roots])]).astype(np.int64)
    )[1]
    return w, program, ranked, reads, totals.sum()


@pytest.mark.parametrize("shift", [0.0, -5000.0, 700.0])
@in_blocks("seed", range(12))
def test_totals_and_marginals(either, seed, shift):
    w, program, ranked, reads, total = run(random_network(np.random.default_rng(seed), num=5), shift=shift)
    joint = summed(ranked, range(len(ranked.cards)))
    whole = joint.sum()
    expected = math.log(whole) + shift * len(ranked.tables) if whole > 0 else -math.inf
    assert total == pytest.approx(expected, rel=CLOSE, abs=CLOSE)
    starts = np.concatenate([[0], np.cumsum(ranked.cards)]).astype(np.int64)
    values, _ = logspace.normalize_log(w, program.offsets[reads], starts)
    for r in range(len(ranked.cards) if whole > 0 else 0):
        found = values[starts[r] : starts[r + 1]]
        np.testing.assert_allclose(found, summed(ranked, [r]) / whole, rtol=1e-8, atol=EXACT)


@in_blocks("seed", range(12))
def test_maxima(either, seed):
    _, _, ranked, _, total = run(random_network(np.random.default_rng(seed), num=5), maximize=True)
    best = summed(ranked, range(len(ranked.cards))).max()
    assert total == pytest.approx(math.log(best) if best > 0 else -math.inf, rel=CLOSE, abs=EXACT)


@pytest.mark.parametrize("size", [6, 40])
def test_panels_run_as_loops(size):
    rng = np.random.default_rng(size)
    network = random_network(rng, num=3, largest=1, num_factors=0)
    network = network._replace(
        cards=[size] * 3, scopes=[[0, 1], [1, 2], [0, 2]], tables=[rng.random((size, size)) for _ in range(3)]
    )
    _, program, ranked, _, total = run(network)
    assert (size == 40) == bool((program.ops[:, columns.KIND] == columns.PANELS).any())
    assert total == pytest.approx(math.log(summed(ranked, []).sum()), rel=EXACT)


def product(a, b, maximize=False, cancel=0):
    """The sum of two vectors' products, by one instruction over their logarithms."""
    n = len(a)
    w = np.concatenate([a, b, [np.nan]])
    op = np.zeros((1, columns.WIDTH), np.int64)
    op[0, columns.B], op[0, columns.DST], op[0, columns.SIZE] = n, 2 * n, 1
    op[0, columns.COUNT] = 2
    groups = np.array([[1, 0, 0, 0], [n, 1, 1, 0]], dtype=np.int64)
    logspace.execute_log(w, op, groups, maximize, np.array([cancel], np.uint8))
    return w[-1]


def test_sums_that_no_linear_number_holds(either):
    exact = sum(Fraction(1, 10**k) * Fraction(k) for k in range(300, 320))
    a, b = np.array([-k * math.log(10.0) for k in range(300, 320)]), np.log(np.arange(300, 320))
    rest = float(exact * 10**300)
    assert product(a - 1e4, b) == pytest.approx(math.log(rest) - 300 * math.log(10.0) - 1e4, rel=EXACT)


def test_zeros_stay_zeros(either):
    assert product(np.full(3, -np.inf), np.zeros(3)) == -np.inf
    assert product(np.array([-np.inf, 2.0]), np.array([5.0, -np.inf])) == -np.inf
    assert product(np.array([-np.inf, 2.0]), np.array([5.0, 1.0])) == 3.0
    assert product(np.array([-np.inf, 2.0]), np.array([5.0, 1.0]), maximize=True) == 3.0


def test_cancelling_stops():
    assert np.isnan(product(np.zeros(2), np.zeros(2), cancel=1))


def test_reads_are_normalized_and_zeros_stay(either):
    w = np.array([9.0, -2000.0, -2000.0 + math.log(3.0), -np.inf, -np.inf, 5.0])
    values, totals = logspace.normalize_log(w, np.array([1, 3, 5]), np.array([0, 2, 4, 5]))
    np.testing.assert_allclose(values, [0.25, 0.75, 0.0, 0.0, 1.0], rtol=EXACT)
    np.testing.assert_allclose(totals, [-2000.0 + math.log(4.0), -np.inf, 5.0], rtol=EXACT)
