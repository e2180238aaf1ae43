r"""The E-step of networks with real variables: hidden states one by one, missing numbers in closed form.

Every choice of a row's hidden states counts with its posterior probability; given the states, missing numbers
$\mathbf z$ count with

$$E[\mathbf z \mathbf z^\top] = \hat{\mathbf z} \hat{\mathbf z}^\top + \text{Cov}(\mathbf z \mid \mathbf o_c).$$

Reference: Koller & Friedman, sections 14.2 and 19.2.2; Dempster, Laird & Rubin (1977).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.cpds.cpd import CPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.data.centered import check_range
from sepset.data.dataset import Dataset
from sepset.errors import DataError
from sepset.factors.algebra import Columns
from sepset.inference.evidencerows import distinct_rows
from sepset.learning.incomplete.expectation import Expected
from sepset.learning.incomplete.families import Estimated, family_of
from sepset.learning.incomplete.gaussianfamily import GaussianFamily, Numbers
from sepset.learning.incomplete.mstep import Reestimation
from sepset.learning.incomplete.rowchoices import RowChoices
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet

COLLAPSED = 1e-12
"""A variance this much smaller than that of the whole column is zero."""


@dataclass(frozen=True, eq=False)
class Completions:
    """The E-step over different rows, all choices of hidden states at once.

    Attributes:
        blocks: the parameter blocks.
        rows: the different rows.
        weights: of each row.
    """

    blocks: Reestimation
    rows: RowChoices = field(repr=False)
    weights: Floats = field(repr=False)

    @classmethod
    def of(cls, task: Task) -> Completions:
        """The E-step of a task's rows; those of weight zero are left out."""
        columns, weights, places = _distinct(task.dataset, task.row_weights)
        blocks = Reestimation.of(task.template, lambda cpd, first: _family(cpd, first, columns))
        return cls(blocks, RowChoices.of(columns, places), weights)

    def expect(self, model: BayesNet, rows: Ints | None = None, weights: Floats | None = None) -> Expected:
        """The expected statistics at these parameters, of all rows or of some."""
        total: list[Any] = [0.0] * len(model.cpds)
        log_likelihood = 0.0
        weight = self._weights(rows, weights)
        for part in self.rows.together(model, rows):
            share, logs = part.posterior()
            self._add(model, part.numbers, share * weight[part.rows][part.owner], total)
            log_likelihood += float(weight[part.rows] @ logs)
        return Expected(self.blocks.pooled(total, self._total_weight), log_likelihood)

    def complete(self, model: BayesNet) -> Expected:
        """The statistics of the rows completed by their most probable values, and the log density of all that."""
        total: list[Any] = [0.0] * len(model.cpds)
        score = 0.0
        for part in self.rows.together(model):
            share, logs = part.best()
            self._add(model, part.numbers.certain(), share * self.weights[part.rows][part.owner], total)
            score += float(self.weights[part.rows] @ logs)
        return Expected(self.blocks.pooled(total, self._total_weight), score)

    @cached_property
    def _total_weight(self) -> float:
        return float(self.weights.sum())

    def _weights(self, rows: Ints | None, weights: Floats | None) -> Floats:
        """The weight of every row, where some count otherwise."""
        if weights is None:
            return self.weights
        found = np.zeros(len(self.weights))
        found[slice(None) if rows is None else rows] = weights
        return found

    def _add(self, model: BayesNet, numbers: Numbers, weights: Floats, total: list[Any]) -> None:
        for i, (family, cpd) in enumerate(zip(self.blocks.families, model.cpds, strict=True)):
            total[i] = total[i] + _statistics(family, cpd, numbers, weights)


def _statistics(family: Any, cpd: CPD, numbers: Numbers, weights: Floats) -> Floats:
    if isinstance(family, GaussianFamily):
        return family.expected(cpd, numbers, weights)
    return np.asarray(family.complete(cpd, {v: numbers.columns[v] for v in cpd.scope}, weights))


def _family(cpd: CPD, first: CPD, columns: Columns) -> Estimated:
    """How to see a CPD; lines of one block are about the centers of the first."""
    if not isinstance(first, LinearGaussian):
        return family_of(cpd)
    centers = [columns[v][~np.isnan(columns[v])] for v in (*first.given, first.child)]
    spread = float(centers[-1].var()) if len(centers[-1]) else 0.0
    return GaussianFamily(np.array([c.mean() if len(c) else 0.0 for c in centers]), COLLAPSED * spread)


def _distinct(dataset: Dataset, weights: Floats | None) -> tuple[Columns, Floats, Ints]:
    """The different rows as columns, missing codes -1 and missing numbers NaN, the weight of each, and its place."""
    columns: Columns = {v: np.asarray(dataset.column(v)) for v in dataset.variables}
    for variable, column in columns.items():
        if column.dtype.kind == "f" and np.isinf(column).any():
            row = int(np.argmax(np.isinf(column)))
            raise DataError(f"Column {variable.name!r}, row {row}: {column[row]} is no number to learn from. Drop it.")
        if column.dtype.kind == "f":
            check_range(np.nan_to_num(column)[:, None], [variable.name], "EM needs finite numbers")
    plain = [np.where(np.isnan(c), np.nan, c) if c.dtype.kind == "f" else c.astype(np.int64) for c in columns.values()]
    bits = np.column_stack([p.view(np.int64) for p in plain]).view(np.int32)
    first, which = distinct_rows(bits)
    weight = np.bincount(which, weights, len(first)).astype(np.float64)
    kept = weight > 0
    codes: Columns = {v: c[first][kept] for v, c in columns.items()}
    plain_codes: Columns = {v: c if c.dtype.kind == "f" else c.astype(np.int64) for v, c in codes.items()}
    return plain_codes, weight[kept], np.asarray(first)[kept]
