r"""The k best DAGs by dynamic programming over the subsets of columns.

The k best DAGs over $W$ are among those that add a sink $s$, with one of the best parent sets inside $W - s$, to one of
the k best over $W - s$. A DAG with several sinks is found once for each, and kept once.
"""

from __future__ import annotations

import heapq
from typing import NamedTuple

from sepset.base.checks import whole
from sepset.base.foreign import translated
from sepset.base.threads import require_time
from sepset.errors import TooLarge
from sepset.learning.structure.exact.scoretable import ScoreTable, bits

MOST_ENTRIES = 4_000_000
"""The largest number of DAGs that are kept for all subsets together."""


class RankedDAG(NamedTuple):
    """One of the best DAGs.

    Attributes:
        parents: one mask of parents per column.
        score: of the DAG.
    """

    parents: tuple[int, ...]
    score: float


@translated
def k_best(table: ScoreTable, k: int) -> list[RankedDAG]:
    """The k best DAGs of a score table, best first; fewer if there are not so many.

    Cost: k n 2^n steps.

    Args:
        table: all parent sets that are allowed; sets with a better subset count too.
        k: how many.

    Reference: Tian, He & Ram (2010).
    Guarantee: exact.
    Tested by: learning/structure/exact/test_kbest.py::test_equals_enumeration

    >>> table = ScoreTable.from_scores({"a": {(): -4.0, ("b",): -2.5}, "b": {(): -3.0, ("a",): -1.0}})
    >>> [(best.parents, best.score) for best in k_best(table, 2)]
    [((0, 1), -5.0), ((2, 0), -5.5)]
    """
    k, n = whole("k", k, least=1), table.num_columns
    if k * 2.0**n > MOST_ENTRIES:
        raise TooLarge(
            f"The {k:,} best DAGs over {n} columns keep up to {k * 2.0**n:,.3g} partial DAGs; the limit is "
            f"{MOST_ENTRIES:,}. Ask for fewer, or use fewer columns."
        )
    sets = [tuple(zip(*(a.tolist() for a in table.of(v)), strict=True)) for v in range(n)]
    best: list[list[tuple[float, tuple[int, ...]]]] = [[(0.0, (-1,) * n)]]
    for subset in range(1, 1 << n):
        require_time()
        best.append(_best_over(subset, k, best, sets))
    return [RankedDAG(parents, score) for score, parents in best[-1]]


def _best_over(
    subset: int,
    k: int,
    best: list[list[tuple[float, tuple[int, ...]]]],
    sets: list[tuple[tuple[int, float], ...]],
) -> list[tuple[float, tuple[int, ...]]]:
    """The k best over a subset: a DAG without a sink, and a parent set of the sink, in the order of their sum."""
    smaller, families = {}, {}
    heap: list[tuple[float, int, int, int]] = []
    for s in bits(subset):
        rest = subset ^ (1 << s)
        smaller[s], families[s] = best[rest], [(m, f) for m, f in sets[s] if m & ~rest == 0][:k]
        if smaller[s] and families[s]:
            heap.append((-smaller[s][0][0] - families[s][0][1], s, 0, 0))
    heapq.heapify(heap)
    found: dict[tuple[int, ...], float] = {}
    while heap and len(found) < k:
        cost, s, i, j = heapq.heappop(heap)
        base = smaller[s][i][1]
        parents = (*base[:s], families[s][j][0], *base[s + 1 :])
        found.setdefault(parents, -cost)
        if j + 1 < len(families[s]):
            heapq.heappush(heap, (-smaller[s][i][0] - families[s][j + 1][1], s, i, j + 1))
        if j == 0 and i + 1 < len(smaller[s]):
            heapq.heappush(heap, (-smaller[s][i + 1][0] - families[s][0][1], s, i + 1, 0))
    return [(score, parents) for parents, score in found.items()]
