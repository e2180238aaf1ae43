"""Chains of running sums and states against the functions written out."""

from __future__ import annotations

import itertools
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, strategies as st

import sepset as ss
from sepset.factors.block import FactorBlock
from sepset.factors.chains import BY_NAME, Line, RunningSums, by_name, chained, have_many_sums, is_chained
from sepset.factors.potentials import AllDifferent, AtLeastOne, Cardinality, Parity, Potts, RobustPotts
from sepset.inference.method import dense
from support.tolerances import CLOSE


def summed(factors, scope):
    """The product of factors, summed over all variables but those of a scope."""
    product = factors[0]
    for factor in factors[1:]:
        product = product * factor
    return dense(product.marginalize([v for v in product.scope if v not in scope])).align(scope).values


def as_factors(block, scope):
    chains = chained(block, 0, [scope[0]] * len(block), len(scope))
    everything = ss.variables.Universe([*scope, *chains.auxiliaries])
    return [b.factor(i, everything) for b in chains.blocks for i in range(len(b))], chains


@pytest.mark.parametrize(
    ("potential", "cards"),
    [(Parity(), (2,) * 3), (Parity(), (2,) * 6), (AtLeastOne(), (2,) * 5), (AllDifferent(), (3, 3, 3)),
     (AllDifferent(), (4, 2, 3, 4)), (AllDifferent(), (2, 2, 2)), (RobustPotts(0.7), (3,) * 4),
     (RobustPotts(-2.0, 2.5), (2,) * 6), (Cardinality((0.1, -np.inf, 9.0, -8.0, 0.0)), (2,) * 4)],
    ids=str,
)  # fmt: skip
def test_chains_are_the_potential(potential, cards):
    scope = [ss.Discrete(f"x{i}", card) for i, card in enumerate(cards)]
    factors, _ = as_factors(FactorBlock([range(len(cards))], cards, values=potential), scope)
    np.testing.assert_allclose(summed(factors, scope), potential.table(cards), atol=CLOSE)


def test_every_auxiliary_is_a_function_of_earlier_variables():
    """At most one state of the auxiliaries is possible for each joint state, and inputs come first."""
    scope = [ss.Discrete(f"x{i}") for i in range(5)]
    factors, chains = as_factors(FactorBlock([range(5)], (2,) * 5, values=Parity()), scope)
    product = factors[0]
    for factor in factors[1:]:
        product = product * factor
    order = [*scope, *chains.auxiliaries]
    support = (dense(product).align(order).values > 0).reshape(2**5, -1).sum(axis=1)
    assert set(support.tolist()) == {0, 1}
    for place, inputs in chains.functions.items():
        assert all(i < place for i in inputs)
    assert sorted(chains.functions) == list(range(5, 5 + len(chains.auxiliaries)))


def test_many_scopes_share_their_blocks():
    block = FactorBlock([range(8), range(2, 10)], (2,) * 8, values=Parity())
    chains = chained(block, 3, [ss.Discrete("a"), ss.Discrete("a")], 10)
    assert {len(b) for b in chains.blocks} == {2}
    assert len(set(chains.auxiliaries)) == len(chains.auxiliaries) == 12


def test_only_wide_constraints_become_chains():
    pairs = FactorBlock([[0, 1]], (2, 2), values=Potts(1.0))
    assert not is_chained(pairs)
    assert not is_chained(FactorBlock(np.zeros((0, 8), int), (2,) * 8, values=Parity()))
    assert not is_chained(FactorBlock([range(5)], (5,) * 5, values=AllDifferent()))
    assert is_chained(FactorBlock([range(9)], (9,) * 9, values=AllDifferent()))


@pytest.mark.parametrize("width", [1, 2])
def test_running_sums_lead_to_the_sum_of_their_terms(width):
    rng = np.random.default_rng(0)
    terms = [rng.integers(0, 3, (card, width)).astype(float) for card in (2, 3, 2, 2)]
    start = rng.normal(size=width)
    sums = RunningSums.of(start, terms, most=100)
    for codes in itertools.product(*(range(len(t)) for t in terms[:-1])):
        at, total = 0, start
        for i, code in enumerate(codes):
            at = sums.steps[i][at * len(terms[i]) + code]
            total = total + terms[i][code]
        np.testing.assert_allclose(sums.levels[len(codes) - 1][at], total, atol=CLOSE)


def test_terms_that_differ_have_too_many_sums():
    terms = [np.array([[0.0], [2.0**-i]]) for i in range(8)]
    assert RunningSums.of(np.zeros(1), terms, most=100) is None
    assert len(RunningSums.of(np.zeros(1), terms, most=128).levels[-1]) == 128


def test_impossible_terms_stay_impossible():
    with np.errstate(divide="ignore"):
        terms = [np.log([[1.0], [0.0]])] * 3
    assert sorted(RunningSums.of(np.zeros(1), terms, most=9).levels[-1][:, 0].tolist()) == [-np.inf, 0.0]


def test_a_chain_of_sums_is_its_function():
    child, parents = ss.Discrete("y"), [ss.Discrete(f"p{i}") for i in range(4)]
    terms = [np.array([[0.0], [w]]) for w in (1.0, 2.0, 1.0, -1.0)]
    sums = RunningSums.of(np.zeros(1), terms, most=100)

    def last(levels):
        p = 1.0 / (1.0 + np.exp(-(levels[:, None, 0] + terms[-1][None, :, 0])))
        return np.stack([1.0 - p, p], axis=-1)

    made = sums.chain(child, parents, last)
    assert made.is_functional
    found = summed(list(made.factors), [*parents, child])
    for codes in itertools.product((0, 1), repeat=4):
        p = 1.0 / (1.0 + np.exp(-(codes[0] + 2.0 * codes[1] + codes[2] - codes[3])))
        assert found[codes].tolist() == pytest.approx([1.0 - p, p], abs=CLOSE)
    assert sums.entries(parents) == sum(dense(f).size for f in made.factors[:-1])


@pytest.mark.parametrize("seed", range(20))
def test_many_sums_have_no_chain_in_any_order(seed):
    rng = np.random.default_rng(seed)
    strengths = rng.uniform(0.1, 1.0, 9) if seed % 2 else rng.integers(1, 5, 9) / 8
    terms = [np.array([[0.0], [-strength]]) for strength in strengths]
    for most in (3, 16, 60, 600):
        found = [
            RunningSums.of(np.zeros(1), [terms[i] for i in rng.permutation(9)], most=most, is_relative=True)
            for _ in range(4)
        ]
        if have_many_sums(terms, most):
            assert found == [None] * 4


def test_names_go_by_their_numbers():
    names = ["x10", "x9", "x", "a2b10", "a2b9", "a02b1", "x009", str(10**30), "7"]
    assert sorted(names, key=by_name) == ["7", str(10**30), "a02b1", "a2b9", "a2b10", "x", "x009", "x9", "x10"]
    assert BY_NAME.order([ss.Discrete(name) for name in ("c10", "c2", "b")]) == [2, 1, 0]


@given(st.lists(st.text("ab\0\1 07912\uffff", max_size=8), unique=True))
def test_keys_of_names_sort_as_texts_and_numbers_in_turn(names):
    def parts(name):
        split = [part.lstrip("0") if i % 2 else part for i, part in enumerate(re.split("([0-9]+)", name))]
        return [(len(part) if i % 2 else 0, part) for i, part in enumerate(split)], name

    assert sorted(names, key=by_name) == sorted(names, key=parts)


@given(st.permutations(["a", "b", "c", "d", "e"]), st.integers(0, 5), st.permutations(["a", "b", "c", "d", "e"]))
def test_variables_with_places_come_first_whatever_the_listing(placed, number, listed):
    line = Line({name: i for i, name in enumerate(placed[:number])})
    found = [listed[i] for i in line.order([ss.Discrete(name) for name in listed])]
    assert found == [*placed[:number], *sorted(placed[number:])]


def test_a_line_without_places_is_false_and_copies_are_equal():
    assert not BY_NAME
    assert Line({"a": 0})
    assert pickle.loads(pickle.dumps(Line({"a": 0}))) == Line({"a": 0})
    assert BY_NAME.order([]) == []
