r"""Branch and bound with concave relaxations: independent variables under concave functions of sums of their terms.

$$\max_{\mathbf x} \sum_i a_i(x_i) + \sum_f g_f\Bigl(\mathbf s_f + \sum_i \mathbf t_{f,i}(x_i)\Bigr)$$

With shares of the states in place of states this is a concave problem. A function of one sum is bounded both by its
tangents and by the chords from the largest sum $b$ to those with one variable in another state,

$$g\Bigl(b - \sum_i d_i\Bigr) \le g(b) + \sum_i \bigl[g(b - d_i) - g(b)\bigr], \qquad d_i \ge 0,$$

and a smooth minimum of both is maximized one variable after the other. Its gradient at any shares is a valid bound, and
tells how much each state loses at least. States that lose too much are left out, and a variable whose shares are
undecided is divided, depth first.

Reference: Land & Doig (1960); Frank & Wolfe (1956) for tangents; Nemhauser & Wolsey (1981) for chords; Dantzig,
Fulkerson & Johnson (1954) for leaving states out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.buckets.causes import (
    REST,
    Causes,
    change,
    function_value,
    offer,
    row,
    second,
    value_at,
    value_of,
)
from sepset.kernels.kernel import kernel

SLACK = 1e-11
"""The part of the value by which an assignment must be better."""

EPS = 2.220446049250313e-16

SHARP = 8.0
"""How close the smooth minimum of two bounds is to the minimum: within this part of log 2."""

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


class Branches(NamedTuple):
    """The path of the search.

    Attributes:
        trail: the states that were left out, in that order.
        marks: for each branch the length of the trail before it.
        chosen: the state that was tried first.
        bounds: the bound before it.
        now: the number of branches, the length of the trail, one at the end of the search, and the work so far.
        codes: room for an assignment.
    """

    trail: Ints
    marks: Ints
    chosen: Ints
    bounds: Floats
    now: Ints
    codes: Ints


@kernel(borrows=True, inner=True)
def set_slopes(causes: Causes, here: Shares, f: int, step: float) -> float:
    """The slopes and weights of a function one step along the moves; returns the bend of its tangents."""
    first, last = causes.places[f], causes.places[f + 1]
    if last == first + 1:
        at = min(here.sums[first] + step * here.moves[first], causes.near[first])
        slope = -1.0 / np.expm1(-at) if causes.kinds[f] == REST else -1.0 / (1.0 + np.exp(-at))
        bend = slope - slope**2 if causes.kinds[f] == REST else slope + slope**2
        weight = 0.0
        if here.heights[first] > -np.inf:
            line = here.heights[first] + here.lines[first] + step * here.ascents[first]
            weight = 1.0 / (1.0 + np.exp(SHARP * (line - value_at(causes.kinds[f], at))))
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
def slope_along(causes: Causes, here: Shares, i: int, step: float) -> tuple[float, float]:
    """The first two derivatives of the functions after a step along the moves of a variable; sets their slopes."""
    slope, bend, last = 0.0, 0.0, -1
    for j in range(causes.starts[i], causes.starts[i + 1]):
        m = causes.numbers[j]
        if causes.home[m] != last:
            last = causes.home[m]
            bend += set_slopes(causes, here, last, step)
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
    step = length(causes, here, i, here.shares[a], causes.own[b] - causes.own[a], best - worst)
    here.shares[b] += step
    here.shares[a] = max(here.shares[a] - step, 0.0)
    for j in range(causes.starts[i], causes.starts[i + 1]):
        m = causes.numbers[j]
        here.sums[m] += step * here.moves[m]
        here.lines[m] += step * here.ascents[m]
        here.moves[m] = here.ascents[m] = 0.0


@kernel(borrows=True, inner=True)
def length(causes: Causes, here: Shares, i: int, most: float, own: float, rise: float) -> float:
    """How far the value rises along the moves, whose slope is `rise` at first; sets the slopes there."""
    low, high, step = 0.0, most, most
    slope, bend = slope_along(causes, here, i, step)
    if own + slope >= 0.0:
        return step
    for _ in range(STEPS):
        further = step - (own + slope) / bend if bend < 0.0 else low
        step = further if low < further < high else 0.5 * (low + high)
        slope, bend = slope_along(causes, here, i, step)
        if abs(own + slope) <= 1e-3 * rise:
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


@kernel(borrows=True, inner=True)
def leave_out(path: Branches, here: Shares, o: int) -> None:
    """Forbid a state on the path."""
    here.alive[o] = 0
    path.trail[path.now[1]] = o
    path.now[1] += 1


@kernel(borrows=True, inner=True)
def filtered(causes: Causes, here: Shares, path: Branches, most: float, least: float) -> bool:
    """Forbid states that lose so much that the bound falls to `least`; returns whether any has been."""
    before = path.now[1]
    for i in range(len(causes.states) - 1):
        best = -np.inf
        for o in range(causes.states[i], causes.states[i + 1]):
            if here.alive[o]:
                best = max(best, here.scores[o])
        for o in range(causes.states[i], causes.states[i + 1]):
            if here.alive[o] and most - (best - here.scores[o]) <= least:
                leave_out(path, here, o)
    return bool(path.now[1] > before)


@kernel(borrows=True, inner=True)
def level(value: float) -> float:
    """The bound that a branch must exceed if this value is known."""
    return value if value == -np.inf else value + SLACK * max(1.0, abs(value))


@kernel(borrows=True, inner=True)
def climb(causes: Causes, here: Shares, path: Branches, work: int, best: Floats, found: Ints, cancel: Bytes) -> None:
    """Offer the assignment in `path.codes` and better ones near it, which differ in one variable, or in two.

    Args:
        work: pairs of variables are tried until so much work is done.
    """
    codes, sums, room = path.codes, here.moves, here.ascents
    value, left = value_of(causes, codes, sums), len(codes)
    offer(value, codes, best, found)
    while left > 0 and not cancel[0]:
        i = left - 1
        left -= 1
        own = codes[i]
        for code in range(causes.states[i + 1] - causes.states[i]):
            if code == own or causes.own[causes.states[i] + code] == -np.inf:
                continue
            path.now[3] += 2 * (causes.starts[i + 1] - causes.starts[i])
            rise = change(causes, i, code, codes, sums)
            if value + rise > best[len(best) - 1]:
                offer(value_of(causes, codes, room), codes, best, found)
            if path.now[3] < work and -100.0 < rise <= 1e-9:
                path.now[3] += 2 * (len(causes.terms) - causes.starts[i])
                rise = second(causes, i, rise, codes, sums)
            if rise > 1e-9:
                value, left = value_of(causes, codes, sums), len(codes)
                offer(value, codes, best, found)
                break
            change(causes, i, own, codes, sums)
    for m in range(len(here.moves)):
        here.moves[m] = here.ascents[m] = 0.0


@kernel(borrows=True, inner=True)
def relax(causes: Causes, here: Shares, path: Branches, passes: int, best: Floats, found: Ints) -> float:
    """The bound after some passes over the variables, -inf if it is not above the best assignments."""
    set_chords(causes, here)
    set_sums(causes, here)
    lowest, before, least = np.inf, np.inf, -np.inf
    for turn in range(passes):
        path.now[3] += 4 * len(causes.own) + 2 * len(causes.terms)
        for i in range(len(causes.states) - 1):
            if num_alive(causes, here, i) > 1:
                move(causes, here, i)
                path.now[3] += 8 * (causes.starts[i + 1] - causes.starts[i])
        set_sums(causes, here)
        now = bound(causes, here)
        lowest = min(lowest, now)
        if turn == 0:
            rounded(causes, here, path.codes)
            offer(value_of(causes, path.codes, here.moves), path.codes, best, found)
            for m in range(len(here.moves)):
                here.moves[m] = 0.0
        least = level(best[len(best) - 1])
        if not lowest > least:
            return -np.inf
        if filtered(causes, here, path, now, least):
            set_chords(causes, here)
            set_sums(causes, here)
        elif before - lowest < 0.05 * (lowest - least) and turn > 1:
            break
        before = lowest
    return lowest


@kernel(borrows=True, inner=True)
def rounded(causes: Causes, here: Shares, codes: Ints) -> None:
    """The assignment of the largest shares."""
    for i in range(len(codes)):
        most = -1.0
        for o in range(causes.states[i], causes.states[i + 1]):
            if here.alive[o] and here.shares[o] > most:
                most, codes[i] = here.shares[o], o - causes.states[i]


@kernel(borrows=True, inner=True)
def divided(causes: Causes, here: Shares) -> int:
    """The state to be tried first: the largest share of the least decided variable; -1 if all are decided."""
    least, smallest, chosen = np.inf, np.inf, -1
    for i in range(len(causes.states) - 1):
        if num_alive(causes, here, i) < 2:
            continue
        top, at, first, second = -1.0, -1, -np.inf, -np.inf
        for o in range(causes.states[i], causes.states[i + 1]):
            if here.alive[o]:
                if here.shares[o] > top:
                    top, at = here.shares[o], o
                if here.scores[o] > first:
                    first, second = here.scores[o], first
                else:
                    second = max(second, here.scores[o])
        if top < least - 1e-9 or (top <= least + 1e-9 and first - second < smallest):
            least, smallest, chosen = min(top, least), first - second, at
    return chosen


@kernel(borrows=True, inner=True)
def step_back(causes: Causes, here: Shares, path: Branches, least: float) -> None:
    """Return to the last branch whose bound is high enough, and forbid what was tried first."""
    while path.now[0] > 0:
        path.now[0] -= 1
        depth = path.now[0]
        while path.now[1] > path.marks[depth]:
            path.now[1] -= 1
            here.alive[path.trail[path.now[1]]] = 1
        if path.bounds[depth] > least:
            leave_out(path, here, path.chosen[depth])
            return
    path.now[2] = 1


def _work(causes: Causes, here: Shares, path: Branches, work: int, *_: object) -> float:
    return 4.0 * work


@kernel(work=_work, borrows=True)
def branch(
    causes: Causes,
    here: Shares,
    path: Branches,
    work: int,
    passes: int,
    best: Floats,
    found: Ints,
    cancel: Bytes,
) -> None:
    """Search on until so much work is done, or to the end.

    Args:
        work: in terms that are read.
        passes: over the variables at each node.
        best: the values of the best assignments in decreasing order, -inf (or a value to be exceeded) without one.
        found: their codes, one row after the other.
    """
    while not path.now[2] and path.now[3] < work and not cancel[0]:
        most = relax(causes, here, path, passes, best, found)
        chosen = divided(causes, here) if most > -np.inf else -1
        if chosen < 0 and most > -np.inf:  # all variables are decided
            rounded(causes, here, path.codes)
            offer(value_of(causes, path.codes, here.moves), path.codes, best, found)
        if chosen < 0:
            step_back(causes, here, path, level(best[len(best) - 1]))
            continue
        depth = path.now[0]
        path.marks[depth], path.chosen[depth], path.bounds[depth] = path.now[1], chosen, most
        path.now[0] += 1
        i = np.searchsorted(causes.states, chosen, side="right") - 1
        for o in range(causes.states[i], causes.states[i + 1]):
            if o != chosen and here.alive[o]:
                leave_out(path, here, o)


@kernel(work=_work, borrows=True)
def begin(
    causes: Causes,
    here: Shares,
    path: Branches,
    work: int,
    passes: int,
    best: Floats,
    found: Ints,
    cancel: Bytes,
) -> None:
    """A good assignment before the search: the rounded relaxation, and better ones near it.

    Args:
        work: in terms that are read, after which pairs of variables are no longer tried.
        passes: over the variables.
    """
    most = relax(causes, here, path, passes, best, found)
    if most == -np.inf:  # nothing is better than what was found
        path.now[2] = 1
        return
    path.bounds[0] = most
    rounded(causes, here, path.codes)
    climb(causes, here, path, work, best, found, cancel)
