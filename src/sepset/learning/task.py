"""The task of a learning method: a network to fit, rows, weights, randomness and when to stop."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.base.checks import row_weights
from sepset.base.lazy import lazy
from sepset.base.text import listing
from sepset.data.dataset import Dataset
from sepset.data.frames import in_row_order
from sepset.data.sources import Weights, bind, refuse_missing, require_columns, stays
from sepset.errors import NotApplicable
from sepset.factors.algebra import Columns
from sepset.models.bayesnet import BayesNet
from sepset.models.rows import complete
from sepset.variables.variable import Vector


class CompleteRows(NamedTuple):
    """Rows without missing cells: columns, their length, one weight per row (or None), and the dataset that holds them.

    A dataset has no columns of vectors, so there is none where a network has some.
    """

    columns: Columns
    num_rows: int
    weights: Floats | None
    dataset: Dataset | None


@dataclass(frozen=True, eq=False)
class Task:
    """A network whose parameters are wanted, and all a method needs to find them.

    Attributes:
        template: the network to fit: its CPDs say which forms and which parameters are shared; their parameters are a
            starting point for methods that need one.
        data: the rows as they were given: a dataset, a frame (eager or lazy), or the path of a file.
        weights: one per row, or the name of a column; those of the dataset where None.
        rng: the source of randomness.
        until: when iterative methods stop; their own default where None.
        progress: True shows a bar, False never, None in a terminal when the work is long.
        checkpoint: a file that iterative methods keep their state in.
        coded: those columns of the data that have been coded already.
        is_set: for some variables, the rows in which an intervention set them; such rows do not count in their own CPD.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.variables.variable import Discrete
    >>> coin = Discrete("coin", ("head", "tail"))
    >>> task = Task(BayesNet(TableCPD(coin, [0.5, 0.5])), {"coin": ["head", "tail", "tail"]})
    >>> task.complete("MLE").num_rows
    3
    """

    template: BayesNet
    data: object = field(repr=False)
    _: KW_ONLY
    weights: Weights = field(default=None, repr=False)
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0), repr=False)
    until: object = None
    progress: bool | None = None
    checkpoint: str | os.PathLike[str] | None = None
    coded: Dataset | None = field(default=None, repr=False)
    is_set: Mapping[str, Bools] = field(default_factory=dict, repr=False)

    @lazy
    def is_stored(self) -> bool:
        """Whether the rows stay where they are (a lazy frame, a file) until the dataset is asked for."""
        if isinstance(self.data, str | os.PathLike):
            return True
        return not isinstance(self.data, Dataset) and stays(self.data, self.template.variables)

    @lazy
    def dataset(self) -> Dataset:
        """The rows over the network's variables, in its order; variables without a column are missing throughout.

        Raises where interventions set values: then not all rows count in all CPDs.
        """
        if self.is_set:
            raise NotApplicable(
                f"Interventions set {listing(list(self.is_set))} in some rows, and this method counts every row in "
                "every CPD. Use MLE(), Bayes() or PosteriorMode(), which leave rows out of the CPD of what was set."
            )
        return self._rows

    @lazy
    def _rows(self) -> Dataset:
        if self.coded is not None and self.weights is None and self.coded.variables is self.template.variables:
            return self.coded  # all columns were there, since their states were inferred from them
        rows = bind(self.data, self.template.variables, self.weights, coded=self.coded)
        require_columns(self.data, rows, self.weights)
        return rows

    @property
    def notes(self) -> tuple[str, ...]:
        """The notes on the rows, if they were read from a frame: cells that pandas took for missing."""
        rows = vars(self).get("_rows")
        return () if rows is None or isinstance(self.data, Dataset) else rows.notes

    def complete(self, method: str) -> CompleteRows:
        """The rows as columns; raises where a cell is missing, naming EM in place of `method`."""
        variables = self.template.variables
        if any(isinstance(v, Vector) and v.size > 1 for v in variables):
            columns, num_rows = complete(self.data, variables)
            given = None if self.weights is None else row_weights(in_row_order(self.weights, self.data), num_rows)
            return CompleteRows(columns, num_rows, given, None)
        rows = self._rows
        refuse_missing(rows, method)
        columns = {v: rows.column(v) for v in variables}
        return CompleteRows(columns, rows.num_rows, rows.weights, rows)
