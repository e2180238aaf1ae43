"""Tree CPDs: the job application of the book, groups of states, and the contract."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.contexts import Gates
from sepset.cpds.priors.dirichlet import Dirichlet
from sepset.cpds.rules import RuleCPD
from sepset.cpds.tree import Split, TreeCPD
from sepset.errors import DataError, ModelError, ScopeError
from sepset.variables.variable import Discrete
from support.cpd_contract import check_contract, joint_states

A, S, L = Discrete("apply", ("a0", "a1")), Discrete("sat", ("s0", "s1")), Discrete("letter", ("l0", "l1"))
J = Discrete("job", ("j0", "j1"))
# The tree-CPD of Koller & Friedman, section 5.3.1.
JOB = Split(
    A, {"a0": [0.8, 0.2], "a1": Split(S, {"s0": Split(L, {"l0": [0.9, 0.1], "l1": [0.4, 0.6]}), "s1": [0.1, 0.9]})}
)


def job_row(a, s, letter):
    if a == 0:
        return [0.8, 0.2]
    if s == 1:
        return [0.1, 0.9]
    return [0.4, 0.6] if letter == 1 else [0.9, 0.1]


JOB_TABLE = np.array([[[job_row(a, s, letter) for letter in (0, 1)] for s in (0, 1)] for a in (0, 1)])


def test_the_job_application():
    cpd = TreeCPD(J, JOB)
    assert cpd.parents == (A, S, L)
    check_contract(cpd, JOB_TABLE)
    sizes = [cpd.partition.size(leaf) for leaf in range(cpd.partition.num_leaves)]
    assert sorted(sizes) == [1, 1, 2, 4]
    assert cpd.num_parameters == 4
    assert cpd.irrelevant({"apply": "a0"}) == (S, L)
    assert cpd.irrelevant({"apply": "a1", "sat": "s1"}) == (L,)
    assert [(c.context, c.irrelevant) for c in cpd.contexts()] == [
        ({"apply": "a0"}, (S, L)),
        ({"apply": "a1", "sat": "s1"}, (L,)),
    ]


def test_parents_may_be_reordered_and_added():
    idle = Discrete("idle", 3)
    cpd = TreeCPD(J, JOB, given=(idle, L, A, S))
    table = np.broadcast_to(JOB_TABLE.transpose(2, 0, 1, 3), (3, 2, 2, 2, 2))
    check_contract(cpd, table)
    assert cpd.irrelevant({}) == (idle,)


def comb(num_parents):
    """A tree that tests one parent after another, and its row at a joint state."""
    tree = [0.5, 0.5]
    for i in range(num_parents):
        tree = Split(Discrete(f"p{i}"), {0: [1 / (i + 2), 1 - 1 / (i + 2)], 1: tree})
    return tree


def comb_row(num_parents, cell):
    for i in reversed(range(num_parents)):
        if cell[num_parents - 1 - i] == 0:
            return [1 / (i + 2), 1 - 1 / (i + 2)]
    return [0.5, 0.5]


def test_leaves_become_factors_where_that_is_smaller():
    idle = tuple(Discrete(f"idle{i}") for i in range(4))
    cpd = TreeCPD(J, JOB, given=(*idle, A, S, L))
    assert sorted(f.size for f in cpd.factors()) == [4, 8, 16, 16]
    assert cpd.auxiliaries == ()


def test_deep_trees_become_gates():
    cpd = TreeCPD(J, comb(8))
    table = np.array([comb_row(8, cell) for cell in joint_states(cpd.parents)]).reshape((2,) * 9)
    assert len(cpd.auxiliaries) == 7
    product = cpd.factors()[0]
    for factor in cpd.factors()[1:]:
        product = product * factor
    np.testing.assert_allclose(product.project(cpd.scope).values, table, rtol=0, atol=1e-12)
    np.testing.assert_allclose(cpd.to_table().values, table, rtol=0, atol=1e-12)


def test_sixty_parents_take_no_table():
    cpd = TreeCPD(J, comb(60))
    assert sum(f.size for f in cpd.factors()) < 1_000
    rows = {p: np.array([1, 0]) for p in cpd.parents}
    found = np.exp(cpd.log_probability({**rows, J: np.array([0, 0])}))
    np.testing.assert_allclose(found, [0.5, 1 / 61], rtol=1e-12)


def test_groups_of_states_and_otherwise():
    color, size = Discrete("color", ("red", "green", "blue", "grey")), Discrete("size", 3)
    narrower = Split(color, {"red": [0.3, 0.7], "green": [0.6, 0.4]})
    tree = Split(color, {("red", "green"): Split(size, {0: narrower}, otherwise=[0.0, 1.0])}, otherwise=[0.5, 0.5])
    cpd = TreeCPD(J, tree)
    table = np.full((4, 3, 2), 0.5)
    for c, s in joint_states((color, size)):
        if c < 2:
            table[c, s] = [0.0, 1.0] if s else ([0.3, 0.7] if c == 0 else [0.6, 0.4])
    check_contract(cpd, table)
    again = TreeCPD(J, cpd.tree, given=cpd.parents)
    np.testing.assert_array_equal(again.to_table().values, table)


def test_equal_leaves_are_recognized():
    tree = Split(
        A, {"a0": Split(S, {"s0": [0.3, 0.7], "s1": [0.3, 0.7]}), "a1": Split(S, {"s0": [0.3, 0.7], "s1": [0.2, 0.8]})}
    )
    cpd = TreeCPD(J, tree)
    assert cpd.irrelevant({"apply": "a0"}) == (S,)
    check_contract(cpd, [[[0.3, 0.7], [0.3, 0.7]], [[0.3, 0.7], [0.2, 0.8]]])


def test_a_single_leaf_and_one_state_variables():
    check_contract(TreeCPD(J, [0.25, 0.75]), [0.25, 0.75])
    check_contract(TreeCPD(J, {"j1": 0.75, "j0": 0.25}), [0.25, 0.75])
    only = Discrete("only", 1)
    check_contract(TreeCPD(only, Split(only2 := Discrete("p", 1), {0: [1.0]})), [[1.0]])
    assert only2.num_states == 1


def test_statistics_pool_the_counts_of_each_leaf():
    cpd = TreeCPD(J, JOB)
    rng = np.random.default_rng(5)
    rows = {v: rng.integers(2, size=400) for v in cpd.scope}
    expected = np.zeros((4, 2))
    for a, s, letter, j in zip(rows[A], rows[S], rows[L], rows[J], strict=True):
        expected[0 if a == 0 else 3 if s == 1 else 1 + letter, j] += 1
    assert cpd.statistics(rows).tolist() == expected.reshape(-1).tolist()
    learned = cpd.from_statistics(expected, Dirichlet(2.0))
    np.testing.assert_allclose(learned.distributions, (expected + 2) / (expected + 2).sum(axis=1, keepdims=True))


def test_unseen_leaves_follow_the_policy():
    cpd = TreeCPD(J, JOB)
    assert cpd.from_statistics([1, 1, 0, 0, 1, 0, 0, 1]).distributions[1].tolist() == [0.5, 0.5]
    with pytest.raises(DataError, match="data: \\(apply='a1', sat='s0', letter='l0'\\)"):
        cpd.from_statistics([1, 1, 0, 0, 1, 0, 0, 1], unseen="raise")


@pytest.mark.parametrize(
    ("tree", "error", "message"),
    [
        (Split(A, {"a0": [0.5, 0.5]}), ModelError, "no branch for 'a1'"),
        (Split(A, {"a0": [0.5, 0.5], ("a0", "a1"): [0.5, 0.5]}), ModelError, "repeats a state"),
        (Split(A, {"a0": [0.5, 0.5], "a1": [0.5, 0.5]}, otherwise=[0.5, 0.5]), ModelError, "never reached"),
        (Split(A, {"a0": [0.5, 0.5], "a1": [0.5, 0.4]}), ModelError, r"\(apply='a1'\) sums to 0.9"),
        (Split(A, {"a0": [0.5, 0.5], "a1": [1.0]}), ModelError, "rows of 2 numbers"),
        (Split(A, {"a0": [0.5, 0.5], "a2": [1.0]}), ValueError, "Unknown state 'a2'"),
        (Split(J, {"j0": [0.5, 0.5], "j1": [0.5, 0.5]}), ScopeError, "twice"),
        (Split(A, {"a0": Split(A, {"a1": [0.5, 0.5]}), "a1": [0.5, 0.5]}), ModelError, "can never be reached"),
    ],
)
def test_bad_trees_are_refused(tree, error, message):
    with pytest.raises(error, match=message):
        TreeCPD(J, tree)


def test_tests_outside_the_parents_are_refused():
    with pytest.raises(ScopeError, match="tests sat, which is not among its parents"):
        TreeCPD(J, JOB, given=(A, L))


def test_tables_are_known_to_be_the_smallest_form_without_counting_the_others(monkeypatch):
    """Random trees, and rules with the same contexts."""
    rng, counted, num_tabled, entries = np.random.default_rng(0), [], 0, Gates.entries
    monkeypatch.setattr(Gates, "entries", lambda *args: counted.append(1) or entries(*args))
    for _ in range(60):
        parents = [Discrete(f"p{i}", int(rng.integers(2, 5))) for i in range(4)]
        child = Discrete("x", int(rng.integers(1, 4)))
        depth, rules = int(rng.integers(1, 5)), []

        def grow(left, context, child=child, depth=depth, rules=rules):
            row = rng.dirichlet(np.ones(child.num_states)).tolist()
            if not left or len(context) == depth or rng.random() < 0.2:
                rules += [({**context, child: k}, p) for k, p in enumerate(row)]
                return row
            v = left[int(rng.integers(len(left)))]
            rest = [p for p in left if p != v]
            return Split(v, {state: grow(rest, {**context, v: state}) for state in v.states})

        tree = TreeCPD(child, grow(parents, {}), given=parents)
        for cpd in (tree, RuleCPD(child, rules, given=parents)):
            before, is_tabled = len(counted), cpd.is_tabled
            num_tabled += is_tabled and len(counted) == before
            factors = cpd.factors()
            assert is_tabled == (len(factors) == 1 and {*factors[0].scope} == {*cpd.scope})
    assert num_tabled > 20
