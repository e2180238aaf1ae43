"""All DAGs over a few columns: their number, and the graphs themselves, as an oracle for every other method."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import cache

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.checks import whole
from sepset.base.foreign import translated
from sepset.base.frozen import read_only
from sepset.base.text import brief
from sepset.errors import ArgumentError, TooLarge
from sepset.graphs.graph import DAG
from sepset.learning.structure.exact.scoretable import ScoreTable, bits

MOST_ENUMERATED = 5
"""The most columns whose DAGs are listed: there are 29,281 over five, and 3,781,503 over six."""


MOST_COUNTED = 100
"""The most columns whose DAGs are counted for a message; of more, those that one order allows are."""

MOST_NODES = 400
"""The most nodes over which DAGs are counted: their number has 24,000 digits, and takes a second."""


@translated
def num_dags(num_nodes: int) -> int:
    r"""The number of DAGs over so many labeled nodes.

    $$a_n = \sum_{k=1}^n (-1)^{k+1} \binom nk 2^{k(n-k)} a_{n-k}$$

    Reference: Robinson (1977).
    Guarantee: exact.
    Tested by: learning/structure/exact/test_enumeration.py::test_numbers_of_dags

    >>> [num_dags(n) for n in range(6)]
    [1, 1, 3, 25, 543, 29281]
    """
    n = whole("num_nodes", num_nodes)
    if n > MOST_NODES:
        raise TooLarge(f"DAGs over at most {MOST_NODES} nodes are counted; found {brief(num_nodes)}.")
    found = [1]
    for m in range(1, n + 1):
        terms = ((-1) ** (k + 1) * math.comb(m, k) * (found[m - k] << (k * (m - k))) for k in range(1, m + 1))
        found.append(sum(terms))
    return found[n]


@cache
def all_parents(num_nodes: int) -> Ints:
    """Every DAG over so many nodes as a row of parent masks, in the order of those masks."""
    if num_nodes > MOST_ENUMERATED:
        is_counted = num_nodes <= MOST_COUNTED
        many = (
            f"about {Decimal(num_dags(num_nodes)):.4g}" if is_counted else f"more than 2**{math.comb(num_nodes, 2):,}"
        )
        raise TooLarge(
            f"There are {many} DAGs over {num_nodes:,} columns; they are listed for up "
            f"to {MOST_ENUMERATED}. ExactSearch finds the best of them, and OrderMCMC averages over them."
        )
    found = np.zeros((1, 0), np.int64)
    for node in range(num_nodes):
        choices = np.array([m for m in range(1 << num_nodes) if not m >> node & 1], np.int64)
        found = np.hstack([np.repeat(found, len(choices), 0), np.tile(choices, len(found))[:, None]])
        found = found[_acyclic(found, node + 1)]
    return read_only(found)


def _acyclic(parents: Ints, decided: int) -> Bools:
    """Which rows have no cycle among the decided nodes: those with no decided parents left are removed repeatedly."""
    left = np.full(len(parents), (1 << decided) - 1, np.int64)
    for _ in range(decided):
        for node in range(decided):
            free = (left >> node & 1 == 1) & (parents[:, node] & left == 0)
            left[free] &= ~(1 << node)
    return np.asarray(left == 0)


def all_dags(nodes: Iterable[str]) -> Iterator[DAG]:
    """Every DAG over up to five nodes.

    Reference: Koller & Friedman, section 18.5.1.
    Guarantee: exact.
    Tested by: learning/structure/exact/test_enumeration.py::test_every_dag_is_there_once

    >>> [str(g) for g in all_dags(["a", "b"])]
    ['a; b', 'a -> b', 'b -> a']
    """
    if not isinstance(nodes, Iterable):
        raise ArgumentError(f"all_dags takes the names of the nodes, such as 'abc'; found {nodes!r}.")
    names = tuple(nodes)
    if len(set(names)) != len(names):
        raise ArgumentError("Nodes have different names; some name is there twice.")
    for row in all_parents(len(names)):
        yield DAG(names, [(names[p], name) for name, mask in zip(names, row, strict=True) for p in bits(mask)])


def all_scores(table: ScoreTable) -> Floats:
    """The score of every DAG in the order of `all_parents`; minus infinity for those that the table does not allow."""
    parents = all_parents(table.num_columns)
    total = np.zeros(len(parents))
    for child in range(table.num_columns):
        scores = np.full(1 << table.num_columns, -np.inf)
        masks, known = table.of(child)
        scores[masks] = known
        total += scores[parents[:, child]]
    return total
