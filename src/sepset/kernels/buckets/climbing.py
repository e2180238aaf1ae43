"""Better assignments near a good one, of independent variables under concave functions of their sums."""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.buckets.causes import Causes, change, offer, second, value_of
from sepset.kernels.buckets.shares import Shares
from sepset.kernels.kernel import kernel

RISE = 1e-9
"""The least rise of a value for which a state is changed."""


@kernel(borrows=True, inner=True)
def climb(
    causes: Causes, here: Shares, now: Ints, codes: Ints, work: int, best: Floats, found: Ints, cancel: Bytes
) -> None:
    """Offer the assignment in `codes` and better ones near it, which differ in one variable, or in two.

    It goes around the variables, until a whole turn changes none or does not raise the value.

    Args:
        work: pairs of variables are tried until so much work is done, single ones until twice as much is, but for one
            turn.
    """
    sums, room, num, size = here.moves, here.ascents, len(codes), len(causes.numbers)
    value, several = value_of(causes, codes, sums), len(best) > 1
    offer(value, codes, best, found)
    i, left, is_same, before, turns = num, num, True, value, 0
    while left > 0 and not cancel[0] and (turns == 0 or now[3] < 2 * work):
        turns += int(i == 0)
        if i == 0 and not is_same:  # what changes add up to is rounded
            now[3] += size
            value = value_of(causes, codes, sums)
            offer(value, codes, best, found)
            if not value > before + RISE:
                break
            before, is_same = value, True
        i = i - 1 if i > 0 else num - 1
        left -= 1
        own = codes[i]
        for code in range(causes.states[i + 1] - causes.states[i]):
            if code == own or causes.own[causes.states[i] + code] == -np.inf:
                continue
            now[3] += 2 * (causes.starts[i + 1] - causes.starts[i])
            rise = change(causes, i, code, codes, sums)
            if several and value + rise > best[len(best) - 1]:
                now[3] += size
                offer(value_of(causes, codes, room), codes, best, found)
            if now[3] < work and -100.0 < rise <= RISE:
                now[3] += 2 * (len(causes.terms) - causes.starts[i])
                rise = second(causes, i, rise, codes, sums)
            if rise > RISE:
                value, left, is_same = value + rise, num, False
                if several or not np.isfinite(value):
                    now[3] += size
                    value = value_of(causes, codes, sums)
                    offer(value, codes, best, found)
                break
            change(causes, i, own, codes, sums)
    if not is_same:
        offer(value_of(causes, codes, sums), codes, best, found)
    for m in range(len(here.moves)):
        here.moves[m] = here.ascents[m] = 0.0


@kernel(borrows=True, inner=True)
def ascend(causes: Causes, here: Shares, now: Ints, codes: Ints, fixed: int) -> None:
    """Change single variables, all but a fixed one, among their allowed states, as long as the value rises."""
    sums, is_better = here.moves, True
    value_of(causes, codes, sums)
    while is_better:
        is_better = False
        for i in range(len(codes)):
            for code in range(causes.states[i + 1] - causes.states[i]):
                own = codes[i]
                if i == fixed or code == own or not here.alive[causes.states[i] + code]:
                    continue
                now[3] += 2 * (causes.starts[i + 1] - causes.starts[i])
                if change(causes, i, code, codes, sums) > RISE:
                    is_better = True
                else:
                    change(causes, i, own, codes, sums)


@kernel(borrows=True, inner=True)
def polish(causes: Causes, here: Shares, now: Ints, codes: Ints, best: Floats, found: Ints) -> None:
    """Offer the assignment in `codes` after changes of single variables among their allowed states."""
    ascend(causes, here, now, codes, -1)
    offer(value_of(causes, codes, here.moves), codes, best, found)
    for m in range(len(here.moves)):
        here.moves[m] = 0.0


@kernel(borrows=True, inner=True)
def without_each(
    causes: Causes, here: Shares, now: Ints, codes: Ints, work: int, best: Floats, found: Ints, cancel: Bytes
) -> None:
    """Offer assignments near the best, each after one of its variables had to take its own most probable state."""
    i, num = 0, len(codes)
    while i < num and found[0] >= 0 and now[3] < work and not cancel[0]:
        first, before = causes.states[i], best[0]
        top = int(np.argmax(causes.own[first : causes.states[i + 1]]))
        if found[i] != top:
            for v in range(num):
                codes[v] = found[v]
            codes[i] = top
            ascend(causes, here, now, codes, i)
            polish(causes, here, now, codes, best, found)
            if best[0] > before + RISE:
                climb(causes, here, now, codes, work, best, found, cancel)
                i = -1
        i += 1
