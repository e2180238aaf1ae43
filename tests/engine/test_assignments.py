"""Assignments of methods that search, in names and states."""

import numpy as np
import pytest

import sepset as ss


def test_findings_of_every_kind_reach_a_search():
    asia = ss.datasets.load("asia")
    kinds = [
        {"dysp": "yes"},
        {"xray": ss.Likelihood([0.2, 0.9])},
        {"smoke": ss.Not("no"), "dysp": "no"},
        {("tub", "lung"): ss.Likelihood([[0.1, 0.9], [0.8, 0.3]])},
        {"xray": ss.Soft([0.7, 0.3])},
    ]
    for given in kinds:
        exact = ss.map_assignment(asia, given=given)
        found = ss.map_assignment(asia, given=given, method=ss.ICM(restarts=60))
        assert found.log_value == pytest.approx(exact.log_value)
        assert found.assignment == exact.assignment


def test_wide_functions_are_factors_for_the_question():
    rng = np.random.default_rng(3)
    causes = [ss.Discrete(f"c{i}") for i in range(12)]
    effect = ss.Discrete("effect")
    priors = [ss.TableCPD(c, [1 - p, p]) for c, p in zip(causes, rng.uniform(0.1, 0.4, 12), strict=True)]
    net = ss.BayesNet(
        *priors, ss.NoisyOr(effect, dict(zip(causes, rng.uniform(0.3, 0.9, 12).tolist(), strict=True)), leak=0.01)
    )
    given = {"effect": 1, "c0": 0}
    exact = ss.map_assignment(net, given=given)
    found = ss.map_assignment(net, given=given, method=ss.ICM(), start=exact)
    assert found.log_value == pytest.approx(exact.log_value)
    assert found.assignment == exact.assignment


def test_observed_numbers_are_read_before_the_search():
    height, kind = ss.Real("height"), ss.Discrete("kind", ("short", "tall"))
    net = ss.BayesNet(
        ss.TableCPD(kind, [0.5, 0.5]), ss.LinearGaussian(height, [1.6, 1.9], covariance=[0.01, 0.01], by=kind)
    )
    assert ss.map_assignment(net, given={"height": 1.85}, method=ss.ICM()).assignment == {"kind": "tall"}
    with pytest.raises(ss.errors.NotApplicable, match="height"):
        ss.map_assignment(net, method=ss.ICM())


def test_starts_need_states_of_the_model():
    asia = ss.datasets.load("asia")
    with pytest.raises(ss.errors.SepsetError, match="smoke"):
        ss.map_assignment(asia, method=ss.ICM(), start={"smoke": "maybe"})
