"""Results of exact searches that Ctrl-C or the time ended: a greedy DAG, and a bound on the scores of all of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sepset.graphs.graph import DAG
from sepset.inference.result import Guarantee, Status
from sepset.learning.structure.constraints import Allowed
from sepset.learning.structure.exact.families import ceiling, greedy_family
from sepset.learning.structure.learned import Learned, StructureTask, dag_of


def cut_short(
    task: StructureTask, method: Any, status: Status, allowed: Allowed | None = None, bound: float = math.inf
) -> Learned[DAG]:
    """A greedy DAG along an order of the required edges, with a bound on the score of all that are allowed.

    Args:
        task: the problem.
        method: what was to solve it.
        status: why it did not.
        allowed: the constraints, where the method has some of its own.
        bound: one that is known already; the bounds of single families may be tighter.
    """
    known = task.allowed if allowed is None else allowed
    names, n = task.columns.names, len(task.columns)
    order = DAG(names, [(names[a], names[b]) for a, b in np.argwhere(known.required)]).topological_order
    rank = np.array([order.index(name) for name in names])
    along = known._replace(forbidden=known.forbidden | (rank[:, None] >= rank[None, :]))
    parents = [greedy_family(task.scorer, along, child)[0] for child in range(n)]
    score = task.scorer.total(parents)
    return Learned(
        dag_of(task.columns, parents),
        columns=task.columns,
        score=score,
        bound=max(score, min(bound, sum(ceiling(task.scorer, known, child) for child in range(n)))),
        num_scores=task.scorer.num_scores,
        method=method,
        status=status,
        guarantees={"structure": Guarantee.HEURISTIC},
        info={"by": "a greedy search along an order"},
    )
