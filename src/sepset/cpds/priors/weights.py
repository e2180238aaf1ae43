r"""Priors on weights: those of logistic CPDs and the coefficients of linear Gaussians.

$$\log p(w) = -\tfrac12 p\, \lVert w \rVert_2^2 - r\, \lVert w \rVert_1 + \text{const}$$

Biases and intercepts have no prior.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.checks import check_positive


class WeightPrior(ABC):
    """A prior of independent weights with mean zero, which has no pseudo-counts."""

    __slots__ = ()

    @property
    @abstractmethod
    def precision(self) -> float:
        """The factor $p$ of the quadratic penalty."""

    @property
    @abstractmethod
    def rate(self) -> float:
        """The factor $r$ of the absolute penalty, whose kink at zero makes some weights exactly zero."""

    def log_density(self, weights: Floats) -> float:
        """The log density of weights, up to a constant.

        >>> NormalWeights(1.0).log_density(np.array([1.0, 2.0])), LaplaceWeights(0.5).log_density(np.array([-1.0]))
        (-2.5, -2.0)
        """
        squares, sizes = float((weights**2).sum()), float(np.abs(weights).sum())
        return -0.5 * self.precision * squares - self.rate * sizes


@dataclass(frozen=True, slots=True)
class NormalWeights(WeightPrior):
    r"""Independent normal priors with mean zero on weights: the penalty $\lVert w \rVert^2 / 2 s^2$.

    They apply to the weights of logistic CPDs and the coefficients of linear Gaussians, not their biases.

    Args:
        scale: $s$, the standard deviation.

    Reference: Koller & Friedman, section 20.4.1.
    Guarantee: exact.
    Tested by: cpds/test_logistic.py::test_a_prior_shrinks_separated_weights

    >>> NormalWeights(2.0).precision
    0.25
    """

    scale: float

    def __post_init__(self) -> None:
        check_positive("NormalWeights", scale=self.scale)

    @property
    def precision(self) -> float:
        """$1 / s^2$."""
        return 1.0 / self.scale**2

    @property
    def rate(self) -> float:
        """Zero: its density is smooth."""
        return 0.0


@dataclass(frozen=True, slots=True)
class LaplaceWeights(WeightPrior):
    r"""Independent Laplace priors with mean zero on weights: the L1 penalty $\lVert w \rVert_1 / s$.

    They apply to the weights of logistic CPDs and the coefficients of linear Gaussians, not their biases.

    Args:
        scale: $s$, the mean of $|w|$.

    Reference: Koller & Friedman, sections 17.4.4 and 20.4.1.
    Guarantee: subgradient conditions.
    Tested by: cpds/priors/test_penalized.py::test_lasso_meets_the_subgradient_conditions

    >>> LaplaceWeights(0.5).rate
    2.0
    """

    scale: float

    def __post_init__(self) -> None:
        check_positive("LaplaceWeights", scale=self.scale)

    @property
    def precision(self) -> float:
        """Zero: its log density is linear on each side of zero."""
        return 0.0

    @property
    def rate(self) -> float:
        """$1 / s$."""
        return 1.0 / self.scale
