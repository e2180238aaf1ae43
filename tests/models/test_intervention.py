"""The CPD an intervened variable gets."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sepset as ss
from sepset.errors import ModelError, NotClosed, ScopeError, StateError
from sepset.factors.gaussian import CanonicalGaussian
from sepset.models.intervention import intervened
from sepset.variables.variable import Discrete, Real

dose = Discrete("dose", ("none", "low", "high"))


def test_states_and_distributions():
    assert intervened(dose, "low").values.tolist() == [0, 1, 0]
    assert intervened(dose, [0.2, 0.3, 0.5]).values.tolist() == [0.2, 0.3, 0.5]
    assert intervened(dose, np.array([0.2, 0.3, 0.5])).values.tolist() == [0.2, 0.3, 0.5]
    assert intervened(dose, {"high": 0.25, "none": 0.75}).values.tolist() == [0.75, 0, 0.25]
    assert intervened(Discrete("b", (False, True)), True).values.tolist() == [0, 1]
    assert intervened(dose, "low").parents == ()


def test_refusals():
    with pytest.raises(StateError, match="Did you mean 'high'"):
        intervened(dose, "hi")
    with pytest.raises(StateError, match="Unknown state b"):
        intervened(dose, b"high")
    with pytest.raises(ModelError, match="leave the variable out"):
        intervened(dose, None)
    with pytest.raises(ModelError, match=r"sums to 0\.9"):
        intervened(dose, [0.2, 0.2, 0.5])
    with pytest.raises(StateError, match="Give a number"):
        intervened(Real("x"), "high")


def test_a_continuous_point_can_be_drawn_but_has_no_density():
    point = intervened(Real("x"), 2.5)
    assert point.sample({}, 3, np.random.default_rng(0)).tolist() == [2.5, 2.5, 2.5]
    with pytest.raises(NotClosed):
        point.factors()[0] * CanonicalGaussian(Real("x"), 1.0, h=0.0)


def test_probabilities_are_read_by_state_whatever_holds_them():
    expected = [0.2, 0.3, 0.5]
    by_state = pd.Series({"high": 0.5, "none": 0.2, "low": 0.3})
    turned = Discrete("dose", ("high", "none", "low"))
    answer = ss.query(ss.BayesNet(ss.TableCPD(turned, [0.5, 0.2, 0.3])), "dose")
    for value in (
        by_state,
        pl.DataFrame({"dose": list(by_state.index), "p": by_state.to_numpy()}),
        ss.Table([turned], [0.5, 0.2, 0.3]),
        answer,
        answer.distribution,
        ss.Soft(expected),
        ss.Soft(by_state),
    ):
        np.testing.assert_allclose(intervened(dose, value).values, expected, rtol=1e-15)


def test_gaussians_are_set_too():
    x, y = Real("x"), Real("y")
    net = ss.BayesNet(
        ss.LinearGaussian(x, 1.0, covariance=1.0), ss.LinearGaussian(y, coefficients=2.0, covariance=1.0, given=x)
    )
    answer = ss.query(net.do({"x": ss.Gaussian([x], [3.0], covariance=[[0.5]])}), "y").distribution
    assert (answer.mean(), answer.covariance.item()) == pytest.approx((6.0, 3.0))
    assert net.do({"x": ss.query(net, "x")}) == net


def test_distributions_over_others_are_refused():
    x = Real("x")
    for variable, value in (
        (dose, ss.Table([Discrete("b")], [0.5, 0.5])),
        (dose, ss.Gaussian([x], [0.0], covariance=[[1.0]])),
        (Real("y"), ss.Gaussian([x], [0.0], covariance=[[1.0]])),
        (x, ss.Table([dose], [0.2, 0.3, 0.5])),
    ):
        with pytest.raises(ScopeError, match=r"do\(\) was given a distribution over (b|x|dose) for"):
            intervened(variable, value)
    with pytest.raises(ModelError, match="sums to 2"):
        intervened(dose, ss.Table([dose], [0.5, 0.5, 1.0]))
    with pytest.raises(StateError, match="Unknown state"):
        intervened(dose, ss.Likelihood([0.2, 0.3, 0.5]))
