r"""The best structure whose edges go forward in a known order: each column chooses its parents by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sepset.base.frozen import fill
from sepset.base.text import listing
from sepset.errors import ArgumentError
from sepset.graphs.graph import DAG
from sepset.inference.iterate import as_until, was_interrupted
from sepset.inference.result import Guarantee, Status
from sepset.learning.structure.constraints import Allowed
from sepset.learning.structure.exact.families import greedy_family, score_table
from sepset.learning.structure.exact.scoretable import bits
from sepset.learning.structure.learned import Learned, StructureTask, dag_of


@dataclass(frozen=True, slots=True)
class KnownOrder:
    r"""The best parents of every column among those before it in an order.

    $$\text{Pa}_i = \arg\max_{\mathbf U \subseteq \{X_j \prec X_i\}, |\mathbf U| \le d} F(X_i \mid \mathbf U)$$

    Args:
        order: the names of all columns.
        is_greedy: add the best single parent while that raises the score (the K2 algorithm), instead of trying all
            sets. Parents that help only together are then not found.

    Cost: $\sum_{k=1}^{d+1} \binom nk$ scores with at most $d$ parents (`max_parents` of the constraints).
    Reference: Koller & Friedman, proposition 18.4; Cooper & Herskovits (1992) for the greedy version.
    Guarantee: the best DAG along the order; heuristic if greedy.
    Tested by: learning/structure/exact/test_knownorder.py::test_against_enumeration

    >>> from sepset.learning.structure.columns import Columns
    >>> from sepset.learning.structure.scores.likelihood import BIC
    >>> rows = {"a": [0, 0, 1, 1] * 9, "b": [0, 1, 0, 1] * 9, "c": [0, 1, 1, 0] * 9}
    >>> KnownOrder(["a", "b", "c"]).learn(StructureTask(Columns.of(rows), BIC())).graph
    DAG(a -> c; b -> c)
    >>> KnownOrder(["a", "b", "c"], is_greedy=True).learn(StructureTask(Columns.of(rows), BIC())).graph
    DAG(a; b; c)
    """

    ignores_start: ClassVar[bool] = True
    keeps_checkpoint: ClassVar[bool] = False

    order: Sequence[str]
    is_greedy: bool = False

    def __post_init__(self) -> None:
        fill(self, order=tuple(self.order))

    def learn(self, task: StructureTask) -> Learned[DAG]:
        """The best DAG along the order."""
        allowed = self.along(task)
        is_greedy, status = self.is_greedy, Status.COMPLETED
        try:
            parents = greedy_parents(task, allowed) if is_greedy else _best_parents(task, allowed)
        except (KeyboardInterrupt, SystemError) as error:
            if self.is_greedy or not was_interrupted(error):
                raise
            parents, is_greedy, status = greedy_parents(task, allowed), True, Status.INTERRUPTED
        score = task.scorer.total(parents)
        return Learned(
            dag_of(task.columns, parents),
            columns=task.columns,
            score=score,
            bound=math.inf if is_greedy else score,
            num_scores=task.scorer.num_scores,
            method=self,
            status=status,
            guarantees={"structure": Guarantee.HEURISTIC if is_greedy else Guarantee.EXACT},
            info={"bound over": "DAGs along the order"},
        )

    def along(self, task: StructureTask) -> Allowed:
        """The constraints, and no edges against the order."""
        names = task.columns.names
        if sorted(self.order) != sorted(names):
            differ = sorted(set(self.order) ^ set(names)) or sorted(self.order)
            raise ArgumentError(f"KnownOrder(order=) lists every column once; {listing(differ)} differ.")
        rank = np.array([self.order.index(name) for name in names])
        against = rank[:, None] >= rank[None, :]
        wrong = np.argwhere(task.allowed.required & against)
        if len(wrong):
            a, b = wrong[0]
            raise ArgumentError(f"The edge {names[a]} -> {names[b]} is required, but goes against the order.")
        return task.allowed._replace(forbidden=task.allowed.forbidden | against)


def _best_parents(task: StructureTask, allowed: Allowed) -> list[list[int]]:
    seconds = as_until(task.until).seconds
    table = score_table(task.scorer, allowed, pruned=True, seconds=math.inf if seconds is None else seconds)
    return [list(bits(table.of(child)[0][0])) for child in range(table.num_columns)]


def greedy_parents(task: StructureTask, allowed: Allowed) -> list[list[int]]:
    """The parents that are added one by one while the score rises, of each column."""
    return [greedy_family(task.scorer, allowed, child)[0] for child in range(len(task.columns))]
