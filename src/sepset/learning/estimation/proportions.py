r"""Confidence intervals of a proportion, their coverage, and the number of rows for a given width.

Reference: Koller & Friedman, sections 17.1.1 and 17.6.2; Wilson (1927); Clopper & Pearson (1934).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.base.checks import fraction, one_of
from sepset.base.display import Shown
from sepset.base.foreign import translated
from sepset.errors import DataError
from sepset.inference.result import Guarantee
from sepset.learning.assessment import Assessment

IntervalKind: TypeAlias = Literal["wilson", "clopper-pearson", "hoeffding"]


@dataclass(frozen=True, repr=False)
class ConfidenceInterval(Assessment):
    """An interval that holds the true proportion with at least (or, for Wilson's, about) the stated probability.

    >>> proportion_interval(35, 100)
    ConfidenceInterval(0.2636 to 0.4475 at 95%, wilson)
    """

    low: float
    high: float
    level: float
    kind: IntervalKind

    @property
    def half_width(self) -> float:
        """Half the distance between the two ends."""
        return 0.5 * (self.high - self.low)

    def __contains__(self, proportion: float) -> bool:
        return self.low <= proportion <= self.high

    def __repr__(self) -> str:
        return f"ConfidenceInterval({self.low:.4f} to {self.high:.4f} at {100 * self.level:.4g}%, {self.kind})"

    def _shown(self) -> Shown:
        cells = (f"{self.low:.4f}", f"{self.high:.4f}", f"{100 * self.level:.4g}%", self.kind)
        return Shown(("low", "high", "level", "kind"), [cells], "Confidence interval of a proportion", words=0)


@translated
def proportion_interval(
    successes: float, trials: float, *, level: float = 0.95, kind: IntervalKind = "wilson"
) -> ConfidenceInterval:
    r"""The confidence interval of a proportion after so many successes in so many trials.

    - "clopper-pearson" inverts the binomial tests: its coverage is never below the level.
    - "hoeffding" is $\hat p \pm \sqrt{\log(2/\delta) / 2M}$: never below either, and wide.
    - "wilson" inverts the normal test: short, and near the level on average, but below it for some proportions.

    Args:
        successes: their number, or their total weight.
        trials: the number of trials, or their total weight.
        level: the probability $1 - \delta$ of holding the true proportion.
        kind: which of the three.

    Reference: Koller & Friedman, section 17.1.1; Brown, Cai & DasGupta (2001).
    Guarantee: coverage never below the level (not Wilson's).
    Tested by: learning/estimation/test_proportions.py::test_guaranteed_intervals_keep_their_promise

    >>> found = proportion_interval(3, 10, kind="clopper-pearson")
    >>> round(found.low, 4), round(found.high, 4)
    (0.0667, 0.6525)
    """
    if not 0 <= successes <= trials:
        raise DataError(f"Successes lie between 0 and the number of trials; found {successes} of {trials}.")
    low, high = KINDS[one_of("kind", kind, KINDS)](np.array(float(successes)), float(trials), fraction("level", level))
    coverage = Guarantee.ESTIMATE if kind == "wilson" else Guarantee.LOWER_BOUND
    return ConfidenceInterval(float(low), float(high), level, kind, guarantees={"coverage": coverage})


@translated
def interval_coverage(
    trials: int, proportion: ArrayLike, *, level: float = 0.95, kind: IntervalKind = "wilson"
) -> Floats:
    r"""The exact probability that the interval holds the true proportion, one value per proportion.

    $$\sum_{k : p \in I(k)} \binom Mk p^k (1 - p)^{M - k}$$

    Args:
        trials: $M$.
        proportion: the true $p$, a number or several.
        level: the nominal level of the interval.
        kind: which interval.

    Cost: one binomial enumeration per proportion.
    Guarantee: exact, by enumeration.
    Tested by: learning/estimation/test_proportions.py::test_coverage_is_enumeration

    >>> bool(interval_coverage(20, 0.1, kind="clopper-pearson") >= 0.95), round(float(interval_coverage(20, 0.02)), 3)
    (True, 0.94)
    """
    from scipy.special import gammaln, xlog1py, xlogy

    p = np.asarray(proportion, dtype=np.float64)[..., None]
    k = np.arange(trials + 1, dtype=np.float64)
    low, high = KINDS[one_of("kind", kind, KINDS)](k, float(trials), fraction("level", level))
    logs = gammaln(trials + 1.0) - gammaln(k + 1.0) - gammaln(trials - k + 1.0) + xlogy(k, p) + xlog1py(trials - k, -p)
    return np.asarray(np.where((low <= p) & (p <= high), np.exp(logs), 0.0).sum(axis=-1))


@translated
def rows_needed(
    half_width: float,
    level: float = 0.95,
    *,
    kind: Literal["hoeffding", "normal"] = "hoeffding",
    proportion: float = 0.5,
) -> int:
    r"""The smallest number of rows whose proportion is within `half_width` of the truth, at this level.

    - "hoeffding": $M > \log(2/\delta) / 2\epsilon^2$, whatever the true proportion.
    - "normal": $M \ge z^2 p(1 - p) / \epsilon^2$, by the normal approximation at an expected proportion.

    Args:
        half_width: $\epsilon$.
        level: $1 - \delta$.
        kind: a guarantee, or an approximation.
        proportion: $p$, for "normal"; one half is the worst case.

    Reference: Koller & Friedman, corollary 17.1.
    Guarantee: the smallest that Hoeffding's bound allows.
    Tested by: learning/estimation/test_proportions.py::test_sample_sizes_are_the_smallest_that_do

    >>> rows_needed(0.05, 0.99), rows_needed(0.02), rows_needed(0.02, kind="normal", proportion=0.61)
    (1060, 4612, 2285)
    """
    fraction("half_width", half_width)
    fraction("level", level)
    if one_of("kind", kind, ("hoeffding", "normal")) == "hoeffding":
        return math.floor(hoeffding_bound_size(half_width, 1.0 - level)) + 1
    from scipy.special import ndtri

    fraction("proportion", proportion, ends=True)
    exact = float(ndtri(0.5 + 0.5 * level)) ** 2 * proportion * (1.0 - proportion) / half_width**2
    return max(math.ceil(exact), 1)


def hoeffding_bound_size(half_width: float, error: float) -> float:
    r"""The number $\log(2/\delta) / 2\epsilon^2$ that a sample size must exceed.

    Reference: Koller & Friedman, corollary 17.1.

    >>> round(hoeffding_bound_size(0.05, 0.01), 2)
    1059.66
    """
    return math.log(2.0 / error) / (2.0 * half_width**2)


def hoeffding_error(num_rows: float, half_width: float) -> float:
    r"""The bound $2 e^{-2M\epsilon^2}$ on the probability that a proportion is further off than `half_width`.

    Reference: Koller & Friedman, section 17.6.2.1.

    >>> round(hoeffding_error(1060, 0.05), 6)
    0.009983
    """
    return min(2.0 * math.exp(-2.0 * num_rows * half_width**2), 1.0)


def _wilson(k: Floats, trials: float, level: float) -> tuple[Floats, Floats]:
    from scipy.special import ndtri

    if trials == 0:
        return np.zeros_like(k), np.ones_like(k)
    z2 = float(ndtri(0.5 + 0.5 * level)) ** 2
    center = (k + 0.5 * z2) / (trials + z2)
    reach = np.sqrt(z2) / (trials + z2) * np.sqrt(k * (trials - k) / trials + 0.25 * z2)
    # At the ends the formula is 0 and 1 but for rounding.
    low, high = np.where(k == 0, 0.0, center - reach), np.where(k == trials, 1.0, center + reach)
    return np.asarray(low), np.asarray(high)


def _clopper_pearson(k: Floats, trials: float, level: float) -> tuple[Floats, Floats]:
    from scipy.special import betaincinv

    tail = 0.5 * (1.0 - level)
    low = np.where(k > 0, betaincinv(np.maximum(k, 1e-300), trials - k + 1.0, tail), 0.0)
    high = np.where(k < trials, betaincinv(k + 1.0, np.maximum(trials - k, 1e-300), 1.0 - tail), 1.0)
    return np.asarray(low), np.asarray(high)


def _hoeffding(k: Floats, trials: float, level: float) -> tuple[Floats, Floats]:
    if trials == 0:
        return np.zeros_like(k), np.ones_like(k)
    reach = math.sqrt(math.log(2.0 / (1.0 - level)) / (2.0 * trials))
    return np.maximum(k / trials - reach, 0.0), np.minimum(k / trials + reach, 1.0)


KINDS: dict[str, Callable[[Floats, float, float], tuple[Floats, Floats]]] = {
    "wilson": _wilson,
    "clopper-pearson": _clopper_pearson,
    "hoeffding": _hoeffding,
}
