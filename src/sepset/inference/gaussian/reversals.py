r"""Wide networks of regressions whose hidden numbers are eliminated one after the other, in moment form.

Each hidden number becomes a regression on those that are eliminated later (`kernels.hybrid.reversal`),

$$z_i = a_i + \sum_j B_{ij} z_j + \varepsilon_i, \qquad \varepsilon_i \sim N(0, D_i),$$

so that the posterior mean, which is also the most probable value, and draws are read back last ones first, and the
largest density is $\prod_i (2 \pi D_i)^{-1/2}$. What is left of each finding is independent of all others and of the
hidden numbers. The elimination depends on the observed set alone; its steps are repeated for the constants of each row
of evidence. Chains and trees take a few steps for each number, other networks as many as the cliques of the order have
pairs of numbers.

Everything is computed twice, with about 32 digits and with 16. The difference says how many digits the second lost, and
so how many the first has left.

Reference: Shachter & Kenley (1989), Gaussian influence diagrams; Koller & Friedman, section 14.2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Bytes, Floats, Ints
from sepset.base.lazy import lazy
from sepset.base.logarithms import LOG_2PI
from sepset.base.threads import interruptible
from sepset.factors.coordinates import ON_SUPPORT
from sepset.inference import costs
from sepset.inference.gaussian.conditioning import FOUND, MISSING, TWOFOLD, require_range
from sepset.inference.gaussian.coordinates import Coordinates
from sepset.inference.gaussian.precision import CONFIRMED
from sepset.kernels.hybrid.conditioning import UNIT

FULL, HALF = (1.0, 2.0**-92), (0.0, 2.0**-44)
"""Whether numbers have a second float, and the relative size from which what is left of terms is rounding."""


class Steps(NamedTuple):
    """The steps of an elimination in one precision; see `kernels.hybrid.reversal.reverse_arcs`."""

    steps: Ints
    factors: Floats
    begin: Ints
    below: Ints
    given: Floats
    noise: Floats


class Read(NamedTuple):
    """Rows of evidence after an elimination, one column for each.

    Attributes:
        numbers: the expectation of each hidden number, the two floats of each.
        terms: the largest term of each number, and of what is left of each finding.
        constants: those of each regression, and what is left of each finding.
    """

    numbers: Floats
    terms: Floats
    constants: Floats


@dataclass(frozen=True, eq=False)
class Reversals:
    """The elimination of all hidden variables of a linear Gaussian network, given an observed set.

    Attributes:
        coordinates: the regressions.
        entries: for each coordinate the row of its parameters.
        kinds: for each 1 if it is observed, 2 if it is hidden, 0 if it is not needed.
        order: the hidden ones, first eliminated first.
        last: the number of those that are asked for, which come last.

    Cost: for each number the square of those that its clique in the order has.
    Reference: Shachter & Kenley (1989).
    Guarantee: exact; small noise keeps its digits.
    Tested by: inference/gaussian/test_reversals.py::test_networks_meet_exact_arithmetic
    """

    coordinates: Coordinates
    entries: Ints = field(repr=False)
    kinds: Bytes = field(repr=False)
    order: Ints = field(repr=False)
    last: int

    @lazy
    def hidden(self) -> Ints:
        """The hidden coordinates."""
        return np.flatnonzero(self.kinds == MISSING)

    @lazy
    def _parameters(self) -> tuple[Floats, Floats, Floats]:
        return self.coordinates.selected(self.entries)

    @lazy
    def _full(self) -> Steps:
        return self._eliminated(*FULL)

    @lazy
    def _half(self) -> Steps:
        return self._eliminated(*HALF)

    def _eliminated(self, keep: float, gone: float) -> Steps:
        from sepset.kernels.hybrid.reversal import reverse_arcs

        (start, above, *_), (slopes, _, variance) = self.coordinates.structure, self._parameters
        return interruptible(
            lambda cancel: Steps(
                *reverse_arcs(start, above, slopes, variance, self.kinds, self.order, keep, gone, cancel)
            )
        )

    def _read(self, values: Floats, known: Steps, keep: float) -> Read:
        from sepset.kernels.hybrid.reversal import carry_constants, read_numbers

        (start, above, *_), (slopes, intercept, _) = self.coordinates.structure, self._parameters
        numbers, terms = np.zeros((2, len(self.kinds), len(values))), np.zeros((len(self.kinds), len(values)))

        def run(cancel: Bytes) -> Read:
            carry_constants(
                start, above, slopes, intercept, self.kinds, values, known.steps, known.factors, numbers, terms, keep,
                cancel,
            )  # fmt: skip
            constants = numbers[0].copy()
            read_numbers(self.order, known.begin, known.below, known.given, numbers, terms, keep, cancel)
            return Read(numbers, terms, constants)

        return interruptible(run)

    def _read_back(self, numbers: Floats, known: Steps, keep: float) -> None:
        """Add to constants what numbers are given those eliminated later."""
        from sepset.kernels.hybrid.reversal import read_numbers

        terms, steps = np.zeros(numbers.shape[1:]), (self.order, known.begin, known.below, known.given)
        interruptible(lambda cancel: read_numbers(*steps, numbers, terms, keep, cancel))

    @lazy
    def noise(self) -> Floats:
        """The variance of each hidden number in `order` given those eliminated later."""
        return np.asarray(self._full.noise[0, self.order])

    @lazy
    def log_peak(self) -> tuple[float, int]:
        """The log density of those eliminated last at their means, and the number of them without noise.

        Where some follow from others without noise, it is the density of those that come first, if all are asked for.
        """
        noise = self.noise[len(self.order) - self.last :]
        certain = int((noise == 0).sum())
        logs = float(-0.5 * (LOG_2PI + np.log(noise[noise > 0])).sum())
        return (logs + self._log_scale if certain else logs), certain

    @property
    def _log_scale(self) -> float:
        r"""The sum of $\log |d|$ over the relations $r = d x + \dots$ without noise that were turned around."""
        rows = self._full.steps[::2]
        slopes, gains = self._full.factors[0].reshape(-1, 2).T
        turned = (self._parameters[2][rows] == 0.0) & (self.kinds[rows] == MISSING) & (gains != 0.0)
        _, first = np.unique(rows[turned], return_index=True)
        return float(np.log(np.abs(slopes[turned][first])).sum())

    @property
    def has_certain_findings(self) -> bool:
        """Whether observed numbers follow from their parents without noise."""
        return bool((self._parameters[2][self.kinds == FOUND] == 0.0).any())

    def rows(self, values: Floats) -> ReversedRows:
        """Rows of evidence with these observed numbers; other columns are not looked at.

        Args:
            values: one column per coordinate.
        """
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            found = self._read(values, self._full, 1.0)
            made = self._finished(values, found, self._full)
            rough = self._finished(values, self._read(values, self._half, 0.0), self._half)
            error = self._error(made, rough, found.terms)
        require_range(made.values, made.log_density[made.log_density > -np.inf])
        return made._replace(error=error)

    def is_singular(self, rows: ReversedRows) -> Bools:
        """For each row, whether findings follow from others without noise, and which of them depends on the order.

        If nothing is hidden, each follows from its parents.
        """
        return (rows.exact > 0) & bool(len(self.order))

    def _finished(self, values: Floats, found: Read, known: Steps) -> ReversedRows:
        is_found, filled = self.kinds == FOUND, values.copy()
        filled[:, self.hidden] = found.numbers[0, self.hidden].T
        variance, left, terms = known.noise[0, is_found][:, None], found.constants[is_found], found.terms[is_found]
        noisy = variance > 0
        logs = np.where(noisy, -0.5 * (LOG_2PI + np.log(np.where(noisy, variance, 1.0)) + left**2 / variance), 0.0)
        broken = (~noisy & (np.abs(left) > ON_SUPPORT * terms)).any(axis=0)
        log_density = np.where(broken, -np.inf, logs.sum(axis=0))
        exact = np.full(len(values), np.count_nonzero(~noisy), np.int64)
        return ReversedRows(filled, found.constants, log_density, exact, np.zeros(len(values)))

    def _error(self, found: ReversedRows, rough: ReversedRows, terms: Floats) -> Floats:
        """How far rounding may have moved each row, relative to its numbers or their deviations."""
        own, scale = found.values[:, self.order], np.maximum(terms[self.order].T, np.sqrt(self.noise))
        apart = _ratio(np.abs(own - rough.values[:, self.order]), scale).max(axis=1, initial=0.0)
        logs = np.abs(found.log_density - rough.log_density) / np.maximum(1.0, np.abs(found.log_density))
        logs = np.where(found.log_density == rough.log_density, 0.0, logs)
        apart = np.nan_to_num(np.maximum(apart, logs), nan=1.0, posinf=1.0)
        return self._left(apart)

    def draws(self, constants: Floats, num: int, rng: np.random.Generator) -> Floats:
        """Draws of the hidden numbers given one row of evidence, one row each.

        Args:
            constants: of all numbers, from `ReversedRows`.
        """
        drawn, known = np.empty((num, len(self.hidden))), self._full
        step = max(1, costs.NUMBERS_AT_ONCE // max(1, len(self.kinds)))
        for first in range(0, num, step):
            rows = slice(first, min(num, first + step))
            numbers = np.zeros((2, len(self.kinds), rows.stop - first))
            noise = rng.standard_normal((rows.stop - first, len(self.order))).T * np.sqrt(self.noise)[:, None]
            numbers[0, self.order] = constants[self.order, None] + noise
            self._read_back(numbers, known, 0.0)
            drawn[rows] = numbers[0, self.hidden].T
        return drawn

    @lazy
    def spread_error(self) -> float:
        """How far rounding may have moved the noise of each number given those eliminated later, relative to it."""
        with np.errstate(invalid="ignore", divide="ignore"):
            apart = _ratio(np.abs(self.noise - self._half.noise[0, self.order]), self.noise)
        return float(self._left(np.nan_to_num(apart, nan=1.0)).max(initial=0.0))

    def variances(self, start: Ints, scopes: Ints) -> tuple[Floats, float]:
        """The variance of each hidden number in `order`, and a bound, about, of the relative error.

        Args:
            start, scopes: the rest of the clique of each number, as ranks in the order, in compressed rows.
        """
        full, rough = (self._variances(start, scopes, *one) for one in ((self._full, 1.0), (self._half, 0.0)))
        with np.errstate(invalid="ignore", divide="ignore"):
            apart = np.nan_to_num(_ratio(np.abs(full - rough), full), nan=1.0)
        return full, float(self._left(apart).max(initial=0.0))

    def _variances(self, start: Ints, scopes: Ints, known: Steps, keep: float) -> Floats:
        from sepset.kernels.hybrid.reversal import spread_cliques

        rank = np.empty(len(self.kinds), np.int64)
        rank[self.order] = np.arange(len(self.order))
        below = rank[known.below]
        place = np.lexsort((below, np.repeat(np.arange(len(self.order)), np.diff(known.begin))))
        slopes = np.ascontiguousarray(known.given[:, place])
        variance, across = np.ascontiguousarray(known.noise[:, self.order]), np.zeros((2, len(scopes)))
        interruptible(
            lambda cancel: spread_cliques(
                start, scopes, known.begin, below[place], slopes, variance, across, keep, cancel
            )
        )
        return np.asarray(variance[0])

    def _left(self, apart: Floats) -> Floats:
        """The error that is left with all digits, from what half of them lose."""
        sure = (apart <= CONFIRMED) & (not self.coordinates.has_vectors)
        return np.asarray(np.minimum(1.0, np.where(sure, UNIT + TWOFOLD * apart, apart)))

    @lazy
    def _roots(self) -> tuple[Floats, Floats]:
        """The weights of independent noises of unit variance in each number that is eliminated last, and their sizes.

        Sizes are the same sums of absolute values: rounding errors are relative to these.
        """
        num, known = self.last, self._full
        first = len(self.order) - num
        rank = np.zeros(len(self.kinds), np.int64)
        rank[self.order] = np.arange(len(self.order)) - first
        root, sizes = np.zeros((2, num, num))
        for i in range(num - 1, -1, -1):
            own = slice(known.begin[first + i], known.begin[first + i + 1])
            above, slopes = rank[known.below[own]], known.given[0, own]
            root[i], sizes[i] = slopes @ root[above], np.abs(slopes) @ sizes[above]
            root[i, i] = sizes[i, i] = np.sqrt(self.noise[first + i])
        return root, sizes

    @lazy
    def covariance(self) -> Floats:
        """The covariance of the numbers that are eliminated last, in the order of `order`."""
        root = self._roots[0]
        return np.asarray(root @ root.T)

    @lazy
    def covariance_error(self) -> float:
        """How far rounding may have moved these, relative to the deviations."""
        with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
            root, sizes = (np.linalg.norm(part, axis=1) for part in self._roots)
            off = np.nan_to_num(_ratio(2.0 * UNIT * (1.0 + self.last) * sizes, root), nan=1.0, posinf=1.0)
        return min(1.0, max(self.spread_error, float(off.max(initial=0.0))))


class ReversedRows(NamedTuple):
    """Rows of evidence with expectations in place of hidden numbers.

    Attributes:
        values: one column per coordinate.
        constants: of each regression on numbers eliminated later, one column per row.
        log_density: of the observed numbers.
        exact: the number of observed numbers that follow without noise from others.
        error: how far rounding may have moved each row.
    """

    values: Floats
    constants: Floats
    log_density: Floats
    exact: Ints
    error: Floats


def _ratio(error: Floats, scale: Floats) -> Floats:
    """Errors relative to a scale; no error is zero whatever the scale."""
    return np.asarray(np.where(error == 0.0, 0.0, error / scale))
