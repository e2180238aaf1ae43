r"""Neighborhood selection: each column regressed on all others with a penalty."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, NamedTuple, Protocol

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.base.checks import number, one_of
from sepset.base.text import listing
from sepset.base.threads import interruptible
from sepset.errors import DataError, NotApplicable
from sepset.inference.iterate import Interrupted, keeping
from sepset.inference.result import Guarantee
from sepset.kernels.structure.lasso import lasso_regressions
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.regressions import SINGULAR, residual_sums
from sepset.learning.structure.undirected.correlations import Correlations
from sepset.learning.structure.undirected.learnednetwork import LearnedNetwork
from sepset.learning.structure.undirected.logistic import (
    LogisticNeighborhoods,
    States,
    largest_penalty,
    logistic_path,
    refitted_loss,
)
from sepset.learning.structure.undirected.penaltychoice import PathPoint
from sepset.learning.structure.undirected.regularized import PenalizedMethod, graph_of

Rule = Literal["and", "or"]

SWEEPS = 100_000


class Neighborhoods(Protocol):
    """Penalized regressions of every column on all others."""

    @property
    def violation(self) -> float:
        """The largest violation of a condition of optimality."""

    @property
    def selected(self) -> Bools:
        """For each column, which others it depends on."""

    @property
    def num_parameters(self) -> int:
        """The number of coefficients that were selected."""

    def log_likelihood(self, columns: Columns) -> float:
        """The sum of the columns' conditional log-likelihoods of other rows, per row."""

    def refitted(self) -> float:
        """The same of the regressions' own rows without the penalty, summed over rows; -inf where it is unbounded."""


class LassoNeighborhoods(NamedTuple):
    """Penalized regressions of real columns."""

    known: Correlations
    coefficients: Floats
    violation: float
    num_rows: int

    @property
    def selected(self) -> Bools:
        """For each column, which others it depends on."""
        return np.asarray(self.coefficients != 0.0)

    @property
    def num_parameters(self) -> int:
        """The number of coefficients that are not zero."""
        return int(self.selected.sum())

    def log_likelihood(self, columns: Columns) -> float:
        """The sum of the columns' conditional log-likelihoods of other rows, per row, up to a constant."""
        left = np.eye(len(self.coefficients)) - self.coefficients
        own = np.einsum("jk,kl,jl->j", left, self.known.matrix, left)
        other = np.einsum("jk,kl,jl->j", left, self.known.about(columns), left)
        return -0.5 * float((np.log(own) + other / own).sum())

    def refitted(self) -> float:
        """The largest conditional log-likelihoods with the columns selected, up to a constant."""
        total = 0.0
        for j, chosen in enumerate(self.selected):
            given = [*np.flatnonzero(chosen).tolist(), j]
            left = float(residual_sums(self.known.matrix[np.ix_(given, given)][None])[0])
            if len(given) >= self.num_rows or not left > SINGULAR * self.known.matrix[j, j]:
                return -math.inf
            total -= 0.5 * self.known.total * math.log(left)
        return total


@dataclass(frozen=True, slots=True, eq=False)
class RefittedNeighborhoods(LogisticNeighborhoods):
    """Penalized regressions of discrete columns, with the losses that were found without a penalty so far."""

    total: float
    losses: dict[tuple[int, bytes], float]

    def refitted(self) -> float:
        """The largest conditional log-likelihoods with the columns selected."""
        total = 0.0
        for j, chosen in enumerate(self.selected):
            key = (j, chosen.tobytes())
            if key not in self.losses:
                self.losses[key] = refitted_loss(self.states, j, np.flatnonzero(chosen))
            total -= self.total * self.losses[key]
        return total


@dataclass(frozen=True)
class NeighborhoodSelection(PenalizedMethod):
    r"""The Markov network in which columns are joined that depend on each other in penalized regressions.

    Each column is regressed on all others: real ones by the lasso (of correlations),

    $$\min_\beta \; \tfrac12 \beta^\top S \beta - S_j^\top \beta + \lambda \|\beta\|_1,$$

    discrete ones by logistic regression with a penalty on the norm of each other column's block of coefficients; for
    two states that is the Ising model with $\lambda \|\theta\|_1$. Two columns are joined if both regressions, or
    one of them, use the other column.

    Args:
        penalty: $\lambda > 0$, or how it is chosen: `ExtendedBIC()`, `StARS()`, or a splitter such as `KFold(5)`.
        rule: "and" joins columns that select each other, "or" those of which one selects the other.
        num_penalties: how many are tried at most, evenly on the scale of logarithms.
        smallest: the smallest of them, as a share of the largest, with which no edge is found.
        tolerance: the violation of a condition of optimality at which a regression counts as exact.

    Reference: Meinshausen & Buehlmann (2006); Ravikumar, Wainwright & Lafferty (2010); Jalali et al. (2011) for blocks.
    Guarantee: each regression is optimal within the tolerance.
    Tested by: learning/structure/undirected/test_neighborhoods.py::test_an_ising_model_is_recovered

    >>> from sepset.learning.structure.columns import Columns
    >>> rows = {"a": [0, 0, 1, 1] * 9 + [0, 1], "b": [0, 0, 1, 1] * 9 + [1, 0], "c": [0, 1, 0, 1] * 9 + [0, 1]}
    >>> NeighborhoodSelection().learn(StructureTask(Columns.of(rows))).graph
    UndirectedGraph(a - b; c)
    """

    rule: Rule = field(default="and", kw_only=True)
    tolerance: float = field(default=1e-5, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("rule", self.rule, ("and", "or"))
        number("tolerance", self.tolerance, above=0.0)

    def learn(self, task: StructureTask) -> LearnedNetwork:
        """The network at the chosen penalty."""
        _require_one_kind(task.columns)
        path, place, status = self.walked(task)
        point = path[place]
        is_exact = point.gap <= self.tolerance
        return LearnedNetwork(
            graph_of(task.columns, point.support),
            columns=task.columns,
            method=self,
            status=status,
            guarantees={"structure": Guarantee.EXACT if is_exact else Guarantee.ESTIMATE},
            info={"penalty": f"{point.penalty:.6g}", "violation": f"{point.gap:.2g}"},
            penalty=point.penalty,
            path=path,
        )

    def largest(self, columns: Columns) -> float:
        """The smallest penalty with which no column selects another."""
        if columns.is_real.any():
            return _correlations(columns).largest
        return largest_penalty(States.of(columns))

    def path(self, columns: Columns, penalties: Floats) -> Iterator[PathPoint]:
        """The networks along the path."""
        made = self._lasso if columns.is_real.any() else self._logistic
        estimates = made(columns, penalties)
        for penalty in penalties.tolist():
            try:
                found = next(estimates)
            except Interrupted as cut:
                raise Interrupted(self._point(penalty, cut.state)) from None
            yield self._point(penalty, found)

    def _point(self, penalty: float, found: Neighborhoods) -> PathPoint:
        chosen = found.selected
        support = chosen & chosen.T if self.rule == "and" else chosen | chosen.T
        count = found.num_parameters
        return PathPoint(
            penalty,
            support,
            selected=chosen,
            num_parameters=count,
            num_choices=count,
            gap=found.violation,
            estimate=found,
        )

    def refitted(self, point: PathPoint, columns: Columns) -> float:
        """The sum of the largest conditional log-likelihoods with the columns selected."""
        found: Neighborhoods = point.estimate
        return found.refitted()

    def held_out(self, point: PathPoint, columns: Columns) -> float:
        """The sum of the conditional log-likelihoods of other rows, per row."""
        found: Neighborhoods = point.estimate
        return found.log_likelihood(columns)

    def _lasso(self, columns: Columns, penalties: Floats) -> Iterator[Neighborhoods]:
        known = _correlations(columns)
        coefficients = np.zeros(known.matrix.shape)
        allowed = ~np.eye(len(coefficients), dtype=np.bool_)
        for penalty in penalties.tolist():
            violation = math.inf
            finer = 0.1 * self.tolerance
            while violation > self.tolerance and finer > 1e-14:
                given = (known.matrix, allowed, penalty, coefficients, SWEEPS, finer)
                with keeping(lambda: LassoNeighborhoods(known, coefficients.copy(), math.inf, columns.num_rows)):
                    violation = interruptible(partial(lasso_regressions, *given))
                finer *= 0.1
            yield LassoNeighborhoods(known, coefficients.copy(), violation, columns.num_rows)

    def _logistic(self, columns: Columns, penalties: Floats) -> Iterator[Neighborhoods]:
        states = States.of(columns)
        losses: dict[tuple[int, bytes], float] = {}
        for found in logistic_path(states, penalties, self.tolerance):
            yield RefittedNeighborhoods(states, found.coefficients, found.violation, columns.total, losses)


def _correlations(columns: Columns) -> Correlations:
    return Correlations.of(columns, is_scaled=True, method="NeighborhoodSelection")


def _require_one_kind(columns: Columns) -> None:
    if columns.is_mixed:
        real = [name for name, is_real in zip(columns.names, columns.is_real, strict=True) if is_real]
        raise NotApplicable(
            f"NeighborhoodSelection learns from columns of one kind; {listing(real)} "
            f"{'is' if len(real) == 1 else 'are'} real and others are discrete. Discretize, or leave some out."
        )
    if not columns.is_real.any():
        constant = [
            name for name, codes in zip(columns.names, columns.codes, strict=True) if codes.min() == codes.max()
        ]
        if constant:
            raise DataError(f"The column {listing(constant)} is constant: it depends on no other. Drop it.")
