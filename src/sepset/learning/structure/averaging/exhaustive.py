"""Averages over a list of structures: all DAGs of a few columns, or the best ones of more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import number, whole
from sepset.errors import NotApplicable
from sepset.inference.result import Guarantee
from sepset.learning.structure.averaging.posterior import StructurePosteriorResult, as_edges
from sepset.learning.structure.ending import all_or_nothing
from sepset.learning.structure.exact.enumeration import all_parents, all_scores
from sepset.learning.structure.exact.families import check_columns, score_table
from sepset.learning.structure.exact.kbest import k_best
from sepset.learning.structure.learned import StructureTask


@dataclass(frozen=True, slots=True)
class Exhaustive:
    r"""The posterior over all DAGs that the constraints allow, by listing them: up to five columns.

    $$P(\mathcal G \mid \mathcal D) \propto P(\mathcal D \mid \mathcal G) P(\mathcal G)$$

    Reference: Koller & Friedman, section 18.5.1.
    Guarantee: exact.
    Tested by: learning/structure/averaging/test_exhaustive.py::test_worked_numbers
    """

    ignores_start: ClassVar[bool] = True
    keeps_checkpoint: ClassVar[bool] = False

    def check_columns(self, num_columns: int) -> None:
        """Raise if there are more columns than all of whose DAGs can be listed."""
        all_parents(num_columns)

    @all_or_nothing
    def average(self, task: StructureTask) -> StructurePosteriorResult:
        """The posterior over all DAGs."""
        self.check_columns(len(task.columns))  # refused before scores are computed
        scores = all_scores(score_table(task.scorer, task.allowed))
        kept = scores > -np.inf
        return over_list(self, task, all_parents(len(task.columns))[kept], scores[kept], Guarantee.EXACT)


@dataclass(frozen=True, slots=True)
class BestStructures:
    r"""The posterior restricted to the k best DAGs, normalized among them; with a window, to those near the best.

    $$P(f \mid \mathcal D) \approx
      \frac{\sum_{\mathcal G \in \mathbb G} P(\mathcal G, \mathcal D) f(\mathcal G)}
           {\sum_{\mathcal G \in \mathbb G} P(\mathcal G, \mathcal D)}$$

    Args:
        k: how many.
        window: leave out DAGs that are this many times less probable than the best (Occam's window).

    Reference: Koller & Friedman, equation 18.16; Tian, He & Ram (2010); Madigan & Raftery (1994).
    Guarantee: exact among the k best; biased toward them.
    Tested by: learning/structure/averaging/test_exhaustive.py::test_the_best_ones_are_a_part_of_all
    """

    ignores_start: ClassVar[bool] = True
    keeps_checkpoint: ClassVar[bool] = False

    k: int = 100
    window: float | None = None

    def __post_init__(self) -> None:
        whole("BestStructures(k=)", self.k, least=1)
        if self.window is not None:
            number("BestStructures(window=)", self.window, least=1, otherwise="None")

    def check_columns(self, num_columns: int) -> None:
        """Raise if there are more columns than all of whose DAGs can be compared."""
        check_columns(num_columns)

    @all_or_nothing
    def average(self, task: StructureTask) -> StructurePosteriorResult:
        """The posterior over the best DAGs."""
        ranked = k_best(score_table(task.scorer, task.allowed), self.k)
        scores = np.array([r.score for r in ranked])
        parents = np.array([r.parents for r in ranked], np.int64)
        if self.window is not None:
            near = scores >= scores.max() - np.log(self.window)
            scores, parents = scores[near], parents[near]
        return over_list(self, task, parents, scores, Guarantee.HEURISTIC)


def over_list(
    method: object, task: StructureTask, parents: Ints, scores: Floats, guarantee: Guarantee
) -> StructurePosteriorResult:
    """The posterior over these structures, in proportion to their scores' exponentials."""
    if not len(scores):
        raise NotApplicable("The constraints allow no DAG.")
    top = float(scores.max())
    weights = np.exp(scores - top)
    total = float(weights.sum())
    graphs = as_edges(parents, len(task.columns))
    return StructurePosteriorResult(
        task.columns,
        np.tensordot(weights / total, graphs, 1),
        parents=graphs,
        weights=weights / total,
        log_evidence=top + float(np.log(total)) if guarantee is Guarantee.EXACT else np.nan,
        method=method,
        task=task,
        guarantees={"edges": guarantee, "paths": guarantee},
    )
