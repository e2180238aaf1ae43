"""The digits that canonical forms keep, and the guarantee of answers that lost them."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.factors.gaussian import CanonicalGaussian
from sepset.inference import costs
from sepset.inference.exact.digits import canonical_loss
from sepset.inference.hybrid.questions import RegressionQuestions
from sepset.inference.result import Guarantee
from sepset.variables.evidence import Evidence

X = [ss.Real(f"x{i}") for i in range(3)]
METHODS = (ss.CliqueTree(), ss.VariableElimination(), ss.inference.BeliefUpdate(), ss.inference.BruteForce())


def chain(noise):
    copies = (ss.LinearGaussian(X[i], 0.0, coefficients=1.0, covariance=noise, given=X[i - 1]) for i in (1, 2))
    return ss.BayesNet(ss.LinearGaussian(X[0], 1000.0, covariance=1e4), *copies)


def error(answer, noise):
    return abs(float(answer.variance()) - (1e4 + 2 * noise)) / 1e4


@pytest.mark.parametrize("noise", [1.0, 1e-2, 1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_potentials_that_lost_their_digits_are_estimates(method, noise):
    answer = ss.query(chain(noise).markov_net(), "x2", method=method)
    residual = answer.info["residual"]
    assert error(answer, noise) < max(residual, 1e-12) * 10
    expected = Guarantee.ESTIMATE if residual > 1e-6 else Guarantee.EXACT
    assert answer.guarantees["marginals"] is expected
    assert (noise <= 1e-8) <= (expected is Guarantee.ESTIMATE)
    assert (noise >= 1e-2) <= (expected is Guarantee.EXACT)


@pytest.mark.parametrize("noise", [1.0, 1e-8])
def test_parts_too_wide_for_a_sweep_are_bounded(monkeypatch, noise):
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 1)
    method = ss.VariableElimination(memory=2**30)
    left = (1e4 + noise) * noise / (1e4 + 2 * noise)
    carried = ss.query(chain(noise), "x1", given={"x2": 1000.0}, method=method)
    assert abs(float(carried.variance()) - left) / left < 1e-12
    assert carried.guarantees["marginals"] is Guarantee.EXACT
    monkeypatch.setattr(costs, "PAIRS_REVERSED", 0)
    paths = ss.query(chain(noise), "x1", given={"x2": 1000.0}, method=method)
    assert abs(float(paths.variance()) - left) / left < 1e-12
    assert paths.guarantees["marginals"] is Guarantee.EXACT
    monkeypatch.setattr(costs, "WEIGHTS_CARRIED_BACK", 0)
    answer = ss.query(chain(noise), "x1", given={"x2": 1000.0}, method=method)
    assert abs(float(answer.variance()) - left) / left < answer.info["residual"] * 10
    assert answer.guarantees["marginals"] is (Guarantee.EXACT if noise == 1.0 else Guarantee.ESTIMATE)
    assert ss.query(chain(noise), "x0", given={"x1": 1000.0}).guarantees["marginals"] is Guarantee.EXACT


@pytest.mark.parametrize("noise", [1.0, 1e-8])
def test_numbers_that_nothing_measures_keep_their_digits(monkeypatch, noise):
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 1)
    answer = ss.query(chain(noise), "x2", method=ss.VariableElimination(memory=2**30))
    assert error(answer, noise) < 1e-15
    assert answer.info["residual"] < 1e-14
    assert answer.guarantees["marginals"] is Guarantee.EXACT


def test_the_loss_is_that_of_the_diagonal():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    K = root @ root.T + np.eye(3)
    found = canonical_loss([CanonicalGaussian(X, K, h=np.zeros(3))])
    assert found == pytest.approx(np.finfo(float).eps * (np.diag(K) * np.diag(np.linalg.inv(K))).max())
    assert canonical_loss([CanonicalGaussian(X[:2], [[1.0, -1.0], [-1.0, 1.0]], h=[0.0, 0.0])]) == np.inf
    assert canonical_loss([ss.Table(ss.Discrete("a"), [1.0, 2.0])]) is None
    assert canonical_loss([]) is None


def test_bounds_of_networks_are_no_smaller_than_the_loss():
    for noise in (1.0, 1e-3, 1e-6):
        questions = RegressionQuestions.of(chain(noise).problem(), ss.CliqueTree())
        bound = questions.loss([2], Evidence())
        assert bound >= 0.99 * canonical_loss(list(chain(noise).problem().factors()))
