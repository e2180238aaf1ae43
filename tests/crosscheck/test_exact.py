"""The exact engine agrees with pyAgrum on every shared network, its tables filled from ours; and every Z is one.

Which of the peer's engines finishes soon varies by a factor of hundreds: without evidence elimination, which asks for
each variable over its ancestors only; with a tenth observed its lazy tree.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

import sepset as ss
from support.networks import findings, network, states
from support.shared_files import shared
from support.tolerances import CLOSE, EXACT

gum = pytest.importorskip("pyagrum")
peers = pytest.importorskip("benchmarks.peers")
pytestmark = pytest.mark.crosscheck

NETWORKS = [path.name.removesuffix(".bif.gz") for path in shared("nets/*.bif.gz")]
each_net = pytest.mark.parametrize(
    "name", NETWORKS or [pytest.param("", marks=pytest.mark.skip(reason="no shared files"))], scope="module"
)


@lru_cache(maxsize=1)
def engine_of(name):
    return ss.prepare(network(name))


@lru_cache(maxsize=1)
def peer_of(name):
    return peers.to_pyagrum(network(name))


def assert_agreement(name, share, kind):
    net = network(name)
    found = findings(net, share, seed=7)
    expected = getattr(gum, kind)(peer_of(name))
    expected.setEvidence(found)
    expected.makeInference()
    answers = engine_of(name).marginals(given=states(net, found))
    for variable in net.variables:
        difference = np.abs(answers[variable].values - expected.posterior(variable.name).toarray()).max()
        assert difference < CLOSE, variable.name


@each_net
def test_marginals(name):
    assert_agreement(name, 0.0, "VariableElimination")


@each_net
def test_posteriors_given_a_tenth(name):
    assert_agreement(name, 0.1, "LazyPropagation")


@each_net
def test_the_partition_function_is_one(name):
    """Nothing is pruned: the network enters as bare factors, which say nothing of what they sum to."""
    assert float(ss.log_partition(network(name).markov_net())) == pytest.approx(0.0, abs=EXACT)
