r"""The columns that a structure is learned from, and the statistics of families among them.

Inside methods a column is a number, its place among the variables; names appear only at the edge.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import AnyArray, AnyInts, Bools, Floats, Ints, UInt32s, UInt64s
from sepset.base.checks import one_of
from sepset.base.foreign import Suited, often
from sepset.base.frozen import Frozen, fill
from sepset.base.lazy import lazy
from sepset.base.numerics.matrices import product
from sepset.base.text import brief, listing, nearest
from sepset.base.threads import abandonable
from sepset.data.binding import infer_variable, inference_note
from sepset.data.dataset import Dataset, side_by_side
from sepset.data.duplicates import group_rows
from sepset.data.filecolumns import file_columns, naming
from sepset.data.frames import open_frame, replayable
from sepset.data.sources import Weights, bind, require_columns
from sepset.errors import ArgumentError, DataError, ScopeError, TooLarge
from sepset.factors.algebra import AnyVariable
from sepset.kernels.structure.familyscores import SKIPPED, count_cells, keys, refine, set_bits
from sepset.learning.structure.groupedrows import grouped_rows
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete

Missing = Literal["refuse", "available"]

MISSING_REMEDY = (
    'Use method=StructuralEM(), which sums over what is missing; say missing="available", with which each family '
    "counts the rows that observe all of it; or leave those rows out."
)
"""The way out where cells are missing."""

MOST_CELLS = 1 << 27
"""The largest table of counts, in cells."""

MOST_MARKS = 1 << 20
"""Pairs of a context and a state up to which those with rows are marked in an array; beyond, rows are sorted."""

LARGEST, SMALLEST = 1e150, 1e-150
"""The largest number, and the smallest range of numbers in a column, whose squares can be added up."""

MOST_BIT_BYTES = 1 << 28
"""The memory of rows as bits."""

SORTED_AT_ONCE = 1 << 17
"""Rows up to which sorting them takes only moments."""

KEPT_CONTEXTS = 64
"""How many numberings of contexts are kept."""


class Contexts(NamedTuple):
    """The rows by the joint state of some parents: the number of each row's, and their number."""

    ids: UInt32s
    size: int


class Cases(NamedTuple):
    """Distinct rows: a row of each, and the total weight of all that are equal."""

    places: Ints
    weights: Floats


class StateBits(NamedTuple):
    """The rows of every state as bits, and the first state of each column."""

    bits: UInt64s
    offsets: Ints

    def cells(self, columns: tuple[int, ...]) -> UInt64s:
        """The rows of every joint state of some columns as bits, the states of the last column next to each other."""
        found = self.bits[self.offsets[columns[0]] : self.offsets[columns[0] + 1]]
        for column in columns[1:]:
            own = self.bits[self.offsets[column] : self.offsets[column + 1]]
            found = (found[:, None] & own).reshape(-1, self.bits.shape[1])
        return found


class RealMoments(NamedTuple):
    """The total weight, means (from the columns' origins), and centered sums of squares and products of columns."""

    total: float
    means: Floats
    scatter: Floats


class Columns(Suited, Frozen, inner=True):
    r"""Coded columns, one weight per row; equal rows may be one row with their total weight.

    Args:
        dataset: the rows.
        intervened: for each column and row, whether the value was set by an intervention; such rows do not count in
            the column's own family.
        missing: "refuse" rows with missing cells; or "available": a family's statistics come from the rows in which
            all of it is observed. A family that no row observes, though its child is observed, has the score minus
            infinity: nothing tells how its columns depend on each other.

    Attributes:
        variables: the columns' meaning.
        codes: one row per column; -1 is missing; zeros for real columns.
        cards: the number of states of each column; one for real columns.
        values: one row per column of numbers, which are counted from `origins`; empty if no column is real.
        origins: about the mean of each column of numbers, so that squares keep the digits that numbers have.
        weights: one per row, as whole numbers where they are.
        total: the sum of the weights $M$.

    >>> columns = Columns.of({"a": [0, 0, 1, 1], "b": ["x", "y", "y", "y"]})
    >>> columns.counts(1, (0,)).tolist()
    [[1.0, 1.0], [0.0, 2.0]]
    """

    variables: Universe
    dataset: Dataset
    codes: AnyInts
    cards: Ints
    is_real: Bools
    values: Floats
    origins: Floats
    weights: AnyArray
    intervened: Bools | None
    missing: Missing
    total: float
    _contexts: OrderedDict[tuple[int, ...], Contexts]

    def __init__(self, dataset: Dataset, *, intervened: Bools | None = None, missing: Missing = "refuse") -> None:
        one_of("missing", missing, ("refuse", "available"))
        _check(dataset, missing)
        if intervened is None and all(isinstance(v, Discrete) for v in dataset.variables):
            dataset = _collapsed(dataset)
        is_real = np.array([not isinstance(v, Discrete) for v in dataset.variables], dtype=np.bool_)
        values, origins = _values(dataset, is_real)
        fill(
            self,
            variables=dataset.variables,
            dataset=dataset,
            codes=_codes(dataset, is_real),
            cards=np.where(is_real, 1, dataset.variables.cards),
            is_real=is_real,
            values=values,
            origins=origins,
            weights=_weights(dataset),
            intervened=intervened,
            missing=missing,
            total=dataset.total_weight,
            _contexts=OrderedDict(),
        )

    def _unsuited(self, given: Mapping[str, Any]) -> str:
        """The reason why positions of a family do not suit these columns."""
        for name in ("child", "parents", "candidates", "columns"):
            value = given.get(name, ())
            places = list(value) if isinstance(value, Iterable) else [value]
            if not all(self._is_place(place) for place in places):
                return f"{name}= is about columns by their positions, below {len(self)}; found {brief(value)}."
            if len(set(places)) < len(places):
                return f"{name}= names a column twice; found {brief(value)}."
        if given.get("child") in given.get("parents", ()):
            return f"parents= are other columns than child={given['child']}; found {brief(given['parents'])}."
        return ""

    def _is_place(self, place: object) -> bool:
        return isinstance(place, int | np.integer) and not isinstance(place, bool) and bool(0 <= place < len(self))

    @often
    def check_places(self, **given: object) -> None:
        """Raise unless `child`, `parents`, `candidates` or `columns` are positions of different columns."""
        problem = self._unsuited(given)
        if problem:
            raise ArgumentError(problem)

    @classmethod
    def of(
        cls,
        data: object,
        *,
        variables: Iterable[AnyVariable] | None = None,
        weights: Weights = None,
        interventions: object = None,
        missing: Missing = "refuse",
        only: Iterable[str] | None = None,
        hidden: bool = False,
    ) -> Columns:
        """The columns of any data that parameters can be learned from.

        Args:
            data: a dataset, any frame, a mapping of columns, or the path of a file. Discrete columns of lazy frames, of
                relations and of files too large for memory are grouped where they are; only distinct rows are read.
            variables: what some columns mean.
            weights: one per row, or the name of a column.
            interventions: for each row the names of the variables that were set, as a sequence of collections; or a
                mapping from names to masks of rows.
            missing: see the class.
            only: the names of the columns to keep; all by default.
            hidden: whether `variables` without a column are missing throughout, rather than mistakes.
        """
        given = None if variables is None else Universe(variables)
        known = {v.name: v for v in given or ()}
        grouped = grouped_rows(data, known, weights) if interventions is None else None
        rows = bound_rows(data, given, weights, hidden=hidden) if grouped is None else grouped
        marked = None if interventions is None else interventions_of(interventions, rows)
        if only is None:
            return check_numbers(cls(rows, intervened=marked, missing=missing))
        wanted = set(only)
        if absent := sorted(wanted - set(rows.variables.names)):
            raise ScopeError(f"The data has no column {listing(absent)}.{nearest(absent[0], rows.variables.names)}")
        kept = [k for k, name in enumerate(rows.variables.names) if name in wanted]
        part = rows.select([rows.variables.names[k] for k in kept])
        return check_numbers(cls(part, intervened=None if marked is None else marked[kept], missing=missing))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.variables.names)

    @property
    def num_rows(self) -> int:
        """The number of (distinct) rows."""
        return self.dataset.num_rows

    @lazy
    def is_complete(self) -> bool:
        """Whether no cell is missing, and every row counts in every family."""
        return self.intervened is None and not self.has_missing

    @lazy
    def is_unit(self) -> bool:
        """Whether every row counts once."""
        return self.weights.dtype.kind == "i" and bool((self.weights == 1).all())

    @lazy
    def state_bits(self) -> StateBits | None:
        """The rows of every state as bits, where each row counts once, no cell is missing, and they fit in memory."""
        words = (self.num_rows + 63) // 64
        if not (self.is_unit and self.is_complete) or int(self.cards.sum()) * words * 8 > MOST_BIT_BYTES:
            return None
        offsets = np.concatenate([[0], np.cumsum(self.cards)]).astype(np.int64)
        bits = np.zeros((int(offsets[-1]), words), np.uint64)
        for column, codes in enumerate(self.codes):
            set_bits(codes, bits[offsets[column] : offsets[column + 1]])
        return StateBits(bits, offsets)

    @lazy
    def is_mixed(self) -> bool:
        """Whether some columns are real and others are not."""
        return bool(self.is_real.any() and not self.is_real.all())

    @lazy
    def has_missing(self) -> bool:
        """Whether some cell is missing."""
        return bool((self.codes < 0).any() or np.isnan(self.values).any())

    @lazy
    def is_set(self) -> Mapping[str, Bools]:
        """For each variable that an intervention set in some row, in which rows."""
        marks = np.zeros((0, 0), np.bool_) if self.intervened is None else self.intervened
        return {name: rows for name, rows in zip(self.names, marks, strict=False) if rows.any()}

    @lazy
    def cases(self) -> Cases:
        """The distinct rows of positive weight in the order of their values.

        Methods that draw rows draw cases: a weight then means a repeated row, and the order of rows means nothing.
        """
        rows = np.flatnonzero(self.weights > 0)
        marks = [] if self.intervened is None else list(self.intervened.astype(np.int8))
        parts = [self.values[k] if real else self.codes[k] for k, real in enumerate(self.is_real)]
        parts = [part[rows] for part in (*parts, *marks)]
        cards = [0 if real else int(card) for real, card in zip(self.is_real, self.cards, strict=True)]
        firsts, groups = group_rows(parts, [*cards, *(2 for _ in marks)], len(rows))
        keys = [part[firsts] for part in reversed(parts)]
        order = np.lexsort(keys) if len(firsts) <= SORTED_AT_ONCE else abandonable(lambda: np.lexsort(keys))
        weights = np.bincount(groups, self.weights[rows], len(firsts)).astype(np.float64)
        return Cases(rows[firsts[order]], weights[order])

    def redrawn(self, weights: ArrayLike) -> Columns:
        """The cases with other weights; those without any are left out."""
        mass = np.asarray(weights, np.float64)
        places = self.cases.places[mass > 0]
        marked = None if self.intervened is None else self.intervened[:, places]
        return Columns(self.dataset.take(places).with_weights(mass[mass > 0]), intervened=marked, missing=self.missing)

    def total_of(self, child: int) -> float:
        """The weight of the rows in which a column was not set by an intervention."""
        if self.intervened is None:
            return self.total
        return float(self.weights[~self.intervened[child]].sum())

    @lazy
    def _observed(self) -> Floats:
        is_seen = np.where(self.is_real[:, None], ~np.isnan(self.values) if self.values.size else True, self.codes >= 0)
        if self.intervened is not None:
            is_seen &= ~self.intervened
        return np.asarray(is_seen @ self.weights.astype(np.float64))

    def is_observed(self, child: int) -> bool:
        """Whether a column has a cell, of a row of positive weight, that no intervention set."""
        return bool(self._observed[child] > 0)

    def __len__(self) -> int:
        return len(self.variables)

    def contexts(self, parents: tuple[int, ...], child: int | None = None) -> Contexts:
        """The rows numbered by the joint state of the parents; those in which the child was set are skipped."""
        if self.intervened is not None and child is not None and self.intervened[child].any():
            return self._numbered(parents, np.where(self.intervened[child], SKIPPED, np.uint32(0)))
        return self._numbered(parents, None)

    def _numbered(self, parents: tuple[int, ...], ids: UInt32s | None) -> Contexts:
        """The contexts, from those of the longest part of the parents that are kept, unless rows are skipped."""
        done, found = self._kept(parents) if ids is None else (0, Contexts(ids, 1))
        for number in range(done, len(parents)):
            column = parents[number]
            found = refined(found, self.codes[column], int(self.cards[column]))
            if ids is None and number + KEPT_CONTEXTS >= len(parents):
                self._keep(parents[: number + 1], found)
        return found

    def _kept(self, parents: tuple[int, ...]) -> tuple[int, Contexts]:
        """The number of parents at the front whose contexts are kept, and these."""
        for end in range(len(parents), max(len(parents) - KEPT_CONTEXTS, 0), -1):
            found = self._contexts.get(parents[:end])
            if found is not None:
                return end, found
        return 0, self._whole

    @lazy
    def _whole(self) -> Contexts:
        """All rows in one context."""
        return Contexts(np.zeros(self.num_rows, np.uint32), 1)

    def _keep(self, parents: tuple[int, ...], found: Contexts) -> None:
        self._contexts[parents] = found
        if len(self._contexts) > KEPT_CONTEXTS:
            self._contexts.popitem(last=False)

    def keys(self, child: int, parents: tuple[int, ...]) -> Contexts:
        """The cell of each row in the table of the parents' contexts by the child's states; how many contexts."""
        numbered = self.contexts(parents, child)
        out = np.empty(self.num_rows, np.uint32)
        keys(numbered.ids, self.codes[child], int(self.cards[child]), out)
        return Contexts(out, numbered.size)

    def counts(self, child: int, parents: tuple[int, ...]) -> Floats:
        r"""The counts $M[\mathbf u, x]$ of the contexts that have rows, by the states of the child."""
        self.check_places(child=child, parents=parents)
        self._require_cells(self.contexts(parents, child).size * int(self.cards[child]), (*parents, child))
        key, count = self.keys(child, parents)
        table = np.zeros(count * int(self.cards[child]), np.float64)
        count_cells(key, self.weights.astype(np.float64), table)
        return table.reshape(count, -1)

    def family_table(self, child: int, parents: tuple[int, ...]) -> Floats:
        """The counts of all contexts: one axis for each parent in the order given, and the child's last."""
        return self.joint((*parents, child), child)

    def moments(self, child: int | None = None) -> RealMoments:
        """The moments of all real columns over the rows that count for a child."""
        if self.intervened is None or child is None or not self.intervened[child].any():
            return self._moments
        return _moments(self.values, np.where(self.intervened[child], 0, self.weights))

    @lazy
    def _moments(self) -> RealMoments:
        return _moments(self.values, self.weights)

    @property
    def is_expected(self) -> bool:
        """Whether rows are completions of others, with probabilities as their weights."""
        return False

    def added_scatter(self, places: Ints, size: int, chosen: Sequence[int]) -> Floats:
        """The covariances of uncertain numbers, summed over the rows of each context: zero, as all are certain."""
        return np.zeros((size, len(chosen), len(chosen)))

    def joint(self, columns: tuple[int, ...], child: int | None = None) -> Floats:
        """The table of counts of some columns, one axis each in the order given, of the rows that count for a child."""
        cards = [int(self.cards[c]) for c in columns]
        size = int(np.prod(cards, dtype=object))
        self._require_cells(size, columns)
        key = self.contexts((), child).ids
        for column, card in zip(columns, cards, strict=True):
            out = np.empty_like(key)
            keys(key, self.codes[column], card, out)
            key = out
        table = np.zeros(size, np.float64)
        count_cells(key, self.weights.astype(np.float64), table)
        return table.reshape(cards)

    def _require_cells(self, size: int, columns: tuple[int, ...]) -> None:
        if size > MOST_CELLS:
            names = listing([self.names[c] for c in columns])
            raise TooLarge(
                f"The counts of {names} have {size:,} cells; the most is {MOST_CELLS:,}. Count fewer columns."
            )

    def __repr__(self) -> str:
        return f"Columns({self.num_rows} rows of weight {self.total:g}, {len(self)} columns)"


def refined(before: Contexts, codes: AnyInts, card: int) -> Contexts:
    """The contexts split by one more column, numbered among those that have rows."""
    size = before.size * card
    if size > max(MOST_MARKS, 4 * len(before.ids)):
        return _refined_by_sorting(before, codes, card)
    out = np.empty(len(before.ids), np.uint32)
    count = refine(before.ids, codes, card, np.zeros(size, np.uint32), out)
    return Contexts(out, count)


def _refined_by_sorting(before: Contexts, codes: AnyInts, card: int) -> Contexts:
    counted = (before.ids != SKIPPED) & (codes >= 0)
    places = before.ids[counted].astype(np.int64) * card + codes[counted]
    seen, numbers = np.unique(places, return_inverse=True)
    out = np.full(len(before.ids), SKIPPED, np.uint32)
    out[counted] = numbers
    return Contexts(out, len(seen))


def bound_rows(
    data: object, variables: Iterable[AnyVariable] | None, weights: Weights, *, hidden: bool = False
) -> Dataset:
    """The rows as a dataset, some of its columns with the meaning given, with weights.

    Args:
        hidden: whether variables without a column become columns that are missing throughout.
    """
    if variables is None:
        if isinstance(data, Dataset):
            return bind(data, data.variables, weights)
        return Dataset(data, weights=weights)
    source, own = replayable(data), weights if isinstance(weights, str) else None
    named = {v.name: v for v in variables}
    seen, notes = _column_variables(source, named, own)
    absent = [name for name in named if name not in {v.name for v in seen}]
    if absent and not hidden:
        raise DataError(
            f"variables= names columns that the data does not have: {listing(absent)}. "
            "Rename the columns; or, where the variables are hidden, use StructuralEM()."
        )
    rows = bind(source, [*seen, *(named[name] for name in absent)], weights)
    require_columns(source, rows, own)
    return rows.with_notes(notes)


class Suggested(NamedTuple):
    """The variables of columns, and notes on those that were inferred."""

    variables: list[AnyVariable]
    notes: tuple[str, ...]


def _column_variables(data: object, known: Mapping[str, AnyVariable], weights: str | None) -> Suggested:
    """The variable of each column, but of that with weights: the one known, or what the column suggests."""
    if isinstance(data, Dataset):
        return Suggested([known.get(v.name, v) for v in data.variables], data.notes)
    if isinstance(data, str | os.PathLike):
        with naming(data):
            return _column_variables(file_columns(data), known, weights)
    opened = open_frame(data)
    found: list[AnyVariable] = []
    notes: list[str | None] = []
    for name in (name for name in opened.names if name != weights):
        if name in known:
            found.append(known[name])
            continue
        column = opened.read(name)
        variable = infer_variable(name, column)
        found.append(variable)
        notes.append(inference_note(variable, column))
    return Suggested(found, tuple(filter(None, notes)))


def interventions_of(interventions: object, rows: Dataset) -> Bools:
    """For each column and row, whether an intervention set the value.

    >>> interventions_of([["a"], []], Dataset({"a": [0, 1], "b": [1, 1]})).tolist()
    [[True, False], [False, False]]
    """
    marks = np.zeros((len(rows.variables), rows.num_rows), dtype=np.bool_)
    if isinstance(interventions, Mapping):
        for name, mask in interventions.items():
            given = np.asarray(mask, dtype=np.bool_)
            if given.shape != (rows.num_rows,):
                raise DataError(
                    f"interventions[{name!r}] needs one truth value per row ({rows.num_rows}); found {given.shape}."
                )
            marks[rows.variables.id(name)] = given
        return marks
    if not isinstance(interventions, Iterable):
        raise DataError(
            "interventions= takes the names of the set variables of each row, or a mapping from names to masks of "
            f"rows; found {interventions!r}."
        )
    listed = list(interventions)
    if len(listed) != rows.num_rows:
        raise DataError(f"interventions= needs the set variables of each of {rows.num_rows} rows; found {len(listed)}.")
    for row, names in enumerate(listed):
        for name in [names] if isinstance(names, str) else (names or ()):
            marks[rows.variables.id(name), row] = True
    return marks


def _moments(values: Floats, weights: AnyArray) -> RealMoments:
    total = float(weights.sum())
    means = values @ weights / total
    centered = values - means[:, None]
    return RealMoments(total, means, product(centered * weights, centered.T))


def _check(dataset: Dataset, missing: Missing) -> None:
    if not len(dataset.variables):
        raise DataError("There are no columns to learn a structure from.")
    if not dataset.num_rows or not dataset.total_weight > 0:
        raise DataError("There are no rows of positive weight to learn a structure from.")
    if missing == "refuse":
        dataset.require_complete("Learning a structure", remedy=MISSING_REMEDY)


def check_numbers(columns: Columns) -> Columns:
    """The columns; raises where numbers are infinite, or too large or too close for their squares to be added up."""
    for column in np.flatnonzero(columns.is_real).tolist():
        numbers = columns.dataset.columns[column]
        seen = numbers[~np.isnan(numbers)]
        low, high = (float(seen.min()), float(seen.max())) if len(seen) else (0.0, 0.0)
        name = columns.names[column]
        if max(-low, high) > LARGEST:
            wrong = high if high > LARGEST else low
            raise DataError(
                f"The real column {name!r} needs finite numbers of at most {LARGEST:g}; found {wrong:g}. Drop such "
                "rows, or give the column in other units."
            )
        if low < high < low + SMALLEST:
            raise DataError(
                f"The numbers of the real column {name!r} differ by at most {high - low:.3g}, too little to be "
                "squared. Give the column in other units."
            )
    return columns


def _collapsed(dataset: Dataset) -> Dataset:
    """The distinct rows, if they are at most half of the rows."""
    distinct = dataset.collapse()
    return distinct if 2 * distinct.num_rows <= dataset.num_rows else dataset


def _codes(dataset: Dataset, is_real: Bools) -> AnyInts:
    zeros = np.zeros(dataset.num_rows, np.int8)
    columns = [zeros if real else column for column, real in zip(dataset.columns, is_real, strict=True)]
    dtype = np.result_type(np.int8, *(c.dtype for c in columns))
    return np.ascontiguousarray(side_by_side(columns, dataset.num_rows, dtype).T)


def _values(dataset: Dataset, is_real: Bools) -> tuple[Floats, Floats]:
    """The numbers of real columns, zeros for others, counted from the mean of each column; and those means."""
    origins = np.zeros(len(is_real))
    if not is_real.any():
        return np.zeros((0, 0)), origins
    rows = [c if real else np.zeros(dataset.num_rows) for c, real in zip(dataset.columns, is_real, strict=True)]
    values = np.array(rows, dtype=np.float64)
    is_seen = ~np.isnan(values) & (True if dataset.weights is None else dataset.weights > 0)
    with np.errstate(over="ignore", invalid="ignore"):  # infinite numbers are refused by name
        means = np.where(is_seen, values, 0.0).sum(axis=1) / np.maximum(is_seen.sum(axis=1), 1)
    origins = np.where(is_real & np.isfinite(means), means, 0.0)
    return values - origins[:, None], origins


def _weights(dataset: Dataset) -> AnyArray:
    """Whole numbers where the weights are that, of 32 bits unless counts may exceed them: one compiled form serves."""
    weights = dataset.weights
    if weights is None:
        return np.ones(dataset.num_rows, np.int32)
    whole, total = np.rint(weights), weights.sum()
    if not np.array_equal(whole, weights) or total >= 2**53:
        return weights
    return whole.astype(np.int32 if total < 2**31 else np.int64)
