r"""Trees and forests of largest score: Chow and Liu's, and branchings where the direction of an edge matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.numerics.matrices import full, parts
from sepset.base.text import listing, nearest
from sepset.errors import NotApplicable, ScopeError
from sepset.graphs.graph import DAG
from sepset.inference.result import Status
from sepset.learning.structure.ending import ended
from sepset.learning.structure.exact.spanning import maximum_branching, spanning_tree
from sepset.learning.structure.learned import Learned, StructureTask, dag_of, proved, unproved
from sepset.learning.structure.uninformative import check_collinear


@dataclass(frozen=True, slots=True)
class ChowLiu:
    r"""The forest of largest score, for scores that are equal in both directions of an edge.

    $$w_{ij} = F(X_i \mid X_j) - F(X_i)$$

    A maximum spanning forest of the edges with $w > 0$, directed away from the first column of each component. With
    `LogLikelihood()` the weights are $M \cdot I(X_i; X_j)$, and the result is Chow and Liu's tree. Where constraints
    make directions matter, it is a maximum branching.

    Args:
        root: the column from which its component is directed; the first one by default.

    Cost: one score for each pair of columns, then $O(n^2)$ per column.
    Reference: Koller & Friedman, section 18.4.1; Chow & Liu (1968).
    Guarantee: the best forest.
    Tested by: learning/structure/exact/test_trees.py::test_forests_against_enumeration

    >>> from sepset.learning.structure.columns import Columns
    >>> from sepset.learning.structure.scores.likelihood import BIC
    >>> rows = {"a": [0, 0, 1, 1] * 9, "b": [0, 0, 1, 1] * 9, "c": [0, 1, 0, 1] * 9}
    >>> ChowLiu(root="b").learn(StructureTask(Columns.of(rows), BIC())).graph
    DAG(b -> a; c)
    """

    ignores_start: ClassVar[bool] = True
    keeps_checkpoint: ClassVar[bool] = False

    root: str | None = None

    takes_collinear = True
    """It does: families have two columns."""

    def learn(self, task: StructureTask) -> Learned[DAG]:
        """The best forest."""
        check_collinear(task.columns, is_pairwise=True)
        task.require_equivalent("ChowLiu()")
        if not task.allowed.is_free and task.allowed.max_parents > 0:
            return _learned(self, task, *_branching(task))
        names = task.columns.names
        if self.root is not None and self.root not in names:
            raise ScopeError(f"ChowLiu(root=) names {self.root!r}, which is not a column.{nearest(self.root, names)}")
        start = 0 if self.root is None else names.index(self.root)
        weights, status = gains(task)
        order = np.array([start, *(i for i in range(len(names)) if i != start)])
        _reorder(weights, order)
        parents = np.full(len(order), -1)
        if task.allowed.max_parents:
            found = np.array(spanning_tree(weights, [True] * len(order), above=0.0))
            parents[order] = np.where(found >= 0, order[found], -1)
        return _learned(self, task, parents.tolist(), status)


@dataclass(frozen=True, slots=True)
class Branching:
    r"""The directed forest of largest score, for any score: every column has at most one parent.

    Edmonds' maximum-weight branching of $w_{ij} = F(X_j \mid X_i) - F(X_j)$, edges with $w > 0$ only.

    Reference: Koller & Friedman, section 18.4.1; Edmonds (1967).
    Guarantee: the best forest.
    Tested by: learning/structure/exact/test_trees.py::test_branchings_for_scores_that_are_not_equivalent

    >>> from sepset.cpds.priors.dirichlet import K2
    >>> from sepset.learning.structure.columns import Columns
    >>> Branching().learn(StructureTask(Columns.of({"a": [0, 0, 1, 1] * 9, "b": [0, 0, 1, 1] * 9}), K2())).graph
    DAG(a -> b)
    """

    ignores_start: ClassVar[bool] = True
    keeps_checkpoint: ClassVar[bool] = False

    takes_collinear = True
    """It does: families have two columns."""

    def learn(self, task: StructureTask) -> Learned[DAG]:
        """The best forest."""
        check_collinear(task.columns, is_pairwise=True)
        return _learned(self, task, *_branching(task))


def gains(task: StructureTask) -> tuple[Floats, Status]:
    """The gain of the edge from row to column over no parent, and how it ended: unknown gains are zero."""
    n, scorer = len(task.columns), task.scorer
    found = full((n, n), np.nan)

    def compute() -> None:
        for child in range(n):
            found[:, child] = scorer.additions(child, ()) - scorer.family(child, ())

    status = ended(task, compute)
    if scorer.is_equivalent:
        _average(found)
    np.fill_diagonal(found, 0.0)
    for part in parts(n, 0.0, n):
        found[part][np.isnan(found[part])] = 0.0
    return found, status


def _average(found: Floats) -> None:
    """Make a matrix symmetric: the mean of both directions, or the one that is known."""
    n = len(found)
    for part in parts(n, 0.0, n):
        there, back = found[part, part.start :], found[part.start :, part].T
        mean = 0.5 * (np.where(np.isnan(there), back, there) + np.where(np.isnan(back), there, back))
        found[part, part.start :], found[part.start :, part] = mean, mean.T


def _reorder(found: Floats, order: Ints) -> None:
    """Put the rows and columns of a matrix into an order that moves one of them to the front."""
    first = int(order[0])
    if first == 0:
        return
    for part in parts(len(found), 0.0, len(found)):
        found[part] = found[part][:, order]
    front = found[first].copy()
    for last in range(first, 0, -1):
        found[last] = found[last - 1]
    found[0] = front


def _branching(task: StructureTask) -> tuple[list[int], Status]:
    allowed = task.allowed
    crowded = np.flatnonzero(allowed.required.sum(0) > 1)
    if len(crowded):
        child = task.columns.names[crowded[0]]
        sources = [task.columns.names[p] for p in np.flatnonzero(allowed.required[:, crowded[0]])]
        raise NotApplicable(f"A tree has one parent of each column; {listing(sources)} are required of {child!r}.")
    weights, status = full((len(task.columns), len(task.columns)), -np.inf), Status.COMPLETED
    if allowed.max_parents:
        found, status = gains(task)
        weights = np.where(allowed.forbidden, -np.inf, found)
    for source, target in np.argwhere(allowed.required):
        weights[:, target] = -np.inf
        weights[source, target] = np.inf
    return maximum_branching(weights), status


def _learned(method: object, task: StructureTask, parents: list[int], status: Status) -> Learned[DAG]:
    sets = [[p] if p >= 0 else [] for p in parents]
    found = proved(task, method, dag_of(task.columns, sets), score=task.scorer.total(sets), over="forests")
    return found if status is Status.COMPLETED else unproved(found, status)
