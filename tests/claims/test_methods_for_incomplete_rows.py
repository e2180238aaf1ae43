"""Every method for incomplete rows, held to the likelihood by enumeration: where it ends, and whether it ever falls."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from sepset.api.learning import fit
from sepset.cpds.priors.dirichlet import BDeu, Dirichlet
from sepset.cpds.priors.weights import LaplaceWeights, NormalWeights
from sepset.cpds.table import TableCPD
from sepset.graphs.graph import DAG
from sepset.inference.iterate import Until
from sepset.inference.result import Guarantee, Status
from sepset.learning.estimation.networkpriors import ImaginaryData
from sepset.learning.incomplete.em import EM, IncrementalEM
from sepset.learning.incomplete.gradient import GradientAscent
from sepset.learning.incomplete.stepwise import StepwiseEM
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete
from support.learning_cases import masked_codes, mixed, mixed_rows, network
from support.random_incomplete import incomplete, log_likelihood

MONOTONE = {
    "em": EM(),
    "squarem": EM(acceleration="squarem"),
    "aitken": EM(acceleration="aitken"),
    "conjugate em": EM(acceleration="conjugate"),
    "incremental": IncrementalEM(2),
    "lbfgs": GradientAscent(),
    "conjugate": GradientAscent(optimizer="conjugate"),
    "steepest": GradientAscent(optimizer="steepest"),
}
OTHERS = {
    "stepwise": StepwiseEM(batch=10**6, forgetting=0.6),
    "stochastic": GradientAscent(optimizer="stochastic", batch=10**6),
}
ALL = {**MONOTONE, **OTHERS}
TEXT = {"x": [1] * 29 + [0] * 13 + [None], "y": [1] * 13 + [0] * 16 + [1] * 9 + [0] * 4 + [1]}
"""The counts of Koller & Friedman, section 19.1.3, with X missing in one row (x0, y1)."""


def oracle_slope(net, rows, h=1e-4):
    """The gradient in logits of the enumerated log-likelihood, by central differences of single rows of tables."""
    found = []
    for cpd in net.cpds:
        values = cpd.values.reshape(-1, cpd.child.num_states)
        for row, cell in np.argwhere(values > 0):
            ends = []
            for move in (h, -h):
                moved = values.copy()
                moved[row, cell] *= np.exp(move)
                moved[row] /= moved[row].sum()
                changed = TableCPD(cpd.child, moved.reshape(cpd.values.shape), given=cpd.parents)
                ends.append(log_likelihood(net.with_cpds(changed), rows))
            found.append((ends[0] - ends[1]) / (2 * h))
    return np.array(found)


@pytest.mark.parametrize("name", ALL)
def test_the_text_example_reaches_its_fractions(name):
    found = fit(DAG.parse("x -> y"), TEXT, ALL[name], until=Until(steps=400, tolerance=None))
    x, y = found.model.cpd("x").values, found.model.cpd("y").values
    assert_allclose([x[1], *y[:, 1]], [651 / 946, 207 / 295, 299 / 651], rtol=3e-6)
    assert_allclose((x * y[:, 1] / (x @ y[:, 1]))[1], 13 / 22, rtol=3e-6)
    assert_allclose(found.log_likelihood, -54.592212, atol=5e-7)


@pytest.mark.parametrize("name", MONOTONE)
@given(case=incomplete(max_variables=3, num_rows=5))
@settings(max_examples=6)
def test_the_end_is_stationary(name, case):
    net, rows = case
    method = replace(MONOTONE[name], start="model", restarts=1)
    found = fit(net, rows, method, until=Until(steps=800, tolerance=1e-15))
    assert np.abs(oracle_slope(found.model, rows)).max(initial=0.0) < 2e-3 * rows.num_rows
    assert_allclose(found.log_likelihood, log_likelihood(found.model, rows), rtol=1e-9, atol=1e-10)


@cache
def round_top():
    """A network, its rows, and where EM ends."""
    net = BayesNet.random(DAG.parse("h -> a; h -> b; a -> b"), states={"h": 2, "a": 2, "b": 3}, seed=2)
    rows = masked_codes(net, 40, share=0.3)
    return net, rows, fit(net, rows, EM(start="model"), until=Until(steps=2000, tolerance=1e-15))


@pytest.mark.parametrize("name", [n for n in MONOTONE if n != "steepest"])
def test_the_end_is_stationary_to_many_digits_where_the_top_is_round(name):
    """Three variables with a hidden parent, partly known: an optimum inside, found to small slopes."""
    net, rows, best = round_top()
    found = fit(net, rows, replace(MONOTONE[name], start="model"), until=Until(steps=600, tolerance=1e-16))
    assert np.abs(oracle_slope(found.model, rows)).max() < 1e-4 * rows.num_rows
    assert_allclose(found.log_likelihood, best.log_likelihood, rtol=1e-7)
    expected = Guarantee.STATIONARY if found.status is Status.CONVERGED else Guarantee.HEURISTIC
    assert found.guarantees["parameters"] is expected


@pytest.mark.parametrize("name", ["steepest", *OTHERS])
def test_slow_methods_flatten_the_slope(name):
    net = BayesNet.random(DAG.parse("h -> a; h -> b; a -> b"), states={"h": 2, "a": 2, "b": 3}, seed=2)
    rows = masked_codes(net, 40, share=0.3)
    found = fit(net, rows, replace(ALL[name], start="model"), until=Until(steps=300, tolerance=None))
    before, after = (np.linalg.norm(oracle_slope(n, rows)) for n in (net, found.model))
    assert after < 0.05 * before


@pytest.mark.parametrize("name", [n for n in MONOTONE if n != "incremental"])
@given(case=incomplete(max_variables=3, num_rows=6))
@settings(max_examples=12)
def test_no_step_lowers_the_enumerated_objective(name, case):
    net, rows = case
    for prior in (None, BDeu(1.5)):
        method = replace(MONOTONE[name], start="model", prior=prior, restarts=1)
        found = fit(net, rows, method, until=Until(steps=10, tolerance=None))
        assert (np.diff(found.trace) >= -1e-12 * np.abs(found.trace[1:]) - 1e-13).all()
        if prior is None:
            assert found.trace[-1] >= log_likelihood(net, rows) - 1e-11
            assert_allclose(found.trace[-1], log_likelihood(found.model, rows), rtol=1e-9, atol=1e-10)


PRIOR = (NormalWeights(1.0), Dirichlet(1.5))


@cache
def mode_by_em():
    """A network, its rows, and the mode under `PRIOR`."""
    net = network("logistic")
    rows = masked_codes(net, 80)
    return net, rows, fit(net, rows, EM(PRIOR, start="model"), until=Until(steps=1000, tolerance=1e-14))


@pytest.mark.parametrize("name", [n for n in ALL if n != "em"])
def test_modes_under_priors_agree_with_em(name):
    net, rows, slow = mode_by_em()
    rule = Until(steps=300, tolerance=1e-14 if name in MONOTONE else None)
    fast = fit(net, rows, replace(ALL[name], prior=PRIOR, start="model"), until=rule)
    for one, other in zip(slow.model.cpds, fast.model.cpds, strict=True):
        assert_allclose(one.to_table().values, other.to_table().values, atol=2e-4)


@cache
def sharp_modes(scale):
    """Networks, their rows, and where EM ends under a sharp prior."""
    states, lines = network("logistic"), mixed()
    prior, rule = (LaplaceWeights(scale), Dirichlet(1.5)), Until(steps=200, tolerance=1e-11)
    cases = [(states, masked_codes(states, 80)), (lines, mixed_rows(lines, 40, 0.1))]
    return [(net, rows, fit(net, rows, EM(prior, start="model"), until=rule)) for net, rows in cases]


@pytest.mark.parametrize("name", ["conjugate em", "lbfgs", "conjugate", "steepest"])
@pytest.mark.parametrize("scale", [0.08, 0.5])
def test_sharp_priors_end_where_em_does_with_the_same_zeros(name, scale):
    prior = (LaplaceWeights(scale), Dirichlet(1.5))
    for place, (net, rows, slow) in enumerate(sharp_modes(scale)):
        fast = fit(net, rows, replace(ALL[name], prior=prior, start="model"), until=Until(steps=200, tolerance=1e-11))
        assert (np.diff(fast.trace) >= -1e-12 * np.abs(fast.trace[1:])).all()
        assert_allclose(fast.trace[-1], slow.trace[-1], rtol=1e-7)
        if place == 0:
            weights = [np.concatenate([w.reshape(-1) for w in f.model.cpd("x").weights]) for f in (slow, fast)]
            assert ((weights[0] == 0) == (weights[1] == 0)).all()
            assert_allclose(*weights, atol=2e-3)


@cache
def with_imagined_rows(form):
    """A network, its rows, others that are imagined, and where EM ends on all of them."""
    net = mixed() if form == "lines" else network(form)
    rows = mixed_rows(net, 40, 0.2) if form == "lines" else masked_codes(net, 40)
    imagined, rule = net.sample(30, seed=9), Until(steps=150, tolerance=1e-12)
    return net, rows, imagined, fit(net, rows.concat(imagined), EM(start="model", acceleration="squarem"), until=rule)


@pytest.mark.parametrize("name", ["aitken", "conjugate em", "lbfgs", "conjugate"])
@pytest.mark.parametrize("form", ["tree", "noisy-or", "noisy-max", "logistic", "lines"])
def test_imaginary_rows_count_as_rows_do(name, form):
    """The mode under imaginary rows is the largest likelihood of all rows together."""
    net, rows, imagined, wanted = with_imagined_rows(form)
    method = replace(ALL[name], start="model", prior=ImaginaryData(imagined))
    found = fit(net, rows, method, until=Until(steps=150, tolerance=1e-12))
    assert_allclose(found.trace[-1], wanted.trace[-1], rtol=1e-6)


@pytest.mark.parametrize("name", ["lbfgs", "conjugate", "steepest", "stochastic"])
def test_the_norm_of_the_gradient_is_reported(name):
    net = BayesNet.random(DAG.parse("a -> b -> c"), states=2, seed=3)
    rows = masked_codes(net, 50)
    found = fit(net, rows, replace(ALL[name], start="model"), until=Until(steps=4, tolerance=None))
    wanted = np.linalg.norm(oracle_slope(found.model, rows)) / 50
    assert_allclose(found.info["gradient_norm"], wanted, rtol=0.02)


@pytest.mark.parametrize("name", ALL)
def test_zeros_of_the_start_stay_and_one_state_is_no_trouble(name):
    a, b, c = Discrete("a", 3), Discrete("b", 1), Discrete("c")
    table = [[[0.5, 0.5]], [[1.0, 0.0]], [[0.3, 0.7]]]
    net = BayesNet(TableCPD(a, [0.0, 0.6, 0.4]), TableCPD(b, [[1.0]] * 3, given=a), TableCPD(c, table, given=(a, b)))
    rows = {"a": [1, None, None, 2], "b": [None, 0, 0, None], "c": [0, 1, 0, 1]}
    found = fit(net, rows, replace(ALL[name], start="model"), until=Until(steps=60, tolerance=None)).model
    assert found.cpd("a").values[0] == 0.0
    assert found.cpd("c").values[1, 0, 1] == 0.0
    assert found.cpd("b").values.ravel().tolist() == [1.0] * 3


@pytest.mark.parametrize("name", ALL)
def test_a_start_of_zeros_against_the_prior_is_left(name):
    net = BayesNet(TableCPD(Discrete("x", 3), [0.0, 0.5, 0.5]))
    method = replace(ALL[name], start="model", prior=Dirichlet(1.0))
    found = fit(net, {"x": [1, 1, 2, None]}, method, until=Until(steps=300, tolerance=None))
    assert_allclose(found.model.cpd("x").values, [1 / 6, 3 / 6, 2 / 6], rtol=1e-5)


@pytest.mark.parametrize("name", ALL)
def test_nothing_to_learn_is_no_trouble(name):
    one = Discrete("one", 1)
    net = BayesNet(TableCPD(one, [1.0]))
    found = fit(net, {"one": [None, 0]}, ALL[name], until=3)
    assert found.model.cpd("one").values.tolist() == [1.0]
    assert found.log_likelihood == 0.0
