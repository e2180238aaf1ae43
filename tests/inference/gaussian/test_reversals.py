"""Eliminations by the reversal of arcs, against rational arithmetic and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.inference.gaussian.conditioning import FOUND, MISSING
from sepset.inference.gaussian.coordinates import Coordinate, Coordinates
from sepset.inference.gaussian.narroworders import narrow_order
from sepset.inference.gaussian.reversals import Reversals
from support.exact_gaussians import Line, apart, cancelling_lines, joint_of, random_findings, random_lines, square_root


def coordinates(lines):
    """The same regressions as coordinates."""
    made = [
        Coordinate(
            np.array(line.parents, np.int64), (), np.array([line.offset]), np.array([line.weights]).reshape(1, -1),
            np.array([line.variance]),
        )
        for line in lines
    ]  # fmt: skip
    return Coordinates((), np.zeros(0, np.int64), {}, tuple(made))


def eliminated(lines, found, last=None):
    """The elimination, its cliques, and the findings as a row."""
    num, known = len(lines), coordinates(lines)
    is_found, asked = np.zeros((2, num), np.bool_)
    is_found[list(found)] = True
    asked[list(range(num) if last is None else last)] = True
    asked &= ~is_found
    child = np.concatenate([np.arange(num), np.repeat(np.arange(num), np.diff(known.structure[0]))])
    edges = child, np.concatenate([np.arange(num), known.structure[1]])
    order = narrow_order(edges, np.ones(num, np.int64), np.ones(num, np.bool_), is_found, asked)
    kinds = np.where(is_found, FOUND, MISSING).astype(np.uint8)
    row = np.zeros((1, num))
    row[0, list(found)] = list(found.values())
    return Reversals(known, np.zeros(num, np.int64), kinds, order.order, int(asked.sum())), order, row


def conditioned(lines, found):
    joint = joint_of(lines)
    for place, value in found.items():
        joint = joint.given(place, value)
    return joint


@pytest.mark.parametrize("make", [random_lines, cancelling_lines])
def test_networks_meet_exact_arithmetic(make):
    """Means, variances, covariances and densities; errors are at most what is said, or more than 1e-8 is said."""
    sure = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        lines = make(rng, int(rng.integers(2, 10)))
        found = random_findings(rng, joint_of(lines), 4)
        exact = conditioned(lines, found)
        some = rng.permutation(len(lines))[: int(rng.integers(1, len(lines) + 1))].tolist()
        known, order, row = eliminated(lines, found, some)
        read = known.rows(row)
        spread, error = known.variances(order.start, order.scopes)
        if max(read.error[0], error, known.spread_error) > 1e-8:
            continue
        sure += 1
        assert read.log_density[0] == pytest.approx(exact.log_density, rel=1e-8, abs=1e-8)
        for i, variance in zip(known.order.tolist(), spread.tolist(), strict=True):
            deviation = square_root(exact.covariance[i][i])
            assert apart(variance, exact.covariance[i][i], exact.covariance[i][i]) < 1e-8
            assert apart(float(read.values[0, i]), exact.mean[i], max(abs(exact.mean[i]), deviation)) < 1e-8
        last = known.order[len(known.order) - known.last :].tolist()
        for a, i in enumerate(last):
            for b, j in enumerate(last):
                scale = square_root(exact.covariance[i][i] * exact.covariance[j][j])
                assert apart(float(known.covariance[a, b]), exact.covariance[i][j], scale) < 1e-8
    assert sure > 40


def test_findings_that_follow_from_others():
    """A sum without noise of two numbers: the third is certain, kept or broken."""
    lines = [Line((), (), 0.0, 1.0), Line((), (), 1.0, 2.0), Line((0, 1), (1.0, 1.0), 0.0, 0.0)]
    known, _, row = eliminated(lines, {0: 0.25, 1: 0.5, 2: 0.75})
    read = known.rows(np.concatenate([row, row + np.array([[0, 0, 1e-3]])]))
    assert read.exact.tolist() == [1, 1]
    assert read.log_density[0] == pytest.approx(conditioned(lines[:2], {0: 0.25, 1: 0.5}).log_density, rel=1e-14)
    assert read.log_density[1] == -np.inf
    known, _, row = eliminated(lines, {2: 5.0})
    assert known.rows(row).values[0, 0] + known.rows(row).values[0, 1] == pytest.approx(5.0, rel=1e-15)
    assert known.log_peak[1] == 1


@pytest.mark.parametrize("gap", [1, 7])
def test_many_findings_of_few_numbers_are_combined(gap):
    """Measurements of one chain, thirty of each of some numbers: no row is kept for each of them."""
    rng = np.random.default_rng(gap)
    lines = [Line((), (), 0.5, 1.0), *(Line((i,), (0.9,), 0.1, 0.5) for i in range(9))]
    for at in range(0, 10, gap):
        lines += [Line((at, (at + 1) % 10), (float(w), 0.3), 0.0, float(v)) for w, v in rng.uniform(0.1, 2.0, (30, 2))]
    found = {i: float(x) for i, x in enumerate(rng.normal(size=len(lines))) if i >= 10}
    exact = conditioned(lines[:10] + lines[10:16], {i: found[i] for i in range(10, 16)})
    known, _, row = eliminated(lines[:16], {i: found[i] for i in range(10, 16)})
    assert known.rows(row).log_density[0] == pytest.approx(exact.log_density, rel=1e-12)
    known, _, row = eliminated(lines, found)
    read, (mean, covariance) = known.rows(row), dense(lines)
    e, h = np.arange(10, len(lines)), np.arange(10)
    gains = np.linalg.solve(covariance[np.ix_(e, e)], covariance[np.ix_(e, h)])
    assert read.values[0, :10] == pytest.approx(mean[:10] + (row[0, e] - mean[e]) @ gains, rel=1e-9)
    assert read.error[0] < 1e-14


def dense(lines):
    """The mean and the covariance of all numbers."""
    B = np.zeros((len(lines), len(lines)))
    for i, line in enumerate(lines):
        B[i, list(line.parents)] = line.weights
    T = np.linalg.inv(np.eye(len(lines)) - B)
    return T @ [line.offset for line in lines], (T * [line.variance for line in lines]) @ T.T


def test_draws_have_the_moments_of_the_posterior():
    """Means within 5 standard errors, covariances within 5 of theirs; a relation holds in every draw."""
    rng = np.random.default_rng(5)
    lines = [Line((), (), 1.0, 2.0), Line((0,), (0.5,), 0.0, 1.0), Line((0, 1), (1.0, -1.0), 0.0, 0.0)]
    lines += [Line((1, 2), (1.0, 1.0), 0.0, 0.5), Line((3,), (2.0,), 0.0, 1.0)]
    known, _, row = eliminated(lines, {4: 3.0})
    exact, num = conditioned(lines, {4: 3.0}), 40_000
    drawn = known.draws(known.rows(row).constants[:, 0], num, rng)
    mean, covariance = np.array(exact.mean[:4], float), np.array(exact.covariance, float)[:4, :4]
    deviation = np.sqrt(np.diag(covariance))
    assert (np.abs(drawn.mean(axis=0) - mean) < 5 * deviation / np.sqrt(num)).all()
    spread = np.sqrt((np.outer(deviation, deviation) ** 2 + covariance**2) / num)
    assert (np.abs(np.cov(drawn.T) - covariance) < 5 * spread).all()
    assert drawn[:, 2] == pytest.approx(drawn[:, 0] - drawn[:, 1], abs=1e-13)
