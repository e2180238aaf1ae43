"""What an estimate asks of its data: rows, complete cells, columns that vary; refusals name column, row and value."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sepset.data.dataset import Dataset, has_absent
from sepset.errors import DataError
from sepset.variables.variable import Discrete, VariableLike


def require_rows(dataset: Dataset, purpose: str) -> None:
    """Refuse a dataset without rows, or whose rows all weigh nothing.

    Args:
        purpose: what needs rows, as the subject of the message.
    """
    if not dataset.num_rows:
        columns = ", ".join(repr(name) for name in dataset.variables.names[:6]) or "none"
        raise DataError(f"{purpose} needs rows; the frame has none (columns: {columns}).")
    if not dataset.total_weight > 0:
        raise DataError(f"{purpose} needs rows of some weight; all {dataset.num_rows:,} weigh zero.")


def require_complete(dataset: Dataset, purpose: str, variables: Iterable[VariableLike] | None = None) -> None:
    """Refuse missing cells, naming the first column that has one, its row, and the way out.

    Args:
        purpose: what needs complete data, as the subject of the message.
        variables: the columns that matter; all by default.

    >>> require_complete(Dataset({"coin": ["head", "tail"]}), "Counting")
    """
    for variable in dataset.variables if variables is None else variables:
        if has_absent(dataset.column(variable)):
            absent = dataset.is_missing(variable)
            name = dataset.variables[variable].name
            raise DataError(missing_message(purpose, name, int(absent.sum()), int(np.argmax(absent))))


def missing_message(purpose: str, name: str, count: int, row: int | None = None) -> str:
    """What to say where complete data is needed and cells are missing."""
    cells = f"{count:,} cells" if count > 1 else "one cell"
    place = "" if row is None else f" (first in row {row})"
    return (
        f"{purpose} needs complete data; column {name!r} misses {cells}{place}. "
        "Use EM, which sums over what is missing, or leave those rows out."
    )


def require_varying(dataset: Dataset, purpose: str, variables: Iterable[VariableLike] | None = None) -> None:
    """Refuse a column that has one value in every row, naming it.

    A real one has no variance to estimate; a discrete one says nothing of its other states, unless those were given.

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
