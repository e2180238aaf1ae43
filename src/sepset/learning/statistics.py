r"""Sufficient statistics of a task's rows, pooled over the CPDs of each parameter block."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.cpds.configurations import Configurations
from sepset.cpds.cpd import CPD, ParameterBlock
from sepset.cpds.deterministic import DeterministicCPD, MultiplexerCPD
from sepset.cpds.discrete import DiscreteCPD, decode
from sepset.cpds.lineargaussian import LinearGaussian, is_tight
from sepset.cpds.parameters import multinomials
from sepset.cpds.table import TableCPD
from sepset.data.counts import Counts
from sepset.errors import NotApplicable, ScopeError
from sepset.factors.algebra import Columns
from sepset.learning.blocks import blocks_of
from sepset.learning.stored import is_countable, stored_statistics
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet


@dataclass(frozen=True, slots=True, eq=False)
class Pooled:
    """The CPDs of one block and the sum of their statistics, as the first of them counts."""

    cpds: tuple[CPD, ...]
    total: Any

    def log_likelihood(self, cpd: CPD, has_rows: bool = False) -> float | None:
        """What the rows of the block contribute with these parameters; None where statistics do not tell.

        Args:
            has_rows: whether rows can be asked instead, as they are where a line leaves so little over that sums of
                squares have lost its digits.
        """
        if isinstance(cpd, LinearGaussian):
            return None if has_rows and is_tight(cpd, cpd.centered(self.total)) else cpd.log_likelihood(self.total)
        if isinstance(cpd, DeterministicCPD | MultiplexerCPD):
            return -math.inf if self.total[1] > 0 else 0.0
        if isinstance(self.total, Configurations):
            return _weighed(cpd, dict(zip(cpd.scope, self.total.codes.T, strict=True)), self.total.counts)
        known = multinomials(cpd)
        if known is None:
            return None
        seen = self.total > 0
        with np.errstate(divide="ignore"):
            return float(self.total[seen] @ np.log(known.parameters[seen]))


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """The statistics of every block of a network, and how many rows they come from.

    >>> from sepset.variables.variable import Discrete
    >>> net = BayesNet(TableCPD(Discrete("coin", "HT"), [0.5, 0.5]))
    >>> stats = Statistics.of(Task(net, {"coin": list("HTT")}), "MLE")
    >>> stats.blocks[ParameterBlock("coin")].total.tolist(), stats.num_rows
    ([1.0, 2.0], 3.0)
    """

    template: BayesNet
    blocks: Mapping[ParameterBlock, Pooled]
    num_rows: float
    columns: Columns
    weights: Floats | None

    @classmethod
    def of(cls, task: Task, method: str) -> Statistics:
        """The statistics of a task's rows; missing cells are refused on behalf of `method`.

        Tables are counted together, in one pass. Rows of lazy frames and files stay where they are, wherever group-bys
        tell the statistics.
        """
        template = task.template
        if isinstance(task.source, Counts):
            found = counted_families(template.cpds, task.source)
            return cls(template, _blocks(template, found.__getitem__), task.source.total, {}, None)
        if task.is_stored and all(map(is_countable, template.cpds)):
            found, total = stored_statistics(template.cpds, task.source, task.weights)
            return cls(template, _blocks(template, found.__getitem__), total, {}, None)
        tables = [cpd for cpd in template.cpds if type(cpd) is TableCPD]
        rows = task.complete(method)
        known = {} if rows.dataset is None else _flat(tables, Counts.of(rows.dataset, tables))
        return cls.of_columns(template, rows.columns, rows.num_rows, rows.weights, known)

    @classmethod
    def of_columns(
        cls,
        template: BayesNet,
        columns: Columns,
        num_rows: int,
        weights: Floats | None = None,
        known: Mapping[CPD, Any] | None = None,
    ) -> Statistics:
        """The statistics of complete columns; `known` are those of some CPDs, counted before."""
        before = {} if known is None else known

        def statistics(cpd: CPD) -> Any:
            return before[cpd] if cpd in before else counted(cpd, columns, weights)

        total = float(num_rows) if weights is None else float(weights.sum())
        return cls(template, _blocks(template, statistics), total, columns, weights)

    def estimated(self, estimate: Callable[[tuple[CPD, ...], Any], Iterable[CPD]]) -> BayesNet:
        """The network whose CPDs are what `estimate` makes of those of each block and of their pooled statistics."""
        made = [cpd for pool in self.blocks.values() for cpd in estimate(pool.cpds, pool.total)]
        return self.template.with_cpds(*made)

    def log_likelihood(self, model: BayesNet) -> float:
        r"""$\sum_m w_m \log P(\xi[m])$; -inf where the model excludes a row."""
        total = 0.0
        for pool in self.blocks.values():
            cpds = [model.cpd(cpd.child) for cpd in pool.cpds]
            known = pool.log_likelihood(cpds[0], bool(self.columns))
            total += sum(self._summed(cpd) for cpd in cpds) if known is None else known
        return total

    def _summed(self, cpd: CPD) -> float:
        return _weighed(cpd, {v: self.columns[v] for v in cpd.scope}, self.weights)


def _weighed(cpd: CPD, columns: Columns, weights: Floats | None) -> float:
    """The sum of log probabilities; rows of weight zero may be impossible."""
    logs = cpd.log_probability(columns)
    if weights is None:
        return float(logs.sum())
    counted = weights > 0
    return float(logs[counted] @ weights[counted])


def counted_families(cpds: Iterable[CPD], counts: Counts) -> dict[CPD, Any]:
    """The statistics of discrete CPDs whose families were counted before."""
    return {cpd: _counted_family(cpd, counts) for cpd in cpds}


def _counted_family(cpd: Any, counts: Counts) -> Any:
    if not isinstance(cpd, DiscreteCPD):
        raise NotApplicable(f"Counts of joint states say nothing of {cpd!r}. Give the rows.")
    known = {v.name: v for family in counts.families for v in family}
    strange = [v for v in cpd.scope if known.get(v.name, v) != v]
    if strange:
        raise ScopeError(f"{known[strange[0].name]!r} was counted; the network has {strange[0]!r}.")
    flat = counts.table(cpd.scope).reshape(-1)
    if type(cpd) is TableCPD:
        return flat
    seen = np.flatnonzero(flat)
    return cpd.statistics(decode(seen, cpd.scope), flat[seen])  # type: ignore[attr-defined]  # as every discrete CPD


def _flat(tables: list[TableCPD], counts: Counts) -> dict[CPD, Floats]:
    return {cpd: table.reshape(-1) for cpd, table in zip(tables, counts.tables, strict=True)}


def _blocks(template: BayesNet, statistics: Callable[[CPD], Any]) -> dict[ParameterBlock, Pooled]:
    return {
        block: Pooled(cpds, pooled(cpds, [statistics(cpd) for cpd in cpds]))
        for block, cpds in blocks_of(template).items()
    }


def counted(cpd: CPD, columns: Columns, weights: Floats | None) -> Any:
    """The statistics of one CPD's rows, centered where it is linear Gaussian."""
    return cpd.scatters(columns, weights) if isinstance(cpd, LinearGaussian) else cpd.statistics(columns, weights)


def pooled(cpds: tuple[CPD, ...], parts: list[Any]) -> Any:
    """The sum of statistics of tied CPDs, over the variables of the first."""
    total = realigned(parts[0], cpds[0])
    for part in parts[1:]:
        total = total + realigned(part, cpds[0])
    return total


def realigned(stats: Any, cpd: CPD) -> Any:
    """Statistics of a tied CPD as if counted for this one: only those that name variables change."""
    if isinstance(stats, Configurations):
        return Configurations(cpd.scope, stats.codes, stats.counts)  # type: ignore[arg-type]  # discrete, as counted
    return stats
