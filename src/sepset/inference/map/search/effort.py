r"""The effort of an exact answer, estimated by one greedy elimination order before anything is planned.

$$\sum_v \prod_{u \in \text{clique}(v)} |u|$$
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sepset.base.arraytypes import AnyInts, Bools, Ints
from sepset.graphs.graph import UndirectedGraph
from sepset.graphs.ordering import MinFill, elimination_order
from sepset.problem import Problem

LEAST, MOST, WIDEST = 500, 20_000, 64
"""Only models of so many variables are estimated, with factors of at most so many."""


def greedy_entries(problem: Problem, observed: Iterable[int]) -> float:
    """The entries of all tables of a greedy elimination of the unobserved variables.

    Zero where there is nothing to decide: for few variables, for continuous ones, and for models so large that even
    the order takes long.

    Reference: Koller & Friedman, section 9.4.3.
    Tested by: inference/map/search/test_effort.py::test_entries_are_those_of_the_cliques

    >>> from sepset.models.markovnet import MarkovNet
    >>> from sepset.variables.variable import Discrete
    >>> greedy_entries(MarkovNet.potts(Discrete.array("x", (1, 600)), 1.0).problem(), ())
    2396.0
    """
    cards = np.array(problem.variables.cards, np.int64)
    free = np.ones(len(cards), bool)
    free[list(observed)] = False
    if not LEAST <= free.sum() <= MOST or (cards[free] == 0).any():
        return 0.0
    starts, members = problem.scopes
    if np.diff(starts).max(initial=0) > WIDEST:
        return 0.0
    place = np.cumsum(free) - 1
    ends = _pairs(np.asarray(starts), place[np.asarray(members)], free[np.asarray(members)])
    names = [str(i) for i in range(int(free.sum()))]
    graph = UndirectedGraph.from_arrays(names, sources=ends[:, 0], targets=ends[:, 1])
    sizes = dict(zip(names, cards[free].tolist(), strict=True))
    return float(elimination_order(graph, sizes, method=MinFill()).total_size)


def _pairs(starts: AnyInts, members: AnyInts, is_free: Bools) -> Ints:
    """The pairs of unobserved variables that a factor has together, each once."""
    found: set[tuple[int, int]] = set()
    for first, last in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        scope = sorted(set(members[first:last][is_free[first:last]].tolist()))
        found.update((a, b) for at, a in enumerate(scope) for b in scope[at + 1 :])
    return np.array(sorted(found), np.int64).reshape(-1, 2)
