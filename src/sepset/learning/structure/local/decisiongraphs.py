r"""Families whose CPD is a decision graph: a tree whose leaves may be merged, also from far branches.

Merging and splitting leaves reaches every partition of the parents' joint states; one multinomial per part.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.cpds.contexts import Node
from sepset.cpds.partition import PartitionCPD
from sepset.errors import TooLarge
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import TOLERANCE, FamilyScore
from sepset.learning.structure.local.leaves import LeafScore
from sepset.learning.structure.local.localscore import LocalScore, check_local
from sepset.learning.structure.local.trees import Tree, grown_tree
from sepset.learning.structure.scores.likelihood import BIC
from sepset.variables.variable import Discrete

MOST_CONTEXTS = 1 << 16
"""The largest number of joint states of the parents of a decision graph."""

FEW_CONTEXTS = 64
"""Joint states up to which the search also starts from the table, each a leaf of its own."""


class Parts(NamedTuple):
    """A partition of the parents' joint states.

    Attributes:
        of: the part of each joint state, flat; numbered as they first appear.
        score: of the leaves, with the prior.
    """

    of: Ints
    score: float


class Sums(NamedTuple):
    """The counts, shares, imaginary counts and scores of leaves; leaves that are merged change in place."""

    counts: Floats
    shares: Floats
    imaginary: Floats | None
    scores: Floats

    def merge(self, one: int, two: int, gain: float) -> None:
        """Add one leaf to another."""
        for numbers in (self.counts, self.shares, self.imaginary, self.scores):
            if numbers is not None:
                numbers[one] += numbers[two]
        self.scores[one] += gain


class Contexts:
    """The joint states of a family's parents, with the score of any set of them as one leaf.

    Args:
        child: the column.
        parents: its parents.
        columns: the data.
        leaf: the score of leaves.
    """

    def __init__(self, child: int, parents: tuple[int, ...], columns: Columns, leaf: LeafScore) -> None:
        self.cards = tuple(int(columns.cards[p]) for p in parents)
        self.size, self.leaf = math.prod(self.cards), leaf
        if self.size > MOST_CONTEXTS:
            raise TooLarge(
                f"A decision graph over {len(parents)} parents has {self.size:,} joint states; the most is "
                f"{MOST_CONTEXTS:,}. Use Constraints(max_parents=...), or TreeScore."
            )
        self.counts = columns.family_table(child, parents).reshape(self.size, leaf.r)
        given = leaf.imaginary(child, parents, columns)
        self.imaginary = None if given is None else given.reshape(self.size, leaf.r)
        self.codes = np.indices(self.cards).reshape(len(parents), self.size)

    def sums(self, labels: Ints, size: int) -> Sums:
        """The counts, shares, imaginary counts and scores of parts, given the part of each joint state."""
        counts, shares = np.zeros((size, self.leaf.r)), np.bincount(labels, minlength=size) / self.size
        np.add.at(counts, labels, self.counts)
        imaginary = None
        if self.imaginary is not None:
            imaginary = np.zeros_like(counts)
            np.add.at(imaginary, labels, self.imaginary)
        return Sums(counts, shares, imaginary, self.leaf.values(counts, shares, imaginary))

    def improved(self, labels: Ints) -> Parts:
        """A partition from which no merge of two leaves and no split of one by a parent improves."""
        while True:
            labels = self._merged(labels)
            own = self.sums(labels, int(labels.max()) + 1).scores
            gain, split = self._best_split(labels, own)
            if gain <= TOLERANCE:
                return Parts(labels, float(own.sum()))
            labels = _renumbered(split)

    def _merged(self, labels: Ints) -> Ints:
        """The partition after the best merges of two leaves, one after the other, while they improve."""
        size = int(labels.max()) + 1
        sums, left = self.sums(labels, size), labels.copy()
        gains = np.full((size, size), -np.inf)
        for leaf in range(size - 1):
            gains[leaf, leaf + 1 :] = self._merge_gains(sums, leaf, np.arange(leaf + 1, size))
        alive = np.ones(size, np.bool_)
        while size > 1 and (best := gains.max()) > TOLERANCE:
            one, two = divmod(int(np.argmax(gains.reshape(-1) >= best - TOLERANCE)), size)
            alive[two], left[left == two] = False, one
            sums.merge(one, two, float(gains[one, two]))
            gains[two], gains[:, two] = -np.inf, -np.inf
            others = np.flatnonzero(alive & (np.arange(size) != one))
            fresh = self._merge_gains(sums, one, others)
            gains[np.minimum(one, others), np.maximum(one, others)] = fresh
        return _renumbered(left)

    def _merge_gains(self, sums: Sums, leaf: int, others: Ints) -> Floats:
        """The gains of merging one leaf with each of others."""
        both = None if sums.imaginary is None else sums.imaginary[others] + sums.imaginary[leaf]
        merged = self.leaf.values(
            sums.counts[others] + sums.counts[leaf], sums.shares[others] + sums.shares[leaf], both
        )
        return np.asarray(merged - sums.scores[others] - sums.scores[leaf])

    def _best_split(self, labels: Ints, own: Floats) -> tuple[float, Ints]:
        """The gain of the best split of one leaf by the states of a parent, and the parts after it."""
        best, found, size = -math.inf, labels, len(own)
        for axis, card in enumerate(self.cards):
            cells, place = np.unique(labels * card + self.codes[axis], return_inverse=True)
            owner = cells // card
            gains = np.bincount(owner, self.sums(place, len(cells)).scores, size) - own
            gains[np.bincount(owner, minlength=size) < 2] = -math.inf
            leaf = int(gains.argmax())
            if gains[leaf] > best + TOLERANCE:
                best, found = float(gains[leaf]), np.where(labels == leaf, size + self.codes[axis], labels)
        return best, found


def _renumbered(labels: Ints) -> Ints:
    """The parts numbered as they first appear."""
    _, first, place = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(len(first))
    return np.asarray(rank[place])


def decision_graph(child: int, parents: tuple[int, ...], columns: Columns, leaf: LeafScore) -> Parts:
    """The better of the partitions that merges and splits reach from the grown tree, and from the table if small."""
    contexts = Contexts(child, parents, columns, leaf)
    tree = grown_tree(child, parents, columns, leaf).tree
    found = contexts.improved(_leaf_of_each(tree, parents, contexts))
    if contexts.size <= FEW_CONTEXTS:
        other = contexts.improved(np.arange(contexts.size))
        found = other if other.score > found.score + TOLERANCE else found
    return found


def _leaf_of_each(tree: Tree, parents: tuple[int, ...], contexts: Contexts) -> Ints:
    """The leaf that each joint state reaches."""
    out = np.zeros(contexts.size, np.int64)

    def visit(node: Tree, inside: Ints) -> None:
        if not isinstance(node, Node):
            out[inside] = node
            return
        branch = np.array(node.route)[contexts.codes[parents.index(node.axis)][inside]]
        for place, below in enumerate(node.branches):
            visit(below, inside[branch == place])

    visit(tree, np.arange(contexts.size))
    return out


@dataclass(frozen=True, slots=True)
class DecisionGraphScore(LocalScore):
    r"""The score of a family at a decision graph over its parents, for any search over structures.

    $$\text{FamScore}(X \mid \mathbf U) = \max_{\mathcal P} \sum_{\ell \in \mathcal P} \text{leaf}(\ell)
    + |\mathcal P| \log c$$

    over partitions $\mathcal P$ of the parents' joint states. Leaves are those of `TreeScore`, and two may be merged
    wherever they are: their counts and their pseudo-counts add up. `Learned.fit` gives a network of `PartitionCPD`s.
    Searches add no parent beyond 65,536 joint states.

    Args:
        score: of leaves: `BIC()`, `AIC()`, `LogLikelihood()`, `BDeu(10)`, `K2()` or `BDe(network, 10)`.
        per_leaf: $c$ of a prior $P(\mathcal P) \propto c^{|\mathcal P|}$ on the number of leaves; 1 is uniform.

    Cost: the square of the number of leaves for each merge, and a pass over the joint states for each split.
    Reference: Chickering, Heckerman & Meek (1997).
    Guarantee: at least the score of the grown tree; no merge of two leaves and no split of one improves it.
    Tested by: learning/structure/local/test_decisiongraphs.py::test_partitions_by_enumeration

    >>> columns = Columns.of({"a": [0, 0, 1, 1] * 8, "b": [0, 1, 0, 1] * 8, "x": [0, 1, 1, 0] * 8})
    >>> DecisionGraphScore().cpd(2, (0, 1), columns).num_parameters  # a parity has two distributions
    2
    """

    score: FamilyScore = field(default_factory=BIC)
    _: KW_ONLY
    per_leaf: float = 1.0

    def __post_init__(self) -> None:
        check_local("DecisionGraphScore", self.score, self.per_leaf)

    def fits(self, child: int, parents: tuple[int, ...], columns: Columns) -> bool:
        """Whether the parents have few enough joint states."""
        return math.prod(int(columns.cards[p]) for p in parents) <= MOST_CONTEXTS

    def parts(self, child: int, parents: tuple[int, ...], columns: Columns) -> Parts:
        """The partition of the parents' joint states, and its score."""
        leaf = LeafScore.of(self.score, child, columns, self.per_leaf)
        return decision_graph(child, parents, columns, leaf)

    def family(self, child: int, parents: tuple[int, ...], columns: Columns) -> float:
        """The score of one family."""
        return self.parts(child, parents, columns).score

    def cpd(self, child: int, parents: tuple[int, ...], columns: Columns) -> PartitionCPD:
        """The CPD of a family: its parts, with uniform distributions."""
        own, *given = (columns.variables[columns.names[c]] for c in (child, *parents))
        assert isinstance(own, Discrete)
        parts = self.parts(child, parents, columns).of
        rows = np.full((int(parts.max()) + 1, own.num_states), 1.0 / own.num_states)
        return PartitionCPD(own, parts, distributions=rows, given=given)  # type: ignore[arg-type]
