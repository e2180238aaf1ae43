"""Joints from a calibrated tree: the route chosen, its plan, and its answer."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.errors import ImpossibleEvidence, NotApplicable, TooLarge
from sepset.inference.exact.elimination import VariableElimination
from sepset.inference.treequery.joints import TreeJoints
from sepset.variables.evidence import Evidence, resolve
from support.blocks import in_blocks
from support.random_gaussians import hybrid_net
from support.random_trees import calibrated
from support.terminal import printed
from support.tolerances import CLOSE


def chain(n, states=3, seed=0):
    """A Markov chain: a query of both ends crosses every clique."""
    rng = np.random.default_rng(seed)
    variables = [ss.Discrete(f"x{i}", states) for i in range(n)]
    cpds = [ss.TableCPD(variables[0], rng.dirichlet(np.ones(states)))]
    for a, b in itertools.pairwise(variables):
        cpds.append(ss.TableCPD(b, rng.dirichlet(np.ones(states), size=states), given=a))
    return ss.BayesNet(*cpds), [np.asarray(c.values) for c in cpds]


def prepared_for(net, memory=8 * 2**30):
    return ss.inference.BeliefUpdate(memory=memory).prepare(net.problem())


@in_blocks("seed", range(40))
def test_joints_equal_enumeration_by_either_route(seed):
    rng = np.random.default_rng([seed, 31])
    case = calibrated(rng)
    if case is None:
        return
    joints = TreeJoints(VariableElimination().prepare(case.problem), 8 * 2**30)
    names = list(case.result.tree.variables)
    place = {v.name: i for i, v in enumerate(case.problem.variables)}
    for _ in range(4):
        asked = [names[i] for i in rng.permutation(len(names))[: int(rng.integers(0, 5))]]
        answer = joints.answer([place[n] for n in asked], case.evidence, case.result)
        assert [v.name for v in answer.distribution.scope] == asked
        assert answer.log_partition == pytest.approx(case.result.log_partition, abs=CLOSE)
        np.testing.assert_allclose(answer.distribution.values, case.marginal(asked), rtol=0, atol=CLOSE)


def test_both_ends_of_a_chain_are_the_product_of_its_transitions():
    net, tables = chain(12)
    prepared = prepared_for(net)
    calibration = prepared.calibrate(Evidence())
    answer = prepared.joint([11, 0], Evidence(), calibration)
    expected = tables[0][:, None] * np.linalg.multi_dot(tables[1:])
    np.testing.assert_allclose(answer.distribution.values, expected.T, rtol=CLOSE)
    plan = prepared.joint_plan([11, 0], Evidence(), calibration)
    assert plan is prepared.joint_plan([11, 0], Evidence(), calibration)
    assert plan.merging.cost == 27 * 10
    assert plan.reading == 9 * 11


def test_the_route_is_the_cheapest():
    net, _ = chain(12)
    prepared = prepared_for(net)
    calibration = prepared.calibrate(Evidence())
    near = prepared.joint_plan([5, 6], Evidence(), calibration)
    assert near.route == "clique"
    assert near.cost == 9
    apart = prepared.joint_plan([9, 11], Evidence(), calibration)
    assert apart.route == "merging"
    assert apart.cost == apart.reading + apart.merging.cost < apart.elimination.cost
    assert "by merging" in str(apart)
    assert printed(apart).strip() == str(apart)
    assert f"{apart.elimination.cost:,} multiplications" in str(apart)
    # The first variable alone is its prior: no factor need be multiplied.
    first = prepared.joint_plan([0], Evidence(), calibration)
    assert first.route == "elimination"
    assert first.cost == first.elimination.cost
    assert first.memory == 24 * first.elimination.largest


def test_alarm_across_cliques_under_evidence():
    net = ss.datasets.load("alarm")
    prepared = prepared_for(net)
    evidence = resolve({"HR": "LOW", "CO": ss.Not("HIGH")}, net.variables)
    calibration = prepared.calibrate(evidence)
    rng = np.random.default_rng(0)
    free = [i for i in range(37) if i not in evidence.observed]
    routes = set()
    for _ in range(25):
        targets = rng.choice(free, int(rng.integers(2, 6)), replace=False).tolist()
        found = prepared.joint(targets, evidence, calibration).distribution
        expected = prepared.query(targets, evidence).distribution
        np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=CLOSE)
        routes.add(prepared.joint_plan(targets, evidence, calibration).route)
    assert "merging" in routes


def test_impossible_evidence_has_no_joint():
    a, b = ss.Discrete("a"), ss.Discrete("b")
    net = ss.BayesNet(ss.TableCPD(a, [1, 0]), ss.TableCPD(b, [[1, 0], [0, 1]], given=a))
    prepared = prepared_for(net)
    evidence = resolve({"b": 1}, net.variables)
    assert prepared.joint([0], evidence, prepared.calibrate(evidence)).log_partition == -math.inf
    with pytest.raises(ImpossibleEvidence, match="b"):
        prepared.pairwise_marginals(evidence)


def test_models_with_continuous_variables_are_eliminated():
    net = hybrid_net(*oracle.random_clg(np.random.default_rng(2), 3, 2))
    prepared = prepared_for(net)
    calibration = prepared.calibrate(Evidence())
    discrete = [i for i, v in enumerate(net.variables) if v.is_discrete][:1]
    found = prepared.joint(discrete, Evidence(), calibration).distribution
    np.testing.assert_allclose(found.values, prepared.query(discrete, Evidence()).distribution.values)
    with pytest.raises(NotApplicable, match="discrete"):
        prepared_for(net.markov_net()).pairwise_marginals(Evidence())


def test_a_joint_that_is_too_large_is_refused():
    net, _ = chain(6, states=4)
    prepared = prepared_for(net, memory=10**4)
    calibration = prepared.calibrate(Evidence())
    with pytest.raises(TooLarge, match="joint of x0, x1, x2, x4, x5"):
        prepared.joint([0, 1, 2, 4, 5], Evidence(), calibration)
