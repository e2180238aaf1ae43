r"""Trees under search, one per column: the gains of all splits, merges and replacements, and the changes themselves.

The parents of a column are the columns that its tree tests, and those that constraints require. A change affects the
gains of one tree; of the others only which of their splits would close a cycle.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Bytes, Floats, Ints
from sepset.base.threads import NEVER, interruptible
from sepset.cpds.contexts import Node
from sepset.errors import NotApplicable
from sepset.kernels.structure.climbing import ancestors, has_other_path
from sepset.kernels.structure.localtrees import score_splits
from sepset.learning.structure import costs
from sepset.learning.structure.constraints import Allowed
from sepset.learning.structure.familyscores import TOLERANCE, Scorer, small_logs
from sepset.learning.structure.local.leaves import counted_rows
from sepset.learning.structure.local.trees import ScoredTree, Tree, columns_of, grown_tree
from sepset.learning.structure.local.treescore import TreeScore


@dataclass(slots=True)
class Place:
    """A node of a tree under search.

    Attributes:
        rows: those that reach it.
        share: of the joint states that reach it.
        possible: the states that the tests above leave, of the columns that they test.
        leaf: its score as a leaf.
        column: the one tested; -1 at a leaf.
        route: the branch of each state of it.
        branches: the nodes below.
        splits: the scores of all splits, by column and kind; None until they are computed.
    """

    rows: Ints
    share: float
    possible: dict[int, Bools]
    leaf: float
    column: int = -1
    route: tuple[int, ...] = ()
    branches: list[Place] = field(default_factory=list)
    splits: Floats | None = None

    @property
    def score(self) -> float:
        """The score of the leaves below."""
        return self.leaf if self.column < 0 else math.fsum(branch.score for branch in self.branches)

    def nodes(self) -> Iterator[Place]:
        """All nodes of the subtree, each before those below it."""
        yield self
        for branch in self.branches:
            yield from branch.nodes()

    def tested(self) -> set[int]:
        """The columns that the subtree tests."""
        return {node.column for node in self.nodes() if node.column >= 0}

    def tree(self, leaves: Iterator[int]) -> Tree:
        """The subtree as a value."""
        if self.column < 0:
            return next(leaves)
        return Node(self.column, self.route, tuple(branch.tree(leaves) for branch in self.branches))


class Change(NamedTuple):
    """A change of one or two trees.

    Attributes:
        gain: of the score.
        kind: "split", "merge", "replace" or "reverse".
        child: the column whose tree changes.
        column: the one it is split by, or the source of the edge that is reversed; -1 for others.
    """

    gain: float
    kind: str
    child: int
    column: int = -1


class SearchedTrees:
    """One tree per column, with the gains of all changes; it changes in place.

    Args:
        scorer: of families with the structure prior, whose score is a `TreeScore`.
        allowed: the constraints.
        trees: of each column at the start.
    """

    def __init__(self, scorer: Scorer, allowed: Allowed, trees: Sequence[Tree]) -> None:
        assert isinstance(scorer.score, TreeScore)
        self.scorer, self.allowed, self.columns, self.settings = scorer, allowed, scorer.columns, scorer.score
        n = self.n = scorer.n
        self.leaves = [self.settings.leaf(child, self.columns) for child in range(n)]
        if any(leaf.prior is not None for leaf in self.leaves):
            raise NotApplicable(f"TreeSearch takes BIC, AIC, BDeu or K2 at leaves; found {self.settings.score!r}.")
        self.codes = self.columns.codes.astype(np.int32)
        self.cards = self.columns.cards.copy()
        self.weights = self.columns.weights.astype(np.float64)
        self.edges = np.zeros((n, n), np.bool_)
        self.above = np.zeros((n, (n + 63) // 64), np.uint64)
        self.gains, self.merges = np.full((n, n), -np.inf), np.full(n, -np.inf)
        self.num_scores = 0
        self._regrown: dict[tuple[int, bytes], ScoredTree] = {}
        self.roots = [self._built(child, tree) for child, tree in enumerate(trees)]
        for child in range(n):
            self._refresh(child)

    @property
    def score(self) -> float:
        """The score of all trees, with the structure prior."""
        return math.fsum(root.score + self._prior(child, root.tested()) for child, root in enumerate(self.roots))

    def trees(self) -> tuple[Tree, ...]:
        """The trees as values."""
        return tuple(root.tree(itertools.count()) for root in self.roots)

    def parents_of(self) -> list[list[int]]:
        """The parents of each column."""
        return [np.flatnonzero(self.edges[:, child]).tolist() for child in range(self.n)]

    def best(self) -> Change | None:
        """The split, merge or reversal that gains most; only where none improves a replacement; or None."""
        best = _first_best([self._best_split(), self._best_merge(), *self._reversals()])
        if best.gain <= TOLERANCE:
            best = _first_best(self._replacements())
        return best if best.gain > TOLERANCE else None

    def make(self, change: Change) -> None:
        """Change the trees."""
        child, column = change.child, change.column
        if change.kind == "split":
            self._split(child, column)
        elif change.kind == "merge":
            node = max(self._inner(child), key=lambda inner: self._merge_gain(child, inner))
            node.column, node.branches, node.route = -1, [], ()
        elif change.kind == "replace":
            self.roots[child] = self._built(child, self._grown(child, self._legal(child)).tree)
        else:
            one, two = self._reversed(column, child)
            self.roots[child], self.roots[column] = self._built(child, one.tree), self._built(column, two.tree)
            self._refresh(column)
        self._refresh(child)

    def _prior(self, child: int, tested: set[int]) -> float:
        return self.scorer.log_prior(child, tuple(sorted(tested | self._required(child))))

    def _required(self, child: int) -> set[int]:
        return set(np.flatnonzero(self.allowed.required[:, child]).tolist())

    def _place(self, child: int, rows: Ints, share: float, possible: dict[int, Bools]) -> Place:
        leaf = self.leaves[child]
        counts = np.bincount(self.codes[child][rows], self.weights[rows], leaf.r).astype(np.float64)
        return Place(rows, share, possible, float(leaf.values(counts, share)))

    def _built(self, child: int, tree: Tree) -> Place:
        root = self._place(child, counted_rows(child, self.columns), 1.0, {})
        self._extend(child, root, tree)
        return root

    def _extend(self, child: int, place: Place, tree: Tree) -> None:
        if isinstance(tree, Node):
            self._test(child, place, tree.axis, tree.route)
            for branch, below in zip(place.branches, tree.branches, strict=True):
                self._extend(child, branch, below)

    def _test(self, child: int, place: Place, column: int, route: tuple[int, ...]) -> None:
        """Turn a leaf into a test of a column."""
        before = place.possible.get(column, np.ones(len(route), np.bool_))
        branch = np.array(route)[self.codes[column][place.rows]]
        place.column, place.route, place.splits = column, route, None
        for number in range(max(route) + 1):
            states = before & (np.array(route) == number)
            share = place.share * states.sum() / before.sum()
            below = self._place(child, place.rows[branch == number], share, {**place.possible, column: states})
            place.branches.append(below)

    def _refresh(self, child: int) -> None:
        """Compute the gains of a tree that has changed."""
        root, tested = self.roots[child], self.roots[child].tested()
        self.edges[:, child] = self.allowed.required[:, child]
        self.edges[list(tested), child] = True
        ancestors(self.edges, self.above)
        best = np.full(self.n, -np.inf)
        for leaf in root.nodes():
            if leaf.column < 0:
                best = np.maximum(best, self._splits(child, leaf).max(1) - leaf.leaf)
        now, parents = self._prior(child, tested), tested | self._required(child)
        if self.scorer.log_odds is not None:
            best += [
                0.0 if x in parents or x == child else self._prior(child, tested | {x}) - now for x in range(self.n)
            ]
        self.gains[child] = best
        self.merges[child] = max((self._merge_gain(child, node) for node in self._inner(child)), default=-np.inf)

    def _inner(self, child: int) -> list[Place]:
        return [node for node in self.roots[child].nodes() if node.column >= 0]

    def _merge_gain(self, child: int, node: Place) -> float:
        gain = node.leaf - node.score
        if self.scorer.log_odds is None:
            return gain
        left = {n.column for n in self.roots[child].nodes() if n.column >= 0 and not _is_below(n, node)}
        return gain + self._prior(child, left) - self._prior(child, self.roots[child].tested())

    def _splits(self, child: int, leaf: Place) -> Floats:
        """The scores of all splits of a leaf."""
        if leaf.splits is not None:
            return leaf.splits
        cards, own = self.cards, self.leaves[child]
        possible = np.arange(int(cards.max()))[None, :] < cards[:, None]
        possible[self.allowed.forbidden[:, child]] = False
        for column, states in leaf.possible.items():
            possible[column, : len(states)] = states
        out = np.full((self.n, 1 + int(cards.max())), -np.inf)
        by_value = self.settings.splits == "value"

        def run(cancel: Bytes) -> None:
            score_splits(
                self.codes, self.codes[child], self.weights, leaf.rows, cards, possible, leaf.share, own.r, own.kind,
                own.terms, by_value, small_logs(), cancel, out,
            )  # fmt: skip

        interruptible(run) if len(leaf.rows) * self.n > costs.ROWS_UNINTERRUPTED else run(NEVER)
        self.num_scores += self.n
        leaf.splits = out
        return out

    def _is_above(self) -> Bools:
        """From row to column, whether there is a directed path."""
        bits = np.unpackbits(self.above.view(np.uint8), axis=1, bitorder="little")[:, : self.n]
        return bits.T.astype(np.bool_)

    def _best_split(self) -> Change:
        """The split with the largest gain that keeps the graph acyclic; ties go to the first in column order."""
        open_ = (self.edges.sum(0) < self.allowed.max_parents)[:, None]
        legal = self.edges.T | (open_ & ~self._is_above())
        gains = np.where(legal, self.gains, -np.inf)
        best = float(gains.max(initial=-np.inf))
        if best == -np.inf:
            return Change(-math.inf, "split", 0)
        child, column = divmod(int(np.argmax(gains.reshape(-1) >= best - TOLERANCE)), self.n)
        return Change(float(gains[child, column]), "split", child, column)

    def _best_merge(self) -> Change:
        child = int(self.merges.argmax()) if self.n else 0
        return Change(float(self.merges[child]), "merge", child)

    def _split(self, child: int, column: int) -> None:
        """Split the leaf that gains most by a column."""
        leaves = [node for node in self.roots[child].nodes() if node.column < 0]
        leaf = max(leaves, key=lambda one: self._splits(child, one)[column].max() - one.leaf)
        scores = self._splits(child, leaf)[column]
        kind, card = int(np.argmax(scores >= scores.max() - TOLERANCE)), int(self.columns.cards[column])
        possible = leaf.possible.get(column, np.ones(card, np.bool_))
        numbers = np.cumsum(possible) - 1 if kind == 0 else (np.arange(card) != kind - 1).astype(np.int64)
        route = tuple(np.where(possible, numbers, -1).tolist())
        self._test(child, leaf, column, route)

    def _legal(self, child: int) -> Bools:
        """The columns that a tree may test without closing a cycle."""
        found: Bools = ~self.allowed.forbidden[:, child] & ~self._is_above()[child]
        return found

    def _grown(self, child: int, candidates: Bools) -> ScoredTree:
        """The tree grown over some candidates, once."""
        key = (child, candidates.tobytes())
        if key not in self._regrown:
            self.num_scores += 1
            self._regrown[key] = grown_tree(
                child, np.flatnonzero(candidates).tolist(), self.columns, self.leaves[child],
                by_value=self.settings.splits == "value", required=sorted(self._required(child)),
                most=self.allowed.max_parents,
            )  # fmt: skip
        return self._regrown[key]

    def _replacements(self) -> Iterator[Change]:
        """Other trees of single columns, grown over all that they may test."""
        for child, root in enumerate(self.roots):
            grown = self._grown(child, self._legal(child))
            now = root.score + self._prior(child, root.tested())
            yield Change(grown.score + self._prior(child, columns_of(grown.tree)) - now, "replace", child)

    def _reversals(self) -> Iterator[Change]:
        """Other trees of both ends of an edge, after it is reversed."""
        for source, target in np.argwhere(self.edges & ~self.allowed.required).tolist():
            if self.allowed.forbidden[target, source] or has_other_path(self.edges, self.above, source, target):
                continue
            if self.edges[:, source].sum() < self.allowed.max_parents:
                yield Change(self._reversal_gain(source, target), "reverse", target, source)

    def _reversed(self, source: int, target: int) -> tuple[ScoredTree, ScoredTree]:
        """The trees of both ends of an edge, grown over their parents after it is reversed."""
        without, with_ = self.edges[:, target].copy(), self.edges[:, source].copy()
        without[source], with_[target] = False, True
        return self._grown(target, without), self._grown(source, with_)

    def _reversal_gain(self, source: int, target: int) -> float:
        after = zip((target, source), self._reversed(source, target), strict=True)
        new = sum(found.score + self._prior(child, columns_of(found.tree)) for child, found in after)
        old = sum(self.roots[c].score + self._prior(c, self.roots[c].tested()) for c in (target, source))
        return new - old


def _first_best(changes: Iterable[Change]) -> Change:
    """The first change that no later one exceeds by more than rounding."""
    best = Change(-math.inf, "split", 0)
    for change in changes:
        best = change if change.gain > best.gain + TOLERANCE else best
    return best


def _is_below(node: Place, top: Place) -> bool:
    return any(node is other for other in top.nodes())
