"""Rule CPDs: coverage, overlap, sums, and the contract."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import oracle
from sepset.cpds import rules
from sepset.cpds.priors.dirichlet import Dirichlet
from sepset.cpds.rules import Rule, RuleCPD, null_space, occurrences, shared_probabilities
from sepset.errors import DataError, ModelError, ScopeError, TooLarge
from sepset.variables.variable import Discrete
from support.cpd_contract import (
    check_contract,
    check_factors,
    check_irrelevance,
    check_numbers,
    joint_states,
    random_rows,
)

A, B, C = Discrete("a", 2), Discrete("b", 2), Discrete("c", 3)
X = Discrete("x", ("no", "yes"))
# Some rules name one parent, some another, and one names a set of states.
MIXED = [
    ({X: "no", A: 0, B: 0}, 0.1),
    ({X: "yes", A: 0, B: 0}, 0.9),
    ({X: "no", A: 0, B: 1}, 0.2),
    ({X: "yes", A: 0, B: 1}, 0.8),
    ({X: "no", A: 1, C: 0}, 0.4),
    ({X: "yes", A: 1, C: 0}, 0.6),
    ({X: "no", A: 1, C: {1, 2}}, 0.7),
    ({X: "yes", A: 1, C: {1, 2}}, 0.3),
]


def mixed_row(a, b, c):
    if a == 0:
        return [0.1, 0.9] if b == 0 else [0.2, 0.8]
    return [0.4, 0.6] if c == 0 else [0.7, 0.3]


MIXED_TABLE = np.array([mixed_row(*cell) for cell in joint_states((A, B, C))]).reshape(2, 2, 3, 2)


def test_contract():
    cpd = RuleCPD(X, MIXED)
    check_contract(cpd, MIXED_TABLE)
    assert cpd.num_parameters == 4
    assert cpd.irrelevant({"a": 0}) == (C,)
    assert cpd.irrelevant({"a": 1}) == (B,)


def test_contract_in_another_order_with_names_and_an_idle_parent():
    idle = Discrete("idle", 2)
    named = [Rule({v.name: s for v, s in context.items()}, p) for context, p in MIXED]
    cpd = RuleCPD(X, named, given=(C, idle, A, B))
    check_contract(cpd, np.broadcast_to(MIXED_TABLE.transpose(2, 0, 1, 3)[:, None], (3, 2, 2, 2, 2)))


def test_rules_become_factors_where_that_is_smaller():
    idle = tuple(Discrete(f"idle{i}") for i in range(4))
    cpd = RuleCPD(X, MIXED, given=(*idle, A, B, C))
    assert len(cpd.factors()) == len(MIXED)
    assert all(f.size <= 12 for f in cpd.factors())


def test_rules_without_the_child_share_a_probability_between_its_states():
    cpd = RuleCPD(X, [({A: 0}, 0.5), ({A: 1, X: "no"}, 0.3), ({A: 1, X: "yes"}, 0.7)])
    check_contract(cpd, [[0.5, 0.5], [0.3, 0.7]])
    assert cpd.num_parameters == 1
    check_contract(RuleCPD(X, [({}, 0.5)]), [0.5, 0.5])
    check_contract(RuleCPD(X, [({}, 0.5)], given=A), [[0.5, 0.5], [0.5, 0.5]])
    check_contract(RuleCPD(Discrete("one", 1), [({}, 1.0)]), [1.0])


def test_rules_read_back():
    cpd = RuleCPD(X, MIXED)
    assert cpd.rules[0] == Rule({"a": 0, "b": 0, "x": "no"}, 0.1)
    assert cpd.rules[6].context["c"] == frozenset({1, 2})
    again = RuleCPD(X, cpd.rules, given=cpd.parents)
    np.testing.assert_array_equal(again.to_table().values, cpd.to_table().values)


def test_wide_rules_take_gates_and_no_table():
    parents = tuple(Discrete(f"p{i}") for i in range(40))
    wide = []
    for i, parent in enumerate(parents):
        above = dict.fromkeys(parents[:i], 1)
        wide += [({**above, parent: 0, X: "no"}, 0.25), ({**above, parent: 0, X: "yes"}, 0.75)]
    wide += [(dict.fromkeys(parents, 1), 0.5)]
    cpd = RuleCPD(X, wide)
    assert sum(f.size for f in cpd.factors()) < 1_000
    ones = {p: np.ones(2, np.int64) for p in parents}
    np.testing.assert_allclose(np.exp(cpd.log_probability({**ones, X: np.array([0, 1])})), [0.5, 0.5])


@pytest.mark.parametrize(
    ("listed", "error", "message"),
    [
        (MIXED[:-1], ModelError, r"no rule applies at \(a=1, b=0, c=1, x='yes'\)"),
        ([*MIXED, ({C: 0, B: 1}, 0.5)], ModelError, "rules 2, 8 all apply"),
        ([({X: "no"}, 0.5), ({X: "yes"}, 0.4)], ModelError, "sums to 0.9"),
        ([({X: "no"}, 1.5), ({X: "yes"}, -0.5)], ModelError, "the entry -0.5"),
        ([({"x": "no"}, 0.5), ({"x": "yes"}, 0.5)], ScopeError, "Name variables, or give given="),
        ([({A: ()}, 0.5)], ModelError, "allows no state of a"),
        ([({X: "maybe"}, 0.5)], ValueError, "Unknown state 'maybe'"),
    ],
)
def test_bad_rules_are_refused(listed, error, message):
    with pytest.raises(error, match=message):
        RuleCPD(X, listed)


def test_too_many_contexts_are_refused(monkeypatch):
    monkeypatch.setattr(rules, "MAX_LEAVES", 3)
    with pytest.raises(TooLarge, match="more than 3 contexts"):
        RuleCPD(X, MIXED)


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_rules_over_random_boxes(seed):
    """Cut the parents' joint states into boxes at random; each box has a row, each cell of the row a rule."""
    rng = np.random.default_rng(seed)
    parents = tuple(Discrete(f"p{i}", int(rng.integers(1, 4))) for i in range(3))
    boxes = [[tuple(range(p.num_states)) for p in parents]]
    for _ in range(4):
        box = boxes.pop(int(rng.integers(len(boxes))))
        axis = int(rng.integers(3))
        cut = int(rng.integers(1, 4))
        halves = [half for half in (box[axis][:cut], box[axis][cut:]) if half]
        boxes += [[*box[:axis], half, *box[axis + 1 :]] for half in halves]
    rows = oracle.random_rows(rng, (len(boxes), 2), deterministic=0.2, zeros=0.2)
    rows[-1] = rows[0]
    listed = [
        Rule({**dict(zip(parents, map(set, box), strict=True)), X: state}, row[code])
        for box, row in zip(boxes, rows, strict=True)
        for code, state in enumerate(X.states)
    ]
    table = np.zeros([*(p.num_states for p in parents), 2])
    for box, row in zip(boxes, rows, strict=True):
        for cell in itertools.product(*box):
            table[cell] = row
    cpd = RuleCPD(X, [listed[i] for i in rng.permutation(len(listed))], given=parents)
    check_factors(cpd, table)
    check_numbers(cpd, table)
    check_irrelevance(cpd, table, 0.0)


def test_unknown_names_are_refused():
    with pytest.raises(ScopeError, match="Did you mean 'a'"):
        RuleCPD(X, [({"aa": 0}, 0.5)], given=A)


def test_statistics_count_rules_and_estimates_are_ratios():
    cpd = RuleCPD(X, MIXED)
    rows = random_rows(cpd, 500, 1)
    expected = np.zeros(8)
    for a, b, c, x in zip(*(rows[v] for v in (A, B, C, X)), strict=True):
        group = (0 if b == 0 else 1) if a == 0 else (2 if c == 0 else 3)
        expected[2 * group + x] += 1
    assert cpd.statistics(rows).tolist() == expected.tolist()
    pairs = (expected + 1).reshape(4, 2)
    learned = cpd.from_statistics(expected, Dirichlet(1.0))
    np.testing.assert_allclose(learned.probability, (pairs / pairs.sum(axis=1, keepdims=True)).reshape(-1), rtol=1e-12)


def test_unseen_contexts_follow_the_policy():
    cpd = RuleCPD(X, MIXED)
    counts = [1, 3, 0, 0, 1, 1, 1, 1]
    assert cpd.from_statistics(counts).probability[:4].tolist() == [0.25, 0.75, 0.5, 0.5]
    with pytest.raises(DataError, match=r"data: \(a=0, b=1\)"):
        cpd.from_statistics(counts, unseen="raise")


def solved(rule_of, counts):
    return shared_probabilities(np.array(rule_of), np.array(counts, float))


def test_rows_of_their_own_are_ratios():
    np.testing.assert_allclose(solved([[0, 1], [2, 3]], [3, 1, 0, 2]), [0.75, 0.25, 0.0, 1.0])


def test_a_parameter_used_twice_in_a_row_is_halved():
    # p0 + 2 p1 = 1: maximize 2 log p0 + 4 log p1.
    np.testing.assert_allclose(solved([[0, 1, 1]], [2, 4]), [1 / 3, 1 / 3])


def test_overlapping_rows_reach_the_constrained_optimum():
    # Rows (p0, p1) and (p0, p2): so p1 = p2 = 1 - p0, and the optimum is p0 = M0 / (M0 + M1 + M2).
    np.testing.assert_allclose(solved([[0, 1], [0, 2]], [6, 3, 1]), [0.6, 0.4, 0.4], atol=1e-7)


def test_overlapping_rows_meet_every_sum():
    rng = np.random.default_rng(0)
    rule_of = np.array([[0, 1, 2], [0, 3, 4], [5, 1, 4], [6, 7, 8]])
    for _ in range(5):
        counts = rng.integers(0, 20, size=9).astype(float)
        p = shared_probabilities(rule_of, counts)
        np.testing.assert_allclose(p[rule_of].sum(axis=1), 1.0, atol=1e-10)
        assert (p >= 0).all()
        score = (counts[counts > 0] * np.log(p[counts > 0])).sum()
        table = occurrences(rule_of, 9)
        kernel = np.linalg.svd(table)[2][np.linalg.matrix_rank(table) :]
        for direction in (*kernel, *-kernel):  # no feasible move improves
            moved = p + 1e-4 * direction
            if (moved >= 0).all() and (moved[counts > 0] > 0).all():
                assert (counts[counts > 0] * np.log(moved[counts > 0])).sum() <= score + 1e-7


def test_groups_without_rows_are_uniform_or_refused():
    assert solved([[0, 1], [2, 3]], [1, 1, 0, 0])[2:].tolist() == [0.5, 0.5]
    a, x = Discrete("a"), Discrete("x")
    cpd = RuleCPD(x, [({a: u, x: v}, 0.5) for u in (0, 1) for v in (0, 1)])
    with pytest.raises(DataError, match="1 of 2 contexts"):
        cpd.from_statistics([1, 1, 0, 0], unseen="raise")
    y = Discrete("y", 3)
    shared = RuleCPD(y, [({y: 0}, 0.5), ({a: 0, y: 1}, 0.5), ({a: 0, y: 2}, 0.0), ({a: 1, y: {1, 2}}, 0.25)])
    with pytest.raises(DataError, match="there are no rows"):
        shared.from_statistics(np.zeros(4), unseen="raise")


def test_directions_keep_every_sum():
    table = occurrences(np.array([[0, 1, 2], [0, 3, 3]]), 4)
    free, directions = null_space(table)
    np.testing.assert_allclose(directions @ table.T, 0.0, atol=1e-12)
    np.testing.assert_allclose(directions[:, free], np.eye(2), atol=1e-12)


@pytest.mark.parametrize("rule", [({A: 0}, [0.3, 0.7]), ({A: 0}, "half"), ({A: 0, X: "no"},), (0.5, {A: 0})])
def test_what_is_no_rule_is_refused_by_what_it_is(rule):
    with pytest.raises(ModelError, match=r"one probability; found|pair of a context and a probability"):
        RuleCPD(X, [rule, ({A: 1}, 0.5)])
