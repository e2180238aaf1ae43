r"""Eight bytes of a text at a time, as a word whose lowest byte is the first of them.

Written as arithmetic that compilers know: counting ones, the upper half of a product and eight neighboring bytes are
one instruction each.

Reference: Warren, Hacker's Delight, sections 5-1 and 8-2; Lemire, Number Parsing at a Gigabyte per Second (2021).
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes
from sepset.kernels.kernel import kernel

_ONE, _HALF, _FEW = np.uint64(1), np.uint64(0xFFFFFFFF), np.uint64(32)
_ZEROS, _LOW, _HIGH = np.uint64(0x3030303030303030), np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x8080808080808080)


@kernel(borrows=True, inner=True)
def word_at(text: Bytes, at: int) -> np.uint64:
    """The eight bytes that start there; those after the end of the text are zero."""
    return _inner_word(text, np.uint64(at)) if at + 8 <= len(text) else last_word(text, at)


@kernel(borrows=True)
def _inner_word(text: Bytes, at: np.uint64) -> np.uint64:
    word = np.uint64(0)
    for place in range(8):
        word |= np.uint64(text[at + np.uint64(place)]) << np.uint64(8 * place)
    return word


@kernel(borrows=True, inner=True)
def last_word(text: Bytes, at: int) -> np.uint64:
    """The fewer than eight bytes at the end of a text."""
    word = np.uint64(0)
    for place in range(len(text) - 1, at - 1, -1):
        word = word << np.uint64(8) | np.uint64(text[place])
    return word


@kernel(borrows=True)
def _num_ones(word: np.uint64) -> np.uint64:
    """The number of bits that are one: of each pair, then of each four, then of all."""
    pairs = word - (word >> _ONE & np.uint64(0x5555555555555555))
    fours = (pairs & np.uint64(0x3333333333333333)) + (pairs >> np.uint64(2) & np.uint64(0x3333333333333333))
    return (fours + (fours >> np.uint64(4)) & _LOW) * np.uint64(0x0101010101010101) >> np.uint64(56)


@kernel(borrows=True, inner=True)
def other_bytes(word: np.uint64) -> np.uint64:
    """The highest bit of each byte that is not a digit; after the first of them also of some that are."""
    apart = word ^ _ZEROS
    return (apart + np.uint64(0x7676767676767676) | apart) & _HIGH


@kernel(borrows=True, inner=True)
def num_before(marks: np.uint64) -> int:
    """The number of bytes before the first whose highest bit is marked; eight if none is."""
    return int(np.int64(_num_ones(marks - _ONE & ~marks) >> np.uint64(3)))


@kernel(borrows=True, inner=True)
def digits_in(word: np.uint64) -> np.uint64:
    """The number that eight digits are: pairs of them, then fours, then all."""
    pairs = (word & _LOW) * np.uint64(10 << 8 | 1) >> np.uint64(8) & np.uint64(0x00FF00FF00FF00FF)
    fours = pairs * np.uint64(100 << 16 | 1) >> np.uint64(16) & np.uint64(0x0000FFFF0000FFFF)
    return fours * np.uint64(10000 << 32 | 1) >> _FEW


@kernel(borrows=True, inner=True)
def num_bits(word: np.uint64) -> int:
    """The number of bits of a word above zero, from the exponent of a double that only the highest one decides."""
    return int(np.float64(word & ~(word >> _ONE)).view(np.int64) >> 52) - 1022


@kernel(borrows=True, inner=True)
def upper_product(a: np.uint64, b: np.uint64) -> np.uint64:
    """The upper word of the product of two words."""
    a_low, a_high, b_low, b_high = a & _HALF, a >> _FEW, b & _HALF, b >> _FEW
    cross = a_high * b_low + (a_low * b_low >> _FEW)
    other = a_low * b_high + (cross & _HALF)
    return a_high * b_high + (cross >> _FEW) + (other >> _FEW)
