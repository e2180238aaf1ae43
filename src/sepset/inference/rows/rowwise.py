"""Many rows of findings answered one after the other, by any method; and the shape of what a batch finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.inference.method import Prepared, dense
from sepset.inference.rows.evidencerows import Findings


class RowAnswers(NamedTuple):
    """What a batch finds: the log partition of every row, and the targets' probabilities, NaN where impossible."""

    log_partition: Floats
    probabilities: dict[int, Floats]


@dataclass(frozen=True)
class Workers:
    """How a batch runs.

    Attributes:
        threads: how many; one a processor by default. Answers do not depend on it.
        report: called with the rows done and the rows in all.
    """

    threads: int | None = None
    report: Callable[[int, int], None] = field(default=lambda done, total: None)


@runtime_checkable
class AnswersRows(Protocol):
    """A prepared method that takes many rows at once."""

    def answer_rows(self, findings: Findings, targets: Sequence[int], workers: Workers) -> RowAnswers:
        """The posterior of each discrete target and the log partition, for every row."""


def answer_rows(prepared: Prepared, findings: Findings, targets: Sequence[int], workers: Workers) -> RowAnswers:
    """The posterior of each discrete target and the log partition, for every row; rows that repeat count once."""
    if isinstance(prepared, AnswersRows):
        return prepared.answer_rows(findings, targets, workers)
    rows, which = findings.distinct()
    found = row_by_row(prepared, rows, targets, workers)
    return RowAnswers(found.log_partition[which], {v: p[which] for v, p in found.probabilities.items()})


def row_by_row(
    prepared: Prepared, findings: Findings, targets: Sequence[int], workers: Workers | None = None
) -> RowAnswers:
    """The same, one question after the other."""
    report = (workers or Workers()).report
    cards = prepared.problem.variables.cards
    log_partition = np.empty(len(findings))
    probabilities = {v: np.full((len(findings), int(cards[v])), np.nan) for v in targets}
    for row in range(len(findings)):
        log_partition[row], read = _one(prepared, findings, row, targets)
        if log_partition[row] > -np.inf:
            for v in targets:
                probabilities[v][row] = read(v)
        report(row + 1, len(findings))
    return RowAnswers(log_partition, probabilities)


def _one(
    prepared: Prepared, findings: Findings, row: int, targets: Sequence[int]
) -> tuple[float, Callable[[int], Floats]]:
    evidence = findings.evidence(row)
    if not targets:
        return prepared.log_partition(evidence), lambda v: np.zeros(0)
    if len(targets) == 1:
        answer = prepared.query(targets, evidence)
        return answer.log_partition, lambda v: np.asarray(dense(answer.distribution).values)
    reader, log_partition = prepared.marginals(evidence)
    return log_partition, lambda v: np.asarray(dense(reader(v)).values)
