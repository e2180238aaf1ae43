r"""A posterior under soft findings as a function of one parameter: the findings are fitted again at each value.

The joint of the target's state and of the variables with soft findings is linear in the parameter,
$N_\theta(\mathbf s, t) = A(\mathbf s, t)\,\theta + B(\mathbf s, t)$. Fitted to the probabilities $q$ it gives

$$P(t)(\theta) = \sum_{\mathbf s} \frac{N_\theta(\mathbf s, t)}{N_\theta(\mathbf s)}\, r_\theta(\mathbf s),$$

where $r_\theta$ is the distribution with the given marginals that is nearest to $N_\theta(\mathbf s)$; for one finding
$r = q$, and the posterior is a sum of ratios of linear functions.

At a changed weight of a logistic CPD, in which it is not linear, the network is asked again.

Reference: Jeffrey's rule; Castillo, Gutierrez & Hadi (1997) for the linear functions.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sepset.base.arraytypes import Floats

SWEEPS = 5000
"""The largest number of sweeps of proportional fitting."""

FITTED = 1e-13
"""The largest difference of a marginal at which it counts as fitted."""


class Curve(ABC):
    """A posterior as a function of one parameter, known at any value.

    Attributes:
        num_points: the number of values at which extremes and solutions are looked for first.
        tolerance: the accuracy of the places of extremes, which are between zero and one.
    """

    num_points: ClassVar[int] = 65
    tolerance: ClassVar[float] = 1e-12

    @abstractmethod
    def probability(self, theta: float) -> float:
        """The posterior at a value of the parameter; NaN if the findings are impossible there."""

    def at(self, place: float, largest: float) -> float:
        """The value of the parameter at a place between zero and one: from zero to the largest."""
        return _at(place, largest)

    def range(self, largest: float) -> tuple[float, float]:
        """The smallest and the largest posterior for values from zero to the largest."""
        from scipy.optimize import minimize_scalar

        places = np.linspace(0.0, 1.0, self.num_points)
        found = np.array([self.probability(self.at(u, largest)) for u in places])
        known = np.flatnonzero(~np.isnan(found))
        if not len(known):
            return math.nan, math.nan
        ends = []
        for sign in (1.0, -1.0):
            best = int(known[np.argmin(sign * found[known])])
            around = places[max(best - 1, 0)], places[min(best + 1, self.num_points - 1)]

            def value(u: float, sign: float = sign) -> float:
                there = self.probability(self.at(u, largest))
                return math.inf if math.isnan(there) else sign * there

            inner = minimize_scalar(value, bounds=around, method="bounded", options={"xatol": self.tolerance})
            ends.append(sign * min(float(inner.fun), sign * float(found[best])))
        return ends[0], ends[1]

    def theta(self, probability: float, present: float, largest: float) -> float | None:
        """The value nearest to the present one at which the posterior is `probability`; None if there is none."""
        from scipy.optimize import brentq

        places = np.linspace(0.0, 1.0, self.num_points)
        apart = [self.probability(self.at(u, largest)) - probability for u in places]
        roots = [self.at(float(u), largest) for u, gap in zip(places, apart, strict=True) if gap == 0.0]
        for i in range(self.num_points - 1):
            if apart[i] * apart[i + 1] < 0.0:
                root = brentq(
                    lambda u: self.probability(self.at(u, largest)) - probability, places[i], places[i + 1], xtol=1e-15
                )
                roots.append(self.at(float(root), largest))
        return min(roots, key=lambda root: abs(root - present), default=None)


@dataclass(frozen=True, slots=True, eq=False)
class Refitted(Curve):
    """The posterior of one state as a function of one parameter, soft findings fitted at each value.

    Attributes:
        slopes: $A$, one axis per finding, then the target: the state, or any.
        bases: $B$.
        targets: the probabilities of each finding.

    >>> one = Refitted(np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([[0.25, 0.5], [0.0, 0.5]]), (np.array([0.5, 0.5]),))
    >>> one.probability(0.5)
    0.5
    """

    slopes: Floats
    bases: Floats
    targets: tuple[Floats, ...]

    def probability(self, theta: float) -> float:
        """The posterior at a value of the parameter; NaN if the findings are impossible there."""
        joint = np.maximum(self.slopes * theta + self.bases, 0.0)
        joint[np.abs(joint) < 1e-15 * (np.abs(self.slopes * theta) + np.abs(self.bases))] = 0.0
        fitted = self._fitted(joint[..., 1])
        if fitted is None:
            return math.nan
        share = np.divide(joint[..., 0], joint[..., 1], out=np.zeros(fitted.shape), where=joint[..., 1] > 0)
        return float(min(1.0, max(0.0, (share * fitted).sum())))

    def _fitted(self, table: Floats) -> Floats | None:
        """The nearest table with the given marginals, by proportional fitting; None if there is none."""
        axes = range(table.ndim)
        rest = [tuple(a for a in axes if a != axis) for axis in axes]
        for _ in range(SWEEPS):
            for axis, target in enumerate(self.targets):
                now = table.sum(axis=rest[axis])
                if ((now == 0) & (target > 0)).any():
                    return None
                ratio = np.divide(target, now, out=np.zeros_like(target), where=now > 0)
                table = table * ratio.reshape([-1 if a == axis else 1 for a in axes])
            gaps = [np.abs(table.sum(axis=rest[a]) - self.targets[a]).max() for a in axes]
            if max(gaps, default=0.0) <= FITTED:
                return table
        return None if max(gaps) > 1e-9 else table


def _at(place: float, largest: float) -> float:
    """The value of the parameter at a place between zero and one."""
    if not math.isinf(largest):
        return place * largest
    return place / (1.0 - place) if place < 1.0 else 1e9


def stacked(columns: Sequence[Floats], shape: Sequence[int]) -> tuple[Floats, Floats]:
    """The slopes and bases of each parameter, `[parameters, *shape, 2]`, from the numbers of each joint state.

    Args:
        columns: for each joint state of the findings the numbers with the target's state, then those without it.
        shape: the number of states of each finding.

    >>> stacked([np.zeros((3, 5))] * 4, (2,))[0].shape
    (3, 2, 2)
    """
    whole = np.stack(columns, axis=1)
    num = len(whole)
    return tuple(whole[:, :, i].reshape(num, *shape, 2) for i in (1, 2))  # type: ignore[return-value]


@dataclass(frozen=True, slots=True, eq=False)
class Reweighted(Curve):
    """The posterior of one state as a function of one weight, asked again at each value.

    Attributes:
        asked: from the change of the weight to the posterior.
        present: the present value.
        reach: the change beyond which the posterior no longer moves.
    """

    num_points: ClassVar[int] = 33
    tolerance: ClassVar[float] = 1e-6

    asked: Callable[[float], float]
    present: float
    reach: float

    def probability(self, theta: float) -> float:
        """The posterior at a value of the weight; NaN if the findings are impossible there."""
        return self.asked(theta - self.present)

    def at(self, place: float, largest: float) -> float:
        """The value of the weight at a place between zero and one: close together near the present one."""
        far = 2.0 * place - 1.0
        return self.present + self.reach * far * abs(far)
