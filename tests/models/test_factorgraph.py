"""Factor graphs: the bipartite view of any model, and back."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

import oracle
from sepset.cpds.noisy import NoisyOr
from sepset.cpds.table import TableCPD
from sepset.errors import ScopeError
from sepset.factors.table import Table
from sepset.models.bayesnet import BayesNet
from sepset.models.factorgraph import FactorGraph
from sepset.models.markovnet import MarkovNet
from sepset.variables.variable import Discrete
from support import strategies

MODELS = strategies.bayes_nets(max_variables=4) | strategies.markov_nets(max_variables=4) | strategies.chain_graphs(2)


@given(MODELS)
@settings(max_examples=60)
def test_neighbors_are_scopes_both_ways(model):
    graph = FactorGraph(model)
    scopes = [tuple(v.name for v in f.scope) for f in graph.factors]
    assert [graph.neighbors(i) for i in range(graph.num_factors)] == scopes
    for variable in graph:
        assert graph.neighbors(variable) == tuple(i for i, s in enumerate(scopes) if variable.name in s)
    assert graph.num_edges == len(graph.edges) == sum(map(len, scopes))


@given(MODELS)
@settings(max_examples=60)
def test_round_trip_keeps_the_measure(model):
    """temporal-and-learning-goals U9."""
    before, cards = strategies.plain_factors(model)
    net = FactorGraph(model).markov_net()
    after, same = strategies.plain_factors(net)
    assert cards == same
    np.testing.assert_allclose(oracle.joint(after, cards), oracle.joint(before, cards))
    assert [v.name for v in net] == [v.name for v in model]
    again, _ = strategies.plain_factors(net.factor_graph().markov_net())
    np.testing.assert_allclose(oracle.joint(again, cards), oracle.joint(before, cards))


@given(MODELS)
@settings(max_examples=60)
def test_tree_test_agrees_with_networkx(model):
    graph = FactorGraph(model)
    other = graph.to_networkx()
    assert other.number_of_edges() == graph.num_edges
    assert graph.is_tree == (other.number_of_nodes() == 0 or nx.is_forest(other))


def test_it_keeps_what_an_undirected_graph_loses():
    a, b, c = (Discrete(n) for n in "abc")
    pairs = FactorGraph.of_factors(*(Table.ones(p) for p in itertools.combinations((a, b, c), 2)))
    triple = FactorGraph.of_factors(Table.ones((a, b, c)))
    assert pairs.markov_net().graph == triple.markov_net().graph
    assert pairs.edges != triple.edges
    assert not pairs.is_tree
    assert triple.is_tree
    assert repr(triple) == "FactorGraph(3 variables, 1 factor, 3 edges)"


def test_hidden_variables_are_nodes():
    causes = [Discrete(f"c{i}") for i in range(4)]
    effect = Discrete("effect")
    net = BayesNet(*(TableCPD(c, [0.5, 0.5]) for c in causes), NoisyOr(effect, dict.fromkeys(causes, 0.5)))
    graph = net.factor_graph()
    assert len(graph) == 5
    hidden = [v.name for v in net.problem().variables][5:]
    assert hidden
    assert all(len(graph.neighbors(n)) >= 2 for n in hidden)
    assert graph.markov_net().auxiliaries == net.problem().variables[5:]


def test_unknown_nodes():
    graph = FactorGraph(MarkovNet(Table(Discrete("a"), [1, 2])))
    with pytest.raises(ScopeError, match="no factor 1"):
        graph.neighbors(1)
    with pytest.raises(ScopeError, match="Unknown variable"):
        graph.neighbors("b")
