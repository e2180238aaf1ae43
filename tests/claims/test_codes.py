"""Codes: the eight words of a code of six bits, its decoding, and messages beside all words."""

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.potentials import Parity, over_scopes

WORDS = ["000000", "011001", "110010", "101011", "111100", "100101", "001110", "010111"]
BIT = ss.Discrete.array("bit", 6)
CHECKS = over_scopes([[0, 1, 2, 3]], Parity(), array=BIT), over_scopes([[2, 3, 5], [0, 3, 4]], Parity(), array=BIT)
CODE = ss.MarkovNet(*CHECKS)


def received(word, error=0.1):
    return {
        f"bit[{i}]": ss.Likelihood([1 - error, error] if c == "0" else [error, 1 - error]) for i, c in enumerate(word)
    }


def posterior(word, error=0.1):
    """The probabilities of the eight words, by their distances."""
    values = np.array(
        [error ** (d := sum(a != b for a, b in zip(word, w, strict=True))) * (1 - error) ** (6 - d) for w in WORDS]
    )
    return values / values.sum()


def test_the_words_and_their_distance():
    found = [
        "".join(map(str, x))
        for x in itertools.product((0, 1), repeat=6)
        if (x[0] + x[1] + x[2] + x[3]) % 2 == (x[2] + x[3] + x[5]) % 2 == (x[0] + x[3] + x[4]) % 2 == 0
    ]
    assert sorted(found) == sorted(WORDS)
    assert min(sum(a != b for a, b in zip(u, v, strict=True)) for u, v in itertools.combinations(WORDS, 2)) == 3
    assert float(ss.log_partition(CODE)) == pytest.approx(np.log(8.0))
    listed = ss.map_assignment(CODE, k=9)
    assert sorted("".join(str(a[f"bit[{i}]"]) for i in range(6)) for a in listed.assignments) == sorted(WORDS)


def test_a_received_word_is_decoded():
    given = received("011011")
    best = ss.map_assignment(CODE, given=given)
    assert "".join(map(str, best[BIT])) == "011001"
    assert best.probability == pytest.approx(0.800122, abs=1e-6)
    bits = ss.marginals(CODE, given=given)
    ones = [float(bits[f"bit[{i}]"][1]) for i in range(6)]
    assert ones == pytest.approx([0.1, 0.9, 0.9, 0.1, 0.197561, 0.978049], abs=1e-6)
    assert posterior("011011").max() == pytest.approx(0.800122, abs=1e-6)


def test_words_at_the_same_distance_are_tied():
    found = ss.map_assignment(CODE, given=received("111111"), k=4)
    assert found.probabilities[:3] == pytest.approx([0.290310] * 3, abs=1e-6)
    assert found.probabilities[3] < 0.2
    assert sorted(posterior("111111"))[-3:] == pytest.approx([0.290310] * 3, abs=1e-6)


def test_messages_decode_every_single_error():
    for word, place in itertools.product(WORDS, range(6)):
        sent = "".join(("10"[int(c)] if i == place else c) for i, c in enumerate(word))
        expected = WORDS[int(posterior(sent).argmax())]
        assert expected == word
        found = ss.map_assignment(CODE, given=received(sent), method=ss.LoopyBP())
        assert "".join(map(str, found[BIT])) == word
        assert found.log_value == pytest.approx(5 * np.log(0.9) + np.log(0.1))


def test_the_best_bits_need_not_be_a_word():
    rng, differ = np.random.default_rng(0), 0
    for _ in range(40):
        given = {f"bit[{i}]": ss.Likelihood(rng.dirichlet([1.0, 1.0])) for i in range(6)}
        bits, best = ss.marginals(CODE, given=given), ss.map_assignment(CODE, given=given)
        differ += [int(bits[f"bit[{i}]"].values.argmax()) for i in range(6)] != best[BIT].tolist()
    assert differ > 0
