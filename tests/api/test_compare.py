"""Divergence by families, and Bayesian networks of any model, against enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest

import oracle
import sepset as ss
from support.random_models import chain_graph, markov_net, structured_net, table_net
from support.tolerances import CLOSE, EXACT

A, B, C = ss.Discrete("a", 2), ss.Discrete("b", 3), ss.Discrete("c", 2)


def families(net):
    return [(c.child.name, tuple(p.name for p in c.parents), np.asarray(c.to_table().values)) for c in net.cpds]


def joint_of(net, cards):
    return oracle.bayes_joint(families(net), cards)


@pytest.mark.parametrize("seed", range(15))
def test_divergence_is_that_of_the_joints(seed):
    rng = np.random.default_rng(seed)
    first, cards = oracle.random_network(rng, 4, deterministic=0.1, zeros=0.0)
    parents = oracle.random_parents(rng, list(cards))
    second = [
        (
            c,
            parents[c],
            oracle.random_rows(rng, tuple(cards[n] for n in (*parents[c], c)), deterministic=0.1, zeros=0.0),
        )
        for c in cards
    ]
    made = {name: ss.Discrete(name, card) for name, card in cards.items()}
    nets = [
        ss.BayesNet(*(ss.TableCPD(made[c], t, given=[made[p] for p in ps]) for c, ps, t in one))
        for one in (first, second)
    ]
    expected = oracle.kl(oracle.bayes_joint(first, cards), oracle.bayes_joint(second, cards))
    assert ss.kl_divergence(*nets) == pytest.approx(expected, abs=CLOSE)
    assert ss.kl_divergence(nets[0], nets[0]) == 0.0


def test_divergence_is_infinite_where_support_is_missing():
    sure, fair = (ss.BayesNet(ss.TableCPD(A, row)) for row in ([1, 0], [0.5, 0.5]))
    assert ss.kl_divergence(fair, sure) == math.inf
    assert ss.kl_divergence(sure, fair) == pytest.approx(math.log(2))


def test_divergence_refuses_what_it_cannot_compare():
    net = ss.BayesNet(ss.TableCPD(A, [0.5, 0.5]))
    with pytest.raises(ss.ScopeError, match="they differ in 'a', 'b'"):
        ss.kl_divergence(net, ss.BayesNet(ss.TableCPD(B, [0.5, 0.25, 0.25])))
    real = ss.LinearGaussian(ss.Real("x"), covariance=1.0)
    assert ss.kl_divergence(ss.BayesNet(real), ss.BayesNet(real)) == 0.0
    mixed = ss.BayesNet(*net.cpds, real)
    assert ss.kl_divergence(mixed, mixed) == 0.0
    kernel = ss.BayesNet(*net.cpds, ss.KernelCPD(ss.Real("x"), {"x": [0.0, 1.0]}, width=1.0))
    with pytest.raises(ss.NotApplicable, match="closed form"):
        ss.kl_divergence(mixed, kernel)
    with pytest.raises(ss.NotApplicable, match="Convert it with to_bayes_net"):
        ss.kl_divergence(net, net.markov_net())


@pytest.mark.parametrize("make", [markov_net, chain_graph, structured_net], ids=lambda f: f.__name__)
@pytest.mark.parametrize("seed", range(12))
def test_conversion_keeps_the_distribution(make, seed):
    case = make(np.random.default_rng([seed, 1]))
    order = [case.variables[i] for i in np.random.default_rng(seed).permutation(len(case.variables))]
    for net in (ss.to_bayes_net(case.model), ss.to_bayes_net(case.model, order=order)):
        assert set(net.variables) == set(case.variables)
        expected = oracle.joint(case.factors, case.cards)
        found = joint_of(net, case.cards)
        np.testing.assert_allclose(found, expected / expected.sum(), rtol=0, atol=EXACT)


def test_conversion_follows_the_order_and_returns_networks_as_they_are():
    case = table_net(np.random.default_rng(3))
    assert ss.to_bayes_net(case.model) is case.model
    chain = ss.MarkovNet(ss.Table((A, B), np.ones((2, 3))), ss.Table((B, C), np.ones((3, 2))))
    assert ss.to_bayes_net(chain, order=["c", B, "a"]).dag == ss.DAG.parse("c -> b -> a")


def test_rows_of_impossible_parents_are_uniform_and_noted():
    net = ss.to_bayes_net(ss.MarkovNet(ss.Table((A, B), [[1, 1, 2], [0, 0, 0]])), order=["a", "b"])
    np.testing.assert_allclose(net.cpd("b").values, [[0.25, 0.25, 0.5], [1 / 3] * 3])
    assert net.notes == ("b: 1 parent states have probability zero; their rows are uniform.",)


def test_conversion_refuses_continuous_models():
    with pytest.raises(ss.NotApplicable, match="'x' are continuous"):
        ss.to_bayes_net(ss.MarkovNet(ss.CanonicalGaussian(ss.Real("x"), [[1.0]], [0.0])))
