r"""Moments of a few numbers from their ancestors, if nothing that depends on these is observed.

Every number is a sum over its ancestors, $x = \sum_i w_i (a_i + \varepsilon_i)$, in which $w_i$ is the sum over all
paths from $i$ to it of the product of their slopes. One pass from children to parents finds the weights, and then

$$E[x_t] = \sum_i w_{ti}\, a_i, \qquad \operatorname{cov}(x_s, x_t) = \sum_i w_{si}\, c_i\, w_{ti}.$$

Nothing is eliminated and no matrix of all ancestors is made: the cost is one step for each arc and number. An observed
ancestor is a constant. Rounding errors of the weights are bounded; if they may matter, the pass is repeated in decimal
numbers, with more and more digits until the answer stays the same.

Reference: Wright (1934), The method of path coefficients; Koller & Friedman, section 7.2; Ziv (1991).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.lazy import lazy
from sepset.inference.hybrid.components import Component
from sepset.inference.hybrid.conditioning import FOUND, MISSING, require_range
from sepset.inference.hybrid.decimals import Line, as_floats, lines
from sepset.inference.hybrid.precision import DOUBT, LADDER, MOST_PASSES, RANGE
from sepset.kernels.hybrid.conditioning import UNIT

ZERO = Decimal(0)


class PathMoments(NamedTuple):
    """The mean and the covariance of some numbers, and a bound of their error relative to them or their deviations."""

    mean: Floats
    covariance: Floats
    error: float


def is_open(part: Component) -> bool:
    """Whether no number of a part is observed but as a parent, and no context of it is hidden."""
    return not part.by and not (part.kinds == FOUND).any()


@dataclass(frozen=True, eq=False)
class Ancestry:
    """Some numbers of a part without observed children, as sums over their ancestors.

    Attributes:
        part: regressions, none of them observed, with known contexts.
        known: the values of observed parents, by coordinate of the whole problem.
        targets: the coordinates asked for, of the whole problem.

    Cost: one step for each arc and target.
    Reference: Wright (1934); Koller & Friedman 7.2.
    Guarantee: exact; sums that cancel keep their digits.
    Tested by: inference/hybrid/test_ancestry.py::test_sums_over_paths_meet_exact_arithmetic
    """

    part: Component
    known: Mapping[int, float] = field(repr=False)
    targets: Ints

    @lazy
    def moments(self) -> PathMoments:
        """The mean and the covariance of the targets."""
        found = self._in_floats()
        if found.error > DOUBT:
            found = self._in_decimals(found)
        require_range(found.mean, found.covariance)
        return found

    @lazy
    def _entries(self) -> Ints:
        return np.asarray(self.part.entries(np.zeros(1, np.int64))[0])

    @lazy
    def _rows(self) -> Ints:
        """The place of each target in the part."""
        return np.searchsorted(self.part.places, self.targets)

    @lazy
    def _constants(self) -> Floats:
        """The values of observed parents; zero for all others."""
        return np.array([self.known.get(i, 0.0) for i in self.part.places.tolist()])

    @lazy
    def _parameters(self) -> tuple[Floats, Floats, Floats]:
        """The slope of every arc; the constant and the variance of every coordinate."""
        flat, hidden = self.part.coordinates.flat, self.part.kinds == MISSING
        start, above, first, slope_first = flat.structure
        count = np.diff(start)
        child = np.repeat(np.arange(len(count)), count)
        at = slope_first[child] + self._entries[child] * count[child] + np.arange(len(above)) - start[child]
        own = first + self._entries
        constant = np.where(hidden, flat.intercept[own], self._constants)
        return flat.slopes[at], constant, np.where(hidden, flat.variance[own], 0.0)

    @np.errstate(over="ignore", invalid="ignore", divide="ignore")
    def _in_floats(self) -> PathMoments:
        from sepset.kernels.hybrid.ancestry import carry_back

        (start, above, *_), (slopes, constant, variance) = self.part.coordinates.flat.structure, self._parameters
        weights, sizes = np.zeros((2, len(constant), len(self.targets)))
        weights[self._rows, np.arange(len(self.targets))] = sizes[self._rows, np.arange(len(self.targets))] = 1.0
        steps = np.zeros(len(constant), np.int64)
        carry_back(start, above, slopes, self.part.kinds == MISSING, weights, sizes, steps)
        mean, covariance = constant @ weights, (weights * variance[:, None]).T @ weights
        rounding = UNIT * (steps + 2.0 * np.log2(2.0 + len(steps)))[:, None] * sizes
        spread = np.diagonal(covariance)
        lost = (np.abs(weights) * rounding * variance[:, None]).sum(axis=0) / spread
        away = (np.abs(constant)[:, None] * rounding).sum(axis=0) / np.maximum(np.abs(mean), np.sqrt(spread))
        errors = np.where(spread > 0, lost, 0.0), np.where((constant != 0.0).any(), away, 0.0)
        worst = float(np.max(errors, initial=0.0))
        terms = (slopes, constant, variance, weights, covariance, mean)
        is_far = any(((np.abs(x) < RANGE) & (x != 0.0)).any() or not (np.abs(x) < 1.0 / RANGE).all() for x in terms)
        return PathMoments(mean, covariance, np.inf if is_far or np.isnan(worst) else worst)

    def _in_decimals(self, floats: PathMoments) -> PathMoments:
        """The same with as many digits as it takes; the first answer and its bound if that takes long."""
        passes, before = (len(self.targets) + 1.0) * len(self.part.coordinates.flat.structure[1]), None
        for digits in LADDER:
            if passes * (1.0 + digits / 100.0) > MOST_PASSES:
                break
            found = self._with_digits(digits)
            if before is not None:
                error = max(_apart(found, before), UNIT)
                floats = PathMoments(as_floats(found[0]), as_floats(found[1]).reshape(len(found[0]), -1), error)
                if error <= DOUBT:
                    break
            before = found
        return floats._replace(error=min(1.0, floats.error))

    def _with_digits(self, digits: int) -> tuple[list[Decimal], list[Decimal]]:
        """The means, and the covariances row by row."""
        hidden = (self.part.kinds == MISSING).tolist()
        with localcontext(Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)):
            known = lines(self.part.coordinates, self._entries, digits)
            constants = list(map(Decimal, self._constants.tolist()))
            columns = [_weights(known, hidden, row) for row in self._rows.tolist()]
            means = [
                sum((w * (known[i].intercept if hidden[i] else constants[i]) for i, w in column.items()), ZERO)
                for column in columns
            ]
            return means, [
                sum((w * known[i].variance * t[i] for i, w in s.items() if hidden[i] and i in t), ZERO)
                for s in columns
                for t in columns
            ]


def _weights(known: list[Line], hidden: list[bool], target: int) -> dict[int, Decimal]:
    """The weight of each ancestor of a target."""
    weights = {target: Decimal(1)}
    for i in range(target, -1, -1):
        if i in weights and hidden[i]:
            for j, slope in zip(known[i].parents, known[i].slopes, strict=True):
                weights[j] = weights.get(j, ZERO) + slope * weights[i]
    return weights


def _apart(found: tuple[list[Decimal], list[Decimal]], other: tuple[list[Decimal], list[Decimal]]) -> float:
    """The largest difference of two answers, relative to numbers or their deviations."""
    (mean, covariance), (theirs, spread) = found, other
    num, worst = len(mean), ZERO
    deviation = [max(covariance[i * num + i], ZERO).sqrt() for i in range(num)]
    for i in range(num):
        scale = max(abs(mean[i]), deviation[i])
        worst = max(worst, abs(mean[i] - theirs[i]) / scale if scale else ZERO)
        for j in range(num):
            size = deviation[i] * deviation[j]
            worst = max(worst, abs(covariance[i * num + j] - spread[i * num + j]) / size if size else ZERO)
    return float(worst)
