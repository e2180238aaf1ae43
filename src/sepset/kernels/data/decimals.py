r"""Decimal numbers in text as the nearest doubles.

A number $w \cdot 10^q$ with $w < 2^{53}$ and $|q| \le 22$ is one product or quotient of two doubles that are exact.
Others are $w$ times the first 128 bits of $5^q$: the first bits of that product are those of the number, unless a run
of ones leaves in doubt which way it is rounded. The few numbers in doubt are left to whoever asked (Lemire, Number
Parsing at a Gigabyte per Second, 2021).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, UInt64s
from sepset.kernels.kernel import kernel

LEAST, MOST = -342, 308
"""The powers of ten between which a number of at most 19 digits is neither zero nor infinite."""

PLAIN, FRACTION, PADDED, HARD, BAD = 0, 1, 2, 4, 8
"""The kinds of cells: a whole number as Python prints it, another number, one with leading zeros, one whose
double is left open, or no number; as bits."""

_HALF = np.uint64(0xFFFFFFFF)
_FEW = np.uint64(32)
_ONE = np.uint64(1)
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


@cache
def powers_of_two() -> Floats:
    """Two to the powers from -1074 on."""
    return np.ldexp(1.0, np.arange(-1074, 972))


@cache
def powers_of_ten() -> Floats:
    """Ten to the powers that are doubles."""
    return np.array([float(10**k) for k in range(23)])


@kernel(borrows=True)
def _high(a: np.uint64, b: np.uint64) -> np.uint64:
    """The upper word of the product of two words."""
    a_low, a_high, b_low, b_high = a & _HALF, a >> _FEW, b & _HALF, b >> _FEW
    cross = a_high * b_low + (a_low * b_low >> _FEW)
    other = a_low * b_high + (cross & _HALF)
    return a_high * b_high + (cross >> _FEW) + (other >> _FEW)


@kernel(borrows=True)
def _scaled(digits: np.uint64, exponent: int, fives: UInt64s, twos: Floats) -> float:
    """The double nearest to `digits` times ten to the exponent; NaN in doubt, below the normal numbers or above all."""
    word, shift = digits, 0
    while word >> np.uint64(63) == 0:
        word <<= _ONE
        shift += 1
    row = exponent - LEAST
    low, high = word * fives[row, 0], _high(word, fives[row, 0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        more = _high(word, fives[row, 1])
        low += more
        if more > low:
            high += _ONE
    if low == np.uint64(0xFFFFFFFFFFFFFFFF) and (exponent < -27 or exponent > 55):
        return np.nan
    top = high >> np.uint64(63)
    cut = top + np.uint64(9)
    mantissa = high >> cut
    power = ((217706 * exponent) >> 16) + 63 + np.int64(top) - shift + 1023
    if power <= 0:
        return np.nan
    if low <= _ONE and -4 <= exponent <= 23 and mantissa & np.uint64(3) == _ONE and mantissa << cut == high:
        mantissa &= ~_ONE
    mantissa = (mantissa + (mantissa & _ONE)) >> _ONE
    if mantissa == _ONE << np.uint64(53):
        mantissa >>= _ONE
        power += 1
    if power >= 2047:
        return np.nan
    return float(np.int64(mantissa)) * float(twos[power - 1])


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
def _num_digits(text: Bytes, start: int, stop: int) -> int:
    """The number of digits from the first that is not zero on."""
    count = 0
    for at in range(start, stop):
        if text[at] != POINT and (count > 0 or text[at] != ZERO):
            count += 1
    return count


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


@kernel(borrows=True)
def _digits_at(text: Bytes, at: int, stop: int, digits: np.uint64) -> tuple[np.uint64, int]:
    """The digits so far with those that start there, and where they end."""
    while at < stop and ZERO <= text[at] <= NINE:
        digits = digits * np.uint64(10) + np.uint64(int(text[at]) - ZERO)
        at += 1
    return digits, at


@kernel(borrows=True)
def decimal_at(
    text: Bytes, start: int, stop: int, fives: UInt64s, twos: Floats, tens: Floats
) -> tuple[float, int, int]:
    """The number that starts there, `[+-](digits[.digits] | .digits)[e[+-]digits]`, what it is, and where it ends.

    `FRACTION` is whatever Python's `int` would not print again. What is `HARD` is NaN.
    """
    at, what, digits = start, 0, np.uint64(0)
    is_negative = at < stop and text[at] == MINUS
    if at < stop and (text[at] == PLUS or is_negative):
        what |= 0 if is_negative else FRACTION
        at += 1
    first = at
    digits, at = _digits_at(text, at, stop, digits)
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
    if count > DIGITS and _num_digits(text, first, last) > DIGITS:
        return np.nan, what | HARD, at
    if digits == 0:
        return (-0.0 if is_negative else 0.0), what | (FRACTION if is_negative else 0), at
    found = np.nan
    if digits <= np.uint64(9007199254740992) and -22 <= exponent <= 22:
        whole = float(np.int64(digits))
        found = whole / float(tens[-exponent]) if exponent < 0 else whole * float(tens[exponent])
    elif LEAST <= exponent <= MOST:
        found = _scaled(digits, exponent, fives, twos)
    return (-found if is_negative else found), (what if found == found else what | HARD), at
