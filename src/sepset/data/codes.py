"""Codes and row numbers as users give them, checked once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import AnyArray, AnyInts, Floats, Ints
from sepset.base.text import listing
from sepset.data.binding import refuse_vector
from sepset.data.columns import MISSING, code_dtype
from sepset.errors import DataError
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Vector


def positions(chosen: AnyArray, num_rows: int) -> Ints:
    """Row numbers, checked; negative ones count from the end."""
    if chosen.ndim != 1 or (chosen.size and chosen.dtype.kind not in "iu"):
        raise DataError(f"Rows are chosen by a list of whole numbers or a mask; found {chosen!r}.")
    places = chosen.astype(np.int64)
    outside = (places < -num_rows) | (places >= num_rows)
    if outside.any():
        raise DataError(f"There are {num_rows} rows, counted from 0; no row {int(places[outside][0])}.")
    return places


def named_columns(scope: Universe, codes: Mapping[str, ArrayLike]) -> list[AnyArray]:
    """One array per variable, by name; names and variables must match."""
    by_name = {key if isinstance(key, str) else getattr(key, "name", key): cells for key, cells in codes.items()}
    absent = [v.name for v in scope if v.name not in by_name]
    known = set(scope.names)
    extra = [name for name in by_name if name not in known]
    if absent or extra:
        raise DataError(f"Codes and variables must match; without codes: {listing(absent)}; unknown: {listing(extra)}.")
    return [np.asarray(by_name[v.name]) for v in scope]


def matrix_columns(scope: Universe, codes: AnyArray) -> list[AnyArray]:
    """One array per variable, from a matrix with one row per case."""
    if codes.ndim != 2 or codes.shape[1] != len(scope):
        raise DataError(f"A matrix of codes has {len(scope)} columns, one per variable; found shape {codes.shape}.")
    return list(codes.T)


def checked_cells(variable: Discrete | Vector, cells: AnyArray) -> AnyInts | Floats:
    """A contiguous copy of given codes or numbers, after their range was checked."""
    if cells.ndim != 1 or (cells.size and cells.dtype.kind not in ("iu" if variable.is_discrete else "iuf")):
        wanted = "integer codes" if variable.is_discrete else "numbers"
        raise DataError(f"{variable.name} takes one column of {wanted}; found shape {cells.shape}, type {cells.dtype}.")
    if not isinstance(variable, Discrete):
        refuse_vector(variable)
        return cells.astype(np.float64)
    outside = (cells < MISSING) | (cells >= variable.num_states)
    if outside.any():
        row = int(np.argmax(outside))
        raise DataError(
            f"{variable.name} has codes 0 to {variable.num_states - 1}, and -1 for missing; "
            f"found {cells[row]} in row {row}."
        )
    return cells.astype(code_dtype(variable.num_states))
