r"""Clique trees as contractions: every message is a chain of binary sums of products, and so is every gradient.

A clique never becomes a table. Its message $\sum_{C - S} \prod_i \phi_i$ is contracted pairwise, small results first.
The reverse sweep follows each step $d = \sum a b$ with $\bar a = \sum \bar d\, b$ and $\bar b = \sum \bar d\, a$; then
$t \bar t / Z$ is the marginal over the scope of any tensor $t$, and no division by a message ever happens.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sepset.graphs.symbolic import SymbolicElimination

if TYPE_CHECKING:
    from sepset.kernels.steps import Ledger

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

Ranks = tuple[int, ...]
"""Variables by their place in the elimination order, ascending: also the axis order of every tensor."""

ONE = 0
"""The tensor that is the number one."""


@dataclass(frozen=True, eq=False)
class Groups:
    """The cliques of a tree in collect order: which one eliminates each variable, and what each passes on.

    Attributes:
        group: for each rank the clique that eliminates it; -1 for kept variables.
        start, members: for each clique the ranks of its message, as compressed rows.
    """

    group: Ints
    start: Ints = field(repr=False)
    members: Ints = field(repr=False)

    @cached_property
    def sepsets(self) -> tuple[Ranks, ...]:
        """For each clique the ranks of its message."""
        return tuple(_rows(self.start, self.members))


def _rows(start: Ints, members: Ints) -> list[Ranks]:
    flat = members.tolist()
    return [tuple(flat[i:j]) for i, j in itertools.pairwise(start.tolist())]


def tree_groups(elimination: SymbolicElimination, kept: int = 0) -> Groups:
    """The maximal cliques of an order, children before parents.

    Args:
        kept: how many variables at the end of the order stay.
    """
    from sepset.kernels.planning import maximal_cliques

    num = len(elimination.order) - kept
    return Groups(*maximal_cliques(elimination.start, elimination.scopes, elimination.absorbed, num))


@dataclass(frozen=True, eq=False)
class Contraction:
    """Tensors and the binary steps between them; `differentiate` adds to it once, then it is read.

    Attributes:
        ledger: scopes, sizes and steps as integers.
        num_inputs: how many tensors are given.
        roots: tensors whose product is the answer of the forward sweep.
        boxes: for each clique the tensors it multiplies, as compressed rows.
        num_forward: how many steps the forward sweep has.
    """

    ledger: Ledger = field(repr=False)
    num_inputs: int
    roots: tuple[int, ...]
    boxes: tuple[Ints, Ints] = field(repr=False)
    num_forward: int

    @property
    def num_tensors(self) -> int:
        """How many tensors there are."""
        return int(self.ledger.made[0])

    @cached_property
    def cards(self) -> tuple[int, ...]:
        """The number of states by rank."""
        return tuple(self.ledger.cards.astype(np.int64).tolist())

    @cached_property
    def scopes(self) -> list[Ranks]:
        """The scope of each tensor; the first is the number one, then come the inputs."""
        return _rows(self.ledger.start[: self.num_tensors + 1], self.ledger.pool)

    @cached_property
    def steps(self) -> list[tuple[int, int, int]]:
        """(result, first, second); a second of `ONE` only sums."""
        return [(d, a, b) for d, a, b in self.ledger.steps[: self.ledger.made[1]].tolist()]

    @cached_property
    def inboxes(self) -> list[Ranks]:
        """For each clique the tensors it multiplies."""
        start, tensors = self.boxes
        return _rows(start[:-1], tensors)

    def size(self, scope: Iterable[int]) -> int:
        """The number of joint states of a scope."""
        return math.prod(self.cards[r] for r in scope)

    @property
    def sizes(self) -> Floats:
        """The entries of each tensor."""
        return self.ledger.sizes[: self.num_tensors]

    @property
    def work(self) -> int:
        """Multiplications of all steps."""
        from sepset.kernels.steps import total_work

        return int(total_work(self.ledger))

    @property
    def entries(self) -> int:
        """Numbers that all tensors hold together."""
        return int(self.sizes.sum())


def contract(start: Ints, members: Ints, cards: Floats, groups: Groups, kept: Sequence[int] = ()) -> Contraction:
    """The forward sweep: cliques in collect order, each contracted to its sepset; what is left covers `kept`.

    Args:
        start, members: the scopes of the inputs, as compressed rows of ranks.
        cards: the number of states by rank.
        groups: the cliques.

    Reference: Koller & Friedman, algorithm 10.1; the pairwise order is greedy on the growth of results.
    """
    from sepset.kernels import steps

    ledger = _ledger(start, members, cards, groups, len(kept))
    num_inputs = len(start) - 1
    last = np.array(kept, dtype=np.int64)
    roots, *boxes = steps.contract(ledger, num_inputs, groups.group, groups.start, groups.members, last)
    return Contraction(ledger, num_inputs, tuple(roots.tolist()), (boxes[0], boxes[1]), int(ledger.made[1]))


def _ledger(start: Ints, members: Ints, cards: Floats, groups: Groups, num_kept: int) -> Ledger:
    """Room for all steps: two for each tensor that a clique takes, two adjoints for each of these, and the reads."""
    from sepset.kernels.steps import Ledger

    num_inputs, num = len(start) - 1, len(cards)
    owned = np.bincount(groups.group[groups.group >= 0], minlength=len(groups.start) - 1)
    widest = max(int((owned + np.diff(groups.start)).max(initial=0)), num_kept)
    room = 6 * (num_inputs + len(groups.start)) + num + num_inputs
    tensors = 1 + num_inputs + room
    bounds = np.zeros(tensors + 1, np.int64)
    bounds[1 : num_inputs + 2] = start
    pool = np.empty(len(members) + room * widest, np.int64)
    pool[: len(members)] = members
    weights = cards.copy()
    sizes = np.ones(tensors)
    filled = np.flatnonzero(np.diff(start))
    if len(filled):
        sizes[1 + filled] = np.multiply.reduceat(weights[members], start[filled])
    made = np.array([num_inputs + 1, 0, 0], dtype=np.int64)
    marks = np.zeros(num, np.int64), np.zeros(num, np.int64), np.empty(num + 1, np.int64)
    return Ledger(weights, bounds, pool, sizes, np.empty((room, 3), np.int64), made, *marks)


def differentiate(made: Contraction, targets: Ints, num_factors: int = 0) -> tuple[Ints, Ints]:
    r"""Append the reverse sweep, and after it the marginal of each target and over each of the first factors' scopes.

    The adjoint of a tensor is $\partial Z / \partial t$, without the variables it does not depend on. A target is read
    where it is cheapest, from the smallest tensor of the forward sweep that mentions it.
    """
    from sepset.kernels import steps

    factors = np.arange(1, num_factors + 1)
    homes = np.concatenate([steps.cheapest_homes(made.ledger)[targets], factors])
    adjoints = steps.differentiate(made.ledger, homes, np.array(made.roots, dtype=np.int64))
    wholes = np.concatenate([targets, np.full(num_factors, -1, np.int64)])
    found = steps.add_products(made.ledger, homes, adjoints[homes], wholes)
    return found[: len(targets)], found[len(targets) :]
