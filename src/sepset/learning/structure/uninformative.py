"""Columns from which no structure can be learned: constants, identifiers, copies of others, collinear numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import AnyInts, Bools, Floats
from sepset.base.numerics.matrices import cholesky, parts, squares
from sepset.base.text import joined, listing
from sepset.data.dataset import Dataset
from sepset.errors import DataError
from sepset.factors.algebra import AnyVariable
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.regressions import SINGULAR
from sepset.variables.universe import Universe

IDENTIFIED = 20
"""Rows from which a column is an identifier if all its values differ, and a copy if they follow from another's."""

FIRST_ROWS = 64
"""Rows by which columns are first compared."""

NEGLIGIBLE = 1e-6
"""The share of the largest coefficient below which a column has no part in a linear relation."""

NUM_SHADOWS = 4
"""The random directions by which columns are compared before their rows are."""


@dataclass(frozen=True)
class Uninformative:
    """The columns that tell nothing about a structure, by the reason.

    Attributes:
        constants: columns of one value.
        identifiers: discrete columns with a value of their own in every row, or more states than rows.
        copies: for each column that is another one in other words, that column.
    """

    constants: tuple[str, ...]
    identifiers: tuple[str, ...]
    copies: dict[str, str]

    @classmethod
    def of(cls, columns: Columns, is_inferred: Bools) -> Uninformative:
        """The columns of each kind; states that were not read from the data are meant, and their columns are kept."""
        rows = columns.total if columns.weights.dtype.kind == "i" else np.inf
        is_discrete = ~columns.is_real & (columns.codes >= 0).any(1)
        chosen = is_inferred & is_discrete & (columns.cards > 1)
        constants = is_inferred & is_discrete & (columns.cards == 1) | _is_flat(columns)
        identifiers = is_discrete & (columns.cards > rows)
        if rows >= IDENTIFIED:
            identifiers |= chosen & (columns.cards >= rows)
        copies = _copies(columns, chosen & ~identifiers) if rows >= IDENTIFIED else {}
        return cls(_names(columns, constants), _names(columns, identifiers), copies)

    @property
    def names(self) -> tuple[str, ...]:
        """All these columns."""
        return (*self.constants, *self.identifiers, *self.copies)

    def fact(self, columns: Columns) -> str:
        """The first kind of such columns that there is, in words; empty if there is none."""
        if self.constants:
            several = len(self.constants) > 1
            what = "are constant: they have" if several else "is constant: it has"
            then = "depend" if several else "depends"
            return f"{listing(self.constants)} {what} one value in all rows, and so {then} on no other column."
        if self.identifiers:
            states = max(int(columns.cards[columns.variables.id(name)]) for name in self.identifiers)
            several = len(self.identifiers) > 1
            what, then = ("have up to", "they depend") if several else ("has", "it depends")
            return (
                f"{listing(self.identifiers)} {what} {states:,} states in {columns.total:,.0f} rows, too many to learn "
                f"what {then} on."
            )
        if self.copies:
            pairs = joined([f"{copy!r} of {original!r}" for copy, original in self.copies.items()], limit=3)
            return (
                f"Columns are duplicated: {pairs}. In all rows either value follows from the other, so that nothing "
                "tells which other columns depend on which of them."
            )
        return ""

    def advice(self, columns: Columns) -> str:
        """The way out."""
        if self.constants:
            name, it = self.constants[0], "it" if len(self.constants) == 1 else "them"
            if columns.is_real[columns.variables.id(name)]:
                return f"Drop {it}."
            it_may = "it may" if it == "it" else "they may"
            return f"Drop {it}; or give the states that {it_may} have: variables=[Discrete({name!r}, ...)]."
        if self.identifiers:
            return "Drop such a column, or group its states."
        return (
            "Drop one of each pair; or, if they are meant to be two variables, give both in variables=, or the rows "
            "as a Dataset."
        )


def check_informative(
    columns: Columns, data: object, variables: Iterable[AnyVariable] | None, *, takes_collinear: bool = False
) -> None:
    """Raise where a column tells nothing about a structure, or is a linear function of others.

    Columns with more states than rows are refused (unless weights are fractions of rows), and constant and collinear
    columns of numbers. Discrete columns of one value, identifiers, and copies of another column are, where their states
    are read from the data: states that are given, in `variables` or by a dataset, are meant.

    Args:
        columns: what is learned from.
        data: where they come from.
        variables: the meaning of some columns.
        takes_collinear: whether the method learns from columns that are linear functions of others.

    >>> check_informative(Columns.of({"a": [0, 1], "b": ["x", "x"]}), {}, None)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    sepset.errors.DataError: 'b' is constant: it has one value in all rows, and so depends on no other column. ...
    """
    found = Uninformative.of(columns, _inferred(columns, data, variables))
    if found.names:
        raise DataError(f"{found.fact(columns)} {found.advice(columns)}")
    if not takes_collinear:
        check_collinear(columns)


def check_collinear(columns: Columns, *, is_pairwise: bool = False) -> None:
    """Raise where a column of numbers is a linear function of those before it, up to rounding.

    With fewer rows than columns every one is; then only functions of a single other column count.

    Args:
        columns: what is learned from.
        is_pairwise: whether only functions of a single other column count, as for trees.
    """
    real = np.flatnonzero(columns.is_real)
    if len(real) < 2:
        return
    unit = _unit(columns)
    num_rows = unit.shape[1]
    if num_rows < 3 and columns.has_missing:  # two rows fit every line, and others say more about the columns
        return
    if num_rows > len(real) and not is_pairwise:
        correlations = squares(unit)
        np.fill_diagonal(correlations, 1.0)
        determined = _first_determined(correlations)
        others = [] if determined is None else _determinants(correlations, determined)
    else:
        determined = _first_multiple(unit)
        others = [] if determined is None else [_original(unit, determined)]
    if determined is not None:
        name, known = columns.names[real[determined]], listing([columns.names[real[k]] for k in others])
        raise DataError(
            f"The real column {name!r} is a linear function of {known} up to rounding (they are collinear), so that "
            "the rows cannot tell which of them depends on which. Drop one of them."
        )


def _is_flat(columns: Columns) -> Bools:
    """The columns of numbers that are equal in all rows of positive weight."""
    found = np.zeros(len(columns), np.bool_)
    for column in np.flatnonzero(columns.is_real).tolist():
        values = columns.values[column]
        seen = values[~np.isnan(values) & (columns.weights > 0)]
        found[column] = bool(len(seen)) and bool((seen == seen[0]).all())
    return found


def _copies(columns: Columns, chosen: Bools) -> dict[str, str]:
    """For each column whose states are those of an earlier one with other names, that one."""
    rows = np.flatnonzero(columns.weights > 0)
    first, alike = rows[:FIRST_ROWS], dict[bytes, list[int]]()
    found: dict[str, str] = {}
    for column in np.flatnonzero(chosen).tolist():
        codes = columns.codes[column]
        group = alike.setdefault(_renamed(codes[first]).tobytes(), [])
        same = next((other for other in group if _are_copies(codes[rows], columns.codes[other][rows])), None)
        if same is None:
            group.append(column)
        else:
            found[columns.names[column]] = columns.names[same]
    return found


def _renamed(codes: AnyInts) -> AnyInts:
    """The codes numbered in the order in which they first occur; missing cells stay -1."""
    states, first, inverse = np.unique(codes, return_index=True, return_inverse=True)
    ranks = np.empty(len(states), np.int64)
    ranks[np.argsort(first, kind="stable")] = np.arange(len(states))
    return np.where(codes < 0, -1, ranks[inverse])


def _are_copies(one: AnyInts, other: AnyInts) -> bool:
    """Whether two columns have the same missing cells, and each is a function of the other."""
    return bool((one == other).all()) or bool((_renamed(one) == _renamed(other)).all())


def _unit(columns: Columns) -> Floats:
    """The columns of numbers in rows without missing cells, centered, of length one; zeros where one is constant."""
    real, used = np.flatnonzero(columns.is_real), columns.weights > 0
    for part in parts(len(real), 0.0, columns.num_rows):
        used = used & np.isfinite(columns.values[real[part]]).all(axis=0)
    weights = columns.weights[used] / max(columns.weights[used].sum(), np.finfo(np.float64).tiny)
    found = np.empty((len(real), len(weights)))
    for part in parts(len(real), 0.0, columns.num_rows):
        centered = columns.values[real[part]][:, used]
        centered -= (centered @ weights)[:, None]
        centered *= np.sqrt(weights)
        lengths = np.sqrt(np.einsum("ij,ij->i", centered, centered))[:, None]
        found[part] = np.divide(centered, lengths, out=centered, where=lengths > 0)
    return found


def _first_multiple(unit: Floats) -> int | None:
    """The first column that is a multiple of one before it, up to rounding."""
    found, kept = None, np.flatnonzero(unit.any(axis=1))
    while (later := _some_multiple(unit, kept)) is not None:
        found = later
        kept = kept[kept < later]
    return found


def _some_multiple(unit: Floats, kept: AnyInts) -> int | None:
    r"""A column that is a multiple of another one before it, among some columns; none is only if there is none.

    Two of them are at most $\sqrt{2 (1 - |r|)}$ apart, up to the sign, and so are their products with a unit vector:
    only pairs with nearly the same products with some random vectors are compared row by row.
    """
    directions = np.random.default_rng(0).standard_normal((unit.shape[1], NUM_SHADOWS))
    shadows = np.abs(unit[kept] @ (directions / np.linalg.norm(directions, axis=0)))
    order = np.argsort(shadows[:, 0], kind="stable")
    columns, shadows, reach = kept[order], shadows[order], 2.0 * np.sqrt(SINGULAR)
    for apart in range(1, len(order)):
        near = np.flatnonzero(shadows[apart:, 0] - shadows[:-apart, 0] <= reach)
        if not len(near):
            return None
        near = near[(np.abs(shadows[near + apart] - shadows[near]) <= reach).all(axis=1)]
        for part in parts(len(near), unit.shape[1], 2 * unit.shape[1]):
            one, other = columns[near[part]], columns[near[part] + apart]
            is_multiple = np.einsum("ij,ij->i", unit[one], unit[other]) ** 2 >= 1 - SINGULAR
            if is_multiple.any():
                return int(np.maximum(one, other)[is_multiple].min())
    return None


def _original(unit: Floats, column: int) -> int:
    """The first column of which a later one is a multiple, up to rounding."""
    return int(np.argmax((unit[:column] @ unit[column]) ** 2 >= 1 - SINGULAR))


def _first_determined(correlations: Floats) -> int | None:
    """The first variable that those before it determine up to rounding."""
    try:
        left = np.diagonal(cholesky(correlations)) ** 2
        return int(np.argmax(left <= SINGULAR)) if (left <= SINGULAR).any() else None
    except np.linalg.LinAlgError:
        low, high = 1, len(correlations) - 1  # the leading part of size `low` has a factor, and of size `high` + 1 none
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if _is_regular(correlations[:middle, :middle]) else (low, middle - 1)
        return low


def _is_regular(correlations: Floats) -> bool:
    try:
        return bool((np.diagonal(cholesky(correlations)) ** 2 > SINGULAR).all())
    except np.linalg.LinAlgError:
        return False


def _determinants(correlations: Floats, determined: int) -> list[int]:
    """The earlier variables of which one is a linear function."""
    from scipy.linalg import solve_triangular

    factor = cholesky(correlations[:determined, :determined])
    white = solve_triangular(factor, correlations[:determined, determined], lower=True)
    weights = solve_triangular(factor, white, lower=True, trans=1)
    return np.flatnonzero(np.abs(weights) > NEGLIGIBLE * np.abs(weights).max()).tolist()


def _inferred(columns: Columns, data: object, variables: Iterable[AnyVariable] | None) -> Bools:
    """Whether the states of each column were read from the data."""
    if isinstance(data, Dataset):
        return np.zeros(len(columns), np.bool_)
    given = set() if variables is None else set(Universe(variables).names)
    return np.array([name not in given for name in columns.names], np.bool_)


def _names(columns: Columns, chosen: Bools) -> tuple[str, ...]:
    return tuple(columns.names[k] for k in np.flatnonzero(chosen).tolist())
