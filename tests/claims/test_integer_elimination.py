"""Elimination in integers, compiled and as plain Python, beside the definition on sets."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sepset.kernels.compiled import planning
from support import plain_elimination as plain
from support.blocks import in_blocks
from support.kernel_calls import adjacency, eliminate
from support.small_contractions import compressed, listed, random_inputs, size_of, uncompile

SEEDS = range(60)


def eliminated(scopes, order):
    """The message of each rank, by the definition, for scopes of node numbers."""
    edges = {pair for scope in scopes for pair in itertools.combinations(sorted(scope), 2)}
    cliques, _ = plain.eliminate(order, edges, order)
    rank = {node: i for i, node in enumerate(order)}
    return [tuple(sorted(rank[v] for v in clique if v != node)) for clique, node in zip(cliques, order, strict=True)]


@pytest.fixture(params=["compiled", "plain"])
def either(request, monkeypatch):
    if request.param == "plain":
        uncompile(monkeypatch, planning)


@in_blocks("seed", SEEDS)
@pytest.mark.usefixtures("either")
def test_elimination_follows_the_definition(seed):
    rng = np.random.default_rng(seed)
    inputs = random_inputs(rng, most=8)
    order = rng.permutation(len(inputs.cards))
    rows = adjacency(*inputs.rows, len(order))
    states = np.array(inputs.cards, dtype=np.float64)
    start, scopes, parents, absorbed, sizes = eliminate(*rows, order, states)
    messages = eliminated(inputs.scopes, order.tolist())
    assert listed(start, scopes) == messages
    assert parents.tolist() == [min(message, default=-1) for message in messages]
    cliques = [frozenset({i, *message}) for i, message in enumerate(messages)]
    assert all(cliques[i] <= cliques[k] for i, k in enumerate(absorbed.tolist()))
    assert {cliques[k] for k in absorbed.tolist()} == plain.maximal(cliques)
    assert len(set(absorbed.tolist())) == len(plain.maximal(cliques))
    cards = [inputs.cards[v] for v in order]
    assert sizes.tolist() == [size_of(clique, cards) for clique in cliques]


def test_elimination_makes_room_for_much_fill():
    """A star eliminated from its hub on leaves every later message nearly complete: far beyond the first pool."""
    n = 40
    start, members = compressed([tuple(range(1, n))] + [(0,)] * (n - 1))
    found, scopes, parents, absorbed = eliminate(start, members, np.arange(n))
    assert listed(found, scopes) == [tuple(range(i + 1, n)) for i in range(n)]
    assert parents.tolist() == [*range(1, n), -1]
    assert absorbed.tolist() == [0] * n


@in_blocks("seed", SEEDS)
@pytest.mark.usefixtures("either")
def test_cliques_pass_on_what_later_ones_still_need(seed):
    rng = np.random.default_rng(seed)
    inputs = random_inputs(rng, most=8)
    n = len(inputs.cards)
    num = n - int(rng.integers(0, n + 1))
    kept = tuple(range(num, n))
    rows = adjacency(*compressed([*inputs.scopes, kept]), n)
    start, scopes, _, absorbed = eliminate(*rows, np.arange(n))
    group, *seps = planning.maximal_cliques(start, scopes, absorbed, num)
    sepsets = listed(*seps)
    messages = eliminated([*inputs.scopes, kept], list(range(n)))
    assert group[num:].tolist() == [-1] * (n - num)
    assert set(group[:num].tolist()) == set(range(len(sepsets)))
    for g, sepset in enumerate(sepsets):
        own = np.flatnonzero(group == g).tolist()
        assert sepset == messages[own[-1]]
        for i in own:
            assert {i, *messages[i]} <= {*own, *sepset}
        assert all(group[r] > g or r >= num for r in sepset)
