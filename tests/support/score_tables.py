"""Random score tables, and rows for structures of a few columns."""

from __future__ import annotations

import numpy as np

from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.exact.scoretable import ScoreTable

ROW_22 = {"a": [0, 0, 0, 0, 1, 1, 1, 1], "b": [0, 0, 1, 1, 0, 0, 1, 1], "c": [0, 1, 0, 1, 0, 1, 0, 1]}
"""The joint states of three binary columns; `COUNTS_22` has their counts."""

COUNTS_22 = [10, 2, 3, 5, 4, 6, 1, 9]


def random_table(rng, size, *, max_parents=None, density=0.8, tied=False):
    """A table with random scores that fall with the number of parents; the empty set is always allowed."""
    families = []
    for child in range(size):
        masks = [m for m in range(1 << size) if not m >> child & 1 and m.bit_count() <= (max_parents or size)]
        masks = np.array([m for m in masks if m == 0 or rng.random() < density], np.int64)
        scores = 3.0 * rng.normal(size=len(masks)) - 1.2 * np.bitwise_count(masks)
        families.append((masks, np.round(scores) if tied else scores))
    return ScoreTable.of_children([f"x{i}" for i in range(size)], families)


def dependent_rows(seed, size, num_rows, states=2):
    """Columns each of which copies an earlier one in most rows."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, states, (size, num_rows))
    for i in range(1, size):
        same = rng.random(num_rows) < 0.6
        codes[i, same] = codes[rng.integers(i), same]
    return {f"x{i}": codes[i] for i in range(size)}


def random_constraints(rng, names):
    """Constraints that some DAG respects: those of a random order, with tiers or single edges."""
    order = [names[i] for i in rng.permutation(len(names))]
    pairs = [(x, y) for i, x in enumerate(order) for y in order[i + 1 :]]
    kinds = rng.random(len(pairs))
    required = [pair for pair, kind in zip(pairs, kinds, strict=True) if kind < 0.15]
    forbidden = [pair for pair, kind in zip(pairs, kinds, strict=True) if kind > 0.75]
    forbidden += [(y, x) for x, y in pairs if rng.random() < 0.3]
    limit = max([1, *(sum(y == name for _, y in required) for name in names)])
    return Constraints(
        required,
        forbidden,
        tiers=[order[:2], order[2:]] if rng.random() < 0.3 else (),
        max_parents=int(rng.integers(limit, len(names) + 1)),
    )
