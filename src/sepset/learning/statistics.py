r"""Sufficient statistics of a task's rows, pooled over the CPDs of each parameter block.

Rows in memory are counted there. Rows of lazy frames and files stay where they are wherever group-bys determine the
statistics: counts of joint states, or moments of real columns in each context; only the answers travel.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sepset.base.arraytypes import Bools, Floats
from sepset.cpds.cpd import CPD, ParameterBlock
from sepset.cpds.parameters import weighted
from sepset.data.counts import Counts
from sepset.data.moments import Moments
from sepset.data.sources import Weights
from sepset.errors import NotApplicable, ScopeError
from sepset.factors.algebra import Columns
from sepset.factors.labels import name_of
from sepset.learning.blocks import blocks_of
from sepset.learning.task import Task
from sepset.models.bayesnet import BayesNet
from sepset.variables.matching import has_states_of
from sepset.variables.variable import Discrete, Vector

WIDEST = 24
"""The most real columns whose products are asked for together."""

Pack: TypeAlias = tuple[tuple[Vector, ...], tuple[Discrete, ...], list[CPD]]
"""Real columns, the discrete columns whose joint states are their contexts, and the CPDs that need their moments."""


@dataclass(frozen=True, slots=True, eq=False)
class Pooled:
    """The CPDs of one block and the sum of their statistics, as the first of them counts."""

    cpds: tuple[CPD, ...]
    total: Any


@dataclass(frozen=True, slots=True, eq=False)
class Statistics:
    """The statistics of every block of a network, and the number of rows they come from.

    >>> from sepset.cpds.table import TableCPD
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
    is_set: Mapping[str, Bools] = field(default_factory=dict)

    @classmethod
    def of(cls, task: Task, method: str) -> Statistics:
        """The statistics of a task's rows; raises where a cell is missing, in the name of `method`.

        Tables are counted together, in one pass. Rows of lazy frames and files stay where they are, wherever group-bys
        determine the statistics.
        """
        template = task.template
        if isinstance(task.data, Counts):
            found = counted_families(template.cpds, task.data)
            return cls(template, _blocks(template, found.__getitem__), task.data.total, {}, None)
        if task.is_stored and all(cpd.parameters.stored for cpd in template.cpds):
            found, total = stored_statistics(template.cpds, task.data, task.weights)
            return cls(template, _blocks(template, found.__getitem__), total, {}, None)
        tables = [cpd for cpd in template.cpds if cpd.parameters.is_table and cpd.child.name not in task.is_set]
        rows = task.complete(method)
        known = {} if rows.dataset is None else _from_counts(tables, Counts.of(rows.dataset, tables))
        return cls.of_columns(template, rows.columns, rows.num_rows, rows.weights, known, task.is_set)

    @classmethod
    def of_columns(
        cls,
        template: BayesNet,
        columns: Columns,
        num_rows: int,
        weights: Floats | None = None,
        known: Mapping[CPD, Any] | None = None,
        is_set: Mapping[str, Bools] | None = None,
    ) -> Statistics:
        """The statistics of complete columns; `known` are those of some CPDs, counted before.

        Rows in which a variable was set by an intervention (`is_set`) do not count in its own CPD.
        """
        before, left_out = {} if known is None else known, {} if is_set is None else is_set

        def statistics(cpd: CPD) -> Any:
            return (
                before[cpd]
                if cpd in before
                else cpd.parameters.statistics(*_counted_rows(cpd, columns, weights, left_out))
            )

        total = float(num_rows) if weights is None else float(weights.sum())
        return cls(template, _blocks(template, statistics), total, columns, weights, left_out)

    def rows_of(self, cpds: Sequence[CPD]) -> tuple[Columns, Floats | None] | None:
        """The columns and weights of the rows that count in all of these CPDs.

        None where the CPDs count different rows, and where only the statistics of rows are known.
        """
        if not self.columns or (len(cpds) > 1 and any(cpd.child.name in self.is_set for cpd in cpds)):
            return None
        return _counted_rows(cpds[0], self.columns, self.weights, self.is_set)

    def estimated(self, estimate: Callable[[tuple[CPD, ...], Any], Iterable[CPD]]) -> BayesNet:
        """The network whose CPDs are what `estimate` makes of those of each block and of their pooled statistics."""
        made = [cpd for pool in self.blocks.values() for cpd in estimate(pool.cpds, pool.total)]
        return self.template.with_cpds(*made)

    def log_likelihood(self, model: BayesNet) -> float:
        r"""$\sum_m w_m \log P(\xi[m])$; -inf where the model excludes a row."""
        total = 0.0
        for pool in self.blocks.values():
            cpds = [model.cpd(cpd.child) for cpd in pool.cpds]
            known = cpds[0].parameters.log_likelihood(pool.total, has_rows=bool(self.columns))
            total += sum(self._summed(cpd) for cpd in cpds) if known is None else known
        return total

    def _summed(self, cpd: CPD) -> float:
        columns, weights = _counted_rows(cpd, {v: self.columns[v] for v in cpd.scope}, self.weights, self.is_set)
        return weighted(cpd, columns, weights)


def _counted_rows(
    cpd: CPD, columns: Columns, weights: Floats | None, is_set: Mapping[str, Bools]
) -> tuple[Columns, Floats | None]:
    """The rows in which no intervention set the child."""
    if cpd.child.name not in is_set:
        return columns, weights
    kept = ~is_set[cpd.child.name]
    return {v: columns[v][kept] for v in cpd.scope}, None if weights is None else weights[kept]


def counted_families(cpds: Iterable[CPD], counts: Counts) -> dict[CPD, Any]:
    """The statistics of CPDs whose families were counted before."""
    return {cpd: _counted_family(cpd, counts) for cpd in cpds}


def _counted_family(cpd: CPD, counts: Counts) -> Any:
    if not cpd.child.is_discrete:
        raise NotApplicable(f"Counts of joint states say nothing about {name_of(cpd)}. Give the rows.")
    known = {v.name: v for family in counts.families for v in family}
    strange = [v for v in cpd.scope if not has_states_of(known.get(v.name, v), v)]
    if strange:
        raise ScopeError(f"{known[strange[0].name]!r} was counted; the network has {strange[0]!r}.")
    return cpd.parameters.from_counts(counts.table(cpd.scope))


def stored_statistics(cpds: Sequence[CPD], source: object, weights: Weights) -> tuple[dict[CPD, Any], float]:
    """The statistics of each CPD, for all of which group-bys suffice, and the total weight of the rows.

    Discrete families are counted together. CPDs with the same discrete parents share their moments: two group-bys for
    up to `WIDEST` real columns.

    Args:
        source: a lazy frame, a relation, or the path of a file.
        weights: the name of a column, or None.
    """
    families = [cpd for cpd in cpds if cpd.parameters.stored == "counts"]
    found: dict[CPD, Any] = {}
    total = 0.0
    for reals, given, members in _packs([cpd for cpd in cpds if cpd.parameters.stored == "moments"]):
        moments = Moments.of(source, reals, given=given, weights=weights)
        found |= {cpd: cpd.parameters.from_moments(moments) for cpd in members}
        total = moments.total
    if families or not found:
        counts = Counts.of(source, families, weights=weights)
        found |= _from_counts(families, counts)
        total = counts.total
    return found, total


def _from_counts(cpds: Sequence[CPD], counts: Counts) -> dict[CPD, Any]:
    return {cpd: cpd.parameters.from_counts(table) for cpd, table in zip(cpds, counts.tables, strict=True)}


def _packs(cpds: Sequence[CPD]) -> Iterator[Pack]:
    """CPDs of real children with the same discrete parents, in groups that have few real columns together."""
    by_context: dict[tuple[Discrete, ...], list[CPD]] = {}
    for cpd in cpds:
        by_context.setdefault(tuple(v for v in cpd.scope if isinstance(v, Discrete)), []).append(cpd)
    for given, members in by_context.items():
        reals: dict[Vector, None] = {}
        pack: list[CPD] = []
        for cpd in members:
            own = dict.fromkeys(v for v in cpd.scope if isinstance(v, Vector))
            if pack and len(reals | own) > WIDEST:
                yield tuple(reals), given, pack
                reals, pack = {}, []
            reals |= own
            pack.append(cpd)
        yield tuple(reals), given, pack


def _blocks(template: BayesNet, statistics: Callable[[CPD], Any]) -> dict[ParameterBlock, Pooled]:
    return {
        block: Pooled(cpds, pooled(cpds, [statistics(cpd) for cpd in cpds]))
        for block, cpds in blocks_of(template).items()
    }


def pooled(cpds: Sequence[CPD], parts: Sequence[Any]) -> Any:
    """The sum of statistics of tied CPDs, over the variables of the first."""
    first = cpds[0].parameters
    total = first.aligned(parts[0])
    for part in parts[1:]:
        total = total + first.aligned(part)
    return total
