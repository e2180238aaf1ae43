"""What is claimed of estimates with priors: mixtures of prior and data, closed forms, projections, and their limits."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

import sepset as ss
from sepset.api.learning import fit
from sepset.learning.estimation.estimators import MLE, Bayes, PosteriorMode

positive = st.floats(0.05, 20.0)


def die(num_states):
    return ss.BayesNet(ss.TableCPD(ss.Discrete("die", num_states), np.full(num_states, 1 / num_states)))


def rows_of(counts):
    return {"die": np.repeat(np.arange(len(counts)), counts)}


@given(st.lists(st.tuples(positive, st.integers(0, 9)), min_size=1, max_size=4), positive)
@settings(max_examples=40, deadline=None)
def test_the_estimate_lies_between_the_prior_mean_and_the_frequencies(pairs, strength):
    """Equation 17.11; without rows the second part is dropped, not zero over zero."""
    weights, counts = (np.array(column) for column in zip(*pairs, strict=True))
    mean, rows = weights / weights.sum(), int(counts.sum())
    share = strength / (rows + strength)
    expected = share * mean + (0.0 if not rows else (1 - share) * counts / rows)
    net, data = die(len(counts)), ss.Dataset(rows_of(counts), die(len(counts)).variables)
    for prior in (ss.priors.ContextStrength(strength, tuple(mean)), ss.priors.Dirichlet(strength * mean)):
        np.testing.assert_allclose(fit(net, data, Bayes(prior)).model.cpd("die").values, expected, rtol=1e-9)


@pytest.mark.parametrize("tosses", range(9))
def test_laplace_by_factorials(tosses):
    """Equation 17.10 and exercise 17.6: the integral of a likelihood is k! (M - k)! / (M + 1)!."""
    for heads in range(tosses + 1):
        data = ss.Dataset(rows_of([tosses - heads, heads]), die(2).variables)
        found = fit(die(2), data, Bayes(ss.K2()))
        integral = math.factorial(heads) * math.factorial(tosses - heads) / math.factorial(tosses + 1)
        assert math.exp(found.posterior.log_marginal_likelihood) == pytest.approx(integral, rel=1e-12)
        assert found.model.cpd("die").values[1] == pytest.approx((heads + 1) / (tosses + 2), rel=1e-12)


@pytest.mark.parametrize("counts", [(0, 0, 0), (5, 0, 2), (0, 40, 1)])
def test_tails_and_intervals_by_drawing(counts):
    data = ss.Dataset(rows_of(counts), die(3).variables)
    posterior = fit(die(3), data, Bayes(ss.priors.Dirichlet([0.5, 1.0, 2.0]))).posterior
    drawn = np.random.default_rng(0).dirichlet(np.array([0.5, 1.0, 2.0]) + counts, size=40_000)
    for state in range(3):
        for above in (0.05, 0.3, 0.8):
            expected = (drawn[:, state] > above).mean()
            error = 5 * math.sqrt(max(expected * (1 - expected), 1e-3) / 40_000)
            assert abs(posterior.tail("die", state, above=above) - expected) < error
        low, high = posterior.interval("die", state, level=0.8)
        inside = ((drawn[:, state] > low) & (drawn[:, state] < high)).mean()
        assert abs(inside - 0.8) < 5 * math.sqrt(0.16 / 40_000)


@pytest.mark.parametrize("graph", ["a; b; c", "b -> a; c", "c -> b -> a", "a -> c; b -> c"])
def test_without_rows_a_prior_network_is_projected_on_any_graph(graph):
    """The prior predictive is the product of the prior network's own conditionals, written out from its joint."""
    prior = ss.BayesNet.random(ss.DAG.parse("a -> b; a -> c; b -> c"), states={"a": 2, "b": 3, "c": 2}, seed=3)
    shape, names = (2, 3, 2), "abc"
    cells = list(itertools.product(*map(range, shape)))
    joint = np.array([math.exp(prior.log_probability(dict(zip(names, c, strict=True)))[0]) for c in cells])
    joint = joint.reshape(shape)
    empty = ss.Dataset.from_codes([prior.variables[n] for n in names], np.zeros((0, 3), np.int64))
    found = fit(ss.DAG.parse(graph), empty, Bayes(ss.priors.BDe(prior, 7.0))).model
    for name in names:
        parents = [p.name for p in found.cpd(name).parents]
        axes = [names.index(n) for n in (*parents, name)]
        family = np.einsum(joint, [0, 1, 2], axes)
        np.testing.assert_allclose(found.cpd(name).values, family / family.sum(axis=-1, keepdims=True), rtol=1e-9)


def test_priors_without_conjugacy_fade():
    """The log prior stays what it is while the log-likelihood grows with the rows: the modes meet, as one over them."""
    a, b, c = (ss.Discrete(n) for n in "abc")
    gate = ss.LogisticCPD(c, {a: [0.0, 1.0], b: [0.0, -1.0]})
    net = ss.BayesNet(ss.TableCPD(a, [0.5, 0.5]), ss.TableCPD(b, [0.4, 0.6]), gate)
    rows = net.sample(200, seed=1)
    best = fit(net, rows, MLE()).model.cpd("c").to_table().values
    gaps = []
    for copies in (1, 10, 100):
        many = rows.with_weights(np.full(200, float(copies)))
        mode = fit(net, many, PosteriorMode([ss.priors.NormalWeights(0.5), ss.K2()])).model.cpd("c").to_table().values
        gaps.append(np.abs(mode - best).max())
    assert gaps[0] > 1e-3
    np.testing.assert_allclose(np.array(gaps[:2]) / np.array(gaps[1:]), 10.0, rtol=0.5)


@pytest.mark.parametrize(("p", "q"), [(0.6, 0.7), (0.2, 0.5), (0.45, 0.55)])
def test_sharing_pays_until_the_crossover(p, q):
    """Two coins that differ, tied or apart: exact mean squared errors of what is fitted cross where they should."""
    crossover = (p * (1 - p) + q * (1 - q)) / (p - q) ** 2
    a, b = ss.Discrete("a"), ss.Discrete("b")
    apart = ss.BayesNet(ss.TableCPD(a, [0.5, 0.5]), ss.TableCPD(b, [0.5, 0.5]))
    tied = ss.learning.tie(apart, {"coin": ["a", "b"]})
    for num, pays in ((max(1, int(0.5 * crossover)), True), (int(2 * crossover) + 1, False)):
        at = [stats.binom(num, chance).pmf(np.arange(num + 1)) for chance in (p, q)]
        for k, m in itertools.product(range(0, num + 1, max(1, num // 4)), repeat=2):
            codes = {"a": [1] * k + [0] * (num - k), "b": [1] * m + [0] * (num - m)}
            data = ss.Dataset.from_codes([a, b], codes)
            assert fit(tied, data).model.cpd("a").values[1] == pytest.approx((k + m) / (2 * num))
            assert fit(apart, data).model.cpd("b").values[1] == pytest.approx(m / num)
        counts = np.arange(num + 1) / num
        separate = sum(float(w @ (counts - c) ** 2) for w, c in zip(at, (p, q), strict=True))
        means = np.arange(2 * num + 1) / (2 * num)
        shared = sum(float(np.convolve(*at) @ (means - c) ** 2) for c in (p, q))
        assert (shared < separate) is pays
