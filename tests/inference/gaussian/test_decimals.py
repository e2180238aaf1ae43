"""Sweeps in decimal numbers, held to fractions."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np

from sepset.inference.gaussian.decimals import Line as DecimalLine, Sweep
from support.blocks import in_blocks
from support.exact_gaussians import Line, far_lines, joint_of, random_findings, square_root

DIGITS = 2100


def swept(lines, found, digits=DIGITS):
    made = [
        DecimalLine(line.parents, tuple(map(Decimal, line.weights)), Decimal(line.offset), Decimal(line.variance))
        for line in lines
    ]
    kinds = np.array([1 if i in found else 2 for i in range(len(lines))], np.uint8)
    values = np.array([found.get(i, np.nan) for i in range(len(lines))])
    return Sweep.of(made, kinds, values, digits)


@in_blocks("seed", range(100))
def test_sweeps_meet_exact_arithmetic(seed):
    rng = np.random.default_rng(seed)
    lines = far_lines(rng, int(rng.integers(1, 6)))
    joint = joint_of(lines)
    found = random_findings(rng, joint, 3)
    for place, value in found.items():
        joint = joint.given(place, value)
    sweep = swept(lines, found)
    read, hidden = sweep.read(), [i for i in range(len(lines)) if i not in found]
    for mean, variance, i in zip(read.means, read.variances, hidden, strict=True):
        spread = joint.covariance[i][i]
        assert abs(Fraction(variance) - spread) <= Fraction(1, 10**30) * spread
        assert abs(Fraction(mean) - joint.mean[i]) <= Fraction(1, 10**30) * max(abs(joint.mean[i]), square_root(spread))
    assert abs(sweep.log_density - joint.log_density) <= 1e-12 * max(1.0, abs(joint.log_density))


def test_what_cancels_is_zero_and_said():
    lines = [Line((), (), 0.0, 1.0), Line((0,), (0.1,), 0.0, 0.0), Line((1, 0), (3.0, -3 * 0.1), 0.0, 0.0)]
    apart = 3 * Fraction(0.1) - Fraction(3 * 0.1)  # 0.3 is rounded: this is not zero
    assert abs(Fraction(swept(lines, {}).read().variances[2]) / apart**2 - 1) < Fraction(1, 10**30)
    assert not swept(lines, {}).has_cancelled
    lines[2] = Line((1, 0), (1.0, -0.1), 0.0, 0.0)
    assert swept(lines, {}).read().variances[2] == 0
    assert swept(lines, {}).has_cancelled
