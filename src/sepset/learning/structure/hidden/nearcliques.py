r"""Near-cliques of a graph: sets in which every node is adjacent to at least a share of the others.

A hidden common cause makes all its children depend on each other. A structure learned without it has many edges among
them: in the marginal distribution they are a clique, of which few rows support only a part.

Reference: Elidan, Lotner, Friedman & Koller (2000), Discovering hidden variables: a structure-based approach.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np

from sepset.base.arraytypes import Bools


def near_cliques(adjacent: Bools, share: float, *, most: int = 1_000) -> list[tuple[int, ...]]:
    """The near-cliques that grow from triangles, largest first.

    Each triangle takes in one node after the other, that with most neighbors inside first, as long as all members stay
    adjacent to the share of the others.

    Args:
        adjacent: a symmetric matrix.
        share: of the other members, from 0 to 1; with 1 the sets are cliques.
        most: the largest number of triangles to begin with.

    >>> square = np.array([[0, 1, 1, 0], [1, 0, 1, 1], [1, 1, 0, 1], [0, 1, 1, 0]], dtype=bool)
    >>> near_cliques(square, 0.5), near_cliques(square, 1.0)
    ([(0, 1, 2, 3)], [(0, 1, 2), (1, 2, 3)])
    """
    found = {_grown(adjacent, triangle, share) for triangle in itertools.islice(_triangles(adjacent), most)}
    return sorted(found, key=lambda members: (-len(members), members))


def _triangles(adjacent: Bools) -> Iterator[tuple[int, int, int]]:
    for first in range(len(adjacent)):
        for second in np.flatnonzero(adjacent[first, first + 1 :]) + first + 1:
            both = adjacent[first] & adjacent[second]
            yield from ((first, int(second), int(third)) for third in np.flatnonzero(both) if third > second)


def _grown(adjacent: Bools, seed: tuple[int, ...], share: float) -> tuple[int, ...]:
    members = list(seed)
    while True:
        inside = adjacent[:, members].sum(axis=1)
        least = math.ceil(share * len(members) - 1e-9)
        candidates = [k for k in np.argsort(-inside, kind="stable").tolist() if k not in members and inside[k] >= least]
        chosen = next((k for k in candidates if _is_near_clique(adjacent, [*members, k], share)), None)
        if chosen is None:
            return tuple(sorted(members))
        members.append(chosen)


def _is_near_clique(adjacent: Bools, members: list[int], share: float) -> bool:
    degrees = adjacent[np.ix_(members, members)].sum(axis=1)
    return bool((degrees >= share * (len(members) - 1) - 1e-9).all())
