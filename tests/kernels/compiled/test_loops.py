"""Nested loops: every pattern of strides and every mode against NumPy, and copies as transposes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sepset.kernels.compiled import contraction, instructions as columns, loops as kernels, tiles
from sepset.kernels.kernel import load
from support.kernel_calls import run
from support.small_contractions import uncompile
from support.tolerances import EXACT

NEVER = np.zeros(1, np.uint8)


def strides(cards, axes):
    found, step = dict.fromkeys(range(len(cards)), 0), 1
    for axis in reversed(axes):
        found[axis], step = step, step * cards[axis]
    return found


@pytest.mark.parametrize("mode", [kernels.SUM, kernels.MAX, kernels.SET])
@pytest.mark.parametrize("seed", range(8))
def test_every_mode_and_pattern_of_strides(seed, mode, monkeypatch):
    rng = np.random.default_rng(seed)
    cards = rng.integers(1, 5, int(rng.integers(2, 6))).tolist()
    ranks = range(len(cards))
    scopes = [rng.permutation(len(cards))[: rng.integers(1, len(cards) + 1)].tolist() for _ in range(3)]
    if mode == kernels.SET:
        scopes[2] = rng.permutation(len(cards)).tolist()
    a, b = (rng.random([cards[r] for r in scope]) for scope in scopes[:2])
    parts = [strides(cards, scope) for scope in scopes]
    groups = np.array([[cards[r], *(part[r] for part in parts)] for r in ranks], np.int64)
    size = math.prod(cards[r] for r in scopes[2])
    w = np.concatenate([np.ravel(a), np.ravel(b), np.zeros(size)])
    uncompile(monkeypatch, kernels, tiles)
    with np.errstate(all="ignore"):  # unsigned numbers go around, as in compiled code
        kernels.loops(w, a.size + b.size, 0, a.size, groups, 0, len(groups), mode, np.zeros(8, np.int64), NEVER)
    ones = [np.ones(card) for card in cards]
    order = [*scopes[2], *(r for r in ranks if r not in scopes[2])]
    extra = [part for r in ranks for part in (ones[r], [r])]
    whole = np.einsum(a, scopes[0], b, scopes[1], *extra, order).reshape(size, -1)
    expected = whole.max(axis=1) if mode == kernels.MAX else whole.sum(axis=1)
    np.testing.assert_allclose(w[a.size + b.size :], expected, rtol=1e-12)


@pytest.mark.parametrize("is_plain", [False, True])
@pytest.mark.parametrize("num", [1, 3, 4, 5, 8, 11])
@pytest.mark.parametrize("terms", [1, 7, 19, 64])
def test_several_rows_times_one(terms, num, is_plain, monkeypatch):
    load()
    if is_plain:
        uncompile(monkeypatch, contraction, kernels, tiles)
    rng = np.random.default_rng(terms + num)
    rows, ones = rng.random((3, num, terms)), rng.random((3, terms))
    for is_first in (False, True):
        op = np.zeros(columns.WIDTH, np.int64)
        places = (0, rows.size) if is_first else (rows.size, 0)
        op[[columns.A, columns.B]], op[columns.DST], op[columns.SIZE] = places, rows.size + ones.size, 3 * num
        op[columns.COUNT] = 3
        op[[columns.TENSOR_A, columns.TENSOR_B, columns.TENSOR_D]] = 0, 1, 2
        steps = [(num * terms, terms), (terms, 0), (1, 1)]
        pairs = steps if is_first else [(y, x) for x, y in steps]
        groups = [[size, *pair, to] for size, pair, to in zip((3, num, terms), pairs, (num, 1, 0), strict=True)]
        w = np.concatenate([rows.ravel(), ones.ravel(), np.full(3 * num, np.nan)])
        with np.errstate(all="ignore"):  # unsigned numbers go around, as in compiled code
            run(w, ops=[op], groups=groups, exponents=np.zeros(3, np.int64))
        expected = np.einsum("bik,bk->bi", rows, ones)
        np.testing.assert_allclose(w[-3 * num :], expected.ravel(), rtol=EXACT)


@pytest.mark.parametrize("shape", [(3, 4, 5), (70, 80), (2, 64, 64)])
def test_copies_are_transposes(shape, monkeypatch):
    source = np.arange(float(math.prod(shape))).reshape(shape)
    far, near = strides(shape, range(len(shape))), strides(shape, list(reversed(range(len(shape)))))
    groups = np.array([[shape[r], far[r], 0, near[r]] for r in reversed(range(len(shape)))], np.int64)
    w = np.concatenate([np.ravel(source), np.zeros(source.size)])
    uncompile(monkeypatch, kernels, tiles)
    with np.errstate(all="ignore"):
        kernels.copy(w, source.size, 0, groups, 0, len(groups), np.zeros(8, np.int64), NEVER)
    np.testing.assert_array_equal(w[source.size :], np.ravel(source.T))


def test_canceled_loops_write_nothing(monkeypatch):
    w = np.array([2.0, 3.0, 0.0])
    uncompile(monkeypatch, kernels, tiles)
    groups = np.array([[1, 0, 0, 0], [1, 1, 1, 1]], np.int64)
    kernels.loops(w, 2, 0, 1, groups, 0, 2, kernels.SET, np.zeros(8, np.int64), np.ones(1, np.uint8))
    assert w.tolist() == [2.0, 3.0, 0.0]
