r"""Capabilities for every prepared method: its own, or derived from plain questions.

Each function takes any prepared method. If the method has the capability, that is used; otherwise the answer comes from
`query`, `marginals` and `log_partition`, one row or one factor at a time. So a method that only answers
questions can serve prediction, and the E-step of EM,

$$\bar M[\mathbf u] = \sum_m w_m P(\mathbf u \mid \mathbf e[m]).$$
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats
from sepset.base.checks import row_weights
from sepset.data.dataset import Dataset
from sepset.errors import NotApplicable
from sepset.factors.coordinates import width
from sepset.factors.moments import GaussianMixture
from sepset.inference.conflict import impossible, refuse_impossible
from sepset.inference.evidencerows import EvidenceRows, ListedRows, RowAnswers, RowCounts, Workers
from sepset.inference.method import (
    AnswersQueries,
    AnswersRows,
    ContextMoments,
    CountsRows,
    FindsMoments,
    ListsRows,
    MeasuresResiduals,
    PlansRows,
    Prepared,
    TakesValues,
    can,
    dense,
)
from sepset.inference.values import Values, checked_regressions, checked_values, named_values, replaced, tables
from sepset.variables.evidence import Evidence
from sepset.variables.variable import Vector


def with_values(prepared: Prepared, values: Values) -> Prepared:
    """The method prepared for the same structure with new values; from scratch if it cannot reuse its plans.

    Args:
        values: one array per factor over its scope, a table or a regression; factors that a mapping by number leaves
            out keep theirs.
    """
    problem = prepared.problem
    wide = tables(problem, values)
    if not wide and can(prepared, TakesValues):
        return prepared.with_values(values)
    regressions = checked_regressions(problem, values)
    rest = {n: value for n, value in named_values(problem, values).items() if n not in {*regressions, *wide}}
    copies = {number: array.copy() for number, array in checked_values(problem, rest).items()}
    return prepared.method.prepare(replaced(problem, {**copies, **wide, **regressions}))


def answer_rows(prepared: Prepared, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowAnswers:
    """The log partition of every row and the posterior of each target in it; equal rows are answered once."""
    if can(prepared, AnswersRows):
        return prepared.answer_rows(rows, targets, workers)
    different, which = rows.distinct()
    return row_by_row(prepared, different, targets, workers).take(which)


def row_by_row(
    prepared: AnswersQueries, rows: EvidenceRows, targets: Sequence[int], workers: Workers | None = None
) -> RowAnswers:
    """The answers of `answer_rows`, from one question per distinct row."""
    report = (workers or Workers()).report
    found, residual = RowAnswers.empty(len(rows), targets, prepared.problem.variables.cards), np.zeros(len(rows))
    for row in range(len(rows)):
        evidence = rows.evidence(row)
        found.log_partition[row], read = _one_row(prepared, evidence, targets)
        if found.log_partition[row] > -np.inf:
            for v, each in found.probabilities.items():
                each[row] = _indicator(evidence.codes[v], each) if v in evidence.codes else dense(read(v)).values
            for v, (mean, variance) in found.moments.items():
                known = evidence.reals.get(v)
                mean[row], variance[row] = (known[0], 0.0) if known is not None else _moments(read(v))
            residual[row] = row_residual(prepared, evidence, targets)
        report(row + 1, len(rows))
    return found._replace(residual=residual).measured()


def row_residual(prepared: AnswersQueries, evidence: Evidence, targets: Sequence[int]) -> float:
    """The largest relative residual of the answers of one row; NaN if it was not measured."""
    found = prepared.residual(evidence.free(targets), evidence) if can(prepared, MeasuresResiduals) else None
    return np.nan if found is None else found


def _one_row(
    prepared: AnswersQueries, evidence: Evidence, targets: Sequence[int]
) -> tuple[float, Callable[[int], Any]]:
    free = [v for v in targets if v not in evidence.codes and v not in evidence.reals]
    if len(free) == 1:
        answer = prepared.query(free, evidence)
        return answer.log_partition, lambda v: answer.distribution
    if free:
        reader, log_partition = prepared.marginals(evidence)
        return log_partition, reader
    return prepared.log_partition(evidence), lambda v: None


def _indicator(code: int, probabilities: Floats) -> Floats:
    return np.asarray(np.arange(probabilities.shape[1]) == code, np.float64)


def _moments(distribution: Any) -> tuple[float, float]:
    return float(np.ravel(distribution.mean())[0]), float(np.ravel(distribution.variance())[0])


def factor_marginals(prepared: Prepared, evidence: Evidence) -> tuple[Floats, ...]:
    """The marginal over every factor's scope, observed variables as point masses; otherwise one query per scope."""
    if can(prepared, CountsRows):
        return prepared.factor_marginals(evidence)
    problem = prepared.problem
    if not problem.variables.all_discrete:
        raise NotApplicable("Marginals over factors are arrays over discrete scopes; this problem has continuous ones.")
    if prepared.log_partition(evidence) == -np.inf:
        raise impossible(prepared, evidence)
    known: dict[tuple[int, ...], Floats] = {}
    for scope in map(problem.scope, range(problem.num_factors)):
        if scope not in known:
            known[scope] = _scope_marginal(prepared, scope, evidence)
    return tuple(known[problem.scope(number)] for number in range(problem.num_factors))


def _scope_marginal(prepared: AnswersQueries, scope: Sequence[int], evidence: Evidence) -> Floats:
    """The joint of a scope, with observed variables as point masses."""
    free = [v for v in scope if v not in evidence.codes]
    whole = np.zeros([int(prepared.problem.variables.cards[v]) for v in scope])
    found = dense(prepared.query(free, evidence).distribution).values if free else 1.0
    whole[tuple(evidence.codes.get(v, slice(None)) for v in scope)] = found
    return whole


def summed_marginals(prepared: Prepared, rows: EvidenceRows, weights: Floats, workers: Workers) -> RowCounts:
    """The weighted sum over the rows of their factor marginals, and the log partition of every row.

    Impossible rows have -inf and contribute nothing. Repeated rows are answered again.

    Reference: Koller & Friedman 19.2.2.
    Guarantee: exact.
    Tested by: inference/rows/test_batch.py::test_expected_counts
    """
    if can(prepared, CountsRows):
        return prepared.summed_marginals(rows, weights, workers)
    totals = tuple(np.zeros(shape) for shape in prepared.problem.shapes)
    log_partition = np.empty(len(rows))
    for row in range(len(rows)):
        evidence = rows.evidence(row)
        log_partition[row] = prepared.log_partition(evidence)
        if log_partition[row] > -np.inf:
            for total, marginal in zip(totals, factor_marginals(prepared, evidence), strict=True):
                total += weights[row] * marginal
        workers.report(row + 1, len(rows))
    return RowCounts(totals, log_partition)


def plan_rows(prepared: Prepared, rows: EvidenceRows) -> None:
    """Plan `summed_marginals` of these rows, where the method can: one that is too large is refused before any work."""
    if can(prepared, PlansRows):
        prepared.plan_rows(rows)


def list_rows(prepared: Prepared, rows: EvidenceRows, most: int, workers: Workers) -> ListedRows:
    """All completions of the missing states of rows, with the moments of missing numbers; see `ListsRows`.

    Args:
        most: the largest number of completions of a row.

    Guarantee: exact.
    Tested by: learning/structure/hidden/test_mixedcells.py::test_expected_statistics_by_enumeration
    """
    if can(prepared, ListsRows):
        return prepared.list_rows(rows, most, workers)
    raise NotApplicable(f"{prepared!r} does not list the completions of rows. Use CliqueTree() for regressions.")


def moments(prepared: Prepared, reals: Sequence[int], by: Sequence[int]) -> ContextMoments:
    """The moments of real variables in each joint state of discrete ones; otherwise by one query for each.

    Args:
        reals: the positions of real variables.
        by: the positions of discrete variables; the contexts are their joint states in C order.
    """
    if can(prepared, FindsMoments):
        return prepared.moments(reals, by)
    shape = [int(prepared.problem.variables.cards[v]) for v in by]
    answer = dense(prepared.query(by, Evidence()).distribution).values if by else 1.0
    weights = np.asarray(answer, np.float64).reshape(-1)
    size = width(v for v in map(prepared.problem.variables.__getitem__, reals) if isinstance(v, Vector))
    mean, root = np.zeros((len(weights), size)), np.zeros((len(weights), size, size))
    for context in np.flatnonzero(weights) if reals else ():
        codes = dict(zip(by, (int(c) for c in np.unravel_index(context, shape)), strict=True))
        found = prepared.query(reals, Evidence(codes)).distribution
        joint = found.to_gaussian() if isinstance(found, GaussianMixture) else found
        values, vectors = np.linalg.eigh(joint.covariance)
        mean[context], root[context] = joint.mu, np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    return ContextMoments(weights, mean, root)


class ExpectedCounts(NamedTuple):
    r"""Sums over rows of the marginals $P(\mathbf u \mid \mathbf e[m])$ over factor scopes: the E-step of EM.

    Attributes:
        factors: one array per factor, with an axis per variable of its scope.
        log_likelihood: the weighted sum of the rows' log partitions.
    """

    factors: tuple[Floats, ...]
    log_likelihood: float


def expected_counts(
    prepared: Prepared, dataset: Dataset, *, weights: AnyArray | None = None, threads: int | None = None
) -> ExpectedCounts:
    """The sum over rows of the factor marginals given each row, missing cells unobserved; equal rows count once.

    Raises `ImpossibleEvidence` for impossible rows of positive weight.

    Args:
        dataset: the rows; its columns are variables of the problem.
        weights: one per row; all one by default.
        threads: the number of threads; the counts do not depend on it.

    Reference: Koller & Friedman, section 19.2.2.
    """
    weight = _row_weights(dataset, weights)
    rows, which = EvidenceRows.of(dataset, prepared.problem.variables).distinct()
    summed = np.bincount(which, weight, len(rows)).astype(np.float64)
    factors, log_partition = summed_marginals(prepared, rows, summed, Workers(threads))
    used = weight > 0
    each = np.where(used, log_partition[which], 0.0)
    refuse_impossible(each)
    return ExpectedCounts(factors, float(weight @ each))


def _row_weights(dataset: Dataset, weights: AnyArray | None) -> Floats:
    return np.ones(dataset.num_rows) if weights is None else row_weights(weights, dataset.num_rows)
