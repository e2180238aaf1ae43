"""The strategies really produce what they promise, awkward cases included."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis.errors import NoSuchExample

from sepset.models.model import Model
from sepset.variables.evidence import resolve
from support import strategies

EASY = settings(max_examples=1500, suppress_health_check=list(HealthCheck), database=None, phases=[Phase.generate])


def found(strategy, condition) -> bool:
    try:
        find(strategy, condition, settings=EASY)
    except NoSuchExample:
        return False
    return True


@pytest.mark.parametrize(
    "condition",
    [
        lambda net: len(net) == 0,
        lambda net: any(v.num_states == 1 for v in net),
        lambda net: any((cpd.values == 0).any() for cpd in net.cpds),
        lambda net: any(cpd.parents and ((cpd.values == 0) | (cpd.values == 1)).all() for cpd in net.cpds),
        lambda net: any(" " in v.name or "/" in v.name or '"' in v.name for v in net),
        lambda net: any(isinstance(s, bool) for v in net for s in v.states),
        lambda net: any(isinstance(s, float) for v in net for s in v.states),
        lambda net: len(net) > 1 and not net.dag.edges,
        lambda net: len(net.dag.edges) >= 3,
        lambda net: net.dag.topological_order != tuple(v.name for v in net),
    ],
)
def test_bayes_nets_cover(condition):
    assert found(strategies.bayes_nets(), condition)


@pytest.mark.parametrize(
    "condition",
    [
        lambda net: any(not f.scope for f in net.factors),
        lambda net: any(math.isinf(f.log_total) for f in net.factors),
        lambda net: len(net) == 0,
        lambda net: len({v for f in net.factors for v in f.scope}) < len(net),
        lambda net: len({frozenset(f.scope) for f in net.factors}) < len(net.factors),
    ],
)
def test_markov_nets_cover(condition):
    assert found(strategies.markov_nets(), condition)


@pytest.mark.parametrize(
    "condition",
    [
        lambda model: any(len(c.variables) > 1 and c.parents for c in model.components),
        lambda model: all(len(c.variables) == 1 for c in model.components),
        lambda model: len(model.graph.directed) and len(model.graph.undirected),
    ],
)
def test_chain_graphs_cover(condition):
    assert found(strategies.chain_graphs(), condition)


@given(strategies.bayes_nets() | strategies.markov_nets() | strategies.chain_graphs())
@settings(max_examples=60, deadline=None)
def test_all_are_models(model):
    assert isinstance(model, Model)
    assert len({v.name for v in model}) == len(model)


@given(strategies.markov_nets().flatmap(lambda n: strategies.evidence(n.variables).map(lambda e: (n, e))))
@settings(max_examples=60, deadline=None)
def test_evidence_resolves_as_the_plain_reading_says(case):
    net, given_ = case
    resolved, plain = resolve(given_, net.variables), strategies.plain_evidence(given_, net)
    for place, code in resolved.codes.items():
        weights = plain[net.variables[place].name]
        assert weights[code] > 0
        assert (weights > 0).sum() == 1
    for place, weights in resolved.weights.items():
        np.testing.assert_array_equal(weights, plain[net.variables[place].name])
