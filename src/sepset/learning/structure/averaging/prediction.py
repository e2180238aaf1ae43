r"""Predictions averaged over structures.

$$P(y \mid \mathbf x, \mathcal D) \propto
  \sum_{\mathcal G} P(\mathcal G \mid \mathcal D) \, P(\mathbf x, y \mid \mathcal G, \mathcal D)$$
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from sepset.base.arraytypes import Floats, Ints, Objects
from sepset.data.dataset import Dataset
from sepset.data.sources import bind
from sepset.errors import NotApplicable
from sepset.graphs.graph import DAG
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import CellEvidence
from sepset.learning.structure.learned import StructureTask
from sepset.variables.variable import Discrete, Vector

FEW_ROWS = 1.0
"""The imaginary rows spread over each family where the score has no prior of its own."""


def averaged_predictions(task: StructureTask, graphs: Iterable[tuple[DAG, float]], target: str, data: object) -> Floats:
    r"""The probability of each state of a column in each row, averaged over structures.

    Parameters are averaged over their posterior: $(M[x, \mathbf u] + a) / (M[\mathbf u] + r a)$, with the score's own
    prior where it has one.

    Args:
        task: the columns and the score.
        graphs: structures with weights.
        target: the name of a discrete column.
        data: rows with all other columns.

    Reference: Koller & Friedman, section 18.5.1.
    Guarantee: exact for the given structures.
    Tested by: learning/structure/averaging/test_prediction.py::test_predictions_against_the_evidence
    """
    columns = task.columns
    if columns.is_real.any():
        raise NotApplicable("Averaged predictions are of discrete columns. Fit the graphs, and average their answers.")
    place = columns.names.index(target)
    codes = _codes(columns, target, data)
    total = np.full((codes.shape[1], int(columns.cards[place])), -np.inf)
    known: dict[tuple[int, tuple[int, ...]], Floats] = {}
    for graph, weight in graphs:
        logs = np.full_like(total, np.log(weight))
        for child, name in enumerate(columns.names):
            parents = tuple(sorted(columns.names.index(p) for p in graph.parents(name)))
            if (child, parents) not in known:
                known[child, parents] = _log_family(task, child, parents, place, codes)
            logs += known[child, parents]
        total = np.logaddexp(total, logs)
    shares = np.exp(total - total.max(1, keepdims=True))
    return np.asarray(shares / shares.sum(1, keepdims=True))


def _codes(columns: Columns, target: str, data: object) -> Ints:
    others = [v for v in columns.variables if v.name != target]
    rows = bind(data, others, None)
    blank = np.zeros(rows.num_rows, np.int64)
    return np.stack([blank if n == target else rows.codes(n).astype(np.int64) for n in columns.names])


def _log_family(task: StructureTask, child: int, parents: tuple[int, ...], target: int, codes: Ints) -> Floats:
    """The log probability of a child in each row, for each state of the target."""
    columns = task.columns
    table = columns.family_table(child, parents)
    r = table.shape[-1]
    q = np.array([table.size / r])
    a = float(task.score.pseudo_count(q, r)[0]) if isinstance(task.score, CellEvidence) else FEW_ROWS / table.size
    with np.errstate(divide="ignore"):
        logs = np.log(table + a) - np.log(table.sum(-1, keepdims=True) + r * a)
    axes = (*parents, child)
    states = np.arange(int(columns.cards[target]))
    index = tuple(states[None, :] if c == target else codes[c][:, None] for c in axes)
    return np.asarray(np.broadcast_to(logs[index], (codes.shape[1], len(states))))


def extended_task(task: StructureTask, data: object) -> StructureTask:
    """The task with further rows, in which nothing was set."""
    old = task.columns.dataset
    new = bind(data, list(old.variables), None)
    weights = np.ones(old.num_rows) if old.weights is None else old.weights
    labels = {v.name: _labels(v, old, new) for v in old.variables}
    joined = np.concatenate([weights, np.ones(new.num_rows)])
    before, rows = task.columns, Dataset(labels, variables=list(old.variables), weights=joined)
    marked = before.intervened
    if marked is not None:
        marked = np.concatenate([marked, np.zeros((len(before), new.num_rows), np.bool_)], axis=1)
    return replace(task, columns=Columns(rows, intervened=marked, missing=before.missing))


def _labels(variable: Discrete | Vector, *parts: Dataset) -> Objects:
    if not isinstance(variable, Discrete):
        raise NotApplicable(f"The evidence of further rows is of discrete columns; {variable.name!r} is real.")
    codes = np.concatenate([rows.codes(variable) for rows in parts])
    return np.asarray(np.array([*variable.states, None], dtype=object)[codes])  # -1, a missing cell, is the last
