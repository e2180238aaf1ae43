"""Stepwise EM: EM itself in one batch, near it in many, and further rows as they arrive."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose

from sepset.api.learning import fit
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.priors.dirichlet import BDeu, Dirichlet
from sepset.cpds.priors.regression import NormalGamma
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import ArgumentError, ImpossibleEvidence, NotApplicable
from sepset.graphs.graph import DAG
from sepset.inference.iterate import Until
from sepset.inference.result import Guarantee, Status
from sepset.learning.estimation.estimators import MLE
from sepset.learning.incomplete.em import EM
from sepset.learning.incomplete.expectation import Expectation
from sepset.learning.incomplete.stepwise import StepwiseEM
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real
from support.learning_cases import FORMS, masked_codes, mixed, mixed_rows, network
from support.random_incomplete import completions, incomplete, log_likelihood

WHOLE = StepwiseEM(batch=10**6, forgetting=0.0, start="model")


def passes(number):
    return Until(steps=number, tolerance=None)


def numbers(model):
    lines = [c for c in model.cpds if isinstance(c, LinearGaussian)]
    tables = [c.to_table().values.tobytes() for c in model.cpds if not isinstance(c, LinearGaussian)]
    return tables + [c.intercept.tobytes() + c.coefficients.tobytes() + c.covariance.tobytes() for c in lines]


@given(incomplete())
@settings(max_examples=25)
def test_one_batch_that_forgets_all_is_em(case):
    net, rows = case
    for prior in (None, Dirichlet(0.5)):
        one = fit(net, rows, replace(WHOLE, prior=prior), until=passes(5))
        other = fit(net, rows, EM(prior=prior, start="model"), until=passes(5))
        assert numbers(one.model) == numbers(other.model)
        assert one.trace.tolist() == other.trace.tolist()
        assert one.log_likelihood == other.log_likelihood


@pytest.mark.parametrize("form", [*FORMS, "lines"])
def test_one_batch_is_em_for_every_kind_of_cpd(form):
    net = mixed() if form == "lines" else network(form)
    rows = mixed_rows(net, 50, 0.2) if form == "lines" else masked_codes(net, 50)
    one, other = (fit(net, rows, m, until=passes(4)) for m in (WHOLE, EM(start="model")))
    assert numbers(one.model) == numbers(other.model)
    assert one.trace.tolist() == other.trace.tolist()


@pytest.mark.parametrize("form", [*FORMS, "lines"])
def test_many_batches_get_as_far_as_em_in_some_steps(form):
    net = mixed() if form == "lines" else network(form)
    rows = mixed_rows(net, 150, 0.2) if form == "lines" else masked_codes(net, 150)
    slow = fit(net, rows, EM(start="model", acceleration="squarem"), until=Until(steps=300, tolerance=1e-12))
    some = fit(net, rows, EM(start="model"), until=passes(10))
    fast = fit(net, rows, StepwiseEM(batch=25, start="model"), until=passes(30))
    assert some.log_likelihood - 0.1 < fast.log_likelihood <= slow.log_likelihood + 0.05
    assert fast.guarantees["parameters"] is Guarantee.HEURISTIC


def test_the_text_example_is_approached_and_then_reached():
    rows = {"x": [1] * 29 + [0] * 13 + [None], "y": [1] * 13 + [0] * 16 + [1] * 9 + [0] * 4 + [1]}
    found = fit(DAG.parse("x -> y"), rows, StepwiseEM(batch=5, forgetting=1.0), until=passes(150))
    assert_allclose(found.model.cpd("x").values[1], 651 / 946, rtol=2e-3)
    assert_allclose(found.model.cpd("y").values[:, 1], [207 / 295, 299 / 651], rtol=4e-3)
    exact = fit(DAG.parse("x -> y"), rows, EM(start=found.model), until=passes(30)).model
    x, y = exact.cpd("x").values, exact.cpd("y").values
    assert_allclose([x[1], *y[:, 1]], [651 / 946, 207 / 295, 299 / 651], rtol=1e-12)
    assert_allclose((x * y[:, 1] / (x @ y[:, 1]))[1], 13 / 22, rtol=1e-12)


@given(incomplete(num_rows=6))
@settings(max_examples=20)
def test_the_trace_adds_up_batches_when_they_are_met(case):
    """Batches of one row: an M-step, the row's log-likelihood, its expected counts, by enumeration."""
    net, rows = case
    found = fit(net, rows, StepwiseEM(batch=1, start="model"), until=1)
    assert found.num_iterations == 1
    assert_allclose(found.log_likelihood, log_likelihood(found.model, rows), rtol=1e-9, atol=1e-10)
    if rows.num_rows == 1:
        assert_allclose(found.trace[0], log_likelihood(found.model, rows), rtol=1e-9, atol=1e-10)


def test_two_batches_by_hand():
    """One hidden coin, rows of its noisy report: every number of a pass by enumeration."""
    h, x = Discrete("h"), Discrete("x")
    net = BayesNet(TableCPD(h, [0.4, 0.6]), TableCPD(x, [[0.8, 0.2], [0.3, 0.7]], given=h))
    rows = {"h": [None, None], "x": [0, 1]}
    found = fit(net, rows, StepwiseEM(batch=1, forgetting=0.7, start="model", restarts=1), until=passes(1), seed=3)
    order = np.random.default_rng(3)
    order.spawn(1)

    def counts(model, state):
        posterior = np.array([p for _, p in completions(model, {"h": None, "x": state})])
        return posterior / posterior.sum(), np.log(posterior.sum())

    def estimated(joint):
        return BayesNet(TableCPD(h, joint.sum(axis=1) / joint.sum()),
                        TableCPD(x, joint / joint.sum(axis=1, keepdims=True), given=h))  # fmt: skip

    joint = np.column_stack([counts(net, s)[0] for s in (0, 1)])
    worth = 0.0
    for k, state in enumerate(order.permutation(2).tolist()):
        model = estimated(joint)
        posterior, log = counts(model, state)
        worth += log
        new = np.zeros((2, 2))
        new[:, state] = 2.0 * posterior
        share = (k + 2.0) ** -0.7
        joint = (1 - share) * joint + share * new
    assert_allclose(found.trace, [worth], rtol=1e-12)
    assert_allclose(found.model.cpd("x").values, model.cpd("x").values, rtol=1e-12)


def latent(num_rows=400):
    dag = DAG.parse("h -> a; h -> b; h -> c; h -> d")
    net = BayesNet.random(dag, states={"h": 2, "a": 3, "b": 2, "c": 2, "d": 2}, seed=5)
    return dag, net, net.sample(num_rows, seed=1).select(["a", "b", "c", "d"])


def test_hidden_variables_restarts_and_priors():
    dag, _, rows = latent()
    hidden = {"variables": [Discrete("h", 2)], "seed": 1}
    slow = fit(dag, rows, EM(prior=BDeu(2.0)), **hidden)
    fast = fit(dag, rows, StepwiseEM(prior=BDeu(2.0)), **hidden, until=passes(15))
    assert fast.info["starting_points"] == 5
    assert abs(fast.log_likelihood - slow.log_likelihood) < 2.0
    assert fast.status is Status.STEP_LIMIT


def test_weights_are_repeated_rows():
    net = network("tree")
    rows = masked_codes(net, 40)
    times = np.random.default_rng(0).integers(0, 4, 40)
    repeated = rows.take(np.repeat(np.arange(40), times))
    method = StepwiseEM(batch=10**6, forgetting=0.8, start="model")
    one = fit(net, rows, method, weights=times.astype(float), until=passes(4))
    other = fit(net, repeated, method, until=passes(4))
    assert_allclose(one.trace, other.trace, rtol=1e-12)
    near = [fit(net, r, replace(method, batch=9), weights=w, until=passes(40)).log_likelihood
            for r, w in ((rows, times.astype(float)), (repeated, None))]  # fmt: skip
    assert abs(near[0] - near[1]) < 0.2


def test_seeds_reproduce_and_threads_do_not_matter():
    dag, _, rows = latent(200)

    def values(seed, **more):
        method = StepwiseEM(batch=40, restarts=1, **more)
        found = fit(dag, rows, method, variables=[Discrete("h", 2)], seed=seed, until=passes(3))
        return numbers(found.model), found.trace.tolist()

    assert values(7) == values(7)
    assert values(7, threads=1) == values(7, threads=2)
    assert values(7) != values(8)


@pytest.mark.parametrize("form", ["tree", "noisy-max", "logistic", "lines"])
def test_interrupted_and_resumed_is_the_same_to_the_bit(form, tmp_path):
    net = mixed() if form == "lines" else network(form)
    rows = mixed_rows(net, 60, 0.2) if form == "lines" else masked_codes(net, 60)
    file = tmp_path / "run.bin"

    def run(steps, **more):
        found = fit(net, rows, StepwiseEM(batch=13, start="model"), until=passes(steps), seed=2, **more)
        return numbers(found.model), found.trace.tolist()

    run(2, checkpoint=file)
    assert run(5, checkpoint=file) == run(5)


def test_ctrl_c_returns_the_last_whole_pass(monkeypatch):
    _, net, rows = latent(100)
    calls, real = [], Expectation.expect

    def expect(self, model, *more):
        calls.append(1)
        if len(calls) == 9:
            raise KeyboardInterrupt
        return real(self, model, *more)

    monkeypatch.setattr(Expectation, "expect", expect)
    found = fit(net, rows, StepwiseEM(batch=25, start="model", restarts=1))
    assert (found.status, found.num_iterations) == (Status.INTERRUPTED, 1)


def test_held_out_rows_end_it():
    dag, net, rows = latent(60)
    others = net.sample(400, seed=9).select(["a", "b", "c", "d"])
    method = StepwiseEM(batch=20, holdout=others, restarts=1)
    found = fit(dag, rows, method, variables=[Discrete("h", 6)], until=passes(300))
    assert found.status is Status.COMPLETED
    assert found.num_iterations < 300


def test_falls_do_not_count_as_convergence():
    _, net, rows = latent(200)
    found = fit(net, rows, StepwiseEM(batch=5, forgetting=0.6, start="model"), until=Until(steps=15, tolerance=1e-9))
    assert (np.diff(found.trace) < 0).any()
    assert found.num_iterations == 15


def test_further_rows_count_by_their_share():
    """Complete rows, one batch each: the second has the share 1/3, as the third of three."""
    x, y = Discrete("x"), Discrete("y")
    net = BayesNet(TableCPD(x, [0.5, 0.5]), TableCPD(y, [[0.5, 0.5], [0.5, 0.5]], given=x))
    rng = np.random.default_rng(0)
    first, second = ({"x": rng.integers(2, size=n), "y": rng.integers(2, size=n)} for n in (30, 60))
    method = StepwiseEM(batch=1000, forgetting=1.0, prior=Dirichlet(2.0))
    found = fit(net, first, method, until=1)
    later = method.update(found, second)

    def shares(rows):
        return np.bincount(2 * rows["x"] + rows["y"], minlength=4).reshape(2, 2) / len(rows["x"])

    joint = 90 * (2 / 3 * shares(first) + 1 / 3 * shares(second)) + 2.0
    assert_allclose(later.model.cpd("y").values, joint / joint.sum(axis=1, keepdims=True), rtol=1e-12)
    assert later.info["rows_so_far"] == 90.0
    assert (later.num_rows, later.num_iterations, later.status) == (60.0, 1, Status.COMPLETED)
    data = Dataset({k: v.tolist() for k, v in second.items()}, net.variables)
    assert_allclose(later.log_likelihood, log_likelihood(later.model, data), rtol=1e-12)


def test_moments_are_carried_to_other_centers():
    """The same rows again, but in the company of a far one: lines of all rows, by least squares."""
    u, v = Real("u"), Real("v")
    net = BayesNet(
        LinearGaussian(u, 0.0, covariance=1.0), LinearGaussian(v, 0.0, coefficients=0.5, covariance=1.0, given=u)
    )
    rng = np.random.default_rng(1)
    first, second = ({"u": rng.normal(m, 1, n), "v": rng.normal(m, 2, n)} for m, n in ((0, 20), (50, 40)))
    method = StepwiseEM(batch=1000, forgetting=1.0)
    later = method.update(fit(net, first, method, until=1), second)
    both = {k: np.concatenate([first[k], second[k]]) for k in first}
    weights = np.repeat([2 / 3 / 20, 1 / 3 / 40], [20, 40])
    wanted = fit(net, both, MLE(), weights=60 * weights).model
    for name in ("u", "v"):
        for part in ("intercept", "coefficients", "covariance"):
            assert_allclose(getattr(later.model.cpd(name), part), getattr(wanted.cpd(name), part), rtol=1e-8)


def test_a_stream_of_chunks_approaches_the_fit_of_all():
    _, net, rows = latent(3000)
    method = StepwiseEM(batch=50, start="model", prior=Dirichlet(1.0))
    found = fit(net, rows.take(np.arange(500)), method, until=passes(2))
    for start in range(500, 3000, 500):
        found = method.update(found, rows.take(np.arange(start, start + 500)), seed=start)
    whole = Dataset(rows, net.variables, missing_columns="allow")
    slow = fit(net, rows, EM(prior=Dirichlet(1.0), start="model"))
    assert log_likelihood(found.model, whole) > slow.log_likelihood - 6.0
    assert found.info["rows_so_far"] == 3000.0


def test_updates_need_a_fit_by_this_method_and_possible_rows():
    x = Discrete("x")
    net = BayesNet(TableCPD(x, [0.5, 0.5]))
    with pytest.raises(NotApplicable, match="a fit by StepwiseEM; found one by EM"):
        StepwiseEM().update(fit(net, {"x": [0, 1, None]}, EM()), {"x": [0]})
    certain = fit(net, {"x": [0, 0, 0]}, StepwiseEM(start="model"))
    with pytest.raises(ImpossibleEvidence, match="rows 1,"):
        StepwiseEM().update(certain, {"x": [0, 1]})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("rows", [{"x": []}, {"x": [1]}])
def test_rows_of_no_weight_change_nothing(rows):
    net = BayesNet(TableCPD(Discrete("x"), [0.2, 0.8]))
    none = fit(net, rows, StepwiseEM(start="model"), weights=[0.0] * len(rows["x"]))
    assert none.model.cpd("x").values.tolist() == [0.2, 0.8]
    found = fit(net, {"x": [0, 1, 1, 1]}, StepwiseEM(start="model"))
    later = StepwiseEM().update(found, rows, weights=[0.0] * len(rows["x"]))
    np.testing.assert_allclose(later.model.cpd("x").values, [0.25, 0.75], atol=1e-9)


def test_variances_do_not_collapse_under_a_prior():
    net = BayesNet(LinearGaussian(Real("u"), 0.0, covariance=1.0))
    prior = NormalGamma(0.0, 1.0, shape=2.0, rate=1.0)
    found = fit(net, {"u": [1.0, 2.0, 4.0]}, StepwiseEM(batch=1, prior=prior), until=passes(20))
    assert found.model.cpd("u").covariance[0, 0, 0] > 0.1


def test_settings_are_checked_and_shown():
    assert repr(StepwiseEM(batch=5)) == "StepwiseEM(batch=5)"
    for bad in (0.5, 1.5, -0.1, 0.2):
        with pytest.raises(ArgumentError, match="forgetting"):
            StepwiseEM(forgetting=bad)
    with pytest.raises(ArgumentError, match="batch"):
        StepwiseEM(batch=0)
