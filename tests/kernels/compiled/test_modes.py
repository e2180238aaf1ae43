"""The codes of largest products, root first."""

from __future__ import annotations

import math

import numpy as np

from sepset.base.threads import NEVER
from sepset.kernels.compiled.modes import most_probable


def laid_out(scopes, tables, cards):
    """Tensors one after the other in a workspace, with their offsets and compressed scopes."""
    sizes = [table.size for table in tables]
    offsets = np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64)
    bounds = np.concatenate([[0], np.cumsum([len(scope) for scope in scopes])]).astype(np.int64)
    pool = np.array([r for scope in scopes for r in scope], np.int64)
    return np.concatenate([table.reshape(-1) for table in tables]), offsets, bounds, pool, np.array(cards, float)


def starts(rows):
    return np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)


def asked(made, choices, largest, is_step=0):
    tensors, residuals = [c[0] for c in choices], [c[1] for c in choices]
    flat = (np.array([x for row in rows for x in row], np.int64) for rows in (tensors, residuals))
    ends = np.full(len(choices), is_step, np.uint8), largest, 1, NEVER
    return most_probable(*made, starts(tensors), next(flat), starts(residuals), next(flat), *ends)


def test_each_choice_is_the_first_largest_product():
    """Against NumPy, with ties and zeros: two choices, the second given the first."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        cards = rng.integers(1, 4, 4).tolist()
        scopes = [sorted(rng.permutation(4)[: rng.integers(1, 5)].tolist()) for _ in range(4)]
        tables = [rng.integers(0, 4, [cards[r] for r in scope]).astype(float) for scope in scopes]
        first = [t for t, scope in enumerate(scopes) if set(scope) <= {2, 3}]
        made = laid_out(scopes, tables, cards)
        codes, is_in_range, _ = asked(made, [(first, [2, 3]), (range(4), [0, 1])], math.prod(cards))
        assert is_in_range
        joint = np.ones(cards)
        for scope, table in zip(scopes, tables, strict=True):
            joint = joint * table.reshape([cards[r] if r in scope else 1 for r in range(4)])
        roots = np.ones(cards[2:])
        for t in first:
            roots = roots * tables[t].reshape([cards[r] if r in scopes[t] else 1 for r in (2, 3)])
        expected = np.unravel_index(int(roots.argmax()), roots.shape)
        assert codes[2:].tolist() == [int(c) for c in expected]
        inner = joint[(slice(None), slice(None), *expected)]
        assert codes[:2].tolist() == [int(c) for c in np.unravel_index(int(inner.argmax()), inner.shape)]


def test_choices_in_parts_are_those_made_at_once():
    """However few joint states are weighed together; tables of thirds have ties that rounding hides."""
    for seed in range(60):
        rng = np.random.default_rng([seed, 1])
        cards = rng.integers(1, 4, 4).tolist()
        scopes = [sorted(rng.permutation(4)[: rng.integers(1, 4)].tolist()) for _ in range(rng.integers(1, 6))]
        tables = [rng.integers(0, 3, [cards[r] for r in scope]) / 3.0 * 0.7 for scope in scopes]
        made = laid_out(scopes, tables, cards)
        joint = np.ones(cards)
        for scope, table in zip(scopes, tables, strict=True):
            joint = joint * np.rint(table / 0.7 * 3.0).reshape([cards[r] if r in scope else 1 for r in range(4)])
        if not joint.any():
            continue
        backward = joint.transpose(3, 2, 1, 0)
        expected = np.unravel_index(int(backward.argmax()), backward.shape)[::-1]
        for largest in (max(cards), 4, 6, 9, 81):
            codes, is_in_range, _ = asked(made, [(range(len(scopes)), [3, 2, 1, 0])], max(largest, *cards))
            assert is_in_range
            assert codes.tolist() == [int(c) for c in expected]


def test_ties_end_choices_that_are_steps():
    for row, is_tied in (([1.0, 3.0, 3.0], True), ([1.0, 3.0, 2.9], False), ([0.0, 0.1 + 0.2, 0.3], True)):
        made = laid_out([(0,)], [np.array(row)], [3])
        codes, is_in_range, is_ended = asked(made, [((0,), (0,))], 3, is_step=1)
        assert (codes.tolist(), is_in_range, is_ended) == ([1], True, is_tied)
        assert not asked(made, [((0,), (0,))], 3)[2]


def test_a_product_that_leaves_the_range_of_floats_is_said():
    small = np.array([1e-200, 1.0])
    made = laid_out([(0,)] * 3, [small] * 3, [2])
    assert not asked(made, [((0, 1, 2), (0,))], 2)[1]
    zero = laid_out([(0,)] * 3, [np.array([0.0, 1.0])] * 3, [2])
    codes, is_in_range, _ = asked(zero, [((0, 1, 2), (0,))], 2)
    assert is_in_range
    assert codes.tolist() == [1]


def test_many_variables_with_one_state_have_it():
    made = laid_out([tuple(range(100))], [np.ones(1)], [1] * 100)
    codes, is_in_range, _ = asked(made, [((0,), tuple(range(100)))], 1)
    assert is_in_range
    assert not codes.any()
