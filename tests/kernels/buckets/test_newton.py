"""Newton's steps of the relaxation: slopes and second derivatives against differences of the bounds themselves."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sepset.inference.buckets.relaxed import room
from sepset.kernels.buckets.causes import FIRST, REST, Causes
from sepset.kernels.buckets.newton import move_together, set_bends, undecided
from sepset.kernels.buckets.shares import SHARP, set_chords, set_sums

KINDS = REST, FIRST, FIRST
PLACES = np.array([0, 1, 2, 4])  # the last function has two arguments


def drawn(seed):
    """Six binary variables, their shares, and what the relaxation is at these."""
    rng = np.random.default_rng(seed)
    num, width = 6, int(PLACES[-1])
    steps = -rng.exponential(size=(num, width))
    terms = np.stack([np.zeros((num, width)), steps], axis=1)
    causes = Causes(
        2 * np.arange(num + 1),
        np.log(rng.dirichlet(np.ones(2), num)).reshape(-1),
        width * np.arange(num + 1),
        np.tile(np.arange(width), num),
        2 * width * np.arange(num + 1),
        terms.reshape(-1),
        np.full(width, -0.05),
        np.repeat(np.arange(3), np.diff(PLACES)),
        PLACES,
        np.array(KINDS),
        np.array([-1e-6, np.inf, np.inf, np.inf]),
    )
    here, _ = room(causes)
    first = rng.uniform(0.1, 0.9, num)
    here.shares[:] = np.column_stack([1.0 - first, first]).reshape(-1)
    set_chords(causes, here)
    set_sums(causes, here)
    return causes, here, steps


def smooth(causes, steps, shares):
    """The smooth minimum of tangent and chords of each function of one argument, in plain NumPy."""
    at = causes.sums + shares @ steps
    total = causes.own[::2].sum() + shares @ (causes.own[1::2] - causes.own[::2])
    for f, value in enumerate((lambda s: np.log(-np.expm1(s)), lambda s: -np.logaddexp(0.0, s))):
        base = causes.sums[f]  # the largest argument: all terms are negative
        line = value(base) + shares @ (value(base + steps[:, f]) - value(base))
        total -= np.logaddexp(-SHARP * value(at[f]), -SHARP * line) / SHARP
    return total - np.log(1.0 + np.exp(at[2:]).sum())


@pytest.mark.parametrize("seed", range(3))
def test_slopes_and_bends_are_those_of_differences(seed):
    causes, here, steps = drawn(seed)
    num, shares = undecided(causes, here), here.shares[1::2].copy()
    set_bends(causes, here, num)
    assert num == 6
    signs = np.where(here.uppers[:num] % 2, 1.0, -1.0)  # towards the second state of each, or away from it
    size = 1e-4 * np.eye(num)
    rises = [(smooth(causes, steps, shares + d) - smooth(causes, steps, shares - d)) / 2e-4 for d in size]
    assert_allclose(here.rises[:num], signs * rises, rtol=1e-5, atol=1e-6)
    bends = [
        [
            sum(a * b * smooth(causes, steps, shares + a * d + b * e) for a in (-1, 1) for b in (-1, 1)) / 4e-8
            for e in size
        ]
        for d in size
    ]
    made = np.tril(here.bends.reshape(len(here.uppers), -1)[:num, :num])
    assert_allclose(made, np.tril(-np.array(bends) * np.outer(signs, signs)), rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_moves_never_lower_the_value(seed):
    causes, here, steps = drawn(seed)
    now = np.zeros(5, np.int64)
    before = smooth(causes, steps, here.shares[1::2])
    for _ in range(20):
        move_together(causes, here, now)
        after = smooth(causes, steps, here.shares[1::2])
        assert after >= before - 1e-9
        before = after
    assert_allclose(here.sums, causes.sums + here.shares[1::2] @ steps, atol=1e-9)
    assert (here.shares >= 0.0).all()
    assert now[3] > 0
