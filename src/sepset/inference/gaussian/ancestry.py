r"""Moments of a few numbers of a wide network from their ancestors, given a few others.

Every number is a sum over its ancestors, $x = \sum_i w_i (a_i + \varepsilon_i)$, in which $w_i$ is the sum over all
paths from $i$ to it of the product of their slopes. One pass from children to parents finds the weights of the numbers
asked for, and of those that were found. If nothing that depends on the ancestors was found,

$$E[x_t] = \sum_i w_{ti}\, a_i, \qquad \operatorname{cov}(x_s, x_t) = \sum_i w_{si}\, c_i\, w_{ti};$$

otherwise the numbers asked for are conditioned on the others by a triangular factor (`pathmoments`). No path goes
through an observed number, which is a constant there. Nothing is eliminated and no matrix of all ancestors is made: the
cost is one step for each arc and number, and for each ancestor and pair of numbers. Rounding errors of the weights are
bounded; if they may matter, the pass is repeated in decimal numbers, with more and more digits until the answer stays
the same.

Reference: Wright (1934), The method of path coefficients; Koller & Friedman, section 7.2; Ziv (1991).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.lazy import carry_over, lazy
from sepset.base.logarithms import LOG_2PI
from sepset.factors.canonical import Cholesky
from sepset.factors.moments import Gaussian
from sepset.inference.gaussian.components import Component
from sepset.inference.gaussian.conditioning import FOUND, MISSING, require_range
from sepset.inference.gaussian.decimals import ZERO, Line, as_floats, lines
from sepset.inference.gaussian.pathmoments import DecimalSums, NoiseSums, PathMoments
from sepset.inference.gaussian.precision import DOUBT, LADDER, MOST_PASSES
from sepset.inference.method import Best
from sepset.kernels.hybrid.conditioning import UNIT
from sepset.variables.variable import Vector

LEAST_SHARE = 1e-3
"""Of a deviation, what the numbers before it must leave of it, for a log determinant to have ten digits."""

RANGE = 1e-140
"""Deviations and expectations below this or above its inverse are computed in decimal numbers."""


class Weighed(NamedTuple):
    """The weights of all coordinates of a part (rows) in some numbers (columns).

    Attributes:
        weights: the sums over paths.
        sizes: the same of absolute values.
        rounding: how many operations round the weights of each coordinate, at most.
    """

    weights: Floats
    sizes: Floats
    rounding: Ints


class _Exact(NamedTuple):
    """An answer in decimal numbers: covariances are row by row."""

    mean: list[Decimal]
    covariance: list[Decimal]
    log_density: float
    exact: int
    has_cancelled: bool


@dataclass(frozen=True, eq=False)
class Ancestry:
    """Some hidden numbers of a part given those found there, as sums over their ancestors.

    Attributes:
        part: regressions with known contexts.
        known: the values of observed numbers, by coordinate of the whole problem.
        targets: the coordinates asked for, of the whole problem.

    Cost: one step for each arc and number asked for or found, and for each ancestor and pair of these.
    Reference: Wright (1934); Koller & Friedman 7.2.
    Guarantee: exact; sums that cancel keep their digits.
    Tested by: inference/gaussian/test_ancestry.py::test_sums_over_paths_meet_exact_arithmetic
    """

    part: Component
    known: Mapping[int, float] = field(repr=False)
    targets: Ints

    @lazy
    def moments(self) -> PathMoments:
        """The mean and the covariance of the targets, and the log density of the numbers found."""
        found = self._in_floats()
        if found.error > DOUBT:
            found = self._in_decimals(found)
        require_range(found.mean, found.covariance)
        return found

    def about(self, targets: Ints) -> Ancestry:
        """The same for other targets of the part."""
        made = replace(self, targets=targets)
        carry_over(self, made, "_entries", "_found", "_is_hidden", "_constants", "_parameters", "_reach")
        return made

    @lazy
    def _entries(self) -> Ints:
        return np.asarray(self.part.entries(np.zeros(1, np.int64))[0])

    @lazy
    def _rows(self) -> Ints:
        """The place of each target in the part."""
        return np.searchsorted(self.part.places, self.targets)

    @lazy
    def _found(self) -> Ints:
        """The places of the numbers found."""
        return np.flatnonzero(self.part.kinds == FOUND)

    @lazy
    def _is_hidden(self) -> Bools:
        return np.asarray(self.part.kinds == MISSING)

    @lazy
    def _constants(self) -> Floats:
        """The values of observed numbers; zero for all others."""
        return np.array([self.known.get(i, 0.0) for i in self.part.places.tolist()])

    @lazy
    def _parameters(self) -> tuple[Floats, Floats, Floats]:
        """The slope of every arc; the intercept and the variance of every coordinate."""
        return self.part.coordinates.selected(self._entries)

    def _weighed(self) -> Weighed:
        """The weights of all coordinates in the numbers found and in the targets."""
        from sepset.kernels.hybrid.ancestry import carry_back

        (start, above, *_), slopes = self.part.coordinates.flat.structure, self._parameters[0]
        num, steps = len(self._found), np.zeros(len(start) - 1, np.int64)
        weights, sizes = np.zeros((2, len(steps), num + len(self.targets)))
        columns = num + np.arange(len(self.targets))
        weights[self._rows, columns] = sizes[self._rows, columns] = 1.0
        for column, i in enumerate(self._found.tolist()):  # no path goes on through a number found, but from it
            arcs = slice(start[i], start[i + 1])
            weights[above[arcs], column], sizes[above[arcs], column] = slopes[arcs], np.abs(slopes[arcs])
        carry_back(start, above, slopes, self._is_hidden, weights, sizes, steps)
        return Weighed(weights, sizes, steps)

    def _in_floats(self) -> PathMoments:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            sums = self._sums(self._weighed())
            found = sums.moments
            return found if self._is_in_range(sums, found) else found._replace(error=np.inf)

    def _sums(self, weighed: Weighed) -> NoiseSums:
        (_, intercept, variance), hidden, num = self._parameters, self._is_hidden, len(self._found)
        constant, noise = np.where(hidden, intercept, self._constants), np.where(hidden, variance, 0.0)
        first = np.concatenate([intercept[self._found], np.zeros(len(self.targets))])
        center, terms = first + constant @ weighed.weights, np.abs(first) + np.abs(constant) @ weighed.sizes
        found = self._constants[self._found]
        terms[:num] += np.abs(found)
        off = UNIT * (weighed.rounding + 2.0 * np.log2(2.0 + len(noise)))
        rounding = np.sqrt(((off * off * noise)[:, None] * weighed.sizes**2).sum(axis=0))
        away = (off * np.abs(constant)) @ weighed.sizes
        return NoiseSums(weighed.weights, noise, variance[self._found], center, found, terms, rounding, away)

    def _is_in_range(self, sums: NoiseSums, found: PathMoments) -> bool:
        """Whether weights that are too small for floats cannot matter, nor any number is too large."""
        mean, terms = np.square(found.mean), np.square(sums.terms)
        numbers = (self._parameters[2], self._reach, sums.spread, np.diagonal(found.covariance), mean, terms)
        return all((((x > RANGE**2) | (x == 0.0)) & (x < RANGE**-2)).all() for x in numbers)

    @lazy
    def _reach(self) -> Floats:
        """The square of a bound of the deviation and of the expectation of every coordinate."""
        from sepset.kernels.hybrid.ancestry import carry_forward

        (start, above, *_), (slopes, intercept, variance) = self.part.coordinates.flat.structure, self._parameters
        sizes = np.where(self._is_hidden, np.abs(intercept) + np.sqrt(variance), np.abs(self._constants))
        carry_forward(start, above, np.abs(slopes), self._is_hidden, sizes)
        return np.maximum(sizes, 1.0) ** 2

    def _in_decimals(self, floats: PathMoments) -> PathMoments:
        """The same with as many digits as it takes; the first answer and its bound if that takes long."""
        num, before = len(self.targets) + len(self._found), None
        passes = (num + 1.0) * len(self.part.coordinates.flat.structure[1])
        passes += 4.0 * len(self._found) * num * len(self.part.places)
        for digits in LADDER:
            if passes * (1.0 + digits / 100.0) > MOST_PASSES:
                break
            found = self._with_digits(digits)
            if before is not None:
                error, side = max(_apart(found, before), UNIT), len(self.targets)
                covariance = as_floats(found.covariance).reshape(side, side)
                floats = PathMoments(as_floats(found.mean), covariance, found.log_density, found.exact, error)
                if error <= DOUBT and not found.has_cancelled:
                    break
            before = found
        return floats._replace(error=min(1.0, floats.error))

    def _with_digits(self, digits: int) -> _Exact:
        """The moments with these digits."""
        hidden, num = self._is_hidden.tolist(), len(self._found)
        with localcontext(Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN)):
            known = lines(self.part.coordinates, self._entries, digits)
            constants = [
                known[i].intercept if hidden[i] else Decimal(x) for i, x in enumerate(self._constants.tolist())
            ]
            columns, apart, terms = [], [], []
            for i in (*self._found.tolist(), *self._rows.tolist()):
                column = _weights(known, hidden, i)
                parts = [w * (known[i].intercept if j == i else constants[j]) for j, w in column.items()]
                is_found = not hidden[i]
                apart.append(constants[i] - sum(parts, ZERO) if is_found else sum(parts, ZERO))
                terms.append(sum(map(abs, parts), abs(constants[i]) if is_found else ZERO))
                columns.append({j: w for j, w in column.items() if hidden[j] or j == i})
            sums = DecimalSums(columns, [line.variance for line in known], apart, terms, digits)
            return _Exact(*sums.given(num), sums.has_cancelled)


def _weights(known: list[Line], hidden: list[bool], target: int) -> dict[int, Decimal]:
    """The weight of each ancestor of a number."""
    weights = {target: Decimal(1)}
    for i in range(target, -1, -1):
        if i in weights and (hidden[i] or i == target):
            for j, slope in zip(known[i].parents, known[i].slopes, strict=True):
                weights[j] = weights.get(j, ZERO) + slope * weights[i]
    return weights


def _apart(found: _Exact, other: _Exact) -> float:
    """The largest difference of two answers, relative to numbers or their deviations."""
    if found.exact != other.exact or (found.log_density == -np.inf) != (other.log_density == -np.inf):
        return np.inf
    mean, covariance, worst = found.mean, found.covariance, ZERO
    num = len(mean)
    deviation = [max(covariance[i * num + i], ZERO).sqrt() for i in range(num)]
    for i in range(num):
        scale = max(abs(mean[i]), deviation[i])
        worst = max(worst, abs(mean[i] - other.mean[i]) / scale if scale else ZERO)
        for j in range(num):
            size = deviation[i] * deviation[j]
            worst = max(worst, abs(covariance[i * num + j] - other.covariance[i * num + j]) / size if size else ZERO)
    if found.log_density == -np.inf:
        return float(worst)
    return max(float(worst), abs(found.log_density - other.log_density) / max(1.0, abs(found.log_density)))


@dataclass(frozen=True, eq=False)
class AncestralAnswer:
    """Real variables as sums over their ancestors, given others that are such sums.

    Attributes:
        scope: the variables.
        parts: in each part of the network that shares no hidden number with others, their coordinates there and their
            places in `scope`.
        log_partition: the log density of the evidence.
        residual: an approximate bound of the relative error.
    """

    scope: tuple[Vector, ...]
    parts: tuple[tuple[Ancestry, Ints], ...]
    log_partition: float
    residual: float

    @lazy
    def distribution(self) -> Gaussian:
        """Their joint distribution."""
        size = sum(v.size for v in self.scope)
        mean, covariance = np.zeros(size), np.zeros((size, size))
        for found, at in self.parts:
            mean[at], covariance[at[:, None], at] = found.moments.mean, found.moments.covariance
        return Gaussian._make(self.scope, mean, covariance)

    def best(self, over: Sequence[int]) -> Best | None:
        """The most probable values of these variables, which are its own.

        None if they have no joint density, or one that their covariance has too few digits for.

        Args:
            over: their positions, in the order of `scope`.
        """
        if self.log_partition == -np.inf:
            return Best({}, -np.inf)
        mean, covariance = np.atleast_1d(self.distribution.mu), self.distribution.covariance
        chol = Cholesky.of(covariance[None])
        if not chol.definite.all():
            return None
        if (np.diagonal(chol.lower[0]) < LEAST_SHARE).any():
            return None
        pivots = np.diagonal(chol.lower[0]) / chol.scale[0]
        log_peak = -0.5 * len(mean) * LOG_2PI - float(np.log(pivots).sum())
        ends = np.cumsum([0, *(v.size for v in self.scope)]).tolist()
        values = {v: mean[a:b] for v, a, b in zip(over, ends, ends[1:], strict=False)}
        return Best(values, self.log_partition + log_peak)


class AncestralMarginals(NamedTuple):
    """The marginal of every unobserved variable, real ones as sums over their ancestors.

    Attributes:
        read: gives that of one variable.
        log_partition: the log density of the evidence.
        residual: an approximate bound of the relative error.
    """

    read: Callable[[int], Any]
    log_partition: float
    residual: float
