"""Impossible evidence: a minimal set of findings is blamed, in words."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.inference.conflict import minimal_conflict, restrict
from sepset.variables.evidence import resolve
from support.random_models import random_finding, table_net

A, B, C, D = (ss.Discrete(n, ("no", "yes")) for n in "abcd")
COPY = np.eye(2)
METHODS = [ss.inference.BruteForce(), ss.VariableElimination(), ss.CliqueTree()]


def copies():
    """a = b = c, and d by itself."""
    return ss.BayesNet(
        ss.TableCPD(A, [0.5, 0.5]), ss.TableCPD(B, COPY, given=A), ss.TableCPD(C, COPY, given=B), ss.TableCPD(D, [1, 0])
    )


def blamed(net, given, method=None):
    prepared = (method or ss.VariableElimination()).prepare(net.problem())
    return [net.variables[v].name for v in minimal_conflict(prepared, resolve(given, net.variables))]


@pytest.mark.parametrize(
    "method", [ss.inference.BruteForce(), ss.VariableElimination(), ss.CliqueTree()], ids=lambda m: type(m).__name__
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
    with pytest.raises(ss.ImpossibleEvidence, match=r"d='yes' is impossible under the model\. Drop or change it\."):
        ss.marginals(net, given={"a": "no", "d": "yes"})
    with pytest.raises(ss.ImpossibleEvidence, match=r"a in \{'no'\}, c='yes' contradict"):
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


def test_the_first_factor_that_excludes_everything_is_named():
    """By enumeration of the products of the first factors."""
    seen = set()
    for seed in range(120):
        rng = np.random.default_rng([seed, 9])
        variables = [ss.Discrete(f"v{i}", int(rng.integers(1, 4))) for i in range(4)]
        tables, total, first = [], 1.0, None
        for number in range(6):
            scope = sorted(rng.choice(4, int(rng.integers(1, 4)), replace=False).tolist())
            values = (rng.random([variables[v].num_states for v in scope]) < rng.choice([0.1, 0.4, 0.7])).astype(float)
            tables.append(ss.Table([variables[v] for v in scope], values))
            total = total * values.reshape([variables[v].num_states if v in scope else 1 for v in range(4)])
            if first is None and not total.any():
                first = number, values.any()
        if first is None:
            continue
        why = "allows no joint state that those before it allow" if first[1] else "is zero everywhere"
        with pytest.raises(ss.ImpossibleEvidence, match=rf"Factor {first[0]} over 'v\d'.* {why}\. Correct it"):
            ss.map_assignment(ss.MarkovNet(*tables, variables=variables))
        seen.add(first)
    assert len(seen) > 6


def test_the_factor_that_excludes_everything_is_found_in_long_chains(monkeypatch):
    """Each factor is summed once per look, and there are as many looks as the number of factors has bits."""
    sums = []
    marginalize = ss.Table.marginalize
    monkeypatch.setattr(ss.Table, "marginalize", lambda *args: sums.append(0) or marginalize(*args))
    variables = [ss.Discrete(f"v{i}") for i in range(400)]
    same = [ss.Table(pair, np.eye(2)) for pair in itertools.pairwise(variables)]
    ends = [ss.Table(variables[0], [1.0, 0.0]), ss.Table(variables[-1], [0.0, 1.0])]
    with pytest.raises(ss.ImpossibleEvidence, match="Factor 400 over 'v399' allows no joint state"):
        ss.query(ss.MarkovNet(*same, *ends), "v0")
    assert len(sums) <= 400 * 12


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


class Counted:
    """A prepared method that counts its questions, and refuses those with few findings as too large."""

    def __init__(self, net, fewest):
        self.inner = ss.VariableElimination().prepare(net.problem())
        self.problem, self.fewest, self.asked = self.inner.problem, fewest, 0

    def log_partition(self, evidence):
        self.asked += 1
        if len(evidence.touched) < self.fewest:
            raise ss.TooLarge("too large")
        return self.inner.log_partition(evidence)


def long_chain(size):
    """x0 = x1 = ... and nothing else."""
    xs = [ss.Discrete(f"x{i}", 2) for i in range(size)]
    rest = (ss.TableCPD(x, COPY, given=before) for before, x in itertools.pairwise(xs))
    return ss.BayesNet(ss.TableCPD(xs[0], [0.5, 0.5]), *rest)


def test_many_findings_take_few_questions():
    net = long_chain(200)
    evidence = resolve({f"x{i}": int(i >= 150) for i in range(200)}, net.variables)
    prepared = Counted(net, 0)
    assert len(minimal_conflict(prepared, evidence)) == 2
    assert prepared.asked < 25


def test_what_is_too_large_to_tell_stays_blamed():
    net = long_chain(10)
    evidence = resolve({f"x{i}": int(i >= 5) for i in range(10)}, net.variables)
    for fewest in (0, 4, 10, 11):
        blame = minimal_conflict(Counted(net, fewest), evidence)
        assert len(blame) == max(2, min(fewest, 10))
        assert Counted(net, 0).log_partition(restrict(evidence, blame)) == -math.inf


def test_evidence_restricted_to_positions():
    variables = copies().variables
    evidence = resolve({"a": "no", "b": ss.Likelihood([1, 2]), "c": ss.Soft([0.5, 0.5])}, variables)
    assert restrict(evidence, [0]).touched == (0,)
    assert restrict(evidence, [1, 2]).touched == (1, 2)
