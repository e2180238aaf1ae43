r"""The graphical lasso: a Gaussian Markov network with few edges."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.checks import number
from sepset.base.lazy import lazy
from sepset.base.numerics.matrices import full
from sepset.factors.moments import Gaussian
from sepset.inference.iterate import Interrupted
from sepset.inference.result import Guarantee
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.undirected.concentration import Concentration, log_determinant, maximized
from sepset.learning.structure.undirected.correlations import Correlations
from sepset.learning.structure.undirected.learnednetwork import LearnedNetwork, selected
from sepset.learning.structure.undirected.penaltychoice import PathPoint
from sepset.learning.structure.undirected.regularized import PenalizedMethod, graph_of
from sepset.learning.undirected.markovfit import gaussian_markov_net
from sepset.models.markovnet import MarkovNet

REFITTED = 0.01
"""The error of a log-likelihood that is compared with others."""


@dataclass(frozen=True)
class GraphicalLasso(PenalizedMethod):
    r"""The Gaussian Markov network of largest likelihood with a penalty on absolute concentrations.

    $$\max_{\Theta \succ 0} \; \log\det\Theta - \operatorname{tr} S\Theta - \lambda \sum_{i \ne j} |\Theta_{ij}|$$

    with $S$ the correlations of the columns. Columns $i$ and $j$ are joined where $\Theta_{ij} \ne 0$. The result has
    the objective as `score`, and an upper bound on it from the dual problem: the `gap` proves how near the optimum is.
    More columns than rows and collinear columns are fine, since the penalty keeps $\Theta$ finite.

    Args:
        penalty: $\lambda > 0$, or how it is chosen: `ExtendedBIC()`, `StARS()`, or a splitter such as `KFold(5)` for
            cross-validation.
        num_penalties: how many are tried, evenly on the scale of logarithms.
        smallest: the smallest of them, as a share of the largest, with which no edge is found.
        is_scaled: whether $S$ has correlations, so that units do not matter; otherwise covariances.
        tolerance: the gap at which a solution counts as exact.

    Cost: for each penalty a few factorizations of the largest component, $O(n^3)$, and $O(n)$ per edge and sweep.
    Reference: Friedman, Hastie & Tibshirani (2008); Hsieh, Sustik, Dhillon & Ravikumar (2011) for the algorithm.
    Guarantee: the optimum at its penalty, within the gap.
    Tested by: learning/structure/undirected/test_graphicallasso.py::test_no_point_nearby_is_better

    >>> from sepset.learning.structure.columns import Columns
    >>> x = np.random.default_rng(0).normal(size=(3, 500))
    >>> rows = {"a": x[0], "b": x[0] + x[1], "c": x[0] + x[1] + x[2]}
    >>> found = GraphicalLasso().learn(StructureTask(Columns.of(rows)))
    >>> found.graph, found.guarantees["structure"]
    (UndirectedGraph(a - b; b - c), EXACT)
    """

    is_scaled: bool = field(default=True, kw_only=True)
    tolerance: float = field(default=1e-6, kw_only=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        number("tolerance", self.tolerance, above=0.0)

    def learn(self, task: StructureTask) -> LearnedConcentration:
        """The network at the chosen penalty."""
        path, place, status = self.walked(task)
        point = path[place]
        found: Concentration = point.estimate[0]
        is_exact = found.gap <= self.tolerance
        return LearnedConcentration(
            graph_of(task.columns, point.support),
            columns=task.columns,
            score=found.objective,
            bound=found.bound,
            method=self,
            status=status,
            guarantees={"structure": Guarantee.EXACT if is_exact else Guarantee.ESTIMATE},
            info={"penalty": f"{point.penalty:.6g}", "steps": found.steps},
            penalty=point.penalty,
            path=path,
            scaled=found,
            correlations=point.estimate[1],
        )

    def largest(self, columns: Columns) -> float:
        """The largest correlation of two columns."""
        return self._correlations(columns).largest

    def path(self, columns: Columns, penalties: Floats) -> Iterator[PathPoint]:
        """The networks along the path."""
        known = self._correlations(columns)
        start = None
        for penalty in penalties.tolist():
            charges = full((len(known.matrix), len(known.matrix)), penalty)
            np.fill_diagonal(charges, 0.0)
            try:
                found = maximized(known.matrix, charges, start=start, tolerance=self.tolerance)
            except Interrupted as cut:
                raise Interrupted(_point(penalty, cut.state, known)) from None
            start = found.matrix
            yield _point(penalty, found, known)

    def refitted(self, point: PathPoint, columns: Columns) -> float:
        """The largest log-likelihood with the same edges, up to a constant."""
        found, known = point.estimate
        again = selected(point.support, known, start=found.matrix, tolerance=REFITTED / known.total)
        return -math.inf if again is None else 0.5 * known.total * again.objective

    def held_out(self, point: PathPoint, columns: Columns) -> float:
        """The log-likelihood of other rows, up to a constant, per row."""
        found, known = point.estimate
        squares, logs = known.about(columns), log_determinant(found.matrix)
        assert logs is not None, "an estimate is positive definite"
        return 0.5 * (logs - float((found.matrix * squares).sum()))

    def _correlations(self, columns: Columns) -> Correlations:
        return Correlations.of(columns, is_scaled=self.is_scaled, method="GraphicalLasso")


def _point(penalty: float, found: Concentration, known: Correlations) -> PathPoint:
    support = found.matrix != 0.0
    np.fill_diagonal(support, False)
    edges = int(support.sum()) // 2
    return PathPoint(
        penalty,
        support,
        selected=support,
        num_parameters=edges,
        num_choices=2 * edges,
        gap=found.gap,
        estimate=(found, known),
    )


@dataclass(frozen=True, eq=False, repr=False)
class LearnedConcentration(LearnedNetwork):
    r"""A Gaussian Markov network from the graphical lasso.

    Attributes:
        scaled: the solution on the scale of the penalty.
    """

    scaled: Concentration = field(kw_only=True)
    correlations: Correlations = field(kw_only=True)

    @lazy
    def concentration(self) -> Floats:
        r"""The penalized estimate of $\Theta$ in the units of the columns."""
        scales = self.correlations.scales
        return np.asarray(self.scaled.matrix / scales[:, None] / scales)

    @lazy
    def covariance(self) -> Floats:
        r"""The penalized estimate of $\Theta^{-1}$ in the units of the columns."""
        scales = self.correlations.scales
        return np.asarray(self.scaled.covariance * scales[:, None] * scales)

    @lazy
    def partial_correlations(self) -> Floats:
        r"""The correlation of each pair given all other columns, $-\Theta_{ij} / \sqrt{\Theta_{ii}\Theta_{jj}}$."""
        roots = np.sqrt(np.diagonal(self.scaled.matrix))
        found = -self.scaled.matrix / roots[:, None] / roots + 0.0
        np.fill_diagonal(found, 1.0)
        return np.asarray(found)

    @lazy
    def gaussian(self) -> Gaussian:
        """The penalized estimate as one distribution."""
        scope: Any = tuple(self.columns.variables)
        return Gaussian(scope, self.correlations.centers, covariance=self.covariance)

    @lazy
    def model(self) -> MarkovNet:
        """The penalized estimate as a network; `fit` gives the one of largest likelihood with the same edges."""
        scope: Any = tuple(self.columns.variables)
        return gaussian_markov_net(scope, self.correlations.centers, self.concentration)
