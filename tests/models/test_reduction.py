"""Reducing and raising blocks against the single factors they stand for."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sepset.errors import TooLarge
from sepset.factors.block import FactorBlock
from sepset.factors.potentials import (
    AllDifferent,
    AtLeastOne,
    Cardinality,
    Parity,
    Potts,
    RobustPotts,
    TruncatedLinear,
)
from sepset.models import reduction
from sepset.models.reduction import reduced, scaled_block
from sepset.problem import Problem
from sepset.variables.evidence import resolve
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete

CARD = 3
VARIABLES = Universe([Discrete.array("x", 4, states=CARD), Discrete("y", CARD)])


@st.composite
def blocks(draw):
    """Blocks of two or three variables: shared or single tables in both spaces, and named potentials."""
    arity = draw(st.sampled_from([1, 2, 3]))
    num = draw(st.integers(0, 4))
    rows = [draw(st.permutations(range(5)))[:arity] for _ in range(num)]
    scopes = np.array(rows, np.int64).reshape(num, arity)
    kind = draw(st.sampled_from(["shared", "each", "log", "potential"]))
    if kind == "potential" and arity == 2:
        return FactorBlock(
            scopes, (CARD,) * 2, values=draw(st.sampled_from([Potts(0.7), TruncatedLinear(1.0, 1), AllDifferent()]))
        )
    if kind == "potential":
        return FactorBlock(scopes, (CARD,) * arity, values=AllDifferent())
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    values = rng.exponential(size=(1 if kind == "shared" or not num else num, CARD**arity))
    values[rng.random(values.shape) < 0.2] = 0.0
    if kind == "log":
        with np.errstate(divide="ignore"):
            return FactorBlock(scopes, (CARD,) * arity, values=np.log(values), space="log")
    return FactorBlock(scopes, (CARD,) * arity, values=values)


def all_codes(num):
    return np.array(list(itertools.product(range(CARD), repeat=num)), np.int64).reshape(CARD**num, num)


@given(blocks(), st.dictionaries(st.sampled_from(["x[0]", "x[2]", "y"]), st.integers(0, CARD - 1)))
@settings(max_examples=120)
def test_reduced_blocks_have_the_values_at_the_evidence(block, given_):
    kept, new = reduced(Problem(VARIABLES, (block,)), resolve(given_, VARIABLES))
    assert list(kept.names) == [n for n in VARIABLES.names if n not in given_]
    rest = all_codes(len(kept))
    full = np.empty((len(rest), len(VARIABLES)), np.int64)
    for i, name in enumerate(VARIABLES.names):
        full[:, i] = given_[name] if name in given_ else rest[:, kept.id(name)]
    got = sum((b.log_values(rest) for b in new), np.zeros(len(rest)))
    np.testing.assert_allclose(got, block.log_values(full), atol=1e-12)


@given(blocks(), st.sampled_from([0.5, 1.0, 2.0, 0.0]))
@settings(max_examples=60)
def test_powers_of_blocks(block, power):
    codes = all_codes(5)
    expected = np.zeros(len(codes))
    for i in range(len(block)):
        expected += (block.factor(i, VARIABLES) ** power).log_at(codes[:, block.scopes[i]])
    np.testing.assert_allclose(scaled_block(block, power, VARIABLES).log_values(codes), expected, atol=1e-9)


def test_a_long_potential_reduces_to_a_table_or_is_refused():
    bits = Universe([Discrete.array("b", 40)])
    problem = Problem(bits, (FactorBlock(np.arange(40)[None], (2,) * 40, values=Parity()),))
    known = {f"b[{i}]": 1 for i in range(37)}
    _, (part,) = reduced(problem, resolve(known, bits))
    odd = np.array(list(itertools.product((0, 1), repeat=3)))
    np.testing.assert_array_equal(np.isfinite(part.log_values(odd)), odd.sum(1) % 2 == 1)
    grouped = Problem(bits, (FactorBlock(np.arange(40)[None], (2,) * 40, values=RobustPotts(1.0, limit=2)),))
    with pytest.raises(TooLarge):
        reduced(grouped, resolve({"b[0]": 1}, bits))


@pytest.mark.parametrize(
    ("potential", "card", "arity"),
    [
        (Parity(), 2, 6),
        (AtLeastOne(), 2, 6),
        (Cardinality((0.5, -np.inf, 1.0, -0.25, 0.0, 2.0, 0.125)), 2, 6),
        (AllDifferent(), 5, 4),
        (RobustPotts(2.0, limit=2), 3, 5),
    ],
)
def test_evidence_leaves_named_potentials_without_a_table(potential, card, arity, monkeypatch):
    monkeypatch.setattr(reduction, "WIDE", 1)
    variables = Universe([Discrete(f"x{i}", card) for i in range(arity)])
    problem = Problem(variables, (FactorBlock([range(arity)], (card,) * arity, values=potential),))
    table = potential.table((card,) * arity)
    for codes in itertools.product(range(card), repeat=2):
        kept, blocks = reduced(problem, resolve({"x3": codes[0], "x1": codes[1]}, variables))
        left = np.moveaxis(table, (3, 1), (0, 1))[codes]
        made = Problem(kept, blocks)
        cells = np.array(list(itertools.product(range(card), repeat=arity - 2)))
        found = np.array([np.prod([_value(f, kept, cell) for f in made.factors()]) for cell in cells])
        np.testing.assert_allclose(found, left.reshape(-1), rtol=1e-12)


def _value(factor, variables, cell):
    return np.exp(factor.log_value({v: v.states[cell[variables.id(v)]] for v in factor.scope}))


def test_a_parity_check_of_hundreds_is_reduced():
    bits = Universe([Discrete.array("bit", 300)])
    kept, blocks = reduced(
        Problem(bits, (FactorBlock([range(300)], (2,) * 300, values=Parity()),)),
        resolve({bits[7]: 1, bits[9]: 1}, bits),
    )
    assert len(kept) == 298
    assert [block.potential for block in blocks if len(block)] == [Parity()]
