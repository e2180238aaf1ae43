"""Observability models against the worked thumbtack and two-coin examples, and against plain enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import minimize

import sepset as ss
from sepset.learning.missing.mechanisms import MAR, MCAR, MNAR, Hiding, observability_indicator
from sepset.learning.missing.observability import ObservabilityModel, is_mar, is_mcar, observed_version
from support.tolerances import EXACT

HEADS, TAILS, HIDDEN = 30, 20, 50


def thumbtack(theta, psi):
    """The hidden toss: `psi` is the chance of being observed, one number or one for (heads, tails)."""
    toss = ss.Discrete("toss", ("heads", "tails"))
    hide = MCAR(1 - psi) if np.isscalar(psi) else MNAR({"toss": Hiding([1 - p for p in psi], given="toss")})
    return ObservabilityModel(ss.BayesNet(ss.TableCPD(toss, [theta, 1 - theta])), hide)


def log_likelihood(model):
    return float(np.array([HEADS, TAILS, HIDDEN]) @ np.log(model.distribution().values))


def test_random_hiding_has_the_closed_form_maximum():
    """Example 19.3: theta = .6 and psi = .5 from 30 heads, 20 tails and 50 unseen."""
    best = minimize(lambda p: -log_likelihood(thumbtack(p[0], p[1])), [0.5, 0.4], bounds=[(0.01, 0.99)] * 2)
    assert best.x == pytest.approx([0.6, 0.5], abs=1e-4)
    assert is_mcar(thumbtack(0.6, 0.5))


def test_a_ridge_where_hiding_depends_on_the_toss():
    """Example 19.4: every theta in [.3, .8] attains the same likelihood; `? is tails` is its end theta = .3."""
    for theta in (0.3, 0.45, 0.6, 0.7, 0.8):
        model = thumbtack(theta, (0.3 / theta, min(0.2 / (1 - theta), 1.0)))
        assert log_likelihood(model) == pytest.approx(-102.9653014, abs=5e-8)
    off = thumbtack(0.6, (0.6, 0.5))
    assert log_likelihood(off) < -102.97
    assert not is_mcar(off)
    assert not is_mar(off)


def two_coins(theta, psi):
    """Coin 2 is hidden depending on coin 1 (example 19.5)."""
    one, two = ss.Discrete("one", 2), ss.Discrete("two", 2)
    net = ss.BayesNet(ss.TableCPD(one, [1 - theta[0], theta[0]]), ss.TableCPD(two, [1 - theta[1], theta[1]]))
    return ObservabilityModel(net, MAR({"two": Hiding([1 - psi[0], 1 - psi[1]], given="one")}))


@given(st.lists(st.floats(0.05, 0.95), min_size=4, max_size=4))
@settings(max_examples=20, deadline=None)
def test_six_cases_factor_and_sum_to_one(numbers):
    theta, psi = numbers[:2], numbers[2:]
    table = two_coins(theta, psi).distribution().values
    first, second = (1 - theta[0], theta[0]), (1 - theta[1], theta[1])
    expected = [[first[a] * psi[a] * second[b] for b in (0, 1)] + [first[a] * (1 - psi[a])] for a in (0, 1)]
    assert table == pytest.approx(np.array(expected), abs=EXACT)
    assert table.sum() == pytest.approx(1.0, abs=EXACT)


def test_two_coins_are_missing_at_random_but_not_completely():
    model = two_coins((0.3, 0.6), (0.9, 0.2))
    assert (is_mar(model), is_mcar(model)) == (True, False)
    assert (is_mar(model, by="separation"), is_mcar(model, by="separation")) == (True, False)
    same = two_coins((0.3, 0.6), (0.9, 0.9))  # numbers can say more than the graph
    assert is_mcar(same)
    assert not is_mcar(same, by="separation")


def dropout(after_leaving):
    """Once the first cell is hidden the second is with `after_leaving`; before, it depends on the first value."""
    one, two = ss.Discrete("one", 2), ss.Discrete("two", 2)
    net = ss.BayesNet(ss.TableCPD(one, [0.4, 0.6]), ss.TableCPD(two, [[0.9, 0.1], [0.3, 0.7]], given=one))
    rule = {"one": Hiding(0.3), "two": Hiding([after_leaving, [0.2, 0.8]], given=(observability_indicator(one), "one"))}
    return ObservabilityModel(net, MNAR(rule))


def test_at_random_is_a_property_of_events():
    assert is_mar(dropout([1.0, 1.0]))
    assert not is_mar(dropout([1.0, 1.0]), by="separation")
    assert not is_mar(dropout([1.0, 0.5]))


def test_impossible_values_do_not_count():
    toss = ss.Discrete("toss", ("heads", "tails", "edge"))
    net = ss.BayesNet(ss.TableCPD(toss, [0.5, 0.5, 0.0]))
    assert is_mcar(ObservabilityModel(net, MNAR({"toss": Hiding([0.2, 0.2, 0.9], given="toss")})))


def test_a_recorded_cause_restores_missing_at_random():
    """X-rays are taken when the complaint asks for one: without the complaint the missing ones tell of the disease."""
    sick, complaint, xray = (ss.Discrete(n, (False, True)) for n in ("sick", "complaint", "xray"))
    cpds = [
        ss.TableCPD(sick, [0.8, 0.2]),
        ss.TableCPD(complaint, [[0.9, 0.1], [0.2, 0.8]], given=sick),
        ss.TableCPD(xray, [[0.95, 0.05], [0.1, 0.9]], given=sick),
    ]
    rule = {"xray": Hiding({False: 0.9, True: 0.05}, given="complaint")}
    assert is_mar(ObservabilityModel(ss.BayesNet(*cpds), MAR(rule)))
    assert not is_mar(ObservabilityModel(ss.BayesNet(*cpds), MNAR({**rule, "complaint": Hiding(1.0)})))


@st.composite
def observability(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    a, b = ss.Discrete("a", 2), ss.Discrete("b", int(rng.integers(1, 4)))
    net = ss.BayesNet(
        ss.TableCPD(a, rng.dirichlet([1.0, 1.0])),
        ss.TableCPD(b, rng.dirichlet(np.ones(b.num_states), size=2), given=a),
    )
    chances = rng.choice([0.2, 0.2, 0.6, 1.0], size=(2, b.num_states))
    rule = {"a": Hiding(float(rng.choice([0.0, 0.3]))), "b": Hiding(chances, given=("a", "b"))}
    return ObservabilityModel(net, MNAR(rule)), chances, rule["a"].probability


@given(observability())
@settings(max_examples=40, deadline=None)
def test_both_checks_are_their_definitions(case):
    model, hide_b, hide_a = case
    values = list(itertools.product(range(2), range(hide_b.shape[1])))

    def chance(seen_a, seen_b, x):
        first = 1 - hide_a if seen_a else hide_a
        return first * (1 - hide_b[x] if seen_b else hide_b[x])

    masks = list(itertools.product((False, True), repeat=2))
    completely = all(abs(chance(*o, x) - chance(*o, values[0])) < 1e-12 for o in masks for x in values)
    at_random = all(
        abs(chance(*o, x) - chance(*o, y)) < 1e-12
        for o in masks
        for x, y in itertools.product(values, repeat=2)
        if all(x[i] == y[i] for i in (0, 1) if o[i])
    )
    assert is_mcar(model) == completely
    assert is_mar(model) == at_random
    assert not is_mar(model, by="separation") or at_random
    joint = model.distribution()
    assert joint.values.sum() == pytest.approx(1.0, abs=EXACT)


def test_samples_have_the_distribution_of_what_is_shown():
    model = two_coins((0.3, 0.6), (0.9, 0.2))
    rows = model.sample(20_000, seed=1)
    assert rows.num_missing["one"] == 0
    table = model.distribution()
    share = rows.is_missing("two").mean()
    expected = float(table.project([observed_version(ss.Discrete("two", 2))])["?"])
    assert share == pytest.approx(expected, abs=5 * np.sqrt(expected * (1 - expected) / 20_000))


def test_real_models_are_asked_by_separation():
    x, y = ss.Real("x"), ss.Real("y")
    net = ss.BayesNet(
        ss.LinearGaussian(x, covariance=1.0), ss.LinearGaussian(y, coefficients=1.0, covariance=1.0, given=x)
    )
    model = ObservabilityModel(net, MAR({"y": Hiding(lambda x: 1 / (1 + np.exp(-x)), given="x")}))
    assert is_mar(model, by="separation")
    assert not is_mcar(model, by="separation")
    assert model.sample(50).num_missing["y"] > 0
    with pytest.raises(ss.errors.NotApplicable):
        is_mar(model)
    with pytest.raises(ss.errors.NotApplicable, match="sample"):
        _ = model.network


def test_nothing_hidden_and_unknown_names():
    net = ss.BayesNet(ss.TableCPD(ss.Discrete("coin"), [0.5, 0.5]))
    assert is_mcar(ObservabilityModel(net, MNAR()))
    assert is_mar(ObservabilityModel(net, MNAR()))
    with pytest.raises(ss.errors.ScopeError, match="Did you mean 'coin'"):
        is_mar(ObservabilityModel(net, MCAR({"coins": 0.5})))
