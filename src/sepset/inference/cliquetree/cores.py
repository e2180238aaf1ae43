r"""Refusals that need no elimination order: parts of a graph in which every variable has many neighbors.

If all nodes of a subgraph have at least $k$ neighbors in it, whatever is eliminated first among them has $k$: each
order has a clique of $k + 1$ variables, so that a table of at least $2^{k + 1}$ entries is needed. Such parts remain
when nodes of fewer neighbors are removed again and again.

Reference: Lick & White (1970); Koster, Wolle & Bodlaender (2005) for the bound.
"""

from __future__ import annotations

import math
from collections.abc import Collection

import numpy as np

from sepset.base.arraytypes import Bools, Ints
from sepset.base.cache import Slot
from sepset.base.text import readable
from sepset.errors import TooLarge
from sepset.factors.block import FactorBlock, Single
from sepset.factors.table import Table
from sepset.graphs.csr import pairs_within_rows, sorted_pairs
from sepset.inference import costs
from sepset.inference.plan import ENTRY_BYTES
from sepset.problem import Block, Problem

MOST_PAIRS = 2**22
"""The most pairs of variables of one factor, in all factors, that are looked at."""

CORES: Slot[Ints] = Slot("pairs of variables in parts where each has many neighbors", size=4)
"""Those of a problem, by the number of neighbors."""


def refuse_cores(problem: Problem, observed: Collection[int], memory: int) -> None:
    """Raise if every order needs tables far beyond the memory, as the graph of an undirected problem shows.

    This is for problems without zeros, where no table can leave out states.

    Guarantee: only what every order needs is refused.
    Tested by: inference/cliquetree/test_cores.py::test_what_is_refused_has_no_smaller_order
    """
    least = math.ceil(math.log2(costs.HOPELESS_FACTOR * max(memory, 1) / ENTRY_BYTES))
    if problem.conditionals or len(problem.variables) <= least:
        return
    pairs = problem.kept.get(CORES, lambda: core(_pairs(problem), least), key=least)
    if len(pairs) and observed:
        is_hidden = np.ones(len(problem.variables), bool)
        is_hidden[list(observed)] = False
        pairs = core(pairs[is_hidden[pairs].all(axis=1)], least)
    if len(pairs) and all(map(_is_positive, problem.blocks)):
        count, size = len(np.unique(pairs)), readable(ENTRY_BYTES * 2**least)
        raise TooLarge(
            f"Every elimination order needs tables of more than 2^{least} entries ({size} at 8 bytes each), since "
            f"{count:,} variables have {least} neighbors or more among them; the limit is {readable(memory)}. Observe "
            "more variables, or use an approximate method, such as LoopyBP."
        )


def core(pairs: Ints, least: int) -> Ints:
    """The pairs among nodes that have at least so many neighbors among them.

    >>> core(np.array([[0, 1], [0, 2], [1, 2], [2, 3]]), 2).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    while len(pairs):
        is_kept: Bools = (np.bincount(pairs.reshape(-1)) >= least)[pairs].all(axis=1)
        if is_kept.all():
            break
        pairs = pairs[is_kept]
    return pairs


def _pairs(problem: Problem) -> Ints:
    """The pairs of variables with several states that share a factor; none if they are too many to be looked at."""
    start, members = problem.scopes
    sizes = np.diff(start)
    if int((sizes * (sizes - 1)).sum()) > 2 * MOST_PAIRS:
        return np.zeros((0, 2), np.int64)
    pairs = np.sort(pairs_within_rows((start, members.astype(np.int32))), axis=1)
    found = sorted_pairs(pairs, len(problem.variables))
    return found[(problem.variables.cards > 1)[found].all(axis=1)]


def _is_positive(block: Block) -> bool:
    """Whether no factor of a block has a zero."""
    if isinstance(block, FactorBlock):
        linear = block.linear()
        return linear is not None and bool((linear[0] > 0.0).all())
    table = block.value if isinstance(block, Single) else None
    return isinstance(table, Table) and bool((table.log_values > -np.inf).all())
