"""Elimination over small arrays against enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest

import oracle
from sepset.inference import costs
from sepset.inference.exact.direct import Part, direct_joint
from support.blocks import in_blocks


@in_blocks("seed", range(300))
def test_joints_are_those_of_enumeration(seed):
    """Random factors with zeros, empty scopes and one-state variables, in any order."""
    rng = np.random.default_rng(seed)
    cards = oracle.random_cards(rng, int(rng.integers(1, 7)))
    factors = [(s, np.asarray(t) / 2.0) for s, t in oracle.random_factors(rng, cards, int(rng.integers(1, 7)))]
    names = list(cards)
    known = sorted({name for scope, _ in factors for name in scope})
    targets = [str(t) for t in rng.permutation(known)[: int(rng.integers(0, 3))]]
    parts = [Part(tuple(names.index(n) for n in scope), table) for scope, table in factors]
    found = direct_joint(parts, list(cards.values()), [names.index(t) for t in targets])
    assert found is not None
    alone = {name: cards[name] for name in known}
    np.testing.assert_allclose(found[0], oracle.conditional(factors, alone, targets), rtol=1e-12, atol=1e-15)
    assert found[1] == pytest.approx(oracle.log_z(factors, alone), abs=1e-12)


def test_nothing_is_asked_of_nothing():
    joint, total = direct_joint([], [], [])
    assert (joint.shape, float(joint), total) == ((), 1.0, 0.0)


def test_a_total_of_zero_is_left_to_others():
    assert direct_joint([Part((0,), np.array([1.0, 0.0])), Part((0,), np.array([0.0, 1.0]))], [2], []) is None


def test_numbers_that_might_underflow_are_left_to_others():
    tiny = [Part((0,), np.array([1.0, 1e-30])) for _ in range(12)]
    assert direct_joint(tiny, [2], [0]) is None
    few = direct_joint(tiny[:8], [2], [0])
    assert few is not None
    assert few[0][1] == pytest.approx(1e-240, rel=1e-12)


def test_large_products_are_refused_before_any_is_made():
    """A clique of 14 bits has more entries than allowed, whichever is eliminated first."""
    parts = [Part((i, j), np.full((2, 2), 0.5)) for i in range(14) for j in range(i)]
    assert costs.DIRECT_ENTRIES < 2**14
    assert direct_joint(parts, [2] * 14, [0]) is None
    assert direct_joint(parts[:45], [2] * 14, [0]) is not None  # ten bits


def test_a_joint_of_many_targets_is_refused():
    parts = [Part((i,), np.full(2, 0.5)) for i in range(13)]
    assert direct_joint(parts, [2] * 13, list(range(13))) is None


def test_a_hub_of_many_tables():
    """More tables than one pass takes: the product of 40 likelihoods."""
    rng = np.random.default_rng(0)
    tables = rng.uniform(0.5, 1.0, (40, 3))
    found = direct_joint([Part((0,), t) for t in tables], [3], [0])
    expected = np.exp(np.log(tables).sum(0))
    np.testing.assert_allclose(found[0], expected / expected.sum(), rtol=1e-12)
    assert found[1] == pytest.approx(math.log(expected.sum()), abs=1e-12)


def test_many_variables_of_one_state():
    """They have no entries, but names; NumPy's are limited."""
    parts = [Part(tuple(range(30)), np.ones((1,) * 30))]
    assert direct_joint(parts, [1] * 30, [0]) is None
