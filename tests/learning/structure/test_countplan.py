"""Planned tables of counts: they cover what is needed, in few tables, with the counts of direct counting."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from sepset.data.dataset import Dataset
from sepset.errors import NotApplicable, ScopeError, TooLarge
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.countplan import CountPlan
from sepset.variables.variable import Discrete
from support.blocks import in_blocks

CARDS = (2, 3, 1, 4, 2, 5)


def skewed_rows(seed, num_rows=150, is_missing=False):
    rng = np.random.default_rng(seed)
    rows = {f"x{k}": np.minimum(rng.geometric(0.5, num_rows) - 1, card - 1) for k, card in enumerate(CARDS)}
    if not is_missing:
        return rows
    return {n: np.where(rng.random(num_rows) < 0.2, None, codes.astype(object)) for n, codes in rows.items()}


def by_hand(columns, chosen):
    """Row by row: those in which all the chosen columns are observed."""
    table = np.zeros([int(columns.cards[c]) for c in chosen])
    for row, weight in zip(columns.codes.T, columns.weights, strict=True):
        if all(row[c] >= 0 for c in chosen):
            table[tuple(row[c] for c in chosen)] += weight
    return table


@settings(max_examples=25)
@given(st.integers(0, 20), st.booleans(), st.lists(st.sets(st.integers(0, 5), max_size=3), max_size=8), st.data())
def test_counts_against_direct_counting(seed, is_missing, needed, data):
    """Every set that was asked for, its axes in any order, with weights and with missing cells."""
    rows = skewed_rows(seed, 40, is_missing)
    weights = np.random.default_rng(seed).integers(1, 4, 40) * data.draw(st.sampled_from([1, 0.5]))
    variables = [Discrete(f"x{k}", card) for k, card in enumerate(CARDS)]
    columns = Columns.of(rows, variables=variables, weights=weights, missing="available")
    plan = CountPlan.of(columns, needed, max_cells=data.draw(st.sampled_from([150, 1 << 16])))
    assert all(any(scope <= set(table) for table in plan.tables) for scope in needed)
    found = plan.collect(columns)
    for scope in needed:
        chosen = tuple(np.random.default_rng(seed).permutation(sorted(scope)).tolist())
        assert np.array_equal(found[chosen], by_hand(columns, chosen))


def test_all_pairs_need_few_tables():
    columns = Columns.of(skewed_rows(0))
    pairs = list(itertools.combinations(range(6), 2))
    plan = CountPlan.of(columns, pairs)
    assert len(plan.tables) < len(pairs) / 3
    assert plan.num_cells < np.prod(columns.cards)
    assert max(int(np.prod([CARDS[c] for c in t])) for t in CountPlan.of(columns, pairs, max_cells=24).tables) <= 24
    assert len(list(plan.collect(columns))) == len(plan.collect(columns)) == len(plan.tables)


def groupings(sets):
    """Every way to divide some sets into groups."""
    if not sets:
        yield []
        return
    first, *rest = sets
    for found in groupings(rest):
        yield [[first], *found]
        for k, group in enumerate(found):
            yield [*found[:k], [first, *group], *found[k + 1 :]]


@pytest.mark.parametrize("num_rows", [5, 60, 4_000])
@in_blocks("seed", range(6))
def test_the_cover_lies_between_the_best_one_and_a_table_for_each_set(seed, num_rows):
    """A table costs a number per row and per cell, and every set reads the cells of its table; by enumeration."""
    rng = np.random.default_rng(seed)
    columns = Columns.of(skewed_rows(seed, num_rows), weights=np.linspace(1, 2, num_rows))
    needed = list({tuple(sorted(rng.choice(6, rng.integers(1, 4), replace=False).tolist())) for _ in range(6)})

    def cells(table):
        return int(np.prod([columns.cards[c] for c in table]))

    def cost(tables):
        read = sum(min(cells(table) for table in tables if set(one) <= set(table)) for one in needed)
        return read + sum(num_rows + cells(table) for table in tables)

    joined = [[sorted({c for one in group for c in one}) for group in found] for found in groupings(needed)]
    plan = CountPlan.of(columns, needed)
    assert all(any(set(one) <= set(table) for table in plan.tables) for one in needed)
    assert min(map(cost, joined)) <= cost(plan.tables) <= cost(needed)


def test_many_rows_are_worth_larger_tables():
    """A pass over few rows costs less than the cells of a joined table."""
    few, many = (Columns.of(skewed_rows(0, n), weights=np.linspace(1, 2, n)) for n in (5, 4_000))
    pairs = list(itertools.combinations(range(6), 2))
    assert len(CountPlan.of(few, pairs).tables) > len(CountPlan.of(many, pairs).tables)


def test_parts_add_up():
    rows, weights = Dataset(skewed_rows(1, 30_000)), np.linspace(0.5, 1, 30_000)
    whole = Columns.of(rows, weights=weights)
    plan = CountPlan.of(whole, [(0, 1, 5), (3, 4)])
    parts = [Columns.of(rows[a:b], weights=weights[a:b]) for a, b in ((0, 11_000), (11_000, 30_000))]
    for scope in ((0, 1, 5), (3,)):
        added = sum(plan.collect(part)[scope] for part in parts)
        assert np.allclose(added, plan.collect(whole)[scope], rtol=1e-12)
        assert np.allclose(added, whole.joint(scope), rtol=1e-12)


def test_nothing_needed_and_empty_sets():
    columns = Columns.of(skewed_rows(2))
    assert CountPlan.of(columns, []).tables == ()
    assert CountPlan.of(columns, [()]).collect(columns)[()] == 150


def test_refused():
    columns = Columns.of(skewed_rows(3))
    with pytest.raises(ScopeError, match="numbers 0 to 5"):
        CountPlan.of(columns, [(0, 6)])
    with pytest.raises(TooLarge, match="20 cells; the limit is max_cells=10"):
        CountPlan.of(columns, [(3, 5)], max_cells=10)
    with pytest.raises(NotApplicable, match="'y' is real"):
        CountPlan.of(Columns.of({"x": [0, 1], "y": [0.5, 1.5]}), [(0, 1)])
    with pytest.raises(NotApplicable, match="same rows"):
        CountPlan.of(Columns.of({"x": [0, 1]}, interventions=[["x"], []]), [(0,)])
    with pytest.raises(ScopeError, match="in this order"):
        CountPlan.of(columns, [(0, 1)]).collect(Columns.of({"x": [0, 1]}))
    turned = Columns.of({name: skewed_rows(3)[name] for name in reversed(skewed_rows(3))})
    with pytest.raises(ScopeError, match="in this order"):
        CountPlan.of(columns, [(0, 1)]).collect(turned)
    two = [Discrete("x", 2), Discrete("y", 2)]
    holed = Columns.of({"x": [0, None], "y": [0, 1]}, variables=two, missing="available")
    with pytest.raises(NotApplicable, match="missing cells"):
        CountPlan.of(Columns.of({"x": [0, 1], "y": [0, 1]}, variables=two), [(0, 1)]).collect(holed)
    with pytest.raises(ScopeError, match="No table of the plan"):
        CountPlan.of(columns, [(0,)]).collect(columns)[(0, 1)]
    with pytest.raises(ScopeError, match="different column numbers"):
        CountPlan.of(columns, [(0,)]).collect(columns)[0]
