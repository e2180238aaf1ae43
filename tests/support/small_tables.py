"""Hypothesis strategies for small factors, with plain copies for the oracle."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.variables.variable import Discrete

UNIVERSE = (
    Discrete("a", 2),
    Discrete("b one", ("only",)),
    Discrete("c/d", ("x", "y", "z")),
    Discrete("è", (False, True)),
    Discrete('quote"', (0.5, 1.5, 2.5)),
    Discrete("x", 2, index=(3, 4)),
)
CARDS = {v.name: v.num_states for v in UNIVERSE}


def scopes(most: int = 4) -> st.SearchStrategy[tuple[Discrete, ...]]:
    """Tuples of different variables, the empty one too."""
    return st.lists(st.sampled_from(UNIVERSE), max_size=most, unique=True).map(tuple)


@st.composite
def arrays(draw: st.DrawFn, scope: tuple[Discrete, ...]) -> np.ndarray:
    """Values with zeros and several orders of magnitude, of the scope's shape."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    zeros = draw(st.sampled_from([0.0, 0.3, 0.9, 1.0]))
    spread = draw(st.sampled_from([0.0, 3.0, 100.0]))
    shape = tuple(v.num_states for v in scope)
    values = rng.exponential(size=shape) * 10.0 ** rng.uniform(-spread, spread, size=shape)
    return np.where(rng.random(shape) < zeros, 0.0, values)


@st.composite
def factors(draw: st.DrawFn, most: int = 4) -> tuple[tuple[Discrete, ...], np.ndarray]:
    """A scope and its values."""
    scope = draw(scopes(most))
    return scope, draw(arrays(scope))


def named(scope: tuple[Discrete, ...]) -> tuple[str, ...]:
    return tuple(v.name for v in scope)


def cards(*scopes: tuple[Discrete, ...]) -> dict[str, int]:
    """The numbers of states of all the variables, in order of first appearance."""
    return {v.name: v.num_states for scope in scopes for v in scope}


def random_triple(rng: np.random.Generator, sparse: bool = False, zeros: float = 0.3) -> list[Table | SparseTable]:
    """Three factors over random, overlapping, perhaps empty scopes."""
    triple = []
    for _ in range(3):
        picked = rng.permutation(len(UNIVERSE))[: rng.integers(0, 5)]
        table = Table.random(tuple(UNIVERSE[i] for i in picked), rng, zeros=zeros)
        triple.append(SparseTable.from_table(table) if sparse else table)
    return triple
