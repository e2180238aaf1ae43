"""Linear Gaussian networks in exact rational arithmetic: every float is a fraction, and nothing rounds."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

import sepset as ss


@dataclass(frozen=True)
class Line:
    """A scalar regression: offset + weights . parents, with this variance."""

    parents: tuple[int, ...]
    weights: tuple[float, ...]
    offset: float
    variance: float


@dataclass(frozen=True)
class Joint:
    """The mean and the covariance of all numbers, and the log density of what was found so far."""

    mean: tuple[Fraction, ...]
    covariance: tuple[tuple[Fraction, ...], ...]
    log_density: float = 0.0

    def given(self, place: int, value: float) -> Joint:
        """The joint with one more finding; a number that is certain already must have this value."""
        mean, covariance = self.mean, self.covariance
        variance, shift = covariance[place][place], Fraction(value) - mean[place]
        if variance == 0:
            return self if shift == 0 else Joint(mean, covariance, -math.inf)
        gains = [row[place] / variance for row in covariance]
        log = -0.5 * (log_of(variance) + math.log(2 * math.pi) + float(shift * shift / variance))
        return Joint(
            tuple(m + g * shift for m, g in zip(mean, gains, strict=True)),
            tuple(
                tuple(c - g * a for c, a in zip(row, covariance[place], strict=True))
                for row, g in zip(covariance, gains, strict=True)
            ),
            self.log_density + log,
        )


def log_of(number: Fraction) -> float:
    return math.log(number.numerator) - math.log(number.denominator)


def joint_of(lines: list[Line]) -> Joint:
    """cov(x_i, x_j) = sum_p w_p cov(x_p, x_j), and its own variance on the diagonal."""
    mean: list[Fraction] = []
    covariance = [[Fraction(0)] * len(lines) for _ in lines]
    for i, line in enumerate(lines):
        weights = [(p, Fraction(w)) for p, w in zip(line.parents, line.weights, strict=True)]
        mean.append(Fraction(line.offset) + sum(w * mean[p] for p, w in weights))
        for j in range(i):
            covariance[i][j] = covariance[j][i] = sum((w * covariance[p][j] for p, w in weights), Fraction(0))
        covariance[i][i] = Fraction(line.variance) + sum(w * covariance[p][i] for p, w in weights)
    return Joint(tuple(mean), tuple(map(tuple, covariance)))


def random_lines(rng: np.random.Generator, num: int, *, certain: float = 0.15) -> list[Line]:
    """Noise from 1e-12 to 1e6 and slopes from 1e-3 to 1e3, small whole numbers and zeros among them."""
    lines = []
    for place in range(num):
        parents = tuple(p for p in range(place) if rng.random() < 0.6)
        wide = rng.normal(size=len(parents)) * 10.0 ** rng.uniform(-3, 3, len(parents))
        weights = np.where(rng.random(len(parents)) < 0.3, rng.integers(-2, 3, len(parents)), wide)
        noise = 0.0 if rng.random() < certain else float(10.0 ** rng.uniform(-12, 6))
        offset = float(rng.normal(scale=10.0 ** rng.uniform(-2, 4)))
        lines.append(Line(parents, tuple(weights.tolist()), offset, noise))
    return lines


def cancelling_lines(rng: np.random.Generator, num: int, *, most: float = 1e12) -> list[Line]:
    """Random lines, some of which nearly undo an earlier one, up to a share of its slopes between 1/`most` and 0.01."""
    lines = random_lines(rng, num, certain=float(rng.choice([0.0, 0.15, 0.4])))
    for place in range(2, num):
        earlier = int(rng.integers(0, place))
        known = lines[earlier]
        if known.parents and rng.random() < 0.4:
            factor, share = float(rng.normal()), 10.0 ** rng.uniform(-np.log10(most), -2)
            left = [-factor * w * (1.0 + share * rng.normal()) for w in known.weights]
            weights = (*map(float, left), factor)
            lines[place] = Line((*known.parents, earlier), weights, lines[place].offset, lines[place].variance)
    return lines


def far_lines(rng: np.random.Generator, num: int) -> list[Line]:
    """Variances from 1e-300 to 1e300, slopes from 1e-150 to 1e150, offsets from 1e-50 to 1e50; copies and zeros among
    them."""
    lines = []
    for place in range(num):
        parents = tuple(p for p in range(place) if rng.random() < 0.6)
        wide = rng.normal(size=len(parents)) * 10.0 ** rng.uniform(-150, 150, len(parents))
        plain = rng.choice([1.0, -1.0, 2.5, 0.1, 1e-8, 1e8], len(parents))
        weights = np.where(rng.random(len(parents)) < 0.2, wide, plain)
        far, near = float(10.0 ** rng.uniform(-300, 300)), float(10.0 ** rng.uniform(-12, 6))
        noise = float(rng.choice([0.0, 1e-300, 1e-12, 1.0, 1e100, 1e300, near, far]))
        offset = float(rng.choice([0.0, 1.0, -1e6, rng.normal() * 10.0 ** rng.uniform(-50, 50)]))
        lines.append(Line(parents, tuple(weights.tolist()), offset, noise))
    return lines


def square_root(number: Fraction) -> Fraction:
    """The square root of a fraction of any size, to about 60 digits."""
    if number <= 0:
        return Fraction(0)
    top, bottom = number.numerator, number.denominator
    shift = max(0, 400 - top.bit_length() + bottom.bit_length())
    shift += shift % 2
    return Fraction(math.isqrt((top << shift) // bottom), 1 << (shift // 2))


BEYOND_FLOATS = Fraction(2) ** -1000


def apart(value: float, exact: Fraction, scale: Fraction) -> float:
    """The difference of an answer from the exact one, relative to a scale; none if it is beyond the range of floats."""
    away = abs(Fraction(value) - exact)
    if away <= BEYOND_FLOATS:
        return 0.0
    ratio = math.inf if not scale else away / scale
    return math.inf if ratio > 1 else float(ratio)


def error_of(joint: Joint, place: int, mean: float, variance: float) -> float:
    """How far a mean is off relative to itself or its deviation, or a variance relative to itself."""
    center, spread = joint.mean[place], joint.covariance[place][place]
    return max(apart(mean, center, max(abs(center), square_root(spread))), apart(variance, spread, spread))


def random_findings(rng: np.random.Generator, joint: Joint, most: int) -> dict[int, float]:
    """Values of some numbers, each within a few deviations of what was to be expected after the others.

    None is so far from it, by rounding alone, that its log density is beyond the range of floats.
    """
    found: dict[int, float] = {}
    num = int(rng.integers(0, min(most + 1, len(joint.mean))))
    for place in rng.choice(len(joint.mean), size=num, replace=False).tolist():
        if joint.covariance[place][place] > 0:
            score, deviation = float(rng.normal()), square_root(joint.covariance[place][place])
            with contextlib.suppress(OverflowError):
                value = float(joint.mean[place]) + score * float(deviation)
                joint = joint.given(place, value)
                found[place] = value
    return found


def network(lines: list[Line], rng: np.random.Generator | None = None) -> ss.BayesNet:
    """The network; with a generator, its CPDs and the parents of each in random orders."""
    x = [ss.Real(f"x{i}") for i in range(len(lines))]
    made = []
    for child, line in zip(x, lines, strict=True):
        order = range(len(line.parents)) if rng is None else rng.permutation(len(line.parents)).tolist()
        slopes = {x[line.parents[k]]: line.weights[k] for k in order}
        made.append(
            ss.LinearGaussian(
                child, line.offset, coefficients=slopes or None, covariance=line.variance, given=tuple(slopes)
            )
        )
    return ss.BayesNet(*(made if rng is None else [made[i] for i in rng.permutation(len(made))]))
