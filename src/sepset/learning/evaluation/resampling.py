"""The variation of a statistic by chance: the bootstrap, and permutations with the intervals they imply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.base.checks import fraction, generator, one_axis, one_of, row_weights, whole
from sepset.base.display import Shown
from sepset.base.foreign import translated
from sepset.base.memory import check_rows_fit
from sepset.data.dataset import Dataset
from sepset.data.sources import as_dataset
from sepset.errors import DataError, ScopeError
from sepset.inference.result import Guarantee
from sepset.learning.assessment import Assessment
from sepset.variables.variable import VariableLike

IntervalKind: TypeAlias = Literal["percentile", "basic", "bca"]

DRAWN_INTERVAL = {"estimate": Guarantee.EXACT, "interval": Guarantee.ESTIMATE}
"""The statistic of the rows themselves is exact; what is read from draws is an estimate."""

CHUNK = 1 << 22
"""How many cells of resampled rows are held at once."""


@dataclass(frozen=True, eq=False, repr=False)
class BootstrapResult(Assessment):
    r"""A statistic on resampled rows: its spread says how far it would be off on other data of that size.

    Attributes:
        estimate: the statistic on the rows themselves.
        draws: the statistic on each resample.
        jackknife: the statistic without each row in turn, for `"bca"` intervals; empty where it was not computed.

    Reference: Efron & Tibshirani (1993), An Introduction to the Bootstrap.

    >>> BootstrapResult(2.0, np.array([1.0, 2.0, 2.0, 3.0])).standard_error.__round__(4)
    0.8165
    """

    estimate: float
    draws: Floats = field(repr=False)
    _: KW_ONLY
    jackknife: Floats = field(default_factory=lambda: np.zeros(0), repr=False)

    @property
    def standard_error(self) -> float:
        """The standard deviation of the draws."""
        return float(self.draws.std(ddof=1))

    def __repr__(self) -> str:
        low, high = self.interval()
        return f"BootstrapResult({self.estimate:.6g}; 95% interval {low:.6g} to {high:.6g})"

    def _shown(self) -> Shown:
        low, high = self.interval()
        rows = [
            ("estimate", f"{self.estimate:.6g}"),
            ("standard error", f"{self.standard_error:.2g}" if len(self.draws) > 1 else "nan"),
            ("95% interval", f"{low:.6g} to {high:.6g}"),
            ("draws", f"{len(self.draws):,}"),
        ]
        return Shown((), rows, "BootstrapResult")

    @property
    def bias(self) -> float:
        """How far the draws lie above the estimate on average."""
        return float(self.draws.mean() - self.estimate)

    def interval(self, level: float = 0.95, kind: IntervalKind = "percentile") -> tuple[float, float]:
        """A confidence interval for the statistic.

        Args:
            level: the probability with which such intervals cover.
            kind: "percentile" takes quantiles of the draws; "basic" mirrors them at the estimate; "bca" corrects the
                percentiles for bias and skewness, and needs the jackknife.

        Reference: Efron (1987), Better bootstrap confidence intervals.
        """
        tail = (1.0 - fraction("level", level)) / 2.0
        one_of("kind", kind, ("percentile", "basic", "bca"))
        low, high = self._corrected(tail) if kind == "bca" else (tail, 1.0 - tail)
        # between infinite draws there is nothing to interpolate
        way: Literal["median_unbiased", "inverted_cdf"] = (
            "median_unbiased" if np.isfinite(self.draws).all() else "inverted_cdf"
        )
        first, last = np.quantile(self.draws, [low, high], method=way).tolist()
        return (2 * self.estimate - last, 2 * self.estimate - first) if kind == "basic" else (first, last)

    def _corrected(self, tail: float) -> tuple[float, float]:
        from scipy.special import ndtr, ndtri

        if not len(self.jackknife):
            raise ScopeError("A 'bca' interval needs the jackknife. Ask for it: bootstrap(..., jackknife=True).")
        below = ((self.draws < self.estimate).sum() + 0.5 * (self.draws == self.estimate).sum()) / len(self.draws)
        if not 0.0 < below < 1.0:
            return tail, 1.0 - tail
        shift = ndtri(below)
        centered = self.jackknife.mean() - self.jackknife
        spread = (centered**2).sum()
        skew = (centered**3).sum() / (6.0 * spread**1.5) if spread > 0 else 0.0
        ends = shift + ndtri(np.array([tail, 1.0 - tail]))
        low, high = ndtr(shift + ends / (1.0 - skew * ends)).tolist()
        return low, high


@translated
def bootstrap(
    data: object,
    statistic: Callable[[Dataset], float],
    *,
    num_draws: int = 1000,
    seed: int | np.random.Generator = 0,
    jackknife: bool = False,
) -> BootstrapResult:
    r"""The statistic on rows drawn with replacement, many times over.

    $$\hat\theta^{*b} = \theta(\mathcal D^{*b}), \qquad \mathcal D^{*b} \sim \hat P_{\mathcal D}^M$$

    Args:
        data: a dataset or any frame.
        statistic: a number from a dataset; it may fit a model.
        num_draws: how many resamples.
        seed: a number or a generator.
        jackknife: whether to leave out each row in turn too, for "bca" intervals; as many calls as there are rows.

    Reference: Efron (1979), Bootstrap methods: another look at the jackknife.
    Guarantee: deterministic.
    Tested by: learning/evaluation/test_resampling.py::test_the_general_bootstrap_is_the_quick_one

    >>> coin = Dataset({"coin": [0, 1, 1, 1]})
    >>> found = bootstrap(coin, lambda rows: float(rows.codes("coin").mean()), num_draws=200)
    >>> found.estimate, found.interval(0.9)
    (0.75, (0.5, 1.0))
    """
    rng = generator(seed)
    rows = as_dataset(data)
    size = _at_least_one(rows.num_rows)
    check_rows_fit(whole("num_draws", num_draws, least=1), 8)
    draws = np.array([statistic(rows.take(rng.integers(0, size, size))) for _ in range(num_draws)], np.float64)
    every = np.arange(size)
    left = [statistic(rows.take(np.delete(every, m))) for m in range(size)] if jackknife else []
    return BootstrapResult(
        float(statistic(rows)), draws, jackknife=np.array(left, np.float64), guarantees=DRAWN_INTERVAL
    )


@translated
def bootstrap_mean(
    values: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    num_draws: int = 2000,
    seed: int | np.random.Generator = 0,
) -> BootstrapResult:
    """The mean of resampled values, all draws at once; the jackknife comes with it.

    Args:
        values: one per row, such as losses.
        weights: one per row, resampled with its value.
        num_draws: how many resamples.
        seed: a number or a generator.

    Reference: Efron (1979).
    Guarantee: deterministic.
    Tested by: learning/evaluation/test_resampling.py::test_intervals_agree_with_scipy

    >>> low, high = bootstrap_mean([0.0, 1.0] * 50).interval()
    >>> low < 0.5 < high
    True
    """
    rng = generator(seed)
    check_rows_fit(whole("num_draws", num_draws, least=1), 8)
    numbers = one_axis("values", values)
    share = np.ones(len(numbers)) if weights is None else row_weights(weights, len(numbers))
    size = _at_least_one(len(numbers))
    weighted = np.where(share > 0, numbers * np.where(share > 0, share, 1.0), 0.0)
    draws = np.empty(num_draws)
    step = max(1, CHUNK // size)
    for start in range(0, num_draws, step):
        chosen = rng.integers(0, size, (min(step, num_draws - start), size))
        draws[start : start + step] = _ratio(weighted[chosen].sum(axis=1), share[chosen].sum(axis=1))
    left = _ratio(weighted.sum() - weighted, share.sum() - share) if np.isfinite(weighted).all() else np.zeros(0)
    return BootstrapResult(float(_ratio(weighted.sum(), share.sum())), draws, jackknife=left, guarantees=DRAWN_INTERVAL)


def _ratio(top: Any, bottom: Any) -> Any:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.divide(top, bottom)


@dataclass(frozen=True, eq=False, repr=False)
class PairedComparisonResult(Assessment):
    r"""The mean difference of two losses row by row, against the chance that signs are random.

    Attributes:
        differences: first minus second, one per row.
        subset_means: means of the differences in random halves of the rows (each row in or out with probability 1/2,
            none empty), which are what an interval is read from.
        p_value: how often random signs give a mean at least as far from zero, the data itself counted.

    >>> paired_comparison([1.0, 1.0, 0.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0, 0.0]).p_value
    0.125
    """

    differences: Floats = field(repr=False)
    subset_means: Floats = field(repr=False)
    _: KW_ONLY
    p_value: float

    @property
    def mean(self) -> float:
        """The mean difference."""
        return float(self.differences.mean())

    def __repr__(self) -> str:
        return f"PairedComparisonResult(mean difference {self.mean:.6g}; p = {self.p_value:.3g})"

    def _shown(self) -> Shown:
        low, high = self.interval()
        rows = [
            ("mean difference", f"{self.mean:.6g}"),
            ("95% interval", f"{low:.6g} to {high:.6g}"),
            ("p-value", f"{self.p_value:.4g}"),
            ("rows", f"{len(self.differences):,}"),
        ]
        return Shown((), rows, "Paired comparison")

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        r"""The mean differences that the sign test at $1 - $ `level` does not refuse, were the differences symmetric.

        Flipping the signs of rows in $S$ does not lower $\sum_m (d[m] - \delta)$ exactly where $\delta$ is at least
        the mean of $d$ over $S$; so the limits are order statistics of means over subsets.

        Reference: Hartigan (1969), Using subsample values as typical values.
        """
        fraction("level", level)
        ordered = np.sort(self.subset_means)
        rank = int(np.floor((1.0 - level) / 2.0 * (len(ordered) + 1)))
        if rank < 1:
            return -np.inf, np.inf
        return float(ordered[rank - 1]), float(ordered[-rank])


EXHAUSTIVE = 13
"""Rows up to which every pattern of signs is tried."""


@translated
def paired_comparison(
    first: ArrayLike, second: ArrayLike, *, num_draws: int = 9999, seed: int | np.random.Generator = 0
) -> PairedComparisonResult:
    r"""Whether two procedures differ in their losses on the same rows, by random signs.

    Under the null hypothesis each difference is as likely as its negative, so that the mean is compared with
    $\frac1M \sum_m s_m d_m$ over signs $s$: all of them for a few rows, random ones otherwise.

    Args:
        first: the losses of one model, one per row.
        second: those of the other on the same rows.
        num_draws: how many random patterns of signs.
        seed: a number or a generator.

    Reference: Fisher (1935), The Design of Experiments, section 21.
    Guarantee: exact for few rows.
    Tested by: learning/evaluation/test_resampling.py::test_sign_tests_against_enumeration

    >>> paired_comparison([0.1, 0.4, 0.2], [0.3, 0.6, 0.4]).mean.__round__(3)
    -0.2
    """
    ours, theirs = np.asarray(first, np.float64), np.asarray(second, np.float64)
    if ours.ndim != 1 or ours.shape != theirs.shape or not len(ours) or not np.isfinite([ours, theirs]).all():
        raise DataError(
            "A paired comparison needs two columns of finite losses on the same rows, at least one row; found the "
            f"shapes {ours.shape} and {theirs.shape}. Those of an evaluation are evaluation[loss].rows."
        )
    d = ours - theirs
    check_rows_fit(whole("num_draws", num_draws, least=1), 8)
    exact = len(d) <= EXHAUSTIVE
    sums, sizes = _all_subsets(d) if exact else _random_subsets(d, num_draws, generator(seed))
    extreme = np.abs(d.sum() - 2.0 * sums) >= abs(d.sum()) * (1.0 - 1e-12)
    p_value = extreme.mean() if exact else (extreme.sum() + 1.0) / (len(extreme) + 1.0)
    guarantees = {"mean": Guarantee.EXACT, "p_value": Guarantee.EXACT if exact else Guarantee.ESTIMATE}
    return PairedComparisonResult(d, sums[sizes > 0] / sizes[sizes > 0], p_value=float(p_value), guarantees=guarantees)


def _all_subsets(d: Floats) -> tuple[Floats, Floats]:
    """The sum and the size of every subset of the differences."""
    chosen = ((np.arange(2 ** len(d))[:, None] >> np.arange(len(d))) & 1).astype(np.float64)
    return chosen @ d, chosen.sum(axis=1)


def _random_subsets(d: Floats, num_draws: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The sum and the size of random subsets, some at a time, so that memory does not grow with their number."""
    sums, sizes = np.empty(num_draws), np.empty(num_draws)
    step = max(1, CHUNK // len(d))
    for start in range(0, num_draws, step):
        part = slice(start, min(start + step, num_draws))
        chosen = rng.integers(0, 2, (part.stop - start, len(d)), np.uint8).astype(np.float64)
        sums[part], sizes[part] = chosen @ d, chosen.sum(axis=1)
    return sums, sizes


@dataclass(frozen=True, eq=False, repr=False)
class PermutationTestResult(Assessment):
    """A statistic compared with the same statistic on permuted data.

    Attributes:
        statistic: on the data.
        draws: on permuted data.

    >>> PermutationTestResult(3.0, np.array([0.0, 1.0, 5.0])).p_value
    0.5
    """

    statistic: float
    draws: Floats = field(repr=False)

    @property
    def p_value(self) -> float:
        """How often chance gives at least as much, the data itself counted."""
        return float((1 + (self.draws >= self.statistic).sum()) / (1 + len(self.draws)))

    def __repr__(self) -> str:
        return f"PermutationTestResult({self.statistic:.6g}; p = {self.p_value:.3g})"

    def _shown(self) -> Shown:
        low, high = self.interval()
        rows = [
            ("statistic", f"{self.statistic:.6g}"),
            ("by chance, middle 95%", f"{low:.6g} to {high:.6g}"),
            ("p-value", f"{self.p_value:.4g}"),
        ]
        return Shown((), rows, "Permutation test")

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """Where the statistic lies by chance alone, with this probability."""
        fraction("level", level)
        tail = (1.0 - level) / 2.0
        low, high = np.quantile(self.draws, [tail, 1.0 - tail], method="median_unbiased").tolist()
        return low, high


@translated
def permutation_test(
    data: object,
    statistic: Callable[[Dataset], float],
    *,
    column: VariableLike,
    num_draws: int = 999,
    seed: int | np.random.Generator = 0,
) -> PermutationTestResult:
    """Whether one column depends on the others: a statistic compared with its values with that column shuffled.

    Args:
        data: a dataset or any frame.
        statistic: a number from a dataset, larger where the dependence is stronger.
        column: the variable whose cells are shuffled among the rows.
        num_draws: how many permutations.
        seed: a number or a generator.

    Reference: Fisher (1935); Phipson & Smyth (2010) for counting the data itself.
    Guarantee: deterministic.
    Tested by: learning/evaluation/test_resampling.py::test_p_values_of_permutations_are_uniform_under_the_null

    >>> rows = Dataset({"x": [0, 0, 0, 1, 1, 1], "y": [0, 0, 0, 1, 1, 1]})
    >>> def agreement(d):
    ...     return float((d.codes("x") == d.codes("y")).sum())
    >>> permutation_test(rows, agreement, column="y", num_draws=99).p_value < 0.2
    True
    """
    rng = generator(seed)
    check_rows_fit(whole("num_draws", num_draws, least=1), 8)
    rows = as_dataset(data)
    draws = [statistic(shuffled(rows, column, rng)) for _ in range(num_draws)]
    guarantees = {"statistic": Guarantee.EXACT, "p_value": Guarantee.ESTIMATE}
    return PermutationTestResult(float(statistic(rows)), np.array(draws, np.float64), guarantees=guarantees)


def shuffled(data: Dataset, column: VariableLike, rng: np.random.Generator) -> Dataset:
    """The dataset with one column's cells permuted among the rows.

    >>> sorted(shuffled(Dataset({"x": [0, 1, 1]}), "x", np.random.default_rng(0)).codes("x").tolist())
    [0, 1, 1]
    """
    name = data.variables.named(column).name
    order = rng.permutation(data.num_rows)
    columns = {v.name: data.column(v)[order] if v.name == name else data.column(v) for v in data.variables}
    return Dataset.from_codes(data.variables, columns, weights=data.weights)


def _at_least_one(size: int) -> int:
    if size < 1:
        raise DataError("Resampling needs at least one row; found none.")
    return size
