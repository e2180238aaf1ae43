"""Eight bytes at a time give what one byte at a time gives."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from sepset.kernels.data.words import digits_in, num_before, num_bits, other_bytes, upper_product, word_at


@pytest.fixture(autouse=True)
def _words_wrap_around():
    with np.errstate(over="ignore"):
        yield


def test_words_of_a_text_and_at_its_end():
    text = bytes(range(100, 120))
    for at in range(len(text) + 1):
        part = text[at : at + 8].ljust(8, b"\0")
        assert int(word_at(np.frombuffer(text, np.uint8), at)) == int.from_bytes(part, "little")


def test_the_first_byte_that_is_no_digit():
    rng = random.Random(0)
    for byte, place in itertools.product(range(256), range(8)):
        digits = bytes(rng.choices(b"0123456789", k=place))
        word = digits + bytes([byte]) + bytes(rng.choices(range(256), k=7 - place))
        expected = next((k for k, b in enumerate(word) if b not in b"0123456789"), 8)
        assert num_before(other_bytes(np.uint64(int.from_bytes(word, "little")))) == expected


def test_eight_digits_are_a_number():
    rng = random.Random(0)
    for number in [0, 1, 10**7, 99_999_999, *(rng.randrange(10**8) for _ in range(200))]:
        assert digits_in(np.uint64(int.from_bytes(b"%08d" % number, "little"))) == number


def test_bits_and_upper_halves_of_products():
    rng = random.Random(0)
    words = [1, 2, 3, 2**53 - 1, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]
    words += [rng.getrandbits(rng.randint(1, 64)) | 1 for _ in range(200)]
    for word in words:
        other = rng.choice(words)
        assert num_bits(np.uint64(word)) == word.bit_length()
        assert upper_product(np.uint64(word), np.uint64(other)) == word * other >> 64
