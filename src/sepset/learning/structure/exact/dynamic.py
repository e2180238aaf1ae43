r"""The best DAG by dynamic programming over the subsets of columns.

A DAG over $W$ has a column $s$ without children in $W$, its sink, whose parents are in $W - s$:

$$b(s, S) = \max_{U \subseteq S} F(s \mid U), \qquad B(W) = \max_{s \in W} B(W - s) + b(s, W - s).$$
"""

from __future__ import annotations

from functools import partial

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.text import readable
from sepset.base.threads import interruptible, shares, together
from sepset.errors import NotApplicable, TooLarge
from sepset.kernels.structure.subsets import best_sinks, best_subsets
from sepset.learning.structure import costs
from sepset.learning.structure.exact.optimum import Optimum
from sepset.learning.structure.exact.scoretable import ScoreTable, including, without

INSTEAD = "Use ExactSearch(method='integer') or 'astar' with a limit on parents, fewer columns, or a larger max_bytes=."


def needs(num_columns: int) -> tuple[float, float]:
    """The bytes and about the seconds that the subsets of so many columns take.

    >>> needs(20)[0] < 2**28
    True
    """
    n = num_columns
    entries = n * 2.0 ** max(n - 1, 0)
    return 16.0 * entries + 9.0 * 2.0**n, costs.SECONDS_PER_ENTRY * n * entries


def check_size(num_columns: int, max_bytes: float, instead: str = INSTEAD) -> None:
    """Raise unless the subsets of so many columns fit this memory; the error has estimates of memory and time.

    Args:
        num_columns: how many.
        max_bytes: the limit.
        instead: what to do, in words.
    """
    memory, seconds = needs(num_columns)
    if memory > max_bytes:
        raise TooLarge(
            f"Dynamic programming over the subsets of {num_columns} columns takes about {readable(int(memory))} and "
            f"{seconds:,.3g} s; the limit is {readable(int(max_bytes))}. {instead}"
        )


def dense_scores(table: ScoreTable) -> Floats:
    """The score of every parent set of each child, by its number without the child's bit; -inf if not in the table."""
    n = table.num_columns
    found = np.full((n, 1 << max(n - 1, 0)), -np.inf)
    for child in range(n):
        masks, scores = table.of(child)
        found[child, without(masks, child)] = scores
    return found


def best_dag(scores: Floats, *, threads: int = 1) -> Optimum:
    """The best DAG, given the scores of all parent sets as `dense_scores` has them.

    Args:
        scores: one row per child.
        threads: their number.

    Reference: Silander & Myllymaki (2006); Koivisto & Sood (2004); Singh & Moore (2005).
    Guarantee: exact.
    Tested by: learning/structure/exact/test_dynamic.py::test_equals_enumeration
    """
    n = len(scores)
    best = scores.copy()
    together([partial(best_subsets, best[of]) for of in shares(n, threads)], threads)
    totals, sinks = np.empty(1 << n), np.zeros(1 << n, np.uint8)
    interruptible(lambda cancel: best_sinks(best, totals, sinks, cancel))
    if totals[-1] == -np.inf:
        raise NotApplicable("The allowed parent sets have a cycle in every graph: no DAG is allowed.")
    parents, left = [0] * n, (1 << n) - 1
    while left:
        sink = int(sinks[left])
        left ^= 1 << sink
        parents[sink] = including(_chosen(best[sink], without(left, sink)), sink)
    return Optimum(tuple(parents), float(totals[-1]), bound=float(totals[-1]), num_steps=1 << n)


def _chosen(best: Floats, inside: int) -> int:
    """A parent set inside this one with its best score, of which no element can be left out and the score be kept."""
    while True:
        smaller = (inside ^ (1 << i) for i in range(inside.bit_length()) if inside >> i & 1)
        left = next((s for s in smaller if best[s] == best[inside]), None)
        if left is None:
            return inside
        inside = left
