"""Newton's method against the estimates of CPDs, which another optimizer finds; borders and separated rows."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.learning.structure.columns import Columns
from sepset.learning.structure.local.concavefits import indicators, logistic_likelihood, newton, noisy_or_likelihood
from sepset.learning.structure.local.leaves import LeafRows
from sepset.learning.structure.local.localfit import fitted_likelihood, logistic, noisy_or


@pytest.mark.parametrize("seed", range(3))
def test_the_estimates_of_cpds(seed: int) -> None:
    rng = np.random.default_rng(seed)
    u, v = rng.integers(0, 2, 200), rng.integers(0, 3, 200)
    x = (rng.random(200) < np.array([0.1, 0.6, 0.3])[v] + 0.3 * u).astype(int)
    y = (u + v + rng.integers(0, 2, 200)) % 3
    columns = Columns.of({"u": u, "v": v, "x": x, "y": y}, weights=rng.integers(1, 4, 200) / 2)
    parents = tuple(columns.variables[n] for n in "uv")
    rows = LeafRows.of(2, (0, 1), columns)
    found = noisy_or_likelihood(indicators(rows.codes, [2, 3], [0, 0]), rows.child, rows.weights)
    assert found == pytest.approx(fitted_likelihood(noisy_or(columns.variables["x"], parents), rows), abs=1e-5)  # type: ignore[arg-type]
    rows = LeafRows.of(3, (0, 1), columns)
    found = logistic_likelihood(indicators(rows.codes, [2, 3], [0, 0]), rows.child, rows.weights, 3)
    assert found == pytest.approx(fitted_likelihood(logistic(columns.variables["y"], parents), rows), abs=1e-5)  # type: ignore[arg-type]


def test_effects_at_the_border() -> None:
    """A parent that only ever turns the child off has effect zero; one that always turns it on has effect one."""
    features = indicators(np.array([[0, 0, 1, 1]]), [2], [0])
    weights = np.array([6.0, 2.0, 3.0, 1.0])
    is_on = np.array([1, 0, 1, 0])
    lower = np.array([2.0, 6.0, 1.0, 3.0])  # P(on) is 0.25 in both contexts
    assert noisy_or_likelihood(features, is_on, lower) == pytest.approx(3 * np.log(0.25) + 9 * np.log(0.75))
    flat = noisy_or_likelihood(features, is_on, np.array([6.0, 2.0, 1.0, 3.0]))  # the parent would turn it off
    assert flat == pytest.approx(7 * np.log(7 / 12) + 5 * np.log(5 / 12))
    sure = noisy_or_likelihood(features[:3], is_on[:3], weights[:3])
    assert sure == pytest.approx(6 * np.log(0.75) + 2 * np.log(0.25), abs=1e-7)
    assert noisy_or_likelihood(np.ones((1, 1)), np.array([1]), np.array([5.0])) == pytest.approx(0.0, abs=1e-7)
    assert noisy_or_likelihood(np.ones((1, 1)), np.array([0]), np.array([5.0])) == pytest.approx(0.0, abs=1e-7)


def test_separated_rows_and_states_that_never_occur() -> None:
    features = indicators(np.array([[0, 1, 0, 1]]), [3], [0])
    assert logistic_likelihood(features, np.array([0, 1, 0, 1]), np.ones(4), 2) == pytest.approx(0.0, abs=1e-7)
    half = logistic_likelihood(features, np.array([0, 1, 1, 1]), np.array([1.0, 2.0, 1.0, 2.0]), 4)
    assert half == pytest.approx(2 * np.log(0.5), abs=1e-7)
    assert logistic_likelihood(features, np.zeros(4, int), np.ones(4), 1) == 0.0


def test_newton_with_a_floor() -> None:
    value = newton(lambda w: -float((w + 1) @ (w + 1)), lambda w: (-2 * (w + 1), 2 * np.eye(2)), np.ones(2), floor=0.0)
    assert value == pytest.approx(-2.0)
