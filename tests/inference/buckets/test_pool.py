"""Pools of factors: what is taken leaves the pool, and sums are those of the whole product."""

from __future__ import annotations

import numpy as np

import sepset as ss
from sepset.factors.table import Table
from sepset.inference.buckets.pool import Pool, product, summed_out
from support.tolerances import EXACT

A, B, C = (ss.Discrete(name, 3) for name in "abc")


def tables():
    rng = np.random.default_rng(0)
    return [Table((A, B), rng.random((3, 3))), Table((B, C), rng.random((3, 3))), Table((C,), rng.random(3))]


def test_factors_are_taken_once():
    made = tables()
    pool = Pool(made)
    assert pool.take(B) == made[:2]
    assert pool.take(A) == []
    assert pool.rest() == [made[2]]


def test_the_empty_product_is_one():
    assert product([]).log_total == 0.0


def test_sums_are_those_of_the_product():
    first, second, third = tables()
    (left,) = summed_out([first, second, third], [C, B])
    whole = np.einsum("ab,bc,c->a", first.values, second.values, third.values)
    np.testing.assert_allclose(left.values, whole, rtol=EXACT)


def test_a_variable_in_no_factor_counts_its_states():
    (left,) = summed_out([], [A])
    assert left.log_total == np.log(3)
