"""The graphs that structural EM begins with, and begins with again."""

from __future__ import annotations

import numpy as np

from sepset.data.dataset import Dataset
from sepset.errors import DataError
from sepset.learning.incomplete.starts import clusters
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import Scorer
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.search.hillclimb import random_move
from sepset.learning.structure.search.moves import SearchedGraph

Parents = list[list[int]]


def first_graph(task: StructureTask, rng: np.random.Generator) -> Parents:
    """The parents of each column at first: the start that is given; or the required ones, and hidden variables.

    Every column gets the hidden variable that explains it best, if one raises its score where clusters of the rows
    take the place of the hidden variable's states.
    """
    parents = task.start_parents()
    hidden = [] if task.start is not None else never_observed(task.columns)
    if not hidden or task.score is None:
        return parents
    filled = Scorer(_with_clusters(task.columns, hidden, rng), task.score, task.structure_prior, threads=task.threads)
    allowed = task.allowed
    for child, given in enumerate(parents):
        free = [h for h in hidden if not allowed.forbidden[h, child]]
        if child in hidden or not free or len(given) >= allowed.max_parents or not set(given).isdisjoint(hidden):
            continue
        try:
            gains = filled.families(child, [[*given, h] for h in free]) - filled.family(child, given)
        except DataError:  # clusters determine the column: no density of its own is left
            continue
        if gains.max() > 0:
            given[:] = sorted([*given, free[int(gains.argmax())]])
    return parents if _is_acyclic(parents) else task.start_parents()


def perturbed(graph: SearchedGraph, rng: np.random.Generator) -> Parents:
    """The graph after some random moves."""
    for _ in range(max(4, graph.n // 4)):
        move = random_move(graph, rng)
        if move is not None:
            graph.make(move)
    return [sorted(given) for given in graph.parents_of()]


def never_observed(columns: Columns) -> list[int]:
    """The columns without any observed cell."""
    return [k for k, codes in enumerate(columns.codes) if (codes < 0).all() and not columns.is_real[k]]


def _with_clusters(columns: Columns, hidden: list[int], rng: np.random.Generator) -> Columns:
    """The columns with clusters of the rows in place of hidden states; several come from different columns."""
    codes, weights = columns.codes.copy(), np.asarray(columns.weights, np.float64)
    seen = np.setdiff1d(np.arange(len(codes)), hidden)
    for place, column in enumerate(hidden):
        near = seen if not place or len(seen) < 3 else np.sort(rng.choice(seen, (2 * len(seen)) // 3, replace=False))
        known = [columns.values[c] if columns.is_real[c] else columns.codes[c] for c in near]
        codes[column] = clusters(known, int(columns.cards[column]), columns.num_rows, rng, weights)
    named = {v.name: column for v, column in zip(columns.variables, columns.dataset.columns, strict=True)}
    named |= {columns.names[column]: codes[column] for column in hidden}
    return Columns(Dataset.from_codes(columns.variables, named, weights=weights), missing="available")


def _is_acyclic(parents: Parents) -> bool:
    """Whether the columns can be ordered with parents first."""
    left = set(range(len(parents)))
    while left:
        free = {k for k in left if left.isdisjoint(parents[k])}
        if not free:
            return False
        left -= free
    return True
