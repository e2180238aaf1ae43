"""Rotations keep a tree a tree: every input and every product is used once, after its operands."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.kernels.compiled.trees import BYTES_PER_WORD, WORD, anneal, leaves

RATES = np.array([0.1, 3.0, 0.5, 100.0])


def given(rng, num_leaves, num_variables):
    """Leaves over a few variables each, in words, and a chain of products."""
    words = -(-num_variables // WORD)
    scopes = np.zeros((num_leaves, words), np.int64)
    for i in range(num_leaves):
        for r in rng.choice(num_variables, 3).tolist():
            scopes[i, r // WORD] |= 1 << r % WORD
    rows = np.array([(0 if i == 1 else num_leaves + i - 2, i) for i in range(1, num_leaves)], dtype=np.int64)
    products = 2.0 ** np.array([[bin(v).count("1") for v in range(256)]] * (words * BYTES_PER_WORD))
    return rows, scopes, np.ones(num_leaves, np.uint8), np.zeros(words, np.int64), products, RATES


@pytest.mark.parametrize("num_variables", [5, WORD, WORD + 1, 3 * WORD])
@pytest.mark.parametrize("sharpness", [0.1, 5.0, np.inf])
def test_every_node_is_used_once_after_its_operands(num_variables, sharpness):
    parts = given(np.random.default_rng(num_variables), 30, num_variables)
    rows, cost, first, num_members = anneal(*parts, np.full(3, sharpness), 500, 7, np.zeros(1, np.uint8))
    assert sorted(rows.ravel().tolist()) == list(range(30 + 28))
    assert (rows.max(axis=1) < 30 + np.arange(29)).all()
    assert cost <= first
    assert num_members <= 29 * num_variables


def test_without_stages_the_tree_is_that_given():
    parts = given(np.random.default_rng(0), 12, 20)
    rows, cost, first, _ = anneal(*parts, np.zeros(0), 100, 1, np.zeros(1, np.uint8))
    again, *_ = anneal(rows, *parts[1:], np.zeros(0), 100, 1, np.zeros(1, np.uint8))
    np.testing.assert_array_equal(rows, again)
    assert cost == first


def test_leaves_leave_out_variables_of_one_input_and_keep_the_kept():
    cards, bounds = np.array([2.0, 3.0, 4.0, 5.0]), np.array([0, 0, 2, 4, 5])
    pool, sizes = np.array([0, 1, 1, 2, 3]), np.array([1.0, 6.0, 12.0, 5.0])
    steps, none = np.array([[4, 1, 0], [5, 4, 2], [6, 5, 3]]), np.zeros(0, np.int64)
    rows, scopes, asked, kept, products = leaves(cards, bounds, pool, sizes, steps, 3, np.array([3]), np.array([2]), 0)
    assert rows.tolist() == [[0, 1], [3, 2]]
    assert scopes.ravel().tolist() == [0b10, 0b10, 0b1000]
    assert asked.tolist() == [0, 1, 0]
    assert kept.tolist() == [0b1000]
    assert products[0, 0b1101] == 2 * 4 * 5
    assert leaves(cards, bounds, pool, sizes, steps, 3, none, none, 2)[2].tolist() == [1, 1, 0]
