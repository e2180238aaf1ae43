"""Posteriors, explanations, separation and equivalence classes agree with pgmpy on small networks."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pytest

import sepset as ss
from support.blocks import in_blocks
from support.networks import BUILT_IN, TINY, each_network, findings, network, states
from support.tolerances import CLOSE

pytest.importorskip("pgmpy")
peers = pytest.importorskip("benchmarks.peers")
inference = pytest.importorskip("pgmpy.inference")
base = pytest.importorskip("pgmpy.base")
pytestmark = pytest.mark.crosscheck


@lru_cache(maxsize=1)
def eliminate(name):
    return inference.VariableElimination(peers.to_pgmpy(network(name)))


def log_value(net, codes):
    """The log probability of a whole assignment, multiplied out here."""
    total = 0.0
    for cpd in net.cpds:
        place = tuple(codes[v.name] for v in (*cpd.parents, cpd.child))
        total += math.log(cpd.to_table().values[place])
    return total


@each_network(*BUILT_IN, "hailfinder", "win95pts", "hepar2")
@pytest.mark.parametrize("share", [0.0, 0.2])
def test_marginals(name, share):
    net = network(name)
    found = findings(net, share, seed=7)
    answers = ss.marginals(net, given=states(net, found))
    for variable in net.variables:
        if variable.name not in found:
            expected = eliminate(name).query([variable.name], evidence=found, show_progress=False).values
            assert np.abs(answers[variable].values - expected).max() < CLOSE, variable.name


@each_network(*BUILT_IN)
@pytest.mark.parametrize("seed", range(3))
def test_joint_queries(name, seed):
    net = network(name)
    found = findings(net, 0.2, seed)
    free = [v for v in net.variables.names if v not in found]
    targets = [str(v) for v in np.random.default_rng(seed).choice(free, min(3, len(free)), replace=False)]
    peer = eliminate(name).query(targets, evidence=found, show_progress=False)
    expected = peer.values.transpose([peer.variables.index(v) for v in targets])
    assert np.abs(ss.query(net, targets, given=states(net, found)).values - expected).max() < CLOSE


@each_network(*TINY)
@pytest.mark.parametrize("share", [0.0, 0.3])
@pytest.mark.parametrize("seed", [0, 1])
def test_most_probable_explanations(name, share, seed):
    """Values are compared, not assignments: there may be ties."""
    net = network(name)
    found = findings(net, share, seed)
    ours = ss.map_assignment(net, given=states(net, found))
    free = [v for v in net.variables.names if v not in found]
    peer = eliminate(name).map_query(free, evidence=found, show_progress=False)
    chosen = {v: net[v].states.index(state) for v, state in ours.assignment.items()}
    theirs = log_value(net, {**{v: int(peer[v]) for v in free}, **found})
    assert log_value(net, {**chosen, **found}) == pytest.approx(theirs, abs=CLOSE)
    assert ours.log_value == pytest.approx(theirs, abs=CLOSE)


@each_network("asia", "alarm", "child", "sachs", "insurance")
@pytest.mark.parametrize("seed", range(3))
def test_marginal_map(name, seed):
    net = network(name)
    found = findings(net, 0.2, seed)
    free = [v for v in net.variables.names if v not in found]
    over = [str(v) for v in np.random.default_rng(seed).choice(free, 3, replace=False)]
    ours = ss.map_assignment(net, given=states(net, found), over=over)
    joint = eliminate(name).query(over, evidence=found, show_progress=False)
    table = joint.values.transpose([joint.variables.index(v) for v in over])
    place = tuple(net[v].states.index(ours.assignment[v]) for v in over)
    assert table[place] == pytest.approx(table.max(), abs=CLOSE)
    assert ours.probability == pytest.approx(table.max(), abs=CLOSE)


def random_dag(rng, size=9, edges=12):
    """Edges always go from a lower number to a higher one, names shuffled."""
    names = [f"v{i}" for i in rng.permutation(size)]
    pairs = [(names[i], names[j]) for i in range(size) for j in range(i + 1, size)]
    chosen = rng.choice(len(pairs), edges, replace=False)
    return names, [pairs[i] for i in sorted(chosen)]


def both(names, edges):
    peer = base.DAG()
    peer.add_nodes_from(names)
    peer.add_edges_from(edges)
    return ss.DAG(names, edges), peer


@in_blocks("seed", range(20))
def test_separation(seed):
    rng = np.random.default_rng(seed)
    names, edges = random_dag(rng)
    dag, peer = both(names, edges)
    for _ in range(25):
        first, second, *given = (str(v) for v in rng.choice(names, 2 + rng.integers(4), replace=False))
        assert ss.d_separated(dag, first, second, given=given) == (
            not peer.is_dconnected(first, second, observed=given)
        )


@in_blocks("seed", range(30))
@pytest.mark.parametrize("num_edges", [6, 12, 24])
def test_equivalence_classes(seed, num_edges):
    names, edges = random_dag(np.random.default_rng(seed), edges=num_edges)
    dag, peer = both(names, edges)
    found, expected = ss.graphs.cpdag(dag), peer.to_pdag()
    assert set(found.directed) == set(expected.directed_edges)
    assert {frozenset(e) for e in found.undirected} == {frozenset(e) for e in expected.undirected_edges}


@in_blocks("seed", range(20))
def test_moral_graphs_and_immoralities(seed):
    names, edges = random_dag(np.random.default_rng(seed))
    dag, peer = both(names, edges)
    assert {frozenset(e) for e in ss.graphs.moralize(dag).edges} == {frozenset(e) for e in peer.moralize().edges()}


@in_blocks("seed", range(30))
def test_markov_blankets(seed):
    names, edges = random_dag(np.random.default_rng(seed))
    dag, peer = both(names, edges)
    for name in names:
        assert set(ss.graphs.markov_blanket(dag, name)) == set(peer.get_markov_blanket(name))
