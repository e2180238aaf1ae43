r"""Newton's steps of all undecided variables together, in the relaxation of independent variables.

Moves of one variable after the other converge slowly where functions couple them. Along moves $\mathbf m_i$ of the
variables that are between two states the second derivatives of $\sum_f g_f(\mathbf s_f)$ are
$\sum_f \mathbf m_{i,f}^\top \nabla^2 g_f\, \mathbf m_{j,f}$, and few variables are between two states.

Reference: Bertsekas (1982) for the variables that are moved.
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.kernels.buckets.causes import Causes, row
from sepset.kernels.buckets.shares import SHARP, Shares, curved, length, slope_along
from sepset.kernels.kernel import kernel

UNDECIDED = 1e-9
"""The smallest share of the second state of a variable that is moved."""

LEAST = 1e-12
"""The smallest share that is kept."""

RIDGE = 1e-9
"""Added to the second derivatives, so that they have an inverse."""


@kernel(borrows=True, inner=True)
def undecided(causes: Causes, here: Shares) -> int:
    """List the variables between two states, and the changes along each from one to the other; returns how many."""
    num, most, width = 0, len(here.uppers), len(causes.sums)
    for i in range(len(causes.states) - 1):
        a, b = -1, -1
        for o in range(causes.states[i], causes.states[i + 1]):
            if here.shares[o] > UNDECIDED:
                if a < 0 or here.shares[o] > here.shares[a]:
                    a, b = o, a
                elif b < 0 or here.shares[o] > here.shares[b]:
                    b = o
        if b < 0:
            continue
        if num == most:
            return num
        here.uppers[num], here.lowers[num] = a, b
        for m in range(width):
            here.across[num * width + m] = here.along[num * width + m] = 0.0
        to, back = row(causes, i, a), row(causes, i, b)
        for j in range(causes.starts[i], causes.starts[i + 1]):
            here.across[num * width + causes.numbers[j]] = causes.terms[to + j] - causes.terms[back + j]
            here.along[num * width + causes.numbers[j]] = here.chords[to + j] - here.chords[back + j]
        num += 1
    return num


@kernel(borrows=True, inner=True)
def set_bends(causes: Causes, here: Shares, num: int) -> None:
    """The slopes along the moves of undecided variables, and the negative second derivatives along pairs of them."""
    width, most = len(causes.sums), len(here.uppers)
    for p in range(num):
        here.rises[p] = causes.own[here.uppers[p]] - causes.own[here.lowers[p]]
        for m in range(width):
            here.rises[p] += here.slopes[m] * here.across[p * width + m] + here.weights[m] * here.along[p * width + m]
        for q in range(p + 1):
            here.bends[p * most + q] = RIDGE if p == q else 0.0
    for f in range(len(causes.kinds)):
        if causes.places[f + 1] == causes.places[f] + 1:
            bend_one(causes, here, f, num)
        else:
            bend_several(causes, here, f, num)


@kernel(borrows=True, inner=True)
def bend_one(causes: Causes, here: Shares, f: int, num: int) -> None:
    """Add the second derivatives of a function of one argument."""
    m, width, most = causes.places[f], len(causes.sums), len(here.uppers)
    _, slope, bend = curved(causes.kinds[f], min(here.sums[m], causes.near[m]))
    rest, sharp = 1.0 - here.weights[m], SHARP * here.weights[m]
    for p in range(num):
        own = here.across[p * width + m]
        if own == 0.0:
            continue
        away = slope * own - here.along[p * width + m]
        for q in range(p + 1):
            other = here.across[q * width + m]
            if other != 0.0:
                crossed = away * (slope * other - here.along[q * width + m])
                here.bends[p * most + q] -= rest * (bend * own * other - sharp * crossed)


@kernel(borrows=True, inner=True)
def bend_several(causes: Causes, here: Shares, f: int, num: int) -> None:
    """Add the second derivatives of a function of several arguments."""
    first, last, width, most = causes.places[f], causes.places[f + 1], len(causes.sums), len(here.uppers)
    for p in range(num):
        mean = 0.0
        for m in range(first, last):
            mean += here.slopes[m] * here.across[p * width + m]
        here.steps[p] = mean
        for q in range(p + 1):
            both = mean * here.steps[q]
            for m in range(first, last):
                both += here.slopes[m] * here.across[p * width + m] * here.across[q * width + m]
            here.bends[p * most + q] -= both


@kernel(borrows=True, inner=True)
def solve(here: Shares, num: int) -> bool:
    """Set the steps of Newton by a Cholesky factor of the second derivatives; returns whether there is one."""
    most = len(here.uppers)
    for p in range(num):
        for q in range(p + 1):
            total = here.bends[p * most + q]
            for r in range(q):
                total -= here.bends[p * most + r] * here.bends[q * most + r]
            if p == q and not total > 0.0:
                return False
            here.bends[p * most + q] = np.sqrt(total) if p == q else total / here.bends[q * most + q]
    for p in range(num):
        total = here.rises[p]
        for r in range(p):
            total -= here.bends[p * most + r] * here.steps[r]
        here.steps[p] = total / here.bends[p * most + p]
    for back in range(num):
        p = num - 1 - back
        total = here.steps[p]
        for r in range(p + 1, num):
            total -= here.bends[r * most + p] * here.steps[r]
        here.steps[p] = total / here.bends[p * most + p]
    return True


@kernel(borrows=True, inner=True)
def direction(causes: Causes, here: Shares, num: int) -> tuple[float, float, float]:
    """Set the moves along all steps; returns how far they can go, and the slopes of own log values and of all."""
    width, most, own, rise = len(causes.sums), 1.0, 0.0, 0.0
    for p in range(num):
        step, a, b = here.steps[p], here.uppers[p], here.lowers[p]
        own += step * (causes.own[a] - causes.own[b])
        rise += step * here.rises[p]
        if step != 0.0:
            most = min(most, here.shares[b] / step if step > 0.0 else -here.shares[a] / step)
        for m in range(width):
            here.moves[m] += step * here.across[p * width + m]
            here.ascents[m] += step * here.along[p * width + m]
    return most, own, rise


@kernel(borrows=True, inner=True)
def move_together(causes: Causes, here: Shares, now: Ints) -> bool:
    """Move the shares of all undecided variables, as far as the value rises; returns whether any moved."""
    num, width = undecided(causes, here), len(causes.sums)
    now[3] += 3 * num * width + num * num * num // 12 + 6 * width
    if num < 2:
        return False
    set_bends(causes, here, num)
    if not solve(here, num):
        return False
    most, own, rise = direction(causes, here, num)
    step = length(causes, here, here.every, 0, width, most, own, rise) if rise > 0.0 else 0.0
    for p in range(num):
        a, b = here.uppers[p], here.lowers[p]
        to, back = here.shares[a] + step * here.steps[p], here.shares[b] - step * here.steps[p]
        here.shares[a] = to if to > LEAST else 0.0
        here.shares[b] = back if back > LEAST else 0.0
    for m in range(width):
        here.sums[m] += step * here.moves[m]
        here.lines[m] += step * here.ascents[m]
        here.moves[m] = here.ascents[m] = 0.0
    slope_along(causes, here, here.every, 0, width, 0.0)
    return step > 0.0
