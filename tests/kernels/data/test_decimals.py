"""Numbers in text are the doubles that Python's `float` gives, or are left open."""

from __future__ import annotations

import math
import random
import re
import struct

import numpy as np
import pytest

from sepset.kernels.data.decimals import (
    BAD,
    FRACTION,
    HARD,
    PADDED,
    decimal_at,
    powers_of_five,
    word_in,
)

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
FIVES = powers_of_five()
ODD = ["", "+", "-", ".", "-.", "1.", "+.5", "1e", "1e+", "inf", "-INF", "+inf", "nan", "-nan", "NaN", "0", "-0", "00"]
ODD += ["0.0", "-0.0", "007", "00.5", "+00", "1e400", "1e-400", "5e-324"]
ODD += ["2.2250738585072011e-308", "9007199254740993", "1.7976931348623159e308", "0e99999999999999999999", "1 ", "0x1"]


def number_in(text: str) -> tuple[float, int]:
    """The number of a whole text, between bytes that belong to no number."""
    cells = np.frombuffer(f"#{text}#".encode(), np.uint8)
    found, what, end = decimal_at(cells, 1, 1 + len(text), FIVES)
    longer = np.frombuffer(f"#{text}1234567890".encode(), np.uint8)  # what comes later is not looked at
    np.testing.assert_array_equal(decimal_at(longer, 1, 1 + len(text), FIVES), (found, what, end))
    return (found, what) if end == 1 + len(text) and not what & BAD else word_in(cells, 1, 1 + len(text))


def check(text: str) -> int:
    found, what = number_in(text)
    is_number = bool(NUMBER.fullmatch(text)) or text.lower() in ("inf", "-inf", "nan")
    assert is_number == (not what & BAD), text
    if is_number:
        assert bool(re.match("[+-]?0[0-9]", text)) == bool(what & PADDED), text
        is_whole = bool(re.fullmatch("-?(0|[1-9][0-9]*)", text)) and text != "-0"
        assert is_whole == (not what & FRACTION), text
        if not what & HARD:
            expected = float(text)
            assert struct.pack("d", found) == struct.pack("d", expected) or math.isnan(found) == math.isnan(expected)
    return what


@pytest.mark.parametrize("text", ODD)
def test_odd_texts(text):
    check(text)


def doubles(rng: random.Random) -> float:
    return struct.unpack("d", struct.pack("Q", rng.getrandbits(64)))[0]


def test_printed_doubles_come_back_and_are_hardly_ever_left_open():
    rng = random.Random(0)
    left_open = 0
    for _ in range(5000):
        for number in (doubles(rng), rng.gauss(0, 1) * 10.0 ** rng.randint(-20, 20)):
            what = check(repr(number))
            left_open += bool(what & HARD) and abs(number) > 1e-300
    assert left_open < 5


def test_numbers_halfway_between_two_doubles_are_rounded_to_even():
    rng = random.Random(1)
    for _ in range(2000):
        odd, exponent = 2 * (rng.getrandbits(52) | 1 << 52) + 1, rng.randint(-4, 10)
        check(str(odd * 2**exponent) if exponent >= 0 else f"{odd * 5**-exponent}e{exponent}")


def test_random_digits_and_powers():
    rng = random.Random(2)
    for _ in range(5000):
        check(f"{rng.getrandbits(rng.randint(1, 70))}e{rng.randint(-360, 330)}")
        check(f"{rng.uniform(-1000, 1000):.{rng.randint(0, 20)}f}")
        check("".join(rng.choice("0123456789.eE+-naifNI ") for _ in range(rng.randint(0, 8))))
        assert not check(str(rng.randint(-(2**53), 2**53))) & (HARD | FRACTION)


def test_any_number_of_digits_around_the_point():
    rng = random.Random(3)
    for before in range(21):
        for after in range(27):
            digits = "".join(rng.choices("0123456789", k=before + after))
            check(f"{digits[:before]}.{digits[before:]}")
            check(f"-{digits[:before]}.{digits[before:]}e{rng.randint(-30, 30)}")
            check(f"{'0' * before}.{'0' * after}{rng.randint(1, 10**16)}")


def test_more_digits_than_a_word_holds():
    rng = random.Random(4)
    left_open = 0
    for _ in range(3000):
        digits = str(rng.getrandbits(120))
        left_open += bool(check(f"{digits[:3]}.{digits[3:]}e{rng.randint(-290, 290)}") & HARD)
        assert not check(f"{rng.gauss(0, 1):.{rng.randint(20, 60)}f}") & HARD
    assert left_open < 60
    for _ in range(500):  # at and beside the middle between two doubles, by less than a word holds
        odd = 2 * (rng.getrandbits(52) | 1 << 52) + 1
        for digit in "0000000001", "0000000000", "1":
            check(f"{odd}.{digit}")
            check(f"{odd * 2**60 + rng.randint(-1, 1)}")


def test_powers_of_five_are_their_first_bits():
    for place, (high, low) in enumerate(powers_of_five().tolist()):
        bits, power = high << 64 | low, place - 342
        assert bits.bit_length() == 128
        exact = 5**power if power >= 0 else None
        if exact is not None:
            assert bits == (exact << 128 >> exact.bit_length())
        else:
            below = (1 << (5**-power).bit_length() + 127) // 5**-power
            assert bits - below == (power >= -27)
