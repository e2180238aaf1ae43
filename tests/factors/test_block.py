"""Blocks against their factors one at a time, and the time and memory of a million-pixel grid."""

from __future__ import annotations

import itertools
import math
import pickle
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sepset.errors import ArgumentError, ModelError, NotApplicable, ScopeError, TooLarge
from sepset.factors import block as block_module
from sepset.factors.block import Block, FactorBlock, Single
from sepset.factors.gaussian import CanonicalGaussian
from sepset.factors.potentials import AtLeastOne, Parity, Potts
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Real
from support.bounded import within

FIVE = Universe([Discrete(f"v{i}", 3) for i in range(5)])


def all_codes(num: int, card: int) -> np.ndarray:
    return np.array(list(itertools.product(range(card), repeat=num)))


def scores(block: Block, variables: Universe, codes: np.ndarray) -> list[float]:
    """The sum of log values, one factor and one row at a time."""
    made = [block.factor(i, variables) for i in range(len(block))]
    return [
        sum(f.log_value({v: v.states[row[variables.id(v)]] for v in f.scope}) for f in made) for row in codes.tolist()
    ]


@given(st.integers(0, 10**9), st.integers(1, 3), st.integers(0, 5), st.booleans(), st.sampled_from(["linear", "log"]))
@settings(max_examples=40, deadline=None)
def test_scores_are_the_sum_over_factors(seed, arity, num, shared, space):
    rng = np.random.default_rng(seed)
    scopes = np.array([rng.permutation(5)[:arity] for _ in range(num)], np.int32).reshape(num, arity)
    values = np.where(rng.random((1 if shared else num, 3**arity)) < 0.2, 0.0, rng.exponential(size=3**arity))
    if space == "log":
        with np.errstate(divide="ignore"):
            values = np.log(values)
    block = FactorBlock(scopes, (3,) * arity, values=values, space=space)
    codes = rng.integers(0, 3, (7, 5)).astype(np.int8)
    np.testing.assert_allclose(block.log_values(codes), scores(block, FIVE, codes), rtol=1e-12, atol=1e-12)
    assert isinstance(block, Block)
    assert (len(block), block.arity) == (num, arity)


@pytest.mark.parametrize("chunk", [1, 3, 7, 1 << 20])
def test_chunks_do_not_change_scores(monkeypatch, chunk):
    rng = np.random.default_rng(0)
    blocks = [
        FactorBlock([[0, 1], [1, 2], [3, 4]], (3, 3), values=rng.random((3, 9))),
        FactorBlock([[0, 1], [1, 2], [3, 4]], (3, 3), values=Potts(0.5)),
    ]
    codes = rng.integers(0, 3, (11, 5))
    expected = [scores(block, FIVE, codes) for block in blocks]
    monkeypatch.setattr(block_module, "CHUNK", chunk)
    for block, value in zip(blocks, expected, strict=True):
        np.testing.assert_allclose(block.log_values(codes), value, rtol=1e-12)


def test_single_factor_views():
    values = np.arange(8).reshape(2, 2, 2)
    pair = Universe([Discrete("a"), Discrete("b"), Discrete("c")])
    block = FactorBlock([[0, 2], [2, 1]], (2, 2), values=values)
    second = block.factor(1, pair)
    assert [v.name for v in second.scope] == ["c", "b"]
    np.testing.assert_array_equal(second.values, values[1])
    assert not block.shared
    assert block.factor(-1, pair).values.tolist() == values[1].tolist()
    with pytest.raises(ArgumentError, match="no factor 2"):
        block.factor(2, pair)
    with pytest.raises(ScopeError, match="4 states"):
        FactorBlock([[0]], (4,), values=np.ones(4)).factor(0, pair)
    with pytest.raises(ScopeError, match="2 states"):
        FactorBlock([[0]], (2,), values=np.ones(2)).factor(0, Universe([Real("r")]))


def test_shared_values_and_their_shapes():
    for values in (np.ones((2, 3)), np.ones(6), np.ones((1, 6)), np.ones((1, 2, 3))):
        assert FactorBlock([[0, 1], [2, 3]], (2, 3), values=values).shared
    assert FactorBlock([[0, 1]], (2, 2), values=Potts(1.0)).shared
    assert FactorBlock([[0, 1], [1, 2]], (2, 2), values=np.ones((2, 4))).nbytes == 2 * 2 * 8 + 8 * 8


def test_large_parity_scores_without_its_table():
    many = Universe([Discrete.array("bit", 100)])
    block = FactorBlock(np.arange(100).reshape(1, 100), (2,) * 100, values=Parity())
    codes = np.zeros((3, 100), np.int8)
    codes[1, 4] = 1
    codes[2, 4] = codes[2, 90] = 1
    assert block.log_values(codes).tolist() == [0, -math.inf, 0]
    with pytest.raises(TooLarge):
        block.factor(0, many)


def test_named_potential_as_a_table():
    variables = Universe([Discrete.array("bit", 3)])
    block = FactorBlock([[0, 1, 2]], (2, 2, 2), values=AtLeastOne())
    assert block.factor(0, variables).values.reshape(-1).tolist() == [0, 1, 1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0, 0]], (2, 2), np.ones(4)), "one variable twice"),
        (([[0, 1, 2, 3, 4, 3]], (2,) * 6, np.ones(64)), "one variable twice"),
        (([[0, -1]], (2, 2), np.ones(4)), "negative"),
        (([[0, 1]], (2, 2, 2), np.ones(8)), "shape"),
        (([[0.5, 1]], (2, 2), np.ones(4)), "whole numbers"),
        (([[0, 1]], (2, 0), np.ones(4)), "discrete"),
        (([[0, 1]], (2, 2), np.ones(5)), "do not fit"),
        (([[0, 1]], (2, 2), [1, 1, -1, 1]), "factor 0 has -1.0 at flat position 2"),
        (([[0, 1]], (2, 2), [1, 1, math.nan, 1]), "nan"),
        (([[0, 1]], (2, 3), Potts(1.0)), "equally many"),
    ],
)
def test_construction_names_what_is_wrong(arguments, message):
    scopes, cards, values = arguments
    with pytest.raises((ModelError, ScopeError), match=message):
        FactorBlock(scopes, cards, values=values)


def test_logarithms_may_be_minus_infinity_only():
    FactorBlock([[0]], (2,), values=[-math.inf, 0], space="log")
    with pytest.raises(ArgumentError, match="'linear' or 'log'"):
        FactorBlock([[0]], (2,), values=[1, 0], space="energy")
    with pytest.raises(ModelError, match="finite or -inf"):
        FactorBlock([[0]], (2,), values=[math.inf, 0], space="log")


def test_codes_must_be_complete_and_whole():
    block = FactorBlock([[0, 1]], (2, 2), values=Potts(1.0))
    with pytest.raises(ModelError, match="missing"):
        block.log_values(np.array([[0, -1]]))
    with pytest.raises(ModelError, match="whole codes"):
        block.log_values(np.array([[0.0, 1.0]]))


def test_no_factors_and_no_rows():
    empty = FactorBlock(np.zeros((0, 2), int), (2, 2), values=Potts(1.0))
    assert len(empty) == 0
    assert empty.log_values(np.zeros((3, 4), int)).tolist() == [0, 0, 0]
    assert FactorBlock([[0, 1]], (2, 2), values=Potts(1.0)).log_values(np.zeros((0, 2), int)).shape == (0,)
    constant = FactorBlock(np.zeros((2, 0), int), (), values=[2.0])
    assert constant.log_values(np.zeros((1, 3), int)) == pytest.approx([2 * math.log(2)])


def test_blocks_are_immutable():
    scopes = np.array([[0, 1]], np.int32)
    block = FactorBlock(scopes, (2, 2), values=Potts(1.0))
    assert block.scopes.dtype == np.int32
    with pytest.raises(AttributeError, match="immutable"):
        block.cards = (3, 3)
    with pytest.raises(ValueError, match="read-only"):
        block.scopes[0, 0] = 1
    with pytest.raises(AttributeError, match="immutable"):
        Single(Table((), [1.0]), []).value = None


@pytest.mark.parametrize(
    "block",
    [
        FactorBlock([[0, 1]], (2, 2), values=Potts(1.0)),
        FactorBlock([[0, 1], [1, 0]], (2, 2), values=np.arange(8).reshape(2, 4)),
        Single(Table((FIVE[0], FIVE[2]), np.arange(9)), [0, 2]),
    ],
)
def test_pickles(block):
    again = pickle.loads(pickle.dumps(block))
    codes = np.ones((2, 5), int)
    np.testing.assert_array_equal(again.log_values(codes), block.log_values(codes))
    np.testing.assert_array_equal(again.scopes, block.scopes)


def test_reprs():
    assert repr(FactorBlock([[0, 1]], (2, 2), values=Potts(1.0))) == "FactorBlock(1 x Potts(weight=1.0) over (2, 2))"
    assert repr(FactorBlock([[0, 1], [1, 2]], (2, 2), values=np.ones((2, 4)))) == "FactorBlock(2 x tables over (2, 2))"
    assert repr(Single(Table(Discrete("a"), [1, 2]), [0])) == "Single(Table(a[2]; 1 2))"


@pytest.mark.parametrize("kind", [Table, SparseTable])
def test_single(kind):
    dense = Table((FIVE[3], FIVE[1]), np.arange(9))
    factor = dense if kind is Table else SparseTable.from_table(dense)
    block = Single(factor, [3, 1])
    assert isinstance(block, Block)
    assert (len(block), block.arity, block.cards, block.shared) == (1, 2, (3, 3), True)
    assert block.scopes.tolist() == [[3, 1]]
    assert block.factor(0, FIVE) is factor
    codes = all_codes(5, 3)
    np.testing.assert_allclose(block.log_values(codes), scores(block, FIVE, codes), rtol=1e-12)
    assert block.nbytes > 0
    with pytest.raises(ArgumentError):
        block.factor(1, FIVE)
    with pytest.raises(ScopeError, match="Position 0"):
        Single(factor, [0, 1]).factor(0, FIVE)


def test_single_of_another_family():
    x = Real("x")
    block = Single(CanonicalGaussian((x,), [[1.0]], h=[0.0]), [0])
    assert block.cards == (0,)
    assert block.factor(0, Universe([x])) is block.value
    with pytest.raises(NotApplicable, match="continuous"):
        block.log_values(np.zeros((1, 1), int))


def build_grid() -> tuple[Universe, FactorBlock]:
    pixel = Discrete.array("pixel", (1024, 1024), states=2)
    return Universe([pixel]), FactorBlock(pixel.grid_edges().pairs, (2, 2), values=Potts(1.5))


def test_a_million_pixel_grid_builds_at_once():
    variables, block = within(2.0, build_grid)
    assert len(block) == 2_095_104
    tracemalloc.start()
    try:
        build_grid()
        assert tracemalloc.get_traced_memory()[1] < 200e6
    finally:
        tracemalloc.stop()
    assert [v.name for v in block.factor(0, variables).scope] == ["pixel[0,0]", "pixel[1,0]"]
    image = np.random.default_rng(0).integers(0, 2, (1024, 1024), dtype=np.int8)
    equal = np.count_nonzero(image[1:] == image[:-1]) + np.count_nonzero(image[:, 1:] == image[:, :-1])
    assert block.log_values(image.reshape(1, -1))[0] == pytest.approx(1.5 * equal)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("space", ["linear", "log"])
def test_the_values_of_a_block_at_once_are_those_of_its_factors(shared, space):
    rng = np.random.default_rng(0)
    cards, num = (2, 3), 5
    variables = Universe([Discrete(f"v{i}{card}", card) for i in range(num) for card in cards])
    scopes = np.arange(2 * num).reshape(num, 2)
    for size in (1.0, 50.0, 300.0, 2000.0):
        logs = size * rng.normal(size=(1 if shared else num, 6))
        logs[rng.random(logs.shape) < 0.2] = -np.inf
        if space == "linear" and size > 50.0:
            continue
        block = FactorBlock(scopes, cards, values=logs if space == "log" else np.exp(logs), space=space)
        tables = [block.factor(i, variables) for i in range(num)]
        found = block.linear()
        if found is None:
            assert any(table.space == "log" for table in tables)
            continue
        values, exponents = (np.broadcast_to(part, (num, *part.shape[1:])) for part in found)
        for i, table in enumerate(tables):
            assert (table.space, table.exponent) == ("linear", exponents[i])
            assert table.flat.tolist() == values[i].tolist()


def test_the_values_of_a_named_potential_at_once():
    values, exponents = FactorBlock([[0, 1], [1, 2]], (2, 2), values=Potts(3.0)).linear()
    assert (values.shape, exponents.tolist()) == ((1, 4), [0])
    assert values[0].tolist() == pytest.approx([math.exp(3.0), 1.0, 1.0, math.exp(3.0)])
