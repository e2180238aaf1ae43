"""Buckets of a max-elimination, and the pool that they are taken from."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.inference.buckets.pool import Pool, summed_out
from sepset.inference.map.buckets import Message, log_factor, max_buckets
from support.blocks import in_blocks
from support.random_models import markov_net
from support.tolerances import CLOSE

A, B, C = ss.Discrete("a", 2), ss.Discrete("b", 3), ss.Discrete("c", 2)


@in_blocks("seed", range(12))
def test_the_root_receives_the_maximum_in_every_order(seed):
    rng = np.random.default_rng([seed, 3])
    case = markov_net(rng, ties=bool(seed % 2))
    order = [case.model.variables[int(i)] for i in rng.permutation(len(case.cards))]
    buckets = max_buckets(map(log_factor, case.model.factors), order)
    root = buckets[-1]
    found = root.factors.logs.sum() + sum(m.logs.item() for m in root.below)
    ((_, expected),) = oracle.k_best(case.factors, case.cards, 1) or [((), -np.inf)]
    assert found == pytest.approx(expected, abs=CLOSE) or found == expected == -np.inf
    assert [b.variable for b in buckets] == [*order, None]


@pytest.mark.parametrize("wide", list(itertools.permutations([A, B, C])), ids=lambda vs: "".join(v.name for v in vs))
def test_axes_and_strides_follow_any_order(wide):
    values = np.random.default_rng(0).uniform(0.1, 1.0, (3, 2))
    message = Message((B, A), np.log(values).reshape(-1))
    shaped = np.broadcast_to(message.over(wide), [v.num_states for v in wide])
    for codes in itertools.product(*(range(v.num_states) for v in wide)):
        at = dict(zip(wide, codes, strict=True))
        assert shaped[codes] == np.log(values[at[B], at[A]])
        assert message.logs[sum(codes[axis] * step for axis, step in message.strides(wide))] == shaped[codes]


def test_a_pool_gives_each_factor_once():
    factors = [ss.Table((A, B), np.ones((2, 3))), ss.Table(B, np.ones(3)), ss.Table(C, [1, 1])]
    pool = Pool(factors)
    assert pool.take(B) == factors[:2]
    assert pool.take(A) == []
    pool.put(factors[0])
    assert pool.take(A) == factors[:1]
    assert pool.rest() == factors[2:]


def test_sums_are_those_of_the_joint():
    first, second = ss.Table((A, B), np.arange(1, 7).reshape(2, 3)), ss.Table((B, C), np.arange(6).reshape(3, 2))
    joint = first.values[:, :, None] * second.values
    (left,) = summed_out([first, second], [B])
    np.testing.assert_allclose(left.align([A, C]).values, joint.sum(axis=1))
    (left,) = summed_out([], [B])
    assert left.values == 3.0
