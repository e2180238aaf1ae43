r"""The E-step: expected sufficient statistics of every parameter block given incomplete rows.

$$\bar M_\theta[x, \mathbf u] = \sum_m w_m P(x, \mathbf u \mid \mathbf o[m], \theta)$$

Rows that repeat count once, with their weights. The plan and the program are made once; between steps only numbers
change.

Reference: Koller & Friedman, section 19.2.2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.data.dataset import Dataset
from sepset.errors import NotApplicable
from sepset.inference.capabilities import summed_marginals, with_values
from sepset.inference.conflict import refuse_impossible
from sepset.inference.evidencerows import EvidenceRows, Workers
from sepset.inference.exact.cliquetree import CliqueTree
from sepset.inference.method import Prepared
from sepset.learning.incomplete.families import Family, family_of
from sepset.learning.incomplete.mstep import Reestimation, Statistics
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Vector


class Expected(NamedTuple):
    """What an E-step finds.

    Attributes:
        statistics: one array a parameter block.
        log_likelihood: of the rows at the parameters they were computed with.
    """

    statistics: Statistics
    log_likelihood: float


class Expectation(Protocol):
    """A network's structure with rows: expected statistics at any parameters."""

    @property
    def blocks(self) -> Reestimation:
        """The parameter blocks, and what their statistics suggest."""

    @property
    def weights(self) -> Floats:
        """The weight of each different row."""

    def expect(self, model: BayesNet, rows: Ints | None = None, weights: Floats | None = None) -> Expected:
        """The expected statistics at these parameters, of all different rows or of some, with their weights or others.

        Args:
            rows: which rows, in order.
            weights: one for each of them.
        """

    def complete(self, model: BayesNet) -> Expected:
        """The statistics of the rows completed by their most probable values, and the log density of all that."""


def expectation_of(task: Task, *, threads: int | None = None) -> Expectation:
    """The E-step of a task: compiled where every variable is discrete.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.variables.variable import Discrete
    >>> coin = Discrete("coin", ("head", "tail"))
    >>> net = BayesNet(TableCPD(coin, [0.5, 0.5]))
    >>> expectation_of(Task(net, {"coin": ["head", None]})).expect(net).statistics[0].tolist()
    [1.5, 0.5]
    """
    for variable in task.template.variables:
        if isinstance(variable, Vector) and variable.size > 1:
            raise NotApplicable(f"EM learns states and numbers; {variable!r} is a vector. Give each coordinate a Real.")
    if any(isinstance(v, Vector) for v in task.template.variables):
        from sepset.learning.incomplete.completions import Completions

        return Completions.of(task)
    return TableExpectation.of(task.template, task.dataset, task.row_weights, threads)


@dataclass(frozen=True, eq=False)
class TableExpectation:
    """The E-step of discrete networks, by one compiled engine.

    Attributes:
        blocks: the parameter blocks.
        rows: the different rows.
        weights: of each of them.
        places: where each of them is first met in the data.
        engine: the plan and the program.
        threads: how many.
    """

    blocks: Reestimation
    rows: EvidenceRows = field(repr=False)
    weights: Floats = field(repr=False)
    places: Ints = field(repr=False)
    engine: Prepared = field(repr=False)
    threads: int | None = None

    @classmethod
    def of(
        cls, template: BayesNet, dataset: Dataset, weights: Floats | None, threads: int | None = None
    ) -> TableExpectation:
        """The E-step over a dataset's rows; those of weight zero are left out."""
        blocks = Reestimation.of(template, lambda cpd, first: family_of(cpd))
        families: tuple[Family, ...] = blocks.families  # type: ignore[assignment]  # as `family_of` made them
        net = BayesNet(*(f.engine(c) for f, c in zip(families, template.cpds, strict=True)))
        engine = CliqueTree().prepare(net.problem())
        findings = EvidenceRows.of(dataset, engine.problem.variables)
        rows, which = findings.distinct()
        weight = np.bincount(which, weights, len(rows)).astype(np.float64)
        places = np.empty(len(rows), np.int64)
        places[which[::-1]] = np.arange(len(which))[::-1]
        if (weight == 0).any():
            kept = np.flatnonzero(weight > 0)
            rows, weight, places = rows.take(kept), weight[kept], places[kept]
        return cls(blocks, rows, weight, places, engine, threads)

    @property
    def _families(self) -> tuple[Family, ...]:
        return self.blocks.families  # type: ignore[return-value]  # as `family_of` made them

    def expect(self, model: BayesNet, rows: Ints | None = None, weights: Floats | None = None) -> Expected:
        """The expected statistics at these parameters, of all rows or of some."""
        engine, first = self._at(model)
        found = self.rows if rows is None else self.rows.take(rows)
        if weights is None:
            weights = self.weights if rows is None else self.weights[rows]
        marginals, log_partition = summed_marginals(engine, found, weights, Workers(self.threads))
        refuse_impossible(log_partition, self.places if rows is None else self.places[rows])
        per_cpd = [
            family.statistics(cpd, marginals[first[i] : first[i + 1]])
            for i, (family, cpd) in enumerate(zip(self._families, model.cpds, strict=True))
        ]
        return Expected(self.blocks.pooled(per_cpd, self._total), float(weights @ log_partition))

    def _at(self, model: BayesNet) -> tuple[Prepared, list[int]]:
        """The engine with the model's numbers, and where each CPD's factors start."""
        values: list[Floats] = []
        first = [0]
        for family, cpd in zip(self._families, model.cpds, strict=True):
            values += family.numbers(cpd)
            first.append(len(values))
        return with_values(self.engine, values), first

    @property
    def _total(self) -> float:
        return float(self.weights.sum())

    def complete(self, model: BayesNet) -> Expected:
        """The statistics of the rows completed by their most probable values, and the log probability of all that."""
        from sepset.learning.incomplete.hard import completed

        columns, log_values = completed(self._at(model)[0], self.rows, model, self.places)
        pairs = zip(self._families, model.cpds, strict=True)
        per_cpd = [f.complete(c, {v: columns[v] for v in c.scope}, self.weights) for f, c in pairs]
        return Expected(self.blocks.pooled(per_cpd, self._total), float(self.weights @ log_values))
