"""MLE, Bayes and MAP on whole networks."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import optimize

from sepset.api.learning import fit
from sepset.cpds.deterministic import DeterministicCPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.priors.dirichlet import K2, BDeu, ContextStrength, Dirichlet
from sepset.cpds.priors.regression import NormalGamma
from sepset.cpds.priors.weights import LaplaceWeights, NormalWeights
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import ArgumentError, DataError, NotApplicable
from sepset.graphs.graph import DAG
from sepset.inference.result import Guarantee, Status
from sepset.learning.estimation.estimators import MLE, Bayes, PosteriorMode, shown
from sepset.learning.statistics import Statistics
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real
from support import random_models
from support.blocks import in_blocks
from support.tolerances import CLOSE

A, B = Discrete("a"), Discrete("b", 3)
PAIR = DAG.parse("a -> b")


def random_data(seed, num=30):
    rng = np.random.default_rng(seed)
    return Dataset.from_codes([A, B], {"a": rng.integers(2, size=num), "b": rng.integers(3, size=num)})


@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=25, deadline=None)
def test_frequencies_by_plain_counting(seed, weighted):
    data = random_data(seed)
    weights = np.random.default_rng(seed).random(30) if weighted else None
    found = fit(PAIR, data, MLE(unseen="uniform"), weights=weights)
    share = np.ones(30) if weights is None else weights
    table = np.zeros((2, 3))
    for a, b, w in zip(data.codes("a"), data.codes("b"), share, strict=True):
        table[a, b] += w
    np.testing.assert_allclose(found.model.cpd("a").values, table.sum(axis=1) / table.sum())
    np.testing.assert_allclose(found.model.cpd("b").values, table / table.sum(axis=1, keepdims=True))
    logs = found.model.log_probability(data)
    assert found.log_likelihood == pytest.approx(float(share @ logs), abs=CLOSE)
    assert found.num_rows == pytest.approx(share.sum())


@in_blocks("seed", range(8))
def test_every_form_of_cpd_keeps_its_form_and_is_not_beaten(seed):
    """Structured CPDs: the fitted network's likelihood is that of its rows, and no worse than the truth's."""
    rng = np.random.default_rng(seed)
    net = random_models.structured_net(rng).model
    data = net.sample(200, seed)
    found = fit(net, data, MLE(unseen="uniform"))
    assert [type(c) for c in found.model.cpds] == [type(c) for c in net.cpds]
    assert found.log_likelihood == pytest.approx(found.model.log_probability(data).sum(), abs=1e-6)
    assert found.log_likelihood >= net.log_probability(data).sum() - 1e-6


def test_local_optima_are_the_global_one():
    """Proposition 17.1: a joint numeric optimum over all parameters is the concatenation of the local ones."""
    data = random_data(3)
    codes = data.matrix()

    def loss(eta):
        p = 1 / (1 + np.exp(-eta[0]))
        rows = np.exp(np.column_stack([np.zeros(2), eta[1:].reshape(2, 2)]))
        rows /= rows.sum(axis=1, keepdims=True)
        chances = np.where(codes[:, 0] == 1, p, 1 - p) * rows[codes[:, 0], codes[:, 1]]
        return -np.log(chances).sum()

    best = optimize.minimize(loss, np.zeros(5), method="BFGS")
    assert fit(PAIR, data).log_likelihood == pytest.approx(-best.fun, abs=1e-6)


def test_hybrid_networks():
    rng = np.random.default_rng(0)
    d = rng.integers(2, size=200)
    x = rng.normal(size=200)
    y = np.where(d == 1, 2 + 3 * x, -1 - x) + rng.normal(0, 0.5, size=200)
    rows = {"d": [("low", "high")[k] for k in d], "x": x, "y": y}
    found = fit(DAG.parse("d -> y <- x"), rows)
    cpd = found.model.cpd("y")
    assert cpd.by[0].states == ("high", "low")
    for state, code in (("low", 0), ("high", 1)):
        at = d == code
        slope, intercept = np.polyfit(x[at], y[at], 1)
        e = cpd.by[0].code(state)
        assert (cpd.coefficients[e, 0, 0], cpd.intercept[e, 0]) == pytest.approx((slope, intercept))
        assert cpd.covariance[e, 0, 0] == pytest.approx(np.mean((y[at] - intercept - slope * x[at]) ** 2))
    assert found.log_likelihood == pytest.approx(found.model.log_probability(rows).sum())
    both = fit(DAG.parse("d -> y <- x"), rows, Bayes([BDeu(4), NormalGamma(0, 0.1, shape=2, rate=1)]))
    assert both.posterior.interval("y", "x", given={"d": "high"})[0] > 2.8
    assert math.isfinite(both.posterior.log_marginal_likelihood)


def test_zero_cells_are_zeros_and_rows_with_them_have_no_likelihood():
    found = fit(PAIR, {"a": [0, 0, 1], "b": [0, 1, 1]}).model
    assert found.cpd("b").values.tolist() == [[0.5, 0.5], [0.0, 1.0]]
    assert found.log_probability({"a": 1, "b": 0})[0] == -math.inf
    raised = fit(PAIR, {"a": [0, 0, 1], "b": [0, 1, 1]}, MLE(floor=0.1)).model.cpd("b").values
    np.testing.assert_allclose(raised[1], [0.1 / 1.1, 1 / 1.1])


def test_unseen_contexts_are_never_silent():
    net = BayesNet(TableCPD(A, [0.5, 0.5]), TableCPD(B, np.full((2, 3), 1 / 3), given=A))
    rows = {"a": [0, 0, 0], "b": [0, 1, 1]}
    with pytest.raises(DataError, match=r"1 of 2 contexts never occur .*\(a=1\).*unseen='uniform'"):
        fit(net, rows)
    found = fit(net, rows, MLE(unseen="uniform"))
    assert found.coverage.unseen == {"b": ("(a=1)",)}
    np.testing.assert_allclose(found.model.cpd("b").values[1], 1 / 3)
    filled = fit(net, rows, MLE(unseen=Dirichlet([1, 1, 2]))).model.cpd("b").values
    np.testing.assert_allclose(filled, [[1 / 3, 2 / 3, 0], [0.25, 0.25, 0.5]])


def test_variances_of_zero_are_an_error_or_a_floor():
    rows = {"u": [0.5, 1.5, 2.5], "x": [1.5, 3.5, 5.5], "y": [7.0, 7.0, 7.0]}
    for dag in ("u -> x", "y"):
        with pytest.raises(DataError, match="variance is zero"):
            fit(DAG.parse(dag), rows)
        found = fit(DAG.parse(dag), rows, MLE(min_variance=0.01)).model
        assert found.cpds[-1].covariance[0, 0, 0] == pytest.approx(0.01)
    large = {"x": (1e7 + np.random.default_rng(0).normal(size=50))}
    assert fit(DAG.parse("x"), large).model.cpd("x").covariance[0, 0, 0] == pytest.approx(np.var(large["x"]), rel=1e-6)


def test_modes_without_variance_are_an_error_too():
    for prior in (NormalWeights(1.0), LaplaceWeights(1.0)):
        for rows in ({"x": [0.5, 1, 2, 3], "y": [5.0, 5, 5, 5]}, {"x": [2.0, 2, 2, 2], "y": [0.5, 1, 2, 4]}):
            with pytest.raises(DataError, match="the variance is zero"):
                fit(DAG.parse("x -> y"), rows, PosteriorMode(prior))
    conjugate = fit(DAG.parse("x"), {"x": [2.0, 2.0]}, PosteriorMode(NormalGamma(2, 1, shape=2, rate=1))).model.cpd("x")
    assert conjugate.covariance[0, 0, 0] == pytest.approx(1 / 3.5)


def test_collinear_parents_are_reported():
    rng = np.random.default_rng(1)
    u = rng.normal(size=20)
    found = fit(DAG.parse("u -> x <- v"), {"u": u, "v": 2 * u, "x": u + rng.normal(size=20)}, MLE(min_variance=1e-9))
    assert found.info == {"parent_rank": {"x": "1 of 2; coefficients are those of least norm"}}


def test_missing_cells_are_refused_and_em_is_named():
    for method in (MLE(), Bayes(K2()), PosteriorMode(K2())):
        with pytest.raises(DataError, match=rf"{type(method).__name__} needs complete data.*Use EM"):
            fit(PAIR, {"a": [0, None, 1], "b": [0, 1, 1]}, method)
    for method in (MLE(), Bayes(NormalGamma(0, 1, shape=2, rate=1))):
        with pytest.raises(DataError, match="Use EM"):
            fit(DAG.parse("x"), {"x": [0.5, math.nan]}, method)


def test_bayes_limits():
    """More and more data, or a weaker and weaker prior, give the frequencies; no data give the prior mean."""
    data = random_data(5, 40)
    mle = fit(PAIR, data).model.cpd("b").values
    weak = fit(PAIR, data, Bayes(ContextStrength(1e-9))).model.cpd("b").values
    np.testing.assert_allclose(weak, mle, atol=1e-9)
    many = data.take(np.tile(np.arange(40), 500))
    np.testing.assert_allclose(fit(PAIR, many, Bayes(K2())).model.cpd("b").values, mle, atol=1e-3)
    empty = data[:0]
    np.testing.assert_allclose(fit(PAIR, empty, Bayes(BDeu(3))).model.cpd("b").values, 1 / 3)
    assert (fit(PAIR, random_data(6, 4), Bayes(BDeu(1))).model.cpd("b").values > 0).all()


def test_softmax_map_is_the_posterior_mean_and_theta_is_not():
    data = random_data(7)
    mean = fit(PAIR, data, Bayes(Dirichlet(2))).model.cpd("b").values
    np.testing.assert_allclose(fit(PAIR, data, PosteriorMode(Dirichlet(2))).model.cpd("b").values, mean)
    theta = fit(PAIR, data, PosteriorMode(Dirichlet(2), parameterization="theta")).model.cpd("b").values
    one = fit(PAIR, data, Bayes(Dirichlet(1))).model.cpd("b").values
    np.testing.assert_allclose(theta, one)
    flat = fit(PAIR, data, PosteriorMode(K2(), parameterization="theta")).model.cpd("b").values
    np.testing.assert_allclose(flat, fit(PAIR, data).model.cpd("b").values)
    with pytest.raises(NotApplicable, match="below one"):
        fit(PAIR, data, PosteriorMode(BDeu(1), parameterization="theta"))


def test_bayes_needs_a_conjugate_prior():
    net = BayesNet(TableCPD(A, [0.5, 0.5]), LogisticCPD(Discrete("c"), {A: 0.0}))
    rows = {"a": [0, 1, 1], "c": [0, 1, 0]}
    with pytest.raises(NotApplicable, match=r"no conjugate prior.*Use PosteriorMode"):
        fit(net, rows, Bayes(K2()))
    found = fit(net, rows, PosteriorMode([NormalWeights(1.0), K2()]))
    assert found.guarantees["parameters"] is Guarantee.LOCAL_OPTIMUM


def test_functions_are_kept():
    c = Discrete("c")
    net = BayesNet(TableCPD(A, [0.5, 0.5]), DeterministicCPD(c, lambda a: 1 - a, given=A))
    rows = {"a": [0, 1, 1], "c": [1, 0, 0]}
    for method in (MLE(), Bayes(K2()), PosteriorMode(K2())):
        found = fit(net, rows, method)
        assert found.model.cpd("c") is net.cpd("c")
        assert math.isfinite(found.log_likelihood)
    assert fit(net, {"a": [0], "c": [0]}, Bayes(K2())).log_likelihood == -math.inf
    posterior = fit(net, rows, Bayes(K2())).posterior
    assert math.exp(posterior.log_predictive({"a": 1, "c": 0})[0]) == pytest.approx(3 / 5)
    assert posterior.log_joint_predictive({"a": [1, 1], "c": [0, 1]}) == -math.inf


@pytest.mark.parametrize("prior", [None, K2, 3, "K2", [], {}])
def test_priors_are_values(prior):
    with pytest.raises(ArgumentError, match="a value such as"):
        Bayes(prior)
    with pytest.raises(ArgumentError, match="a value such as"):
        PosteriorMode(prior)


def test_settings_are_checked_and_shown():
    assert [shown(m) for m in (MLE(), PosteriorMode(K2(), "theta"))] == [
        "MLE()",
        "PosteriorMode(K2(), parameterization='theta')",
    ]
    assert repr(Bayes({"a": K2(), ...: BDeu(2)})) == "Bayes({'a': K2(), Ellipsis: BDeu(sample_size=2)})"
    assert repr(MLE(floor=0.1, unseen="marginal")) == "MLE(unseen='marginal', floor=0.1)"
    with pytest.raises(ArgumentError, match="floor= is a number between 0 and 1"):
        MLE(floor=1.5)
    with pytest.raises(ArgumentError, match="min_variance= is a finite number > 0"):
        MLE(min_variance=-1.0)
    with pytest.raises(ArgumentError, match="'softmax' or 'theta'"):
        PosteriorMode(K2(), parameterization="probit")


def test_files_and_lazy_frames_are_counted_where_they_are(tmp_path):
    import polars as pl

    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"a": rng.integers(2, size=100), "b": rng.choice(list("xyz"), size=100), "w": rng.random(100)})
    frame.write_parquet(tmp_path / "rows.parquet")
    frame.write_csv(tmp_path / "rows.csv")
    expected = fit(PAIR, frame)
    for source in (frame.lazy(), tmp_path / "rows.parquet", str(tmp_path / "rows.csv")):
        found = fit(PAIR, source)
        np.testing.assert_allclose(found.model.cpd("b").values, expected.model.cpd("b").values)
        assert found.model.variables["b"] == expected.model.variables["b"]
        assert found.log_likelihood == pytest.approx(expected.log_likelihood)
        assert (found.num_rows, found.status) == (100.0, Status.COMPLETED)
    weighted = fit(PAIR, frame, weights="w")
    for source in (frame.lazy(), tmp_path / "rows.parquet"):
        found = fit(PAIR, source, weights="w")
        np.testing.assert_allclose(found.model.cpd("b").values, weighted.model.cpd("b").values)


def test_small_and_strange_networks():
    one = Discrete("one", ("only",))
    net = BayesNet(TableCPD(one, [1.0]), TableCPD(A, [[0.5, 0.5]], given=one))
    found = fit(net, {"one": ["only"] * 4, "a": [0, 0, 0, 1]})
    np.testing.assert_allclose(found.model.cpd("a").values, [[0.75, 0.25]])
    assert fit(BayesNet(), {"a": [0, 1]}).log_likelihood == 0.0
    with pytest.raises(DataError, match="there are no rows"):
        fit(BayesNet(TableCPD(A, [0.5, 0.5])), Dataset.from_codes([A], {"a": []}))


def test_one_state_is_certain_and_asked_for_like_any_other():
    one = Discrete("one", ("only",))
    found = fit(BayesNet(TableCPD(one, [1.0])), {"one": ["only"] * 4}, Bayes(BDeu(3))).posterior
    assert found.interval("one", "only") == (1.0, 1.0)
    assert (found.tail("one", "only", above=0.99), found.moments("one", "only")) == (1.0, (1.0, 0.0))
    assert found.log_marginal_likelihood == pytest.approx(0.0, abs=1e-12)
    mixed = BayesNet(TableCPD(one, [1.0]), LinearGaussian(Real("x"), covariance=1.0))
    rows = {"one": ["only"] * 3, "x": [1.0, 2.0, 4.0]}
    assert len(fit(mixed, rows, Bayes(NormalGamma(0, 1, shape=2, rate=1))).posterior.blocks) == 1


def test_tree_of_all_joint_states_agrees_with_enumeration():
    """The predictive of one row is the integral of the network over the posterior: here by a plain double sum."""
    data = random_data(9, 6)
    posterior = fit(PAIR, data, Bayes(Dirichlet(1))).posterior
    table = np.zeros((2, 3))
    for a, b in data.matrix().tolist():
        table[a, b] += 1
    for a, b in itertools.product(range(2), range(3)):
        expected = (table[a].sum() + 1) / 8 * (table[a, b] + 1) / (table[a].sum() + 3)
        assert math.exp(posterior.log_predictive({"a": a, "b": b})[0]) == pytest.approx(expected)


def test_a_real_network_with_large_means_is_fitted_stably():
    rng = np.random.default_rng(3)
    x = 1e8 + rng.normal(size=2000)
    y = 3.0 * (x - 1e8) + rng.normal(0, 0.1, size=2000)
    cpd = fit(BayesNet(*(LinearGaussian(Real(n), covariance=1.0) for n in "x")), {"x": x}).model.cpd("x")
    assert cpd.covariance[0, 0, 0] == pytest.approx(np.var(x - 1e8), rel=1e-6)
    line = fit(DAG.parse("x -> y"), {"x": x, "y": y}, MLE(min_variance=1e-12)).model.cpd("y")
    assert line.coefficients[0, 0, 0] == pytest.approx(3.0, abs=1e-2)


@pytest.mark.parametrize(
    ("prior", "complaint"),
    [
        (K2(), r"LinearGaussian\(x\) takes"),
        (NormalGamma(0, 1, shape=1, rate=1), r"TableCPD\(c\[2\]\) takes a Dirichlet"),
    ],
    ids=["of a table", "of a line"],
)
@pytest.mark.parametrize("method", [Bayes, PosteriorMode])
def test_a_prior_of_another_kind_is_refused_before_a_row_is_read(method, prior, complaint, monkeypatch):
    net = BayesNet(TableCPD(Discrete("c"), [0.5, 0.5]), LinearGaussian(Real("x"), covariance=1.0))
    monkeypatch.setattr(Statistics, "of", None)
    with pytest.raises(NotApplicable, match=complaint):
        fit(net, {"x": [0.0, 1.0, 3.0], "c": [0, 1, 0]}, method(prior))
