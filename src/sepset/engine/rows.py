"""Rows of data as a model sees them: bound to its variables, or as findings on them; missing cells are unobserved."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.membership import without as without_names
from sepset.base.text import listing, nearest
from sepset.data.binding import delimiter_hint, refuse_respelled
from sepset.data.dataset import Dataset
from sepset.data.frames import whole_table
from sepset.data.sources import names_of
from sepset.errors import DataError, NotApplicable, ScopeError
from sepset.inference.evidencerows import EvidenceRows
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, Vector


def rows_over(data: object, variables: Iterable[Discrete | Vector]) -> Dataset:
    """The rows over these variables; those without a column are missing throughout, but not all of them may be.

    >>> rows_over({"coin": [0, 1], "other": [0.5, 1.5]}, [Discrete("coin"), Discrete("hidden")]).num_missing
    {'coin': 0, 'hidden': 2}
    """
    if isinstance(data, Dataset) and data.variables is variables:
        return data
    wanted = tuple(variables)
    if isinstance(data, Dataset) and (wanted == data.variables.parts or all(v in data.variables for v in wanted)):
        return data
    names = column_names(data)
    if wanted and not any(v.name in names for v in wanted):
        raise _no_column(names, [v.name for v in wanted])
    return Dataset(data, wanted, missing_columns="allow")


def column_names(data: Any) -> tuple[str, ...]:
    """The names of the columns of a frame or file, without reading them."""
    if isinstance(data, Dataset):
        return data.variables.names
    if isinstance(data, Mapping):
        return tuple(data)
    if isinstance(data, str | os.PathLike):
        return tuple(names_of(data))
    import narwhals.stable.v2 as nw

    try:
        return tuple(nw.from_native(whole_table(data)).collect_schema().names())
    except TypeError:
        raise DataError(
            f"A frame of findings was expected; found {type(data).__name__}. Give a pandas, polars, Arrow or DuckDB "
            "frame, a mapping from names to columns, the path of a file, or a Dataset."
        ) from None
    except nw.exceptions.NarwhalsError as error:
        raise DataError(f"The frame's columns cannot be told apart: {error} Rename or drop some.") from None


def findings_of(data: Any, variables: Universe, *, without: Sequence[int] = ()) -> EvidenceRows:
    """The findings in a frame's columns; columns of other names, and of the positions in `without`, are ignored."""
    if isinstance(data, Dataset) and len(variables) and data.variables == variables:
        return EvidenceRows.of(data, variables, without=without)
    names = column_names(data)
    known = [name for name in names if name in variables]
    if not known and len(variables):
        raise _no_column(names, variables.names)
    skipped = {variables[v].name for v in without}
    wanted = [variables[name] for name in known if name not in skipped]
    if len(known) < min(len(names), len(variables)):
        absent = without_names(variables.names, known)
        refuse_respelled([n for n in absent if n not in skipped], without_names(names, known))
    if isinstance(data, Dataset) and all(data.variables[v.name] == v for v in wanted):
        return EvidenceRows.of(data, variables, without=without)
    return EvidenceRows.of(Dataset(data, wanted), variables)


def _no_column(names: Sequence[str], known: Sequence[str]) -> DataError:
    near = delimiter_hint(names) or next((near for name in names if (near := nearest(name, known))), "")
    return DataError(
        f"No column is a variable of the model: columns are {listing(names) or 'none'}, "
        f"variables {listing(known)}.{near}"
    )


def default_targets(variables: Universe, data: Any, known: Iterable[int] = ()) -> list[int]:
    """The variables that the data has no column for, without vectors and those that are known otherwise."""
    names = column_names(data)
    present, found = set(names), set(known)
    absent = [
        i
        for i, v in enumerate(variables)
        if v.name not in present and i not in found and (isinstance(v, Discrete) or v.size == 1)
    ]
    if not absent:
        where = "a column or a finding in given=" if found else "a column"
        raise ScopeError(
            f"Every variable has {where}, so there is nothing to predict by default. Name the targets=, or "
            "fill the missing cells of all columns with impute."
        )
    refuse_respelled([variables[i].name for i in absent], [name for name in names if name not in variables])
    return absent


def discrete_targets(variables: Universe, positions: Iterable[int]) -> tuple[Discrete, ...]:
    """The variables at these positions; raises where one is continuous, whose posterior is not a table."""
    targets = [variables[v] for v in positions]
    continuous = [v.name for v in targets if not isinstance(v, Discrete)]
    if continuous:
        raise NotApplicable(
            f"Tables of probabilities are of discrete targets; {listing(continuous)} are continuous. Ask predict for "
            "each alone, for its mean and variance, or score it with ConditionalLogLoss."
        )
    return tuple(targets)  # type: ignore[arg-type]  # discrete, as checked


def refuse_vectors(variables: Universe, positions: Iterable[int]) -> None:
    """Raise where a target is a vector of more than one coordinate, which has no column."""
    wide = [v.name for v in map(variables.__getitem__, positions) if isinstance(v, Vector) and v.size > 1]
    if wide:
        raise NotApplicable(f"Predictions have one column per target, and {listing(wide)} are vectors. Use query.")


def most_probable(probabilities: Floats) -> Ints:
    """The position of the largest entry of every row, ties to the first; -1 where the row is NaN.

    >>> most_probable(np.array([[0.5, 0.5], [0.2, 0.8], [np.nan, np.nan]])).tolist()
    [0, 1, -1]
    """
    blank = np.asarray(np.isnan(probabilities).any(axis=1))
    return np.where(blank, -1, np.where(blank[:, None], -np.inf, probabilities).argmax(axis=1))


def is_observed(data: Dataset, variables: Universe, *, but: Discrete | None = None) -> bool:
    """Whether no cell of these variables is missing, except for those of one of them."""
    if data.is_complete:
        return True
    counts = data.missing_counts
    if data.variables.parts == variables.parts:
        return not (counts if but is None else np.delete(counts, variables.id(but))).any()
    return not counts[data.variables.found_places([v for v in variables if v != but])].any()


def refuse_missing(data: Dataset, targets: Iterable[Discrete | Vector]) -> None:
    """Raise where a target's cell is missing, naming its row."""
    for target in targets:
        blank = data.is_missing(target)
        if blank.any():
            row = int(np.flatnonzero(blank)[0])
            raise DataError(
                f"The target {target.name!r} is missing in row {row}, so it cannot be scored. Drop such rows."
            )


def true_codes(data: Dataset, targets: Sequence[Discrete]) -> Ints:
    """The codes of the targets, one column each; raises where one is missing."""
    refuse_missing(data, targets)
    return np.stack([data.codes(v).astype(np.int64) for v in targets], axis=1)
