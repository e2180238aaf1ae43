"""Questions about more numbers than a sweep takes, against the sweep, sums over paths and closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.inference import costs


def chain(num, *, noise=0.5):
    """Numbers that follow one another, and a measurement of every third."""
    x = [ss.Real(f"x{i}") for i in range(num)]
    made = [ss.LinearGaussian(x[0], 1.0, covariance=2.0)]
    for i in range(1, num):
        made.append(ss.LinearGaussian(x[i], 0.1, coefficients=[0.8], covariance=noise, given=x[i - 1]))
    measured = [ss.LinearGaussian(ss.Real(f"y{i}"), 0.0, coefficients=[2.0], covariance=0.1, given=x[i])
                for i in range(0, num, 3)]  # fmt: skip
    return ss.BayesNet(*made, *measured)


def mixed(rng, num):
    """Numbers with states that choose their parameters, and a state that nothing depends on."""
    made, coins = [ss.TableCPD(ss.Discrete("free"), [0.3, 0.7])], [ss.Discrete(f"c{i}") for i in range(num)]
    x = [ss.Real(f"x{i}") for i in range(num)]
    for i in range(num):
        made.append(ss.TableCPD(coins[i], [0.4, 0.6]))
        given = [x[j] for j in range(i) if rng.random() < 0.4]
        made.append(
            ss.LinearGaussian(
                x[i], rng.normal(size=(2, 1)), coefficients=rng.normal(size=(2, 1, len(given))),
                covariance=rng.uniform(0.5, 2.0, (2, 1, 1)), given=given, by=coins[i],
            )
        )  # fmt: skip
    return ss.BayesNet(*made)


GIVEN = {"y0": 1.0, "x5": 0.3, "y9": -2.0}


@pytest.mark.parametrize("method", [ss.CliqueTree(), ss.VariableElimination()])
def test_answers_are_those_of_the_sweep(method, monkeypatch):
    net = chain(12)
    asked = (
        lambda net: ss.log_probability(net, given=GIVEN, method=method),
        lambda net: ss.map_assignment(net, given=GIVEN, method=method),
        lambda net: ss.map_assignment(net, given=GIVEN, over=["x2", "x7"], method=method),
        lambda net: ss.query(net, ["x7", "x2"], given=GIVEN, method=method),
        lambda net: ss.marginals(net, given=GIVEN, method=method),
    )
    swept = [ask(net) for ask in asked]
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 1)
    log, whole, some, joint, each = [ask(chain(12)) for ask in asked]
    assert float(log) == pytest.approx(float(swept[0]), rel=1e-12)
    for found, known in ((whole, swept[1]), (some, swept[2])):
        assert found.log_value == pytest.approx(known.log_value, rel=1e-12)
        assert list(found.assignment) == list(known.assignment)
        for name, value in known.assignment.items():
            assert float(found.assignment[name]) == pytest.approx(float(value), rel=1e-12, abs=1e-14)
        assert found.guarantees["assignment"] is ss.Guarantee.EXACT
    assert joint.distribution.mu == pytest.approx(swept[3].distribution.mu, rel=1e-12)
    assert joint.distribution.covariance == pytest.approx(swept[3].distribution.covariance, rel=1e-12)
    for name in ("x0", "x3", "y6", "x11"):
        assert each[name].mean() == pytest.approx(swept[4][name].mean(), rel=1e-12)
        assert each[name].variance() == pytest.approx(swept[4][name].variance(), rel=1e-12)
    assert max(log.info["residual"], joint.info["residual"], each.info["residual"]) < 1e-13


def test_a_few_numbers_of_a_network_that_is_not_narrow(monkeypatch):
    """The maximum of a few of them by sums over paths: their mean, and the density of their distribution there."""
    known = ss.map_assignment(chain(12), given=GIVEN, over=["x7", "x2"])
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 1)
    monkeypatch.setattr(costs, "PAIRS_REVERSED", 0)
    found = ss.map_assignment(chain(12), given=GIVEN, over=["x7", "x2"])
    assert found.log_value == pytest.approx(known.log_value, rel=1e-12)
    assert [float(found.assignment[n]) for n in ("x7", "x2")] == pytest.approx(
        [float(known.assignment[n]) for n in ("x7", "x2")], rel=1e-12
    )


def test_states_are_asked_apart(monkeypatch):
    net = mixed(np.random.default_rng(1), 6)
    given = {**{f"c{i}": i % 2 for i in range(6)}, "x3": 0.7, "x5": -1.0}
    known = ss.map_assignment(net, given=given), ss.log_probability(net, given=given)
    complete = {**given, **{f"x{i}": 0.1 * i for i in (0, 1, 2, 4)}, "free": 1}
    whole = ss.log_probability(net, given=complete)
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 1)
    net = mixed(np.random.default_rng(1), 6)
    found = ss.map_assignment(net, given=given)
    assert found.log_value == pytest.approx(known[0].log_value, rel=1e-12)
    assert found.assignment["free"] == known[0].assignment["free"] == 1
    assert float(ss.log_probability(net, given=given)) == pytest.approx(float(known[1]), rel=1e-12)
    assert float(ss.log_probability(net, given=complete)) == pytest.approx(float(whole), rel=1e-12)


def test_draws_keep_findings_and_moments(monkeypatch):
    """Means of 20,000 draws are within 5 standard errors; the same seed gives the same draws."""
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 1)
    net = chain(12)
    exact = ss.marginals(net, given=GIVEN)
    drawn = [ss.sample(net, 20_000, given=GIVEN, seed=4).to_frame("pandas") for _ in range(2)]
    assert drawn[0].equals(drawn[1])
    assert (drawn[0]["x5"] == 0.3).all()
    for name in ("x0", "x4", "x11", "y6"):
        deviation = np.sqrt(exact[name].variance())
        assert abs(drawn[0][name].mean() - exact[name].mean()) < 5 * deviation / np.sqrt(20_000)
        assert abs(drawn[0][name].var() / deviation**2 - 1) < 5 * np.sqrt(2 / 20_000)


def test_relations_without_noise_have_the_density_of_what_they_follow_from(monkeypatch):
    """The value of a complete assignment is the product of the CPDs with noise: x2 = 3 x0 - 2 x1, x4 = x3."""
    x = [ss.Real(f"x{i}") for i in range(6)]
    net = ss.BayesNet(
        ss.LinearGaussian(x[0], 1.0, covariance=2.0),
        ss.LinearGaussian(x[1], 0.5, coefficients=[0.7], covariance=0.3, given=x[0]),
        ss.LinearGaussian(x[2], 0.0, coefficients=[3.0, -2.0], covariance=0.0, given=[x[0], x[1]]),
        ss.LinearGaussian(x[3], 0.0, coefficients=[0.2], covariance=0.7, given=x[2]),
        ss.LinearGaussian(x[4], 0.0, coefficients=[1.0], covariance=0.0, given=x[3]),
        ss.LinearGaussian(x[5], 0.0, coefficients=[1.5, 1.0], covariance=0.4, given=[x[2], x[4]]),
    )
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 0)
    found = ss.map_assignment(net, given={"x5": 2.0})
    z = {**found.assignment, "x5": 2.0}
    noise = {0: (1.0, 2.0), 1: (0.5 + 0.7 * z["x0"], 0.3), 3: (0.2 * z["x2"], 0.7), 5: (1.5 * z["x2"] + z["x4"], 0.4)}
    logs = [-0.5 * (np.log(2 * np.pi * v) + (z[f"x{i}"] - mean) ** 2 / v) for i, (mean, v) in noise.items()]
    assert found.log_value == pytest.approx(sum(logs), rel=1e-12)
    assert z["x2"] == pytest.approx(3 * z["x0"] - 2 * z["x1"], rel=1e-12)


def test_a_context_of_one_state_makes_no_mixture():
    only, x, y = ss.Discrete("only", ["one"]), ss.Real("x"), ss.Real("y")
    net = ss.BayesNet(
        ss.TableCPD(only, [1.0]),
        ss.LinearGaussian(x, [[2.0]], covariance=[[[0.25]]], by=only),
        ss.LinearGaussian(y, 0.0, coefficients=[1.0], covariance=1.0, given=x),
    )
    found = ss.map_assignment(net, over=["x"])
    assert found.assignment["x"] == pytest.approx(2.0)
    assert found.log_value == pytest.approx(-0.5 * np.log(2 * np.pi * 0.25))
