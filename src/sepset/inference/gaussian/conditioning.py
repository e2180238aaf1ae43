r"""Missing values given observed ones, by one sweep over the coordinates from parents to children.

The missing coordinates of a row so far are $\mathbf z = \hat{\mathbf z} + F \mathbf e$ with independent noise
$\mathbf e \sim N(0, \operatorname{diag} D)$. A missing coordinate extends $\mathbf z$ by its mean, by a row of $F$ and
by its own noise. An observed coordinate is a measurement: with $f = F^\top b$ its loadings through missing parents, and
$\alpha_j = c + \sum_{k \le j} f_k^2 D_k$,

$$\hat{\mathbf z} \leftarrow \hat{\mathbf z} + \frac{F D f}{\alpha}\, v, \qquad
D_j \leftarrow D_j \frac{\alpha_{j-1}}{\alpha_j}, \qquad
F_{\cdot j} \leftarrow F_{\cdot j} - \frac{f_j}{\alpha_{j-1}} \sum_{k<j} F_{\cdot k} D_k f_k,$$

and its difference $v$ from its expectation is normal with variance $\alpha$, the last of the $\alpha_j$. Nothing is
inverted and no two variances are subtracted, so that small noise keeps its digits and zero noise is exact. Loadings and
noise are the same for all rows that miss the same coordinates in the same discrete context: a group.

Loadings and differences are sums that may cancel. Their rounding errors are followed through the sweep; if more than a
few digits of a log density are lost, or of the loadings, the sweep is repeated in twofold precision.

Reference: Bierman (1977), Factorization methods for discrete sequential estimation, chapter V; Koller & Friedman,
theorem 7.4.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from sepset.base.arraytypes import Bools, Bytes, Floats, Ints
from sepset.base.lazy import lazy
from sepset.base.logarithms import LOG_2PI
from sepset.base.threads import interruptible
from sepset.errors import NotClosed
from sepset.factors.coordinates import ON_SUPPORT
from sepset.inference.evidencerows import check_numbers
from sepset.inference.gaussian.coordinates import Coordinates

FOUND, MISSING = 1, 2

MOST_GROWTH = 1e4
"""The growth of relative errors in loadings from which they are computed again in twofold precision."""

MOST_LOSS = 1e-10
"""The rounding error of a log density from which it is computed again in twofold precision."""

UNINTERRUPTED = 1 << 26
"""Updates of a number that are made without looking for Ctrl-C: about a tenth of a second."""

TWOFOLD = 2.0**-50
"""The rounding in twofold precision relative to that of floats, with a margin."""


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of rows with the same observed and missing coordinates and the same discrete context.

    Attributes:
        kinds: for each group and coordinate 1 if it is observed, 2 if it is missing, 0 if it is not needed.
        entries: for each group and coordinate the row of the coordinate's parameters.
    """

    kinds: Bytes = field(repr=False)
    entries: Ints = field(repr=False)

    @classmethod
    def of(cls, coordinates: Coordinates, found: Bools, missing: Bools, contexts: Ints) -> Groups:
        """The groups with these observed and missing coordinates in these contexts, one row per group."""
        entries = np.empty(found.shape, np.int64)
        known: dict[tuple[int, ...], Ints] = {}
        for i, part in enumerate(coordinates.all):
            if part.by not in known:
                known[part.by] = coordinates.entry(part.by, contexts)
            entries[:, i] = known[part.by]
        return cls(np.where(missing, MISSING, found).astype(np.uint8), entries)

    def take(self, which: Ints) -> Groups:
        """Some of the groups."""
        return Groups(self.kinds[which], self.entries[which])

    @lazy
    def missing(self) -> tuple[Ints, Ints]:
        """The group and the coordinate of every missing value, group by group."""
        group, coordinate = np.nonzero(self.kinds == MISSING)
        return np.asarray(group, np.int64), np.asarray(coordinate, np.int64)

    @lazy
    def begin(self) -> Ints:
        """The start of each group's missing coordinates among those of all groups."""
        return np.concatenate([[0], np.cumsum((self.kinds == MISSING).sum(axis=1))])

    @lazy
    def square(self) -> Ints:
        """The start of each group's loadings."""
        return np.concatenate([[0], np.cumsum(np.diff(self.begin) ** 2)])


@dataclass(frozen=True, eq=False)
class Spread:
    r"""The posterior covariance of each group's missing values, which does not depend on the observed values.

    Attributes:
        loadings: $F$, row by row and group by group.
        noise: $D$, group by group.
        gains: $F D f / \alpha$ for each group and coordinate.
        variance: $\alpha$ for each group and coordinate.
        growth: by how much sums that cancel have increased relative errors in each group.
        away: for each missing value its variance when it came in, and the square of the rounding error of its row of
            $F D^{1/2}$, in a second row.
        unsure: the square of the relative rounding error of $\alpha^{1/2}$ for each group and coordinate.
        errors: the relative error of each group that was looked into (`precision`); NaN for others.
    """

    groups: Groups
    loadings: Floats = field(repr=False)
    noise: Floats = field(repr=False)
    gains: Floats = field(repr=False)
    variance: Floats = field(repr=False)
    growth: Floats = field(repr=False)
    away: Floats = field(repr=False)
    unsure: Floats = field(repr=False)
    errors: Floats = field(repr=False)

    @classmethod
    def of(cls, coordinates: Coordinates, groups: Groups) -> Spread:
        """The loadings and noise of each group's missing values given the observed ones.

        Cost: for each group and coordinate, the square of the number missing so far.
        """
        from sepset.kernels.hybrid.conditioning import spread

        sizes = _sizes(groups)
        check_numbers(int(np.diff(groups.begin).max(initial=0)))
        loadings, noise, gains = (np.zeros(size) for size in sizes)
        (variance, unsure), growth = np.zeros((2, *groups.entries.shape)), np.ones(len(groups.kinds))
        away, flat = np.zeros((2, sizes[1])), coordinates.flat
        how = (
            *flat.structure, flat.slopes, flat.variance, groups.entries, groups.kinds, groups.begin, groups.square,
            loadings, noise, gains, variance, growth, away, unsure,
        )  # fmt: skip
        interruptible(partial(spread, *how), is_short=_is_short(groups))
        none = np.full(len(growth), np.nan)
        found = cls(groups, loadings, noise, gains, variance, growth, away, unsure, none)
        lost = np.flatnonzero(growth > MOST_GROWTH)
        if not len(lost):
            return found
        found.write(TwofoldSpread.of(coordinates, groups, lost), lost)
        return found if coordinates.has_vectors else found._with_digits()

    def _with_digits(self) -> Spread:
        """The same after groups with large growth were computed in twofold precision."""
        return replace(self, growth=np.where(self.growth > MOST_GROWTH, 1.0 + TWOFOLD * self.growth, self.growth))

    def write(self, twofold: TwofoldSpread, which: Ints) -> None:
        """Write some groups over by those from twofold precision."""
        groups, own = self.groups, twofold.groups
        for i, g in enumerate(which.tolist()):
            self.loadings[groups.square[g] : groups.square[g + 1]] = twofold.loadings[
                0, own.square[i] : own.square[i + 1]
            ]
            self.noise[groups.begin[g] : groups.begin[g + 1]] = twofold.noise[0, own.begin[i] : own.begin[i + 1]]
            at, end, inside = (b * groups.kinds.shape[1] for b in (groups.begin[g], groups.begin[g + 1], own.begin[i]))
            self.gains[at:end] = twofold.gains[0, inside : inside + end - at]
        self.variance[which] = twofold.variance[0]

    @lazy
    def log_peaks(self) -> tuple[Floats, Ints]:
        """For each group the log density of its missing values at their mean, and the number of them without noise."""
        group, _ = self.groups.missing
        num = len(self.groups.kinds)
        free = self.noise > 0
        logs = np.where(free, -0.5 * (LOG_2PI + np.log(np.where(free, self.noise, 1.0))), 0.0)
        return np.bincount(group, logs, num).astype(np.float64), np.bincount(group, ~free, num).astype(np.int64)

    @lazy
    def variances(self) -> Floats:
        """The variance of every coordinate in each group given the observed ones; zero for those."""
        groups = self.groups
        found = np.zeros(groups.kinds.shape)
        if len(self.noise):
            width = np.diff(groups.begin)[groups.missing[0]]
            starts = np.cumsum(width) - width
            column = np.arange(len(self.loadings)) - np.repeat(starts, width)
            noise = self.noise[np.repeat(groups.begin[groups.missing[0]], width) + column]
            with np.errstate(over="ignore", invalid="ignore"):
                found[groups.missing] = np.add.reduceat(self.loadings * noise * self.loadings, starts)
        return found

    def variances_of(self, coordinate: int, group: Ints) -> Floats:
        """The variance of one coordinate in some groups."""
        found = self.variances[group, coordinate]
        require_range(found)
        return np.asarray(found)


@dataclass(frozen=True, eq=False)
class TwofoldSpread:
    """The same in twofold precision: the first row of each array has the numbers, the second what they lack.

    Reference: Dekker (1971).
    Guarantee: exact to about 32 digits less those that cancel.
    Tested by: inference/gaussian/test_conditioning.py::test_sums_that_cancel_keep_their_digits
    """

    groups: Groups
    loadings: Floats = field(repr=False)
    noise: Floats = field(repr=False)
    gains: Floats = field(repr=False)
    variance: Floats = field(repr=False)

    @classmethod
    def of(cls, coordinates: Coordinates, groups: Groups, which: Ints) -> TwofoldSpread:
        """Those of some of the groups."""
        from sepset.kernels.hybrid.twofold import spread_twofold

        own, flat = groups.take(which), coordinates.flat
        loadings, noise, gains = (np.zeros((2, size)) for size in _sizes(own))
        variance = np.zeros((2, *own.entries.shape))
        how = (
            *flat.structure, flat.slopes, flat.variance, own.entries, own.kinds, own.begin, own.square,
            loadings, noise, gains, variance,
        )  # fmt: skip
        interruptible(partial(spread_twofold, *how), is_short=_is_short(own, 20.0))
        return cls(own, loadings, noise, gains, variance)

    def completed(self, coordinates: Coordinates, values: Floats, group: Ints) -> tuple[Floats, Floats]:
        """Rows with expectations in place of missing values, and the log densities of the observed ones."""
        from sepset.kernels.hybrid.twofold import fill_twofold

        own, flat, filled, log = self.groups, coordinates.flat, values.copy(), np.zeros(len(values))
        how = (
            *flat.structure, flat.intercept, flat.slopes, own.entries, own.kinds, own.begin, self.gains, self.variance,
            _constants(self.variance[0]), group, filled, log,
        )  # fmt: skip
        interruptible(partial(fill_twofold, *how), is_short=_are_few(own, values, 20.0))
        return filled, log


def require_range(*numbers: Floats) -> None:
    """Raise if numbers left the range of float64."""
    if not all(np.isfinite(found).all() for found in numbers):
        raise NotClosed(
            "Means or variances of real variables leave the range of floating-point numbers (1e308). Use other units: "
            "divide the largest variables by a power of ten."
        )


def _sizes(groups: Groups) -> tuple[int, int, int]:
    """The number of loadings, of missing values, and of gains."""
    return int(groups.square[-1]), int(groups.begin[-1]), int(groups.begin[-1]) * groups.kinds.shape[1]


def _is_short(groups: Groups, factor: float = 1.0) -> bool:
    """Whether the covariances of all groups take only moments: one update of them for each coordinate."""
    return bool(factor * groups.square[-1] * groups.kinds.shape[1] <= UNINTERRUPTED)


def _are_few(groups: Groups, values: Floats, factor: float = 1.0) -> bool:
    """Whether the expectations in rows take only moments: one update of what is missing for each coordinate."""
    widest = int(np.diff(groups.begin).max(initial=1))
    return factor * values.size * max(widest, 1) <= UNINTERRUPTED


def _constants(variance: Floats) -> Floats:
    """The log density of no difference; without variance it is not used."""
    return np.asarray(-0.5 * (LOG_2PI + np.log(np.where(variance > 0, variance, 1.0))))


@dataclass(frozen=True, eq=False)
class CompletedRows:
    """Rows with expectations in place of missing values.

    Attributes:
        spread: the posterior covariances of their groups.
        group: the group of each row.
        values: one column per coordinate.
        log_density: the log density of the observed values; -inf where a relation without noise is violated.
        exact: the number of observed values that follow without noise from others, and so have probability one.
        loss: a bound of the rounding error of the log density.

    Reference: Bierman (1977); Koller & Friedman theorem 7.4.
    Guarantee: exact; small noise keeps its digits.
    Tested by: inference/gaussian/test_conditioning.py::test_rows_are_conditioned_one_by_one
    """

    spread: Spread
    group: Ints = field(repr=False)
    values: Floats = field(repr=False)
    log_density: Floats = field(repr=False)
    exact: Ints = field(repr=False)
    loss: Floats = field(repr=False)

    @classmethod
    def of(cls, coordinates: Coordinates, groups: Groups, values: Floats, group: Ints) -> CompletedRows:
        """The completed rows of these values, NaN where missing.

        Cost: for each row and coordinate, the number of parents and of values missing so far.
        """
        return cls.given(coordinates, Spread.of(coordinates, groups), values, group)

    @classmethod
    def given(cls, coordinates: Coordinates, known: Spread, values: Floats, group: Ints) -> CompletedRows:
        """The same with the posterior covariances of the groups, which do not depend on the values."""
        from sepset.kernels.hybrid.conditioning import fill

        groups, flat, filled = known.groups, coordinates.flat, values.copy()
        log, exact, loss = np.zeros(len(values)), np.zeros(len(values), np.int64), np.zeros((2, len(values)))
        how = (
            *flat.structure, flat.intercept, flat.slopes, groups.entries, groups.kinds, groups.begin, known.gains,
            known.variance, known.growth, _constants(known.variance), ON_SUPPORT, group, filled, log, exact, loss,
        )  # fmt: skip
        interruptible(partial(fill, *how), is_short=_are_few(groups, values))
        with np.errstate(over="ignore"):
            found = cls(known, group, filled, log, exact, loss.sum(axis=0))
        lost = np.flatnonzero((found.loss > MOST_LOSS) & (log > -np.inf))
        if len(lost):
            found._repeat(coordinates, values, lost, TWOFOLD * loss[0, lost] + TWOFOLD**2 * loss[1, lost])
        return found

    @property
    def errors(self) -> Floats:
        """The relative error of the loadings of each row, if they were looked into; otherwise NaN."""
        return np.asarray(self.spread.errors[self.group])

    def _repeat(self, coordinates: Coordinates, values: Floats, lost: Ints, loss: Floats) -> None:
        """Compute some rows again in twofold precision, unless that leaves the range of floats."""
        which, inside = np.unique(self.group[lost], return_inverse=True)
        twofold = TwofoldSpread.of(coordinates, self.spread.groups, which)
        filled, log = twofold.completed(coordinates, values[lost], inside.reshape(-1))
        kept = np.asarray(np.isfinite(twofold.variance).all(axis=(0, 2)))[inside.reshape(-1)]
        fits = kept & np.isfinite(log) & (np.isnan(filled) == np.isnan(self.values[lost])).all(axis=1)
        self.values[lost[fits]], self.log_density[lost[fits]] = filled[fits], log[fits]
        if not coordinates.has_vectors:  # their parameters are rounded: more digits in sums alone prove nothing
            self.loss[lost[fits]] = loss[fits]

    def drawn(self, rows: Ints, rng: np.random.Generator) -> Floats:
        """The values of some rows, the missing ones drawn jointly."""
        from sepset.kernels.hybrid.conditioning import disturb

        groups, group, values = self.spread.groups, self.group[rows], self.values[rows]
        normals = rng.standard_normal(int(np.diff(groups.begin)[group].sum()))
        known = groups.kinds, groups.begin, groups.square, self.spread.loadings, self.spread.noise
        disturb(*known, group, normals, values)
        return values

    def add_moments(self, coordinates: Coordinates, weights: Floats, moments: Floats) -> None:
        r"""Add $\sum_m w_m E[\mathbf z \mathbf z^\top]$ of each family, $\mathbf z = (1, \mathbf u, \mathbf y)$.

        Args:
            weights: one per row.
            moments: in the layout of `Coordinates.split`.
        """
        from sepset.kernels.hybrid.conditioning import add_moments, add_spreads

        groups, known = self.spread.groups, self.spread
        mass, layout, entries = np.zeros(len(groups.kinds)), coordinates.layout, groups.entries
        add_moments(*layout, entries, self.group, self.values, weights, moments, mass)
        places = groups.begin, groups.square
        add_spreads(*layout, entries, groups.kinds, *places, known.loadings, known.noise, mass, moments)
