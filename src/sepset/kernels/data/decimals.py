r"""Decimal numbers in text as the nearest doubles.

A number is $w \cdot 10^q = w \cdot 5^q \cdot 2^q$. The first bits of $w$ times the first 128 bits of $5^q$ are those of
the number, unless a run of ones leaves in doubt which way it is rounded; of more digits than a word holds, the first
ones decide, unless the next number of so many has another double. The few numbers in doubt are left to whoever asked
(Lemire, Number Parsing at a Gigabyte per Second, 2021).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from sepset.base.arraytypes import Bytes, UInt64s
from sepset.kernels.data.words import digits_in, num_before, num_bits, other_bytes, upper_product, word_at
from sepset.kernels.kernel import kernel

LEAST, MOST = -342, 308
"""The powers of ten between which a number of at most 19 digits is neither zero nor infinite."""

PLAIN, FRACTION, PADDED, HARD, BAD = 0, 1, 2, 4, 8
"""The kinds of cells: a whole number as Python prints it, another number, one with leading zeros, one whose
double is left open, or no number; as bits."""

_ONE = np.uint64(1)
_TENS = np.array([10**k for k in range(9)], np.uint64)
DIGITS = 19
"""The most digits that a word holds."""

PLUS, MINUS, POINT, ZERO, NINE = 43, 45, 46, 48, 57


@cache
def powers_of_five() -> UInt64s:
    """The first 128 bits of each power of five, in two words; those of -27 to -1 are rounded up, so that products
    with whole numbers that they divide come out whole.

    >>> [hex(word) for word in powers_of_five()[1 - LEAST].tolist()]
    ['0xa000000000000000', '0x0']
    """
    words = []
    for exponent in range(LEAST, MOST + 1):
        power = 5 ** abs(exponent)
        if exponent >= 0:
            bits = power << 128 >> power.bit_length() if power.bit_length() < 128 else power >> power.bit_length() - 128
        else:
            bits = (1 << power.bit_length() + 127) // power + (exponent >= -27)
        words.append((bits >> 64, bits & (1 << 64) - 1))
    return np.array(words, np.uint64)


@kernel(borrows=True)
def _scaled(digits: np.uint64, exponent: int, fives: UInt64s) -> float:
    """The double nearest to `digits` times ten to the exponent; NaN in doubt, below the normal numbers or above all."""
    bits, row = num_bits(digits), np.uint64(exponent - LEAST)
    word = digits << np.uint64(64 - bits)
    low, high = word * fives[row, 0], upper_product(word, fives[row, 0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        more = upper_product(word, fives[row, 1])
        low += more
        if more > low:
            high += _ONE
    if low == np.uint64(0xFFFFFFFFFFFFFFFF) and (exponent < -27 or exponent > 55):
        return np.nan
    top = high >> np.uint64(63)
    cut = top + np.uint64(9)
    mantissa = high >> cut
    power = ((217706 * exponent) >> 16) + bits + np.int64(top) + 1022
    if low <= _ONE and -4 <= exponent <= 23 and mantissa & np.uint64(3) == _ONE and mantissa << cut == high:
        mantissa &= ~_ONE
    mantissa = (mantissa + (mantissa & _ONE)) >> _ONE
    if power <= 0 or power + np.int64(mantissa >> np.uint64(53)) >= 2047:
        return np.nan
    return float(np.int64(((power - 1) << 52) + np.int64(mantissa)).view(np.float64))


@kernel(borrows=True)
def _is_word(text: Bytes, start: int, stop: int, word: int) -> bool:
    """Whether three letters stand there, in either case; `word` holds them in lower case."""
    if stop - start != 3:
        return False
    found = 0
    for at in range(start, stop):
        found = found << 8 | int(text[at]) | 32
    return found == word


@kernel(borrows=True)
def word_in(text: Bytes, start: int, stop: int) -> tuple[float, int]:
    """The meaning of `nan`, `inf` or `-inf`, in any case; nothing else is a number in words."""
    if _is_word(text, start, stop, 0x6E616E):
        return np.nan, FRACTION
    if _is_word(text, start, stop, 0x696E66):
        return np.inf, FRACTION
    if start < stop and text[start] == MINUS and _is_word(text, start + 1, stop, 0x696E66):
        return -np.inf, FRACTION
    return np.nan, BAD


@kernel(borrows=True)
def _first_digits(text: Bytes, start: int, stop: int) -> tuple[np.uint64, int]:
    """As many digits as a word holds, from the first that is not zero on, and how many more there are."""
    digits, count = np.uint64(0), 0
    for at in range(start, stop):
        if text[at] != POINT and (count > 0 or text[at] != ZERO):
            if count < DIGITS:
                digits = digits * np.uint64(10) + np.uint64(int(text[at]) - ZERO)
            count += 1
    return digits, max(count - DIGITS, 0)


@kernel(borrows=True)
def _between(digits: np.uint64, exponent: int, fives: UInt64s) -> float:
    """The double nearest to all numbers from `digits` to the next, times ten to the exponent; NaN if it is not one."""
    if not LEAST <= exponent <= MOST:
        return np.nan
    found = _scaled(digits, exponent, fives)
    return found if found == _scaled(digits + _ONE, exponent, fives) else np.nan


@kernel(borrows=True)
def _power_at(text: Bytes, at: int, stop: int) -> tuple[int, int]:
    """The power of ten after an `e`, and where it ends; -1 if there is none."""
    is_below = at < stop and text[at] == MINUS
    if at < stop and (text[at] == PLUS or is_below):
        at += 1
    start, power = at, 0
    while at < stop and ZERO <= text[at] <= NINE:
        power = min(power * 10 + int(text[at]) - ZERO, 1_000_000)
        at += 1
    return (-power if is_below else power), (at if at > start else -1)


@kernel(borrows=True, inline=True)
def _few_digits_at(text: Bytes, at: int, stop: int) -> tuple[np.uint64, int]:
    """The digits that start there, and where they end: one by one, since those before a point are few."""
    digits = np.uint64(0)
    while at < stop and ZERO <= text[at] <= NINE:
        digits = digits * np.uint64(10) + np.uint64(int(text[at]) - ZERO)
        at += 1
    return digits, at


@kernel(borrows=True, inline=True)
def _digits_at(text: Bytes, at: int, stop: int, digits: np.uint64) -> tuple[np.uint64, int]:
    """The digits so far with those that start there, and where they end: eight at a time, and the rest of them."""
    word = word_at(text, at)
    others = other_bytes(word)
    while others == 0 and at + 8 <= stop:
        digits = digits * np.uint64(100_000_000) + digits_in(word)
        at += 8
        word = word_at(text, at)
        others = other_bytes(word)
    count = min(num_before(others), stop - at)
    half = np.uint64(4 * (8 - count))
    return digits * _TENS[count] + digits_in(word << half << half), at + count


@kernel(borrows=True, inline=True)
def decimal_at(text: Bytes, start: int, stop: int, fives: UInt64s) -> tuple[float, int, int]:
    """The number that starts there, `[+-](digits[.digits] | .digits)[e[+-]digits]`, what it is, and where it ends.

    `FRACTION` is whatever Python's `int` would not print again. What is `HARD` is NaN.
    """
    sign = text[start] if start < stop else ZERO
    is_negative, what = sign == MINUS, FRACTION * int(sign == PLUS)
    first = start + int(is_negative | (sign == PLUS))
    digits, at = _few_digits_at(text, first, stop)
    count, exponent = at - first, 0
    if count > 1 and text[first] == ZERO:
        what |= PADDED | FRACTION
    if at < stop and text[at] == POINT:
        what |= FRACTION
        at += 1
        point = at
        digits, at = _digits_at(text, at, stop, digits)
        exponent = point - at
        count += at - point
    if count == 0:
        return np.nan, BAD, at
    last = at
    if at < stop and (text[at] == 101 or text[at] == 69):
        what |= FRACTION
        power, at = _power_at(text, at + 1, stop)
        if at < 0:
            return np.nan, BAD, last
        exponent += power
    found, num_more = np.nan, 0
    if count > DIGITS:
        digits, num_more = _first_digits(text, first, last)
    if digits == 0:
        return (-0.0 if is_negative else 0.0), what | (FRACTION if is_negative else 0), at
    if num_more > 0:
        found = _between(digits, exponent + num_more, fives)
    elif LEAST <= exponent <= MOST:
        found = _scaled(digits, exponent, fives)
    return (-found if is_negative else found), (what if found == found else what | HARD), at
