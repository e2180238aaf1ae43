r"""Ordered states as layers of binary nodes, so that one minimum cut gives the best assignment.

Node $b_{ik}$ says that $x_i > k$. A label pays between two layers of its variable, and a pair of variables between
their layers what the second differences of its energies say, which must not be positive:

$$E(x, y) = E(0, 0) + \alpha(x) + \beta(y) - \sum_{k, l} D_{kl}\, b_k (1 - b'_l), \qquad
D_{kl} = E(k, l) + E(k{+}1, l{+}1) - E(k{+}1, l) - E(k, l{+}1) \le 0$$

with $\alpha(x) = E(x, K'{-}1) - E(0, K'{-}1)$ and $\beta(y) = E(0, y) - E(0, 0)$. All convex functions of the distance
have this form. Where that helps, the order of some variables' states is reversed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Int32s, Ints
from sepset.base.memory import machine_memory
from sepset.errors import NotApplicable, TooLarge
from sepset.inference.map.binary import MOST_NODES, ROUNDING, BinaryEnergy, two_kinds
from sepset.inference.wiring import Wiring

CHUNK = 2**20
"""The number of table entries that are looked at together."""

ARC_BYTES = 150
"""The memory of an arc of the flow graph and of the arrays that it is made from."""


@dataclass(frozen=True, eq=False)
class Layers:
    """The energy of the layers of a wired model in pairs.

    Attributes:
        energy: over the nodes of all layers.
        first: the first node of each variable; the last entry is the number of nodes.
        reversed: the variables whose states are counted from the last one.

    Guarantee: exact.
    Tested by: inference/map/test_layers.py::test_energies_of_layers_are_those_of_the_model
    """

    energy: BinaryEnergy
    first: Ints
    reversed: Bools

    @classmethod
    def of(cls, wiring: Wiring, method: object) -> Layers:
        """The layers; raises if a factor has more than two variables, or no order of states makes it submodular."""
        wiring.require_pairs(method)
        groups = list(_groups(wiring))
        return _layered(wiring, groups, turned_states(wiring, groups, method))

    def codes(self, is_above: Bools) -> Ints:
        """The states of the variables, given which nodes have state 1."""
        sums = np.concatenate([[0], np.cumsum(is_above, dtype=np.int64)])
        found: Ints = sums[self.first[1:]] - sums[self.first[:-1]]
        return np.asarray(np.where(self.reversed, np.diff(self.first) - found, found))

    def above(self, codes: Ints) -> Bools:
        """Which nodes have state 1 at an assignment."""
        cards = np.diff(self.first)
        counted = np.where(self.reversed, cards - codes, codes)
        layer = np.arange(self.first[-1]) - np.repeat(self.first[:-1], cards)
        return np.asarray(layer < np.repeat(counted, cards))


def is_ordered(wiring: Wiring, method: object) -> bool:
    """Whether some order of states makes every factor submodular, and the layers fit into memory."""
    try:
        turned_states(wiring, list(_groups(wiring)), method)
    except (NotApplicable, TooLarge):
        return False
    return True


def turned_states(wiring: Wiring, groups: list[Ints], method: object) -> Bools:
    """The variables whose order of states is reversed, so that all factors are submodular; raises if none does it."""
    _require_room(wiring, groups)
    signs = np.zeros(wiring.num_factors, np.int64)
    for factors, tables in _chunks(wiring, groups):
        signs[factors] = _signs(tables, factors, wiring, method)
    turned = two_kinds(wiring.plugs.scope.reshape(-1, 2)[signs != 0], signs[signs != 0] > 0, wiring.num_variables)
    if turned is None:
        f = int(np.argmax(signs > 0))
        raise NotApplicable(_refusal(method, wiring, f, "contradicts other factors in every order of its states"))
    return turned


def _groups(wiring: Wiring) -> Iterator[Ints]:
    """The factors of each shape."""
    shapes = wiring.plugs.cards[wiring.plugs.scope.reshape(-1, 2)]
    kinds, which = np.unique(shapes, axis=0, return_inverse=True)
    return (np.flatnonzero(which.reshape(-1) == number) for number in range(len(kinds)))


def _require_room(wiring: Wiring, groups: list[Ints]) -> None:
    """Raise before anything is built if the graph is too large, counting all arcs of every table."""
    cards = wiring.plugs.cards
    shapes = [cards[wiring.scope(int(group[0]))] - 1 for group in groups]
    arcs = float(cards.sum()) + sum(len(g) * float(np.prod(s)) for g, s in zip(groups, shapes, strict=True))
    need, room = arcs * ARC_BYTES, machine_memory() / 2
    if need > room or arcs > MOST_NODES:
        raise TooLarge(
            f"The layers of the states have up to {arcs:.3g} arcs and need {need / 2**30:.3g} GiB, more than half "
            f"of this machine's memory ({room / 2**30:.3g} GiB). Use TRWS() or AlphaExpansion()."
        )


def _chunks(wiring: Wiring, groups: list[Ints]) -> Iterator[tuple[Ints, Floats]]:
    """Factors of one shape with their energies `[m, K, K']`, a limited number at a time."""
    for group in groups:
        size = max(1, CHUNK // int(np.prod(wiring.plugs.cards[wiring.scope(int(group[0]))])))
        for start in range(0, len(group), size):
            factors = group[start : start + size]
            yield factors, -wiring.tables(factors)


def _signs(tables: Floats, factors: Ints, wiring: Wiring, method: object) -> Ints:
    """-1 for factors that are submodular, 1 for those that are with one order reversed, 0 for both."""
    filled = _filled(tables)[0]
    wrong = ~np.isfinite(filled).all(axis=(1, 2))
    if wrong.any():
        raise NotApplicable(
            _refusal(method, wiring, int(factors[np.argmax(wrong)]), "has single impossible pairs of states")
        )
    seconds = _seconds(filled)
    rises, falls = np.asarray((seconds > 0.0).any(axis=(1, 2))), np.asarray((seconds < 0.0).any(axis=(1, 2)))
    if (rises & falls).any():
        f = int(factors[np.argmax(rises & falls)])
        raise NotApplicable(_refusal(method, wiring, f, "is not submodular in the order of its states"))
    return rises.astype(np.int64) - falls.astype(np.int64)


def _filled(tables: Floats) -> tuple[Floats, Bools, Bools]:
    """Tables whose impossible rows and columns are copies of the possible ones before them, and which these are."""
    possible: Bools = np.isfinite(tables)
    rows, columns = np.asarray(possible.any(axis=2)), np.asarray(possible.any(axis=1))
    found = np.take_along_axis(tables, _sources(rows)[:, :, None], axis=1)
    found = np.take_along_axis(found, _sources(columns)[:, None, :], axis=2)
    some = np.asarray(rows.any(axis=1)).reshape(-1, 1, 1)
    return np.where(some, found, 0.0), ~rows, ~columns


def _sources(live: Bools) -> Ints:
    """For each entry the last live one up to it, else the first live one, else the first."""
    last = np.maximum.accumulate(np.where(live, np.arange(live.shape[1]), -1), axis=1)
    return np.where(last < 0, np.argmax(live, axis=1)[:, None], last)


def _seconds(tables: Floats) -> Floats:
    """Second differences, with zero for rounding of the four energies of each."""
    found: Floats = np.diff(np.diff(tables, axis=1), axis=2)
    sizes = np.abs(tables)
    sizes = np.maximum(sizes[:, 1:], sizes[:, :-1])
    return np.where(np.abs(found) <= ROUNDING * np.maximum(sizes[:, :, 1:], sizes[:, :, :-1]), 0.0, found)


def _refusal(method: object, wiring: Wiring, f: int, reason: str) -> str:
    one, other = (wiring.name(i) for i in wiring.scope(f).tolist())
    return (
        f"{type(method).__name__} takes pairs that are submodular in the order of their states, such as convex costs "
        f"of their distance; factor {wiring.numbers[f]} over {one!r} and {other!r} {reason}. "
        "Use AlphaExpansion() or TRWS()."
    )


def _layered(wiring: Wiring, groups: list[Ints], turned: Bools) -> Layers:
    """The layers, with the states of some variables in reversed order."""
    plugs = wiring.plugs
    first = np.concatenate([[0], np.cumsum(plugs.cards - 1)])
    labels = _in_order(-wiring.unary, wiring, turned)
    arcs, costs, constant = [np.zeros((0, 2), np.int32)], [np.zeros(0)], -wiring.constant
    for factors, tables in _chunks(wiring, groups):
        pairs = plugs.scope.reshape(-1, 2)[factors]
        tables = _reversed(tables, turned[pairs])
        filled, dead_rows, dead_columns = _filled(tables)
        constant += float(filled[:, 0, 0].sum())
        alone = filled[:, :, -1] - filled[:, :1, -1], filled[:, 0, :] - filled[:, 0, :1]
        for axis, (own, dead) in enumerate(zip(alone, (dead_rows, dead_columns), strict=True)):
            places = plugs.states[pairs[:, axis]][:, None] + np.arange(own.shape[1])
            np.add.at(labels, places, np.where(dead, np.inf, own))
        between, paid = _arcs(first[pairs], _seconds(filled))
        arcs.append(between)
        costs.append(paid)
    return Layers(_energy(labels, wiring, first, np.concatenate(arcs), np.concatenate(costs), constant), first, turned)


def _in_order(labels: Floats, wiring: Wiring, turned: Bools) -> Floats:
    """The energies of single states, in the order of the layers."""
    states, cards = wiring.plugs.states, wiring.plugs.cards
    place = np.arange(len(labels)) - np.repeat(states[:-1], cards)
    opposite = np.repeat(cards, cards) - 1 - place
    return labels[np.repeat(states[:-1], cards) + np.where(np.repeat(turned, cards), opposite, place)]


def _reversed(tables: Floats, turned: Bools) -> Floats:
    """Tables with the order of the states of some of their two variables reversed."""
    tables = np.where(turned[:, 0, None, None], tables[:, ::-1], tables)
    return np.where(turned[:, 1, None, None], tables[:, :, ::-1], tables)


def _arcs(first: Ints, seconds: Floats) -> tuple[Int32s, Floats]:
    """The pairs of nodes with costs, and the costs of being above in the first one only."""
    number, k, l = np.nonzero(seconds)
    pairs = np.stack([first[number, 0] + k, first[number, 1] + l], axis=1)
    return pairs.astype(np.int32), -seconds[number, k, l]


def _energy(labels: Floats, wiring: Wiring, first: Ints, arcs: Int32s, costs: Floats, constant: float) -> BinaryEnergy:
    """The energy of nodes: the states of a variable pay between its layers, and layers do not cross."""
    states, cards = wiring.plugs.states, wiring.plugs.cards
    least = np.minimum.reduceat(labels, states[:-1]) if len(labels) else labels
    least = np.where(np.isfinite(least) | (cards == 1), least, 0.0)
    labels = labels - np.repeat(np.where(np.isfinite(least), least, 0.0), cards)
    unary, many = np.zeros((2, int(first[-1]))), np.flatnonzero(cards > 1)
    unary[0, first[many]] += labels[states[many]]
    unary[1, first[many + 1] - 1] += labels[states[many + 1] - 1]
    inner = np.ones(len(labels), bool)
    inner[states[:-1]] = inner[states[1:] - 1] = False
    owner = np.repeat(np.arange(len(cards)), cards)[inner]
    upper = first[owner] + np.flatnonzero(inner) - states[owner]
    chain = np.stack([upper - 1, upper], axis=1).astype(np.int32)
    paid = np.zeros((4, len(chain) + len(arcs)))
    paid[1, : len(chain)] = np.inf
    paid[2] = np.concatenate([labels[inner], costs])
    return BinaryEnergy(
        constant + float(least.sum()), unary, np.concatenate([chain, arcs]), paid, np.zeros(int(first[-1]), bool)
    )
