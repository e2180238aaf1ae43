r"""Assignments at which all beliefs have their maxima: a constraint satisfaction problem.

$$\mathbf x_f \in \arg\max \beta_f \ \text{for all factors}, \qquad x_i \in \arg\max b_i \ \text{for all variables}$$

Only variables whose beliefs are tied need a search. Where no assignment exists although the messages are at a fixed
point, some loop is frustrated.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.inference.propagation.passing import Beliefs
from sepset.kernels.propagation.wires import AT_LEAST_ONE, PARITY, QUADRATIC, TABLE

TIED = 1e-6
"""The most by which a log belief may be below its maximum and count as equal."""

REVISIONS = 20_000
"""The most constraints that a search revises."""

LARGEST = 2**16
"""The most joint states of the tied variables of one factor."""


class Constraint(NamedTuple):
    """The joint states of some tied variables at which the belief of a factor has its maximum."""

    factor: int
    scope: tuple[int, ...]
    allowed: Bools


class Agreement(NamedTuple):
    """The result of a search.

    Attributes:
        codes: an assignment at which all beliefs have their maxima; None if there is none, or none was found.
        is_decided: whether the search ended.
    """

    codes: Ints | None
    is_decided: bool


class _Spent(Exception):
    """The search has revised as many constraints as it may."""


class Agreements:
    """The assignments at which all beliefs have their maxima.

    Attributes:
        beliefs: log beliefs of max-product.
        live: the states of each variable at which its belief is largest.
        tied: the variables with several such states.

    Reference: Koller & Friedman, section 13.4.1.2.
    Guarantee: exact where the search ends.
    Tested by: inference/propagation/test_agreement.py::test_agreements_by_enumeration
    """

    def __init__(self, beliefs: Beliefs) -> None:
        self.beliefs = beliefs
        states = beliefs.wiring.plugs.states
        self.live = [beliefs.logs[a:b] >= -TIED for a, b in itertools.pairwise(states.tolist())]
        self.tied = [i for i, mask in enumerate(self.live) if mask.sum() > 1]
        self._left = REVISIONS
        self.constraints: list[Constraint] | None = self._constraints()

    def found(self, fixed: dict[int, int] | None = None) -> Agreement:
        """An assignment, if there is one.

        Args:
            fixed: variables with a given code.
        """
        if self.constraints is None:
            return Agreement(None, is_decided=False)
        live = [mask.copy() for mask in self.live]
        for i, code in (fixed or {}).items():
            live[i] &= np.arange(len(live[i])) == code
        try:
            solved = self._solved(live, self.constraints)
        except _Spent:
            return Agreement(None, is_decided=False)
        codes = None if solved is None else np.array([int(mask.argmax()) for mask in solved], np.int64)
        return Agreement(codes, is_decided=True)

    def states(self) -> list[Ints] | None:
        """The states of each variable over all such assignments; None if there is none, or the search did not end.

        With convex counting numbers, every best assignment has only these (and there is one such assignment).
        """
        best = self.found().codes
        if best is None:
            return None
        found = []
        for i, mask in enumerate(self.live):
            options = np.flatnonzero(mask)
            if len(options) > 1:
                searches = [self.found({i: int(code)}) for code in options]
                if not all(s.is_decided for s in searches):
                    return None
                options = options[[s.codes is not None for s in searches]]
            found.append(options)
        return found

    def conflict(self) -> list[int]:
        """Factors whose beliefs cannot all be at their maxima, none of which could be left out, for few factors."""
        kept = list(self.constraints or [])
        for constraint in list(kept) if len(kept) <= 200 else []:
            rest = [c for c in kept if c is not constraint]
            try:
                if self._solved([mask.copy() for mask in self.live], rest) is None:
                    kept = rest
            except _Spent:
                break
        return [c.factor for c in kept]

    def _constraints(self) -> list[Constraint] | None:
        wiring, tied, found = self.beliefs.wiring, set(self.tied), []
        for f in range(wiring.num_factors):
            scope = wiring.scope(f).tolist()
            open_ones = [i for i in scope if i in tied]
            is_other = wiring.plugs.kinds[f] > AT_LEAST_ONE and len(scope) > 12
            if is_other or math.prod(len(self.live[i]) for i in open_ones) > LARGEST:
                return None
            allowed = _allowed(self.beliefs, f, {i: int(self.live[i].argmax()) for i in scope if i not in tied})
            if not allowed.all():
                found.append(Constraint(f, tuple(open_ones), allowed))
        return found

    def _solved(self, live: list[Bools], constraints: Sequence[Constraint]) -> list[Bools] | None:
        """Masks of one state each; None if there is no solution."""
        around: dict[int, list[Constraint]] = {}
        for constraint in constraints:
            for i in constraint.scope:
                around.setdefault(i, []).append(constraint)
        if any(not mask.any() for mask in live) or any(not c.scope for c in constraints):
            return None
        masks = dict(enumerate(live))
        if not self._revised(masks, constraints, around):
            return None
        for part in _parts(constraints):
            chosen = self._searched({i: masks[i] for i in part}, around)
            if chosen is None:
                return None
            masks |= chosen
        return [masks[i] for i in range(len(live))]

    def _searched(self, masks: dict[int, Bools], around: Mapping[int, Sequence[Constraint]]) -> dict[int, Bools] | None:
        """Masks of one state each for a connected part whose constraints were revised; None if there are none."""
        waiting: list[tuple[dict[int, Bools], Sequence[Constraint]]] = [(masks, ())]
        while waiting:
            chosen, queue = waiting.pop()
            if not self._revised(chosen, queue, around):
                continue
            numbers = {i: int(np.count_nonzero(mask)) for i, mask in chosen.items()}
            several = [i for i, number in numbers.items() if number > 1]
            if not several:
                return chosen
            i = min(several, key=lambda v: (numbers[v], v))
            for code in np.flatnonzero(chosen[i])[::-1]:
                waiting.append(({**chosen, i: np.arange(len(chosen[i])) == code}, around[i]))
        return None

    def _revised(
        self, masks: dict[int, Bools], queue: Sequence[Constraint], around: Mapping[int, Sequence[Constraint]]
    ) -> bool:
        """Leave the states that constraints support; False if a variable has none."""
        todo = list(queue)
        while todo:
            if self._left == 0:
                raise _Spent
            self._left -= 1
            _, scope, allowed = todo.pop()
            for axis, i in enumerate(scope):
                allowed = allowed & masks[i].reshape([-1 if a == axis else 1 for a in range(len(scope))])
            for axis, i in enumerate(scope):
                supported = np.asarray(allowed.any(axis=tuple(a for a in range(len(scope)) if a != axis)))
                if not supported.any():
                    return False
                if (supported != masks[i]).any():
                    masks[i] = supported
                    todo += around[i]
        return True


def _parts(constraints: Sequence[Constraint]) -> list[list[int]]:
    """The variables of the constraints, by parts that no constraint connects: each is searched on its own."""
    home: dict[int, list[int]] = {}
    for _, scope, _ in constraints:
        joined = sorted({id(home[i]): home[i] for i in scope if i in home}.values(), key=len)
        part = joined.pop() if joined else []
        for other in joined:
            part += other
        part += [i for i in scope if i not in home]
        home |= dict.fromkeys([*itertools.chain(*joined), *scope], part)
    return list({id(part): part for part in home.values()}.values())


def _allowed(beliefs: Beliefs, f: int, fixed: dict[int, int]) -> Bools:
    """Where the log belief of a factor is largest, given the codes of some of its variables."""
    wiring, scope = beliefs.wiring, beliefs.wiring.scope(f).tolist()
    cavities = _cavities(beliefs, f)
    if wiring.plugs.kinds[f] in range(TABLE, QUADRATIC + 1) or len(scope) <= 12:
        logs = wiring.table(f) / beliefs.rhos[f]
        for axis, own in enumerate(cavities):
            logs = logs + own.reshape([-1 if a == axis else 1 for a in range(len(scope))])
        top = logs.max()
        logs = logs[tuple(fixed.get(i, slice(None)) for i in scope)]
        return np.asarray(logs >= top - TIED)
    codes = np.indices([2] * (len(scope) - len(fixed)))
    known = [own[fixed[i]] for i, own in zip(scope, cavities, strict=True) if i in fixed]
    ones = codes.sum(axis=0) + sum(fixed.values())
    logs = np.full(ones.shape, float(np.sum(known)))
    free = [own for i, own in zip(scope, cavities, strict=True) if i not in fixed]
    for own, code in zip(free, codes, strict=True):
        logs = logs + own[code]
    is_parity = wiring.plugs.kinds[f] == PARITY
    holds = ones % 2 == wiring.plugs.weights[f] if is_parity else ones > 0
    return np.asarray(holds & (logs >= _best(cavities, float(wiring.plugs.weights[f]), is_parity=is_parity) - TIED))


def _best(cavities: Sequence[Floats], weight: float, *, is_parity: bool) -> float:
    """The largest sum of one number for each variable at which a constraint holds."""
    ones = sum(int(own.argmax()) for own in cavities)
    holds = ones % 2 == weight if is_parity else ones > 0
    loss = 0.0 if holds else min(float(own.max() - own.min()) for own in cavities)
    return float(sum(own.max() for own in cavities)) - loss


def _cavities(beliefs: Beliefs, f: int) -> list[Floats]:
    """The log beliefs of the variables of a factor divided by its messages to them."""
    wiring, found = beliefs.wiring, []
    for s, i in enumerate(wiring.scope(f).tolist(), int(wiring.plugs.starts[f])):
        own = beliefs.logs[wiring.plugs.states[i] : wiring.plugs.states[i + 1]]
        sent = beliefs.messages[wiring.wires.messages[s] : wiring.wires.messages[s + 1]]
        found.append(np.where(own > -np.inf, own - np.where(own > -np.inf, sent, 0.0), -np.inf))
    return found
