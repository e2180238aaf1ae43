"""Estimates of one block against enumeration on a grid and against scipy's optimizers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize

from sepset.cpds.deterministic import DeterministicCPD
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.noisy import NoisyMax, NoisyOr
from sepset.cpds.priors.dirichlet import K2, BDeu, ContextStrength, Dirichlet, DirichletMixture
from sepset.cpds.priors.regression import LinearNormalGamma, NormalGamma, NormalInverseWishart
from sepset.cpds.priors.weights import LaplaceWeights, NormalWeights
from sepset.cpds.rules import RuleCPD
from sepset.cpds.table import TableCPD
from sepset.errors import ArgumentError, DataError, ModelError, NotApplicable
from sepset.learning.estimation.maximization import maximize_block, prior_for
from sepset.learning.estimation.networkpriors import ImaginaryData
from sepset.variables.variable import Discrete, Real, Vector
from support import random_models
from support.cpd_contract import random_rows

A, B, X, Y = Discrete("a"), Discrete("b", 3), Discrete("x", 3), Discrete("y")
U, V, Z = Real("u"), Real("v"), Real("z")
TABLE = TableCPD(X, np.full((2, 3), 1 / 3), given=A)
COUNTS = np.array([3.0, 1.0, 0.0, 0.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("unseen", "row"),
    [
        ("uniform", [1 / 3, 1 / 3, 1 / 3]),
        ("marginal", [0.75, 0.25, 0.0]),
        ("keep", [1 / 3, 1 / 3, 1 / 3]),
        (Dirichlet([1, 2, 1]), [0.25, 0.5, 0.25]),
        (BDeu(6), [1 / 3, 1 / 3, 1 / 3]),
    ],
)
def test_contexts_without_data(unseen, row):
    (found,) = maximize_block([TABLE], COUNTS, unseen=unseen)
    np.testing.assert_allclose(found.values, [[0.75, 0.25, 0.0], row])


def test_contexts_without_data_are_an_error_by_default():
    with pytest.raises(DataError, match=r"1 of 2 contexts never occur in the data: \(a=1\)\. Give"):
        maximize_block([TABLE], COUNTS)
    with pytest.raises(DataError, match="no data at all"):
        maximize_block([TABLE], np.zeros(6), unseen="marginal")
    with pytest.raises(ArgumentError, match=r"found 'unifrom'. Did you mean 'uniform'"):
        maximize_block([TABLE], COUNTS, unseen="unifrom")


def test_errors_name_the_first_contexts_and_where_all_are():
    big = Discrete("big", 9)
    cpd = TableCPD(X, np.full((9, 3), 1 / 3), given=big)
    counts = np.zeros(27)
    counts[12] = 1.0
    with pytest.raises(DataError) as caught:
        maximize_block([cpd], counts)
    text = str(caught.value)
    assert "8 of 9 contexts never occur in the data: (big=0), (big=1), (big=2) and 5 more." in text
    assert text.endswith("context_coverage(structure, data).unseen lists them all.")
    with pytest.raises(DataError, match="there are no rows"):
        maximize_block([cpd], np.zeros(27))


def test_policies_by_name():
    line = LinearGaussian(Real("y"), covariance=[1.0, 1.0], by=A)
    stats = line.scatters({A: np.zeros(4, np.int64), line.child: np.arange(4.0)})
    policies = {"y": "marginal", ...: "uniform"}
    np.testing.assert_allclose(maximize_block([TABLE], COUNTS, unseen=policies)[0].values[1], 1 / 3)
    assert maximize_block([line], stats, unseen=policies)[0].intercept[:, 0].tolist() == [1.5, 1.5]
    with pytest.raises(ArgumentError, match="Did you mean 'uniform'"):
        maximize_block([TABLE], COUNTS, unseen={"x": "unifrom"})


def test_a_prior_speaks_of_states_that_never_occur():
    """A penalized weight is zero and a pseudo-counted row its pseudo-counts, where there are no rows."""
    b = Discrete("b", 3)
    logistic = LogisticCPD(A, {b: [0.0, 1.0, -2.0]})
    noisy = NoisyMax(X, {b: np.full((3, 3), 1 / 3)}, leak=[0.8, 0.1, 0.1])
    rng = np.random.default_rng(0)
    rows = {b: rng.integers(2, size=30), A: rng.integers(2, size=30), X: rng.integers(3, size=30)}
    for prior in (NormalWeights(1.0), LaplaceWeights(1.0)):
        assert maximize_block([logistic], logistic.statistics(rows), prior)[0].weights[0][2].tolist() == [0.0, 0.0]
    (found,) = maximize_block([noisy], noisy.statistics(rows), Dirichlet([1.0, 2.0, 5.0]))
    np.testing.assert_allclose(found.effects[b][2], [1 / 8, 2 / 8, 5 / 8], atol=1e-5)
    with pytest.raises(DataError, match=r"b=2\. Give a prior such as NormalWeights"):
        maximize_block([logistic], logistic.statistics(rows))
    with pytest.raises(DataError, match=r"b=2\. Give a prior such as Dirichlet"):
        maximize_block([noisy], noisy.statistics(rows), Dirichlet(1.0), parameterization="theta")


def test_keep_keeps_what_is_said_of_states_that_never_occur():
    b = Discrete("b", 3)
    logistic = LogisticCPD(A, {b: [0.5, 1.0, -2.0]}, bias=0.3)
    noisy = NoisyMax(X, {b: [[1, 0, 0], [0.2, 0.3, 0.5], [0.5, 0.4, 0.1]]}, leak=[0.8, 0.1, 0.1])
    either = NoisyOr(A, {b: [0.0, 0.4, 0.7]}, leak=0.2)
    rng = np.random.default_rng(0)
    rows = {b: rng.integers(2, size=30), A: rng.integers(2, size=30), X: rng.integers(3, size=30)}
    for cpd in (logistic, noisy, either):
        (kept,) = maximize_block([cpd], cpd.statistics(rows), unseen="keep")
        (plain,) = maximize_block([cpd], cpd.statistics(rows), unseen="uniform")
        np.testing.assert_allclose(kept.to_table().values[:2], plain.to_table().values[:2], atol=1e-9)
    (kept,) = maximize_block([logistic], logistic.statistics(rows), unseen="keep")
    assert kept.weights[0][2].tolist() == [0.0, -2.5]
    (kept,) = maximize_block([noisy], noisy.statistics(rows), unseen="keep")
    np.testing.assert_allclose(kept.effects[b][2], [0.5, 0.4, 0.1])
    (kept,) = maximize_block([either], either.statistics(rows), unseen="keep")
    assert kept.effects[b][2] == pytest.approx(0.7)


def test_keep_keeps_the_numbers():
    cpd = TableCPD(X, [[0.2, 0.3, 0.5], [0.1, 0.2, 0.7]], given=A)
    np.testing.assert_allclose(maximize_block([cpd], COUNTS, unseen="keep")[0].values[1], [0.1, 0.2, 0.7])


def density(theta, alpha, counts):
    return float(((counts + alpha - 1) * np.log(theta)).sum())


@pytest.mark.parametrize("seed", range(5))
def test_modes_beat_every_point_of_a_grid(seed):
    rng = np.random.default_rng(seed)
    alpha, counts = rng.uniform(1.1, 4, 3), rng.integers(5, size=3).astype(float)
    cpd = TableCPD(X, np.full(3, 1 / 3))
    theta = maximize_block([cpd], counts, Dirichlet(alpha), parameterization="theta")[0].values
    logits = maximize_block([cpd], counts, Dirichlet(alpha))[0].values
    points = rng.dirichlet(np.ones(3), size=2000)
    best = max(density(p, alpha, counts) for p in points)
    assert density(theta, alpha, counts) >= best
    # On logits the Jacobian of the softmax multiplies the density by the product of the probabilities.
    assert density(logits, alpha + 1, counts) >= max(density(p, alpha + 1, counts) for p in points)


def test_modes_of_probabilities_need_pseudo_counts_of_one():
    with pytest.raises(NotApplicable, match=r"below one \(0.5\).*softmax"):
        maximize_block([TABLE], np.ones(6), Dirichlet(0.5), parameterization="theta")
    with pytest.raises(NotApplicable, match="several modes"):
        maximize_block([TABLE], np.ones(6), DirichletMixture([1, 1], [1, 2]))
    with pytest.raises(ArgumentError, match="'softmax' or 'theta'"):
        maximize_block([TABLE], np.ones(6), K2(), parameterization="logit")
    flat = maximize_block([TABLE], np.array([2.0, 1, 1, 0, 2, 2]), K2(), parameterization="theta")[0]
    np.testing.assert_allclose(flat.values, [[0.5, 0.25, 0.25], [0, 0.5, 0.5]])


@pytest.mark.parametrize("make", [random_models.noisy_or, random_models.noisy_max, random_models.logistic])
@pytest.mark.parametrize("seed", range(3))
def test_searches_are_not_beaten_by_scipy(make, seed):
    """No other parameters of the form do better: tried by a derivative-free search from the estimate and by chance."""
    rng = np.random.default_rng(seed)
    cpd, _ = make(rng, [A, B])
    rows = random_rows(cpd, 120, seed)
    (found,) = maximize_block([cpd], cpd.statistics(rows), unseen="uniform")
    best = found.log_probability(rows).sum()
    for other in (cpd, *(make(rng, [A, B])[0] for _ in range(20))):
        if type(other) is type(cpd) and other.scope == cpd.scope and _free(other) == _free(cpd):
            assert best >= other.log_probability(rows).sum() - 1e-6


def _free(cpd):
    return cpd.parameters.names


@pytest.mark.parametrize("parameterization", ["softmax", "theta"])
def test_noisy_or_modes_by_scipy(parameterization):
    rng = np.random.default_rng(5)
    cpd = NoisyOr(Y, {A: 0.7, Discrete("c"): 0.4}, leak=0.1)
    rows = random_rows(cpd, 80, 1)
    (found,) = maximize_block([cpd], cpd.statistics(rows), Dirichlet(2), parameterization=parameterization)
    power = 2.0 if parameterization == "softmax" else 1.0

    def loss(eta):
        p = 1 / (1 + np.exp(-eta))
        off = (1 - p[0]) * (1 - p[1] * rows[A]) * (1 - p[2] * rows[cpd.parents[1]])
        chance = np.where(rows[Y] == 1, 1 - off, off)
        return -np.log(chance).sum() - power * (np.log(p) + np.log(1 - p)).sum()

    starts = [optimize.minimize(loss, rng.normal(size=3), method="BFGS") for _ in range(5)]
    best = min(starts, key=lambda r: r.fun).x
    expected = 1 / (1 + np.exp(-best))
    np.testing.assert_allclose([found.leak, *(e[1] for e in found.effects.values())], expected, atol=1e-4)


def test_noisy_max_with_pseudo_counts_and_imaginary_rows():
    cpd = NoisyMax(X, {A: [[1, 0, 0], [0.5, 0.3, 0.2]]}, leak=[0.8, 0.1, 0.1])
    rows = random_rows(cpd, 50, 2)
    stats = cpd.statistics(rows)
    (smooth,) = maximize_block([cpd], stats, K2())
    assert (smooth.effects[A][1] > 0).all()
    names = {v.name: c for v, c in rows.items()}
    (twice,) = maximize_block([cpd], stats, ImaginaryData(names))
    (once,) = maximize_block([cpd], stats)
    np.testing.assert_allclose(twice.to_table().values, once.to_table().values, atol=1e-5)
    with pytest.raises(NotApplicable, match="pseudo-counts such as"):
        maximize_block([cpd], stats, BDeu(10))
    with pytest.raises(NotApplicable, match="no separate contexts"):
        maximize_block([cpd], stats, unseen="marginal")


@pytest.mark.parametrize("prior", [None, NormalWeights(0.7), LaplaceWeights(0.7)])
def test_logistic_modes_by_scipy(prior):
    cpd = LogisticCPD(Y, {A: 1.5, B: [0.0, 0.3, -2.0]}, bias=0.2)
    rows = random_rows(cpd, 150, 3)
    (found,) = maximize_block([cpd], cpd.statistics(rows), prior)

    def loss(w):
        logit = w[0] + w[1] * rows[A] + np.array([0, w[2], w[3]])[rows[B]]
        fit = np.logaddexp(0, logit) - rows[Y] * logit
        penalty = 0.0
        if isinstance(prior, NormalWeights):
            penalty = (w[1:] ** 2).sum() / (2 * prior.scale**2)
        if isinstance(prior, LaplaceWeights):
            penalty = np.abs(w[1:]).sum() / prior.scale
        return fit.sum() + penalty

    options = {"xatol": 1e-9, "fatol": 1e-11, "maxiter": 20_000, "maxfev": 20_000}
    best = optimize.minimize(loss, np.zeros(4), method="Nelder-Mead", options=options)
    mine = [found.bias[1], found.weights[0][1, 1], *found.weights[1][1:, 1]]
    assert loss(np.array(mine)) <= best.fun + 1e-6
    np.testing.assert_allclose(mine, best.x, atol=2e-3)


def test_laplace_priors_make_zeros():
    cpd = LogisticCPD(Y, {A: 0.0, B: [0.0, 0.0, 0.0]})
    rng = np.random.default_rng(0)
    rows = {A: rng.integers(2, size=200), B: rng.integers(3, size=200)}
    rows[Y] = (rng.random(200) < np.where(rows[A] == 1, 0.9, 0.1)).astype(int)
    (found,) = maximize_block([cpd], cpd.statistics(rows), LaplaceWeights(0.1))
    assert found.weights[0][1, 1] > 1.0
    assert found.weights[1].tolist() == np.zeros((3, 2)).tolist()


def line_rows(rng, num=40, by=None):
    rows = {U: rng.normal(size=num), V: rng.normal(1, 2, size=num)}
    if by is not None:
        rows[by] = rng.integers(by.num_states, size=num)
    rows[Z] = 0.5 + 1.5 * rows[U] - 0.3 * rows[V] + rng.normal(0, 0.7, size=num)
    return rows


LINE = LinearGaussian(Z, coefficients=[0.0, 0.0], covariance=1.0, given=(U, V))


@pytest.mark.parametrize("prior", [NormalWeights(0.4), LaplaceWeights(0.2)])
def test_shrunken_lines_by_scipy(prior):
    rows = line_rows(np.random.default_rng(1))
    (found,) = maximize_block([LINE], LINE.statistics(rows), prior)

    def loss(w):
        apart = rows[Z] - w[0] - w[1] * rows[U] - w[2] * rows[V]
        size = np.abs(w[1:3]).sum() / prior.scale
        penalty = (w[1:3] ** 2).sum() / (2 * prior.scale**2) if isinstance(prior, NormalWeights) else size
        return 0.5 * (apart**2).sum() * math.exp(-w[3]) + 0.5 * len(apart) * w[3] + penalty

    options = {"xatol": 1e-10, "fatol": 1e-12, "maxiter": 40_000, "maxfev": 40_000}
    best = optimize.minimize(loss, [0.0, 0.5, 0.0, 0.0], method="Nelder-Mead", options=options)
    mine = [found.intercept[0, 0], *found.coefficients[0, 0], math.log(found.covariance[0, 0, 0])]
    assert loss(np.array(mine)) <= best.fun + 1e-8
    np.testing.assert_allclose(mine, best.x, atol=1e-4)


@pytest.mark.parametrize(("parameterization", "power"), [("softmax", 0.0), ("theta", 1.0)])
def test_modes_of_lines_by_scipy(parameterization, power):
    rows = line_rows(np.random.default_rng(2), num=12)
    prior = LinearNormalGamma([0.0, 1.0, 0.0], [0.5, 2.0, 1.0], shape=2.0, rate=1.5)
    (found,) = maximize_block([LINE], LINE.statistics(rows), prior, parameterization=parameterization)

    def loss(w):
        """Minus the log density of (coefficients, log variance), or of (coefficients, variance)."""
        tau = math.exp(-w[3])
        apart = rows[Z] - w[0] - w[1] * rows[U] - w[2] * rows[V]
        away = w[:3] - prior.mean
        fit = 0.5 * tau * (apart**2).sum() - 0.5 * len(apart) * math.log(tau)
        line = 0.5 * tau * away @ prior.precision @ away - 1.5 * math.log(tau)
        noise = prior.rate * tau - prior.shape * math.log(tau)  # a gamma of tau, as a density of log tau
        return fit + line + noise - power * math.log(tau)

    best = optimize.minimize(loss, np.zeros(4), method="BFGS", options={"gtol": 1e-10})
    mine = [found.intercept[0, 0], *found.coefficients[0, 0], math.log(found.covariance[0, 0, 0])]
    np.testing.assert_allclose(mine, best.x, atol=1e-5)


def test_modes_of_covariances():
    p = Vector("p", 2)
    cpd = LinearGaussian(p, covariance=np.eye(2))
    rows = {p: np.random.default_rng(0).normal(size=(9, 2))}
    prior = NormalInverseWishart([0.0, 0.0], 1.0, degrees=5.0, scale=np.eye(2))
    after = prior.update(rows[p])
    for parameterization, total in (("softmax", after.degrees + 1), ("theta", after.degrees + 4)):
        (found,) = maximize_block([cpd], cpd.statistics(rows), prior, parameterization=parameterization)
        np.testing.assert_allclose(found.covariance[0], after.scale / total)
        np.testing.assert_allclose(found.intercept[0], after.mean)


def test_lines_without_data():
    cpd = LinearGaussian(Z, [5.0, 6.0], covariance=[1.0, 2.0], by=A)
    stats = cpd.statistics({A: np.zeros(4, int), Z: np.array([1.0, 2.0, 3.0, 4.0])})
    with pytest.raises(DataError, match=r"1 of 2 contexts never occur .*a=1"):
        maximize_block([cpd], stats)
    with pytest.raises(NotApplicable, match="no regression is uniform"):
        maximize_block([cpd], stats, unseen="uniform")
    assert maximize_block([cpd], stats, unseen="keep")[0].intercept[:, 0].tolist() == [2.5, 6.0]
    assert maximize_block([cpd], stats, unseen="marginal")[0].intercept[:, 0].tolist() == [2.5, 2.5]
    both = cpd.statistics({A: np.array([0, 0, 1, 1]), Z: np.array([1.0, 2.0, 3.0, 4.0])})
    for policy in ("uniform", Dirichlet(1.0)):  # about tables of the same network: nothing to fill here
        assert maximize_block([cpd], both, unseen=policy)[0].intercept[:, 0].tolist() == [1.5, 3.5]
    filled = maximize_block([cpd], stats, unseen=NormalGamma(9.0, 1.0, shape=2.0, rate=1.0))[0]
    assert filled.intercept[:, 0].tolist() == [2.5, 9.0]
    assert filled.covariance[1, 0, 0] == pytest.approx(1.0 / 2.5)


def test_rules_whose_contexts_overlap_are_searched():
    rules = [({X: 0}, 0.5), ({A: 0, X: 1}, 0.5), ({A: 0, X: 2}, 0.0), ({A: 1, X: {1, 2}}, 0.25)]
    cpd = RuleCPD(X, rules)
    rows = {A: np.array([0, 0, 1, 1, 1]), X: np.array([0, 1, 0, 1, 2])}
    (found,) = maximize_block([cpd], cpd.statistics(rows), unseen="uniform")
    np.testing.assert_allclose(found.probability, [0.4, 0.6, 0.0, 0.3], atol=1e-6)


def test_functions_have_nothing_to_learn():
    cpd = DeterministicCPD(Y, lambda a: a, given=A)
    assert maximize_block([cpd], np.zeros(2), K2())[0] is cpd


def test_the_prior_of_a_block():
    other = TableCPD(Y, [0.5, 0.5], block="coin")
    by_name = {"coin": K2(), "x": BDeu(1), ...: Dirichlet(2)}
    assert isinstance(prior_for(by_name, [other]), K2)
    assert isinstance(prior_for(by_name, [TABLE]), BDeu)
    assert isinstance(prior_for(by_name, [LINE]), Dirichlet)
    with pytest.raises(ModelError, match="no prior for"):
        prior_for({"x": K2()}, [other])
    several = [NormalGamma(0, 1, shape=2, rate=1), BDeu(10)]
    assert isinstance(prior_for(several, [LINE]), NormalGamma)
    assert isinstance(prior_for(several, [TABLE]), BDeu)
    assert prior_for(several, [DeterministicCPD(Y, lambda a: a, given=A)]) in (None, several[1])
    with pytest.raises(NotApplicable, match="is a prior for"):
        prior_for([NormalGamma(0, 1, shape=2, rate=1)], [TABLE])


@pytest.mark.parametrize("unseen", [None, 3, 1.0, BDeu, "unifrom"])
def test_policies_are_names_or_priors(unseen):
    with pytest.raises(ArgumentError, match="unseen= is 'raise', 'uniform', 'marginal', 'keep' or a prior"):
        maximize_block([TABLE], COUNTS, unseen=unseen)


def test_silent_contexts_of_every_kind_are_filled_by_their_prior():
    line = LinearGaussian(Z, covariance=np.ones(2), by=A)
    stats = line.scatters({A: np.array([0, 0]), Z: np.array([1.0, 3.0])})
    several = [Dirichlet([1, 2, 1]), NormalGamma(7.0, 1.0, shape=2.0, rate=3.0)]
    (found,) = maximize_block([line], stats, unseen=several)
    np.testing.assert_allclose(found.intercept[:, 0], [2.0, 7.0])
    np.testing.assert_allclose(found.covariance[:, 0, 0], [1.0, 3.0 / 2.5])
    (table,) = maximize_block([TABLE], COUNTS, unseen=several)
    np.testing.assert_allclose(table.values[1], [0.25, 0.5, 0.25])


def test_each_kind_finds_its_prior_in_any_order():
    """A sequence serves a network of every kind: pseudo-counts are not about weights, nor weights about counts."""
    logistic, noisy = LogisticCPD(Y, {A: [0.0, 1.0]}), NoisyOr(Y, {A: 0.5})
    for several in (
        [Dirichlet(1), NormalWeights(2), NormalGamma(0, 1, shape=2, rate=1)],
        [LaplaceWeights(1), NormalGamma(0, 1, shape=2, rate=1), K2()],
    ):
        assert isinstance(prior_for(several, [logistic]), NormalWeights | LaplaceWeights)
        assert isinstance(prior_for(several, [noisy]), Dirichlet | K2)
        assert isinstance(prior_for(several, [TABLE]), Dirichlet | K2)
        assert isinstance(prior_for(several, [LINE]), NormalWeights | LaplaceWeights)
    assert isinstance(
        prior_for([K2(), ImaginaryData({"a": [0], "y": [1]}), NormalWeights(1)], [logistic]), ImaginaryData
    )


def test_strengths_of_contexts():
    (found,) = maximize_block([TABLE], COUNTS, ContextStrength(4, (0.25, 0.25, 0.5)))
    np.testing.assert_allclose(found.values, [[0.5, 0.25, 0.25], [0.25, 0.25, 0.5]])


@pytest.mark.parametrize("seed", range(3))
def test_the_marginal_of_rules_in_any_order(seed):
    a = Discrete("a", 3)
    rules = [({a: s, X: x}, 1 / 3) for s in range(3) for x in range(3)]
    order = np.random.default_rng(seed).permutation(9)
    cpd = RuleCPD(X, [rules[i] for i in order], given=a)
    stats = cpd.statistics({a: np.array([0] * 4 + [1] * 4), X: np.array([0, 0, 0, 1, 1, 1, 1, 2])})
    (found,) = maximize_block([cpd], stats, unseen="marginal")
    expected = [[0.75, 0.25, 0.0], [0.0, 0.75, 0.25], [0.375, 0.5, 0.125]]
    np.testing.assert_allclose(found.to_table().values, expected)
