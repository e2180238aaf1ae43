"""Random trees whose inner nodes may be hidden, their distances, and a form in which two trees can be compared."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np


class HiddenTree(NamedTuple):
    """A tree over observed nodes, which come first, and hidden ones of degree three or more; lengths of its edges."""

    num_nodes: int
    num_observed: int
    edges: list[tuple[int, int]]
    distances: np.ndarray


def random_latent_tree(num_nodes: int, rng: np.random.Generator) -> HiddenTree:
    """A random recursive tree; most nodes with three or more neighbors are hidden."""
    edges = [(int(rng.integers(0, node)), node) for node in range(1, num_nodes)]
    degree = np.bincount(np.array(edges).ravel(), minlength=num_nodes)
    hidden = [node for node in range(num_nodes) if degree[node] >= 3 and rng.random() < 0.7]
    observed = [node for node in range(num_nodes) if node not in hidden]
    place = {node: k for k, node in enumerate([*rng.permutation(observed).tolist(), *hidden])}
    moved = [(place[a], place[b]) for a, b in edges]
    apart = np.where(np.eye(num_nodes, dtype=bool), 0.0, np.inf)
    for (a, b), length in zip(moved, rng.uniform(0.1, 1.0, len(moved)), strict=True):
        apart[a, b] = apart[b, a] = length
    for k in range(num_nodes):
        apart = np.minimum(apart, apart[:, [k]] + apart[[k]])
    size = len(observed)
    return HiddenTree(num_nodes, size, moved, apart[:size, :size])


def splits(edges: Iterable[tuple[int, int]], observed: Iterable[int]) -> set[frozenset[frozenset[int]]]:
    """How each edge divides the observed nodes: equal for equal trees, whatever hidden nodes are called."""
    links, known = list(edges), set(observed)
    near: dict[int, set[int]] = {}
    for a, b in links:
        near.setdefault(a, set()).add(b)
        near.setdefault(b, set()).add(a)
    found = set()
    for a, b in links:
        side, waiting = {a}, [a]
        while waiting:
            node = waiting.pop()
            fresh = {n for n in near[node] if (node, n) != (a, b)} - side
            side |= fresh
            waiting += fresh
        found.add(frozenset([frozenset(side & known), frozenset(known - side)]))
    return found
