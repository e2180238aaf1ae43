r"""The posterior over trees, exactly: a product over edges is summed over all spanning trees by a determinant.

$$P(T \mid \mathcal D) \propto \prod_{uv \in T} \beta_{uv}, \qquad
  \sum_T \prod_{uv \in T} \beta_{uv} = \det \bar L(\beta), \qquad
  P(uv \in T) = \beta_{uv} (L^+_{uu} + L^+_{vv} - 2 L^+_{uv})$$
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.display import Plain, Worded
from sepset.errors import NotApplicable
from sepset.inference.result import Guarantee
from sepset.learning.structure.averaging.posterior import StructurePosteriorResult
from sepset.learning.structure.ending import all_or_nothing
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.uninformative import check_collinear


@dataclass(frozen=True, slots=True)
class TreePosterior(Worded, Plain):
    r"""The posterior over undirected spanning trees of the columns, exactly.

    $\log\beta_{uv} = F(u \mid v) - F(u)$, which needs a score that is equal in both directions. All trees are equally
    probable a priori; the structure prior multiplies the edges. `edges` has the probability that a pair is adjacent,
    half of it in each direction.

    Cost: one score per pair, and $O(n^3)$.
    Reference: Meila & Jaakkola (2006); Koller & Friedman, section 18.8.
    Guarantee: exact.
    Tested by: learning/structure/averaging/test_trees.py::test_against_all_trees
    """

    ignores_start: ClassVar[bool] = True
    keeps_checkpoint: ClassVar[bool] = False

    takes_collinear = True
    """It does: an edge has two columns."""

    @all_or_nothing
    def average(self, task: StructureTask) -> StructurePosteriorResult:
        """The posterior over trees."""
        check_collinear(task.columns, is_pairwise=True)
        task.require_equivalent("TreePosterior()")
        n, scorer = len(task.columns), task.scorer
        barred = task.allowed.forbidden
        if task.allowed.required.any() or (barred != barred.T).any() or task.allowed.max_parents < min(1, n - 1):
            raise NotApplicable(
                "TreePosterior() averages trees without directions, each with an edge between every two parts: of the "
                "constraints it takes forbidden edges, both directions of each. Use TianHe() for others."
            )
        alone = np.array([scorer.family(v, ()) for v in range(n)])
        logs = np.stack([scorer.additions(v, ()) - alone[v] for v in range(n)], axis=1)
        logs = 0.5 * (logs + logs.T)
        np.fill_diagonal(logs, -np.inf)
        logs[barred] = -np.inf
        log_total, pairs = tree_probabilities(logs)
        if log_total == -np.inf:
            raise NotApplicable("The constraints forbid edges without which the columns are in several parts: no tree.")
        return StructurePosteriorResult(
            task.columns,
            0.5 * pairs,
            parents=np.zeros((0, n, n), np.uint8),
            weights=np.zeros(0),
            log_evidence=float(alone.sum() + log_total),
            method=self,
            task=task,
            guarantees={"edges": Guarantee.EXACT},
        )


def tree_probabilities(log_weights: Floats) -> tuple[float, Floats]:
    """The log sum over spanning trees of the products of edge weights, and the probability of each edge.

    Columns are eliminated one after another, each star becoming a mesh, without subtraction.

    Args:
        log_weights: symmetric; -inf for no edge.

    >>> log_total, edges = tree_probabilities(np.zeros((3, 3)))
    >>> round(float(np.exp(log_total)), 6), edges.round(4)[0, 1]
    (3.0, np.float64(0.6667))
    """
    n = len(log_weights)
    if n < 2:
        return 0.0, np.zeros((n, n))
    logs = log_weights.copy()
    np.fill_diagonal(logs, -np.inf)
    total = 0.0
    steps = []
    for v in range(n - 1):  # star-mesh elimination, from the first column on: all terms are positive
        around = logs[v, v + 1 :]
        degree = float(np.logaddexp.reduce(around))
        total += degree
        steps.append((around.copy(), degree))
        if degree == -np.inf:
            return -np.inf, np.zeros((n, n))
        logs[v + 1 :, v + 1 :] = np.logaddexp(logs[v + 1 :, v + 1 :], around[:, None] + around[None, :] - degree)
        np.fill_diagonal(logs, -np.inf)
    return total, _edge_probabilities(log_weights, steps)


def _edge_probabilities(log_weights: Floats, steps: list[tuple[Floats, float]]) -> Floats:
    """Reverse mode of the elimination: the derivative of the log sum with respect to each log weight.

    The adjoint of the weight between u and w, after v was eliminated, flows to that between v and u, and v and w.
    """
    n = len(log_weights)
    logs = log_weights.copy()
    np.fill_diagonal(logs, -np.inf)
    tables = [logs.copy()]
    for v, (around, degree) in enumerate(steps):
        logs[v + 1 :, v + 1 :] = np.logaddexp(logs[v + 1 :, v + 1 :], around[:, None] + around[None, :] - degree)
        np.fill_diagonal(logs, -np.inf)
        tables.append(logs.copy())
    slope = np.zeros((n, n))  # with respect to log weights, each pair in both places
    for v in range(n - 2, -1, -1):
        around, degree = steps[v]
        before, after = tables[v][v + 1 :, v + 1 :], tables[v + 1][v + 1 :, v + 1 :]
        inner = slope[v + 1 :, v + 1 :].copy()
        with np.errstate(invalid="ignore"):
            kept = np.where(after > -np.inf, np.exp(before - after), 0.0)
            made = np.where(after > -np.inf, np.exp(around[:, None] + around[None, :] - degree - after), 0.0)
        np.fill_diagonal(made, 0.0)
        flow = inner * made
        shares = np.exp(around - degree)
        found = shares * (1.0 - 0.5 * flow.sum()) + flow.sum(1)
        slope[v + 1 :, v + 1 :] = inner * kept
        slope[v, v + 1 :] = slope[v + 1 :, v] = found
    return slope
