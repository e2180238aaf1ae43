r"""The M best assignments by best max-marginal first.

The assignments are split into parts by one state of one variable at a time. The next best assignment of a part differs
from its best one at the variable and state of the largest other max-marginal,

$$\max_{i,\, x_i \ne x_i^*} \max_{\mathbf x_{-i}} \log \tilde P(x_i, \mathbf x_{-i}),$$

and fixing this state, or excluding it, gives two new parts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.frozen import read_only
from sepset.base.threads import OutOfTime
from sepset.inference.wiring import Wiring


@dataclass(frozen=True, eq=False)
class Part:
    """Some assignments: those whose states have a finite log value of their own.

    Attributes:
        unary: the log values of single variables, -inf for excluded states.
        codes: the best assignment found.
        value: its log value.
        maxima: the log max-marginals, with a maximum of zero for each variable.
    """

    unary: Floats
    codes: Ints
    value: float
    maxima: Floats

    def next_state(self, states: Ints) -> tuple[int, int, float]:
        """The variable and the state of the largest other max-marginal, and the log value that it promises."""
        others = np.where(self.unary > -np.inf, self.maxima, -np.inf)
        others[states[:-1] + self.codes] = -np.inf
        place = int(others.argmax()) if len(others) else 0
        if not len(others) or others[place] == -np.inf:
            return -1, -1, -math.inf
        i = int(np.searchsorted(states, place, side="right")) - 1
        return i, place - int(states[i]), self.value + float(others[place])


Solve = Callable[[Wiring], tuple[Ints, float, Floats]]
"""Finds the best assignment of a model, its log value, and all log max-marginals."""


def best_first(wiring: Wiring, k: int, solve: Solve) -> list[Ints]:
    """Up to k different assignments, best first; exact if the max-marginals are. There are fewer if it is cut short.

    Args:
        solve: for each part of the assignments.

    Cost: two solutions for each assignment after the first.
    Reference: Yanover & Weiss (2004), Finding the M most probable configurations using loopy belief propagation.
    Guarantee: exact for exact max-marginals.
    Tested by: inference/propagation/test_bestfirst.py::test_the_best_of_a_forest_by_enumeration
    """
    states, parts = wiring.plugs.states, [_part(wiring, wiring.unary, solve)]
    found = [parts[0]] if parts[0].value > -np.inf else []
    while parts and len(found) < k:
        promised = [part.next_state(states) for part in parts]
        which = max(range(len(parts)), key=lambda p: promised[p][2])
        i, code, promise = promised[which]
        if promise == -math.inf:
            break
        place, own = int(states[i]) + code, parts[which].unary
        fixed, excluded = own.copy(), own.copy()
        excluded[place] = -np.inf
        fixed[states[i] : states[i + 1]] = -np.inf
        fixed[place] = own[place]
        try:
            parts[which] = replace(parts[which], unary=excluded, maxima=_part(wiring, excluded, solve).maxima)
            parts.append(_part(wiring, fixed, solve))
        except (OutOfTime, KeyboardInterrupt):
            break
        if parts[-1].value > -np.inf:
            found.append(parts[-1])
    return [part.codes for part in sorted(found, key=lambda part: -part.value)]


def _part(wiring: Wiring, unary: Floats, solve: Solve) -> Part:
    codes, value, maxima = solve(replace(wiring, unary=read_only(unary)))
    return Part(unary, codes, value, maxima)
