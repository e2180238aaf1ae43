"""Latent classes and mixtures, and one order of their states."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from sepset.api.learning import fit
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.table import TableCPD
from sepset.cpds.tree import Split, TreeCPD
from sepset.errors import ArgumentError, ModelError, NotApplicable
from sepset.inference.iterate import Until
from sepset.learning.classify.latentclass import latent_class, ordered_states
from sepset.learning.incomplete.em import EM
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real

x, y, a = Real("x"), Real("y"), Discrete("a", 3)


def test_classes_explain_states_and_numbers():
    net = latent_class([a, x], 4, name="kind")
    assert [v.name for v in net.variables] == ["kind", "a", "x"]
    assert net.cpd("a").values.shape == (4, 3)
    assert net.cpd("x").by == (net.variables["kind"],)


def test_correlated_numbers_are_a_full_mixture():
    rng = np.random.default_rng(0)
    z = rng.random(800) < 0.4
    points = np.where(
        z[:, None],
        rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], 800),
        rng.multivariate_normal([5, -5], [[1, -0.5], [-0.5, 2]], 800),
    )
    rows = {"x": points[:, 0], "y": points[:, 1]}
    model = ordered_states(fit(latent_class([x, y], 2, correlated=True), rows, EM()).model, "class")
    assert_allclose(model.cpd("class").values, [0.6, 0.4], atol=0.04)
    assert_allclose(model.cpd("x").intercept.ravel(), [5, 0], atol=0.2)
    slope = model.cpd("y").coefficients.ravel()
    assert_allclose(slope, [-0.5, 0.8], atol=0.12)


def test_mixtures_of_one_variable_have_the_likelihood_of_their_density():
    rng = np.random.default_rng(1)
    data = np.concatenate([rng.normal(0, 1, 60), rng.normal(4, 0.5, 40)])
    found = fit(latent_class([x], 2), {"x": data}, EM(), until=Until(steps=300, tolerance=1e-12))
    p, cpd = found.model.cpd("class").values, found.model.cpd("x")
    density = sum(p[k] * stats.norm(cpd.intercept[k, 0], np.sqrt(cpd.covariance[k, 0, 0])).pdf(data) for k in range(2))
    assert_allclose(found.log_likelihood, np.log(density).sum(), rtol=1e-11)


def test_orders_change_nothing_that_is_observed():
    rng = np.random.default_rng(0)
    h, g = Discrete("h", 3), Discrete("g")
    net = BayesNet(
        TableCPD(h, [0.2, 0.5, 0.3]),
        TableCPD(g, [0.5, 0.5]),
        TableCPD(a, rng.dirichlet(np.ones(3), (2, 3)), given=(g, h)),
        LinearGaussian(x, rng.normal(size=(3, 2)), covariance=rng.random((3, 2)) + 0.1, by=(h, g)),
    )
    made = ordered_states(net, "h")
    assert_allclose(made.cpd("h").values, [0.5, 0.3, 0.2])
    for old, new in enumerate([2, 0, 1]):
        assert_allclose(made.cpd("a").values[:, new], net.cpd("a").values[:, old])
        old_lines = net.cpd("x").intercept.reshape(3, 2)[old]
        assert_allclose(made.cpd("x").intercept.reshape(3, 2)[new], old_lines)


def test_states_are_ordered_below_other_forms():
    h, b = Discrete("h"), Discrete("b")
    net = BayesNet(TableCPD(h, [0.2, 0.8]), LogisticCPD(b, {h: 1.0}, bias=-0.25))
    made = ordered_states(net, "h")
    assert_allclose(made.cpd("h").values, [0.8, 0.2])
    assert_allclose(made.cpd("b").to_table().values, net.cpd("b").to_table().values[::-1])


def test_refusals():
    with pytest.raises(ArgumentError, match="classes"):
        latent_class([x], 0)
    with pytest.raises(ModelError, match=r"Discrete\('x', ...\)"):
        latent_class(["x"], 2)
    with pytest.raises(ModelError, match="another name"):
        latent_class([x], 2, name="x")
    h, b = Discrete("h"), Discrete("b")
    net = BayesNet(TableCPD(h, [0.5, 0.5]), TreeCPD(b, Split(h, {0: [0.5, 0.5], 1: [0.1, 0.9]})))
    with pytest.raises(NotApplicable, match="discrete root"):
        ordered_states(net, "b")
    with pytest.raises(NotApplicable, match="cannot be ordered"):
        ordered_states(net, "h")
