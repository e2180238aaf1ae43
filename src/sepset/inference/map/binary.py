r"""Energies of pairs of binary variables, as costs of single cells.

$$E(\mathbf x) = c + \sum_i \epsilon_i(x_i) + \sum_{ij} \sum_{u, v} c^{uv}_{ij} \, 1[x_i = u, x_j = v],
\qquad c^{uv}_{ij} \ge 0$$

Every table of two binary variables has this form with a cost on one cell, or on two opposite ones. It is submodular if
the cells (0, 0) and (1, 1) have none; then a minimum cut minimizes it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sepset.base.arraytypes import AnyInts, Bools, Floats, Int32s, Ints
from sepset.base.threads import abandonable
from sepset.errors import NotApplicable
from sepset.inference.map.reductions import choice_terms
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.wires import POTTS, QUADRATIC, TABLE

ROUNDING = 1e-12
"""The violation of submodularity, relative to the numbers of a table, that is taken for rounding."""

MOST_NODES = 2**31 - 2
"""The most nodes of a flow graph."""


@dataclass(frozen=True, eq=False)
class BinaryEnergy:
    """The energy $-\\log \\tilde P$ of a wired model of binary variables in pairs.

    Attributes:
        constant: a number to add.
        unary: `[2, n]`, the energies of the states of each variable; infinite where they are impossible. Auxiliary
            variables that larger factors need come last.
        pairs: the variables of each factor.
        costs: `[4, m]`, of the cells (0, 0), (0, 1), (1, 0) and (1, 1).
        flipped: the variables whose states are exchanged.

    Guarantee: exact.
    Tested by: inference/map/test_binary.py::test_energies_are_those_of_the_model
    """

    constant: float
    unary: Floats
    pairs: Int32s
    costs: Floats
    flipped: Bools

    @classmethod
    def of(cls, wiring: Wiring, method: object, *, to_cut: int = 0) -> BinaryEnergy:
        """The energy of a wired model; raises if a variable has more than two states, or a factor does not reduce.

        Args:
            to_cut: for a cut with so many pairs of auxiliary variables at most: what no exchange of states makes
                submodular is refused early. Zero for other ends.
        """
        _require_binary(wiring, method)
        plugs, pairs = wiring.pair_plugs, wiring.pairs
        unary, constant = _unary(wiring), -wiring.constant
        costs = np.zeros((4, len(pairs)))
        named = (plugs.kinds >= POTTS) & (plugs.kinds <= QUADRATIC)
        weights = np.where(plugs.kinds == POTTS, plugs.weights, plugs.weights * np.minimum(plugs.limits, 1.0))
        both = True if (plugs.cards == 2).all() else (plugs.cards[pairs] == 2).all(axis=1)
        friendly = named & (weights >= 0.0) & both
        costs[1] = costs[2] = np.where(friendly, weights, 0.0)
        constant -= float(weights[friendly & (plugs.kinds == POTTS)].sum())
        rest = np.flatnonzero(~friendly)
        if len(rest):
            costs[:, rest], shifts, fixed = normal_form(_tables(wiring, wiring.pair_factors[rest]))
            constant += fixed
            for state in (0, 1):
                np.add.at(unary[state], pairs[rest], shifts[state])
        energy = cls(constant, unary, pairs, costs, np.zeros(unary.shape[1], bool))
        zeros = np.zeros(len(plugs.cards), np.int64)
        return energy.with_larger(wiring, zeros, np.minimum(1, plugs.cards - 1), method, to_cut=to_cut)

    def with_larger(self, wiring: Wiring, keep: Ints, take: Ints, method: object, *, to_cut: int = 0) -> BinaryEnergy:
        """The energy with that of larger factors, whose choices between two assignments it does not have yet."""
        if wiring.is_pairwise:
            return self
        terms = choice_terms(wiring, keep, take, method, to_cut=to_cut)
        pairs, numbers = terms.joined()
        unary = np.zeros((2, terms.num_variables))
        unary[:, : self.unary.shape[1]] = self.unary
        unary[1] += terms.singles()
        np.add.at(unary[1], pairs[:, 0], np.minimum(numbers, 0.0))
        costs = np.zeros((4, len(pairs)))
        costs[2], costs[3] = np.maximum(-numbers, 0.0), np.maximum(numbers, 0.0)
        return BinaryEnergy(
            self.constant + terms.constant,
            unary,
            np.concatenate([self.pairs, pairs]),
            np.concatenate([self.costs, costs], axis=1),
            np.zeros(terms.num_variables, bool),
        )

    @property
    def is_submodular(self) -> bool:
        """Whether only unequal states have costs."""
        return not (self.costs[0].any() or self.costs[3].any())

    def value(self, codes: Ints) -> float:
        """The energy of an assignment of the original states."""
        x = np.where(self.flipped, 1 - codes, codes)
        cells = 2 * x[self.pairs[:, 0]] + x[self.pairs[:, 1]]
        alone = self.unary[x, np.arange(len(x))].sum()
        return float(self.constant + alone + self.costs[cells, np.arange(len(cells))].sum())

    def flip(self, chosen: Bools) -> BinaryEnergy:
        """The same energy with the states of some variables exchanged."""
        unary = np.where(chosen, self.unary[::-1], self.unary)
        first, second = chosen[self.pairs[:, 0]], chosen[self.pairs[:, 1]]
        order = np.arange(4)[:, None] ^ (2 * first + second)
        costs = np.take_along_axis(self.costs, order, axis=0)
        return replace(self, unary=unary, costs=costs, flipped=self.flipped ^ chosen)

    def submodular(self) -> BinaryEnergy | None:
        """The energy with the states of some variables exchanged so that it is submodular; None if there are none.

        Factors that favor equal states join variables of one kind, the others those of two kinds; a factor that does
        both at once, with costs on three cells, does not occur.
        """
        if self.is_submodular:
            return self
        differs, active = (self.costs[0] > 0.0) | (self.costs[3] > 0.0), self.costs.any(axis=0)
        chosen = two_kinds(self.pairs[active], differs[active], self.unary.shape[1])
        return None if chosen is None else self.flip(chosen)


def two_kinds(pairs: AnyInts, differs: Bools, n: int) -> Bools | None:
    """One of two kinds for each of `n` variables, so that pairs that differ, and only those, join two kinds; or None.

    The first variable of each connected part is of the first kind.
    """
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    first, second = pairs.astype(np.int64).T
    across = n * differs
    rows, columns = np.concatenate([first, first + n]), np.concatenate([second + across, second + n - across])
    graph = sparse.coo_array((np.ones(len(rows), np.int8), (rows, columns)), shape=(2 * n, 2 * n))
    _, parts = abandonable(lambda: connected_components(graph, directed=False))
    return None if (parts[:n] == parts[n:]).any() else np.asarray(parts[:n] > parts[n:])


def _require_binary(wiring: Wiring, method: object) -> None:
    cards = wiring.plugs.cards
    if (cards > 2).any():
        i = int(np.argmax(cards > 2))
        raise NotApplicable(
            f"{type(method).__name__} takes binary variables; {wiring.name(i)!r} has {cards[i]} states. "
            "Use AlphaExpansion(), or TRWS()."
        )


def _unary(wiring: Wiring) -> Floats:
    """The energies of the two states of each variable; the second state of one that has only one is impossible."""
    states, cards = wiring.plugs.states[:-1], wiring.plugs.cards
    unary = np.full((2, len(cards)), np.inf)
    unary[0] = -wiring.unary[states]
    unary[1, cards == 2] = -wiring.unary[states[cards == 2] + 1]
    return unary


def _tables(wiring: Wiring, factors: Ints) -> Floats:
    """The energies of the four cells of some factors; cells of one-state variables are impossible."""
    plugs = wiring.plugs
    cards = plugs.cards[plugs.scope[plugs.starts[factors][:, None] + np.arange(2)]]
    plain = (plugs.kinds[factors] == TABLE) & (cards == 2).all(axis=1)
    cells = np.full((len(factors), 4), np.inf)
    cells[plain] = -plugs.tables[plugs.places[factors[plain]][:, None] + np.arange(4)]
    for row in np.flatnonzero(~plain).tolist():
        table = -wiring.table(int(factors[row]))
        padded = np.full((2, 2), np.inf)
        padded[: table.shape[0], : table.shape[1]] = table
        cells[row] = padded.reshape(-1)
    return cells


def normal_form(cells: Floats) -> tuple[Floats, Floats, float]:
    """Costs of cells `[4, m]`, energies of the states of both variables `[2, m, 2]`, and the sum of constants.

    Args:
        cells: tables of energies `[m, 4]`.
    """
    cells, alone = cells.copy(), np.zeros((2, len(cells), 2))
    for axis, (low, high) in enumerate((((0, 1), (2, 3)), ((0, 2), (1, 3)))):
        for state, (gone, other) in enumerate(((low, high), (high, low))):
            dead = np.isinf(cells[:, gone]).all(axis=1)
            alone[state, dead, axis] = np.inf
            for cell, copied in zip(gone, other, strict=True):
                cells[dead, cell] = cells[dead, copied]
    impossible = np.asarray(np.isinf(cells).all(axis=1)).reshape(-1, 1)
    infinite: Bools = np.isinf(cells) & ~impossible
    finite = _completed(np.where(impossible, 0.0, cells), infinite)
    excess, whole = finite[:, 0] + finite[:, 3] - finite[:, 1] - finite[:, 2], ~infinite.any(axis=1)
    costs = np.where(infinite, np.inf, 0.0)
    costs[whole, 1] = np.maximum(-excess[whole], 0.0)
    tolerance = ROUNDING * np.abs(finite).max(axis=1, initial=0.0)
    costs[whole, 3] = np.where(excess[whole] > tolerance[whole], excess[whole], 0.0)
    left = finite - np.where(np.isfinite(costs), costs, 0.0)
    alone[1, :, 0] += left[:, 2] - left[:, 0]
    alone[1, :, 1] += left[:, 1] - left[:, 0]
    return costs.T, alone, float(left[:, 0].sum())


def _completed(cells: Floats, infinite: Bools) -> Floats:
    """The tables with their infinite cells replaced so that they are sums of two functions of one variable."""
    e = np.where(infinite, 0.0, cells)
    for cell, (a, b, across) in enumerate(((1, 2, 3), (0, 3, 2), (0, 3, 1), (1, 2, 0))):
        alone = infinite[:, cell] & ~infinite[:, across]
        e[alone, cell] = e[alone, a] + e[alone, b] - e[alone, across]
    for one, two, a, b in ((0, 3, 1, 2), (1, 2, 0, 3)):
        both = infinite[:, one] & infinite[:, two]
        e[both, one], e[both, two] = e[both, a], e[both, b]
    return e
