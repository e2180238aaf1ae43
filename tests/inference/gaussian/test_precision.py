"""Answers about numbers hundreds of digits apart: right to 1e-6 of their own size, or called an estimate."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest

import sepset as ss
from sepset.inference.gaussian import precision
from support.blocks import in_blocks
from support.exact_gaussians import (
    Line,
    apart,
    cancelling_lines,
    error_of,
    far_lines,
    joint_of,
    network,
    random_findings,
    random_lines,
    square_root,
)

METHODS = (
    ss.CliqueTree(),
    ss.VariableElimination(),
    ss.inference.ShaferShenoy(),
    ss.inference.BeliefUpdate(),
    ss.inference.BruteForce(),
)
LARGEST_ERROR = 1e-6  # relative to each number's own size: the law of exact answers
EXACT = ss.Guarantee.EXACT


class Case:
    """A random network with findings, prepared for one of the methods, and its posterior in exact arithmetic."""

    def __init__(self, seed, make):
        self.rng = np.random.default_rng(seed)
        lines = make(self.rng, int(self.rng.integers(1, 7)))
        self.joint = joint_of(lines)
        self.found = random_findings(self.rng, self.joint, 5)
        for place, value in self.found.items():
            self.joint = self.joint.given(place, value)
        self.engine = ss.prepare(network(lines, self.rng), method=METHODS[seed % len(METHODS)])
        self.given = {f"x{p}": value for p, value in self.found.items()}
        self.hidden = [p for p in range(len(lines)) if p not in self.found]

    def error(self, place, distribution):
        return error_of(self.joint, place, float(np.ravel(distribution.mu)[0]), float(distribution.covariance[0, 0]))

    def answers(self):
        """Whether each answer is exact, and the largest error of its numbers; none beyond the range of floats."""
        asked = [self._single, self._every, self._joint, self._best] if self.hidden else []
        for ask in (*asked, *([self._density] if self.found else [])):
            with suppress(ss.errors.NotClosed):
                yield ask()

    def _single(self):
        place = int(self.rng.choice(self.hidden))
        answer = self.engine.query(f"x{place}", given=self.given)
        return answer.guarantees["marginals"] is EXACT, self.error(place, answer.distribution)

    def _every(self):
        answer = self.engine.marginals(given=self.given)
        worst = max(self.error(p, answer[f"x{p}"]) for p in self.hidden)
        return answer.guarantees["marginals"] is EXACT, worst

    def _joint(self):
        places = self.rng.permutation(self.hidden)[:3].tolist()
        answer = self.engine.query([f"x{p}" for p in places], given=self.given)
        exact, found = self.joint.covariance, answer.distribution.covariance
        errors = [error_of(self.joint, p, answer.distribution.mu[i], found[i, i]) for i, p in enumerate(places)]
        for i, p in enumerate(places):
            scales = [square_root(exact[p][p] * exact[q][q]) for q in places]
            errors += [apart(found[i, k], exact[p][q], s) for k, (q, s) in enumerate(zip(places, scales, strict=True))]
        return answer.guarantees["marginals"] is EXACT, max(errors)

    def _best(self):
        answer = self.engine.map_assignment(given=self.given)
        mean, spread = self.joint.mean, self.joint.covariance
        errors = [
            apart(float(answer.assignment[f"x{p}"]), mean[p], max(abs(mean[p]), square_root(spread[p][p])))
            for p in self.hidden
        ]
        return answer.guarantees["assignment"] is EXACT, max(errors)

    def _density(self):
        answer, exact = self.engine.log_probability(given=self.given), self.joint.log_density
        return answer.guarantees["log_partition"] is EXACT, abs(float(answer) - exact) / max(1.0, abs(exact))


def steep_chain(rng, num):
    """A chain of copies with variances from 1e-100 to 1e250."""
    large, small = 10.0 ** rng.choice([0, 6, 20, 100, 250]), 10.0 ** -rng.choice([0, 3, 12, 30, 100])
    rest = [
        Line((i,), (float(rng.choice([1.0, 0.9, 1e3, 1e-3])),), 1.0, float(rng.choice([small, 1.0, large, 0.0])))
        for i in range(num - 1)
    ]
    return [Line((), (), 1.0, float(large)), *rest]


def usual_lines(rng, num):
    """Variances of about one, some of 1e-12 beside them."""
    lines = []
    for place in range(num):
        parents = tuple(p for p in range(place) if rng.random() < 0.5)
        weights = tuple(rng.choice([1.0, -1.0, 0.5, *rng.normal(size=3)], len(parents)).tolist())
        lines.append(Line(parents, weights, float(rng.normal() * 10), float(rng.choice([1.0, 0.1, 10.0, 1e-4, 1e-12]))))
    return lines


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("make", [far_lines, steep_chain, cancelling_lines], ids=lambda make: make.__name__)
@in_blocks("seed", range(200))
def test_moments_far_apart_meet_exact_arithmetic(seed, make):
    for is_exact, error in Case(seed, make).answers():
        assert not is_exact or error <= LARGEST_ERROR


@pytest.mark.parametrize("make", [usual_lines, random_lines], ids=lambda make: make.__name__)
@in_blocks("seed", range(100))
def test_answers_in_ordinary_units_are_exact(seed, make):
    for is_exact, error in Case(seed, make).answers():
        assert is_exact
        assert error <= LARGEST_ERROR


def test_most_answers_about_numbers_far_apart_are_exact():
    exact = [is_exact for seed in range(100) for is_exact, _ in Case(seed, far_lines).answers()]
    assert np.mean(exact) > 0.9


@pytest.mark.parametrize("twofold", [0, precision.MOST_TWOFOLD])
@in_blocks("seed", range(200))
def test_what_is_not_computed_again_is_an_estimate_if_it_is_off(seed, twofold, monkeypatch):
    monkeypatch.setattr(precision.Budget, "takes", lambda self, passes: False)
    monkeypatch.setattr(precision, "MOST_TWOFOLD", twofold)
    for is_exact, error in Case(seed, far_lines).answers():
        assert not is_exact or error <= LARGEST_ERROR


def test_a_difference_that_rounding_of_slopes_makes_is_an_estimate():
    """0.1 + 0.2 - 0.3 is 2.8e-17: whether a finding fixes the source is a matter of the last digit."""
    lines = [Line((), (), 0.0, 1.0), *(Line((0,), (slope,), 0.0, 0.0) for slope in (0.1, 0.2, 0.3))]
    lines.append(Line((1, 2, 3), (1.0, 1.0, -1.0), 0.0, 0.0))
    answer = ss.query(network(lines), "x0", given={"x4": 0.0})
    assert float(answer.variance()) == pytest.approx(1.0)
    assert answer.guarantees["marginals"] is ss.Guarantee.ESTIMATE


def test_a_number_that_findings_determine_has_no_variance():
    """x1 = 3 x0 and x2 = 0.1 x1 without noise: a finding of x2 leaves nothing open."""
    lines = [Line((), (), 1.0, 7.0), Line((0,), (3.0,), 0.0, 0.0), Line((1, 0), (0.1, 0.7), 0.0, 0.0)]
    answer = ss.query(network(lines), "x0", given={"x2": 5.0})
    assert float(answer.variance()) == 0.0
    assert float(answer.mean()) == pytest.approx(5.0)
    assert answer.guarantees["marginals"] is EXACT
