"""Networks of regressions, with or without discrete variables: single questions by a clique tree, rows in batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.lazy import carry_over, lazy
from sepset.errors import NotApplicable
from sepset.inference.capabilities import row_by_row
from sepset.inference.completion import by_posteriors, complete_one_by_one, draw_one_by_one, modes_one_by_one
from sepset.inference.conflict import impossible
from sepset.inference.evidencerows import (
    ROWS_LOOKED_AT,
    EvidenceRows,
    ListedRows,
    RowAnswers,
    RowCounts,
    RowValues,
    Workers,
)
from sepset.inference.exact.messages import calibrate
from sepset.inference.exact.tree import PreparedTree
from sepset.inference.gaussian.coordinates import Coordinates
from sepset.inference.gaussian.widths import all_regressions
from sepset.inference.hybrid.discretepart import DiscretePart, discrete_part
from sepset.inference.hybrid.moments import RegressionMoments
from sepset.inference.hybrid.questions import RegressionQuestions
from sepset.inference.hybrid.rows import HybridRows
from sepset.inference.hybrid.widerows import WideRows
from sepset.inference.method import ContextMoments, EliminationMethod
from sepset.inference.values import Values, checked_regressions, checked_values, named_values, replaced
from sepset.problem import Problem
from sepset.variables.evidence import Evidence

T = TypeVar("T", RowAnswers, RowValues)


class RowTree(PreparedTree):
    """Clique-tree inference about any factors, with batches of rows if real variables are normal in each discrete
    context.
    """

    def __init__(self, problem: Problem, method: EliminationMethod, rows: Callable[[PreparedTree], HybridRows]) -> None:
        super().__init__(problem, method, calibrate)
        self._make_rows = rows

    @lazy
    def rows(self) -> HybridRows:
        """The engine for rows of findings."""
        return self._make_rows(self)

    def answer_rows(self, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowAnswers:
        """The log partition of every row, and in each the posterior of every target."""
        self._check_width(rows, targets, together=False)
        return self._enumerated(
            rows,
            targets,
            lambda some: self.rows.answers(some, targets, workers),
            lambda some: row_by_row(self, some, targets, workers),
        )

    def mode_rows(self, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowValues:
        """The targets, each missing cell at its own most probable value."""
        self._check_width(rows, targets, together=False)
        return self._enumerated(
            rows,
            targets,
            lambda some: self._modes(some, targets, workers),
            lambda some: modes_one_by_one(self, some, targets, workers),
        )

    def _modes(self, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowValues:
        found = by_posteriors(self, rows, targets, workers)
        reals = found.rows.reals
        open_columns = np.flatnonzero(np.isnan(reals).any(axis=0))
        if len(open_columns):
            asked = [found.rows.real_positions[column] for column in open_columns.tolist()]
            reals[:, open_columns] = self.rows.modes(rows, asked, workers)
        return found

    def complete_rows(self, rows: EvidenceRows, workers: Workers) -> RowValues:
        """Every variable, with the missing cells of each row at their jointly most probable values."""
        self._check_width(rows, self._everyone, together=True)
        return self._enumerated(
            rows,
            self._everyone,
            lambda some: self.rows.best(some, workers),
            lambda some: complete_one_by_one(self, some, workers),
        )

    def draw_rows(
        self, rows: EvidenceRows, targets: Sequence[int], rng: np.random.Generator, workers: Workers
    ) -> RowValues:
        """The targets, with the missing cells of each row drawn jointly, independently between rows."""
        self._check_width(rows, self._everyone, together=True)
        return self._enumerated(
            rows,
            self._everyone,
            lambda some: self.rows.draws(some, targets, rng, workers),
            lambda some: draw_one_by_one(self, some, targets, rng, workers),
        )

    def _check_width(self, rows: EvidenceRows, targets: Sequence[int], *, together: bool) -> None:
        """Raise if rows hide too many joint states, as far as the graph tells, before the regressions are laid out."""
        if self._elimination.widths is not None:
            self._elimination.widths.check_rows(rows, targets, together=together)

    @property
    def _everyone(self) -> Sequence[int]:
        return range(self.problem.num_visible)

    def _enumerated(
        self,
        rows: EvidenceRows,
        targets: Sequence[int],
        together: Callable[[EvidenceRows], T],
        alone: Callable[[EvidenceRows], T],
    ) -> T:
        """The results of all rows: those with few joint contexts and few missing numbers in a batch, others alone."""
        many = self.rows.are_many(rows, targets)
        if not many.any():
            return together(rows)
        some, others = np.flatnonzero(~many), np.flatnonzero(many)
        found = together(rows.take(some)).joined(alone(rows.take(others)))
        return found.take(np.argsort(np.concatenate([some, others]), kind="stable"))


class RegressionTree(RowTree):
    """Inference about discrete variables and regressions, whose values may change."""

    @lazy
    def discrete(self) -> DiscretePart:
        """The discrete part, with its values."""
        return discrete_part(self.problem)

    @lazy
    def _part(self) -> DiscretePart:
        """The same, or that of a tree with other values: where its variables and factors are is the same."""
        return self.discrete

    @lazy
    def _regressions(self) -> RegressionQuestions:
        widths = self._elimination.widths
        assert widths is not None  # as checked before
        return RegressionQuestions(
            self.problem, self.method, lambda: self.rows.coordinates, lambda: self.discrete, widths, widths.prune
        )

    @lazy
    def _wide_rows(self) -> WideRows:
        widths = self._elimination.widths
        assert widths is not None  # as checked before
        return WideRows(self._regressions.many, widths, self.rows)

    def _check_width(self, rows: EvidenceRows, targets: Sequence[int], *, together: bool) -> None:
        """The same, and if the log partition of the first row is too large."""
        super()._check_width(rows, targets, together=together)
        widths = self._elimination.widths
        if len(rows) and widths is not None and widths.fills_rows(first := rows.evidence(0)):
            self._elimination.require_log_partition(first)

    def answer_rows(self, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowAnswers:
        """The log partition of every row, and in each the posterior of every target."""
        widths = self._elimination.widths
        if widths is None or widths.is_small:
            return super().answer_rows(rows, targets, workers)
        if not any(widths.narrow_order(targets, rows.evidence(row)) for row in range(min(len(rows), ROWS_LOOKED_AT))):
            return super().answer_rows(rows, targets, workers)
        done, found = self._wide_rows.answers(rows, targets, workers)
        if len(done) == len(rows):
            return found
        others = np.setdiff1d(np.arange(len(rows)), done)
        whole = found.joined(super().answer_rows(rows.take(others), targets, workers))
        return whole.take(np.argsort(np.concatenate([done, others]), kind="stable"))

    def with_values(self, values: Values) -> RegressionTree:
        """The same plans with new values: an array for each table, a regression for each regression."""
        problem, part = self.problem, self._part
        named, regressions = named_values(problem, values), checked_regressions(problem, values)
        rest = checked_values(problem, {n: value for n, value in named.items() if n not in regressions})
        arrays = {n: array.copy() for n, array in rest.items()}
        made = replaced(problem, {**arrays, **regressions})
        tables = {i: arrays[n] for i, n in enumerate(part.factors) if n in arrays}
        own = {
            g.child: regressions.get(g.factors[0], problem.regressions[g.child])
            for g in problem.conditionals
            if g.child in problem.regressions
        }
        rows = self.rows.with_values(tables, own)
        tree = RegressionTree(made, self.method, lambda tree: rows)
        carry_over(self, tree, "_part")
        return tree

    def plan_rows(self, rows: EvidenceRows) -> None:
        """Raise if rows hide too many joint states for sums over all of them."""
        self._check_width(rows, self._everyone, together=True)

    def list_rows(self, rows: EvidenceRows, most: int, workers: Workers) -> ListedRows:
        """All completions of missing states, with their probabilities and the moments of missing numbers."""
        return self.rows.listed(rows, self.problem.variables, most, workers)

    def moments(self, reals: Sequence[int], by: Sequence[int]) -> ContextMoments:
        """The moments of real variables in each joint state of discrete ones, in C order."""
        return self._moments.of(reals, by)

    @lazy
    def _moments(self) -> RegressionMoments:
        return RegressionMoments(self.problem, self.rows.discrete, self._part.positions)

    def factor_marginals(self, evidence: Evidence) -> tuple[Floats, ...]:
        """One array per factor: the marginal over a table's scope, the expected products of a regression."""
        if evidence.weights or evidence.soft:
            raise NotApplicable(
                "Expected statistics of regressions take states and numbers as evidence; likelihoods were found. "
                "Observe states instead."
            )
        row = EvidenceRows.one(evidence)
        found = self.summed_marginals(row, np.ones(1), Workers(1))
        if found.log_partition[0] == -np.inf:
            raise impossible(self, evidence)
        return found.factors

    def summed_marginals(self, rows: EvidenceRows, weights: Floats, workers: Workers) -> RowCounts:
        """The weighted sum over the rows of their factor marginals, and the log partition of every row."""
        self._check_width(rows, self._everyone, together=True)
        if self._elimination.widths is not None:
            self._elimination.widths.check_missing(rows)
        found = self.rows.counts(rows, weights, workers)
        factors = dict(zip(self._part.factors, found.tables, strict=True))
        factors |= {g.factors[0]: found.moments[g.child] for g in self.problem.conditionals if g.child in found.moments}
        return RowCounts(tuple(factors[i] for i in range(self.problem.num_factors)), found.log_partition)


def _of_joint(tree: PreparedTree) -> HybridRows:
    """The joint normal distribution of a problem as a regression of each variable on those before it."""
    positions = tuple(range(len(tree.problem.variables)))
    joint, log_total, _ = tree.query(positions, Evidence())
    return HybridRows(Coordinates.of_gaussian(joint, positions), log_total=log_total)


def _of_regressions(tree: PreparedTree) -> HybridRows:
    """The regressions of a problem, with its discrete part prepared."""
    coordinates = Coordinates.of_regressions(tree.problem)
    assert isinstance(tree, RegressionTree)
    part = tree.discrete
    discrete = None if part.problem is None else tree.method.prepare(part.problem)
    return HybridRows(coordinates, part.positions, discrete)


def prepared_tree(problem: Problem, method: EliminationMethod) -> PreparedTree:
    """Inference about a problem with real variables, also in batches of rows if these are normal in each context."""
    if all_regressions(problem):
        return RegressionTree(problem, method, _of_regressions)
    is_mixed = bool((problem.variables.cards > 0).any())
    is_covered = np.zeros(len(problem.variables), np.bool_)
    is_covered[problem.scopes[1]] = True
    if is_mixed or not is_covered.all():  # no joint of all variables is normal
        return PreparedTree(problem, method, calibrate)
    return RowTree(problem, method, _of_joint)
