"""Arc consistency and restricted tables beside their definitions, compiled and as plain Python."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sepset.kernels.compiled import planning, sparse
from support.blocks import in_blocks
from support.random_contractions import random_network, rows
from support.small_contractions import uncompile


@pytest.fixture(params=["compiled", "plain"])
def either(request, monkeypatch):
    if request.param == "plain":
        uncompile(monkeypatch, sparse)


def strides_of(shape):
    return [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]


def stored(network):
    """A network's tables end to end, with their scopes, strides and places."""
    start, members = rows(network.scopes)
    strides = [s for table in network.tables for s in strides_of(table.shape)]
    offsets = np.concatenate([[0], np.cumsum([table.size for table in network.tables])]).astype(np.int64)
    values = np.concatenate([table.ravel() for table in network.tables])
    return (start, members, np.array(strides, dtype=np.int64), offsets), values


def sparse_network(seed, zeros=0.7):
    rng = np.random.default_rng(seed)
    network = random_network(rng, num=6, num_factors=7)
    return network._replace(tables=[(rng.random(t.shape) > zeros).astype(float) for t in network.tables])


def supported(network, allowed):
    """Of each variable the allowed states that every factor on it supports, by looking at every entry."""
    found = [set(states) for states in allowed]
    for scope, table in zip(network.scopes, network.tables, strict=True):
        cells = [cell for cell in itertools.product(*(sorted(allowed[v]) for v in scope)) if table[cell] > 0]
        for axis, v in enumerate(scope):
            found[v] &= {cell[axis] for cell in cells}
    return found


def fixpoint(network, allowed):
    while True:
        after = supported(network, allowed)
        if after == allowed:
            return allowed
        allowed = after


@pytest.mark.parametrize("zeros", [0.2, 0.5, 0.7])
@in_blocks("seed", range(25))
def test_exactly_the_unsupported_states_go(either, seed, zeros):
    network = sparse_network(seed, zeros)
    where, values = stored(network)
    first = np.concatenate([[0], np.cumsum(network.cards)]).astype(np.int64)
    allowed = np.ones(first[-1], np.uint8)
    homes = planning.transposed(*where[:2], len(network.cards))
    possible = sparse.forbid_states(*where, values, first, allowed, *homes, np.arange(len(network.scopes)))
    expected = fixpoint(network, [set(range(card)) for card in network.cards])
    assert possible == all(expected)
    if possible:
        found = [set(np.flatnonzero(part).tolist()) for part in np.split(allowed, first[1:-1])]
        assert found == expected


def wide_network(cards, density):
    """One factor over variables of many states."""
    rng = np.random.default_rng(0)
    scopes = [tuple(range(len(cards)))]
    tables = [(rng.random(cards) < density) * rng.random(cards)]
    return random_network(rng, num=2, num_factors=1)._replace(cards=np.array(cards), scopes=scopes, tables=tables)


@pytest.mark.parametrize("cards", [(256, 2), (128, 128, 1), (300, 3)])
def test_counts_of_states_do_not_end_at_a_byte(either, cards):
    """Flags are bytes, and plain Python keeps the type of what it adds: 256 states were none."""
    network = wide_network(cards, 0.01 if len(cards) == 3 else 0.9)
    where, values = stored(network)
    first = np.concatenate([[0], np.cumsum(network.cards)]).astype(np.int64)
    allowed = np.ones(first[-1], np.uint8)
    homes = planning.transposed(*where[:2], len(network.cards))
    assert sparse.forbid_states(*where, values, first, allowed, *homes, np.arange(1))
    found = [set(np.flatnonzero(part).tolist()) for part in np.split(allowed, first[1:-1])]
    assert found == fixpoint(network, [set(range(card)) for card in network.cards])


@pytest.mark.parametrize("cards", [(21, 2, 21), (256, 2), (2, 300)])
def test_restricted_tables_of_many_states(either, cards):
    network = wide_network(cards, 1.0)
    where, values = stored(network)
    first = np.concatenate([[0], np.cumsum(network.cards)]).astype(np.int64)
    cells, offsets, strides = sparse.allowed_cells(*where, first, np.ones(first[-1], np.uint8))
    np.testing.assert_array_equal(values[cells], network.tables[0].ravel())
    assert offsets.tolist() == [0, math.prod(cards)]
    assert strides.tolist() == strides_of(cards)


@in_blocks("seed", range(25))
def test_restricted_tables_are_slices(either, seed):
    rng = np.random.default_rng(seed)
    network = random_network(rng, num=6, num_factors=7)
    where, values = stored(network)
    first = np.concatenate([[0], np.cumsum(network.cards)]).astype(np.int64)
    kept = [sorted(rng.choice(card, rng.integers(1, card + 1), replace=False).tolist()) for card in network.cards]
    allowed = np.zeros(first[-1], np.uint8)
    for v, states in enumerate(kept):
        allowed[first[v] + np.array(states)] = 1
    cells, offsets, strides = sparse.allowed_cells(*where, first, allowed)
    for f, (scope, table) in enumerate(zip(network.scopes, network.tables, strict=True)):
        part = table[np.ix_(*(kept[v] for v in scope))] if scope else table
        np.testing.assert_array_equal(values[cells[offsets[f] : offsets[f + 1]]], part.ravel())
        assert strides[where[0][f] : where[0][f + 1]].tolist() == strides_of(part.shape)
