"""Partitions: leaves found by codes agree with plain routing, sizes add up, irrelevance is exact."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import given, settings, strategies as st

import oracle
from sepset.cpds.contexts import Choice, Gates, Node, Partition
from sepset.variables.variable import Discrete


def random_partition(seed):
    rng = np.random.default_rng(seed)
    variables = tuple(Discrete(f"v{i}", int(rng.integers(1, 4))) for i in range(4))
    leaves = itertools.count()

    def grow(left):
        if not left or rng.random() < 0.3:
            return next(leaves)
        axis = left[int(rng.integers(len(left)))]
        num_states = variables[axis].num_states
        labels = rng.integers(2, size=num_states)
        route = np.unique(labels, return_inverse=True)[1]
        rest = [a for a in left if a != axis]
        return Node(axis, tuple(int(r) for r in route), tuple(grow(rest) for _ in range(route.max() + 1)))

    return Partition(variables, grow(list(range(4)))), rng


def leaf_of(node, cell):
    while isinstance(node, Node):
        node = node.branches[node.route[cell[node.axis]]]
    return node


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_leaves_agree_with_plain_routing(seed):
    partition, _ = random_partition(seed)
    cells = list(itertools.product(*(range(v.num_states) for v in partition.variables)))
    expected = [leaf_of(partition.root, cell) for cell in cells]
    rows = {v: np.array([cell[axis] for cell in cells]) for axis, v in enumerate(partition.variables)}
    assert partition.locate(rows, len(cells), "me").tolist() == expected
    sizes = [partition.size(leaf) for leaf in range(partition.num_leaves)]
    assert sizes == np.bincount(expected, minlength=partition.num_leaves).tolist()
    for leaf in range(partition.num_leaves):
        inside = partition.indicator(leaf)
        assert inside.shape == tuple(v.num_states for v in partition.scope(leaf))
        for cell, found in zip(cells, expected, strict=True):
            assert inside[tuple(cell[axis] for axis in partition.tested[leaf])] == (found == leaf)


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_irrelevance_agrees_with_enumeration(seed):
    partition, rng = random_partition(seed)
    values = rng.integers(2, size=(partition.num_leaves, 1)).astype(float)
    variables = partition.variables
    cells = list(itertools.product(*(range(v.num_states) for v in variables)))
    chosen = [axis for axis in range(4) if rng.random() < 0.4]
    fixed = {axis: int(rng.integers(variables[axis].num_states)) for axis in chosen}
    alive = [c for c in cells if all(c[a] == code for a, code in fixed.items())]

    def matters(axis):
        for cell in alive:
            other = (*cell[:axis], 0, *cell[axis + 1 :])
            if values[leaf_of(partition.root, cell), 0] != values[leaf_of(partition.root, other), 0]:
                return True
        return False

    expected = tuple(v for axis, v in enumerate(variables) if axis not in fixed and not matters(axis))
    assert partition.irrelevant(values, {variables[a]: code for a, code in fixed.items()}) == expected


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_gates_multiply_out_to_the_tree(seed):
    partition, rng = random_partition(seed)
    child = Discrete("x", 2)
    rows = rng.random((partition.num_leaves, 2))
    gates = Gates.of(child, partition)
    assert Gates.entries(partition, 2) == sum(math.prod([v.num_states for v in scope]) for scope in gates.scopes)
    if isinstance(partition.root, int) or len(gates.auxiliaries) > 5:
        return
    scope = (*partition.variables, child, *gates.auxiliaries)
    cards = {v.name: v.num_states for v in scope}
    plain = [(tuple(v.name for v in f.scope), np.array(f.values)) for f in gates.factors(rows)]
    total = oracle.marginal(plain, cards, [v.name for v in scope[:5]], {})
    cells = list(itertools.product(*(range(v.num_states) for v in partition.variables)))
    expected = np.array([rows[leaf_of(partition.root, cell)] for cell in cells]).reshape(total.shape)
    np.testing.assert_allclose(total, expected, rtol=0, atol=1e-12)


@given(st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_the_choice_of_a_leaf_multiplies_out_to_the_tree(seed):
    partition, rng = random_partition(seed)
    child = Discrete("x", 2)
    rows = rng.random((partition.num_leaves, 2))
    choice = Choice.of(child, partition)
    factors = choice.factors(child, rows)
    assert Choice.entries(partition, 2) == sum(f.size for f in factors)
    scope = (*partition.variables, child, choice.leaf)
    plain = [(tuple(v.name for v in f.scope), np.array(f.values)) for f in factors]
    total = oracle.marginal(plain, {v.name: v.num_states for v in scope}, [v.name for v in scope[:-1]], {})
    cells = list(itertools.product(*(range(v.num_states) for v in partition.variables)))
    expected = np.array([rows[leaf_of(partition.root, cell)] for cell in cells]).reshape(total.shape)
    np.testing.assert_allclose(total, expected, rtol=0, atol=1e-12)


def test_a_partition_is_read_once_if_no_variable_is_tested_twice():
    a, b, c = (Discrete(name) for name in "abc")
    once = Node(0, (0, 1), (Node(1, (0, 1), (0, 1)), Node(2, (0, 1), (2, 3))))
    twice = Node(0, (0, 1), (Node(1, (0, 1), (0, 1)), Node(1, (0, 1), (2, 3))))
    assert Partition((a, b, c), once).is_read_once
    assert not Partition((a, b, c), twice).is_read_once
    assert Partition((a,), 0).is_read_once


def test_one_leaf_holds_everything():
    partition = Partition((Discrete("a", 3),), 0)
    assert (partition.num_leaves, partition.size(0), partition.describe(0)) == (1, 3, "()")
    assert partition.locate({}, 2, "me").tolist() == [0, 0]
