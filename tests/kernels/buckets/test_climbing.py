"""Better assignments near a good one, against all that differ in one or two variables."""

from __future__ import annotations

import itertools

import numpy as np

from sepset.base.threads import NEVER
from sepset.inference.buckets.relaxed import room
from sepset.kernels.buckets.causes import REST, Causes
from sepset.kernels.buckets.climbing import climb, polish, without_each


def drawn(num=7):
    """Binary variables under one function, and the log value of every assignment."""
    rng = np.random.default_rng(1)
    steps, own = -rng.exponential(size=num), np.log(rng.dirichlet(np.ones(2), num))
    terms = np.column_stack([np.zeros(num), steps]).reshape(-1)
    one = np.arange(num + 1)
    causes = Causes(
        2 * one, own.reshape(-1), one, np.zeros(num, np.int64), 2 * one, terms, np.array([-0.01]),
        np.zeros(1, np.int64), np.array([0, 1]), np.array([REST]), np.array([-1e-6]),
    )  # fmt: skip

    def value(codes):
        return own[range(num), codes].sum() + np.log(-np.expm1(-0.01 + steps @ np.array(codes)))

    return causes, {codes: value(codes) for codes in itertools.product(range(2), repeat=num)}


def test_nothing_near_is_better():
    causes, values = drawn()
    for search, most in ((polish, 1), (climb, 2)):
        here, path = room(causes)
        best, found = np.full(1, -np.inf), np.full(7, -1)
        more = () if search is polish else (10**6,)
        search(causes, here, path.now, path.codes, *more, best, found, *(() if search is polish else (NEVER,)))
        assert abs(best[0] - values[tuple(found)]) < 1e-12
        near = [v for codes, v in values.items() if np.sum(np.array(codes) != found) <= most]
        assert max(near) <= best[0] + 1e-9


def test_leaving_out_each_variable_is_never_worse():
    causes, values = drawn()
    here, path = room(causes)
    best, found = np.full(1, -np.inf), np.full(7, -1)
    polish(causes, here, path.now, path.codes, best, found)
    before = best[0]
    without_each(causes, here, path.now, path.codes, 10**6, best, found, NEVER)
    assert before <= best[0] <= max(values.values()) + 1e-12
    assert abs(best[0] - values[tuple(found)]) < 1e-12
