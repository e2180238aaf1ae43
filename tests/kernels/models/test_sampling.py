"""The compiled forward pass against a plain Python one that follows the same random words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sepset.kernels.models import sampling


@pytest.fixture(autouse=True)
def wrapping_words():
    """Random words wrap around, which NumPy reports where kernels run uncompiled."""
    with np.errstate(over="ignore"):
        yield


MASK = (1 << 64) - 1


def rotated(word: int, by: int) -> int:
    return ((word << by) | (word >> (64 - by))) & MASK


def xoshiro(state: list[int], count: int) -> list[int]:
    """The reference generator xoshiro256++ in unbounded integers."""
    words = []
    for _ in range(count):
        words.append((rotated((state[0] + state[3]) & MASK, 23) + state[0]) & MASK)
        shifted = (state[1] << 17) & MASK
        state[2] ^= state[0]
        state[3] ^= state[1]
        state[1] ^= state[2]
        state[0] ^= state[3]
        state[2] ^= shifted
        state[3] = rotated(state[3], 45)
    return words


def test_uniform_numbers_are_those_of_the_reference_generator():
    # The first words of xoshiro256++ from the state 1, 2, 3, 4, as its authors' C code prints them.
    assert xoshiro([1, 2, 3, 4], 4) == [41943041, 58720359, 3588806011781223, 3591011842654386]
    state = np.random.SeedSequence(7).generate_state(4, np.uint64)
    expected = [(word >> 11) / 2**53 for word in xoshiro(state.tolist(), 500)]
    out = np.empty(500)
    sampling.fill_uniform(state, out, 200)
    sampling.fill_uniform(state, out[200:], 300)
    assert out.tolist() == expected
    assert (out >= 0).all()
    assert (out < 1).all()


@given(st.lists(st.floats(0, 1), max_size=40), st.floats(0, 1))
@settings(max_examples=50)
def test_search_counts_thresholds(thresholds, u):
    ordered = np.sort(np.array(thresholds, np.float64))
    padded = np.concatenate([[2.0], ordered])
    assert sampling.search(padded, 1, len(ordered), u) == sum(t <= u for t in thresholds)


def plain_forward(cards, parents, tables, num_rows, state):
    """Draw codes a tile and a variable at a time, by counting thresholds."""
    codes = np.zeros((len(cards), num_rows), np.int64)
    words = state.tolist()
    for first in range(0, num_rows, sampling.TILE):
        last = min(num_rows, first + sampling.TILE)
        for child, card in enumerate(cards):
            if card == 1:
                continue
            uniform = [(w >> 11) / 2**53 for w in xoshiro(words, last - first)]
            for i, u in zip(range(first, last), uniform, strict=True):
                row = tables[child][tuple(codes[p, i] for p in parents[child])]
                codes[child, i] = sum(t <= u for t in row[:-1])
    return codes


@pytest.mark.parametrize("dtype", [np.int8, np.int32])
def test_forward_is_the_plain_pass(dtype):
    rng = np.random.default_rng(3)
    cards, parents = [2, 3, 1, 20, 5, 2], [(), (0,), (1,), (1, 0), (3, 2, 1), (4,)]
    tables = [
        np.cumsum(rng.dirichlet(np.ones(k), [cards[p] for p in ps]), -1) for k, ps in zip(cards, parents, strict=True)
    ]
    flat = [t[..., :-1].reshape(-1) for t in tables]
    strides = []
    for child, ps in enumerate(parents):
        sizes = [cards[child] - 1, *(cards[p] for p in reversed(ps[1:]))]
        strides += np.cumprod(sizes)[: len(ps)][::-1].tolist()
    num_rows = sampling.TILE + 100
    codes = np.empty((6, num_rows), dtype)
    state = np.random.SeedSequence(5).generate_state(4, np.uint64)
    sampling.forward(
        codes,
        0,
        num_rows,
        np.arange(6),
        np.array(cards) - 1,
        np.cumsum([0, *(f.size for f in flat[:-1])]),
        np.cumsum([0, *(len(p) for p in parents)]),
        np.array([p for ps in parents for p in ps]),
        np.array(strides),
        np.concatenate(flat),
        state.copy(),
    )
    np.testing.assert_array_equal(codes, plain_forward(cards, parents, tables, num_rows, state))
