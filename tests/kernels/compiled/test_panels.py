"""Sums of products by panels: those of einsum, wherever the axes are, compiled and as plain Python."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sepset.kernels.compiled import contraction, instructions as columns, loops, panels, tiles
from sepset.kernels.kernel import load
from support.blocks import in_blocks
from support.kernel_calls import run
from support.panel_instructions import panels as instruction
from support.small_contractions import uncompile
from support.tolerances import EXACT

GUARD = 7.0


def executed(sizes, axes, rng, *, swapped=False, maximize=False):
    """What an instruction leaves, and the sums or maxima by einsum."""
    op, groups = instruction(sizes, *axes, swapped=swapped)
    cards = {
        name: size
        for letter, part in zip("bmkn", sizes, strict=True)
        for name, size in (
            {letter: part} if isinstance(part, int) else {f"{letter}{i}": s for i, s in enumerate(part)}
        ).items()
    }
    numbers = {axis: i for i, axis in enumerate(cards)}
    tables = [rng.random([cards[axis] for axis in part]) for part in axes[:2]]
    size = math.prod(cards[axis] for axis in axes[2])
    w = np.concatenate([*(table.ravel() for table in tables), np.full(size, np.nan), [GUARD]])
    with np.errstate(all="ignore"):  # unsigned numbers go around, as in compiled code
        run(w, ops=[op], groups=groups, exponents=np.zeros(3, np.int64), maximize=maximize)
    assert w[-1] == GUARD
    terms = [axis for axis in cards if axis not in axes[2]]
    scopes = [[numbers[axis] for axis in part] for part in (axes[0], axes[1], [*axes[2], *terms])]
    whole = np.einsum(tables[0], scopes[0], tables[1], scopes[1], scopes[2]).reshape(size, -1)
    expected = whole.max(axis=1) if maximize else whole.sum(axis=1)
    return w[-1 - size : -1], expected


@pytest.fixture(params=["compiled", "plain"])
def _form(request, monkeypatch):
    load()
    if request.param == "plain":
        uncompile(monkeypatch, contraction, loops, tiles, panels)


@in_blocks("seed", range(120))
@pytest.mark.usefixtures("_form")
def test_any_order_of_axes(seed):
    rng = np.random.default_rng(seed)
    sizes = [rng.integers(1, 6, rng.integers(0, 3)).tolist() for _ in range(4)]
    names = [[f"{letter}{i}" for i in range(len(part))] for letter, part in zip("bmkn", sizes, strict=True)]
    b, m, k, n = names
    axes = [rng.permutation(np.array(part, object)).tolist() for part in ([*b, *m, *k], [*b, *k, *n], [*b, *m, *n])]
    for swapped in (False, True):
        for maximize in (False, True):
            found, expected = executed(sizes, axes, rng, swapped=swapped, maximize=maximize)
            np.testing.assert_allclose(found, expected, rtol=EXACT)


LARGE = {
    "more terms than a block": ((2, 33, 600, 21), "bmk", "bkn", "bmn"),
    "more columns than a block": ((1, 20, 256, 700), "bmk", "bkn", "bmn"),
    "rows in parts": ((1, 900, 70, 90), "bkm", "bnk", "bmn"),
    "neighbors are the batch": ((9, 17, 13, 19), "mkb", "knb", "mnb"),
    "a single row": ((3, 1, 40, 50), "bmk", "bkn", "bmn"),
    "a single column": ((3, 50, 40, 1), "bmk", "bkn", "bmn"),
    "short runs, many terms": ((2, 11, 300, [9, 9]), "bmk", ("b", "k", "n0", "n1"), ("b", "n0", "m", "n1")),
    "runs of eleven": ((3, 11, 11, [11, 11]), "bmk", ("b", "k", "n1", "n0"), ("n0", "b", "m", "n1")),
    "terms are neighbors": ((3, 9, 16, [11, 11]), "bmk", ("b", "n0", "n1", "k"), ("b", "n0", "m", "n1")),
    "neighbors of several blocks": ((2, 9, 600, 20), "bmk", "bnk", "bmn"),
    "neighbors that a block ends": ((2, 9, [6, 100], 20), ("b", "m", "k0", "k1"), ("b", "k0", "n", "k1"), "bmn"),
    "terms in turn": ((2, 5, [3, 11, 4], 30), ("b", "m", "k0", "k1", "k2"), ("b", "k0", "n", "k2", "k1"), "bmn"),
    "terms of two blocks": ((2, 5, [3, 9, 16], 30), ("b", "m", "k0", "k1", "k2"), ("b", "n", "k2", "k0", "k1"), "bmn"),
    "vectors are neighbors": (
        (2, 9, 5, [3, 11, 16]),
        "bmk",
        ("b", "n2", "k", "n0", "n1"),
        ("b", "m", "n0", "n1", "n2"),
    ),
    "of two axes": (
        (2, 4, 4, [3, 4, 2, 8]),
        "bmk",
        ("b", "n3", "n0", "k", "n1", "n2"),
        ("b", "m", "n0", "n1", "n2", "n3"),
    ),
    "vectors that overlap": ((2, 9, 5, [9, 13]), "bmk", ("b", "n1", "k", "n0"), ("b", "m", "n0", "n1")),
    "vectors of two blocks": ((2, 3, 250, [12, 48]), "bmk", ("b", "n1", "k", "n0"), ("b", "m", "n0", "n1")),
    "columns far apart": ((1, 5, 3, 3000), "bmk", "bnk", "bmn"),
    "less than a vector": ((2, 4, [20, 16], 3), ("b", "m", "k0", "k1"), ("b", "k1", "n", "k0"), "bmn"),
    "runs of sixteen": ((3, 20, 8, [4, 16]), "bmk", ("b", "n0", "k", "n1"), ("n0", "b", "m", "n1")),
}


@pytest.mark.parametrize("maximize", [False, True])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("case", LARGE)
def test_blocks_parts_and_vectors_that_overlap(case, swapped, maximize):
    load()
    sizes, *axes = LARGE[case]
    rng = np.random.default_rng(len(case))
    if maximize:  # einsum has no maxima: all products, of fewer terms
        sizes = tuple(min(size, 300) if isinstance(size, int) and i == 2 else size for i, size in enumerate(sizes))
        sizes = tuple(min(size, 60) if isinstance(size, int) and i != 2 else size for i, size in enumerate(sizes))
    found, expected = executed(sizes, axes, rng, swapped=swapped, maximize=maximize)
    np.testing.assert_allclose(found, expected, rtol=EXACT)


def test_cancelling_ends_the_work():
    load()
    op, groups = instruction((4, 16, 16, 16), "bmk", "bkn", "bmn")
    w = np.ones(3 * 4 * 256)
    run(w, ops=[op], groups=groups, exponents=np.zeros(3, np.int64), cancel=np.ones(1, np.uint8))
    assert (w == 1.0).all()


def test_zeros_and_tiny_numbers_stay():
    load()
    op, groups = instruction((1, 9, 5, 12), "bmk", "bkn", "bmn")
    left, right = np.zeros((9, 5)), np.full((5, 12), 2.0**-300)
    left[3, 2] = 2.0**-300
    w = np.concatenate([left.ravel(), right.ravel(), np.full(108, np.nan)])
    exponents = np.zeros(3, np.int64)
    run(w, ops=[op], groups=groups, exponents=exponents)
    found = w[105:].reshape(9, 12) * 2.0 ** float(exponents[2] + 600)
    np.testing.assert_array_equal(found, np.outer(np.arange(9) == 3, np.ones(12)))
    assert len(op) == columns.WIDTH
