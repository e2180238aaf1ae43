r"""Pairwise Markov networks of largest pseudo-likelihood.

$$\max_\theta \; \sum_m \sum_j \log P_\theta(x_j[m] \mid \mathbf x_{N_j}[m]) - \tfrac{p}{2} \|\theta\|^2, \qquad
P_\theta(\mathbf x) \propto \exp\Bigl(\sum_j \theta_j(x_j) + \sum_{jk} \theta_{jk}(x_j, x_k)\Bigr)$$

with one table per column and per edge, a concave function of them.

Reference: Besag (1975); Koller & Friedman, section 20.6.1.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import AnyInts, Floats, Ints
from sepset.cpds.priors.weights import WeightPrior
from sepset.data.dataset import Dataset
from sepset.engine.kept import engine_for
from sepset.errors import ArgumentError, NotApplicable, TooLarge
from sepset.factors.table import Table
from sepset.inference.result import Guarantee
from sepset.learning.undirected.markovfit import MarkovFitResult
from sepset.models.markovnet import MarkovNet

STEEP = 15.0
"""Log odds beyond which states count as told apart perfectly, so that there is no maximum."""


class Pairwise(NamedTuple):
    """Codes with the tables of columns and edges, end to end in one vector.

    Attributes:
        codes: one row per column.
        weights: one per row; they sum to one.
        cards: the number of states of each column.
        pairs: the edges by the numbers of columns.
        starts: where the table of each column, and then of each edge, begins.
    """

    codes: AnyInts
    weights: Floats
    cards: Ints
    pairs: Ints
    starts: Ints

    def tables(self, theta: Floats) -> list[Floats]:
        """The table of each column, then of each edge."""
        shapes = [(card,) for card in self.cards.tolist()] + [tuple(self.cards[pair].tolist()) for pair in self.pairs]
        parts = np.split(theta, self.starts[1:-1])
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]

    def loss(self, theta: Floats, precision: float) -> tuple[float, Floats]:
        """The mean loss with the penalty, and its gradient."""
        tables = self.tables(theta)
        size = len(self.cards)
        logits = [np.tile(table, (len(self.weights), 1)) for table in tables[:size]]
        for (j, k), table in zip(self.pairs.tolist(), tables[size:], strict=True):
            logits[j] += table.T[self.codes[k]]
            logits[k] += table[self.codes[j]]
        total, residuals = 0.0, []
        for j, found in enumerate(logits):
            loss, residual = self._column(found, self.codes[j])
            total += loss
            residuals.append(residual)
        gradient = np.concatenate([part.ravel() for part in self._gradients(residuals)])
        return total + 0.5 * precision * float(theta @ theta), gradient + precision * theta

    def _column(self, logits: Floats, answers: AnyInts) -> tuple[float, Floats]:
        rows = np.arange(len(answers))
        shifted = logits - logits.max(1, keepdims=True)
        logs = shifted - np.log(np.exp(shifted).sum(1, keepdims=True))
        residual = np.exp(logs)
        residual[rows, answers] -= 1.0
        return -float(self.weights @ logs[rows, answers]), residual * self.weights[:, None]

    def _gradients(self, residuals: list[Floats]) -> list[Floats]:
        found = [residual.sum(0) for residual in residuals]
        for j, k in self.pairs.tolist():
            table = np.zeros((int(self.cards[j]), int(self.cards[k])))
            np.add.at(table, self.codes[j], residuals[k])
            np.add.at(table.T, self.codes[k], residuals[j])
            found.append(table)
        return found


def fitted_pairs(data: Dataset, pairs: Ints, *, prior: WeightPrior | None, method: object) -> MarkovFitResult:
    """The pairwise Markov network of largest pseudo-likelihood with these edges, by the numbers of columns.

    Args:
        data: complete rows of discrete columns.
        pairs: one row per edge.
        prior: on all entries of the tables; none by default.
        method: named in the result.
    """
    from scipy.optimize import minimize

    if prior is not None and (not isinstance(prior, WeightPrior) or prior.rate):
        raise ArgumentError(f"prior= is a NormalWeights(scale), or None; found {prior!r}.")
    problem = pairwise_problem(data, pairs)
    precision = 0.0 if prior is None else prior.precision / data.total_weight
    found = minimize(
        problem.loss,
        np.zeros(int(problem.starts[-1])),
        (precision,),
        method="L-BFGS-B",
        jac=True,
        options={"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-9},
    )
    tables = [_centered(table) for table in problem.tables(found.x)]
    if max(float(np.ptp(table)) for table in tables) > STEEP:
        raise NotApplicable(
            "The pseudo-likelihood has no maximum: some states never occur together. "
            "Use fit(prior=ss.priors.NormalWeights(1))."
        )
    return _result(data, problem, tables, -float(found.fun) * data.total_weight, method)


def pairwise_problem(data: Dataset, pairs: Ints) -> Pairwise:
    """The rows as codes with their shares of the weight, and where the table of each node and pair begins."""
    cards = np.array([v.num_states for v in data.variables], np.int64)  # type: ignore[union-attr]
    sizes = [*cards.tolist(), *(int(cards[j] * cards[k]) for j, k in pairs.tolist())]
    weights = np.full(data.num_rows, 1.0) if data.weights is None else data.weights
    codes = np.array([data.codes(v) for v in data.variables])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    return Pairwise(codes, weights / weights.sum(), cards, np.asarray(pairs, np.int64).reshape(-1, 2), starts)


def _centered(table: Floats) -> Floats:
    """The table with its mean taken away."""
    return np.asarray(table - table.mean())


def _result(data: Dataset, problem: Pairwise, tables: list[Floats], pseudo: float, method: object) -> MarkovFitResult:
    variables = list(data.variables)
    scopes = [(v,) for v in variables] + [(variables[j], variables[k]) for j, k in problem.pairs.tolist()]
    factors = [Table(scope, np.exp(table)) for scope, table in zip(scopes, tables, strict=True)]  # type: ignore[arg-type]
    net = MarkovNet(*factors, variables=variables)
    total = sum(table[tuple(problem.codes[list(at)])] for table, at in zip(tables, _places(problem), strict=True))
    score = float(problem.weights @ np.broadcast_to(total, problem.weights.shape)) * data.total_weight
    try:
        likelihood = score - data.total_weight * engine_for(net).log_partition().value
    except TooLarge:
        likelihood = math.nan
    return MarkovFitResult(
        net,
        likelihood,
        num_rows=data.total_weight,
        method=method,
        guarantees={"parameters": Guarantee.ESTIMATE},
        info={"log_pseudo_likelihood": f"{pseudo:.10g}"},
    )


def _places(problem: Pairwise) -> list[tuple[int, ...]]:
    return [(j,) for j in range(len(problem.cards))] + [(j, k) for j, k in problem.pairs.tolist()]
