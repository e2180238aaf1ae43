r"""The alternating direction method of multipliers on the dual of the linear program over the local polytope.

$$\min_{\delta, \bar\delta, \lambda} \sum_i \max_{x_i} \Bigl[\theta_i + \sum_{f \ni i} \delta_{fi}\Bigr]
+ \sum_f \max_{\mathbf x_f} [\theta_f - \lambda_f] \quad \text{with} \quad \delta = \bar\delta, \quad
\lambda_f(\mathbf x_f) = \sum_{i \in f} \bar\delta_{fi}(x_i)$$

All steps have closed forms: the first two are projections on simplices.

Reference: Meshi & Globerson (2011), An alternating direction method for dual MAP LP relaxation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.inference.wiring import Wiring

BALANCE, CHANGE = 10.0, 2.0
"""A residual that is so many times the other one changes the penalty by this factor."""

DONE = 1e-9
"""Residuals that are zero but for rounding."""


class Splitting(NamedTuple):
    """The variables of the method.

    Attributes:
        delta, copy: what factors give to variables, and the same again, one number per state of every slot.
        prices: the multipliers of their agreement.
        tables: the values of all factors after one another.
        rents: the multipliers of the tables.
        penalty: the weight of disagreement.
    """

    delta: Floats
    copy: Floats
    prices: Floats
    tables: Floats
    rents: Floats
    penalty: float


@dataclass(frozen=True, eq=False)
class Group:
    """Factors of one shape.

    Attributes:
        shape: the numbers of states.
        logs: the tables `[n, ...]`, -inf at impossible states.
        slots: for each axis, the places of the messages `[n, states]`.
        places: the places of the tables' entries `[n, entries]`.
    """

    shape: tuple[int, ...]
    logs: Floats
    slots: tuple[Ints, ...]
    places: Ints


class Star(NamedTuple):
    """Variables of as many states and as many factors.

    Attributes:
        states: their states `[n, states]`.
        places: the places of the messages to them `[n, factors, states]`.
    """

    states: Ints
    places: Ints


@dataclass(frozen=True, eq=False)
class Multipliers:
    """The method on a model whose factors have tables.

    Attributes:
        wiring: the model.
        groups: its factors by shape.
        stars: its variables by their numbers of states and factors.
    """

    wiring: Wiring
    groups: Sequence[Group]
    stars: Sequence[Star]

    @classmethod
    def of(cls, wiring: Wiring) -> Multipliers:
        """The groups of a model's factors."""
        members: dict[tuple[int, ...], list[int]] = {}
        for f in range(wiring.num_factors):
            members.setdefault(tuple(wiring.plugs.cards[wiring.scope(f)].tolist()), []).append(f)
        groups, start = [], 0
        for shape, factors in members.items():
            groups.append(_group(wiring, shape, factors, start))
            start += groups[-1].places.size
        return cls(wiring, tuple(groups), _stars(wiring))

    def start(self) -> Splitting:
        """Zeros, with a penalty of one over the typical difference of log values."""
        live = self.wiring.unary[self.wiring.unary > -np.inf]
        finite = [live, *(g.logs[g.logs > -np.inf] for g in self.groups)]
        spread = float(np.std(np.concatenate(finite))) if sum(map(len, finite)) else 1.0
        zeros, entries = (
            np.zeros(int(self.wiring.wires.messages[-1])),
            np.zeros(sum(g.places.size for g in self.groups)),
        )
        return Splitting(zeros, zeros, zeros, entries, entries, 1.0 / spread if spread > 0.0 else 1.0)

    def stepped(self, state: Splitting) -> Splitting:
        """One step of all variables, then of the multipliers."""
        rho = state.penalty
        delta, tables = self._variables(state), self._tables(state)
        copy, sums = np.empty(len(delta)), np.empty(len(tables))
        for group in self.groups:
            found = _copies(group, delta + state.prices / rho, tables + state.rents / rho)
            for places, values in zip(group.slots, found, strict=True):
                copy[places] = values
            sums[group.places] = _sum(group, found)
        prices, rents = state.prices + rho * (delta - copy), state.rents + rho * (tables - sums)
        apart = float(np.linalg.norm(delta - copy) + np.linalg.norm(tables - sums))
        moved = rho * float(np.linalg.norm(copy - state.copy))
        return Splitting(delta, copy, prices, tables, rents, _balanced(rho, rho * apart, moved))

    def _variables(self, state: Splitting) -> Floats:
        """Each variable's maximum with a penalty: its messages less a point of the simplex over the penalty."""
        rho, found = state.penalty, np.empty(len(state.copy))
        wanted = state.copy - state.prices / rho
        for star in self.stars:
            given, degree = wanted[star.places], star.places.shape[1]
            total = self.wiring.unary[star.states] + given.sum(axis=1)
            found[star.places] = given - simplex(total * (rho / degree))[:, None] / rho
        return found

    def _tables(self, state: Splitting) -> Floats:
        """Each factor's maximum with a penalty."""
        rho, found = state.penalty, np.empty(len(state.tables))
        for group in self.groups:
            copies = [state.copy[places] for places in group.slots]
            wanted = _sum(group, copies) - state.rents[group.places] / rho
            logs = group.logs.reshape(wanted.shape)
            found[group.places] = wanted + simplex(rho * (logs - wanted)) / rho
        return found


def _balanced(penalty: float, apart: float, moved: float) -> float:
    """A larger penalty if the variables are apart, a smaller one if they move too much."""
    if min(apart, moved) <= DONE:
        return penalty
    if apart > BALANCE * moved:
        return penalty * CHANGE
    return penalty / CHANGE if moved > BALANCE * apart else penalty


def simplex(points: Floats) -> Floats:
    """The nearest points of the probability simplex, row by row; entries of -inf become zero.

    >>> simplex(np.array([[0.5, 0.7, -np.inf], [3.0, 0.0, 0.0]]))
    array([[0.4, 0.6, 0. ],
           [1. , 0. , 0. ]])
    """
    ordered = -np.sort(-points, axis=1)
    sizes = np.arange(1, points.shape[1] + 1)
    with np.errstate(invalid="ignore"):
        levels = (np.cumsum(ordered, axis=1) - 1.0) / sizes
        counts = (ordered > levels).sum(axis=1)
    level = levels[np.arange(len(points)), np.maximum(counts, 1) - 1]
    return np.asarray(np.maximum(points - level[:, None], 0.0))


def _group(wiring: Wiring, shape: tuple[int, ...], factors: Sequence[int], start: int) -> Group:
    logs = np.stack([wiring.table(f) for f in factors])
    slots = []
    for axis, size in enumerate(shape):
        at = wiring.plugs.starts[factors] + axis
        live = wiring.unary[wiring.plugs.states[wiring.plugs.scope[at]][:, None] + np.arange(size)] > -np.inf
        logs = np.where(live.reshape([-1, *(size if a == axis else 1 for a in range(len(shape)))]), logs, -np.inf)
        slots.append(wiring.wires.messages[at][:, None] + np.arange(size))
    places = start + np.arange(logs.size).reshape(len(factors), -1)
    return Group(shape, logs, tuple(slots), places)


def _stars(wiring: Wiring) -> tuple[Star, ...]:
    wires, found = wiring.wires, []
    degrees = np.diff(wires.degrees)
    for card, degree in sorted(set(zip(wires.cards.tolist(), degrees.tolist(), strict=True))):
        members = np.flatnonzero((wires.cards == card) & (degrees == degree))
        slots = wires.slots[wires.degrees[members][:, None] + np.arange(degree)]
        if degree:
            places = wires.messages[slots][:, :, None] + np.arange(card)
            found.append(Star(wires.states[members][:, None] + np.arange(card), places))
    return tuple(found)


def _along(group: Group, values: Floats, axis: int) -> Floats:
    """Messages `[n, states]` along one axis of the tables."""
    return values.reshape([-1, *(size if a == axis else 1 for a, size in enumerate(group.shape))])


def _sum(group: Group, messages: Sequence[Floats]) -> Floats:
    """The sum of messages at each entry, `[n, entries]`."""
    total = np.zeros(group.logs.shape)
    for axis, values in enumerate(messages):
        total = total + _along(group, values, axis)
    return total.reshape(len(total), -1)


def _copies(group: Group, messages: Floats, tables: Floats) -> list[Floats]:
    """The copies that are nearest to messages and whose sums are nearest to tables, by least squares."""
    size, entries = float(np.prod(group.shape)), tables[group.places].reshape(group.logs.shape)
    parts, weights = [], [size / states for states in group.shape]
    for axis, places in enumerate(group.slots):
        others = tuple(a + 1 for a in range(len(group.shape)) if a != axis)
        parts.append(messages[places] + entries.sum(axis=others))
    totals = [part.sum(axis=1) for part in parts]
    weighted = sum(w * t for w, t in zip(weights, totals, strict=True)) / (1.0 + sum(weights))
    found = []
    for part, total, weight, states in zip(parts, totals, weights, group.shape, strict=True):
        rest = (weighted - weight * (total - weighted)) / states
        found.append((part - rest[:, None]) / (1.0 + weight))
    return found
