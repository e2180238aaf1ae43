"""Free parameters and their derivatives against finite differences of enumerated probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import oracle
import sepset as ss
from sepset.cpds.tree import Split, TreeCPD
from sepset.learning.missing.freeparameters import FreeParameters
from support.every_form import discrete_forms, network
from support.random_models import table_net
from support.strategies import plain_factors


def probability(net, codes):
    """P(y) by enumeration of the joint."""
    factors, cards = plain_factors(net)
    joint = oracle.joint(factors, cards)
    return float(joint[tuple(codes.get(i, slice(None)) for i in range(joint.ndim))].sum())


def some_codes(rng, net):
    return {i: int(rng.integers(v.num_states)) for i, v in enumerate(net.variables) if rng.random() < 0.6}


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_derivatives_are_differences(seed):
    rng = np.random.default_rng(seed)
    point = FreeParameters(FreeParameters(table_net(rng).model).random(rng))
    assert len(point) == point.model.num_parameters == len(point.names) == len(set(point.names))
    codes = some_codes(rng, point.model)
    log, slope = point.gradient(codes)
    assert np.exp(log) == pytest.approx(probability(point.model, codes), rel=1e-9)
    assert point.gradient(codes, power=1.0)[1] == pytest.approx(slope / np.exp(log), rel=1e-9, abs=1e-12)
    for i in range(len(point)):
        step = np.zeros(len(point))
        step[i] = 1e-6
        ends = [probability(point.moved(sign * step), codes) for sign in (1, -1)]
        assert slope[i] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-8)


def test_tied_parameters_count_once():
    a, b = ss.Discrete("a"), ss.Discrete("b")
    net = ss.BayesNet(ss.TableCPD(a, [0.3, 0.7], block="coin"), ss.TableCPD(b, [0.3, 0.7], block="coin"))
    point = FreeParameters(net)
    assert point.names == ("P(a=0)",)
    assert point.gradient({0: 0, 1: 0})[1] == pytest.approx([2 * 0.3])
    moved = point.moved(np.array([0.1]))
    assert moved.cpd("b").values == pytest.approx([0.4, 0.6])


def test_trees_and_deterministic_children():
    a, b, x, y = (ss.Discrete(n) for n in "abxy")
    tree = TreeCPD(x, Split(a, {0: [0.2, 0.8], 1: Split(b, {0: [0.5, 0.5], 1: [0.9, 0.1]})}), given=(a, b))
    net = ss.BayesNet(
        ss.TableCPD(a, [0.5, 0.5]), ss.TableCPD(b, [0.5, 0.5]), tree, ss.DeterministicCPD(y, lambda x: 1 - x, given=x)
    )
    point = FreeParameters(net)
    assert len(point) == 5
    assert point.names[2] == "P(x=0 | a=0)"
    _, slope = point.gradient({3: 1})
    assert slope == pytest.approx([0.2 - 0.7, 0.5 * (0.5 - 0.9), 0.5, 0.25, 0.25])


def test_zero_probabilities_have_derivatives_too():
    h, x = ss.Discrete("h"), ss.Discrete("x")
    net = ss.BayesNet(ss.TableCPD(h, [0.0, 1.0]), ss.TableCPD(x, [[0.8, 0.2], [0.0, 1.0]], given=h))
    log, slope = FreeParameters(net).gradient({1: 0}, power=0.5)
    assert log == -np.inf
    assert slope == pytest.approx([0.8, 0.0, 1.0])


@pytest.mark.parametrize("form", sorted(discrete_forms(np.random.default_rng(0))))
def test_every_form_has_the_parameters_it_says(form):
    rng = np.random.default_rng(7)
    net = network(discrete_forms(rng)[form], rng)
    point = FreeParameters(net)
    assert len(point) == net.num_parameters == len(point.values) == len(set(point.names))
    codes = some_codes(rng, net)
    _, slope = point.gradient(codes)
    for i in range(len(point)):
        step = np.zeros(len(point))
        step[i] = 1e-6
        ends = [probability(point.moved(sign * step), codes) for sign in (1, -1)]
        assert slope[i] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-8)
        assert FreeParameters(point.moved(step)).values - point.values == pytest.approx(step, abs=1e-12)


def test_steps_outside_are_none():
    coin = ss.Discrete("coin")
    assert FreeParameters(ss.BayesNet(ss.TableCPD(coin, [0.5, 0.5]))).moved(np.array([0.6])) is None
    cause = ss.Discrete("cause", (False, True))
    noisy = ss.NoisyOr(ss.Discrete("child", (False, True)), {cause: 0.5})
    point = FreeParameters(ss.BayesNet(ss.TableCPD(cause, [0.5, 0.5]), noisy))
    assert point.names == ("P(cause=False)", "P(child=True by cause=True)")
    assert point.moved(np.array([0.0, -0.6])) is None
    assert point.moved(np.array([0.0, 0.1])).cpd("child").effects[cause][1] == pytest.approx(0.6)
    fixed = FreeParameters(ss.BayesNet(ss.DeterministicCPD(coin, lambda: 1)))
    assert fixed.moved(np.zeros(0)).cpds == fixed.model.cpds


def test_lines_are_refused():
    with pytest.raises(ss.NotApplicable, match="free parameters"):
        FreeParameters(ss.BayesNet(ss.LinearGaussian(ss.Real("x"), covariance=1.0)))
