"""Chain graphs against enumeration; Bayesian and Markov networks as special cases."""

from __future__ import annotations

import itertools
import math
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings

import oracle
from sepset.cpds.table import TableCPD
from sepset.errors import ModelError
from sepset.factors.table import Table
from sepset.graphs.graph import MixedGraph, chain_components
from sepset.models.chaincomponent import ChainComponent
from sepset.models.chaingraph import ChainGraph
from sepset.variables.variable import Discrete
from support import strategies
from support.tolerances import CLOSE, STANDARD_ERRORS


def dense(model):
    """The joint from the raw factors: each component normalized by enumeration, one axis per variable."""
    cards = {v.name: v.num_states for v in model}
    result = np.ones(tuple(cards.values()))
    for part in model.components:
        factors = [(tuple(v.name for v in f.scope), np.asarray(f.values)) for f in part.factors]
        measure = oracle.joint(factors, cards)
        own = tuple(i for i, n in enumerate(cards) if n in {v.name for v in part.variables})
        result = result * measure / measure.sum(axis=own, keepdims=True)
    return result


def every_row(model):
    cells = itertools.product(*(range(v.num_states) for v in model))
    columns = list(zip(*cells, strict=True)) if len(model) else []
    return {v.name: [v.states[c] for c in column] for v, column in zip(model, columns, strict=True)}


@given(strategies.chain_graphs())
@settings(max_examples=60)
def test_log_probability_and_problem_are_the_joint(model):
    expected = dense(model)
    got = model.log_probability(every_row(model))
    np.testing.assert_allclose(np.exp(got), expected.reshape(-1), atol=CLOSE)
    factors, cards = strategies.plain_factors(model)
    np.testing.assert_allclose(oracle.joint(factors, cards), expected, atol=CLOSE)
    assert expected.sum() == pytest.approx(1.0)


@given(strategies.chain_graphs())
@settings(max_examples=40)
def test_groups_sum_to_one(model):
    problem = model.problem()
    factors, cards = strategies.plain_factors(model)
    names = list(cards)
    for group in problem.conditionals:
        own = [names[group.child], *(names[i] for i in group.auxiliaries)]
        above = [names[i] for i in group.parents]
        used = {n: cards[n] for n in names if n in (*own, *above)}
        sums = oracle.marginal([factors[i] for i in group.factors], used, above)
        np.testing.assert_allclose(sums, 1.0, atol=CLOSE)


@given(strategies.chain_graphs(2))
@settings(max_examples=40)
def test_conversions_keep_the_joint(model):
    expected = dense(model)
    factors, cards = strategies.plain_factors(model.markov_net())
    np.testing.assert_allclose(oracle.joint(factors, cards), expected, atol=CLOSE)
    directed = model.bayes_net()
    factors, _ = strategies.plain_factors(directed)
    np.testing.assert_allclose(oracle.joint(factors, cards), expected, atol=CLOSE)


@given(strategies.chain_graphs())
@settings(max_examples=40)
def test_graph_and_components_agree(model):
    assert model.graph.is_chain_graph
    ours = {frozenset(v.name for v in part.variables) for part in model.components}
    assert {frozenset(c) for c in chain_components(model.graph)} == ours
    for variable in model:
        assert variable in model.component(variable.name).variables


def example() -> ChainGraph:
    """A -> C - D <- B, Koller & Friedman, figure 4.15, smaller."""
    a, b, c, d = (Discrete(n) for n in "ABCD")
    pair = ChainComponent(
        (c, d), Table((a, c), [[3, 1], [1, 2]]), Table((b, d), [[1, 4], [2, 1]]), Table((c, d), [[5, 1], [1, 5]])
    )
    return ChainGraph(pair, TableCPD(a, [0.3, 0.7]), TableCPD(b, [0.6, 0.4]), name="pair")


def test_lauritzen_wermuth_frydenberg_reading():
    model = example()
    assert model.graph == MixedGraph.parse("A -> C - D <- B")
    assert repr(model) == "ChainGraph('pair': 4 variables, 3 components, 3 edges)"
    p = dense(model)  # axes C, D, A, B
    assert oracle.independent(p, [2], [3])
    assert oracle.independent(p, [0], [3], [1, 2])
    assert oracle.independent(p, [1], [2], [0, 3])
    assert not oracle.independent(p, [2], [3], [0])
    assert not oracle.independent(p, [2], [3], [0, 1])


def test_sample_frequencies():
    model = example()
    expected = dense(model)
    data = model.sample(40_000, seed=2)
    counts = np.zeros(expected.shape)
    np.add.at(counts, tuple(data.codes(v).astype(int) for v in model), 1)
    error = np.sqrt(expected * (1 - expected) / 40_000)
    assert (np.abs(counts / 40_000 - expected) <= STANDARD_ERRORS * error).all()
    assert data.equals(model.sample(40_000, seed=2))
    assert len(ChainGraph().sample(3)) == 3


def test_barren_components_are_dropped():
    problem = example().problem()
    names = list(problem.variables.names)
    only_a = problem.relevant([names.index("A")])
    assert [names[i] for i in only_a.variables] == ["A"]
    with_d = problem.relevant([names.index("D")])
    assert len(with_d.variables) == 4


def test_refusals():
    a, b, c = (Discrete(n) for n in "abc")
    with pytest.raises(ModelError, match="two chain components"):
        ChainGraph(ChainComponent(a, Table(a, [1, 1])), ChainComponent((a, b), Table((a, b), np.ones((2, 2)))))
    with pytest.raises(ModelError, match=r"ChainComponent\(a \| b\) has the parent 'b', which is in no component"):
        ChainGraph(ChainComponent(a, Table((a, b), np.ones((2, 2)))))
    with pytest.raises(ModelError, match="other states"):
        ChainGraph(ChainComponent(a, Table((a, b), np.ones((2, 2)))), ChainComponent(Discrete("b", 3)))
    with pytest.raises(ModelError, match=r"\{a, b\}.*\{c\}|\{c\}.*\{a, b\}"):
        ChainGraph(
            ChainComponent((a, b), Table((a, b), np.ones((2, 2))), Table((c, a), np.ones((2, 2)))),
            ChainComponent(c, Table((b, c), np.ones((2, 2)))),
        )
    with pytest.raises(ModelError, match="made of chain components and CPDs"):
        ChainGraph(3)


def test_conflict_and_pickle():
    a, u = Discrete("a"), Discrete("u")
    model = ChainGraph(TableCPD(u, [0.5, 0.5]), ChainComponent(a, Table((u, a), [[1, 2], [0, 0]])))
    with pytest.raises(ModelError, match="conflict"):
        model.problem()
    same = pickle.loads(pickle.dumps(example()))
    row = {"A": 0, "B": 1, "C": 1, "D": 0}
    assert same.log_probability(row)[0] == example().log_probability(row)[0]
    assert math.exp(same.log_probability(row)[0]) == pytest.approx(dense(example())[1, 0, 0, 1])
    assert same.to_networkx().number_of_nodes() == 4


def test_the_members_of_a_large_component_are_listed_once():
    """A list for each of them would be quadratic in their number: 36 MB here."""
    v = [Discrete(f"v{i}", 2) for i in range(3000)]
    chain = ChainComponent(v, *(Table(pair, [[2.0, 1.0], [1.0, 3.0]]) for pair in itertools.pairwise(v)))
    problem, small = ChainGraph(chain).problem(), ChainGraph(TableCPD(v[0], [0.5, 0.5])).problem()
    small.relevant([0])  # what is imported stays
    tracemalloc.start()
    try:
        found = problem.relevant([2999])
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()
    assert len(found.factors) >= 2999
