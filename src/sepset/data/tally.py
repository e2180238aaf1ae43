"""Counting rows in memory: all families in one compiled pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from sepset.base.arraytypes import AnyArray, AnyInts, Bytes, Floats, Ints
from sepset.base.tasks import in_order
from sepset.base.threads import num_threads
from sepset.data.dataset import Dataset
from sepset.variables.variable import Discrete

_SCRATCH = 1 << 20  # bytes of codes laid side by side: they stay in the second cache
_LANED = 1 << 16  # cells for which several tables take turns


@dataclass(frozen=True, slots=True, eq=False)
class _Layout:
    """Where the cells of several families lie in one flat array, family after family."""

    columns: list[AnyInts]
    ptr: Ints
    places: Ints
    strides: Ints
    offsets: Ints
    num_cells: int

    @classmethod
    def of(cls, dataset: Dataset, scopes: Sequence[Sequence[Discrete]]) -> _Layout:
        """Columns in order of first use, so that a family's columns lie near each other."""
        index: dict[Discrete, int] = {}
        places = [index.setdefault(v, len(index)) for scope in scopes for v in scope]
        strides = [step for scope in scopes for step in _strides(scope)]
        sizes = [_size(scope) for scope in scopes]
        return cls(
            [dataset.codes(v) for v in index],
            np.cumsum([0, *map(len, scopes)], dtype=np.int64),
            np.array(places, np.int64),
            np.array(strides, np.int64),
            np.cumsum([0, *sizes[:-1]], dtype=np.int64)[: len(scopes)],
            sum(sizes),
        )


def _strides(scope: Sequence[Discrete]) -> list[int]:
    return [_size(scope[place + 1 :]) for place in range(len(scope))]


def _size(scope: Sequence[Discrete]) -> int:
    size = 1
    for variable in scope:
        size *= variable.num_states
    return size


def tally(
    dataset: Dataset, scopes: Sequence[tuple[Discrete, ...]], weights: Floats | None, threads: int | None = 1
) -> list[Floats]:
    r"""The (weighted) counts of each scope, flat in C order; rows that miss a cell of a scope are not in its count.

    Args:
        threads: the scopes are divided among them, so that no sum depends on their number; None for all processors.

    Cost: $O(M \sum_f |f|)$, one pass over the rows.

    >>> coin = Discrete("coin", ("head", "tail"))
    >>> tally(Dataset.from_codes([coin], {"coin": [0, 1, 1]}), [(coin,)], None)
    [array([1., 2.])]
    """
    from sepset.kernels.data.counting import LANES

    lanes = LANES if sum(map(_size, scopes)) <= _LANED else 1
    workers = min(num_threads(threads), len(scopes))
    if not scopes:
        return []
    if workers == 1:
        return _tally(dataset, scopes, weights, lanes)
    tasks = [partial(_tally, dataset, scopes[first::workers], weights, lanes) for first in range(workers)]
    found: list[Any] = [None] * len(scopes)
    for first, part in enumerate(in_order(tasks, workers)):
        found[first::workers] = part
    return found


def _tally(
    dataset: Dataset,
    scopes: Sequence[tuple[Discrete, ...]],
    weights: Floats | None,
    lanes: int,
    cancel: Bytes | None = None,
) -> list[Floats]:
    from sepset.kernels.data.counting import TILE, count_rows, weigh_rows

    layout = _Layout.of(dataset, scopes)
    scratch = _scratch(layout.columns, TILE)
    counts: AnyArray = np.zeros((lanes, layout.num_cells + 1), np.int64 if weights is None else np.float64)
    where = layout.ptr, layout.places, layout.strides, layout.offsets
    for start in range(0, dataset.num_rows, scratch.shape[1]):
        if cancel is not None and cancel[0]:
            break
        size, is_complete = _gather(layout.columns, start, scratch)
        if weights is None:
            count_rows(scratch, size, is_complete, *where, counts)
        else:
            weigh_rows(scratch, size, is_complete, *where, weights[start : start + size], counts)
    return np.split(counts.sum(axis=0).astype(np.float64)[:-1], layout.offsets[1:])


def _scratch(columns: Sequence[AnyInts], tile: int) -> AnyArray:
    """Room for the codes of a run of rows, some whole tiles of them, in the narrower of two types."""
    dtype = np.dtype(np.int8 if all(c.dtype == np.int8 for c in columns) else np.int32)
    tiles = max(1, _SCRATCH // (dtype.itemsize * max(len(columns), 1) * tile))
    return np.empty((len(columns), tiles * tile), dtype)


def _gather(columns: Sequence[AnyInts], start: int, scratch: AnyArray) -> tuple[int, bool]:
    """Fill the scratch from row `start` on: how many rows, and whether none of their cells is missing."""
    size = 0
    for place, column in enumerate(columns):
        part = column[start : start + scratch.shape[1]]
        size = len(part)
        scratch[place, :size] = part
    return size, bool(scratch[:, :size].min(initial=0) >= 0)
