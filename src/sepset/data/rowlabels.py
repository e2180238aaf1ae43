"""Labels of rows: numbers of a pandas series belong to the rows of the same labels, wherever these are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sepset.base.labels import has_labels
from sepset.base.text import listing
from sepset.errors import DataError


def row_labels(data: object) -> Any:
    """The index of a pandas frame, or of the first series in a mapping of columns; None where rows have no labels.

    >>> import pandas as pd
    >>> row_labels(pd.DataFrame({"x": [1, 2]}, index=["u", "v"])).tolist(), row_labels({"x": [1, 2]})
    (['u', 'v'], None)
    """
    if isinstance(data, dict):
        return next((found for found in map(_index, data.values()) if found is not None), None)
    return _index(data)


def _index(value: object) -> Any:
    kind = type(value)
    is_labeled = kind.__module__.partition(".")[0] == "pandas" and kind.__name__ in ("Series", "DataFrame")
    return value.index if is_labeled else None  # type: ignore[attr-defined]


def check_columns(columns: Mapping[Any, object]) -> None:
    """Raise if series of pandas that are to be columns side by side label their rows differently."""
    found = {name: index for name, cells in columns.items() if (index := _index(cells)) is not None}
    first = next(iter(found), None)
    apart = [name for name, index in found.items() if not index.equals(found[first])]
    if apart:
        raise DataError(
            f"Columns {listing([first, apart[0]])} are series whose rows have different labels. A pandas DataFrame of "
            "them brings the labels together; to_numpy() leaves them out."
        )


def in_row_order(numbers: Any, data: object) -> Any:
    """The numbers, one per row; those of a pandas series in the order in which the rows of the data have its labels.

    >>> import pandas as pd
    >>> rows = pd.DataFrame({"coin": ["head", "tail"]})
    >>> in_row_order(pd.Series({1: 0.5, 0: 2.0}), rows).tolist(), in_row_order([1, 2], rows)
    ([2.0, 0.5], [1, 2])
    """
    labels = row_labels(data)
    if labels is None or not has_labels(numbers) or numbers.index.equals(labels):
        return numbers
    if len(numbers) == len(labels) and numbers.index.is_unique and not set(numbers.index).symmetric_difference(labels):
        return numbers.reindex(labels)
    raise DataError(
        "The labels of the numbers, one per row, are not those of the rows. Give a series with the index of the frame, "
        "or the numbers alone, as to_numpy() has them."
    )
