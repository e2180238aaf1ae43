"""The posterior of a whole network."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import integrate, stats

from sepset.api.learning import fit
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.noisy import NoisyOr
from sepset.cpds.priors.dirichlet import K2, BDeu, Dirichlet, DirichletMixture
from sepset.cpds.priors.regression import NormalGamma, NormalInverseWishart
from sepset.cpds.table import TableCPD
from sepset.cpds.tree import Split, TreeCPD
from sepset.data.dataset import Dataset
from sepset.errors import ArgumentError, DataError, NotApplicable, ScopeError
from sepset.graphs.graph import DAG
from sepset.learning.estimation.estimators import Bayes, PosteriorMode
from sepset.learning.estimation.networkpriors import ImaginaryData
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real, Vector
from support.tolerances import STANDARD_ERRORS

A, B, X = Discrete("a"), Discrete("b", 3), Real("x")
NET = BayesNet(
    TableCPD(A, [0.5, 0.5]),
    TreeCPD(B, Split(A, {0: [0.2, 0.3, 0.5], 1: [0.1, 0.1, 0.8]})),
    LinearGaussian(X, [0.0, 0.0], covariance=[1.0, 1.0], by=A),
)
PRIOR = [BDeu(3), NormalGamma(0.0, 0.5, shape=2.0, rate=1.0)]


def draw(num, seed=0):
    return NET.sample(num, seed)


def test_any_chunks_in_any_order_are_the_whole():
    data = draw(30)
    whole = fit(NET, data, Bayes(PRIOR)).posterior
    parts = fit(NET, data[20:], Bayes(PRIOR)).posterior.update(data[:7]).update(data[7:20])
    assert parts.num_rows == whole.num_rows == 30
    assert parts.log_marginal_likelihood == pytest.approx(whole.log_marginal_likelihood)
    for mine, other in zip(parts.mean_model().cpds, whole.mean_model().cpds, strict=True):
        np.testing.assert_allclose(mine.log_probability(columns(data)), other.log_probability(columns(data)))


def test_rows_can_be_taken_away():
    data = draw(30)
    first = fit(NET, data[:18], Bayes(PRIOR)).posterior
    back = first.update(data[18:]).downdate(data[18:])
    assert back.num_rows == 18
    assert back.log_marginal_likelihood == pytest.approx(first.log_marginal_likelihood)
    with pytest.raises(DataError, match=r"more rows are removed|cannot be taken"):
        fit(NET, data[:2], Bayes(PRIOR)).posterior.downdate(data[2:])


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_all_parameters_in_a_frame(kind):
    posterior = fit(NET, draw(25), Bayes(PRIOR)).posterior
    frame = posterior.to_frame(kind, level=0.8)
    assert len(frame) == 2 + 6 + 4
    rows = [
        dict(zip(frame.columns, row, strict=True))
        for row in (frame.values.tolist() if kind == "pandas" else frame.rows())
    ]
    one = next(r for r in rows if (r["variable"], r["given"], r["parameter"]) == ("b", "a=1", "2"))
    assert (one["low"], one["high"]) == posterior.interval("b", 2, given={"a": 1}, level=0.8)
    assert (one["mean"], one["sd"]) == posterior.moments("b", 2, given={"a": 1})
    assert sum(r["mean"] for r in rows if r["variable"] == "b") == pytest.approx(2.0)


def columns(data):
    return {v: data.column(v) for v in NET.variables}


def test_the_evidence_is_a_chain_of_predictions():
    data = draw(8, 1)
    posterior = fit(NET, data[:0], Bayes(PRIOR)).posterior
    total = 0.0
    for row in range(8):
        one = data[row : row + 1]
        total += posterior.log_predictive(one)[0]
        assert posterior.log_joint_predictive(one) == pytest.approx(posterior.log_predictive(one)[0])
        posterior = posterior.update(one)
    assert posterior.log_marginal_likelihood == pytest.approx(total)
    fresh = fit(NET, data[:3], Bayes(PRIOR)).posterior
    gain = posterior.log_marginal_likelihood - fresh.log_marginal_likelihood
    assert fresh.log_joint_predictive(data[3:]) == pytest.approx(gain)


def test_joint_predictions_are_exchangeable_and_sum_to_one():
    net = BayesNet(TableCPD(A, [0.5, 0.5]))
    for prior in (K2(), DirichletMixture([0.5, 0.5], [0.3, 7])):
        posterior = fit(net, {"a": [0, 1, 1]}, Bayes(prior)).posterior
        pairs = {
            p: math.exp(posterior.log_joint_predictive({"a": list(p)})) for p in itertools.product((0, 1), repeat=3)
        }
        assert sum(pairs.values()) == pytest.approx(1.0)
        assert pairs[0, 1, 1] == pytest.approx(pairs[1, 1, 0])


def test_the_plug_in_error_vanishes():
    """Exercise 17.18: the ratio of plug-in to exact goes to one."""
    net, ratios = BayesNet(TableCPD(A, [0.5, 0.5])), []
    for num in (2, 20, 2000):
        posterior = fit(net, {"a": [0, 1] * num}, Bayes(K2())).posterior
        plug_in = posterior.mean_model().log_probability({"a": [0, 0]}).sum()
        ratios.append(math.exp(plug_in - posterior.log_joint_predictive({"a": [0, 0]})))
        a = 2 * num + 2
        assert ratios[-1] == pytest.approx((1 + 1 / a) * (a / 2) / (a / 2 + 1))
    assert abs(ratios[2] - 1) < abs(ratios[1] - 1) < abs(ratios[0] - 1)


def test_parameters_by_name():
    posterior = fit(NET, draw(40), Bayes(PRIOR)).posterior
    low, high = posterior.interval("b", 2, given={"a": 1}, level=0.9)
    mean, _ = posterior.moments("b", 2, given={"a": 1})
    assert low < mean < high
    assert posterior.tail("b", 2, above=low, given={"a": 1}) == pytest.approx(0.95)
    assert mean == pytest.approx(posterior.mean_model().cpd("b").to_table()[1][2])
    assert posterior.moments("x", "intercept", given={"a": 0})[0] == pytest.approx(
        posterior.mean_model().cpd("x").intercept[0, 0]
    )
    with pytest.raises(ScopeError, match=r"No parameters are named 'bb'"):
        posterior.block("bb")
    with pytest.raises(ArgumentError, match="between 0 and 1"):
        posterior.interval("b", 2, given={"a": 1}, level=95)
    assert posterior.block(A) is posterior.block("a")


def test_tied_parameters_are_read_with_each_childs_own_names():
    p, q = Discrete("p", ("no", "yes")), Discrete("q", ("no", "yes"))
    net = BayesNet(
        *(TableCPD(v, [0.5, 0.5], block=v.name) for v in (p, q)),
        TableCPD(Discrete("r"), [[0.5, 0.5]] * 2, given=p, block="shared"),
        TableCPD(Discrete("s"), [[0.5, 0.5]] * 2, given=q, block="shared"),
    )
    rows = {"p": ["no", "yes"], "q": ["yes", "yes"], "r": [0, 1], "s": [1, 1]}
    posterior = fit(net, rows, Bayes(K2())).posterior
    assert posterior.moments("s", 1, given={"q": "yes"})[0] == pytest.approx(4 / 5)
    assert posterior.tail("r", 1, above=0.5, given={"p": "yes"}) == posterior.tail(
        "s", 1, above=0.5, given={"q": "yes"}
    )


def test_drawn_networks_average_to_the_mean():
    posterior = fit(NET, draw(20), Bayes(PRIOR)).posterior
    drawn = np.array([posterior.sample_model(seed).cpd("b").distributions for seed in range(600)])
    for a, b in itertools.product(range(2), range(3)):
        mean, deviation = posterior.moments("b", b, given={"a": a})
        assert abs(drawn[:, a, b].mean() - mean) <= STANDARD_ERRORS * deviation / math.sqrt(600)
    same = [posterior.sample_model(4).cpd("x").intercept.tolist() for _ in range(2)]
    assert same[0] == same[1]


def test_what_has_no_posterior_is_refused():
    net = BayesNet(TableCPD(A, [0.5, 0.5]), NoisyOr(Discrete("c"), {A: 0.5}))
    with pytest.raises(NotApplicable, match="no conjugate prior"):
        fit(net, {"a": [0, 1], "c": [0, 1]}, Bayes(Dirichlet(1)))
    with pytest.raises(DataError, match=r"Posterior\.update needs complete data"):
        fit(NET, draw(3), Bayes(PRIOR)).posterior.update({"a": [None], "b": [0], "x": [1.0]})


def test_improper_priors_have_no_evidence():
    found = fit(DAG.parse("a"), {"a": [0, 1]}, Bayes(ImaginaryData({"a": [0, 0]})))
    assert "improper" in found.posterior.shown_evidence
    np.testing.assert_allclose(found.model.cpd("a").values, [0.75, 0.25])


def test_weights_update_too():
    empty = Dataset.from_codes([A], {"a": []})
    posterior = fit(BayesNet(TableCPD(A, [0.5, 0.5])), empty, Bayes(K2())).posterior
    after = posterior.update({"a": [0, 1]}, weights=[2.5, 0.5])
    np.testing.assert_allclose(after.block("a").alphas, [[3.5, 1.5]])
    assert repr(after) == "Posterior(1 block, 3 rows)"
    assert "Dirichlet" in after._repr_html_()


def density_of_logit(alpha, eta):
    """Box 17.D: the prior of the logit of a Bernoulli parameter has the same constant and exponents without the -1."""
    constant = math.gamma(sum(alpha)) / (math.gamma(alpha[0]) * math.gamma(alpha[1]))
    return constant / (1 + np.exp(-eta)) ** alpha[0] / (1 + np.exp(eta)) ** alpha[1]


@pytest.mark.parametrize("alpha", [(3, 2), (5, 2), (1, 1), (0.5, 0.7)])
def test_densities_of_a_coin_in_both_parameterizations(alpha):
    """Box 17.D: both integrate to one, intervals keep their mass, and only the mode moves."""
    coin = Discrete("coin", ("head", "tail"))
    net = BayesNet(TableCPD(coin, [0.5, 0.5]))
    posterior = fit(net, Dataset.from_codes([coin], {"coin": []}), Bayes(Dirichlet(alpha))).posterior

    def density(theta, parameterization):
        return math.exp(posterior.log_density(BayesNet(TableCPD(coin, [theta, 1 - theta])), parameterization))

    eta = np.linspace(-6, 6, 7)
    for e in eta:
        theta = 1 / (1 + math.exp(-e))
        assert density(theta, "softmax") == pytest.approx(density_of_logit(alpha, e), rel=1e-9)
        assert density(theta, "theta") == pytest.approx(stats.beta(*alpha).pdf(theta), rel=1e-9)
    # Box 17.D: predictions do not depend on the parameterization, where the prior is transformed with it.
    wide = 60 / min(alpha)
    total = integrate.quad(lambda e: density(1 / (1 + math.exp(-e)), "softmax"), -wide, wide, points=[0])[0]
    mean = integrate.quad(lambda e: density(s := 1 / (1 + math.exp(-e)), "softmax") * s, -wide, wide, points=[0])[0]
    assert (total, mean) == pytest.approx((1.0, alpha[0] / sum(alpha)), rel=1e-7)
    ends = [math.log(0.3 / 0.7), math.log(0.6 / 0.4)]
    mass = integrate.quad(lambda e: density(1 / (1 + math.exp(-e)), "softmax"), *ends)[0]
    assert mass == pytest.approx(stats.beta(*alpha).cdf(0.6) - stats.beta(*alpha).cdf(0.3), rel=1e-8)


@pytest.mark.parametrize("parameterization", ["softmax", "theta"])
def test_no_parameters_are_denser_than_the_mode(parameterization):
    rng = np.random.default_rng(3)
    k, x, y = Discrete("k", 3), Real("x"), Real("y")
    net = BayesNet(
        TableCPD(k, [0.2, 0.3, 0.5]),
        LinearGaussian(x, covariance=np.ones(3), by=k),
        LinearGaussian(y, coefficients=0.0, covariance=1.0, given=x),
    )
    rows = {"k": rng.integers(3, size=20), "x": rng.normal(size=20), "y": rng.normal(size=20)}
    prior = [Dirichlet(2), NormalGamma(0, 1, shape=2, rate=1)]
    posterior = fit(net, rows, Bayes(prior)).posterior
    mode = fit(net, rows, PosteriorMode(prior, parameterization=parameterization)).model
    best = posterior.log_density(mode, parameterization)
    for seed in range(30):
        assert posterior.log_density(posterior.sample_model(seed), parameterization) < best
    other = "theta" if parameterization == "softmax" else "softmax"
    assert posterior.log_density(mode, other) < posterior.log_density(
        fit(net, rows, PosteriorMode(prior, parameterization=other)).model, other
    )
    with pytest.raises(ArgumentError, match="'softmax' or 'theta'"):
        posterior.log_density(mode, "logit")


def test_densities_of_lines_are_scipys():
    y = Real("y")
    net = BayesNet(LinearGaussian(y, covariance=1.0))
    posterior = fit(net, {"y": [1.0, 2, 3, 4]}, Bayes(NormalGamma(0, 1, shape=2, rate=1))).posterior
    for mean, variance in ((2.0, 1.5), (0.3, 0.7)):
        log = stats.norm(2, math.sqrt(variance / 5)).logpdf(mean) + stats.invgamma(4, scale=6).logpdf(variance)
        model = BayesNet(LinearGaussian(y, mean, covariance=variance))
        assert posterior.log_density(model, "theta") == pytest.approx(log)
        assert posterior.log_density(model, "softmax") == pytest.approx(log + math.log(variance))
    p = Vector("p", 2)
    vectors = BayesNet(LinearGaussian(p, covariance=np.eye(2)))
    scale, spread = np.array([[2.0, 0.5], [0.5, 1.0]]), np.array([[1.5, -0.2], [-0.2, 0.8]])
    none = fit(
        vectors, {"p": np.zeros((0, 2))}, Bayes(NormalInverseWishart([1, 0], 2, degrees=5, scale=scale))
    ).posterior
    log = stats.multivariate_normal([1, 0], spread / 2).logpdf([0.4, 0.9]) + stats.invwishart(5, scale).logpdf(spread)
    model = BayesNet(LinearGaussian(p, [0.4, 0.9], covariance=spread))
    assert none.log_density(model, "theta") == pytest.approx(log)
    assert none.log_density(model) == pytest.approx(log + 1.5 * math.log(np.linalg.det(spread)))


def test_one_row_is_exact_and_a_condition_is_a_ratio_of_rows():
    """Equations 17.12 and 17.13 by quadrature, on y -> x: the mean network gives P(x, y), and so P(y | x) as a ratio.

    The expectation of P(y | x, theta) is another number, since a ratio of means is no mean of ratios.
    """
    y, x = Discrete("y"), Discrete("x")
    net = BayesNet(TableCPD(y, [0.5, 0.5]), TableCPD(x, [[0.5, 0.5]] * 2, given=y))
    rows = {"y": [0, 0, 1, 1, 1], "x": [0, 1, 1, 1, 0]}
    posterior = fit(net, rows, Bayes(Dirichlet(1))).posterior
    mean = posterior.mean_model()
    points, weights = np.polynomial.legendre.leggauss(40)
    grid, weights = 0.5 * (points + 1), 0.5 * weights
    a, b0, b1 = np.meshgrid(grid, grid, grid, indexing="ij")  # P(y=1), P(x=1 | y=0), P(x=1 | y=1)
    prior = weights[:, None, None] * weights[None, :, None] * weights[None, None, :]
    joint = prior * (1 - a) ** 2 * a**3 * (1 - b0) * b0 * b1**2 * (1 - b1)
    joint /= joint.sum()
    cells = {(0, 0): (1 - a) * (1 - b0), (0, 1): (1 - a) * b0, (1, 0): a * (1 - b1), (1, 1): a * b1}
    for (cy, cx), cell in cells.items():
        exact = float((joint * cell).sum())
        assert math.exp(posterior.log_predictive({"y": cy, "x": cx})[0]) == pytest.approx(exact, rel=1e-12)
        assert math.exp(mean.log_probability({"y": cy, "x": cx})[0]) == pytest.approx(exact, rel=1e-12)
    import sepset as ss

    ratio = float((joint * cells[1, 1]).sum() / (joint * (cells[0, 1] + cells[1, 1])).sum())
    assert ss.query(mean, "y", given={"x": 1})[1] == pytest.approx(ratio, rel=1e-12)
    expectation = float((joint * cells[1, 1] / (cells[0, 1] + cells[1, 1])).sum())
    assert abs(expectation - ratio) > 1e-3


def test_the_mean_network_says_whether_it_is_exact():
    a, b, x = Discrete("a"), Discrete("b"), Real("x")
    apart = BayesNet(TableCPD(a, [0.5, 0.5]), TableCPD(b, [[0.5, 0.5]] * 2, given=a))
    tied = BayesNet(TableCPD(a, [0.5, 0.5], block="coin"), TableCPD(b, [0.5, 0.5], block="coin"))
    line = BayesNet(LinearGaussian(x, covariance=1.0))
    rows = {"a": [0, 1, 1], "b": [1, 1, 0], "x": [0.5, 1.0, 3.0]}
    for net, prior, is_exact in (
        (apart, K2(), True),
        (tied, K2(), False),
        (line, NormalGamma(0, 1, shape=2, rate=1), False),
    ):
        found = fit(net, rows, Bayes(prior))
        assert found.posterior.is_mean_exact is is_exact
        assert ("approximate" in found._repr_html_()) is not is_exact
        gap = found.posterior.log_predictive(rows) - found.model.log_probability(rows)
        assert bool(np.abs(gap).max() < 1e-12) is is_exact


@pytest.mark.parametrize("seed", [-1, "x", 1.5])
def test_bad_seeds_are_named(seed):
    found = fit(DAG.parse("coin"), {"coin": list("HTTHH")}, Bayes(Dirichlet(1))).posterior
    with pytest.raises(ArgumentError, match="seed= is a whole number of at least 0"):
        found.sample_model(seed)
