"""Conversions keep the distribution and have the promised structure."""

from __future__ import annotations

import itertools
import math

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import oracle
from sepset.cpds.table import TableCPD
from sepset.errors import ModelError, NotApplicable
from sepset.factors.potentials import Parity
from sepset.factors.table import Table
from sepset.graphs.equivalence import directed_imap
from sepset.graphs.graph import DAG, UndirectedGraph, skeleton
from sepset.models.bayesnet import BayesNet
from sepset.models.blocks import over_scopes, pairwise
from sepset.models.chaingraph import ChainGraph
from sepset.models.conversions import (
    maximal_cliques,
    maximal_form,
    pairwise_form,
    to_chain_graph,
)
from sepset.models.markovnet import MarkovNet
from sepset.variables.variable import Discrete
from support import strategies
from support.tolerances import CLOSE


def visible_joint(model):
    """The measure over the model's own variables, hidden ones summed out."""
    factors, cards = strategies.plain_factors(model)
    return oracle.marginal(factors, cards, [v.name for v in model])


@given(strategies.bayes_nets(max_variables=4) | strategies.chain_graphs(2) | strategies.markov_nets(max_variables=4))
@settings(max_examples=60)
def test_any_model_is_a_markov_net(model):
    net = model.markov_net()
    np.testing.assert_allclose(visible_joint(net), visible_joint(model), atol=CLOSE)
    assert isinstance(net, MarkovNet)


@given(strategies.markov_nets(max_variables=4, zeros=False) | strategies.bayes_nets(max_variables=4))
@settings(max_examples=60)
def test_any_model_is_a_chain_graph(model):
    chain = to_chain_graph(model)
    assert isinstance(chain, ChainGraph)
    assert to_chain_graph(chain) is chain
    order = [v.name for v in model]
    factors, cards = strategies.plain_factors(chain)
    expected = visible_joint(model)
    np.testing.assert_allclose(oracle.marginal(factors, cards, order), expected / expected.sum(), atol=CLOSE)
    if isinstance(model, BayesNet):
        assert {(a, b) for a, b in chain.graph.directed} == set(model.dag.edges)
        assert not chain.graph.undirected
    else:
        assert not chain.graph.directed


def test_zero_and_hidden_have_no_chain_graph():
    a, h = Discrete("a"), Discrete("h")
    with pytest.raises(ModelError, match="zero"):
        to_chain_graph(MarkovNet(Table((), 0.0), variables=[a]))
    with pytest.raises(NotApplicable, match="hidden"):
        to_chain_graph(MarkovNet(Table((a, h), np.ones((2, 2))), auxiliaries=[h]))


@given(strategies.markov_nets(max_variables=5))
@settings(max_examples=60)
def test_maximal_form_has_one_factor_a_clique(net):
    """temporal-and-learning-goals U9: maximal against finer factors, the same p."""
    coarse = maximal_form(net)
    np.testing.assert_allclose(visible_joint(coarse), visible_joint(net), rtol=1e-9)
    assert coarse.graph == net.graph
    assert set(coarse.variables) == set(net.variables)
    cliques = {frozenset(c) for c in nx.find_cliques(net.to_networkx())}
    assert {frozenset(v.name for v in f.scope) for f in coarse.factors if f.scope} == cliques


@given(strategies.markov_nets(max_variables=4, max_factors=3))
@settings(max_examples=30)
def test_pairwise_form_has_factors_of_two(net):
    fine = pairwise_form(net)
    assert all(len(f.scope) <= 2 for f in fine.factors)
    assert [v.name for v in fine] == [v.name for v in net]
    cards = strategies.plain_factors(fine)[1]
    if math.prod(cards.values()) <= 50_000:
        np.testing.assert_allclose(visible_joint(fine), visible_joint(net), rtol=1e-9)


def test_pairwise_form_of_parity_checks():
    bit = Discrete.array("Y", 4)
    net = MarkovNet(over_scopes([[0, 1, 2], [1, 2, 3]], Parity(), array=bit))
    np.testing.assert_allclose(visible_joint(pairwise_form(net)), visible_joint(net))


@given(st.integers(0, 7), st.integers(0, 10_000))
@settings(max_examples=60)
def test_maximal_cliques_agree_with_networkx(size, seed):
    other = nx.gnp_random_graph(size, 0.5, seed=seed)
    graph = UndirectedGraph([str(n) for n in other.nodes], [(str(a), str(b)) for a, b in other.edges])
    ours = list(maximal_cliques(graph))
    assert len(ours) == len(set(ours))
    assert {frozenset(c) for c in ours} == {frozenset(map(str, c)) for c in nx.find_cliques(other)}


@given(strategies.markov_nets(max_variables=4, zeros=False))
@settings(max_examples=40)
def test_the_directed_structure_of_a_markov_net_is_an_i_map(net):
    dag = directed_imap(net.graph)
    joint, names = visible_joint(net), [v.name for v in net]
    joint = joint / joint.sum()
    for a, b in itertools.combinations(range(len(names)), 2):
        rest = [i for i in range(len(names)) if i not in (a, b)]
        for given_ in ([], rest[:1], rest):
            if oracle.d_separated(dag.edges, [names[a]], [names[b]], [names[i] for i in given_]):
                assert oracle.independent(joint, [a], [b], given_, tolerance=1e-9)
    assert all(skeleton(dag).has_edge(a, b) for a, b in net.graph.edges)


def test_hidden_markov_model_becomes_a_chain():
    """temporal-and-learning-goals U12: the same skeleton, Z = 1, and Z = P(e) with evidence."""
    rain = [Discrete(f"rain{t}", (True, False)) for t in range(1, 3)]
    umbrella = [Discrete(f"umbrella{t}", (True, False)) for t in range(1, 3)]
    stay, seen = [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]]
    hmm = BayesNet(
        TableCPD(rain[0], [0.5, 0.5]),
        TableCPD(rain[1], stay, given=rain[0]),
        *(TableCPD(u, seen, given=r) for u, r in zip(umbrella, rain, strict=True)),
    )
    net = hmm.markov_net()
    assert net.graph == skeleton(hmm.dag)
    assert hmm.dag == DAG.parse("rain1 -> rain2 -> umbrella2; rain1 -> umbrella1")
    assert visible_joint(net).sum() == pytest.approx(1.0)
    evidence = {"umbrella1": True, "umbrella2": True}
    # temporal-and-learning-goals N23: P(e) = 0.3515, filtered 0.883357 on day two.
    reduced = net.condition(evidence)
    assert visible_joint(reduced).sum() == pytest.approx(0.3515)
    factors, cards = strategies.plain_factors(reduced)
    assert round(float(oracle.conditional(factors, cards, ["rain2"])[0]), 6) == 0.883357
    chain = MarkovNet(pairwise([(rain[0], rain[1])], stay))
    assert chain.graph == UndirectedGraph.parse("rain1 - rain2")


def test_components_of_one_variable_need_no_graph(monkeypatch):
    """Each component looks at its own factors once: nothing is made for components of one variable."""
    made = []
    monkeypatch.setattr(
        "sepset.models.chaincomponent.UndirectedGraph", lambda *about: made.append(about) or UndirectedGraph(*about)
    )
    net = BayesNet.random(DAG.parse("a -> b -> c; a -> c"))
    assert len(to_chain_graph(net).components) == 3
    assert made == []


def test_factors_of_a_markov_network_go_to_their_own_parts():
    v = [Discrete(f"v{i}") for i in range(6)]
    factors = [Table([v[0], v[3]], np.ones((2, 2))), Table(v[1], [1, 2]), Table([v[3], v[5]], np.ones((2, 2)))]
    chain = to_chain_graph(MarkovNet(*factors, Table((), 3.0), variables=v))
    found = {tuple(x.name for x in part.variables): part.factors for part in chain.components}
    assert found == {
        ("v0", "v3", "v5"): (factors[0], factors[2]),
        ("v1",): (factors[1],),
        ("v2",): (),
        ("v4",): (),
    }
