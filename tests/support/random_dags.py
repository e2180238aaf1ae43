"""Random sparse DAGs in a random order of nodes, for tests of structure learning."""

from __future__ import annotations

import itertools

import numpy as np

from sepset.graphs.graph import DAG


def random_dag(n: int, share: float, seed: int, *, max_parents: int | None = None) -> DAG:
    """A DAG over `v0, v1, ...` that has each possible edge with this probability."""
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(n)]
    order = [names[i] for i in rng.permutation(n)]
    edges = [edge for edge in itertools.combinations(order, 2) if rng.random() < share]
    if max_parents is not None:
        parents = {y: [x for x, z in edges if z == y][:max_parents] for y in names}
        edges = [(x, y) for y in names for x in parents[y]]
    return DAG(names, edges)
