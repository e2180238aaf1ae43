"""Gradient ascent rises, and ends where EM does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose

from sepset.api.learning import fit
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.priors.dirichlet import Dirichlet
from sepset.cpds.rules import RuleCPD
from sepset.cpds.table import TableCPD
from sepset.errors import ArgumentError, NotApplicable, NotClosed
from sepset.graphs.graph import DAG
from sepset.inference.iterate import Until
from sepset.inference.result import Status
from sepset.learning.incomplete.em import EM
from sepset.learning.incomplete.gradient import GradientAscent
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real
from support.learning_cases import FORMS, masked_codes, mixed, mixed_rows, network
from support.random_incomplete import incomplete, log_likelihood

TEXT = [(1, 1)] * 13 + [(1, 0)] * 16 + [(0, 1)] * 9 + [(0, 0)] * 4 + [(None, 1)]


def test_the_text_example_reaches_its_fractions():
    rows = {"x": [x for x, _ in TEXT], "y": [y for _, y in TEXT]}
    found = fit(DAG.parse("x -> y"), rows, GradientAscent(), until=Until(steps=100, tolerance=None))
    assert_allclose(found.model.cpd("x").values[1], 651 / 946, rtol=1e-6)
    assert_allclose(found.model.cpd("y").values[:, 1], [207 / 295, 299 / 651], rtol=1e-6)
    assert_allclose(found.log_likelihood, -54.592212, atol=5e-7)
    assert found.status is Status.CONVERGED  # it knows when no step rises


@given(incomplete(), st.sampled_from(["lbfgs", "conjugate", "steepest"]))
@settings(max_examples=60)
def test_no_step_lowers_the_likelihood(case, optimizer):
    net, rows = case
    found = fit(net, rows, GradientAscent(start="model", optimizer=optimizer), until=Until(steps=15, tolerance=None))
    values = np.concatenate([[log_likelihood(net, rows)], found.trace])
    assert (np.diff(values) >= -1e-11 * np.abs(values[1:]) - 1e-12).all()
    assert_allclose(found.log_likelihood, log_likelihood(found.model, rows), rtol=1e-9, atol=1e-10)


def test_it_ends_where_em_does_in_fewer_steps():
    net = BayesNet.random(DAG.parse("a -> b -> c -> d; a -> c"), states=2, seed=3)
    rows = masked_codes(net, 400, share=0.5)
    slow = fit(net, rows, EM(start="model"), until=Until(steps=2000, tolerance=1e-12))
    fast = fit(net, rows, GradientAscent(start="model"), until=Until(steps=500, tolerance=1e-12))
    assert_allclose(fast.log_likelihood, slow.log_likelihood, rtol=1e-8)
    assert fast.num_iterations < 0.5 * slow.num_iterations


@pytest.mark.parametrize("form", [f for f in FORMS if f != "function"])
def test_structured_cpds_end_where_em_does(form):
    net = network(form)
    rows = masked_codes(net, 150)
    slow = fit(net, rows, EM(start="model", acceleration="squarem"), until=Until(steps=600, tolerance=1e-13))
    fast = fit(net, rows, GradientAscent(start="model"), until=Until(steps=300, tolerance=1e-13))
    assert_allclose(fast.log_likelihood, slow.log_likelihood, rtol=2e-6)


def test_lines_end_where_em_does():
    net = mixed()
    rows = mixed_rows(net, 120, 0.2)
    slow = fit(net, rows, EM(start="model", acceleration="squarem"), until=Until(steps=600, tolerance=1e-12))
    fast = fit(net, rows, GradientAscent(start="model"), until=Until(steps=300, tolerance=1e-12))
    assert_allclose(fast.log_likelihood, slow.log_likelihood, rtol=1e-6)


def test_priors_and_tied_blocks():
    a, b = Discrete("a"), Discrete("b")
    net = BayesNet(TableCPD(a, [0.3, 0.7], block="coin"), TableCPD(b, [0.3, 0.7], block="coin"))
    rows = {"a": [0, 0, 1, None], "b": [1, 0, None, None]}
    found = fit(net, rows, GradientAscent(prior=Dirichlet(1.0)), until=Until(steps=100, tolerance=None)).model
    assert_allclose(found.cpd("a").values, [4 / 7, 3 / 7], rtol=1e-6)
    assert found.cpd("b").values.tolist() == found.cpd("a").values.tolist()


@pytest.mark.parametrize("optimizer", ["lbfgs", "conjugate", "steepest"])
def test_resuming_is_the_same_to_the_bit(optimizer, tmp_path):
    net = network("tree")
    rows, file = masked_codes(net, 60), tmp_path / "run.bin"

    def run(steps, **more):
        method = GradientAscent(start="model", optimizer=optimizer)
        found = fit(net, rows, method, until=Until(steps=steps, tolerance=None), **more)
        return [a.tobytes() for c in found.model.cpds for a in c.parameters.arrays.values()], found.trace.tolist()

    run(2, checkpoint=file)
    assert run(5, checkpoint=file) == run(5)


def test_rules_that_contexts_share_are_left_to_em():
    a, b, x = Discrete("a"), Discrete("b"), Discrete("x")
    rules = [({x: 0, a: 0}, 0.5), ({x: 1, a: 0, b: 0}, 0.5), ({x: 1, a: 0, b: 1}, 0.5), ({a: 1}, 0.5)]
    net = BayesNet(TableCPD(a, [0.4, 0.6]), TableCPD(b, [0.4, 0.6]), RuleCPD(x, rules))
    rows = masked_codes(net, 30)
    for method in (GradientAscent(start="model"), EM(start="model", acceleration="conjugate")):
        with pytest.raises(NotApplicable, match=r"several contexts share.*Use EM\(\)"):
            fit(net, rows, method)
    assert fit(net, rows, EM(start="model", acceleration="aitken")).status is Status.CONVERGED


def test_settings():
    assert repr(GradientAscent(memory=5)) == "GradientAscent(memory=5)"
    assert repr(GradientAscent(optimizer="conjugate")) == "GradientAscent(optimizer='conjugate')"
    for bad in ({"memory": 0}, {"batch": 0}, {"rate": 0.0}, {"rate": np.nan}):
        with pytest.raises(ArgumentError, match=next(iter(bad))):
            GradientAscent(**bad)
    with pytest.raises(ArgumentError, match="Did you mean 'conjugate'"):
        GradientAscent(optimizer="conjugat")


def test_maximum_likelihood_is_the_same_in_logits():
    """Box 17.D: of complete rows, ascent in softmax parameters ends at the ratios of counts."""
    rng = np.random.default_rng(5)
    rows = {"a": rng.integers(2, size=60), "b": rng.integers(3, size=60), "c": rng.integers(2, size=60)}
    dag = DAG.parse("a -> b; a -> c; b -> c")
    closed = fit(dag, rows)
    found = fit(dag, rows, GradientAscent(), until=Until(steps=300, tolerance=None))
    assert found.log_likelihood == pytest.approx(closed.log_likelihood, rel=1e-10)
    for mine, other in zip(found.model.cpds, closed.model.cpds, strict=True):
        assert_allclose(mine.values, other.values, atol=1e-5)


@pytest.mark.parametrize("optimizer", ["lbfgs", "conjugate", "steepest"])
def test_a_variance_that_falls_to_zero_is_refused(optimizer):
    c, x = Discrete("c", ("u", "v")), Real("x")
    net = BayesNet(TableCPD(c, [0.5, 0.5]), LinearGaussian(x, [2.0, 2.5], covariance=1.0, by=c))
    rows = {"c": [None, "u", "v", "v"], "x": [2.0, 2.0, 1.0, 4.0]}
    with pytest.raises(NotClosed, match="fits some rows exactly"):
        fit(net, rows, GradientAscent(start="model", optimizer=optimizer), until=2000)
