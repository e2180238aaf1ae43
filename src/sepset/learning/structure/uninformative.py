"""Columns from which no structure can be learned: of one value, or with a value of its own in every row."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sepset.base.arraytypes import Bools
from sepset.base.text import listing
from sepset.data.dataset import Dataset
from sepset.errors import DataError
from sepset.factors.algebra import AnyVariable
from sepset.learning.structure.columns import Columns
from sepset.variables.universe import Variables

IDENTIFIED = 20
"""Rows from which a column is an identifier if all its values differ."""


def check_informative(columns: Columns, data: object, variables: Iterable[AnyVariable] | None) -> None:
    """Raise where a discrete column tells nothing about a structure.

    Columns with more states than rows are refused (unless weights are fractions of rows); constant ones and identifiers
    are, where their states are read from the data: states that are given, in `variables` or by a dataset, are meant.

    Args:
        columns: what is learned from.
        data: where they come from.
        variables: the meaning of some columns.

    >>> check_informative(Columns.of({"a": [0, 1], "b": ["x", "x"]}), {}, None)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    sepset.errors.DataError: 'b' is constant: it has one value in all rows, and so depends on no other column. ...
    """
    rows = columns.total if columns.weights.dtype.kind == "i" else np.inf
    is_discrete = ~columns.is_real & (columns.codes >= 0).any(1)
    is_inferred = _inferred(columns, data, variables) & is_discrete
    if constant := _names(columns, is_inferred & (columns.cards == 1)):
        raise DataError(
            f"{listing(constant)} is constant: it has one value in all rows, and so depends on no other column. Drop "
            f"it; or give the states that it may have: variables=[Discrete({constant[0]!r}, ...)]."
        )
    is_identifier = is_inferred & (columns.cards >= rows) & (rows >= IDENTIFIED)
    if numerous := _names(columns, is_discrete & (columns.cards > rows) | is_identifier):
        states = int(columns.cards[columns.variables.id(numerous[0])])
        raise DataError(
            f"{listing(numerous)} has {states:,} states in {rows:,.0f} rows, too many to learn what it depends on. "
            "Drop such a column, or group its states."
        )


def _inferred(columns: Columns, data: object, variables: Iterable[AnyVariable] | None) -> Bools:
    """Whether the states of each column were read from the data."""
    if isinstance(data, Dataset):
        return np.zeros(len(columns), np.bool_)
    given = set() if variables is None else set(Variables(variables).names)
    return np.array([name not in given for name in columns.names], np.bool_)


def _names(columns: Columns, chosen: Bools) -> list[str]:
    return [columns.names[k] for k in np.flatnonzero(chosen).tolist()]
