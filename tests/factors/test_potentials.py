"""Named potentials against their formulas written out cell by cell."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sepset.errors import ModelError, TooLarge
from sepset.factors.potentials import (
    AllDifferent,
    AtLeastOne,
    Cardinality,
    Ising,
    Parity,
    Potential,
    Potts,
    RobustPotts,
    TruncatedLinear,
    TruncatedQuadratic,
)

FORMULAS = [
    (Potts(1.5), (3, 3), lambda x, y: 1.5 if x == y else 0.0),
    (Potts(-2.0), (2, 2), lambda x, y: -2.0 if x == y else 0.0),
    (Potts(1.0), (1, 1), lambda x, y: 1.0),
    (Ising(0.7), (2, 2), lambda x, y: 0.7 * (2 * x - 1) * (2 * y - 1)),
    (TruncatedLinear(0.5, 2), (5, 5), lambda x, y: -0.5 * min(abs(x - y), 2)),
    (TruncatedLinear(0.5), (5, 5), lambda x, y: -0.5 * abs(x - y)),
    (TruncatedQuadratic(0.3, 5), (4, 4), lambda x, y: -0.3 * min((x - y) ** 2, 5)),
    (Parity(), (2,), lambda *x: 0.0 if sum(x) % 2 == 0 else -math.inf),
    (Parity(), (2, 2, 2, 2), lambda *x: 0.0 if sum(x) % 2 == 0 else -math.inf),
    (AtLeastOne(), (2, 2, 2), lambda *x: 0.0 if any(x) else -math.inf),
    (AllDifferent(), (3, 4, 3), lambda *x: 0.0 if len(set(x)) == len(x) else -math.inf),
    (AllDifferent(), (1,), lambda *x: 0.0),
    (RobustPotts(0.8), (3, 3), lambda x, y: 0.8 * (x == y)),
    (RobustPotts(0.8), (3,) * 4, lambda *x: 0.8 * (len(set(x)) == 1)),
    (RobustPotts(-1.5, 1.5), (2,) * 4, lambda *x: -1.5 * max(0.0, 1.0 - min(sum(x), 4 - sum(x)) / 1.5)),
    (RobustPotts(2.0, 2), (3,) * 4, lambda *x: 2.0 * max(0.0, 1.0 - (4 - max(map(x.count, x))) / 2.0)),
    (Cardinality((0.3, -math.inf, 1.0, -2.5)), (2, 2, 2), lambda *x: (0.3, -math.inf, 1.0, -2.5)[sum(x)]),
]


@pytest.mark.parametrize(("potential", "cards", "formula"), FORMULAS, ids=lambda v: None if callable(v) else str(v))
def test_tables_and_values_follow_the_formula(potential, cards, formula):
    assert isinstance(potential, Potential)
    codes = np.array(list(itertools.product(*(range(card) for card in cards))))
    expected = np.array([formula(*code) for code in codes.tolist()])
    for dtype in (np.int64, np.int8, np.uint8):
        np.testing.assert_allclose(potential.log_values(codes.astype(dtype)), expected, rtol=1e-15)
    np.testing.assert_allclose(potential.log_table(cards), expected.reshape(cards), rtol=1e-15)
    np.testing.assert_allclose(potential.table(cards), np.exp(expected).reshape(cards), rtol=1e-15)
    stacked = codes.reshape(1, *codes.shape)
    assert potential.log_values(stacked).shape == (1, len(codes))


def test_ising_is_potts_up_to_a_constant():
    np.testing.assert_allclose(Ising(0.7).log_table((2, 2)), Potts(1.4).log_table((2, 2)) - 0.7)


def test_values_need_no_table():
    codes = np.zeros((3, 200), np.int8)
    codes[1, 7] = codes[2, 3] = codes[2, 150] = 1
    assert Parity().log_values(codes).tolist() == [0, -math.inf, 0]
    assert AtLeastOne().log_values(codes).tolist() == [-math.inf, 0, 0]
    codes = np.stack([np.arange(200), np.arange(200)[::-1], np.zeros(200, int)])
    assert AllDifferent().log_values(codes).tolist() == [0, 0, -math.inf]


def test_large_parity_counts_beyond_small_integers():
    assert Parity().log_values(np.ones((1, 301), np.int8)).tolist() == [-math.inf]
    assert Parity().log_values(np.ones((1, 300), np.int8)).tolist() == [0]


def test_large_tables_are_refused_before_they_are_built():
    with pytest.raises(TooLarge, match="use log_values"):
        Parity().log_table((2,) * 64)


@pytest.mark.parametrize(
    ("potential", "cards"),
    [
        (Potts(1.0), (2, 3)),
        (Potts(1.0), (2, 2, 2)),
        (Ising(1.0), (3, 3)),
        (TruncatedLinear(1.0), (2,)),
        (TruncatedQuadratic(1.0), (2, 3)),
        (Parity(), (2, 3)),
        (Parity(), ()),
        (AtLeastOne(), (3,)),
        (AllDifferent(), ()),
    ],
)
def test_arity_and_states_are_checked(potential, cards):
    with pytest.raises(ModelError):
        potential.check(cards)
    with pytest.raises(ModelError):
        potential.table(cards)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Potts(math.nan),
        lambda: Ising(math.inf),
        lambda: TruncatedLinear(math.inf),
        lambda: TruncatedLinear(1.0, -1),
        lambda: TruncatedQuadratic(1.0, math.nan),
        lambda: RobustPotts(1.0, 0.0),
        lambda: RobustPotts(math.inf),
        lambda: Cardinality((1.0,)),
        lambda: Cardinality((0.0, math.nan)),
    ],
)
def test_settings_are_checked(make):
    with pytest.raises(ModelError):
        make()


def test_potentials_are_values():
    assert Potts(1.5) == Potts(1.5)
    assert hash(Potts(1.5)) == hash(Potts(1.5))
    assert Potts(1.5) != Ising(1.5)
    with pytest.raises(AttributeError):
        Potts(1.5).weight = 2.0


@pytest.mark.parametrize(("potential", "cards", "formula"), FORMULAS, ids=lambda v: None if callable(v) else str(v))
def test_powers_are_those_of_the_values(potential, cards, formula):
    logs = potential.log_table(cards)
    np.testing.assert_allclose(potential.power(2.5).log_table(cards), 2.5 * logs, rtol=1e-15)
    inverse = potential.power(-1.0)
    assert inverse is None if (logs == -np.inf).any() else inverse is None or (inverse.log_table(cards) == -logs).all()
