"""Better assignments near a good one, against all that differ in one or two variables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

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


def shared(num, seed, leak):
    """Rare binary variables that functions of three of them each share, all functions present."""
    rng = np.random.default_rng(seed)
    scopes = [np.sort(rng.permutation(num)[:3]) for _ in range(2 * num)]
    own = np.log(np.stack([np.full(num, 0.9), np.full(num, 0.1)], axis=1))
    homes = [[f for f, scope in enumerate(scopes) if i in scope] for i in range(num)]
    steps = [-rng.exponential(size=len(home)) - 0.1 for home in homes]
    terms = [np.concatenate([np.zeros(len(s)), s]) for s in steps]
    starts = np.cumsum([0, *map(len, homes)])
    numbers = np.concatenate(homes).astype(np.int64)
    count = len(scopes)
    causes = Causes(
        2 * np.arange(num + 1), own.reshape(-1), starts, numbers, 2 * starts, np.concatenate(terms),
        np.full(count, -leak), np.arange(count), np.arange(count + 1), np.full(count, REST), np.full(count, -1e-9),
    )  # fmt: skip

    def value(codes):
        sums = np.full(count, -leak)
        for i in np.flatnonzero(codes):
            sums[homes[i]] += steps[i]
        with np.errstate(divide="ignore"):
            return own[np.arange(num), codes].sum() + np.log(-np.expm1(sums)).sum()

    return causes, value


@pytest.mark.parametrize("leak", [0.0, 0.01])
@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("seed", range(20))
def test_values_are_those_of_the_assignments_and_no_change_of_one_is_better(seed, k, leak):
    """Without a leak, many of those near have probability zero."""
    num = 12
    causes, value = shared(num, seed, leak)
    here, path = room(causes)
    path.codes[:] = leak == 0.0
    best, found = np.full(k, -np.inf), np.full(k * num, -1)
    with np.errstate(all="ignore"):
        climb(causes, here, path.now, path.codes, 10**7, best, found, NEVER)
    rows = found.reshape(k, num)
    for one, row in zip(best, rows, strict=True):
        assert abs(one - value(row)) < 1e-9
    near = [value(np.bitwise_xor(rows[0], np.arange(num) == i)) for i in range(num)]
    assert max(near) <= best[0] + 1e-9
    assert len({tuple(row) for row in rows.tolist()}) == k
    assert not here.moves.any()
    assert not here.ascents.any()


def test_work_does_not_grow_with_the_number_of_changes_times_the_size():
    """Each turn reads every term a few times, and few turns are needed however many variables change."""
    for num in (200, 400):
        causes, _ = shared(num, 0, 0.0)
        here, path = room(causes)
        path.codes[:] = 1
        best, found = np.full(1, -np.inf), np.full(num, -1)
        with np.errstate(all="ignore"):
            climb(causes, here, path.now, path.codes, 0, best, found, NEVER)
        assert best[0] > -np.inf
        assert path.now[3] < 40 * len(causes.terms)
