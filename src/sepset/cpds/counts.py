"""Counts of codes: checked columns, joint states, and the joint states that occur."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import AnyArray, AnyInts, Floats, Ints
from sepset.base.checks import row_weights, whole
from sepset.base.text import brief
from sepset.data.duplicates import group_words
from sepset.errors import DataError, TooLarge
from sepset.factors.algebra import AnyVariable, Columns, num_entries
from sepset.factors.labels import name_of
from sepset.variables.variable import Discrete

SHOWN = 3
"""The number of contexts without rows that an error names."""


@dataclass(frozen=True, slots=True, eq=False)
class Contexts:
    """The counts of rows in the contexts of a CPD.

    Attributes:
        counts: the number (or total weight) of rows in each context.
        zero_cells: the number of cells without a row, in contexts that have some.
    """

    counts: Floats
    zero_cells: int = 0


def column(rows: Columns, variable: Discrete, num_rows: int, owner: object) -> Ints:
    """The codes of one variable, checked: present, one per row, complete and within its states."""
    found: AnyArray | None = rows.get(variable)
    if found is None:
        names = ", ".join(v.name for v in rows) or "nothing"
        raise DataError(f"{name_of(owner)} needs a column of codes for {variable.name}; found {names}.")
    codes = np.asarray(found)
    if not np.issubdtype(codes.dtype, np.integer):
        raise DataError(f"{name_of(owner)} needs integer codes for {variable.name}; found {codes.dtype}.")
    if codes.shape != (num_rows,):
        raise DataError(f"{name_of(owner)} needs {num_rows} codes for {variable.name}; found the shape {codes.shape}.")
    if codes.size and not (codes.min() >= 0 and codes.max() < variable.num_states):
        raise DataError(_outside(codes, variable, owner))
    return codes.astype(np.int64, copy=False)


def columns_of(rows: Columns, variables: Sequence[Discrete], num_rows: int, owner: object) -> Ints:
    """The codes of some variables, checked as those of one, `[variables, rows]`."""
    found: list[Any] = [rows.get(v) for v in variables]
    if all(type(one) is np.ndarray and one.shape == (num_rows,) and one.dtype.kind in "iu" for one in found):
        codes = np.array(found, np.int64).reshape(len(found), num_rows)
        most = np.array([v.num_states for v in variables], np.int64)[:, None]
        if ((codes >= 0) & (codes < most)).all():
            return codes
    return np.array([column(rows, v, num_rows, owner) for v in variables], np.int64).reshape(len(found), num_rows)


def _outside(codes: AnyInts, variable: Discrete, owner: object) -> str:
    missing = int((codes == -1).sum())
    if missing:
        return (
            f"{name_of(owner)} needs complete rows; {missing} of {codes.size} are missing for {variable.name}. Use EM."
        )
    bad = codes[(codes < 0) | (codes >= variable.num_states)][0]
    return f"{name_of(owner)}: {variable.name} has codes 0 to {variable.num_states - 1}; found {bad}."


def joint_codes(rows: Columns, variables: tuple[Discrete, ...], num_rows: int, owner: object) -> Ints:
    """The flat C-order position of each row's joint state of `variables`."""
    place: Ints | None = None
    for variable in variables:
        codes = column(rows, variable, num_rows, owner)
        place = codes if place is None else place * variable.num_states + codes
    return np.zeros(whole("num_rows", num_rows), np.int64) if place is None else place


def decode(places: Ints, variables: Iterable[Discrete]) -> Columns:
    """The codes of each variable at flat C-order positions.

    >>> a, b = Discrete("a", 2), Discrete("b", 3)
    >>> [codes.tolist() for codes in decode(np.array([4]), (a, b)).values()]
    [[1], [1]]
    """
    columns: Columns = {}
    for variable in reversed(tuple(variables)):
        places, columns[variable] = np.divmod(places, variable.num_states)
    return dict(reversed(columns.items()))


def num_rows_of(rows: Columns, variable: AnyVariable, owner: object) -> int:
    """The number of rows, by the column of `variable`."""
    if variable not in rows:
        raise DataError(f"{name_of(owner)} needs a column for {variable.name}.")
    return len(rows[variable])


def checked_weights(weights: ArrayLike | None, num_rows: int, owner: object) -> Floats | None:
    """Row weights as floats: one per row, finite and not negative; None if every row counts once."""
    return None if weights is None else row_weights(weights, num_rows, owner)


def count(places: Ints, num_cells: int, weights: Floats | None = None) -> Floats:
    """The number of occurrences (or the total weight) of each cell.

    >>> count(np.array([0, 2, 2]), 3).tolist()
    [1.0, 0.0, 2.0]
    """
    return np.bincount(places, weights=weights, minlength=num_cells).astype(np.float64, copy=False)


def summed(places: Ints, num_cells: int, values: Any) -> Any:
    """The sum of the values of each cell: floats, or whole numbers of any size.

    >>> summed(np.array([0, 2, 2]), 3, np.array([1, 2**70, 1], object)).tolist()
    [1, 0, 1180591620717411303425]
    """
    if values.dtype != object:
        return count(places, num_cells, values)
    found = np.zeros(num_cells, object)
    np.add.at(found, places, values)
    return found


def checked_counts(stats: ArrayLike, num_cells: int, owner: object) -> Floats:
    """Counts as a flat array of the right size, finite and not negative."""
    try:
        counts = np.asarray(stats, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name_of(owner)} needs an array of counts; found {brief(stats)}.") from error
    if counts.size != num_cells:
        raise DataError(f"{name_of(owner)} has {num_cells} counts; found an array of shape {counts.shape}.")
    if not (np.isfinite(counts).all() and (counts >= 0).all()):
        raise DataError(f"{name_of(owner)} needs finite counts >= 0.")
    return counts.reshape(-1)


@dataclass(frozen=True, slots=True, eq=False)
class Configurations:
    """The joint states that occur, in lexicographic order, with their (weighted) counts; `+` merges two of them.

    They are the sufficient statistics of CPDs that have no smaller ones.

    >>> a, b = Discrete("a"), Discrete("b")
    >>> some = Configurations.of({a: np.array([1, 0, 1]), b: np.array([0, 0, 0])}, (a, b), None, "me")
    >>> merged = some + some
    >>> merged.codes.tolist(), merged.counts.tolist()
    ([[0, 0], [1, 0]], [2.0, 4.0])
    """

    variables: tuple[Discrete, ...]
    codes: Ints
    counts: Floats

    def __post_init__(self) -> None:
        self.codes.setflags(write=False)
        self.counts.setflags(write=False)

    @classmethod
    def of(
        cls, rows: Columns, variables: tuple[Discrete, ...], weights: ArrayLike | None, owner: object
    ) -> Configurations:
        """The counts of `variables` (at least one) in rows of codes."""
        num_rows = num_rows_of(rows, variables[-1], owner)
        checked = checked_weights(weights, num_rows, owner)
        if num_entries(variables) < 2**62:
            # Joint states that fit in one integer sort much faster than rows.
            keys, which = np.unique(joint_codes(rows, variables, num_rows, owner), return_inverse=True)
            distinct = np.column_stack([*decode(keys, variables).values()])
        else:
            codes = np.column_stack([column(rows, v, num_rows, owner) for v in variables])
            first, group = group_words(codes)
            order = np.lexsort(codes[first].T[::-1])
            distinct, which = codes[first[order]], np.argsort(order, kind="stable")[group]
        return cls(variables, distinct, count(which, len(distinct), checked))

    @classmethod
    def of_table(cls, table: Floats, variables: tuple[Discrete, ...]) -> Configurations:
        """The joint states with a positive count in a table of them.

        >>> Configurations.of_table(np.array([0.0, 1.5]), (Discrete("a"),)).codes.tolist()
        [[1]]
        """
        flat = table.reshape(-1)
        seen = np.flatnonzero(flat > 0)
        codes = np.column_stack([*decode(seen, variables).values()]).astype(np.int64)
        return cls(variables, codes, flat[seen])

    @classmethod
    def allowed(cls, rows: Columns, variables: tuple[Discrete, ...], most: int, owner: object) -> Configurations:
        """The joint states that agree with some row, whose missing codes are -1, with counts of zero.

        >>> a, b = Discrete("a"), Discrete("b")
        >>> Configurations.allowed({a: np.array([1, 0]), b: np.array([-1, 0])}, (a, b), 9, "me").codes.tolist()
        [[0, 0], [1, 0], [1, 1]]
        """
        codes = np.unique(np.column_stack([np.asarray(rows[v], np.int64) for v in variables]), axis=0)
        for place, variable in enumerate(variables):
            blank = codes[:, place] < 0
            if len(codes) + blank.sum() * (variable.num_states - 1) > most:
                raise TooLarge(
                    f"EM keeps an expected count for each joint state of {name_of(owner)} that its rows allow, more "
                    f"than {most:,}. Give it fewer parents, or rows with fewer missing cells."
                )
            filled = np.repeat(codes[blank], variable.num_states, axis=0)
            filled[:, place] = np.tile(np.arange(variable.num_states), int(blank.sum()))
            codes = np.concatenate([codes[~blank], filled])
        codes = np.unique(codes, axis=0)
        return cls(variables, codes, np.zeros(len(codes)))

    def places(self, codes: Ints) -> Ints:
        """The index of each of these joint states, all of which occur here."""
        first, which = group_words(np.concatenate([self.codes, codes]))
        own = np.empty(len(first), np.int64)
        own[which[: len(self.codes)]] = np.arange(len(self.codes))
        return np.asarray(own[which[len(self.codes) :]])

    def __add__(self, other: Configurations) -> Configurations:
        if not isinstance(other, Configurations):
            return NotImplemented
        if other.variables != self.variables:
            raise DataError("Only configurations of the same variables can be added.")
        codes = np.concatenate([self.codes, other.codes])
        rows: Columns = dict(zip(self.variables, codes.T, strict=True))
        return Configurations.of(rows, self.variables, np.concatenate([self.counts, other.counts]), self)

    @property
    def total(self) -> float:
        """The total weight."""
        return float(self.counts.sum())

    @property
    def columns(self) -> Columns:
        """The joint states as columns of codes."""
        return dict(zip(self.variables, self.codes.T, strict=True))

    def state_counts(self, axis: int) -> Floats:
        """The counts of each state of one variable."""
        return count(self.codes[:, axis], self.variables[axis].num_states, self.counts)

    def __repr__(self) -> str:
        return f"Configurations({len(self.counts)} distinct, total {self.total:g})"


def checked_configurations(stats: object, scope: tuple[Discrete, ...], owner: object) -> Configurations:
    """The statistics, which must be configurations of `scope`."""
    if not isinstance(stats, Configurations) or stats.variables != scope:
        raise DataError(
            f"{name_of(owner)} learns from its own statistics (Configurations of its scope); found {stats!r}."
        )
    return stats


def states_of(variable: Discrete) -> Callable[[int], str]:
    """A function that describes a state of a parent, given its code.

    >>> states_of(Discrete("light", ["red", "green"]))(1)
    "light='green'"
    """
    return lambda code: f"{variable.name}={variable.states[code]!r}"


NO_PRIOR = "Give a prior such as Dirichlet(1), or unseen='uniform'."
"""The advice about contexts without rows where no prior was given."""

FLAT_PRIOR = "The prior is flat there; give more pseudo-counts, such as Dirichlet(2), or unseen='uniform'."
"""The advice about contexts without rows where the prior does not determine their parameters."""


def unseen_message(
    owner: object,
    unseen: Iterable[int],
    num_contexts: int,
    name: Callable[[int], str],
    remedy: str = NO_PRIOR,
) -> str:
    """The message about contexts without rows: their number, the first few, what to do, and where all are listed.

    Args:
        unseen: the contexts without rows, of which there are `num_contexts` in all.
        name: describes one of them.
    """
    empty = [int(context) for context in unseen]
    if len(empty) == num_contexts:
        return f"{name_of(owner)}: there are no rows, or all have weight zero. {remedy}"
    rest = len(empty) - SHOWN
    named = ", ".join(map(name, empty[:SHOWN])) + (f" and {rest} more" if rest > 0 else "")
    where = " context_coverage(structure, data).unseen lists them all." if rest > 0 else ""
    return (
        f"{name_of(owner)}: {len(empty)} of {num_contexts} contexts never occur in the data: {named}. {remedy}{where}"
    )


def expected_log(probabilities: Floats, counts: Floats) -> float:
    r"""The expected log-likelihood $\sum_c M[c] \log \theta_c$ of counts; cells without any add nothing.

    >>> expected_log(np.array([0.0, 1.0]), np.array([0.0, 3.0]))
    0.0
    """
    seen = counts > 0
    with np.errstate(divide="ignore"):
        return float(counts[seen] @ np.log(probabilities[seen]))
