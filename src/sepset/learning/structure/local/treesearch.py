r"""Search over networks of tree CPDs: graph and local structure at once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sepset.cpds.contexts import Node
from sepset.cpds.tree import TreeCPD
from sepset.errors import NotApplicable
from sepset.graphs.graph import DAG
from sepset.inference.iterate import Info
from sepset.inference.result import Guarantee, Status
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import Scorer
from sepset.learning.structure.learned import Learned, StructureTask, dag_of, iterated
from sepset.learning.structure.local.searchedtrees import SearchedTrees
from sepset.learning.structure.local.trees import Tree, grown_tree, num_leaves, tree_cpd
from sepset.learning.structure.local.treescore import TreeScore


@dataclass(frozen=True, slots=True)
class FoundTrees:
    """The trees of all columns, as the CPDs of their families."""

    trees: tuple[Tree, ...]

    def cpd(self, child: int, parents: tuple[int, ...], columns: Columns) -> TreeCPD:
        """The CPD of a family, with uniform distributions at the leaves."""
        return tree_cpd(self.trees[child], child, parents, columns)


@dataclass(frozen=True, slots=True)
class TreeState:
    """The state of a search.

    Attributes:
        trees: of each column.
        score: of all.
        moves: how many changes of each kind were made.
        is_checked: whether no change improves.
        searched: the trees with their gains, which are rebuilt where they are absent.
    """

    trees: tuple[Tree, ...]
    score: float
    moves: Mapping[str, int] = field(default_factory=dict)
    is_checked: bool = False
    searched: SearchedTrees | None = field(default=None, repr=False, compare=False)


class TreeStateCodec:
    """States as plain values; the gains are computed again."""

    def pack(self, state: TreeState) -> Any:
        """The plain values."""
        trees = [_packed(tree) for tree in state.trees]
        return {"trees": trees, "score": state.score, "moves": dict(state.moves), "is_checked": state.is_checked}

    def unpack(self, packed: Any) -> TreeState:
        """The state from its plain values."""
        moves = {str(kind): int(count) for kind, count in packed["moves"].items()}
        trees = tuple(_unpacked(tree) for tree in packed["trees"])
        return TreeState(trees, float(packed["score"]), moves, bool(packed["is_checked"]))


def _packed(tree: Tree) -> Any:
    if not isinstance(tree, Node):
        return tree
    return {"axis": tree.axis, "route": list(tree.route), "branches": [_packed(branch) for branch in tree.branches]}


def _unpacked(packed: Any) -> Tree:
    if not isinstance(packed, Mapping):
        return int(packed)
    branches = tuple(_unpacked(branch) for branch in packed["branches"])
    return Node(int(packed["axis"]), tuple(map(int, packed["route"])), branches)


@dataclass(frozen=True, slots=True)
class TreeSearch:
    r"""Greedy search over networks of tree CPDs: every step changes one leaf of one tree, and the graph with it.

    $$\text{score} = \sum_i \sum_{\ell \in T_i} \text{leaf}_i(\ell) + \sum_i |T_i| \log c + \log P(\mathcal G)$$

    A leaf is split by a column, a subtree is merged into a leaf, or an edge is reversed and the trees of its two ends
    are grown again. The parents of a column are those that its tree tests, so a split may add an edge and a merge may
    remove some. Where no such change improves, the tree of one column is replaced by one that is grown by splits that
    need not improve (see `learn_tree`). The score is one of leaves: `BIC()`, `AIC()`, `BDeu(10)`, `K2()`, or a
    `TreeScore` with other settings. Required edges are there whether the tree tests them or not.

    Cost: after a step, one pass over the rows of the changed leaf for each column, and trees grown for the edges at the
        changed column; where nothing else improves, a tree grown for each column over all others.
    Reference: Koller & Friedman, section 18.6.1.2; Friedman & Goldszmidt (1996); Chickering, Heckerman & Meek (1997).
    Guarantee: a local optimum: no split, merge, reversal or replacement improves the result.
    Tested by: learning/structure/local/test_treesearch.py::test_no_change_improves

    >>> TreeSearch()
    TreeSearch()
    """

    def learn(self, task: StructureTask) -> Learned[DAG]:
        """The network of trees at the end of the search."""
        scorer_of(task)  # a score that does not fit is refused before anything else
        return iterated(self, task, TreeStateCodec()).result(self, task)

    def init(self, task: StructureTask, rng: np.random.Generator) -> TreeState:
        """Single leaves, or trees over the parents in the graph to begin with."""
        scorer, trees = scorer_of(task), []
        assert isinstance(scorer.score, TreeScore)
        for child, parents in enumerate(task.start_parents()):
            leaf = scorer.score.leaf(child, task.columns)
            is_given = task.start is not None and leaf.prior is None
            trees.append(grown_tree(child, parents, task.columns, leaf).tree if is_given else 0)
        searched = SearchedTrees(scorer, task.allowed, trees)
        return TreeState(searched.trees(), searched.score, searched=searched)

    def step(self, task: StructureTask, state: TreeState, rng: np.random.Generator) -> tuple[TreeState, Info]:
        """One change, or the end of the search."""
        searched = state.searched
        if searched is None or searched.trees() != state.trees:
            searched = SearchedTrees(scorer_of(task), task.allowed, state.trees)
        change = searched.best()
        if change is None:
            ended = TreeState(state.trees, state.score, state.moves, is_checked=True, searched=searched)
            return ended, Info(state.score, 0.0, is_done=True)
        searched.make(change)
        moves = dict(Counter(state.moves) + Counter([change.kind]))
        return TreeState(searched.trees(), searched.score, moves, searched=searched), Info(searched.score, math.inf)

    def read(self, task: StructureTask, state: TreeState) -> Learned[DAG]:
        """The network of trees so far."""
        searched = state.searched or SearchedTrees(scorer_of(task), task.allowed, state.trees)
        return Learned(
            dag_of(task.columns, searched.parents_of()),
            columns=task.columns,
            score=state.score,
            num_scores=searched.num_scores,
            method=self,
            status=Status.CONVERGED,
            guarantees={"structure": Guarantee.LOCAL_OPTIMUM if state.is_checked else Guarantee.HEURISTIC},
            shapes=FoundTrees(state.trees),
            info={
                "leaves": sum(map(num_leaves, state.trees)),
                **{f"{kind}_moves": n for kind, n in state.moves.items()},
            },
        )


def scorer_of(task: StructureTask) -> Scorer:
    """The scorer of families with trees; raises unless the score is one of leaves."""
    if task.score is None:
        raise NotApplicable("TreeSearch needs score=, such as BIC() or BDeu(10).")
    score = task.score if isinstance(task.score, TreeScore) else TreeScore(task.score)
    return Scorer(task.columns, score, task.structure_prior, threads=task.threads)
