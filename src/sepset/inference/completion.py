r"""Imputation of missing cells: each variable's mode or mean, the joint mode, or joint draws; by any prepared method.

A method with the capability `CompletesRows` does it itself. For others, discrete variables come from posteriors of many
rows together, and joint draws from the chain rule,

$$h_1 \sim P(h_1 \mid \mathbf o), \quad h_2 \sim P(h_2 \mid \mathbf o, h_1), \quad \dots,$$

one batch per variable for any number of missingness patterns; real variables come from one question per row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats, Ints
from sepset.data.missingness import members
from sepset.inference.capabilities import answer_rows
from sepset.inference.evidencerows import EvidenceRows, RowAnswers, RowValues, Workers
from sepset.inference.method import CompletesRows, Prepared, Rewrites, can
from sepset.problem import Problem
from sepset.variables.evidence import Evidence

MOST_LISTED = 64
"""Completions of a row up to which they are all scored, if factors depend on what is observed."""

MOST_TOGETHER = 2**16
"""Completions that are scored together."""


def mode_rows(prepared: Prepared, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowValues:
    """The targets, each missing cell at its own most probable value, and the log partitions."""
    if can(prepared, CompletesRows):
        return prepared.mode_rows(rows, targets, workers)
    return modes_one_by_one(prepared, rows, targets, workers)


def modes_one_by_one(prepared: Prepared, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowValues:
    """The result of `mode_rows`, real targets by one question per target and row, or one per row."""
    different, which = rows.distinct()
    made, log_partition = by_posteriors(prepared, different, targets, workers)
    for row in np.flatnonzero(log_partition > -np.inf):
        empty = np.flatnonzero(np.isnan(made.reals[row])).tolist()
        asked = [made.real_positions[column] for column in empty]
        for column, found in zip(empty, _each_marginal(prepared, asked, different.evidence(int(row))), strict=True):
            made.reals[row, column] = np.ravel(found.mode())[0]
    return RowValues(made, log_partition).take(which)


def _each_marginal(prepared: Prepared, targets: Sequence[int], evidence: Evidence) -> Iterable[Any]:
    """The marginal of each real target: by its own question, which knows mixtures; by one pass if all are normal."""
    if len(targets) <= 1 or prepared.problem.variables.cards.any():
        return (prepared.query([v], evidence).distribution for v in targets)
    return map(prepared.marginals(evidence)[0], targets)


def mean_rows(prepared: Prepared, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowValues:
    """The targets, missing states at their modes and missing numbers at their posterior means; the log partitions."""
    discrete, real = parted(prepared.problem, targets)
    found = answer_rows(prepared, rows, [*discrete, *real], workers)
    made = _most_probable(rows.over(discrete, real), found)
    for column, position in enumerate(real):
        empty = np.isnan(made.reals[:, column])
        made.reals[empty, column] = found.moments[position].mean[empty]
    return RowValues(made, found.log_partition)


def by_posteriors(prepared: Prepared, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowValues:
    """The result of `mode_rows` for the discrete targets, from their posteriors; ties go to the first state."""
    discrete, real = parted(prepared.problem, targets)
    found = answer_rows(prepared, rows, discrete, workers)
    return RowValues(_most_probable(rows.over(discrete, real), found), found.log_partition)


def _most_probable(made: EvidenceRows, found: RowAnswers) -> EvidenceRows:
    """Fill in the most probable state of each discrete variable; returns the rows."""
    for column, position in enumerate(made.positions):
        empty = np.flatnonzero((made.codes[:, column] < 0) & (found.log_partition > -np.inf))
        made.codes[empty, column] = found.probabilities[position][empty].argmax(axis=1)
    return made


def complete_rows(prepared: Prepared, rows: EvidenceRows, workers: Workers) -> RowValues:
    """The rows with their jointly most probable completion, and the logarithms of these maxima.

    Impossible rows have -inf and are left unchanged.

    Reference: Koller & Friedman, section 13.2.
    Guarantee: as the method.
    Tested by: inference/test_completion.py::test_methods_that_cannot_complete_rows_are_asked_one_by_one
    """
    is_rewriting = can(prepared, Rewrites)
    if is_rewriting and _has_conditional_factors(prepared.problem):
        return _complete_by_listing(prepared, rows, workers)
    return _complete_by_maxima(prepared, rows, workers)


def _complete_by_maxima(prepared: Prepared, rows: EvidenceRows, workers: Workers) -> RowValues:
    if can(prepared, CompletesRows):
        return prepared.complete_rows(rows, workers)
    return complete_one_by_one(prepared, rows, workers)


def _has_conditional_factors(problem: Problem) -> bool:
    """Whether factors over states depend on what a row observes, or serve sums only: a maximum per row is slow then."""
    forms = problem.forms
    is_discrete = all(v.is_discrete for form in forms for v in form.source.scope)
    return is_discrete and any(form.is_deferred or not form.is_functional for form in forms)


def _complete_by_listing(prepared: Prepared, rows: EvidenceRows, workers: Workers) -> RowValues:
    """The result of `complete_rows`: rows with few completions by scoring all of these, the others by maxima."""
    different, which = rows.distinct()
    made = different.over(*parted(prepared.problem, range(prepared.problem.num_visible)))
    cards = prepared.problem.variables.cards[list(made.positions)].astype(np.float64)
    with np.errstate(over="ignore"):  # infinitely many are too many
        is_listed = np.where(made.codes < 0, cards, 1.0).prod(axis=1) <= MOST_LISTED
    is_listed &= ~np.isnan(made.reals).any(axis=1)
    if len(made.positions) + len(made.real_positions) < prepared.problem.num_visible:
        is_listed[:] = False  # vectors have no column
    few, many = np.flatnonzero(is_listed), np.flatnonzero(~is_listed)
    parts = [_best_listed(prepared, made.take(some), workers) for some in _portions(few)]
    if len(many):
        parts.append(_complete_by_maxima(prepared, different.take(many), workers))
    if not parts:
        return RowValues(made, np.zeros(0))
    place = np.empty(len(different), np.int64)
    place[np.concatenate([few, many])] = np.arange(len(different))
    return reduce(RowValues.joined, parts).take(place[which])


def _portions(rows: Ints) -> list[Ints]:
    size = MOST_TOGETHER // MOST_LISTED
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def _best_listed(prepared: Prepared, made: EvidenceRows, workers: Workers) -> RowValues:
    """The rows with the completion of the highest score; of equal ones the first."""
    cards = prepared.problem.variables.cards[list(made.positions)]
    hidden = made.codes < 0
    numbers = np.where(hidden, cards, 1)
    steps = np.cumprod(numbers[:, ::-1], axis=1)[:, ::-1] // numbers
    owner = np.repeat(np.arange(len(made)), numbers.prod(axis=1))
    first = np.searchsorted(owner, np.arange(len(made)))
    code = (np.arange(len(owner)) - first[owner])[:, None] // steps[owner] % numbers[owner]
    codes = np.where(hidden[owner], code, made.codes[owner])
    listed = EvidenceRows(made.positions, codes.astype(np.int32), made.real_positions, made.reals[owner])
    scores = answer_rows(prepared, listed, (), workers).log_partition
    log_value = np.maximum.reduceat(scores, first)
    order = np.flatnonzero(scores == log_value[owner])
    best = order[np.searchsorted(owner[order], np.arange(len(made)))]
    is_possible = log_value > -np.inf
    kept = np.where(is_possible[:, None], listed.codes[best], made.codes)
    return RowValues(EvidenceRows(made.positions, kept, made.real_positions, made.reals), log_value)


def complete_one_by_one(prepared: Prepared, rows: EvidenceRows, workers: Workers) -> RowValues:
    """The result of `complete_rows`, by one question per distinct row; findings are masks, so rows share a plan."""
    problem = prepared.problem
    num, cards = problem.num_visible, problem.variables.cards.tolist()

    def complete(evidence: Evidence, number: int) -> tuple[Mapping[int, Any], float]:
        if not problem.variables.all_discrete:
            known = set(evidence.observed)
            return prepared.best(evidence, [v for v in range(num) if v not in known])
        codes = evidence.codes
        masks = {v: np.eye(cards[v])[codes[v]] if v in codes else np.ones(cards[v]) for v in range(num)}
        return prepared.best(Evidence({}, masks), range(num))

    return one_by_one(problem, rows, range(num), complete, workers)


def draw_rows(
    prepared: Prepared, rows: EvidenceRows, targets: Sequence[int], rng: np.random.Generator, workers: Workers
) -> RowValues:
    """The targets, the missing cells of each row drawn jointly, independently between rows; and the log partitions.

    Impossible rows have -inf and are left unchanged.
    """
    if can(prepared, CompletesRows):
        return prepared.draw_rows(rows, targets, rng, workers)
    if prepared.problem.variables.all_discrete:
        return by_chain_rule(prepared, rows, targets, rng, workers)
    return draw_one_by_one(prepared, rows, targets, rng, workers)


def draw_one_by_one(
    prepared: Prepared, rows: EvidenceRows, targets: Sequence[int], rng: np.random.Generator, workers: Workers
) -> RowValues:
    """The result of `draw_rows`, by one question per distinct row."""

    def complete(evidence: Evidence, number: int) -> tuple[Mapping[int, Any], float]:
        log_partition = prepared.log_partition(evidence)
        return ({} if log_partition == -np.inf else prepared.sample(number, evidence, rng)), log_partition

    return one_by_one(prepared.problem, rows, targets, complete, workers)


def by_chain_rule(
    prepared: Prepared, rows: EvidenceRows, targets: Sequence[int], rng: np.random.Generator, workers: Workers
) -> RowValues:
    """The result of `draw_rows` for discrete targets: one after another for all rows, each given those drawn before."""
    log_partition = answer_rows(prepared, rows, (), workers).log_partition
    made = rows.over(tuple(dict.fromkeys((*rows.positions, *targets))), ())
    for position in targets:
        column = made.positions.index(position)
        empty = np.flatnonzero((log_partition > -np.inf) & (made.codes[:, column] < 0))
        if len(empty):
            given = made.take(empty).found()
            chances = answer_rows(prepared, given, (position,), workers).probabilities[position]
            made.codes[empty, column] = drawn(chances, rng.random(len(empty)))
    return RowValues(made.over(targets, ()), log_partition)


def drawn(chances: Floats, uniform: Floats) -> Ints:
    """A state for each row of probabilities, by uniform numbers in [0, 1); never one of probability zero.

    >>> drawn(np.array([[0.2, 0.0, 0.8], [0.2, 0.0, 0.8]]), np.array([0.1, 0.2])).tolist()
    [0, 2]
    """
    reached = np.cumsum(chances, axis=1)
    last = chances.shape[1] - 1 - (chances[:, ::-1] > 0).argmax(axis=1)
    reached[np.arange(chances.shape[1]) >= last[:, None]] = 1.0
    return np.asarray((reached <= uniform[:, None]).sum(axis=1))


def one_by_one(
    problem: Problem,
    rows: EvidenceRows,
    targets: Sequence[int],
    complete: Callable[[Evidence, int], tuple[Mapping[int, Any], float]],
    workers: Workers,
) -> RowValues:
    """The targets completed by one question per distinct row.

    Args:
        complete: from evidence and its number of rows to values by position and a log value.
    """
    made, log_value = rows.over(*parted(problem, targets)), np.full(len(rows), -np.inf)
    different, which = rows.distinct()
    done = 0
    for number, same in enumerate(members(which, len(different))):
        values, log_value[same] = complete(different.evidence(number), len(same))
        _put(made, same, values)
        done += len(same)
        workers.report(done, len(made))
    return RowValues(made, log_value)


def _put(made: EvidenceRows, rows: Ints, values: Mapping[int, AnyArray]) -> None:
    """Write values into the missing cells of these rows."""
    for positions, table in ((made.positions, made.codes), (made.real_positions, made.reals)):
        for column, position in enumerate(positions):
            if position in values:
                old = table[rows, column]
                empty = old < 0 if table is made.codes else np.isnan(old)
                new = np.broadcast_to(np.asarray(values[position]).reshape(-1), rows.shape)
                table[rows[empty], column] = new[empty]


def parted(problem: Problem, positions: Sequence[int]) -> tuple[list[int], list[int]]:
    """The positions of discrete and of scalar real variables; vectors have no column and are left out."""
    if problem.variables.all_discrete:
        return list(positions), []
    cards = problem.variables.cards
    real = [v for v in positions if cards[v] == 0 and problem.variables[v].size == 1]  # type: ignore[union-attr]
    return [v for v in positions if cards[v] > 0], real
