r"""Maximum likelihood for a density that a user writes down, by ascent of its logarithm.

$$\hat\theta = \arg\max_\theta \sum_m w_m \log p_\theta(x[m])$$

Reference: Koller & Friedman, section 17.2; Nocedal & Wright (2006), chapter 6, for the ascent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.base.checks import row_weights
from sepset.base.display import Shown
from sepset.base.foreign import translated
from sepset.base.frozen import fill
from sepset.errors import ArgumentError, DataError
from sepset.factors.labels import in_rows
from sepset.inference.result import Guarantee, Status
from sepset.learning.assessment import Assessment

GRADIENT = 1e-7
"""The largest slope of the mean log density at which the ascent has converged."""


@dataclass(frozen=True, eq=False, repr=False)
class MaximumLikelihoodResult(Assessment):
    """The parameters at a local maximum of a likelihood.

    Attributes:
        parameters: one number per coordinate of the start.
        log_likelihood: of all points.
        status: CONVERGED where the slope is zero, up to rounding.
        guarantees: a LOCAL_OPTIMUM in that case, and HEURISTIC otherwise.
    """

    parameters: Floats = field(repr=False)
    log_likelihood: float

    def __post_init__(self) -> None:
        fill(self, parameters=np.array(self.parameters))

    def __repr__(self) -> str:
        told = in_rows(self.parameters.ravel().tolist(), self.parameters.size, self.parameters.size)
        return f"MaximumLikelihoodResult({told}; log-likelihood {self.log_likelihood:.7g}; {self.status})"

    def _shown(self) -> Shown:
        rows = [(str(number), f"{value:.6g}") for number, value in enumerate(self.parameters.ravel())]
        title = f"Maximum likelihood: log-likelihood {self.log_likelihood:.7g}"
        return Shown(("coordinate", "value"), rows, title, str(self.status))


@translated
def maximum_likelihood(
    log_density: Callable[[Floats, Any], ArrayLike],
    data: Any,
    *,
    start: ArrayLike,
    weights: ArrayLike | None = None,
) -> MaximumLikelihoodResult:
    r"""The parameters at a local maximum of $\sum_m w_m \log p_\theta(x[m])$, for any density.

    Parameters are unconstrained: take logarithms of what is positive, and logits of probabilities.

    Args:
        log_density: called with the parameters and the data, and returning one logarithm per point.
        data: the points, as the density takes them.
        start: where the ascent begins; its likelihood is positive.
        weights: one per point.

    Cost: a few evaluations of the density of all points for each parameter and step, for differences.
    Reference: Koller & Friedman 17.2; Nocedal & Wright (2006).
    Guarantee: local optimum.
    Tested by: learning/estimation/test_anydensity.py::test_a_normal_density_has_its_closed_form

    >>> points = np.array([0.5, 1.5, 4.0])
    >>> found = maximum_likelihood(lambda theta, x: theta[0] - np.exp(theta[0]) * x, points, start=[0.0])
    >>> np.exp(found.parameters).round(6).tolist(), found.status
    ([0.5], CONVERGED)
    """
    from scipy.optimize import minimize

    first = np.atleast_1d(np.array(start, dtype=np.float64))
    if first.ndim != 1 or not first.size or not np.isfinite(first).all():
        raise ArgumentError(f"start= is a list of finite numbers; found {start!r}.")
    with np.errstate(all="ignore"):
        logs = np.asarray(log_density(first, data), dtype=np.float64).reshape(-1)
    if not logs.size or not np.isfinite(logs).all():
        raise DataError("The density of some point is zero, infinite or undefined at the start. Begin elsewhere.")
    share = np.ones(logs.size) if weights is None else row_weights(weights, logs.size)

    def loss(theta: Floats) -> float:
        with np.errstate(all="ignore"):
            found = -float(share @ np.asarray(log_density(theta, data), dtype=np.float64).reshape(-1)) / share.sum()
        return found if np.isfinite(found) else np.inf

    best = minimize(  # type: ignore[call-overload]  # the stubs want arrays of one dimension by type
        loss, first, method="BFGS", jac=lambda theta: _slope(loss, theta), options={"gtol": GRADIENT}
    )
    slope = float(np.abs(_slope(loss, best.x)).max())
    settled = slope <= 10.0 * GRADIENT
    return MaximumLikelihoodResult(
        best.x,
        -float(best.fun) * float(share.sum()),
        status=Status.CONVERGED if settled else Status.STEP_LIMIT,
        guarantees={"parameters": Guarantee.LOCAL_OPTIMUM if settled else Guarantee.HEURISTIC},
    )


def _slope(loss: Callable[[Floats], float], theta: Floats) -> Floats:
    """Central differences."""
    steps = np.diag(6e-6 * np.maximum(1.0, np.abs(theta)))
    return np.array([(loss(theta + step) - loss(theta - step)) / (2.0 * step.max()) for step in steps])
