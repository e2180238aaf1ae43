r"""The E-step: expected sufficient statistics of every parameter block given incomplete rows.

$$\bar M_\theta[x, \mathbf u] = \sum_m w_m P(x, \mathbf u \mid \mathbf o[m], \theta), \qquad
\bar S_\theta = \sum_m w_m E[\mathbf z \mathbf z^\top \mid \mathbf o[m], \theta]$$

for tables, and for regressions with $\mathbf z = (1, \mathbf u, y)$. Rows that repeat count once, with their weights.
The plan and the program are made once; between steps only parameters change.

Reference: Koller & Friedman, sections 19.2.2 and 14.2; Dempster, Laird & Rubin (1977).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.cpds.parameters import AnyParameters
from sepset.data.columns import check_range
from sepset.data.dataset import Dataset
from sepset.engine.bound import Bound
from sepset.engine.default import DEFAULT_METHOD
from sepset.errors import ArgumentError, DataError, NotApplicable
from sepset.factors.algebra import Columns
from sepset.factors.chains import BY_NAME
from sepset.factors.regression import Regression
from sepset.factors.table import Table
from sepset.inference import costs
from sepset.inference.capabilities import plan_rows, summed_marginals, with_values
from sepset.inference.completion import complete_rows
from sepset.inference.conflict import refuse_impossible
from sepset.inference.evidencerows import EvidenceRows, Workers
from sepset.inference.method import Method, Prepared, prepare
from sepset.inference.values import Value, replaced
from sepset.learning.blocks import Blocks, FlatStatistics
from sepset.learning.incomplete.completefamilies import CompleteFamilies
from sepset.learning.incomplete.foresight import refuse_numbers, refuse_row
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.models.model import offers
from sepset.variables.variable import Discrete, Vector


class Expected(NamedTuple):
    """The result of an E-step.

    Attributes:
        statistics: one array per parameter block.
        log_likelihood: of the rows at the parameters they were computed with.
    """

    statistics: FlatStatistics
    log_likelihood: float


@dataclass(frozen=True, eq=False)
class Expectation:
    """A network's structure with rows: expected statistics at any parameters.

    Attributes:
        blocks: the parameter blocks, and what their statistics suggest.
        rows: the different rows; numbers are relative to `origin`.
        weights: the weight of each of them.
        places: the index of the first occurrence of each in the data.
        engine: the network with a method of inference, whose plans serve all parameters.
        origin: the mean of each real column, which keeps the digits of squares, by position.
        families: the regressions that miss no cell, which are estimated from rows.
        threads: their number; one per processor by default.
    """

    blocks: Blocks
    rows: EvidenceRows = field(repr=False)
    weights: Floats = field(repr=False)
    places: Ints = field(repr=False)
    engine: Bound = field(repr=False)
    origin: Mapping[int, float] = field(repr=False)
    families: CompleteFamilies = field(repr=False)
    threads: int | None = None

    @classmethod
    def of(cls, task: Task, *, inference: Method | None = None, threads: int | None = None) -> Expectation:
        """The E-step of a task's rows; those of weight zero are left out.

        Args:
            inference: the method that answers for each row; the default of the engine where None.
            threads: their number; one per processor by default.

        >>> from sepset.cpds.table import TableCPD
        >>> coin = Discrete("coin", ("head", "tail"))
        >>> net = BayesNet(TableCPD(coin, [0.5, 0.5]))
        >>> Expectation.of(Task(net, {"coin": ["head", None]})).expect(net).statistics[0].tolist()
        [1.5, 0.5]
        """
        template = task.template
        if not template.variables.all_discrete:
            _check_no_vectors(template)
            if inference is None:
                refuse_numbers(task.dataset)
            _check_numbers(task.dataset)
        dataset = task.dataset
        if inference is None and len(template.variables) > costs.VARIABLES_ALWAYS_PLANNED:
            refuse_row(template.problem(), dataset, DEFAULT_METHOD.memory)
        columns: Columns = dict(zip(dataset.variables, dataset.columns, strict=True))
        origin = {v: _mean(column) for v, column in columns.items() if not isinstance(v, Discrete)}
        blocks = Blocks.of(template, columns)
        engine = _engine(blocks, inference)
        variables = engine.prepared.problem.variables
        rows = EvidenceRows.of(dataset, variables)
        shift = {variables.id(v): mean for v, mean in origin.items()}
        if shift:
            rows = replace(rows, reals=rows.reals - [shift[v] for v in rows.real_positions])
        plan_rows(engine.prepared, rows)
        families = CompleteFamilies.of(blocks, columns if shift else {}, task.dataset.weights)
        return cls(blocks, *_weighted(rows, task.dataset.weights), engine, shift, families, threads)

    @property
    def is_exact(self) -> bool:
        """Whether statistics and log-likelihoods are exact."""
        return self.engine.is_exact

    def expect(self, model: BayesNet, rows: Ints | None = None, weights: Floats | None = None) -> Expected:
        """The expected statistics at these parameters, of all different rows or of some, with their weights or others.

        Args:
            rows: which rows, in order.
            weights: one for each of them.
        """
        own = self.parameters(model)
        engine, first = self._at(own)
        found = self.rows if rows is None else self.rows.take(rows)
        if weights is None:
            weights = self.weights if rows is None else self.weights[rows]
        marginals, log_partition = summed_marginals(engine, found, weights, Workers(self.threads))
        if -np.inf in log_partition:
            refuse_impossible(log_partition, self.places if rows is None else self.places[rows])
        per_cpd = [one.expected(marginals[first[i] : first[i + 1]]) for i, one in enumerate(own)]
        return Expected(self.blocks.pooled(per_cpd, float(self.weights.sum())), float(weights @ log_partition))

    def parameters(self, model: BayesNet) -> list[AnyParameters]:
        """The parameters of each CPD of a network, whose chains run along the line of the engine's factors."""
        network = self.engine.model
        assert isinstance(network, BayesNet)  # made of the blocks' CPDs
        line = network.line
        return self.blocks.parameters(model if line is BY_NAME else model.along(line))

    def _at(self, own: Sequence[AnyParameters]) -> tuple[Prepared, list[int]]:
        """The engine with these parameters, and where each CPD's factors start."""
        values: list[Value] = []
        first = [0]
        for one in own:
            values += one.engine_values
            first.append(len(values))
        forms = self.engine.prepared.problem.forms
        if forms and any(form.is_deferred for form in forms):
            return self._prepared_for(own), first
        return with_values(self.engine.prepared, values), first

    def _prepared_for(self, own: Sequence[AnyParameters]) -> Prepared:
        """The method prepared for these parameters, some of whose factors depend on the question.

        Regressions are about numbers from their origin, as the rows are.
        """
        problem = self.blocks.template.with_parameters([one.engine_form for one in own]).problem()
        if self.origin or any(isinstance(value, Table) for one in own for value in one.engine_values):
            values = enumerate(value for one in own for value in one.engine_values)
            problem = replaced(problem, {n: value for n, value in values if isinstance(value, Regression | Table)})
        return prepare(self.engine.method, problem)

    def complete(self, model: BayesNet) -> Expected:
        """The statistics of the rows completed by their most probable values, and the log density of all that."""
        own = self.parameters(model)
        engine = self._prepared_for(own) if self.engine.prepared.problem.forms else self._at(own)[0]
        made, log_value = complete_rows(engine, self.rows, Workers(self.threads))
        refuse_impossible(log_value, self.places)
        columns: Columns = {model.variables[v]: made.codes[:, i] for i, v in enumerate(made.positions)}
        for i, v in enumerate(made.real_positions):
            columns[model.variables[v]] = made.reals[:, i] + self.origin[v]
        per_cpd = [one.tally({v: columns[v] for v in one.cpd.scope}, self.weights) for one in own]
        return Expected(self.blocks.pooled(per_cpd, float(self.weights.sum())), float(self.weights @ log_value))


def _engine(blocks: Blocks, inference: Method | None) -> Bound:
    """The network with the CPDs that engines take, and a method of inference prepared for it."""
    if inference is not None and not offers(inference, "prepare", "promises"):
        raise ArgumentError(f"inference= takes a method such as CliqueTree(); found {inference!r}.")
    forms = [own.engine_form for own in blocks.forms]
    is_own = all(form is cpd for form, cpd in zip(forms, blocks.template.cpds, strict=True))
    return Bound(blocks.template if is_own else blocks.template.with_parameters(forms), inference)


def _weighted(rows: EvidenceRows, weights: Floats | None) -> tuple[EvidenceRows, Floats, Ints]:
    """The different rows of positive weight, their weights, and the index of the first occurrence of each."""
    different, which = rows.distinct()
    number = len(different.codes)
    weight = np.bincount(which, weights, number).astype(np.float64)
    places = np.empty(number, np.int64)
    places[which[::-1]] = np.arange(len(which))[::-1]
    if (weight > 0).all():
        return different, weight, places
    kept = np.flatnonzero(weight > 0)
    return different.take(kept), weight[kept], places[kept]


def _mean(column: Floats) -> float:
    """The mean of the observed numbers; zero without any."""
    found = column[~np.isnan(column)]
    return float(found.mean()) if len(found) else 0.0


def _check_no_vectors(template: BayesNet) -> None:
    for variable in template.variables:
        if isinstance(variable, Vector) and variable.size > 1:
            raise NotApplicable(f"EM learns states and numbers; {variable!r} is a vector. Give each coordinate a Real.")


def _check_numbers(dataset: Dataset) -> None:
    """Raise at the first infinite number."""
    for variable in dataset.variables:
        if isinstance(variable, Discrete):
            continue
        column = dataset.values(variable)
        if np.isnan(column).all():
            continue  # it is hidden
        if np.isinf(column).any():
            row = int(np.argmax(np.isinf(column)))
            raise DataError(
                f"Column {variable.name!r}, row {row}: {column[row]} is not a number to learn from. Drop it."
            )
        check_range([np.nan_to_num(column)], [variable.name], "EM needs finite numbers")
