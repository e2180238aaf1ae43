"""Numbers printed in Koller & Friedman, chapter 17, and figures computed once from its formulas."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from sepset.api.learning import fit
from sepset.cpds.dirichletposterior import log_polya
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.priors.dirichlet import K2, BDeu, ContextStrength, Dirichlet, DirichletMixture
from sepset.cpds.priors.regression import NormalGamma
from sepset.cpds.table import TableCPD
from sepset.cpds.tree import Split, TreeCPD
from sepset.data.dataset import Dataset
from sepset.graphs.graph import DAG
from sepset.learning.estimation.estimators import MLE, Bayes, PosteriorMode
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real
from support.tolerances import printed

COIN = Discrete("coin", ("head", "tail"))
NET = BayesNet(TableCPD(COIN, [0.5, 0.5]))


def tosses(heads, tails):
    return Dataset.from_codes([COIN], {"coin": [0] * heads + [1] * tails})


def head(heads, tails, method=None):
    return float(fit(NET, tosses(heads, tails), method).model.cpd("coin").values[0])


@pytest.mark.parametrize(("heads", "tails", "value"), [(35, 65, 0.35), (3, 2, 0.6), (3, 7, 0.3), (300, 700, 0.3)])
def test_frequencies_maximize_the_likelihood(heads, tails, value):
    """Section 17.1.1."""
    assert head(heads, tails) == pytest.approx(value, abs=1e-15)


def test_likelihood_of_35_heads_in_100():
    """Section 17.1.1: 0.35 against 0.1."""
    rows = tosses(35, 65)
    at = [BayesNet(TableCPD(COIN, [p, 1 - p])).log_probability(rows).sum() for p in (0.35, 0.1)]
    assert math.exp(at[0] - at[1]) == pytest.approx(7.1777e9, rel=1e-4)
    # A sequence has one order, a count many: the probability of 35 heads in any order is larger by the number of them.
    orders = math.log(math.comb(100, 35))
    assert math.exp(at[0] + orders) == pytest.approx(0.083405, abs=printed(6))
    assert math.exp(at[1] + orders) == pytest.approx(1.162e-11, rel=5e-4)


def test_likelihood_of_five_tosses():
    """Figure 17.2."""
    rows = tosses(3, 2)
    assert math.exp(fit(NET, rows).log_likelihood) == pytest.approx(0.03456, abs=printed(5))
    fair = BayesNet(TableCPD(COIN, [0.5, 0.5])).log_probability(rows).sum()
    assert math.exp(fair) == pytest.approx(0.03125, abs=printed(5))


@pytest.mark.parametrize(
    ("alpha", "heads", "tails", "value"),
    [
        (100, 300_000, 700_000, 300_100 / 1_000_200),
        (1, 3, 7, 1 / 3),
        (10, 3, 7, 13 / 30),
        (1, 300, 700, 301 / 1002),
        (10, 300, 700, 310 / 1020),
        (100, 3, 7, 103 / 210),
    ],
)
def test_beta_predictions(alpha, heads, tails, value):
    """Section 17.3.1.3."""
    assert head(heads, tails, Bayes(Dirichlet(alpha))) == pytest.approx(value, abs=1e-14)


@pytest.mark.parametrize(
    ("strength", "heads", "tails", "value"),
    [(1, 1, 1, 0.5), (1, 2, 1, 0.625), (1, 1, 2, 0.375), (5, 2, 1, 0.5625), (5, 1, 2, 0.4375)],
)
def test_smoothing_of_two_tosses(strength, heads, tails, value):
    """Example 17.7."""
    assert head(heads, tails, Bayes(ContextStrength(strength))) == pytest.approx(value, abs=1e-15)
    assert (head(1, 1), head(2, 1), head(1, 2)) == pytest.approx((0.5, 2 / 3, 1 / 3))


def test_threshold_query():
    """Section 17.3.2: P(theta > 0.6) after HTTHH."""
    posterior = fit(NET, tosses(3, 2), Bayes(Dirichlet(1))).posterior
    assert posterior.tail("coin", "head", above=0.6) == pytest.approx(0.45568, abs=printed(5))
    assert math.exp(posterior.log_marginal_likelihood) == pytest.approx(1 / 60, rel=1e-12)
    assert posterior.mean_model().cpd("coin").values[0] == pytest.approx(4 / 7)


def test_likelihood_is_entropy_and_divergence():
    """Equation 17.9 with the sign corrected."""
    rows, p = tosses(3, 2), np.array([0.6, 0.4])
    entropy = -(p @ np.log(p))
    assert fit(NET, rows).log_likelihood == pytest.approx(-3.36505834, abs=printed(8))
    q = np.array([0.3, 0.7])
    other = BayesNet(TableCPD(COIN, q)).log_probability(rows).sum()
    assert other == pytest.approx(-4.32526830, abs=printed(8))
    assert other == pytest.approx(-5 * (entropy + p @ np.log(p / q)))
    assert 5 * (entropy - p @ np.log(p / q)) == pytest.approx(2.40485, abs=printed(5))  # as printed: no log-likelihood


def test_biased_or_fair_coin():
    """Exercise 17.7: 0.95 Beta(5000, 5000) + 0.05 Beta(1, 1), nine heads and a tail."""
    prior = DirichletMixture([0.95, 0.05], [5000, 1])
    assert head(0, 0, Bayes(prior)) == pytest.approx(0.5)
    posterior = fit(NET, tosses(9, 1), Bayes(prior)).posterior
    np.testing.assert_allclose(posterior.block("coin").weights[0], [0.67175753, 0.32824247], atol=printed(8))
    np.testing.assert_allclose(posterior.block("coin").alphas, [[5009, 5001], [10, 2]])
    assert head(9, 1, Bayes(prior)) == pytest.approx(0.60968259, abs=printed(8))
    evidence = [0.95 * math.exp(log_polya([5000, 5000], [9, 1])), 0.05 * math.exp(log_polya([1, 1], [9, 1]))]
    np.testing.assert_allclose(evidence, [0.00093024, 0.00045455], atol=printed(8))
    assert math.exp(posterior.log_marginal_likelihood) == pytest.approx(sum(evidence))


X, Y = Discrete("x"), Discrete("y")
PAIRS = {"x": [0, 0, 0, 0, 1, 1], "y": [0, 0, 0, 1, 1, 1]}
FORWARD, BACKWARD = DAG.parse("x -> y"), DAG.parse("y -> x")


def test_two_variables_by_maximum_likelihood():
    found = fit(FORWARD, PAIRS)
    np.testing.assert_allclose(found.model.cpd("x").values, [2 / 3, 1 / 3])
    np.testing.assert_allclose(found.model.cpd("y").values, [[0.75, 0.25], [0, 1]])
    assert found.log_likelihood == pytest.approx(-6.06842559, abs=printed(8))
    assert found.model.log_probability({"x": 1, "y": 0})[0] == -math.inf


def test_k2_tells_equivalent_networks_apart():
    ahead, back = (fit(dag, PAIRS, Bayes(K2())) for dag in (FORWARD, BACKWARD))
    np.testing.assert_allclose(ahead.model.cpd("x").values[1], 0.375)
    np.testing.assert_allclose(ahead.model.cpd("y").values[:, 1], [1 / 3, 3 / 4])
    assert ahead.posterior.log_marginal_likelihood == pytest.approx(-8.74830491, abs=printed(8))
    assert back.posterior.log_marginal_likelihood == pytest.approx(-8.81284343, abs=printed(8))


def test_bdeu_does_not():
    ahead, back = (fit(dag, PAIRS, Bayes(BDeu(4))) for dag in (FORWARD, BACKWARD))
    np.testing.assert_allclose(ahead.model.cpd("x").values[1], 0.4)
    cells = np.array([math.exp(ahead.model.log_probability({"x": a, "y": b})[0]) for a in (0, 1) for b in (0, 1)])
    np.testing.assert_allclose(cells, [0.4, 0.2, 0.1, 0.3])
    for found in (ahead, back):
        assert found.posterior.log_marginal_likelihood == pytest.approx(-8.52516136, abs=printed(8))


def test_linear_gaussian():
    rows = {"u": [0.0, 1, 2, 3], "x": [1.0, 3, 2, 5]}
    cpd = fit(DAG.parse("u -> x"), rows, variables=[Real("u"), Real("x")]).model.cpd("x")
    np.testing.assert_allclose(cpd.intercept, [[1.1]])
    np.testing.assert_allclose(cpd.coefficients, [[[1.1]]])
    np.testing.assert_allclose(cpd.covariance, [[[0.675]]])


def test_normal_gamma_posterior():
    """Exercise 17.11."""
    prior = Bayes(NormalGamma(0, 1, shape=2, rate=1))
    found = fit(DAG.parse("x"), {"x": [1.0, 2, 3, 4]}, prior, variables=[Real("x")]).posterior
    after = found.block("x").contexts[0]
    assert (after.mean[0], after.precision[0, 0], after.shape, after.rate) == pytest.approx((2, 5, 4, 6))
    assert math.exp(found.log_marginal_likelihood) == pytest.approx(5.24447e-5, rel=1e-6)
    assert math.exp(found.log_predictive({"x": [3.0]})[0]) == pytest.approx(0.2130712, abs=printed(7))
    expected = stats.t(8, loc=2, scale=1.3416408).pdf(3)
    assert expected == pytest.approx(0.2130712, abs=printed(7))


@pytest.mark.parametrize(
    ("alpha", "theta", "softmax", "logit"),
    [((3, 2), 2 / 3, 0.6, 0.405465), ((5, 2), 0.8, 0.714286, 0.916291), ((2, 2), 0.5, 0.5, 0.0)],
)
def test_modes_depend_on_the_parameterization(alpha, theta, softmax, logit):
    """Example 17.10."""
    assert head(0, 0, PosteriorMode(Dirichlet(alpha), parameterization="theta")) == pytest.approx(theta)
    mode = head(0, 0, PosteriorMode(Dirichlet(alpha)))
    assert mode == pytest.approx(softmax, abs=printed(6))
    assert math.log(mode / (1 - mode)) == pytest.approx(logit, abs=printed(6))


def test_a_flat_density_has_no_mode_but_that_of_logits_has():
    """Example 17.10 at Beta(1, 1)."""
    assert head(0, 0, PosteriorMode(Dirichlet(1))) == 0.5
    with pytest.raises(ValueError, match="there are no rows"):
        head(0, 0, PosteriorMode(Dirichlet(1), parameterization="theta"))


def test_mass_does_not_depend_on_it():
    """Box 17.D: the mass of theta in [0.3, 0.6]."""
    for alpha, mass in (((3, 2), 0.3915), ((5, 2), 0.222345)):
        found = fit(NET, tosses(0, 0), Bayes(Dirichlet(alpha))).posterior
        between = found.tail("coin", "head", above=0.3) - found.tail("coin", "head", above=0.6)
        assert between == pytest.approx(mass, abs=printed(6))


def test_mode_of_a_dirichlet():
    """Exercise 17.12."""
    die = Discrete("die", 3)
    rows = Dataset.from_codes([die], {"die": np.zeros(0, np.int64)})
    net = BayesNet(TableCPD(die, [0.2, 0.3, 0.5]))
    found = fit(net, rows, PosteriorMode(Dirichlet([4, 3, 2]), parameterization="theta"))
    np.testing.assert_allclose(found.model.cpd("die").values, [1 / 2, 1 / 3, 1 / 6])


def test_pairs_are_not_independent():
    """Exercise 17.18 with a = (2, 1, 1)."""
    die = Discrete("die", 3)
    net = BayesNet(TableCPD(die, [0.2, 0.3, 0.5]))
    posterior = fit(net, {"die": [0]}, Bayes(Dirichlet(1))).posterior
    plug_in = posterior.mean_model().cpd("die").values
    for pair, exact, ratio in (((0, 0), 0.3, 0.8333), ((0, 1), 0.1, 1.25), ((1, 1), 0.1, 0.625), ((1, 2), 0.05, 1.25)):
        found = math.exp(posterior.log_joint_predictive({"die": list(pair)}))
        assert found == pytest.approx(exact)
        assert plug_in[pair[0]] * plug_in[pair[1]] / found == pytest.approx(ratio, abs=printed(4))


def test_a_shared_cpd_used_twice():
    """Section 17.5.3: exact 1/3, plug-in 1/4."""
    a, b = Discrete("a"), Discrete("b")
    net = BayesNet(TableCPD(a, [0.5, 0.5], block="coin"), TableCPD(b, [0.5, 0.5], block="coin"))
    rows = Dataset.from_codes([a, b], np.zeros((0, 2), np.int64))
    posterior = fit(net, rows, Bayes(Dirichlet(1))).posterior
    assert math.exp(posterior.log_predictive({"a": [1], "b": [1]})[0]) == pytest.approx(1 / 3)
    assert math.exp(posterior.mean_model().log_probability({"a": 1, "b": 1})[0]) == pytest.approx(1 / 4)


def test_three_stays_of_a_chain():
    """Exercise 17.16: a stay-probability with posterior Beta(4, 2)."""
    step = [Discrete(f"s{i}", ("stay", "move")) for i in range(3)]
    net = BayesNet(*(TableCPD(s, [0.5, 0.5], block="step") for s in step))
    rows = Dataset.from_codes(step, np.zeros((0, 3), np.int64))
    posterior = fit(net, rows, Bayes(Dirichlet([4, 2]))).posterior
    stays = {s.name: "stay" for s in step}
    assert math.exp(posterior.log_predictive(stays)[0]) == pytest.approx(0.3571429, abs=printed(7))
    assert math.exp(posterior.mean_model().log_probability(stays)[0]) == pytest.approx(0.2962963, abs=printed(7))


@pytest.mark.parametrize(
    ("n", "apart", "together"), [(45, 0.0100, 0.0100), (10, 0.045, 0.0275), (200, 0.00225, 0.006125)]
)
def test_when_sharing_pays(n, apart, together):
    """Section 17.5.1: mean squared errors of two frequencies, 0.6 and 0.7, estimated apart and together, exactly."""
    p = (0.6, 0.7)
    counts = np.arange(n + 1)
    weights = [stats.binom.pmf(counts, n, q) for q in p]
    separate = sum(float(w @ (counts / n - q) ** 2) for w, q in zip(weights, p, strict=True))
    assert separate == pytest.approx(apart, abs=printed(6))
    total = np.arange(2 * n + 1)
    both = np.convolve(*weights)
    a, b = Discrete("a"), Discrete("b")
    net = BayesNet(TableCPD(a, [0.5, 0.5], block="coin"), TableCPD(b, [0.5, 0.5], block="coin"))
    k, m = n // 2, n // 3
    codes = {"a": [1] * k + [0] * (n - k), "b": [1] * m + [0] * (n - m)}
    assert fit(net, Dataset.from_codes([a, b], codes)).model.cpd("b").values[1] == pytest.approx((k + m) / (2 * n))
    pooled = sum(float(both @ (total / (2 * n) - q) ** 2) for q in p)
    assert pooled == pytest.approx(together, abs=printed(6))


@pytest.mark.parametrize(
    ("strength", "curve"),
    [
        (1, (0.5, 0.22727, 0.21429, 0.20588, 0.20297)),
        (10, (0.5, 0.35, 0.3, 0.25, 0.22727)),
        (20, (0.5, 0.4, 0.35, 0.28571, 0.25)),
        (100, (0.5, 0.47273, 0.45, 0.4, 0.35)),
    ],
)
def test_stronger_priors_fade_later(strength, curve):
    """Figure 17.5b: true frequency 0.2."""
    for m, value in zip((0, 10, 20, 50, 100), curve, strict=True):
        heads = m // 5
        assert head(heads, m - heads, Bayes(ContextStrength(strength))) == pytest.approx(value, abs=printed(5))


@pytest.mark.parametrize(
    ("mean", "at_10", "at_100"), [(0.1, 0.15, 0.19091), (0.5, 0.35, 0.22727), (0.9, 0.55, 0.26364), (0.2, 0.2, 0.2)]
)
def test_distant_priors_fade_later(mean, at_10, at_100):
    """Figure 17.5a: strength 10."""
    prior = Bayes(ContextStrength(10, (mean, 1 - mean)))
    assert head(2, 8, prior) == pytest.approx(at_10, abs=printed(5))
    assert head(20, 80, prior) == pytest.approx(at_100, abs=printed(5))


def job_tree():
    a, s, letter, j = (Discrete(n) for n in ("apply", "sat", "letter", "job"))
    below = Split(s, {0: Split(letter, {0: [0.9, 0.1], 1: [0.4, 0.6]}), 1: [0.1, 0.9]})
    return TreeCPD(j, Split(a, {0: [0.8, 0.2], 1: below}), given=(a, s, letter))


def test_parts_of_the_job_tree():
    """Example 17.16: eight contexts in parts of 4, 1, 1 and 2; exercise 17.13: the first gets alpha / 4 a value."""
    cpd = job_tree()
    assert sorted(cpd.partition.size(leaf) for leaf in range(4)) == [1, 1, 2, 4]
    assert cpd.parameters.sizes.tolist() == [4, 4, 1, 1, 1, 1, 2, 2]
    pseudo = BDeu(8).hyperparameters([cpd])
    assert pseudo.tolist() == [2, 2, 0.5, 0.5, 0.5, 0.5, 1, 1]


def test_the_alarm_network_has_509_parameters():
    """Box 17.C prints 504; the public file has 509 free parameters, of which five entries are zero."""
    from support.networks import network

    net = network("alarm")
    assert (len(net), net.dag.num_edges) == (37, 46)
    assert sum(math.prod(v.num_states for v in cpd.scope) for cpd in net.cpds) == 752
    assert sum(math.prod(v.num_states for v in cpd.parents) for cpd in net.cpds) == 243
    assert net.num_parameters == 509
    zeros = {cpd.child.name: int((cpd.to_table().values == 0).sum()) for cpd in net.cpds}
    assert {name: count for name, count in zeros.items() if count} == {"PVSAT": 5}


def test_pooled_counts_of_a_tree_by_enumeration():
    """Equation 17.21: leaf estimates are ratios of counts pooled over the leaf's contexts."""
    cpd = job_tree()
    rng = np.random.default_rng(0)
    rows = rng.integers(2, size=(200, 4))
    leaves = {(0, s, letter): 0 for s, letter in itertools.product((0, 1), repeat=2)}
    leaves |= {(1, 0, 0): 1, (1, 0, 1): 2, (1, 1, 0): 3, (1, 1, 1): 3}
    counts = np.zeros((4, 2))
    for a, s, letter, j in rows.tolist():
        counts[leaves[a, s, letter], j] += 1
    net = BayesNet(*(TableCPD(p, [0.5, 0.5]) for p in cpd.parents), cpd)
    found = fit(net, Dataset.from_codes(cpd.scope, rows)).model.cpd("job")
    np.testing.assert_allclose(found.distributions, counts / counts.sum(axis=1, keepdims=True))


def test_linear_gaussian_shared_by_two_variables():
    """Exercise 17.14: the fit of stacked rows."""
    rng = np.random.default_rng(1)
    u, x, y = Real("u"), Real("x"), Real("y")
    columns = {"u": rng.normal(size=30), "x": rng.normal(size=30), "y": rng.normal(size=30)}
    shape = {"coefficients": 0.0, "covariance": 1.0, "given": u, "block": "line"}
    net = BayesNet(LinearGaussian(u, covariance=1.0), LinearGaussian(x, **shape), LinearGaussian(y, **shape))
    found = fit(net, columns).model
    design = np.column_stack([np.ones(60), np.tile(columns["u"], 2)])
    target = np.concatenate([columns["x"], columns["y"]])
    solution, residue, *_ = np.linalg.lstsq(design, target, rcond=None)
    for name in ("x", "y"):
        cpd = found.cpd(name)
        np.testing.assert_allclose([cpd.intercept[0, 0], cpd.coefficients[0, 0, 0]], solution)
        np.testing.assert_allclose(cpd.covariance[0, 0, 0], residue[0] / 60)


def test_empty_data_need_a_prior():
    with pytest.raises(ValueError, match="there are no rows"):
        head(0, 0, MLE())
