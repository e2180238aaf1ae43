r"""The posterior given an order of the columns: every column chooses its parents independently.

$$P(\mathcal D \mid \prec) = \prod_i \sum_{\mathbf U \subseteq \{X_j \prec X_i\}} \exp F(X_i \mid \mathbf U)$$
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.checks import whole
from sepset.base.frozen import fill
from sepset.inference.result import Guarantee
from sepset.learning.structure.averaging.posterior import StructurePosteriorResult, as_edges
from sepset.learning.structure.ending import all_or_nothing
from sepset.learning.structure.exact.families import check_columns, score_table
from sepset.learning.structure.exact.knownorder import KnownOrder
from sepset.learning.structure.learned import StructureTask


@dataclass(frozen=True, slots=True)
class AlongOrder:
    r"""The posterior over the DAGs whose edges go forward in an order, exactly.

    $$P(\text{Pa}_i = \mathbf U \mid \mathcal D, \prec) \propto \exp F(X_i \mid \mathbf U), \qquad
      P(\xi \mid \mathcal D, \prec) = \frac{P(\mathcal D, \xi \mid \prec)}{P(\mathcal D \mid \prec)}$$

    The second is `log_predictive` of the result.

    Args:
        order: the names of all columns.
        num_graphs: how many DAGs are drawn.

    Reference: Koller & Friedman, section 18.5.2.1, propositions 18.7 and 18.8.
    Guarantee: exact edges.
    Tested by: learning/structure/averaging/test_alongorder.py::test_worked_numbers
    """

    ignores_start: ClassVar[bool] = True
    keeps_checkpoint: ClassVar[bool] = False

    order: Sequence[str]
    num_graphs: int = 1000

    def __post_init__(self) -> None:
        fill(self, order=tuple(self.order))
        whole("AlongOrder(num_graphs=)", self.num_graphs)

    def check_columns(self, num_columns: int) -> None:
        """Raise if there are more columns than all of whose families can be scored."""
        check_columns(num_columns)

    @all_or_nothing
    def average(self, task: StructureTask) -> StructurePosteriorResult:
        """The posterior along the order."""
        n = len(task.columns)
        table = score_table(task.scorer, KnownOrder(self.order).along(task))
        edges, evidence = np.zeros((n, n)), 0.0
        parents = np.zeros((self.num_graphs, n), np.int64)
        for v in range(n):
            masks, scores = table.of(v)
            shares = parent_set_shares(scores)
            evidence += float(np.logaddexp.reduce(scores))
            edges[:, v] = [shares[masks >> u & 1 == 1].sum() for u in range(n)]
            parents[:, v] = masks[task.rng.choice(len(masks), self.num_graphs, p=shares)]
        return StructurePosteriorResult(
            task.columns,
            edges,
            parents=as_edges(parents, n),
            weights=np.full(self.num_graphs, 1 / max(self.num_graphs, 1)),
            log_evidence=evidence,
            method=self,
            task=task,
            guarantees={"edges": Guarantee.EXACT, "paths": Guarantee.ESTIMATE},
        )


def parent_set_shares(scores: Floats) -> Floats:
    """The probability of each parent set of a column, in proportion to the exponentials of scores.

    >>> parent_set_shares(np.log([1.0, 3.0])).tolist()
    [0.25, 0.75]
    """
    shares = np.exp(scores - scores.max())
    return np.asarray(shares / shares.sum())
