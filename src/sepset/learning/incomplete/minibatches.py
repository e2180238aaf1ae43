"""The rows in a random order, some at a time, for methods that take a step before they have seen all rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.learning.incomplete.expectation import Expected
from sepset.learning.incomplete.run import EMTask
from sepset.models.bayesnet import BayesNet


class MiniBatch(NamedTuple):
    """Some of the rows.

    Attributes:
        rows: which of the different rows; None for all of them.
        weights: how often each occurs here; None for their own.
        scale: the factor by which sums over them represent sums over all rows.
    """

    rows: Ints | None
    weights: Floats | None
    scale: float

    def expect(self, task: EMTask, model: BayesNet) -> Expected:
        """The expected statistics, scaled to represent all rows, and the log-likelihood of the batch."""
        found = task.expectation.expect(model, *(() if self.rows is None else (self.rows, self.weights)))
        if self.rows is None:
            return found
        return Expected(tuple(s * self.scale for s in found.statistics), found.log_likelihood)


def mini_batches(task: EMTask, size: int, rng: np.random.Generator) -> Iterator[MiniBatch]:
    """The rows once, in a random order, about `size` at a time.

    Rows that repeat are drawn one by one, as in the data; sums over a batch, scaled, have the sums over all
    rows as their expectation.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.learning.task import Task
    >>> from sepset.variables.variable import Discrete
    >>> net = BayesNet(TableCPD(Discrete("coin"), [0.5, 0.5]))
    >>> task = EMTask.of(Task(net, {"coin": [0, 1, 1, None]}))
    >>> [float(b.weights.sum() * b.scale) for b in mini_batches(task, 2, np.random.default_rng(0))]
    [4.0, 4.0]
    """
    owner, weight = _dealt(task.expectation.weights, num_counted(task))
    number = -(-len(owner) // size)
    if number <= 1:
        yield MiniBatch(None, None, 1.0)
        return
    for part in np.array_split(rng.permutation(len(owner)), number):
        rows, times = np.unique(owner[part], return_counts=True)
        yield MiniBatch(rows, times * weight[rows], len(owner) / len(part))


def _dealt(weights: Floats, num_rows: int) -> tuple[Ints, Floats]:
    """Different rows, each repeated until no copy weighs more than the mean row, and the weight of a copy."""
    times = np.maximum(np.ceil(weights * (num_rows / max(weights.sum(), 1e-300)) - 1e-9), 1.0).astype(np.int64)
    return np.repeat(np.arange(len(weights)), times), weights / times


def num_counted(task: EMTask) -> int:
    """The number of rows of the data with a positive weight."""
    weights = task.task.dataset.weights
    return task.task.dataset.num_rows if weights is None else int((weights > 0).sum())
