"""Scales and strides of factors end to end, beside numpy's own."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sepset.kernels.compiled.stores import LAYOUT, settle
from support.blocks import in_blocks
from support.small_contractions import compressed


def settled(tables, scopes, cards, near=60, safe=400):
    values = np.concatenate([np.ravel(table) for table in tables]) if tables else np.zeros(0)
    return settle(values, *compressed(scopes), np.array(cards, dtype=np.int64), near, safe)


@in_blocks("seed", range(30))
def test_strides_are_those_of_arrays_in_c_order(seed):
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, 5, 6).tolist()
    scopes = [tuple(rng.permutation(6)[: rng.integers(0, 5)].tolist()) for _ in range(5)]
    tables = [rng.random([cards[v] for v in scope]) for scope in scopes]
    layout, shifts, is_safe, has_zeros = settled(tables, scopes, cards)
    start, members = compressed(scopes)
    assert layout[:LAYOUT].tolist() == [5, len(members), 6]
    strides = [step // 8 for table in tables for step in table.strides]
    offsets = np.cumsum([0, *(np.size(table) for table in tables)])
    assert layout[LAYOUT:].tolist() == [*start, *members, *strides, *offsets, *cards]
    assert len(shifts) == 0
    assert is_safe
    assert not has_zeros


@pytest.mark.parametrize("power", [0, 59, 60, 61, 500, -59, -61, -62, -500])
def test_a_factor_far_from_one_is_brought_near(power):
    table = np.array([0.0, 0.75 * 2.0**power, 0.5 * 2.0**power])
    expected = math.frexp(table.max())[1]
    _, shifts, is_safe, has_zeros = settled([table], [(0,)], [3])
    assert shifts.tolist() == ([expected] if abs(expected) > 60 else [])
    assert is_safe
    assert has_zeros


def test_ranges_are_judged_factor_by_factor_and_zeros_do_not_count():
    far = [np.array([1.0, 0.0]), np.array([2.0**-300, 0.0]), np.array([2.0**300, 0.0])]
    assert settled(far, [(0,)] * 3, [2])[2]
    assert settled([np.array([1.0, 2.0**-399])], [(0,)], [2])[2]
    assert not settled([np.array([1.0, 2.0**-401])], [(0,)], [2])[2]
    assert len(settled([np.zeros(2)], [(0,)], [2])[1]) == 0
    assert settled([np.ones(2), np.full(2, 2.0**100)], [(0,)] * 2, [2])[1].tolist() == [0, 101]


@in_blocks("seed", range(10))
def test_a_zero_is_found_wherever_it_is(seed):
    rng = np.random.default_rng(seed)
    tables = [rng.random(size) + 0.1 for size in (3, 70, 5)]
    assert not settled(tables, [(0,), (1,), (2,)], [3, 70, 5])[3]
    table = tables[rng.integers(3)]
    table[rng.integers(len(table))] = rng.choice([0.0, -0.0])
    assert settled(tables, [(0,), (1,), (2,)], [3, 70, 5])[3]


def test_no_factors():
    layout, shifts, is_safe, has_zeros = settled([], [], [2])
    assert (layout.tolist(), len(shifts), is_safe, has_zeros) == ([0, 0, 1, 0, 0, 2], 0, True, False)
