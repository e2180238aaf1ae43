"""Labels of the numbers in series and frames: they are read or refused, never ignored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sepset.errors import ModelError


def library_name(value: object) -> str:
    """The name of the library that defines the type of a value.

    >>> library_name(1)
    'builtins'
    """
    return type(value).__module__.partition(".")[0]


def has_labels(value: Any) -> bool:
    """Whether a value is a series or frame of pandas with labels other than the positions that it gives by itself.

    >>> import pandas as pd
    >>> has_labels(pd.Series({"no": 0.2, "yes": 0.8})), has_labels(pd.Series([0.2, 0.8])), has_labels([0.2, 0.8])
    (True, False, False)
    """
    if library_name(value) != "pandas" or type(value).__name__ not in ("Series", "DataFrame"):
        return False
    return not all(_is_positions(axis) for axis in value.axes)


def _is_positions(axis: Any) -> bool:
    return type(axis).__name__ == "RangeIndex" and axis.name is None and axis.start == 0 and axis.step == 1


def by_label(value: Any) -> Any:
    """A series of pandas with labels as a mapping from them; everything else as it is.

    >>> import pandas as pd
    >>> by_label(pd.Series({"no": 0.2, "yes": 0.8})), by_label([0.2, 0.8])
    ({'no': 0.2, 'yes': 0.8}, [0.2, 0.8])
    """
    if not has_labels(value) or type(value).__name__ != "Series" or value.index.nlevels > 1:
        return value
    if not value.index.is_unique:
        twice = value.index[value.index.duplicated()][0]
        raise ModelError(f"A series has one number for each label; found {twice!r} twice.")
    return value.to_dict()


def without_labels(value: Any, what: str) -> Any:
    """The value; raises where it is a series or frame of pandas whose labels nothing here reads.

    Args:
        what: what the numbers are, for the message.

    >>> without_labels([0.2, 0.8], "pseudo-counts")
    [0.2, 0.8]
    """
    if has_labels(value) and value.size > 1:
        kind = type(value).__name__
        raise ModelError(
            f"The labels of a pandas {kind} would be ignored: {what} are taken in order. Put them in order and give "
            "the numbers alone, as to_numpy() has them."
        )
    return value


def in_order(value: Any, names: Sequence[str], what: str) -> Any:
    """The value; of a series or frame of pandas, the numbers in the order of these names, which label each axis.

    >>> import pandas as pd
    >>> in_order(pd.Series({"y": 1.0, "x": 2.0}), ["x", "y"], "means").tolist()
    [2.0, 1.0]
    """
    if not has_labels(value):
        return value
    for axis in value.axes:
        if sorted(map(str, axis)) != sorted(names):
            raise ModelError(f"The labels of {what} are {', '.join(names)}; found {', '.join(map(str, axis))}.")
    for place in range(value.ndim):
        value = value.reindex(names, axis=place)
    return value.to_numpy()
