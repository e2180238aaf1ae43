"""Belief updates by name: the answers are those of enumeration; the passes themselves are tested with clique trees."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.inference.exact.beliefupdate import BeliefUpdate
from sepset.inference.method import Method, Prepared
from sepset.inference.result import Guarantee
from sepset.variables.evidence import Evidence
from support.random_gaussians import hybrid_net
from support.tolerances import EXACT


@pytest.mark.parametrize("name", ["asia", "alarm", "child"])
def test_it_agrees_with_elimination_on_published_networks(name):
    net = ss.datasets.load(name)
    answers = ss.marginals(net, method=BeliefUpdate())
    other = ss.prepare(net, method=ss.VariableElimination())
    for v in net.variables:
        np.testing.assert_allclose(answers[v.name].values, other.query(v).values, atol=EXACT)


def test_promises_follow_the_model():
    problem = ss.datasets.load("asia").problem()
    assert isinstance(BeliefUpdate(), Method)
    assert isinstance(BeliefUpdate().prepare(problem), Prepared)
    assert set(BeliefUpdate().promises(problem).values()) == {Guarantee.EXACT}
    hybrid = hybrid_net(*oracle.random_clg(np.random.default_rng(0), 2, 2)).problem()
    assert BeliefUpdate().promises(hybrid)["marginals"] is Guarantee.HEURISTIC
    assert BeliefUpdate().promises(hybrid)["moments"] is Guarantee.EXACT


@pytest.mark.parametrize("shape", [(1, 30), (3, 20), (8, 8)])
def test_plans_count_the_beliefs_of_cliques_and_of_sepsets(shape):
    model = ss.MarkovNet.potts(ss.Discrete.array("pixel", shape), 0.5)
    prepared = BeliefUpdate().prepare(model.problem())
    found = prepared.calibrate(Evidence())
    held = sum(belief.size for belief in (*found.beliefs, *found.sepset_beliefs))
    assert 8 * held <= prepared.plan((), ()).memory
