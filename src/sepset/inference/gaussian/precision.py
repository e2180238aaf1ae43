r"""How far rounding may have moved the moments of hidden numbers, and those that it did move computed again.

The sweep of `conditioning` follows rounding errors: with $\sigma_r$ the deviation of a hidden number when it came in,
each update moves its row of $F D^{1/2}$ by about $\epsilon \sigma_r$, and an error of the loadings $f$ moves it in
proportion to what the difference explains. Errors are taken to be independent, as roundings of different operations
nearly are, and are held against the deviation that is left in the end. Where more than half of the digits may be lost,
or where numbers are near the ends of the range of floats, the sweep is repeated: in decimal numbers, with more and more
digits until an answer stays the same; or, if it is long, in twofold precision, which the first answer must confirm.

Reference: Higham (2002), Accuracy and stability of numerical algorithms, chapters 3 and 27; Ziv (1991).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.inference.gaussian.conditioning import MISSING, CompletedRows, Groups, Spread, TwofoldSpread
from sepset.inference.gaussian.coordinates import Coordinates
from sepset.inference.gaussian.decimals import READ, Line, Read, Sweep, as_decimals, as_floats, lines
from sepset.kernels.hybrid.conditioning import UNIT

NOTHING = np.zeros(0)

DOUBT = 1e-8
"""A relative error of moments above this, or a wider one that is not known, is looked into."""

RANGE = 1e-200
"""Variances below this or above its inverse may leave the range of floats in products; slopes from its root on."""

LEAST_VARIANCE = Decimal("1e-290")
"""Variances below this or above its inverse have no place among floats, though what they lead to may have."""

LADDER = (60, 200, 700, 2100)
"""The digits that are tried."""

MOST_PASSES = 1_000_000
"""The passes of a sweep, times a factor for long numbers, up to which it is repeated in decimal numbers."""

MOST_TWOFOLD = 100_000_000
"""The passes up to which it is repeated in twofold precision."""

MOST_SWEEPS = 10_000
"""The number of sweeps of one question that are repeated in twofold precision."""

CONFIRMED = 1e-3
"""The largest difference of an answer from one in twofold precision that confirms the latter."""


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def spread_errors(coordinates: Coordinates, spread: Spread) -> Floats:
    """For each group a bound, about, of the relative error of its deviations; infinite near the ends of the range."""
    groups, num = spread.groups, len(spread.groups.kinds)
    found = np.sqrt(np.where(groups.kinds > 0, spread.unsure, 0.0)).max(axis=1, initial=0.0)
    group, coordinate = groups.missing
    off, left = spread.away[1], spread.variances[group, coordinate]
    ratio = np.where(off > 0, np.sqrt(off / left), 0.0)
    np.maximum.at(found, group, np.where(np.isnan(ratio), np.inf, ratio))
    square = np.repeat(np.arange(num), np.diff(groups.square))
    far = np.zeros(num, np.bool_)
    for place, numbers, least in (
        (group, spread.noise, RANGE),
        (group, spread.away[0], RANGE),
        (square, spread.loadings, RANGE**0.5),
    ):
        far[place[_is_far(numbers, least)]] = True
    far |= (_is_far(spread.variance, RANGE) & (groups.kinds > 0)).any(axis=1)
    if _is_far(coordinates.flat.slopes, RANGE**0.5).any():
        far[:] = True
    return np.where(far | np.isnan(found), np.inf, found)


def _is_far(numbers: Floats, least: float) -> Bools:
    """Which numbers are near the ends of the range of floats; zero is not."""
    size = np.abs(numbers)
    return np.asarray((size != 0.0) & ~((size >= least) & (size <= 1.0 / least)))


def sharpened(coordinates: Coordinates, spread: Spread, budget: Budget | None = None) -> Spread:
    """The same with doubtful groups computed again, as far as the budget goes; it is written over.

    Reference: Ziv (1991).
    Guarantee: `errors` are those that are left in doubtful groups.
    Tested by: inference/gaussian/test_precision.py::test_moments_far_apart_meet_exact_arithmetic
    """
    errors, budget = spread_errors(coordinates, spread), budget or Budget()
    left = np.where(errors > DOUBT, np.minimum(errors, 1.0), np.nan)
    for g in np.flatnonzero(errors > DOUBT).tolist():
        if budget.is_spent:
            break
        left[g] = min(1.0, Repeated(coordinates, spread, g, budget).sharpen(float(errors[g])))
    return replace(spread, errors=left)


@dataclass(eq=False)
class Budget:
    """The passes that are left for sweeps in decimal numbers, and the number of sweeps in twofold precision."""

    left: float = MOST_PASSES
    twofold: int = MOST_SWEEPS

    @property
    def is_spent(self) -> bool:
        """Whether so much was computed again that the rest stays as it is."""
        return self.twofold <= 0

    def takes(self, passes: float) -> bool:
        """Whether so many are left; they are then taken."""
        if passes > self.left:
            return False
        self.left -= passes
        return True

    def takes_twofold(self) -> bool:
        """Whether a sweep in twofold precision is left; it is then taken."""
        self.twofold -= 1
        return self.twofold >= 0


@dataclass(eq=False)
class Repeated:
    """The sweep of one group, repeated with more digits.

    Attributes:
        spread: as it was found; the group is written over.
        group: its number.
        budget: the passes that may be made.
    """

    coordinates: Coordinates
    spread: Spread
    group: int
    budget: Budget
    values: Floats | None = None

    @property
    def _groups(self) -> Groups:
        return self.spread.groups

    @property
    def _passes(self) -> float:
        width = int(self._groups.begin[self.group + 1] - self._groups.begin[self.group])
        return 2.0 * int((self._groups.kinds[self.group] > 0).sum()) * (width + 1) ** 2

    def decimal(self) -> tuple[Sweep, Read, float] | None:
        """The sweep in decimal numbers that one with more digits confirms, and their difference; None if too long."""
        known: list[Line] = []
        before: tuple[Sweep, Read, float] | None = None
        for digits in LADDER:
            if not self.budget.takes(self._passes * (1.0 + digits / 100.0)):
                break
            if not known or self.coordinates.has_vectors:
                known = lines(self.coordinates, self._groups.entries[self.group], digits)
            sweep = Sweep.of(known, self._groups.kinds[self.group], self.values, digits)
            read = sweep.read()
            apart = np.inf if before is None else read.difference(before[1])
            before = sweep, read, float(apart)
            if apart <= DOUBT and not sweep.has_cancelled:
                break
        return before

    def sharpen(self, error: float) -> float:
        """Write the group's loadings and gains over by those with more digits; returns the error that is left."""
        found = self.decimal()
        if found is None or found[2] > DOUBT:
            return self._twofold(error)
        sweep, read, apart = found
        if not sweep.is_doubtful:
            self._write(sweep)
        return max(apart, self.away(read))

    def _write(self, sweep: Sweep) -> None:
        spread, groups, g = self.spread, self._groups, self.group
        begin, end = int(groups.begin[g]), int(groups.begin[g + 1])
        width, size = end - begin, groups.kinds.shape[1]
        spread.loadings[groups.square[g] : groups.square[g + 1]] = as_floats([x for row in sweep.loadings for x in row])
        spread.noise[begin:end] = as_floats(sweep.noise)
        for i, gains in sweep.gains.items():
            at = begin * size + i * width
            spread.gains[at : at + width] = np.pad(as_floats(gains), (0, width - len(gains)))
            spread.variance[g, i] = float(sweep.variance[i])
        self._settle()
        for i, total in sweep.variance.items():
            if not (LEAST_VARIANCE <= total <= 1 / LEAST_VARIANCE or total == 0):
                spread.unsure[g, i] = np.inf

    def _settle(self) -> None:
        """Note that the numbers of the group are right up to rounding."""
        spread, own = self.spread, slice(*self._groups.begin[self.group : self.group + 2].tolist())
        spread.growth[self.group], spread.unsure[self.group] = 1.0, UNIT**2
        with np.errstate(over="ignore", invalid="ignore"):
            spread.away[1, own] = UNIT**2 * self.variances()

    def _rows(self) -> tuple[Floats, Floats]:
        """$F$ and $D$ of the group."""
        groups, g = self._groups, self.group
        noise = self.spread.noise[groups.begin[g] : groups.begin[g + 1]]
        return self.spread.loadings[groups.square[g] : groups.square[g + 1]].reshape(len(noise), len(noise)), noise

    def variances(self) -> Floats:
        """The variances of the group's missing values."""
        F, D = self._rows()
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray((F * D * F).sum(axis=1))

    def _read(self, means: Floats, log_density: float, exact: int) -> Read | None:
        """The group as it is, in floats; None if numbers have left their range."""
        (F, D), variances = self._rows(), self.variances()
        if not all(np.isfinite(x).all() for x in (F, D, variances, means)):
            return None
        loadings, noise = [as_decimals(row) for row in F], as_decimals(D)
        made = Sweep((), self._groups.kinds[self.group], None, READ, loadings, noise)
        made.log_density, made.exact = log_density, exact
        return made.read()._replace(variances=as_decimals(variances), means=as_decimals(means))

    def away(self, other: Read, means: Floats = NOTHING, log_density: float = 0.0, exact: int = 0) -> float:
        """How far the group as it is, and a row of it with these means, are from what was read elsewhere."""
        own = self._read(means, log_density, exact)
        return np.inf if own is None else own.difference(other)

    def _twofold(self, error: float) -> float:
        """The same in twofold precision, if the group as it is confirms it; near the ends of the range it cannot."""
        first, twofold = self._read(NOTHING, 0.0, 0), self.twofold() if np.isfinite(error) else None
        if first is None or twofold is None:
            return error
        which, kept = np.array([self.group]), [x.copy() for x in self._rows()]
        self.spread.write(twofold, which)
        apart = self.away(first)
        if apart <= CONFIRMED:
            self._settle()
            return UNIT
        for now, old in zip(self._rows(), kept, strict=True):
            now[:] = old
        return min(error, apart)

    def twofold(self) -> TwofoldSpread | None:
        """The group in twofold precision; None if that takes long, leaves the range, or its parameters are rounded."""
        if self.coordinates.has_vectors or self._passes > MOST_TWOFOLD or not self.budget.takes_twofold():
            return None
        made = TwofoldSpread.of(self.coordinates, self._groups, np.array([self.group]))
        return made if np.isfinite(made.loadings).all() and np.isfinite(made.variance).all() else None


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def _row_errors(coordinates: Coordinates, rows: CompletedRows, known: Floats) -> Floats:
    """For each row a bound, about, of the error of its means relative to them or to their deviations."""
    from sepset.kernels.hybrid.conditioning import mean_errors

    spread, flat, errors = rows.spread, coordinates.flat, np.zeros(known.shape)
    groups = spread.groups
    mean_errors(
        *flat.structure, flat.intercept, flat.slopes, groups.entries, groups.kinds, groups.begin, spread.gains,
        spread.variance, spread.away, spread.unsure, rows.group, known.copy(), errors,
    )  # fmt: skip
    scale = np.maximum(rows.values**2, spread.variances[rows.group])
    ratio = np.where((groups.kinds[rows.group] == MISSING) & (errors != 0.0), np.sqrt(errors / scale), 0.0)
    ratio = np.where(np.isnan(ratio) | (_is_far(rows.values, RANGE**0.5) & ~np.isnan(rows.values)), np.inf, ratio)
    lost = np.where(rows.log_density > -np.inf, rows.loss / np.maximum(1.0, np.abs(rows.log_density)), 0.0)
    lost = np.where(np.isfinite(rows.loss), lost, np.inf)
    found = np.maximum(ratio.max(axis=1, initial=0.0), lost)
    if _is_far(flat.intercept, RANGE**0.5).any():
        found[:] = np.inf
    lost_groups = np.asarray(np.isinf(spread.unsure).any(axis=1))
    return np.where(lost_groups[rows.group], np.inf, found)


def _in_doubtful_groups(coordinates: Coordinates, rows: CompletedRows) -> Bools:
    """Which rows are of groups that were in doubt, if there are vectors.

    Errors of coordinates that depend on each other are not independent, and may be far larger than their bound.
    """
    return ~np.isnan(rows.spread.errors[rows.group]) & coordinates.has_vectors


def sharp_rows(
    coordinates: Coordinates, groups: Groups, values: Floats, group: Ints, budget: Budget
) -> tuple[CompletedRows, Floats]:
    """The completed rows of these values, NaN where missing, doubtful ones computed again, and the error of each.

    Cost: that of two sweeps, and of those that are repeated.
    """
    spread = sharpened(coordinates, Spread.of(coordinates, groups), budget)
    found = CompletedRows.given(coordinates, spread, values, group)
    sharp = SharpRows.of(coordinates, found, values, budget)
    made = replace(found, values=sharp.values, log_density=sharp.log_density, exact=sharp.exact, loss=sharp.loss)
    return made, np.minimum(sharp.residual, 1.0)


@dataclass(frozen=True, eq=False)
class SharpRows:
    """Completed rows, those in doubt computed again.

    Attributes:
        values, log_density, exact, loss: as in `CompletedRows`.
        error: the relative error that is left in each row; NaN where there was no doubt.
        bound: a bound, about, of that error before rows were computed again.
    """

    values: Floats
    log_density: Floats
    exact: Ints
    loss: Floats
    error: Floats
    bound: Floats

    @classmethod
    def of(
        cls, coordinates: Coordinates, rows: CompletedRows, known: Floats, budget: Budget | None = None
    ) -> SharpRows:
        """The rows of these known values, NaN where missing; as many are computed again as the budget allows."""
        errors, budget = _row_errors(coordinates, rows, known), budget or Budget()
        values, exact = rows.values.copy(), rows.exact.copy()
        made = cls(values, rows.log_density.copy(), exact, rows.loss.copy(), rows.errors.copy(), errors)
        doubtful = np.flatnonzero((errors > DOUBT) | _in_doubtful_groups(coordinates, rows))
        made.error[doubtful] = np.fmax(made.error[doubtful], np.minimum(errors[doubtful], 1.0))
        for row in doubtful.tolist():
            if budget.is_spent:
                break
            repeated = Repeated(coordinates, rows.spread, int(rows.group[row]), budget, known[row])
            left = min(1.0, made._repeat(row, repeated, float(errors[row])))
            made.error[row] = np.fmax(rows.errors[row], left)
        return made

    @property
    def residual(self) -> Floats:
        """The relative error of each row, or a bound of it if there was no doubt."""
        lost = np.where(self.log_density > -np.inf, self.loss / np.maximum(1.0, np.abs(self.log_density)), 0.0)
        return np.maximum(np.where(np.isnan(self.error), self.bound, self.error), lost)

    def _repeat(self, row: int, repeated: Repeated, bound: float) -> float:
        """Compute one row again; returns the error that is left."""
        found = repeated.decimal()
        if found is None or found[2] > DOUBT:
            return self._confirm(row, repeated, bound)
        (sweep, read, apart), missing = found, self._missing(repeated)
        if sweep.is_doubtful:
            own = self.values[row, missing], float(self.log_density[row]), int(self.exact[row])
            return max(apart, repeated.away(read, *own))
        self._write(row, missing, as_floats(read.means), read.log_density)
        self.exact[row] = read.exact
        return apart

    def _missing(self, repeated: Repeated) -> Bools:
        return np.asarray(repeated.spread.groups.kinds[repeated.group] == MISSING)

    def _write(self, row: int, missing: Bools, means: Floats, log_density: float) -> None:
        self.values[row, missing], self.log_density[row] = means, log_density
        self.loss[row] = 8.0 * UNIT * max(1.0, abs(log_density)) if log_density > -np.inf else 0.0

    def _confirm(self, row: int, repeated: Repeated, bound: float) -> float:
        """Compute a row in twofold precision, and keep it if it is confirmed."""
        missing, log = self._missing(repeated), float(self.log_density[row])
        twofold = repeated.twofold() if np.isfinite(bound) and log > -np.inf else None
        if twofold is None or repeated.values is None:
            return bound
        filled, logs = twofold.completed(repeated.coordinates, repeated.values[None], np.zeros(1, np.int64))
        means, now = filled[0, missing], self.values[row, missing]
        scale = np.maximum(np.abs(means), np.sqrt(repeated.variances()))
        away = np.abs(means - now) / np.where(scale > 0, scale, 1.0)
        apart = max(float(away.max(initial=0.0)), abs(float(logs[0]) - log) / max(1.0, abs(log)))
        if not apart <= CONFIRMED:
            return min(bound, apart)
        self._write(row, missing, means, float(logs[0]))
        return UNIT
