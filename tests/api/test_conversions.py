"""Bayesian networks of any model, against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
import sepset as ss
from support.blocks import in_blocks
from support.random_models import chain_graph, markov_net, structured_net, table_net
from support.tolerances import EXACT

A, B, C = ss.Discrete("a", 2), ss.Discrete("b", 3), ss.Discrete("c", 2)


def families(net):
    return [(c.child.name, tuple(p.name for p in c.parents), np.asarray(c.to_table().values)) for c in net.cpds]


def joint_of(net, cards):
    return oracle.bayes_joint(families(net), cards)


@pytest.mark.parametrize("make", [markov_net, chain_graph, structured_net], ids=lambda f: f.__name__)
@in_blocks("seed", range(12))
def test_conversion_keeps_the_distribution(make, seed):
    case = make(np.random.default_rng([seed, 1]))
    order = [case.variables[i] for i in np.random.default_rng(seed).permutation(len(case.variables))]
    for net in (ss.models.to_bayes_net(case.model), ss.models.to_bayes_net(case.model, order=order)):
        assert set(net.variables) == set(case.variables)
        expected = oracle.joint(case.factors, case.cards)
        found = joint_of(net, case.cards)
        np.testing.assert_allclose(found, expected / expected.sum(), rtol=0, atol=EXACT)


def test_conversion_follows_the_order_and_returns_networks_as_they_are():
    case = table_net(np.random.default_rng(3))
    assert ss.models.to_bayes_net(case.model) is case.model
    chain = ss.MarkovNet(ss.Table((A, B), np.ones((2, 3))), ss.Table((B, C), np.ones((3, 2))))
    assert ss.models.to_bayes_net(chain, order=["c", B, "a"]).dag == ss.DAG.parse("c -> b -> a")


def test_rows_of_impossible_parents_are_uniform_and_noted():
    net = ss.models.to_bayes_net(ss.MarkovNet(ss.Table((A, B), [[1, 1, 2], [0, 0, 0]])), order=["a", "b"])
    np.testing.assert_allclose(net.cpd("b").values, [[0.25, 0.25, 0.5], [1 / 3] * 3])
    assert net.notes == ("b: 1 parent states have probability zero; their rows are uniform.",)


def test_conversion_refuses_continuous_models():
    with pytest.raises(ss.errors.NotApplicable, match="'x' are continuous"):
        ss.models.to_bayes_net(ss.MarkovNet(ss.factors.CanonicalGaussian(ss.Real("x"), [[1.0]], h=[0.0])))


def test_tables_that_are_too_large_are_refused_at_once():
    bits = ss.Discrete.array("bit", 200)
    check = ss.potentials.over_scopes([list(range(200))], ss.potentials.Parity(), array=bits)
    with pytest.raises(ss.errors.TooLarge, match="given 199 parents would have"):
        ss.models.to_bayes_net(ss.MarkovNet(check))
