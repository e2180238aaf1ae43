"""Retracted findings against enumeration, by the tree and by one query a finding."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.inference import costs
from sepset.inference.diagnosis.retraction import Copies, RetractionTree
from sepset.variables.evidence import resolve
from support.counted_orders import CountedOrders
from support.random_gaussians import linear_net
from support.random_models import random_case, random_evidence
from support.tolerances import CLOSE


@pytest.mark.parametrize("cheap", [costs.WORK_RETRACTED_OUTRIGHT, -1], ids=["tree", "costs compared"])
@pytest.mark.parametrize("seed", range(40))
def test_each_finding_given_the_others(seed, cheap, monkeypatch):
    monkeypatch.setattr(costs, "WORK_RETRACTED_OUTRIGHT", cheap)
    rng = np.random.default_rng([seed, 52])
    case = random_case(rng)
    given, plain = random_evidence(rng, case, most=1.6)
    found = ss.prepare(case.model).retracted_marginals(given=given)
    findings = {n: w for n, w in plain.items() if not (w == 1.0).all() or len(w) == 1}
    touched = {case.model.variables[v].name for v in resolve(given, case.model.variables).touched}
    assert set(found) == touched >= set(findings)
    for name in found:
        others = {n: w for n, w in plain.items() if n != name}
        if oracle.log_z(case.factors, case.cards, others) == -np.inf:
            with pytest.raises(ss.ImpossibleEvidence):
                found[name]
        else:
            truth = oracle.conditional(case.factors, case.cards, [name], others)
            np.testing.assert_allclose(found[name].values, truth, rtol=CLOSE, atol=1e-13)


def test_impossible_findings_can_be_told_apart():
    """The finding that contradicts the others is the one they give probability zero."""
    a, b, c = (ss.Discrete(n) for n in "abc")
    copy = [[1.0, 0.0], [0.0, 1.0]]
    net = ss.BayesNet(ss.TableCPD(a, [0.5, 0.5]), ss.TableCPD(b, copy, given=a), ss.TableCPD(c, copy, given=a))
    found = ss.prepare(net).retracted_marginals(given={"a": 0, "b": 0, "c": 1})
    np.testing.assert_array_equal(found["c"].values, [1.0, 0.0])
    with pytest.raises(ss.ImpossibleEvidence, match="a=0, c=1"):
        found["b"]


def test_trees_are_kept_for_new_values():
    orders = CountedOrders()
    engine = ss.prepare(ss.datasets.load("asia"), method=ss.CliqueTree(order=orders))
    engine.retracted_marginals(given={"xray": "yes", "smoke": "no"})["xray"]
    made = orders.made
    engine.retracted_marginals(given={"xray": "no", "smoke": "yes"})["xray"]
    assert orders.made == made > 0


def test_names_in_use_are_avoided():
    a, b = ss.Discrete("a"), ss.Discrete("a found")
    net = ss.BayesNet(ss.TableCPD(a, [0.25, 0.75]), ss.TableCPD(b, [[0.5, 0.5], [0.2, 0.8]], given=a))
    assert Copies.of(net.problem(), [0]).problem.variables.names == ("a", "a found", "a found'")
    found = ss.prepare(net).retracted_marginals(given={"a": 1, "a found": 0})
    np.testing.assert_allclose(found["a"].values, np.array([0.125, 0.15]) / 0.275)


def test_plans_beyond_memory_fall_back_to_queries(monkeypatch):
    def refuse(self, evidence):
        raise ss.TooLarge("no room")

    monkeypatch.setattr(RetractionTree, "run", refuse)
    found = ss.prepare(ss.datasets.load("student")).retracted_marginals(given={"grade": "A", "letter": "weak"})
    np.testing.assert_allclose(found["letter"].values, [0.1, 0.9])


def test_real_findings_are_retracted_one_by_one():
    nodes = oracle.random_linear_gaussian(np.random.default_rng(3), 3)
    index, mean, cov = oracle.dense_gaussian(nodes)
    given = {"x0": 0.5, "x1": -1.0, "x2": 2.0}
    found = ss.prepare(linear_net(nodes)).retracted_marginals(given=given)
    for name in given:
        at = [index[n][0] for n in given if n != name]
        _, center, spread = oracle.condition_gaussian(mean, cov, at, [x for n, x in given.items() if n != name])
        np.testing.assert_allclose(found[name].mean(), center[0], rtol=CLOSE)
        np.testing.assert_allclose(found[name].covariance, spread, rtol=CLOSE)


def test_no_findings():
    assert len(ss.prepare(ss.datasets.load("student")).retracted_marginals(given={})) == 0


def test_no_copies_are_made_for_a_tree_that_is_hopeless(monkeypatch):
    """The graph of 5,000 variables tells; each finding is then asked about by itself, which is refused."""
    rng, names = np.random.default_rng(0), [f"v{i}" for i in range(5000)]
    edges = [(names[p], names[i]) for i in range(3, 5000) for p in rng.choice(i, 3, replace=False).tolist()]
    engine = ss.prepare(ss.BayesNet.random(ss.DAG(names, edges)))
    monkeypatch.setattr(Copies, "of", None)
    found = engine.retracted_marginals(given=dict.fromkeys(names[-5:], 1))
    with pytest.raises(ss.TooLarge):
        found["v4999"]
