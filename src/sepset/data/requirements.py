"""Requirements of an estimate on its data: rows, and columns that vary; errors name the column, row and value."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sepset.data.dataset import Dataset
from sepset.errors import DataError
from sepset.variables.variable import Discrete, VariableLike


def require_rows(dataset: Dataset, purpose: str) -> None:
    """Raise if a dataset has no rows, or if all of them have weight zero.

    Args:
        purpose: what needs rows, as the subject of the message.
    """
    if not dataset.num_rows:
        columns = ", ".join(repr(name) for name in dataset.variables.names[:6]) or "none"
        raise DataError(f"{purpose} needs rows; the frame has none (columns: {columns}).")
    if not dataset.total_weight > 0:
        raise DataError(f"{purpose} needs rows of some weight; all {dataset.num_rows:,} weigh zero.")


def require_varying(dataset: Dataset, purpose: str, variables: Iterable[VariableLike] | None = None) -> None:
    """Raise if a column has the same value in every row, naming it.

    A real one has no variance to estimate; a discrete one says nothing about its other states, unless those were given.

    Args:
        purpose: what needs columns that vary, as the subject of the message.
        variables: the columns that matter; all by default.
    """
    for asked in dataset.variables if variables is None else variables:
        variable = dataset.variables[asked]
        known = np.flatnonzero(~dataset.is_missing(variable))
        column = dataset.column(variable)[known]
        has_others = isinstance(variable, Discrete) and variable.num_states > 1
        if has_others or (len(column) and (column != column[0]).any()):
            continue
        found = (
            f"holds {dataset[variable][known[0]]} in every row from row {known[0]} on"
            if len(known)
            else "has no values"
        )
        remedy = (
            "Leave it out, or give the variable all its states" if isinstance(variable, Discrete) else "Leave it out"
        )
        raise DataError(f"{purpose} needs columns that vary; column {variable.name!r} {found}. {remedy}.")
