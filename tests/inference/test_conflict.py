"""Impossible evidence: a minimal set of findings is blamed, in words."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import oracle
import sepset as ss
from random_models import random_finding, table_net
from sepset.evidence import resolve
from sepset.inference.conflict import minimal_conflict, restrict

A, B, C, D = (ss.Discrete(n, ("no", "yes")) for n in "abcd")
COPY = np.eye(2)
METHODS = [ss.BruteForce(), ss.VariableElimination(), ss.CliqueTree()]


def copies():
    """a = b = c, and d by itself."""
    return ss.BayesNet(
        ss.TableCPD(A, [0.5, 0.5]), ss.TableCPD(B, COPY, given=A), ss.TableCPD(C, COPY, given=B), ss.TableCPD(D, [1, 0])
    )


def blamed(net, given, method=None):
    prepared = (method or ss.VariableElimination()).prepare(net.problem())
    return [net.variables[v].name for v in minimal_conflict(prepared, resolve(given, net.variables))]


@pytest.mark.parametrize(
    "method", [ss.BruteForce(), ss.VariableElimination(), ss.CliqueTree()], ids=lambda m: type(m).__name__
)
def test_findings_that_do_not_matter_are_left_out(method):
    net = copies()
    assert blamed(net, {"a": "no", "b": {"no", "yes"}, "c": "yes", "d": "no"}, method) == ["a", "c"]
    assert blamed(net, {"a": "no", "d": "yes"}, method) == ["d"]
    assert blamed(net, {"a": ss.Likelihood([1, 0]), "c": ss.Not("no")}, method) == ["a", "c"]


def test_the_error_says_what_and_what_to_do():
    net = copies()
    with pytest.raises(ss.ImpossibleEvidence, match=r"a='no', c='yes' contradict each other. Drop or change"):
        ss.query(net, "b", given={"a": "no", "c": "yes", "d": "no"})
    with pytest.raises(ss.ImpossibleEvidence, match=r"d='yes' is impossible under the model"):
        ss.marginals(net, given={"a": "no", "d": "yes"})
    with pytest.raises(ss.ImpossibleEvidence, match=r"a~\[1\.0, 0\.0\], c='yes' contradict"):
        ss.map_assignment(net, given={"a": ss.Likelihood([1, 0]), "c": "yes"})
    with pytest.raises(ss.ImpossibleEvidence, match="contradict"):
        ss.sample(net, 5, given={"a": "no", "c": "yes"})
    assert float(ss.log_probability(net, given={"a": "no", "c": "yes"})) == -math.inf


def test_a_model_that_excludes_everything_is_blamed_itself():
    model = ss.MarkovNet(ss.Table(A, [1, 0]), ss.Table(A, [0, 1]), variables=[A, B])
    for ask in (
        lambda: ss.query(model, "b"),
        lambda: ss.marginals(model),
        lambda: ss.log_probability(model, given={"b": "no"}),
    ):
        with pytest.raises(ss.ImpossibleEvidence, match="its factors contradict each other"):
            ask()
    assert float(ss.log_partition(model)) == -math.inf


def test_no_proper_subset_is_impossible():
    """By enumeration of every subset of the findings blamed."""
    checked = 0
    for seed in range(400):
        rng = np.random.default_rng([seed, 3])
        case = table_net(rng)
        found = {v: random_finding(rng, v) for v in case.variables}
        given = {v: finding for v, (finding, _) in found.items()}
        weights = {v.name: w for v, (_, w) in found.items() if w is not None}
        if oracle.log_z(case.factors, case.cards, weights) > -math.inf:
            continue
        names = blamed(case.model, given)
        for size in range(len(names) + 1):
            for part in itertools.combinations(names, size):
                possible = oracle.log_z(case.factors, case.cards, {n: weights[n] for n in part}) > -math.inf
                assert possible == (size < len(names))
        checked += 1
    assert checked > 50


def test_evidence_restricted_to_positions():
    variables = copies().variables
    evidence = resolve({"a": "no", "b": ss.Likelihood([1, 2]), "c": ss.Soft([0.5, 0.5])}, variables)
    assert restrict(evidence, [0]).touched == (0,)
    assert restrict(evidence, [1, 2]).touched == (1, 2)
