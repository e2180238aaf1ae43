r"""The sweep of `conditioning` in decimal numbers of as many digits as are wanted, and of any size.

Every float is a decimal number, so that only the operations of the sweep round. A sum whose terms cancel to all but a
few of its digits counts as zero, and the sweep says that it did: more digits then tell a small number from none.

Reference: Bierman (1977), Factorization methods for discrete sequential estimation, chapter V; Ziv (1991), Fast
evaluation of elementary mathematical functions with correctly rounded last bit, on computing with more digits until
an answer is certain.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.base.logarithms import LOG_2PI
from sepset.factors.coordinates import ON_SUPPORT
from sepset.inference.gaussian.conditioning import FOUND, MISSING
from sepset.inference.gaussian.coordinates import Coordinates
from sepset.inference.gaussian.vectors import Decimals
from sepset.kernels.hybrid.conditioning import ROUNDING

ZERO, ONE, HALF, GOLDEN = Decimal(0), Decimal(1), Decimal("0.5"), Decimal("0.6180339887")

READ = 40
"""The digits with which moments are read from loadings: sums of squares, in which nothing cancels."""

SPARE = 15
"""A sum that keeps fewer than these of its digits counts as zero."""

HONEST = Decimal(2) ** -60
"""A sum smaller than its terms by this factor is not what rounding of its coefficients leaves."""

LEAST = Decimal(2) ** -1000
"""Differences below this are beyond the range of floats."""


class Line(NamedTuple):
    """A scalar regression in one context, by its number among others."""

    parents: tuple[int, ...]
    slopes: tuple[Decimal, ...]
    intercept: Decimal
    variance: Decimal


def lines(coordinates: Coordinates, entries: Ints, digits: int) -> list[Line]:
    """The regressions in the context in which each has this row of parameters; those of vectors with these digits."""
    (start, above, first, slope_first), flat = coordinates.flat.structure, coordinates.flat
    known: dict[int, Decimals] = {}
    found = []
    for i, entry in enumerate(entries.tolist()):
        parents, vector = tuple(above[start[i] : start[i + 1]].tolist()), coordinates.all[i].vector
        if vector is not None:
            source, place = vector
            if id(source) not in known:
                known[id(source)] = source.decimal(entry, digits)
            found.append(_line(parents, known[id(source)], place))
            continue
        at = int(slope_first[i]) + entry * len(parents)
        found.append(
            Line(
                parents,
                tuple(map(Decimal, flat.slopes[at : at + len(parents)].tolist())),
                Decimal(float(flat.intercept[first[i] + entry])),
                Decimal(float(flat.variance[first[i] + entry])),
            )
        )
    return found


def _line(parents: tuple[int, ...], whole: Decimals, place: int) -> Line:
    """A coordinate of a vector."""
    slopes = (*whole.slopes[place], *whole.before[place])
    return Line(parents, slopes, whole.intercepts[place], whole.variances[place])


@dataclass(eq=False)
class Sweep:
    r"""A sweep over regressions with these digits: $\hat{\mathbf z}$, $F$, $D$, gains and variances of differences.

    Attributes:
        kinds: for each regression 1 if it is observed, 2 if it is missing, 0 if it is not needed.
        values: one for each regression, missing ones filled in; without them only the covariance is computed.
        digits: how many are carried.
        loadings, noise: $F$ by rows, and $D$.
        gains, variance: of each observed coordinate, the change of the missing ones per unit of difference, and
            $\alpha$.
        log_density: of the observed values.
        exact: the number of observed values that follow without noise from others.
        has_cancelled: whether a sum counted as zero.
        is_doubtful: whether a sum is as small as rounding of its coefficients would make it.

    Reference: Bierman (1977).
    Guarantee: the digits carried less those that cancel; a sum of which none are left is zero.
    Tested by: inference/gaussian/test_decimals.py::test_sweeps_meet_exact_arithmetic
    """

    lines: Sequence[Line]
    kinds: Bytes
    values: list[Decimal] | None
    digits: int
    loadings: list[list[Decimal]] = field(default_factory=list)
    noise: list[Decimal] = field(default_factory=list)
    gains: dict[int, list[Decimal]] = field(default_factory=dict)
    variance: dict[int, Decimal] = field(default_factory=dict)
    log_density: float = 0.0
    exact: int = 0
    has_cancelled: bool = False
    is_doubtful: bool = False

    @classmethod
    def of(cls, lines: Sequence[Line], kinds: Bytes, values: Floats | None, digits: int) -> Sweep:
        """The sweep, done.

        Cost: for each coordinate the square of the number of missing ones, in operations on numbers of these digits.
        """
        known = None if values is None else [Decimal(x) if math.isfinite(x) else ZERO for x in values.tolist()]
        made = cls(lines, kinds, known, digits)
        with localcontext(Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)):
            made._run()
        return made

    def _run(self) -> None:
        self._small = ONE.scaleb(SPARE - self.digits)
        self._slot: dict[int, int] = {}
        for i, kind in enumerate(self.kinds.tolist()):
            if kind == MISSING:
                self._extend(i)
            elif kind == FOUND:
                self._measure(i)

    def _settled(self, number: Decimal, terms: Decimal) -> Decimal:
        """A sum, zero if it is smaller than its terms by all digits."""
        if abs(number) > self._small * terms:
            return number
        self.has_cancelled |= terms > 0
        return ZERO

    def _through(self, i: int) -> list[Decimal]:
        """The loadings of a coordinate through its missing parents."""
        width, line = len(self.noise), self.lines[i]
        found, terms = [ZERO] * width, [ZERO] * width
        for u, slope in zip(line.parents, line.slopes, strict=True):
            if u in self._slot and slope:
                for c, loading in enumerate(self.loadings[self._slot[u]]):
                    if loading:
                        part = slope * loading
                        found[c] += part
                        terms[c] += abs(part)
        for c, (number, size) in enumerate(zip(found, terms, strict=True)):
            if size and number != size and number != -size:
                found[c] = self._settled(number, size)
                ratio = abs(found[c]) / size
                self.is_doubtful |= HONEST < ratio <= ROUNDING * len(line.parents)
        return found

    def _expected(self, i: int) -> tuple[Decimal, Decimal]:
        """The expectation of a coordinate given its parents' values, and the sum of its absolute terms."""
        line = self.lines[i]
        assert self.values is not None
        parts = [line.intercept, *(b * self.values[u] for u, b in zip(line.parents, line.slopes, strict=True))]
        return sum(parts, ZERO), sum(map(abs, parts), ZERO)

    def _extend(self, i: int) -> None:
        """One more missing coordinate."""
        row = self._through(i)
        for other in self.loadings:
            other.append(ZERO)
        self.loadings.append([*row, ONE])
        self.noise.append(self.lines[i].variance)
        self._slot[i] = len(self.noise) - 1
        if self.values is not None:
            self.values[i] = self._settled(*self._expected(i))

    def _measure(self, i: int) -> None:
        """An observed coordinate."""
        weights, turns, total = self._weigh(self._through(i), self.lines[i].variance)
        pulls = [self._update(row, weights, turns) for row in self.loadings]
        self.variance[i] = total
        self.gains[i] = [pull / total for pull in pulls] if total else [ZERO] * len(pulls)
        if self.values is not None:
            self._observe(i, total)

    def _weigh(self, f: list[Decimal], before: Decimal) -> tuple[list[Decimal], list[Decimal], Decimal]:
        """The weights and turns of all columns, whose noise is updated, and the variance of the difference."""
        weights, turns = [], []
        for c, loading in enumerate(f):
            turns.append(loading / before if before else ZERO)
            weights.append(self.noise[c] * loading)
            after = before + weights[c] * loading
            if after and loading:
                self.noise[c] = self.noise[c] * before / after
            before = after
        return weights, turns, before

    def _update(self, row: list[Decimal], weights: list[Decimal], turns: list[Decimal]) -> Decimal:
        """Update a row of loadings; returns its covariance with the difference."""
        reached = ZERO
        for c, (old, weight, turn) in enumerate(zip(row, weights, turns, strict=True)):
            if turn and reached:
                part = turn * reached
                row[c] = self._settled(old - part, max(abs(old), abs(part))) if old else -part
            if old and weight:
                reached += old * weight
        return reached

    def _observe(self, i: int, total: Decimal) -> None:
        """Move the missing values by an observed one, and add its log density."""
        assert self.values is not None
        mean, terms = self._expected(i)
        terms += abs(self.values[i])
        apart = self._settled(self.values[i] - mean, terms)
        if not total:
            self.exact += 1
            if abs(apart) > Decimal(ON_SUPPORT) * terms:
                self.log_density = -math.inf
            return
        self.log_density -= 0.5 * (LOG_2PI + log_of(total) + float(apart * apart / total))
        for u, row in self._slot.items():
            old, step = self.values[u], self.gains[i][row] * apart
            self.values[u] = self._settled(old + step, max(abs(old), abs(step)))

    def read(self) -> Read:
        """Variances, means, and what else the digits of an answer can be seen in."""
        with localcontext(Context(prec=READ, Emax=MAX_EMAX, Emin=MIN_EMIN)):
            variances = [_squares(row, self.noise) for row in self.loadings]
            deviations = [v.sqrt() for v in variances]
            mixed = [ZERO] * len(variances)
            for r, (row, deviation) in enumerate(zip(self.loadings, deviations, strict=True)):
                weight = HALF + GOLDEN * (r + 1) % 1
                for c, loading in enumerate(row):
                    if deviation and loading:
                        mixed[c] += weight * loading / deviation
            across = [
                sum((x * d * m for x, d, m in zip(row, self.noise, mixed, strict=True)), ZERO) / s if s else ZERO
                for row, s in zip(self.loadings, deviations, strict=True)
            ]
        means = [] if self.values is None else [self.values[u] for u in self._slot]
        peak = math.fsum(log_of(d) for d in self.noise if d)
        return Read(variances, deviations, means, across, self.log_density, peak, self.exact)


class Read(NamedTuple):
    """The numbers that a sweep found: variances, deviations and means, and covariances with a mixture of all of them.

    `log_density` and `exact` are of the observed values, `peak` is the log determinant.
    """

    variances: list[Decimal]
    deviations: list[Decimal]
    means: list[Decimal]
    across: list[Decimal]
    log_density: float
    peak: float
    exact: int

    def difference(self, other: Read) -> float:
        """The largest difference of two, each number relative to its own size and means to their deviation as well."""
        if self.exact != other.exact:
            return math.inf
        with localcontext(Context(prec=READ, Emax=MAX_EMAX, Emin=MIN_EMIN)):
            found = [_apart(a, b, b) for a, b in zip(self.variances, other.variances, strict=True)]
            pairs = zip(self.means, other.means, other.deviations[: len(other.means)], strict=True)
            found += [_apart(a, b, max(abs(b), s)) for a, b, s in pairs]
            found += [_apart(a, b, max(abs(b), ONE)) for a, b in zip(self.across, other.across, strict=True)]
        logs = ((self.log_density, other.log_density), (self.peak, other.peak))
        found += [abs(a - b) / max(1.0, abs(b)) for a, b in logs if a != b]
        return max(found, default=0.0)


def _apart(a: Decimal, b: Decimal, scale: Decimal) -> float:
    """The difference of two numbers relative to a scale; none if it is beyond the range of floats."""
    away = abs(a - b)
    if away <= LEAST:
        return 0.0
    return math.inf if not scale else float(away / scale)


def _squares(row: Sequence[Decimal], noise: Sequence[Decimal]) -> Decimal:
    return sum((x * d * x for x, d in zip(row, noise, strict=True)), ZERO)


def log_of(number: Decimal) -> float:
    """The natural logarithm of a positive number of any size.

    >>> log_of(Decimal("1e1000")) == 1000 * math.log(10)
    True
    """
    at = number.adjusted()
    return math.log(float(number.scaleb(-at))) + at * math.log(10.0)


def as_floats(numbers: Sequence[Decimal]) -> Floats:
    """The nearest floats."""
    return np.array([float(x) for x in numbers], np.float64)


def as_decimals(numbers: Floats) -> list[Decimal]:
    """The same numbers."""
    return [Decimal(x) for x in numbers.tolist()]
