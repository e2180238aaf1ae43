"""Supports and their joins beside dense arrays, compiled and as plain Python; both sweeps beside einsum."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sepset.kernels.compiled import triples
from support.blocks import in_blocks
from support.small_contractions import uncompile
from support.tolerances import EXACT

NEVER = np.zeros(1, np.uint8)
CARDS = np.array([3, 1, 2, 4], dtype=np.int64)
STEPS = [
    ((0, 2), (2, 3), (0, 3)),
    ((0, 2), (0, 2), (0, 2)),
    ((0, 1, 2), (), (1,)),
    ((0,), (3,), (0, 3)),
    ((2, 3), (0, 2, 3), ()),
    ((), (), ()),
]


@pytest.fixture(params=["compiled", "plain"])
def either(request, monkeypatch):
    if request.param == "plain":
        uncompile(monkeypatch, triples)


def random_sparse(rng, scope, zeros=0.5):
    shape = [CARDS[r] for r in scope]
    return rng.random(shape) * (rng.random(shape) > zeros)


def summed(a, scope_a, b, scope_b, scope_d):
    return np.einsum(a, list(scope_a), b, list(scope_b), list(scope_d))


def longs(values):
    return np.array(values, dtype=np.int64)


@pytest.mark.parametrize(("scope_a", "scope_b", "scope_d"), STEPS)
@in_blocks("seed", range(6))
def test_a_join_lists_every_product_that_can_be_positive(either, seed, scope_a, scope_b, scope_d):
    rng = np.random.default_rng(seed)
    a, b = random_sparse(rng, scope_a, 0.3), random_sparse(rng, scope_b, 0.3)
    cells_a, cells_b = np.flatnonzero(a), np.flatnonzero(b)
    parts = longs(scope_a), longs(scope_b), longs(scope_d)
    first, second, counts, cells = triples.join_step(cells_a, parts[0], cells_b, parts[1], parts[2], CARDS, 1000)
    expected = summed(a, scope_a, b, scope_b, scope_d).ravel()
    np.testing.assert_array_equal(cells, np.flatnonzero(expected))
    products = a.ravel()[cells_a[first]] * b.ravel()[cells_b[second]]
    owners = np.repeat(np.arange(len(cells)), counts)
    found = np.bincount(owners, products, len(cells)) if len(cells) else np.zeros(0)
    np.testing.assert_allclose(found, expected[cells], rtol=EXACT)
    count = summed((a > 0).astype(float), scope_a, (b > 0).astype(float), scope_b, ())
    assert len(first) == count


def test_a_join_beyond_the_limit_is_given_up(either):
    cells, scope = np.arange(3), longs([0])
    assert len(triples.join_step(cells, scope, np.arange(4), longs([3]), longs([0, 3]), CARDS, 11)[3]) == 0
    assert len(triples.join_step(cells, scope, np.arange(4), longs([3]), longs([0, 3]), CARDS, 12)[3]) == 12


@pytest.mark.parametrize("seed", range(10))
def test_the_support_of_a_factor_is_that_of_any_finding(either, seed):
    rng = np.random.default_rng(seed)
    scope = rng.permutation(4)
    table = random_sparse(rng, scope, 0.8)
    start, strides = longs([0, 0, 4]), longs([math.prod(table.shape[k + 1 :]) for k in range(4)])
    values = np.concatenate([[7.0, 8.0], table.ravel()])
    rank = rng.permutation(4) - 1  # one variable is observed
    cells, places = triples.input_support(start, longs(scope), strides, 2, values, CARDS, longs(rank), 1)
    observed = [k for k in range(4) if rank[scope[k]] < 0]
    free = sorted((k for k in range(4) if rank[scope[k]] >= 0), key=lambda k: rank[scope[k]])
    ordered = table.transpose([*free, *observed])
    any_positive = (ordered > 0).any(axis=-1)
    np.testing.assert_array_equal(cells, np.flatnonzero(any_positive))
    codes = np.unravel_index(cells, any_positive.shape)
    for state in range(ordered.shape[-1]):
        shifted = values[places + strides[observed[0]] * state]
        np.testing.assert_array_equal(shifted, ordered[(*codes, state)])


def two_steps(a, b, c, backward=True, cancel=NEVER):
    """The sum over all of a(i) b(i, j) c(j), with derivatives: tensors one, a, b, c, ab(j), and the total."""
    n, m = b.shape
    tensors = np.cumsum([0, 1, n, n * m, m, m, 1])
    w = np.concatenate([[1.0], a, b.ravel(), c, np.full(m + 1, np.nan)])
    j, i = (x.ravel() for x in np.indices((m, n)))  # the pairs of one entry of ab after those of the other
    first = np.concatenate([1 + i, tensors[4] + np.arange(m)]).astype(np.uint32)
    second = np.concatenate([tensors[2] + i * m + j, tensors[3] + np.arange(m)]).astype(np.uint32)
    bounds = np.concatenate([np.zeros(tensors[4], np.int64), n * np.arange(m + 1), [n * m + m]])
    steps = longs([[4, 1, 2], [5, 4, 3]])
    g, exponents = np.full(len(w), np.nan), longs([0, 1, 2, 3, 0, 0])
    found = triples.run_triples(w, g, steps, tensors, first, second, bounds, exponents, longs([5]), backward, cancel)
    cut = tensors[1:-1]
    return found, np.split(w, cut), np.split(g, cut)


@pytest.mark.parametrize("scale", [1.0, 1e-60, 1e60])
def test_both_sweeps(either, scale):
    rng = np.random.default_rng(0)
    a, b, c = rng.random(3) * scale, rng.random((3, 2)) * scale, rng.random(2) * scale
    (total, is_wide), w, g = two_steps(a, b, c)
    assert not is_wide
    assert total == pytest.approx(math.log(a @ b @ c / scale**3) + 3 * math.log(scale) + 6 * math.log(2.0), rel=EXACT)
    for number, marginal in ((1, a * (b @ c)), (2, (a[:, None] * b * c).ravel()), (3, (a @ b) * c)):
        found = w[number] * g[number]
        np.testing.assert_allclose(found / found.sum(), marginal / marginal.sum(), rtol=EXACT)


def test_wide_ranges_are_flagged_and_zeros_are_not(either):
    assert two_steps(np.ones(1), np.array([[1.0, 1e-200]]), np.ones(2))[0][1]
    found, _, _ = two_steps(np.ones(1), np.array([[1.0, 0.0]]), np.ones(2))
    assert found == (pytest.approx(6 * math.log(2.0)), False)
    with np.errstate(divide="ignore"):
        assert two_steps(np.zeros(2), np.ones((2, 2)), np.ones(2))[0][0] == -math.inf


def test_cancelling_stops():
    assert two_steps(np.ones(2), np.ones((2, 2)), np.ones(2), cancel=np.ones(1, np.uint8))[0] == (0.0, True)


def test_the_forward_sweep_alone(either):
    found, _, g = two_steps(np.ones(2), np.ones((2, 2)), np.ones(2), backward=False)
    assert found[0] == pytest.approx(math.log(4.0) + 6 * math.log(2.0))
    assert np.isnan(g[1]).all()
