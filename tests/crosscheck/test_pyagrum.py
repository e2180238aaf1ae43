"""Posteriors, joints, probabilities of evidence and divergences agree with pyAgrum, its tables filled from ours.

Its `mpe` is not compared: it fails on networks as ordinary as ALARM. Its file readers are not used: they round.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
import pytest

import sepset as ss
from support.networks import BUILT_IN, LARGE, MEDIUM, each_network, findings, network, states
from support.tolerances import CLOSE

gum = pytest.importorskip("pyagrum")
peers = pytest.importorskip("benchmarks.peers")
pytestmark = pytest.mark.crosscheck

SHARES = (0.0, 0.1, 0.3)
ENGINES = ("LazyPropagation", "ShaferShenoyInference", "VariableElimination")


@lru_cache(maxsize=2)
def peer_of(name):
    return peers.to_pyagrum(network(name))


def asked(name, evidence, kind="LazyPropagation"):
    """A pyAgrum engine with the evidence set: positions of states, or likelihoods as lists."""
    engine = getattr(gum, kind)(peer_of(name))
    engine.setEvidence(evidence)
    engine.makeInference()
    return engine


def assert_marginals(name, share, seed=0):
    net = network(name)
    found = findings(net, share, seed)
    given = states(net, found)
    engine = asked(name, found)
    answers = ss.marginals(net, given=given)
    for variable in net.variables:
        expected = engine.posterior(variable.name).toarray()
        assert np.abs(answers[variable].values - expected).max() < CLOSE, variable.name
    log_probability = math.log(engine.evidenceProbability())
    assert float(ss.log_probability(net, given=given)) == pytest.approx(log_probability, abs=CLOSE)


@each_network(*BUILT_IN)
@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("seed", [0, 1])
def test_built_in_networks(name, share, seed):
    assert_marginals(name, share, seed)


@each_network(*MEDIUM)
@pytest.mark.parametrize("share", [0.1, 0.3])
def test_medium_networks(name, share):
    assert_marginals(name, share)


@each_network(*(name for name in MEDIUM if name not in ("water", "mildew")))
def test_medium_networks_without_evidence(name):
    assert_marginals(name, 0.0)


@each_network(*LARGE)
def test_large_networks(name):
    assert_marginals(name, 0.3)


@each_network("asia", "alarm", "insurance", "child")
@pytest.mark.parametrize("kind", ENGINES)
def test_the_peer_agrees_with_itself_and_us_by_every_engine(name, kind):
    net = network(name)
    found = findings(net, 0.2, seed=3)
    engine = asked(name, found, kind)
    answers = ss.marginals(net, given=states(net, found))
    for variable in net.variables:
        assert np.abs(answers[variable].values - engine.posterior(variable.name).toarray()).max() < CLOSE


@each_network(*BUILT_IN, "hailfinder", "win95pts", "hepar2", "andes")
@pytest.mark.parametrize("seed", range(3))
def test_joint_queries(name, seed):
    net = network(name)
    found = findings(net, 0.2, seed)
    free = [v for v in net.variables.names if v not in found]
    rng = np.random.default_rng(seed)
    targets = [str(v) for v in rng.choice(free, min(3, len(free)), replace=False)]
    engine = gum.LazyPropagation(peer_of(name))
    engine.addJointTarget(set(targets))
    engine.setEvidence(found)
    engine.makeInference()
    table = engine.jointPosterior(set(targets))
    axes = [list(reversed(table.names)).index(v) for v in targets]
    expected = table.toarray().transpose(axes)
    answer = ss.query(net, targets, given=states(net, found))
    assert [v.name for v in answer.scope] == targets
    assert np.abs(answer.values - expected).max() < CLOSE


@each_network("asia", "alarm", "child", "insurance", "sachs")
@pytest.mark.parametrize("seed", range(3))
def test_likelihoods_and_subsets(name, seed):
    """The peer's soft evidence is a likelihood; a subset is a likelihood of zeros and ones."""
    net = network(name)
    rng = np.random.default_rng(seed)
    wide = [v.name for v in net.variables if v.num_states > 2] or list(net.variables.names)
    soft, several = (str(v) for v in rng.choice(wide, 2, replace=False))
    weights = rng.uniform(0.1, 1.0, net[soft].num_states)
    kept = sorted(rng.choice(net[several].num_states, 2, replace=False).tolist())
    inside = [1.0 if i in kept else 0.0 for i in range(net[several].num_states)]
    given = {soft: ss.Likelihood(weights.tolist()), several: {net[several].states[i] for i in kept}}
    engine = asked(name, {soft: weights.tolist(), several: inside})
    answers = ss.marginals(net, given=given)
    for variable in net.variables:
        assert np.abs(answers[variable].values - engine.posterior(variable.name).toarray()).max() < CLOSE
    log_probability = math.log(engine.evidenceProbability())
    assert float(ss.log_probability(net, given=given)) == pytest.approx(log_probability, abs=CLOSE)


@each_network(*BUILT_IN, "hailfinder", "pigs", "andes")
def test_probabilities_of_whole_rows(name):
    net, peer = network(name), peer_of(name)
    rows = net.sample(20, seed=5)
    ours = net.log_probability(rows)
    for row, value in zip(rows.matrix(), ours, strict=True):
        point = gum.Instantiation()
        for variable in net.variables:
            point.add(peer.variable(variable.name))
        for variable, code in zip(net.variables, row, strict=True):
            point.chgVal(variable.name, int(code))
        assert value == pytest.approx(peer.log2JointProbability(point) * math.log(2), rel=CLOSE)


@each_network("asia", "cancer", "earthquake", "survey")
def test_divergence_of_two_networks(name):
    """Rows mixed with the uniform distribution, on the same graph; the peer writes out the joint, so it is tiny."""
    net = network(name)
    mixed = [
        ss.TableCPD(cpd.child, 0.7 * cpd.to_table().values + 0.3 / cpd.child.num_states, given=cpd.parents)
        for cpd in net.cpds
    ]
    other = ss.BayesNet(*mixed)
    first, second = peer_of(name), peers.to_pyagrum(other)  # the distance only borrows them
    bits = gum.ExactBNdistance(first, second).compute()["klPQ"]
    assert float(ss.evaluation.divergence(net, other).total) == pytest.approx(bits * math.log(2), rel=CLOSE)


@each_network(*BUILT_IN)
def test_separation_and_equivalence_class(name):
    net, peer = network(name), peer_of(name)
    rng = np.random.default_rng(0)
    names = list(net.variables.names)
    for _ in range(50):
        first, second, *given = (str(v) for v in rng.choice(names, min(len(names), 2 + rng.integers(3)), replace=False))
        assert ss.d_separated(net.dag, first, second, given=given) == peer.isIndependent(first, second, given)
    essential = gum.EssentialGraph(peer)
    named = {node: peer.variable(node).name() for node in peer.nodes()}
    found = ss.graphs.cpdag(net.dag)
    assert {(a, b) for a, b in found.directed} == {(named[a], named[b]) for a, b in essential.arcs()}
    assert {frozenset(e) for e in found.undirected} == {frozenset((named[a], named[b])) for a, b in essential.edges()}
