r"""Learned Markov networks: edges without a direction, and parameters of largest likelihood or pseudo-likelihood."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.errors import NotApplicable
from sepset.graphs.graph import UndirectedGraph
from sepset.learning.fit import LearningMethod
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.learned import Learned
from sepset.learning.structure.undirected.concentration import Concentration, inverse_of, maximized
from sepset.learning.structure.undirected.correlations import Correlations
from sepset.learning.structure.undirected.penaltychoice import PathPoint
from sepset.learning.undirected.markovfit import MarkovFitResult, gaussian_markov_net
from sepset.learning.undirected.pseudolikelihood import fitted_pairs

SELECTION_STEPS = 40
"""The steps of Newton's method after which a likelihood without penalty counts as unbounded."""

ROUNDING = 1e-10
"""The relative gap that rounding may leave."""

REGRESSION_SWEEPS = 200
"""How often each column is regressed on its neighbors, where Newton's method did not converge."""

REGRESSED = 1e-14
"""The largest change of a covariance, relative to the largest variance, at which regressions end."""


@dataclass(frozen=True, eq=False, repr=False)
class LearnedNetwork(Learned[UndirectedGraph]):
    """A learned Markov network.

    Attributes:
        penalty: with which the edges were found.
        path: what was found with each penalty, from the largest.
    """

    penalty: float = field(kw_only=True)
    path: tuple[PathPoint, ...] = field(kw_only=True)

    def fit(self, method: LearningMethod | None = None, **options: Any) -> MarkovFitResult:
        """The network with these edges and parameters from the same rows.

        Real columns get the Gaussian network of largest likelihood (covariance selection). Discrete ones get one factor
        per edge, of largest pseudo-likelihood: the product of each column's probability given its neighbors.

        Args:
            method: maximum likelihood only.
            options: of discrete columns `prior=NormalWeights(1)`, which shrinks the parameters.

        Reference: Dempster (1972); Besag (1975); Koller & Friedman, sections 20.3 and 20.6.
        """
        from sepset.learning.estimation.estimators import MLE

        estimator = MLE() if method is None else method
        if not isinstance(estimator, MLE) or options.keys() - {"prior"}:
            raise NotApplicable("Markov networks are fitted by maximum likelihood or pseudo-likelihood: use fit().")
        if self.columns.is_real.any():
            if options:
                raise NotApplicable("prior= is for discrete columns; these are real. Use fit().")
            return _gaussian(self.columns, self._support, estimator)
        pairs = np.argwhere(np.triu(self._support, 1))
        return fitted_pairs(self.columns.dataset, pairs, prior=options.get("prior"), method=estimator)

    @property
    def _support(self) -> Bools:
        index = self.graph.index
        found = np.zeros((len(index), len(index)), np.bool_)
        for a, b in self.graph.edges:
            found[index[a], index[b]] = found[index[b], index[a]] = True
        return found


def selected(
    support: Bools, known: Correlations, *, start: Floats | None = None, tolerance: float
) -> Concentration | None:
    """The concentration matrix of largest likelihood with these edges; None if the likelihood has no maximum.

    Strong dependences make Newton's steps inexact; the start is then the estimate by regressions on neighbors.

    Reference: Dempster (1972); Hastie, Tibshirani & Friedman (2009), algorithm 17.1, for regressions.
    """
    penalties = np.where(support, 0.0, np.inf)
    np.fill_diagonal(penalties, 0.0)

    def solved(begin: Floats | None) -> Concentration | None:
        found = maximized(known.matrix, penalties, start=begin, tolerance=tolerance, most_steps=SELECTION_STEPS)
        return found if found.gap <= max(tolerance, ROUNDING * abs(found.objective)) else None

    if (found := solved(start)) is not None:
        return found
    again = regressed(support, known.matrix)
    return None if again is None else solved(again)


def regressed(support: Bools, covariance: Floats) -> Floats | None:
    r"""The concentration matrix with these edges by regressions of each column on its neighbors, in turn.

    $$\beta = W_{NN}^{-1} S_{Nj}, \qquad W_{\cdot j} = W_{\cdot N} \beta$$

    None where a covariance of neighbors is singular.
    """
    known, scales = covariance.copy(), np.diagonal(covariance)
    for _ in range(REGRESSION_SWEEPS):
        before = known.copy()
        for j in range(len(known)):
            near = np.flatnonzero(support[j])
            try:
                row = known[:, near] @ np.linalg.solve(known[np.ix_(near, near)], covariance[near, j])
            except np.linalg.LinAlgError:
                return None
            known[j] = known[:, j] = row
            known[j, j] = scales[j]
        if np.abs(known - before).max(initial=0.0) <= REGRESSED * scales.max(initial=0.0):
            break
    inverse = inverse_of(known)
    if inverse is None:
        return None
    found = np.where(support | np.eye(len(known), dtype=np.bool_), inverse.matrix, 0.0)
    return None if inverse_of(found) is None else found


def _gaussian(columns: Columns, support: Bools, estimator: LearningMethod) -> MarkovFitResult:
    known = Correlations.of(columns, is_scaled=True, method="A Gaussian network")
    found = selected(support, known, tolerance=1e-13)
    if found is None:
        raise NotApplicable(
            "The likelihood of a Gaussian network with these edges has no maximum: there are too few rows, or some "
            "columns are collinear. Use GraphicalLasso and its `model`, the penalized estimate."
        )
    n, scope = len(known.means), tuple(columns.variables)
    density = found.objective - 2.0 * float(np.log(known.scales).sum()) - n * math.log(2.0 * math.pi)
    return MarkovFitResult(
        gaussian_markov_net(scope, known.centers, found.matrix / known.scales[:, None] / known.scales),  # type: ignore[arg-type]
        0.5 * known.total * density,
        num_rows=known.total,
        method=estimator,
        info={"gap": f"{found.gap:.2g}"},
    )
