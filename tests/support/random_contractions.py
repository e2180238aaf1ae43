"""Random factors over ranks with an order to contract them in, as plain lists and arrays."""

from __future__ import annotations

import itertools
import string
from typing import NamedTuple

import numpy as np

from sepset.graphs.ordering import MinFill
from sepset.graphs.symbolic import symbolic_elimination
from sepset.inference.compiled.contraction import Inputs, contract, tree_groups
from sepset.inference.compiled.program import assemble
from sepset.inference.compiled.store import Layout


class Network(NamedTuple):
    """Numbers of states, scopes, and a table for each scope; nodes are numbered as the order eliminates them."""

    cards: list
    scopes: list
    tables: list


def random_network(rng, *, num=7, largest=4, num_factors=8, arity=3):
    """Factors over a few ranks: some of one state, some without factors, some factors without variables."""
    cards = [int(c) for c in rng.integers(1, largest + 1, num)]
    scopes = [
        sorted(rng.choice(num, min(rng.integers(0, arity + 1), num), replace=False).tolist())
        for _ in range(num_factors)
    ]
    tables = [rng.random([cards[r] for r in scope]) * (rng.random([cards[r] for r in scope]) > 0.1) for scope in scopes]
    return Network(cards, scopes, tables)


def rows(lists):
    """Lists as compressed rows."""
    start = np.concatenate([[0], np.cumsum([len(x) for x in lists])]).astype(np.int64)
    return start, np.array(list(itertools.chain(*lists)), dtype=np.int64)


def neighbors(num, scopes):
    """The graph that joins the members of every scope, as sorted lists."""
    found = [set() for _ in range(num)]
    for scope in scopes:
        for a, b in itertools.permutations(scope, 2):
            found[a].add(b)
    return [sorted(x) for x in found]


def eliminated(network, kept=()):
    """The network's symbolic elimination, kept nodes last and together, and the network renumbered by rank."""
    num = len(network.cards)
    group = np.array([int(v in kept) for v in range(num)], dtype=np.int64)
    graph = rows(neighbors(num, [*network.scopes, list(kept)]))
    names = tuple(f"v{i}" for i in range(num))
    symbolic = symbolic_elimination(names, graph, tuple(network.cards), group, MinFill())
    rank = {int(v): i for i, v in enumerate(symbolic.order)}
    scopes, tables = [], []
    for scope, table in zip(network.scopes, network.tables, strict=True):
        place = sorted(range(len(scope)), key=lambda i: rank[scope[i]])
        scopes.append([rank[scope[i]] for i in place])
        tables.append(table.transpose(place))
    return symbolic, Network([network.cards[v] for v in symbolic.order], scopes, tables)


def with_free(network):
    """The network with a table of ones for each rank that no scope mentions."""
    free = sorted(set(range(len(network.cards))) - set(itertools.chain(*network.scopes)))
    return Network(
        network.cards,
        [*network.scopes, *([r] for r in free)],
        [*network.tables, *(np.ones(network.cards[r]) for r in free)],
    )


NONE = np.zeros(0, np.int64)
NO_LAYOUT = Layout.of((np.zeros(1, np.int64), NONE, NONE), np.zeros(1, np.int64), NONE)


def assembled(made):
    """The program of a contraction whose factors are put in by hand."""
    return assemble(made, NO_LAYOUT, NONE, NONE, NONE, 0, NONE)


def contracted(network, kept=(), *, targets=False, num_factors=0, limit=np.inf):
    """The sweeps of a network, read at every rank or factor where that is asked for, and the network by rank."""
    symbolic, ranked = eliminated(network, kept)
    ranked = with_free(ranked)
    num = len(ranked.cards)
    inputs = Inputs(*rows(ranked.scopes), np.arange(len(ranked.scopes)), np.arange(num), NONE)
    made = contract(
        inputs,
        symbolic.ranked_cards,
        tree_groups(symbolic, len(kept)),
        kept=np.arange(num - len(kept), num),
        targets=np.arange(num if targets else 0),
        num_factors=num_factors,
        limit=limit,
    )
    return made, ranked


def summed(network, onto, largest=False):
    """The product of all tables summed (or maximized) to some ranks, by one big array."""
    joint = np.ones(network.cards)
    for scope, table in zip(network.scopes, network.tables, strict=True):
        joint = joint * table.reshape([network.cards[r] if r in scope else 1 for r in range(len(network.cards))])
    away = tuple(r for r in range(len(network.cards)) if r not in onto)
    return joint.max(axis=away) if largest else joint.sum(axis=away)


def product_sum(a, scope_a, b, scope_b, scope):
    """One step by einsum."""
    letters = string.ascii_letters
    first, second = ("".join(letters[r] for r in x) for x in (scope_a, scope_b))
    return np.einsum(f"{first},{second}->{''.join(letters[r] for r in scope)}", a, b)
