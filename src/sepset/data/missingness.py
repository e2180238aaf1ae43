"""Which cells are missing together: the table of missingness patterns, and complete cases."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.checks import below
from sepset.base.display import Report, Shown
from sepset.base.foreign import translated
from sepset.base.frozen import read_only
from sepset.data.columns import absent_cells, is_missing
from sepset.data.dataset import Dataset
from sepset.data.sources import as_dataset
from sepset.variables.variable import Discrete, VariableLike

SHOWN = 20
"""How many patterns a display lists."""

GLIMPSED = 16
"""How many rows are looked at before columns are coded."""


class Glimpse(NamedTuple):
    """The first look at columns, before they are coded.

    Attributes:
        is_discrete: for each column, whether it surely has several states: numbers may be measurements.
        is_missing: for each column, whether each of its first cells is missing.
    """

    is_discrete: Bools
    is_missing: Bools

    @classmethod
    def of(cls, data: Any, names: Sequence[str]) -> Glimpse:
        """A look at the first rows of a dataset, a mapping of columns, or a frame of pandas or polars.

        >>> Glimpse.of({"a": ["x", None], "b": [0.5, None]}, ["a", "b", "c"]).is_discrete.tolist()
        [True, False, False]
        """
        if isinstance(data, Dataset):
            return cls._coded(data, names)
        found = cls(np.zeros(len(names), bool), np.zeros((len(names), GLIMPSED), bool))
        is_frame = type(data).__module__.partition(".")[0] in ("pandas", "polars") and hasattr(data, "shape")
        if is_frame or isinstance(data, Mapping):
            known = set(data.columns) if is_frame else data
            for place, name in enumerate(names):
                if name in known:
                    found._look(place, data[name])
        return found

    def _look(self, place: int, column: Any) -> None:
        """Note what the first cells tell; only plain sequences are looked at."""
        if str(getattr(column, "dtype", "")) == "str":  # of pandas, whose cells take long to read
            self.is_discrete[place], gone = True, column.array[:GLIMPSED].isna()
        else:
            is_series = hasattr(column, "to_numpy") or isinstance(column, np.ndarray)
            cells = list(column[:GLIMPSED]) if is_series or isinstance(column, list | tuple) else []
            kinds = set(map(type, cells))
            self.is_discrete[place] = str in kinds or bool in kinds
            gone = [type(cell) is not str and is_missing(cell) for cell in cells] if len(kinds) > 1 else False
        self.is_missing[place, : np.size(gone)] = gone

    @classmethod
    def _coded(cls, rows: Dataset, names: Iterable[str]) -> Glimpse:
        """The columns of a dataset; one more stands for those that it does not have."""
        place = {name: i for i, name in enumerate(rows.variables.names)}
        chosen = [place.get(name, -1) for name in names]
        several = [isinstance(v, Discrete) and v.num_states > 1 for v in rows.variables]
        missing = np.zeros((len(place) + 1, GLIMPSED), bool)
        num = min(GLIMPSED, rows.num_rows)
        missing[:-1, :num] = absent_cells([column[:num] for column in rows.columns], num)
        return cls(np.array([*several, False])[chosen], missing[chosen])


@dataclass(frozen=True, slots=True, eq=False)
class MissingPatternsResult(Report):
    r"""The sets of cells that are observed together, with how many rows have each; the most frequent first.

    Attributes:
        names: the columns.
        observed: one row per pattern, one column per variable.
        num_rows: the number of rows with each pattern.
        weights: their total weight; the number of rows where rows have no weights.
        which: the pattern of each row.

    >>> missing_patterns({"a": ["x", "y", None], "b": ["u", None, None]}).observed.tolist()
    [[True, True], [True, False], [False, False]]
    """

    names: tuple[str, ...]
    observed: Bools
    _: KW_ONLY
    num_rows: Ints
    weights: Floats = field(repr=False)
    which: Ints = field(repr=False)

    def __post_init__(self) -> None:
        for array in (self.observed, self.num_rows, self.weights, self.which):
            read_only(array)

    def __len__(self) -> int:
        return len(self.observed)

    @property
    def num_complete(self) -> int:
        """The number of rows without a missing cell."""
        return int(self.num_rows[self.observed.all(axis=1)].sum())

    @property
    def is_monotone(self) -> bool:
        """Whether the columns can be ordered so that each row observes a first part of them (dropout).

        >>> missing_patterns({"a": ["x", None], "b": [None, "u"]}).is_monotone
        False
        """
        ordered = self.observed[np.argsort(-self.observed.sum(axis=1), kind="stable")].astype(np.int8)
        return bool((np.diff(ordered, axis=0) <= 0).all())

    @property
    def never_together(self) -> tuple[tuple[str, str], ...]:
        """The pairs of columns that no row observes both: their dependence leaves no trace in the data.

        Reference: Koller & Friedman, example 19.7.

        >>> missing_patterns({"a": ["x", None], "b": [None, "u"]}).never_together
        (('a', 'b'),)
        """
        seen = self.observed.astype(np.int64)
        together = seen.T @ seen
        pairs = itertools.combinations(range(len(self.names)), 2)
        return tuple((self.names[i], self.names[j]) for i, j in pairs if not together[i, j])

    def observed_names(self, pattern: int) -> tuple[str, ...]:
        """The columns that a pattern observes."""
        return tuple(itertools.compress(self.names, self.observed[below("pattern", pattern, len(self.observed))]))

    def rows(self, pattern: int) -> Ints:
        """The positions of the rows with a pattern."""
        return np.flatnonzero(self.which == below("pattern", pattern, len(self.observed)))

    def __repr__(self) -> str:
        total = int(self.num_rows.sum())
        return f"MissingPatternsResult({len(self)} patterns, {self.num_complete} of {total} rows complete)"

    def _cells(self) -> list[tuple[str, ...]]:
        marks = np.where(self.observed[:SHOWN], "·", "?")
        return [(f"{n:,}", *row) for n, row in zip(self.num_rows.tolist(), marks.tolist(), strict=False)]

    def _shown(self) -> Shown:
        more = f"? is missing; first {SHOWN} of {len(self)} patterns" if len(self) > SHOWN else "? is missing"
        return Shown(("rows", *self.names), self._cells(), repr(self), more)


@translated
def missing_patterns(data: object, variables: Iterable[VariableLike] | None = None) -> MissingPatternsResult:
    """The table of which cells are observed together, the most frequent pattern first.

    Args:
        data: a dataset, or any frame.
        variables: the columns to look at; all by default.

    Cost: one sort of the rows.
    Guarantee: exact.
    Tested by: data/test_missingness.py::test_counts_are_those_of_the_rows

    >>> missing_patterns({"a": ["x", "y", None], "b": ["u", None, "v"]})
    MissingPatternsResult(3 patterns, 1 of 3 rows complete)
    """
    rows = as_dataset(data, variables)
    observed = ~rows.mask
    first, which = patterns_of(observed)
    count = np.bincount(which, minlength=len(first))
    order = np.lexsort((first, -count))
    place = np.argsort(order, kind="stable")[which]
    weight = np.bincount(place, rows.weights, len(order)).astype(np.float64)
    return MissingPatternsResult(
        rows.variables.names, observed[first[order]], num_rows=count[order], weights=weight, which=place
    )


def patterns_of(observed: Bools) -> tuple[Ints, Ints]:
    """The first row with each pattern of observed cells, and for every row which pattern it has.

    Args:
        observed: one row per case, one column per variable.

    Cost: one sort of the rows, each packed into bytes.

    >>> [part.tolist() for part in patterns_of(np.array([[True, False], [False, True], [True, False]]))]
    [[1, 0], [1, 0, 1]]
    """
    packed = np.ascontiguousarray(np.packbits(observed, axis=1))
    size = packed.shape[1]
    if size > 8:
        kinds = packed.view(np.dtype((np.void, size)))[:, 0]
    else:
        kinds = packed @ (1 << 8 * np.arange(size, dtype=np.uint64))
    _, first, which = np.unique(kinds, return_index=True, return_inverse=True)
    return first, which.reshape(-1)


@translated
def complete_cases(data: object, variables: Iterable[VariableLike] | None = None) -> Dataset:
    """The rows without a missing cell in `variables` (all of them by default), over all columns.

    Estimates from these alone are biased unless cells are missing completely at random: see `AvailableCases`.

    Reference: Little & Rubin (2019).
    Guarantee: exact.
    Tested by: data/test_missingness.py::test_counts_are_those_of_the_rows

    >>> complete_cases({"a": ["x", None], "b": ["u", "v"]}).rows().__next__()
    {'a': 'x', 'b': 'u'}
    """
    rows = as_dataset(data)
    checked = rows if variables is None else rows.select(variables)
    return rows.take(np.logical_not(checked.mask.any(axis=1)))


def members(which: Ints, count: int) -> list[Ints]:
    """The rows of each kind, given the kind of each row.

    >>> [rows.tolist() for rows in members(np.array([1, 0, 1]), 3)]
    [[1], [0, 2], []]
    """
    ends = np.cumsum(np.bincount(which, minlength=count))
    return np.split(np.argsort(which, kind="stable"), ends[:-1]) if count else []
