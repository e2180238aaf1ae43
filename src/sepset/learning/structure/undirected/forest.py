r"""Undirected forests of largest score."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import fraction
from sepset.base.numerics.matrices import parts
from sepset.errors import NotApplicable
from sepset.graphs.graph import UndirectedGraph
from sepset.inference.result import Status
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.exact.spanning import spanning_tree
from sepset.learning.structure.exact.trees import gains
from sepset.learning.structure.learned import Learned, StructureTask, proved, unproved
from sepset.learning.structure.undirected.regularized import graph_of
from sepset.learning.structure.uninformative import check_collinear


@dataclass(frozen=True, slots=True)
class Forest:
    r"""The undirected forest of largest score, less a penalty for the number of forests.

    $$w_{ij} = F(X_i \mid X_j) - F(X_i) - 2 \gamma\, k_{ij} \log n$$

    A maximum spanning forest of the edges with $w > 0$, where $k_{ij}$ is the number of parameters of an edge: one for
    real columns, $(K_i - 1)(K_j - 1)$ for discrete ones. With `LogLikelihood()` and $\gamma = 0$ the weights are
    $M \cdot I(X_i; X_j)$; with `BIC()` and $\gamma > 0$ the forest has the smallest extended BIC.

    Args:
        gamma: $\gamma$, from 0 to 1.

    Cost: one score for each pair of columns, then $O(n^2)$ per column.
    Reference: Chow & Liu (1968); Edwards et al. (2010); Foygel & Drton (2010).
    Guarantee: the best forest.
    Tested by: learning/structure/undirected/test_forest.py::test_forests_against_enumeration

    >>> from sepset.learning.structure.columns import Columns
    >>> from sepset.learning.structure.scores.likelihood import BIC
    >>> rows = {"a": [0, 0, 1, 1] * 9, "b": [0, 0, 1, 1] * 9, "c": [0, 1, 0, 1] * 9}
    >>> Forest().learn(StructureTask(Columns.of(rows), BIC())).graph
    UndirectedGraph(a - b; c)
    """

    ignores_start: ClassVar[bool] = True
    keeps_checkpoint: ClassVar[bool] = False

    gamma: float = 0.0

    def __post_init__(self) -> None:
        fraction("Forest(gamma=)", self.gamma, ends=True)

    takes_collinear = True
    """It does: an edge has two columns."""

    def learn(self, task: StructureTask) -> Learned[UndirectedGraph]:
        """The best forest."""
        check_collinear(task.columns, is_pairwise=True)
        task.require_equivalent("Forest()")
        if not task.allowed.is_free:
            raise NotApplicable("Forest learns edges without a direction and takes no constraints. Use ChowLiu().")
        columns, n = task.columns, len(task.columns)
        found, status = gains(task)
        for part in parts(n, 0.0, n):
            found[part] -= self._charges(columns, np.arange(part.start, part.stop))
        parents = spanning_tree(found, [True] * n, above=0.0)
        support = np.zeros((n, n), np.bool_)
        charged = 0.0
        for child, parent in enumerate(parents):
            if parent >= 0:
                support[child, parent] = support[parent, child] = True
                charged += float(self._charges(columns, np.array([child]))[0, parent])
        score = task.scorer.total([[p] if p >= 0 else [] for p in parents]) - charged
        learned = proved(task, self, graph_of(columns, support), score=score, over="forests")
        return learned if status is Status.COMPLETED else unproved(learned, status)

    def _charges(self, columns: Columns, chosen: Ints) -> Floats:
        """The penalty of the edges of some columns with each column."""
        return np.asarray(2.0 * self.gamma * math.log(len(columns)) * _num_parameters(columns, chosen))


def _num_parameters(columns: Columns, chosen: Ints) -> Floats:
    """The number of parameters that each edge adds; of a real column given a discrete one, a mean and a variance."""
    own = np.where(columns.is_real, 1.0, columns.cards - 1.0)
    found = np.outer(own[chosen], own)
    mixed = columns.is_real[chosen, None] != columns.is_real
    return np.asarray(np.where(mixed, 2.0 * found, found))
