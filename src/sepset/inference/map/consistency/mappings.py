r"""Improving mappings: states that can be replaced by others in every assignment without making it worse.

A mapping $p$ replaces some states of each variable by one state $y_i$. It is improving if
$E(p(\mathbf x)) \le E(\mathbf x)$ for all assignments; then some best assignment has none of the replaced states. The
difference $g(\mathbf x) = E(\mathbf x) - E(p(\mathbf x))$ is a model itself, in which all states that stay are one, of
cost zero. Messages move its costs until few are negative. With $z_i = 1$ where $x_i$ is replaced,

$$g(\mathbf x) \ge \sum_i u_i z_i + \sum_{ij} w_{ij} |z_i - z_j|, \qquad w_{ij} \ge 0,$$

and the minimum of this is a cut. As long as it is negative, the variables with $z_i = 1$ replace fewer states.

Reference: Kovtun (2003), Partial optimal labeling search for a NP-hard subclass of (max,+) problems; Swoboda,
Savchynskyy, Kappes & Schnörr (2013), Partial optimality by pruning for MAP-inference with general graphical models;
Shekhovtsov, Swoboda & Savchynskyy (2018), Maximum persistency via iterative relaxed inference in graphical models.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sepset.base.arraytypes import AnyArray, Bools, Floats, Ints
from sepset.base.threads import OutOfTime, require_time
from sepset.errors import TooLarge
from sepset.inference.map.maxflow import FlowGraph
from sepset.inference.map.mplp import MPLP
from sepset.inference.plugs import starts_of
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.wires import TABLE

MOST_ENTRIES, MOST_TABLES = 2**21, 2**25
"""The most entries of tables that are compared at once, and of all of them."""

ROUNDING, MARGIN = 1e-12, 1e-9
"""Differences that count as none, and those by which a strict mapping must be better, relative to the costs."""

PASSES, CAREFUL = 5, 60
"""The rounds of messages between two cuts, and the cuts after which one replaces fewer states by ever larger steps."""


@dataclass(frozen=True, eq=False)
class Mapping:
    """States that are replaced by one state of their variable, and messages that show that no assignment is worse then.

    Attributes:
        codes: that state of each variable.
        moved: the states that are replaced.
        messages: one number per state of every slot.
    """

    codes: Ints
    moved: Bools
    messages: Floats

    @classmethod
    def improving(cls, wiring: Wiring, codes: Ints, messages: Floats, *, is_strict: bool) -> Mapping:
        """An improving mapping to an assignment that replaces many states; none if there is no time to find one.

        Args:
            wiring: a model after arc consistency; states of value zero alone are left out.
            messages: those of the model itself, to begin with.
            is_strict: whether every assignment with a replaced state must become better.

        Guarantee: no assignment becomes worse.
        Tested by: inference/map/consistency/test_mappings.py::test_no_assignment_becomes_worse
        """
        moved = np.isfinite(wiring.unary)
        moved[wiring.plugs.states[:-1] + codes] = False
        made, cuts = cls(codes, moved, np.where(np.isfinite(messages), messages, 0.0)), 0
        while made.moved.any():
            try:
                require_time()
                gone = made.exceptions(wiring, is_strict=is_strict, passes=PASSES)
            except OutOfTime:
                return replace(made, moved=np.zeros_like(made.moved))
            if not gone.any():
                break
            if cuts >= CAREFUL:
                gone = _around(wiring, gone, 2 ** (cuts - CAREFUL))
            made, cuts = replace(made, moved=made.moved & ~gone), cuts + 1
        return made

    def exceptions(self, wiring: Wiring, *, is_strict: bool, passes: int = 0) -> Bools:
        """Replaced states that should stay; none if the mapping is improving.

        Args:
            passes: the number of rounds that change the messages before.
        """
        made, worse = difference(wiring, self.codes, self.moved)
        if worse.any():
            return worse
        for _ in range(passes):
            MPLP().passed(made, self.messages)
        self.messages[~np.isfinite(self.messages)] = 0.0  # any messages will do; those to impossible states may be -inf
        compared = _Compared(made, self.codes, self.moved, self.messages)
        chosen = compared.cut(is_strict=is_strict)
        if not chosen.any():
            return worse
        candidates = self.moved & np.repeat(chosen, wiring.plugs.cards)
        scores = np.where(candidates, compared.scores, np.inf)
        least = np.minimum.reduceat(scores, wiring.plugs.states[:-1])
        return candidates & (scores <= np.repeat(least, wiring.plugs.cards))


def _around(wiring: Wiring, states: Bools, steps: int) -> Bools:
    """All states of the variables that have one of these states, and of those so many steps around them."""
    plugs, starts = wiring.plugs, wiring.plugs.starts[:-1]
    chosen = np.logical_or.reduceat(states, plugs.states[:-1])
    for _ in range(min(steps, wiring.num_variables) if wiring.num_factors else 0):
        touched = np.repeat(np.logical_or.reduceat(chosen[plugs.scope], starts), np.diff(plugs.starts))
        chosen[plugs.scope[touched]] = True
        if chosen.all():
            break
    return np.repeat(chosen, plugs.cards)


def difference(wiring: Wiring, codes: Ints, moved: Bools) -> tuple[Wiring, Bools]:
    """The model of minus the least differences, states that stay as one, and states that would be replaced by zeros."""
    plugs, live = wiring.plugs, np.isfinite(wiring.unary)
    sizes = (
        np.multiply.reduceat(plugs.cards[plugs.scope], plugs.starts[:-1]) if wiring.num_factors else np.zeros(0, int)
    )
    places, worse = starts_of(sizes), np.zeros(len(live), bool)
    if places[-1] > MOST_TABLES:
        raise TooLarge(f"Persistency needs tables of {int(places[-1]):.3g} entries for all factors. Use TRWS().")
    own = np.repeat(wiring.unary[plugs.states[:-1] + codes], plugs.cards)
    unary = np.where(moved, wiring.unary, -np.inf) - own
    unary[plugs.states[:-1] + codes] = 0.0
    tables = np.empty(int(places[-1]))
    for factors, scopes, logs in _tables(wiring):
        spots = [plugs.states[v][:, None] + np.arange(size) for v, size in zip(scopes.T, logs.shape[1:], strict=True)]
        less = _replaced(logs, codes[scopes], [moved[at] for at in spots], [live[at] for at in spots])
        for axis, at in enumerate(spots):
            rows = less.max(axis=tuple(a + 1 for a in range(len(spots)) if a != axis))
            np.logical_or.at(worse, at, moved[at] & (rows == np.inf))
            less = _joined(less, axis, codes[scopes[:, axis]], moved[at])
        tables[places[factors][:, None] + np.arange(less[0].size)] = less.reshape(len(less), -1)
    kinds = np.full(wiring.num_factors, TABLE, plugs.kinds.dtype)
    fresh = plugs._replace(kinds=kinds, places=places[:-1], tables=tables)
    return replace(wiring, plugs=fresh, unary=unary, constant=0.0), worse


def _tables(wiring: Wiring) -> Iterator[tuple[Ints, Ints, Floats]]:
    """Factors of one shape, some at a time, with their variables and log values."""
    plugs = wiring.plugs
    arity, pairs = np.diff(plugs.starts), plugs.starts[:-1][:, None] + np.arange(2)
    chosen = np.flatnonzero(arity == 2)
    shapes = plugs.cards[plugs.scope[pairs[chosen]]]
    for shape in np.unique(shapes, axis=0):
        same = chosen[(shapes == shape).all(axis=1)]
        most = max(1, MOST_ENTRIES // int(shape.prod()))
        for start in range(0, len(same), most):
            some = same[start : start + most]
            yield some, plugs.scope[pairs[some]], wiring.tables(some)
    for f in np.flatnonzero(arity > 2).tolist():
        yield np.array([f]), wiring.scope(f)[None], wiring.table(f)[None]


def _replaced(logs: Floats, codes: Ints, moved: list[Bools], live: list[Bools]) -> Floats:
    """By how much entries are above those that replace them; inf where these are zeros and the entries are not."""
    arity = len(moved)
    images = [
        _along(np.where(mask, codes[:, axis][:, None], np.arange(mask.shape[1])), axis, arity)
        for axis, mask in enumerate(moved)
    ]
    with np.errstate(invalid="ignore"):
        above = logs - logs[(_along(np.arange(len(logs))[:, None], 0, arity), *images)]
    alive = np.logical_and.reduce(np.broadcast_arrays(*(_along(some, a, arity) for a, some in enumerate(live))))
    return np.where(np.isfinite(logs) & alive, above, -np.inf)


def _joined(above: Floats, axis: int, codes: Ints, moved: Bools) -> Floats:
    """The values with those of all states that stay joined at one state."""
    moved_along = _along(moved, axis, above.ndim - 1)
    most = np.where(moved_along, -np.inf, above).max(axis=axis + 1, keepdims=True)
    here = _along(np.arange(moved.shape[1])[None] == codes[:, None], axis, above.ndim - 1)
    return np.where(here, most, np.where(moved_along, above, -np.inf))


class _Compared:
    """Bounds a model of differences by a function of which variables are replaced.

    Args:
        wiring: the model.
        codes: the state of each variable that stands for all that stay.
        moved: the states that are replaced.
        messages: those of the model.
    """

    def __init__(self, wiring: Wiring, codes: Ints, moved: Bools, messages: Floats) -> None:
        plugs, wires = wiring.plugs, wiring.wires
        self.states, self.wires = plugs.states, wires
        own = np.repeat(messages[wires.messages[:-1] + codes[wires.scope]], wires.cards[wires.scope])
        self.messages = messages - own  # none for the states that stay
        places = np.repeat(wires.states[wires.scope] - wires.messages[:-1], wires.cards[wires.scope])
        beliefs, size = wiring.unary.copy(), np.where(moved, np.abs(wiring.unary), 0.0)
        np.add.at(beliefs, places + np.arange(len(messages)), self.messages)
        np.add.at(size, places + np.arange(len(messages)), np.abs(self.messages))
        self.scores = np.where(moved, -beliefs, np.inf)
        self.size = np.where(moved & np.isfinite(size), size, 0.0)
        self.paired = np.zeros(len(codes))
        self.edges: list[Ints] = [np.zeros((0, 2), np.int64)]
        self.weights: list[Floats] = [np.zeros(0)]
        for factors, scopes, logs in _tables(wiring):
            spots = [plugs.states[v][:, None] + np.arange(k) for v, k in zip(scopes.T, logs.shape[1:], strict=True)]
            self._add(scopes, self._sent(factors, logs), [moved[at] for at in spots])

    def _sent(self, factors: Ints, logs: Floats) -> Floats:
        """The costs of factors after the messages."""
        costs = -logs
        for axis in range(logs.ndim - 1):
            starts = self.wires.messages[self.wires.starts[factors] + axis]
            sent = self.messages[starts[:, None] + np.arange(logs.shape[axis + 1])]
            costs = costs + _along(sent, axis, logs.ndim - 1)
        return costs

    def _add(self, scopes: Ints, costs: Floats, moved: list[Bools]) -> None:
        """Add what factors lose at least if one of their variables is replaced, and what more if several are."""
        arity, axes = len(moved), tuple(range(1, costs.ndim))
        wide = [_along(mask, axis, arity) for axis, mask in enumerate(moved)]
        count = sum(np.broadcast_to(mask, costs.shape).astype(np.int8) for mask in wide)
        least = np.where(count > 1, costs, np.inf).min(axis=axes)
        highest = np.maximum(1.0, np.abs(np.where(np.isfinite(least), least, 0.0)))
        single = [np.minimum(np.where(mask & (count == 1), costs, np.inf).min(axis=axes), highest) for mask in wide]
        if arity > 2:
            rest = costs - sum(
                _along(np.where(m, s[:, None], 0.0), a, arity)
                for a, (m, s) in enumerate(zip(moved, single, strict=True))
            )
            least = np.where(count > 1, rest, np.inf).min(axis=axes)
        else:
            least = least - single[0] - single[1]
        weight = np.maximum(0.0, -least) / 2.0
        for v, cost in zip(scopes.T, single, strict=True):
            np.add.at(self.paired, v, cost - weight)
        if arity == 2:
            self.edges.append(scopes[weight > 0.0])
            self.weights.append(weight[weight > 0.0])

    def cut(self, *, is_strict: bool) -> Bools:
        """The fewest variables whose replaced states together may be better as they are; none if there are none."""
        if not len(self.paired):
            return np.zeros(0, bool)
        size = np.maximum.reduceat(self.size, self.states[:-1]) + np.abs(self.paired)
        slack = (-MARGIN if is_strict else ROUNDING) * np.maximum(1.0, size)
        total = np.minimum.reduceat(self.scores, self.states[:-1]) + self.paired + slack
        weights = np.concatenate(self.weights)
        graph = FlowGraph(
            len(total),
            np.concatenate(self.edges),
            forward=weights,
            backward=weights,
            from_source=np.maximum(0.0, -total),
            to_sink=np.maximum(0.0, total),
        )
        return ~graph.min_cut().sink_side


def _along(values: AnyArray, axis: int, arity: int) -> AnyArray:
    """Values of factors and states with an axis for every variable, of length one for the others."""
    return values.reshape([len(values), *(-1 if a == axis else 1 for a in range(arity))])
