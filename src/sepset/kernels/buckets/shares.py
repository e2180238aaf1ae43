"""The relaxation of independent variables under concave functions of their sums: bounds, and moves of single ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.buckets.causes import REST, Causes, function_value, row, value_at
from sepset.kernels.kernel import kernel

EPS = 2.220446049250313e-16

SHARP = 16.0
"""How close the smooth minimum of two bounds is to the minimum: within this part of log 2."""

FAR = 40.0
"""The exponent from which the smaller weight in it is zero."""

STEPS = 6
"""The most steps along one line."""


class Shares(NamedTuple):
    """The relaxation at one place of the search.

    Attributes:
        shares: of each state.
        alive: whether a state is allowed, by zero and one.
        scores: the log value of each state under the bounds.
        chords: what each term adds to the bound by chords, as `terms`.
        bases: the largest possible arguments, where chords begin.
        heights: the functions there; -inf without chords.
        sums: the arguments at the shares.
        lines: what chords add at the shares.
        slopes: of the tangents at the shares, times their weights.
        weights: of the chords.
        moves, ascents: the changes of `sums` and `lines` along a line.
        every: the numbers of all arguments.
        uppers, lowers: of each undecided variable, the states between which it is.
        across, along: what a move from the one to the other adds to `sums` and to `lines`, `[variables, arguments]`.
        bends: the negative second derivatives along pairs of such moves, then their Cholesky factor.
        rises, steps: the slopes along these moves, and how far each goes.
    """

    shares: Floats
    alive: Bytes
    scores: Floats
    chords: Floats
    bases: Floats
    heights: Floats
    sums: Floats
    lines: Floats
    slopes: Floats
    weights: Floats
    moves: Floats
    ascents: Floats
    every: Ints
    uppers: Ints
    lowers: Ints
    across: Floats
    along: Floats
    bends: Floats
    rises: Floats
    steps: Floats


@kernel(borrows=True, inner=True)
def curved(kind: int, s: float) -> tuple[float, float, float]:
    """A function of one argument, and its first two derivatives."""
    if kind == REST:
        whole = np.exp(s)
        less = whole - 1.0 if s < -0.7 else np.expm1(s)
        slope = whole / less
        return float(np.log(-less)), float(slope), float(slope - slope**2)
    part = np.exp(-abs(s))
    slope = -1.0 / (1.0 + part) if s > 0.0 else -part / (1.0 + part)
    return float(-max(s, 0.0) - np.log1p(part)), float(slope), float(slope + slope**2)


@kernel(borrows=True, inner=True)
def set_slopes(causes: Causes, here: Shares, f: int, step: float) -> float:
    """The slopes and weights of a function one step along the moves; returns the bend of its tangents."""
    first, last = causes.places[f], causes.places[f + 1]
    if last == first + 1:
        at = min(here.sums[first] + step * here.moves[first], causes.near[first])
        height, slope, bend = curved(causes.kinds[f], at)
        weight = 0.0
        if here.heights[first] > -np.inf:
            line = SHARP * (here.heights[first] + here.lines[first] + step * here.ascents[first] - height)
            weight = 1.0 / (1.0 + np.exp(line)) if line < FAR else 0.0
        here.weights[first], here.slopes[first] = weight, (1.0 - weight) * slope
        across = slope * here.moves[first] - here.ascents[first]
        return float((1.0 - weight) * (bend * here.moves[first] ** 2 - SHARP * weight * across**2))
    top = 0.0
    for m in range(first, last):
        top = max(top, here.sums[m] + step * here.moves[m])
    total, mean, bend = np.exp(-top), 0.0, 0.0
    for m in range(first, last):
        here.slopes[m] = np.exp(here.sums[m] + step * here.moves[m] - top)
        total += here.slopes[m]
    for m in range(first, last):
        here.slopes[m] = -here.slopes[m] / total
        mean += here.slopes[m] * here.moves[m]
        bend += here.slopes[m] * here.moves[m] ** 2
    return float(bend + mean**2)


@kernel(borrows=True, inner=True)
def set_chords(causes: Causes, here: Shares) -> None:
    """The chords from the largest arguments that the allowed states can have."""
    for m in range(len(causes.sums)):
        here.bases[m] = causes.sums[m]
    for i in range(len(causes.states) - 1):
        for j in range(causes.starts[i], causes.starts[i + 1]):
            here.bases[causes.numbers[j]] += largest(causes, here, i, j)
    for m in range(len(causes.sums)):
        f = causes.home[m]
        is_one = causes.places[f + 1] == causes.places[f] + 1
        here.heights[m] = value_at(causes.kinds[f], here.bases[m]) if is_one else -np.inf
    for i in range(len(causes.states) - 1):
        for j in range(causes.starts[i], causes.starts[i + 1]):
            m, top = causes.numbers[j], largest(causes, here, i, j)
            kind = causes.kinds[causes.home[m]]
            for o in range(causes.states[i], causes.states[i + 1]):
                at = row(causes, i, o) + j
                here.chords[at] = 0.0
                if here.alive[o] and here.heights[m] > -np.inf and causes.terms[at] != top:
                    here.chords[at] = value_at(kind, here.bases[m] + (causes.terms[at] - top)) - here.heights[m]


@kernel(borrows=True, inner=True)
def largest(causes: Causes, here: Shares, i: int, j: int) -> float:
    """The largest term of the allowed states of a variable in one argument."""
    top = -np.inf
    for o in range(causes.states[i], causes.states[i + 1]):
        if here.alive[o]:
            top = max(top, causes.terms[row(causes, i, o) + j])
    return top


@kernel(borrows=True, inner=True)
def set_sums(causes: Causes, here: Shares) -> None:
    """The arguments at the shares, after those of forbidden states were given to others; and the slopes."""
    for m in range(len(causes.sums)):
        here.sums[m] = causes.sums[m]
        here.lines[m] = here.moves[m] = here.ascents[m] = 0.0
    for i in range(len(causes.states) - 1):
        total, num = 0.0, 0
        for o in range(causes.states[i], causes.states[i + 1]):
            if here.alive[o]:
                total += here.shares[o]
                num += 1
            else:
                here.shares[o] = 0.0
        for o in range(causes.states[i], causes.states[i + 1]):
            if not here.alive[o]:
                continue
            if total > 0.0:
                here.shares[o] /= total
            else:
                here.shares[o] = 1.0 / num
            if here.shares[o] > 0.0:
                at = row(causes, i, o)
                for j in range(causes.starts[i], causes.starts[i + 1]):
                    here.sums[causes.numbers[j]] += here.shares[o] * causes.terms[at + j]
                    here.lines[causes.numbers[j]] += here.shares[o] * here.chords[at + j]
    for f in range(len(causes.kinds)):
        set_slopes(causes, here, f, 0.0)


@kernel(borrows=True, inner=True)
def score(causes: Causes, here: Shares, i: int, o: int) -> float:
    """The log value of a state under the bounds."""
    value, at = causes.own[o], row(causes, i, o)
    for j in range(causes.starts[i], causes.starts[i + 1]):
        m = causes.numbers[j]
        value += here.slopes[m] * causes.terms[at + j] + here.weights[m] * here.chords[at + j]
    return float(value)


@kernel(borrows=True, inner=True)
def without_any(causes: Causes, here: Shares) -> tuple[float, float]:
    """The value of the bounds of all functions without any variable, and the size of what was added up."""
    total, size = 0.0, 0.0
    for m in range(len(causes.sums)):
        here.moves[m] = min(here.sums[m], causes.near[m])
        total += here.slopes[m] * (causes.sums[m] - here.moves[m])
        size += abs(here.slopes[m]) * (abs(causes.sums[m]) + abs(here.moves[m]))
    for f in range(len(causes.kinds)):
        first = causes.places[f]
        value = (1.0 - here.weights[first]) * function_value(causes, f, here.moves)
        if here.weights[first] > 0.0:
            value += here.weights[first] * here.heights[first]
        total += value
        size += abs(value)
    for m in range(len(causes.sums)):
        here.moves[m] = 0.0
    return total, size


@kernel(borrows=True, inner=True)
def bound(causes: Causes, here: Shares) -> float:
    """The highest value under the bounds at the shares, with what rounding can add to it; sets the scores."""
    total, size = without_any(causes, here)
    for i in range(len(causes.states) - 1):
        best, most = -np.inf, 0.0
        for o in range(causes.states[i], causes.states[i + 1]):
            if here.alive[o]:
                here.scores[o] = score(causes, here, i, o)
                best = max(best, here.scores[o])
                most = max(most, abs(here.scores[o]) + 2.0 * abs(causes.own[o]))
        total += best
        size += most
    return total + 4.0 * EPS * (len(causes.states) + 8) * size


@kernel(borrows=True, inner=True)
def slope_along(causes: Causes, here: Shares, numbers: Ints, first: int, last: int, step: float) -> tuple[float, float]:
    """The first two derivatives of some functions after a step along the moves; sets their slopes."""
    slope, bend, f = 0.0, 0.0, -1
    for j in range(first, last):
        m = numbers[j]
        if causes.home[m] != f:
            f = causes.home[m]
            bend += set_slopes(causes, here, f, step)
        slope += here.slopes[m] * here.moves[m] + here.weights[m] * here.ascents[m]
    return slope, bend


@kernel(borrows=True, inner=True)
def move(causes: Causes, here: Shares, i: int) -> None:
    """Move the share of the worst state of a variable to the best one, as far as the value rises."""
    best, worst, a, b = -np.inf, np.inf, -1, -1
    for o in range(causes.states[i], causes.states[i + 1]):
        if here.alive[o]:
            value = score(causes, here, i, o)
            if value > best:
                best, b = value, o
            if here.shares[o] > 0.0 and value < worst:
                worst, a = value, o
    if a < 0 or a == b or best <= worst:
        return
    to, back = row(causes, i, b), row(causes, i, a)
    for j in range(causes.starts[i], causes.starts[i + 1]):
        here.moves[causes.numbers[j]] = causes.terms[to + j] - causes.terms[back + j]
        here.ascents[causes.numbers[j]] = here.chords[to + j] - here.chords[back + j]
    own = causes.own[b] - causes.own[a]
    step = length(
        causes, here, causes.numbers, causes.starts[i], causes.starts[i + 1], here.shares[a], own, best - worst
    )
    here.shares[b] += step
    here.shares[a] = max(here.shares[a] - step, 0.0)
    for j in range(causes.starts[i], causes.starts[i + 1]):
        m = causes.numbers[j]
        here.sums[m] += step * here.moves[m]
        here.lines[m] += step * here.ascents[m]
        here.moves[m] = here.ascents[m] = 0.0


@kernel(borrows=True, inner=True)
def length(
    causes: Causes, here: Shares, numbers: Ints, first: int, last: int, most: float, own: float, rise: float
) -> float:
    """How far the value rises along the moves, whose slope is `rise` at first; sets the slopes there."""
    low, high, step = 0.0, most, most
    slope, bend = slope_along(causes, here, numbers, first, last, step)
    if own + slope >= 0.0:
        return step
    for _ in range(STEPS):
        further = step - (own + slope) / bend if bend < 0.0 else low
        step = further if low < further < high else 0.5 * (low + high)
        slope, bend = slope_along(causes, here, numbers, first, last, step)
        if abs(own + slope) <= 3e-2 * rise:
            break
        if own + slope > 0.0:
            low = step
        else:
            high = step
    return step


@kernel(borrows=True, inner=True)
def num_alive(causes: Causes, here: Shares, i: int) -> int:
    """The number of allowed states of a variable."""
    num = 0
    for o in range(causes.states[i], causes.states[i + 1]):
        num += here.alive[o]
    return num
