"""The exact engine agrees with pyAgrum on every shared network, its tables filled from ours; and every Z is one.

The peer is asked by the engine that can: which one finishes soon varies by a factor of hundreds. Where none does within
the time of a test, the marginals of a sample of variables are asked one by one, each over its own relevant part.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

import sepset as ss
from networks import findings, network, states
from shared_files import SHARED
from tolerances import CLOSE, EXACT

gum = pytest.importorskip("pyagrum")
peers = pytest.importorskip("benchmarks.peers")
pytestmark = pytest.mark.crosscheck

NETWORKS = sorted(path.name.removesuffix(".bif.gz") for path in SHARED.glob("nets/*.bif.gz"))
SAMPLED = 40  # variables asked one by one
WIDE = {"barley", "diabetes", "link", "mildew", "munin", "munin1", "munin2", "munin3", "munin4", "pigs", "water"}
each_net = pytest.mark.parametrize("name", NETWORKS or [pytest.param("", marks=pytest.mark.skip("no shared files"))])


@lru_cache(maxsize=1)
def engine_of(name):
    return ss.prepare(network(name))


@lru_cache(maxsize=1)
def peer_of(name):
    return peers.to_pyagrum(network(name))


def expected_marginals(name, found, asked):
    """The peer's posteriors of the variables asked, by a tree over everything or each over its own relevant part."""
    if name not in WIDE:
        engine = gum.LazyPropagation(peer_of(name))
        engine.setEvidence(found)
        engine.makeInference()
        return {v: engine.posterior(v).toarray() for v in asked}
    posteriors = {}
    for v in asked:
        engine = gum.VariableElimination(peer_of(name))
        engine.setTargets({v})
        engine.setEvidence(found)
        engine.makeInference()
        posteriors[v] = engine.posterior(v).toarray()
    return posteriors


def asked_of(net, name, seed=0):
    """Every variable, or where the peer is slow a sample of them."""
    names = list(net.variables.names)
    if name not in WIDE:
        return names
    rng = np.random.default_rng(seed)
    return [names[i] for i in rng.permutation(len(names))[:SAMPLED]]


@each_net
@pytest.mark.parametrize("share", [0.0, 0.1])
def test_marginals(name, share):
    net = network(name)
    found = findings(net, share, seed=7)
    asked = asked_of(net, name)
    expected = expected_marginals(name, found, asked)
    answers = engine_of(name).marginals(states(net, found))
    for v in asked:
        assert np.abs(answers[v].values - expected[v]).max() < CLOSE, v


@each_net
def test_the_partition_function_of_a_bayesian_network_is_one(name):
    """Nothing is pruned: the network enters as bare factors, which say nothing of what they sum to."""
    assert float(ss.log_partition(network(name).markov_net())) == pytest.approx(0.0, abs=EXACT)
