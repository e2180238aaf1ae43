"""Pseudo-max-marginals: exact on forests, and around loops parts of a reparameterization."""

import itertools

import numpy as np
import pytest

import sepset as ss
from inference.propagation.test_loopybp import random_forest
from sepset.errors import NotApplicable, ScopeError
from support.blocks import in_blocks
from support.enumerated import random_case

METHODS = [ss.LoopyBP(), ss.LoopyBP(0.0, "synchronous"), ss.LoopyBP(precision="float32")]


@in_blocks("seed", range(25))
def test_forests_have_the_max_marginals_of_clique_trees(seed):
    net = random_forest(np.random.default_rng(seed))
    try:
        exact = ss.max_marginals(net)
    except ss.ImpossibleEvidence:
        for method in METHODS:
            with pytest.raises(ss.ImpossibleEvidence):
                ss.max_marginals(net, method=method)
        return
    for method in METHODS:
        found = ss.max_marginals(net, method=method)
        near = 1e-3 if method.precision == "float32" else 1e-9
        assert found.guarantees["marginals"] is ss.Guarantee.EXACT
        assert found.log_value == pytest.approx(exact.log_value, abs=1e-9)
        for name in net.variables.names:
            assert found[name].log_values == pytest.approx(exact[name].log_values, abs=near)
        assert exact.is_best(found.assignment)
        assert found.is_best(exact.assignment)
        assert found.conflicts(exact.assignment) == []
        assert dict(found.best_states) == dict(exact.best_states)


@in_blocks("seed", range(30))
def test_conflicts_are_factors_below_their_maxima(seed):
    """Around loops: joints agree with singles, an assignment without conflicts has no better single change."""
    rng = np.random.default_rng([seed, 5])
    case = random_case(rng, most=5, states=3, density=0.8)
    if case.best == -np.inf:
        return
    found = ss.max_marginals(case.net, method=ss.LoopyBP())
    assert set(found) == set(case.net.variables.names)
    for scope, _ in case.parts if found.info["residual"] < 1e-8 else ():
        names = tuple(f"v{i}" for i in scope)
        for name in names:
            rest = [v for v in found[names].scope if v.name != name]
            maxima = found[names].marginalize(rest, ss.semiring.MAX).log_values
            assert maxima == pytest.approx(found[name].log_values, abs=1e-5)
    codes = [case.net.variables[f"v{i}"].code(found.assignment[f"v{i}"]) for i in range(len(case.cards))]
    assert found.log_value == pytest.approx(case.logs[tuple(codes)], abs=1e-9)
    if found.info["locally_optimal"]:
        assert found.conflicts(found.assignment) == []
        for i, card in enumerate(case.cards):
            values = [case.logs[(*codes[:i], state, *codes[i + 1 :])] for state in range(card)]
            assert max(values) <= found.log_value + 1e-5
    if found.guarantees["assignment"] is not ss.Guarantee.EXACT:
        with pytest.raises(NotApplicable, match="CliqueTree"):
            found.is_best(found.assignment)


def test_the_frustrated_and_the_friendly_triangle():
    """Examples 13.11 and 13.12: messages of equal states everywhere; no locally optimal assignment, or two."""
    a, b, c = (ss.Discrete(n) for n in "abc")
    for equal, other in ((1.0, 2.0), (2.0, 1.0)):
        table = np.full((2, 2), other) + (equal - other) * np.eye(2)
        net = ss.MarkovNet(*(ss.Table(pair, table) for pair in [(a, b), (b, c), (a, c)]))
        found = ss.max_marginals(net, method=ss.LoopyBP())
        assert dict(found.ties) == dict.fromkeys("abc", (0, 1))
        joint = found["a", "b"].log_values
        assert joint - joint.max() == pytest.approx(np.log(table / 2.0), abs=1e-9)
        without = [
            codes for codes in itertools.product([0, 1], repeat=3)
            if not found.conflicts(dict(zip("abc", codes, strict=True)))
        ]  # fmt: skip
        assert without == ([] if equal < other else [(0, 0, 0), (1, 1, 1)])
        assert found.info["locally_optimal"] == bool(without)


def test_evidence_permuted_names_one_state_and_no_variables():
    rng = np.random.default_rng(2)
    first, last = ss.Discrete("first", "pqr"), ss.Discrete("last", "xy")
    one = ss.Discrete("one", ["only"])
    tables = [ss.Table([first, last], rng.random((3, 2))), ss.Table([last, one], rng.random((2, 1)))]
    net = ss.MarkovNet(*tables)
    for given in ({}, {"last": "y"}, {"first": "p", "last": "x"}, {"first": "p", "last": "x", "one": "only"}):
        found, exact = ss.max_marginals(net, given=given, method=ss.LoopyBP()), ss.max_marginals(net, given=given)
        assert dict(found.assignment) == dict(exact.assignment)
        for name in ("first", "last", "one"):
            assert found[name].log_values == pytest.approx(exact[name].log_values, abs=1e-9)
        assert found["one", "last"].log_values == pytest.approx(exact["one", "last"].log_values, abs=1e-9)
    with pytest.raises(ScopeError, match="No factor has 'first', 'one' together"):
        ss.max_marginals(net, method=ss.LoopyBP())["first", "one"]
    with pytest.raises(NotApplicable, match="ClusterBP sends no maxima"):
        ss.max_marginals(net, method=ss.inference.ClusterBP(2))
    empty = ss.max_marginals(ss.MarkovNet(ss.Table([], 3.0)), method=ss.LoopyBP())
    assert (len(empty), empty.log_value) == (0, pytest.approx(np.log(3.0)))
    assert "one best assignment" in repr(empty)


def test_weighted_messages_are_estimates():
    net = ss.datasets.load("misconception")
    for method in (ss.TreeReweighted(), ss.inference.ConvexBP(), ss.LoopyBP(rho=0.5)):
        found = ss.max_marginals(net, method=method)
        assert found.guarantees["marginals"] is ss.Guarantee.ESTIMATE
        assert found.info["decoder"]
        assert "MaxMarginalsResult" in repr(found)
