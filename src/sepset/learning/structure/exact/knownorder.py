r"""The best structure whose edges go forward in a known order: each column chooses its parents by itself."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sepset.base.frozen import fill
from sepset.base.text import listing
from sepset.errors import ArgumentError
from sepset.graphs.graph import DAG
from sepset.inference.iterate import as_until
from sepset.inference.result import Guarantee, Status
from sepset.learning.structure.constraints import Allowed
from sepset.learning.structure.ending import ended
from sepset.learning.structure.exact.families import ceiling, families_of_children, greedy_family
from sepset.learning.structure.exact.scoretable import bits
from sepset.learning.structure.learned import NO_LIMIT, Learned, StructureTask, dag_of


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
        allowed, found = self.along(task), list[list[int]]()
        chosen = _greedy_parents(task, allowed) if self.is_greedy else _best_parents(task, allowed)
        status = ended(task, lambda: found.extend(chosen))
        is_exact = status is Status.COMPLETED and not self.is_greedy
        left = range(len(found), len(task.columns))
        bound = sum(ceiling(task.scorer, allowed, child) for child in left) if not self.is_greedy else math.inf
        parents = [*found, *_others(task, allowed, left, is_greedy=self.is_greedy)]
        score = task.scorer.total(parents)
        return Learned(
            dag_of(task.columns, parents),
            columns=task.columns,
            score=score,
            bound=score if is_exact else max(score, bound + task.scorer.total(found)),
            num_scores=task.scorer.num_scores,
            method=self,
            status=status,
            guarantees={"structure": Guarantee.EXACT if is_exact else Guarantee.HEURISTIC},
            info={"bound_over": "DAGs along the order"},
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


def _best_parents(task: StructureTask, allowed: Allowed) -> Iterator[list[int]]:
    """The best parents of each column in turn; of equal ones, a set without a smaller one inside."""
    seconds = as_until(task.until, NO_LIMIT).seconds
    left = math.inf if seconds is None else seconds
    for masks, scores in families_of_children(task.scorer, allowed, pruned=True, seconds=left):
        best = masks[scores == scores.max()].tolist()
        yield list(bits(min(mask for mask in best if not any(other & mask == other != mask for other in best))))


def _greedy_parents(task: StructureTask, allowed: Allowed) -> Iterator[list[int]]:
    return (greedy_family(task.scorer, allowed, child)[0] for child in range(len(task.columns)))


def _others(task: StructureTask, allowed: Allowed, left: Iterable[int], *, is_greedy: bool) -> list[list[int]]:
    """The parents of the columns that there was no time for: greedy ones, or where those took too long, required."""
    if is_greedy:
        return [np.flatnonzero(allowed.required[:, child]).tolist() for child in left]
    return [greedy_family(task.scorer, allowed, child)[0] for child in left]
