"""Equivalence classes of small DAGs by enumeration, and rows of small networks."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np

import sepset as ss
from sepset.learning.structure.columns import Columns

Edges = frozenset[tuple[int, int]]


def parents_of(edges: Edges, n: int) -> list[list[int]]:
    return [sorted(x for x, y in edges if y == child) for child in range(n)]


def is_acyclic(edges: Edges, n: int) -> bool:
    left = set(range(n))
    while left:
        ends = {x for x in left if not any(a == x and b in left for a, b in edges)}
        if not ends:
            return False
        left -= ends
    return True


def key_of(edges: Edges) -> tuple[frozenset[frozenset[int]], frozenset[tuple[frozenset[int], int]]]:
    """The skeleton and the immoralities, which two DAGs share exactly if they are equivalent."""
    skeleton = frozenset(frozenset(e) for e in edges)
    collisions = itertools.combinations(sorted(edges), 2)
    return skeleton, frozenset(
        (frozenset((a, c)), b) for (a, b), (c, d) in collisions if b == d and frozenset((a, c)) not in skeleton
    )


@cache
def classes(n: int) -> dict[object, list[Edges]]:
    """The DAGs over n nodes by class."""
    pairs = list(itertools.combinations(range(n), 2))
    found: dict[object, list[Edges]] = {}
    for choice in itertools.product(range(3), repeat=len(pairs)):
        edges = frozenset(p if c == 1 else p[::-1] for c, p in zip(choice, pairs, strict=True) if c)
        if is_acyclic(edges, n):
            found.setdefault(key_of(edges), []).append(edges)
    return found


def dag_of(matrix: np.ndarray) -> Edges:
    return frozenset((int(x), int(y)) for x, y in np.argwhere(matrix))


def expected_counts(seed: int, n: int, density: float = 0.5) -> tuple[ss.DAG, dict[str, np.ndarray], np.ndarray]:
    """A random binary network, all its rows, and their probabilities."""
    rng = np.random.default_rng(seed)
    names = [f"v{k}" for k in rng.permutation(n)]
    dag = ss.DAG(sorted(names), [p for p in itertools.combinations(names, 2) if rng.random() < density])
    cells = dict(zip(names, np.indices((2,) * n).reshape(n, -1), strict=True))
    mass = np.ones(2**n)
    for name in names:
        given = dag.parents(name)
        index = np.zeros(2**n, np.int64)
        for parent in given:
            index = 2 * index + cells[parent]
        chance = rng.uniform(0.1, 0.9, 2 ** len(given))[index]
        mass *= np.where(cells[name] == 1, chance, 1 - chance)
    return dag, cells, mass


def sampled(seed: int, num_rows: int) -> object:
    return ss.Dataset(ss.datasets.load("asia").sample(num_rows, seed=seed)).to_frame()


def chained_columns(seed: int, n: int = 6, num_rows: int = 120) -> Columns:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 3, (num_rows, n))
    rows[:, 1:] = np.where(rng.random((num_rows, n - 1)) < 0.5, rows[:, :-1], rows[:, 1:])
    return Columns.of({f"v{k}": rows[:, k] for k in range(n)})
