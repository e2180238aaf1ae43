"""Rows that are too many for memory, or stay in an engine: grouped there into distinct rows with their weights.

Scores and tests of discrete columns need how often each row occurs, not the rows. One group-by over all columns has at
most as many answers as there are joint states.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack

import numpy as np

from sepset.data.binding import infer_variable, inference_note
from sepset.data.columns import Levels
from sepset.data.dataset import Dataset
from sepset.data.engines import LazyRows, collected
from sepset.data.filecolumns import is_large, typed
from sepset.data.frames import is_lazy
from sepset.data.sources import Weights, rows_of
from sepset.factors.algebra import AnyVariable
from sepset.variables.variable import Discrete


def grouped_rows(data: object, known: Mapping[str, AnyVariable], weights: Weights = None) -> Dataset | None:
    """The distinct rows of discrete columns in an engine or a large file, each with its total weight.

    None where the rows are at hand, where weights are numbers for single rows, and where some column is real.

    Args:
        data: a lazy frame, a relation, or the path of a file; anything else is at hand.
        known: the meaning of some columns; the states of others are their distinct values.
        weights: the name of a column.
    """
    if not _is_stored(data) or not (weights is None or isinstance(weights, str)):
        return None
    with ExitStack() as stack:
        rows = stack.enter_context(rows_of(data, (), weights))
        if not isinstance(rows, LazyRows) or not set(known) <= set(rows.columns):
            return None
        notes: list[str] = []
        scope = [known.get(name) or _inferred(rows, name, notes) for name in rows.columns if name != weights]
        chosen = tuple(v for v in scope if isinstance(v, Discrete))
        if not chosen or len(chosen) < len(scope):
            return None
        (groups,) = rows.groups([chosen])
    codes = [groups.codes[v] for v in chosen]
    order = np.lexsort(codes[::-1])  # engines answer in any order
    columns = {v.name: column[order] for v, column in zip(chosen, codes, strict=True)}
    return Dataset.from_codes(list(chosen), columns, weights=groups.weights[order]).with_notes(notes)


def _is_stored(data: object) -> bool:
    if isinstance(data, str | os.PathLike):
        return is_large(data)
    return not isinstance(data, Dataset) and is_lazy(data)


def _inferred(rows: LazyRows, name: str, notes: list[str]) -> AnyVariable:
    """The variable that the distinct values of a column suggest; a doubtful one is noted."""
    import narwhals.stable.v2 as nw

    (frame,) = collected([rows.frame.select(nw.col(rows.columns[name]).alias("value")).unique()])
    column = frame.read("value")
    plain = typed(column) if rows.is_text and isinstance(column, Levels) else column
    variable = infer_variable(name, plain)
    note = inference_note(variable, plain)
    notes += [note] if note else []
    return variable
