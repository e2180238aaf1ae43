"""Rows with uncertain findings: likelihoods, soft findings and subsets, for all rows or in single cells.

A likelihood that holds for all rows is one more factor of the problem, so that rows are still answered in a batch. A
soft finding is fitted in every row together with its other findings, and an uncertain cell is a finding of its own row:
such rows are answered one at a time, equal ones once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.text import brief, listing
from sepset.errors import DataError, ScopeError
from sepset.factors.block import Single
from sepset.factors.table import Table
from sepset.inference.capabilities import answer_rows, row_residual
from sepset.inference.diagnosis.soft import resolve_soft
from sepset.inference.evidencerows import EvidenceRows, RowAnswers, RowMoments, Workers
from sepset.inference.method import Prepared, dense, prepare
from sepset.variables.evidence import KINDS, Evidence, Likelihood, Not, Soft, resolve
from sepset.variables.universe import Universe

UNCERTAIN = (Likelihood, Soft, Not, Set)
"""The types of cells that are findings, but not states."""


@dataclass(frozen=True, eq=False)
class UncertainRows:
    """Findings of rows: their states, the evidence that holds in every row, and the uncertain cells of some rows.

    Attributes:
        rows: the states and numbers of each row.
        shared: likelihoods and soft findings of all rows; its states are columns of `rows`.
        cells: the uncertain findings of single rows, by the number of the row.
    """

    rows: EvidenceRows
    shared: Evidence = field(default_factory=Evidence)
    cells: Mapping[int, Evidence] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def is_batch(self) -> bool:
        """Whether every row has the same uncertain findings, and none is soft."""
        return not self.shared.soft and not self.cells

    def evidence(self, row: int) -> Evidence:
        """One row as evidence."""
        parts = [self.rows.evidence(row), self.shared, self.cells.get(row, Evidence())]
        return Evidence(**{kind: {k: v for p in parts for k, v in getattr(p, kind).items()} for kind in KINDS})

    def distinct(self) -> tuple[UncertainRows, Ints]:
        """The distinct rows, those with uncertain cells each by itself, and for every row the index of its own."""
        plain = np.array([row for row in range(len(self)) if row not in self.cells], np.int64)
        special = np.array(sorted(self.cells), np.int64)
        _, which = self.rows.take(plain).distinct()
        first = plain[np.unique(which, return_index=True)[1]]
        places = np.empty(len(self), np.int64)
        places[plain] = which
        places[special] = len(first) + np.arange(len(special))
        cells = {len(first) + i: self.cells[row] for i, row in enumerate(special.tolist())}
        return UncertainRows(self.rows.take(np.concatenate([first, special])), self.shared, cells), places


def with_shared(rows: EvidenceRows, shared: Evidence, variables: Universe) -> UncertainRows:
    """The rows with findings that hold in all of them; a variable with findings of both kinds raises an error."""
    if not shared:
        return UncertainRows(rows)
    both = sorted(set(shared.touched) & {*rows.positions, *rows.real_positions})
    if both:
        names = listing(variables[v].name for v in both)
        raise ScopeError(f"{names} has a column and a finding in given=. Drop one of them.")
    codes = np.tile(np.array([*shared.codes.values()], np.int32), (len(rows), 1))
    reals = np.tile(np.array([float(x[0]) for x in shared.reals.values()], np.float64), (len(rows), 1))
    joined = EvidenceRows(
        (*rows.positions, *shared.codes),
        np.concatenate([rows.codes, codes.reshape(len(rows), -1)], axis=1),
        (*rows.real_positions, *shared.reals),
        np.concatenate([rows.reals, reals.reshape(len(rows), -1)], axis=1),
    )
    return UncertainRows(joined, Evidence(weights=shared.weights, soft=shared.soft))


def split_cells(data: Any, variables: Universe) -> tuple[dict[str, list[Any]], dict[int, dict[str, Any]]]:
    """The columns of the model's variables without uncertain cells, and these cells by row and name.

    >>> from sepset.variables.variable import Discrete
    >>> split_cells({"a": [0, Not(0)]}, Universe([Discrete("a", 3)]))
    ({'a': [0, None]}, {1: {'a': Not(states=(0,))}})
    """
    columns: dict[str, list[Any]] = {}
    cells: dict[int, dict[str, Any]] = {}
    for name in [name for name in data if name in variables]:
        if isinstance(data[name], str | bytes) or not isinstance(data[name], Iterable):
            raise DataError(f"The column {name!r} has one cell per row; found {brief(data[name])}.")
        column = list(data[name])
        for row in [row for row, cell in enumerate(column) if isinstance(cell, UNCERTAIN)]:
            cells.setdefault(row, {})[name] = column[row]
            column[row] = None
        columns[name] = column
    return columns, cells


def resolved_cells(cells: Mapping[int, Mapping[str, Any]], variables: Universe) -> dict[int, Evidence]:
    """The uncertain cells of each row as evidence; an error names the row."""
    found = {}
    for row, given in cells.items():
        try:
            found[row] = resolve(given, variables)
        except ValueError as error:
            raise DataError(f"Row {row}: {error}") from error
    return found


def weighted(prepared: Prepared, weights: Mapping[int, Floats]) -> Prepared:
    """The method prepared for the problem with a likelihood factor on each of these variables."""
    if not weights:
        return prepared
    problem = prepared.problem
    tables = [Single(Table(problem.variables[v], w), [v]) for v, w in sorted(weights.items())]  # type: ignore[arg-type]
    return prepare(prepared.method, replace(problem, blocks=(*problem.blocks, *tables)))


def answers(
    prepared: Prepared,
    findings: UncertainRows,
    targets: Sequence[int],
    joints: Iterable[Sequence[int]],
    workers: Workers,
) -> tuple[RowAnswers, dict[tuple[int, ...], Floats]]:
    """The posterior of each target in every row, and the joint posterior of each group of targets.

    The log partition of a row is that of its findings without the soft ones, which have no probability.
    """
    groups = [tuple(group) for group in joints]
    if findings.is_batch and not groups:
        made = weighted(prepared, findings.shared.weights)
        return answer_rows(made, findings.rows, targets, workers), {}
    different, which = findings.distinct()
    found = RowAnswers.empty(len(different), targets, prepared.problem.variables.cards)
    tables = {group: np.full((len(different), *_shape(prepared, group)), np.nan) for group in groups}
    residual = np.zeros(len(different))
    for row in range(len(different)):
        evidence = different.evidence(row)
        plain = Evidence(evidence.codes, evidence.weights, reals=evidence.reals)
        found.log_partition[row] = prepared.log_partition(plain)
        if found.log_partition[row] > -np.inf:
            met = resolve_soft(prepared, evidence)
            _fill(prepared, met, row, found, tables)
            residual[row] = row_residual(prepared, met, targets)
        workers.report(row + 1, len(different))
    found = found._replace(residual=residual).measured()
    return found.take(which), {group: table[which] for group, table in tables.items()}


def _shape(prepared: Prepared, group: Sequence[int]) -> list[int]:
    return [int(prepared.problem.variables.cards[v]) for v in group]


def _fill(
    prepared: Prepared,
    evidence: Evidence,
    row: int,
    found: RowAnswers,
    tables: Mapping[tuple[int, ...], Floats],
) -> None:
    """Write the posteriors of one row; targets that a row observes are point masses."""
    read, _ = prepared.marginals(evidence)
    for v, each in found.probabilities.items():
        each[row] = np.eye(each.shape[1])[evidence.codes[v]] if v in evidence.codes else dense(read(v)).values
    for v, moments in found.moments.items():
        _fill_moments(moments, row, evidence.reals.get(v), read, v)
    for group, table in tables.items():
        free = [v for v in group if v not in evidence.codes]
        joint = dense(prepared.query(free, evidence).distribution).values if free else np.ones(())
        table[row] = 0.0
        table[(row, *(evidence.codes.get(v, slice(None)) for v in group))] = joint


def _fill_moments(moments: RowMoments, row: int, known: Floats | None, read: Any, target: int) -> None:
    if known is not None:
        moments.mean[row], moments.variance[row] = known[0], 0.0
        return
    distribution = read(target)
    moments.mean[row] = float(np.ravel(distribution.mean())[0])
    moments.variance[row] = float(np.ravel(distribution.variance())[0])
