"""Belief updates by name: the answers are those of enumeration; the passes themselves are tested with clique trees."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.inference.exact.beliefupdate import BeliefUpdate
from sepset.inference.method import Method, Prepared
from sepset.inference.result import Guarantee
from support.method_contract import check_method, check_sampling
from support.random_gaussians import hybrid_net
from support.random_models import KINDS, random_case, random_evidence
from support.tolerances import EXACT


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_answer_is_exact(kind):
    for seed in range(30):
        rng = np.random.default_rng([seed, 21, KINDS.index(kind)])
        case = kind(rng)
        given, weights = random_evidence(rng, case)
        check_method(BeliefUpdate(), case, given, weights, rng)


def test_draws_have_the_posterior_frequencies():
    for seed in range(4):
        rng = np.random.default_rng([seed, 22])
        case = random_case(rng)
        given, weights = random_evidence(rng, case)
        check_sampling(BeliefUpdate(), case, given, weights, num_rows=1500)


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
