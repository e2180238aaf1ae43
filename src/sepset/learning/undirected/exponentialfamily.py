r"""Maximum likelihood in exponential families: the parameters whose expected statistics are those of the data.

$$P_\theta(\xi) = \frac{h(\xi)}{Z(\theta)} \exp\langle\theta, \tau(\xi)\rangle, \qquad
E_{P_\theta}[\tau] = E_{\hat P}[\tau]$$

Reference: Koller & Friedman, sections 8.3, 8.5 and 17.2.5.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Bools, Floats
from sepset.base.checks import as_float, is_number
from sepset.base.frozen import fill, made
from sepset.base.text import listing
from sepset.errors import ArgumentError, DataError, ModelError, NotApplicable

MAX_STEPS = 200
RANK = 1e-11
"""The smallest standard deviation of a combination of statistics, relative to the largest, that is not zero."""
INSIDE = 1e-8
"""The least probability that some distribution with the asked moments gives every outcome, if it is to count as
inside."""


STEP = 0.01
"""The distance of the points at which an integral over real outcomes is taken, on the scale of their logarithms."""
REACHES = (2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 30.0, 36.0)
"""How far the points go on that scale, from stage to stage."""
STABLE = 1e-7
"""The relative change of parameters from stage to stage that counts as none."""


@dataclass(frozen=True, slots=True, eq=False, init=False)
class ExponentialFamily:
    r"""A linear exponential family over finitely many outcomes, or over an interval of real numbers.

    Args:
        statistics: $\tau$, one row an outcome and one column a statistic. Columns may be dependent; of the parameters
            that give one distribution those of least norm are found. Over an interval, a function of an array of
            numbers that returns such rows.
        base: $h > 0$, one an outcome; ones by default.
        support: the ends of the interval, which may be infinite; integrals are sums over points that are dense near its
            ends, on the scale of logarithms.

    Reference: Koller & Friedman, definition 8.1.
    Guarantee: maximum likelihood; the border is refused.
    Tested by: learning/undirected/test_exponentialfamily.py::test_moments_match_and_nothing_is_more_likely

    >>> coin = ExponentialFamily([[0.0], [1.0]])
    >>> coin.fit([2, 3]).round(6).tolist(), coin.probabilities(coin.match([0.6])).round(6).tolist()
    ([0.405465], [0.4, 0.6])
    >>> exponential = ExponentialFamily(lambda x: x[:, None], support=(0.0, np.inf))
    >>> exponential.match([4.0]).round(9).tolist()
    [-0.25]
    """

    statistics: Floats
    base: Floats
    reach: Floats | None

    def __init__(
        self,
        statistics: ArrayLike | Callable[[Floats], Floats],
        base: ArrayLike | None = None,
        *,
        support: tuple[float, float] | None = None,
    ) -> None:
        if callable(statistics):
            _check_support(support, base)
            fill(self, **dict(zip(("statistics", "base", "reach"), _points(statistics, support), strict=True)))
            return
        if support is not None:
            raise ArgumentError("support= goes with a function of the outcomes; found an array of statistics.")
        fill(self, reach=None)
        tau = np.array(statistics, dtype=np.float64)
        if tau.ndim != 2 or not len(tau) or not np.isfinite(tau).all():
            raise ModelError(f"Statistics are finite, one row an outcome; found the shape {tau.shape}.")
        h = np.ones(len(tau)) if base is None else np.array(base, dtype=np.float64)
        if h.shape != (len(tau),) or not (np.isfinite(h).all() and (h > 0).all()):
            raise ModelError(f"The base has a positive number for each of {len(tau)} outcomes; found {h.tolist()}.")
        fill(self, statistics=tau, base=h)

    def log_partition(self, theta: ArrayLike) -> float:
        r"""$\log Z(\theta)$, a convex function whose gradient is `expected`."""
        logs = self._logs(theta)
        top = logs.max()
        return float(top + np.log(np.exp(logs - top).sum()))

    def probabilities(self, theta: ArrayLike) -> Floats:
        r"""$P_\theta$, one an outcome."""
        logs = self._logs(theta)
        weights = np.exp(logs - logs.max())
        return np.asarray(weights / weights.sum())

    def expected(self, theta: ArrayLike) -> Floats:
        r"""$E_{P_\theta}[\tau]$."""
        return np.asarray(self.probabilities(theta) @ self.statistics)

    def _logs(self, theta: ArrayLike) -> Floats:
        found = np.asarray(theta, dtype=np.float64)
        if found.shape != self.statistics.shape[1:] or not np.isfinite(found).all():
            raise DataError(f"There are {self.statistics.shape[1]} finite parameters; found the shape {found.shape}.")
        return np.asarray(np.log(self.base) + self.statistics @ found)

    def fit(self, counts: ArrayLike) -> Floats:
        r"""The parameters of largest likelihood, from how often (or with what weight) each outcome occurred.

        Where the data lie on a face of the marginal polytope the likelihood grows without bound along some direction,
        and this is refused.
        """
        if self.reach is not None:
            raise NotApplicable("Real outcomes have moments and no counts. Use match(statistics(data).mean(axis=0)).")
        found = np.asarray(counts, dtype=np.float64)
        if found.shape != self.base.shape or not (np.isfinite(found).all() and (found >= 0).all()):
            raise DataError(f"Counts are finite and >= 0, one for each of {len(self.base)} outcomes.")
        if not found.sum() > 0:
            raise DataError("There are no rows, or all weigh nothing, so there is no likelihood to maximize.")
        self._refuse_face(found > 0)
        return self._climb(found @ self.statistics / found.sum())

    def match(self, moments: ArrayLike) -> Floats:
        r"""The parameters with $E_{P_\theta}[\tau]$ = `moments`; what no distribution inside has is refused."""
        found = np.asarray(moments, dtype=np.float64)
        if found.shape != self.statistics.shape[1:] or not np.isfinite(found).all():
            raise DataError(f"There are {self.statistics.shape[1]} finite moments; found the shape {found.shape}.")
        if self.reach is not None:
            return self._match_in_stages(found, self.reach)
        self._refuse_face(self._spread(found) > INSIDE)
        return self._climb(found)

    def _match_in_stages(self, moments: Floats, reach: Floats) -> Floats:
        """The parameters over points that go further and further, until these change nothing."""
        theta, is_met = np.zeros(len(moments)), False
        for far in REACHES:
            near = reach <= far
            part = made(ExponentialFamily, statistics=self.statistics[near], base=self.base[near], reach=None)
            if (moments <= part.statistics.min(axis=0)).any() or (moments >= part.statistics.max(axis=0)).any():
                continue
            found = part._descend(moments, theta)
            gap = np.abs(part.expected(found) - moments)
            if not (np.isfinite(found).all() and (gap <= 1e-7 * np.maximum(1.0, np.abs(moments))).all()):
                is_met = False
                continue
            if is_met and np.abs(found - theta).max() <= STABLE * max(1.0, float(np.abs(found).max())):
                return self._refuse_narrow(found, moments)
            theta, is_met = found, True
        raise NotApplicable(
            f"No density of this family over the interval has the moments {moments.tolist()}: either none has, or its "
            "integral does not converge."
        )

    def _refuse_narrow(self, theta: Floats, moments: Floats) -> Floats:
        """The parameters; raises where every second point gives other moments, so that points are too few."""
        half = made(ExponentialFamily, statistics=self.statistics[::2], base=self.base[::2], reach=None)
        if (np.abs(half.expected(theta) - moments) > 1e-5 * np.maximum(1.0, np.abs(moments))).any():
            raise NotApplicable(
                "The density is so narrow, so far from the ends of its interval, that integrals over it lose their "
                "digits. Shift and scale the outcomes."
            )
        return theta

    def _spread(self, moments: Floats) -> Floats:
        """A distribution with these moments whose smallest probability is as large as can be."""
        from scipy.optimize import linprog

        num, size = self.statistics.shape
        goal = np.append(np.zeros(num), -1.0)
        equal = np.block([[self.statistics.T, np.zeros((size, 1))], [np.ones((1, num)), np.zeros((1, 1))]])
        least = np.hstack([-np.eye(num), np.ones((num, 1))])
        found = linprog(goal, A_ub=least, b_ub=np.zeros(num), A_eq=equal, b_eq=np.append(moments, 1.0))
        if found.status != 0:
            raise DataError(f"No distribution over these outcomes has the moments {moments.tolist()}.")
        return np.asarray(found.x, dtype=np.float64)[:num]

    def _refuse_face(self, seen: Bools) -> None:
        r"""Raise if all outcomes lie on a face: $\langle d, \tau\rangle$ is largest there, and smaller elsewhere."""
        if seen.all():
            return
        from scipy.optimize import linprog

        apart = self.statistics - self.statistics[seen][0]
        num, size = int((~seen).sum()), self.statistics.shape[1]
        goal = np.append(np.zeros(size), -np.ones(num))
        least = np.hstack([apart[~seen], np.eye(num)])
        equal = np.hstack([apart[seen], np.zeros((int(seen.sum()), num))])
        bounds = [(None, None)] * size + [(0.0, 1.0)] * num
        found = linprog(goal, A_ub=least, b_ub=np.zeros(num), A_eq=equal, b_eq=np.zeros(len(equal)), bounds=bounds)
        never = np.flatnonzero(~seen)[np.asarray(found.x)[size:] > 0.5]
        if never.size:
            raise NotApplicable(
                f"The moments lie on the border: they leave no room for outcomes {listing(never.tolist())}, and the "
                "likelihood grows without bound. Leave those outcomes out, add data, or use a prior."
            )

    def _climb(self, moments: Floats) -> Floats:
        r"""Newton's method on the convex dual $\log Z(\theta) - \langle\theta, \mu\rangle$.

        Along a step that changes log odds by at most $R$, third derivatives are at most $R$ times second ones, so that
        the share $\log(1 + R) / R$ of the step never overshoots (Sun & Tran-Dinh 2019); it tends to the whole.
        """
        theta = np.zeros(len(moments))
        for _ in range(MAX_STEPS):
            step, _ = self._newton(theta, moments)
            reach = float(np.ptp(self.statistics @ step))
            if reach <= 1e-13:
                break
            theta = theta + step * (np.log1p(reach) / reach)
        return theta

    def _newton(self, theta: Floats, moments: Floats) -> tuple[Floats, float]:
        """Newton's step, and how fast the dual falls along it."""
        p = self.probabilities(theta)
        apart = moments - p @ self.statistics
        scaled = np.sqrt(p)[:, None] * (self.statistics - p @ self.statistics)
        _, values, vectors = np.linalg.svd(scaled, full_matrices=False)
        kept = values > RANK * values.max(initial=0.0)
        step = vectors[kept].T @ ((vectors[kept] @ apart) / values[kept] ** 2)
        return step, float(apart @ step)

    def _descend(self, moments: Floats, theta: Floats) -> Floats:
        """Newton's method on the dual with shorter steps where it would rise, from a start; for many outcomes."""

        def dual(at: Floats) -> float:
            return self.log_partition(at) - float(at @ moments)

        for _ in range(MAX_STEPS):
            with np.errstate(all="ignore"):
                step, fall = self._newton(theta, moments)
            share = 1.0
            while share > 1e-9 and not dual(theta + share * step) <= dual(theta) - 1e-4 * share * fall:
                share *= 0.5
            if not np.isfinite(fall) or share <= 1e-9 or fall <= 1e-22:
                break
            theta = theta + share * step
        return theta

    def __repr__(self) -> str:
        return f"ExponentialFamily({self.statistics.shape[0]} outcomes, {self.statistics.shape[1]} statistics)"


def _check_support(support: tuple[float, float] | None, base: object) -> None:
    if support is None or len(support) != 2 or not all(map(is_number, support)) or not support[0] < support[1]:
        raise ArgumentError(f"A function of real outcomes needs support=, the ends of an interval; found {support!r}.")
    if base is not None:
        raise ArgumentError("Over an interval the base is one; put its logarithm among the statistics.")


def _points(function: Callable[[Floats], Floats], support: tuple[float, float] | None) -> tuple[Floats, Floats, Floats]:
    """The statistics at the points of an interval, the length that each stands for, and how far out it is."""
    assert support is not None
    low, high = map(as_float, support)
    t = np.arange(-REACHES[-1], REACHES[-1] + STEP / 2, STEP)
    if np.isinf(low) and np.isinf(high):
        x, slope = np.sinh(t), np.cosh(t)
    elif np.isinf(high):
        x, slope = low + np.exp(t), np.exp(t)
    elif np.isinf(low):
        x, slope = high - np.exp(t), np.exp(t)
    else:
        share = 1.0 / (1.0 + np.exp(-t))
        x, slope = low + (high - low) * share, (high - low) * share * (1.0 - share)
    with np.errstate(all="ignore"):
        tau = np.asarray(function(x), dtype=np.float64)
    if tau.ndim != 2 or len(tau) != len(x):
        raise ModelError(f"Statistics have one row for each of {len(x)} outcomes; found the shape {tau.shape}.")
    kept = np.isfinite(tau).all(axis=1) & (slope > 0) & (x > low) & (x < high)
    return tau[kept], STEP * slope[kept], np.abs(t[kept])
