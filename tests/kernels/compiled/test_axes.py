"""Orders of axes: every tensor is laid out once, panels read operands by lines, and roots are by rank."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sepset.kernels.compiled import instructions as columns
from sepset.kernels.compiled.axes import axis_strides
from sepset.kernels.compiled.layout import assemble
from support.blocks import in_blocks
from support.random_contractions import contracted, random_network


def strides_of(made, **changed):
    """For each tensor its strides, in the order of its scope."""
    parts = made.weights, made.bounds, made.pool, made.sizes, made.rows
    found = axis_strides(*parts, made.num_forward, made.roots, changed.get("is_free", True))
    return [found[i:j].tolist() for i, j in zip(made.bounds[:-1], made.bounds[1:], strict=True)]


def random_contraction(seed, **changed):
    settings = {"num": 7, "largest": 5, "num_factors": 8, "arity": 4, **changed}
    return contracted(random_network(np.random.default_rng(seed), **settings), targets=True)[0]


@pytest.mark.parametrize("is_free", [False, True])
@in_blocks("seed", range(12))
def test_strides_reach_every_entry_once(seed, is_free):
    made = random_contraction(seed)
    for scope, strides, size in zip(made.scopes, strides_of(made, is_free=is_free), made.sizes, strict=True):
        places = {0}
        for r, stride in zip(scope, strides, strict=True):
            places = {place + i * stride for place in places for i in range(made.cards[r])}
        assert places == set(range(int(size)))


@in_blocks("seed", range(12))
def test_axes_are_by_rank_where_they_are_not_free_and_in_roots(seed):
    made = random_contraction(seed)
    fixed, free = strides_of(made, is_free=False), strides_of(made)
    for t, scope in enumerate(made.scopes):
        by_rank = [math.prod(made.cards[r] for r in scope[i + 1 :]) for i in range(len(scope))]
        assert fixed[t] == by_rank
        assert t not in made.roots or free[t] == by_rank


def interleaved_product():
    """(b1 m1 k1 n1 b2 m2 k2 n2): two large tensors whose axes have changing roles; the result is by rank."""
    cards = np.full(8, 4.0)
    scopes = [(), (0, 1, 2, 4, 5, 6), (0, 2, 3, 4, 6, 7), (0, 1, 3, 4, 5, 7)]
    bounds = np.cumsum([0, *map(len, scopes)])
    pool = np.array([r for scope in scopes for r in scope], dtype=np.int64)
    sizes = np.array([4.0 ** len(scope) for scope in scopes])
    return cards, bounds, pool, sizes, np.array([[3, 1, 2]], dtype=np.int64)


def test_neighbors_are_of_one_product_of_panels():
    parts = interleaved_product()
    none = np.zeros(0, np.int64)
    nothing = np.zeros(1, np.int64), *(none,) * 9
    op, groups = assemble(*parts, axis_strides(*parts, 1, np.array([3]), True), *nothing)[:2]
    assert op[0, columns.KIND] == columns.PANELS
    batch = groups[op[0, columns.ROLES] :][: op[0, columns.NUM_BATCH]]
    assert (batch[:, 1:] > 1).all()


def test_the_last_axis_is_no_batch_in_either_step():
    """A tensor (0 1 2) is a product with batch 0, and an operand with batch 2: its last axis is 1."""
    cards = np.full(6, 16.0)
    scopes = [(), (0, 1, 3), (0, 2, 3), (0, 1, 2), (2, 4, 5, 0), (1, 2, 4, 5)]
    scopes = [tuple(sorted(scope)) for scope in scopes]
    bounds = np.cumsum([0, *map(len, scopes)])
    pool = np.array([r for scope in scopes for r in scope], dtype=np.int64)
    sizes = np.array([16.0 ** len(scope) for scope in scopes])
    steps = np.array([[3, 1, 2], [5, 3, 4]], dtype=np.int64)
    found = axis_strides(cards, bounds, pool, sizes, steps, 2, np.array([5]), True)
    assert dict(zip(scopes[3], found[bounds[3] : bounds[4]].tolist(), strict=True))[1] == 1
