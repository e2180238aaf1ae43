r"""Blocks: many factors of one shape as a few arrays; a single factor is a view.

Grids, chains, plates and templates are blocks. A factor of a block is $\phi_i(\mathbf x_{s_i})$ where row $s_i$ of
`scopes` holds positions among a model's variables.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import AnyInts, Bools, Floats, Int32s, Ints
from sepset.base.checks import one_of
from sepset.base.frozen import Frozen, fill, read_only, setters
from sepset.base.logarithms import LN2
from sepset.errors import ArgumentError, ModelError, NotApplicable, ScopeError
from sepset.factors.algebra import Factor, check_size
from sepset.factors.bits import RANGE_BITS
from sepset.factors.discrete import DiscreteFactor
from sepset.factors.potentials import Potential
from sepset.factors.table import Space, Table
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete

Ids: TypeAlias = Int32s | Ints

CHUNK = 1 << 20
"""How many codes are gathered at once while scoring rows."""

TABLED = 4096
"""A potential with at most this many joint states is scored from its table."""


@runtime_checkable
class Block(Protocol):
    """Factors of one shape over the variables of a model, by position."""

    @property
    def scopes(self) -> Ids:
        """The positions of each factor's variables, `[n, arity]`."""

    @property
    def cards(self) -> tuple[int, ...]:
        """The number of states along each axis; 0 for continuous variables."""

    @property
    def arity(self) -> int:
        """The number of variables of each factor."""

    @property
    def nbytes(self) -> int:
        """The memory its arrays take."""

    def __len__(self) -> int: ...

    def factor(self, i: int, variables: Universe) -> Factor:
        """Factor `i` as a value of its own."""

    def log_values(self, codes: AnyInts) -> Floats:
        """The sum of logarithms of all factors at each row of codes `[rows, num_variables]`."""


class FactorBlock(Frozen):
    r"""Many factors of one shape: positions of their variables, and either values or a named potential.

    Args:
        scopes: whole numbers `[n, arity]`: row $i$ holds the positions of factor $i$'s variables.
        cards: the number of states along each axis.
        values: `[n or 1, prod(cards)]` (or with one axis per variable) non-negative numbers, last variable fastest,
            or their logarithms; one row is shared by all factors. Or a `Potential`, shared by all.
        space: whether `values` are "linear" or "log".

    Guarantee: exact.
    Tested by: factors/test_block.py::test_scores_are_the_sum_over_factors

    >>> from sepset.factors.potentials import Potts
    >>> chain = FactorBlock([[0, 1], [1, 2]], (2, 2), values=Potts(1.0))
    >>> chain, chain.log_values(np.array([[0, 0, 0], [0, 1, 1]])).tolist()
    (FactorBlock(2 x Potts(weight=1.0) over (2, 2)), [2.0, 1.0])
    """

    __slots__ = ("__weakref__", "cards", "potential", "scopes", "space", "values")
    scopes: Ids
    cards: tuple[int, ...]
    values: Floats | None
    potential: Potential | None
    space: Space

    def __init__(
        self, scopes: ArrayLike, cards: Sequence[int], *, values: ArrayLike | Potential, space: Space = "linear"
    ) -> None:
        ids, sizes = _checked_scopes(scopes, len(cards)), tuple(int(card) for card in cards)
        if any(size < 1 for size in sizes):
            raise ModelError(f"A block of tables is over discrete variables; found {sizes} states.")
        one_of("space", space, ("linear", "log"))
        fill(self, scopes=ids, cards=sizes)
        if isinstance(values, Potential):
            values.check(sizes)
            fill(self, potential=values, values=None, space="log")
        else:
            fill(self, potential=None, values=_checked_values(values, len(ids), sizes, space), space=space)

    def __len__(self) -> int:
        return len(self.scopes)

    @property
    def arity(self) -> int:
        """The number of variables of each factor."""
        return len(self.cards)

    @property
    def shared(self) -> bool:
        """Whether all factors have the same values."""
        return self.values is None or len(self.values) == 1

    @property
    def nbytes(self) -> int:
        """The memory its arrays take."""
        return self.scopes.nbytes + (0 if self.values is None else self.values.nbytes)

    def factor(self, i: int, variables: Universe) -> Table:
        """Factor `i` as a table over the variables at its positions; its size is checked first."""
        if not -len(self) <= i < len(self):
            raise ArgumentError(f"The block has {len(self)} factors; there is no factor {i}.")
        scope = _scope(self.scopes[i], self.cards, variables)
        check_size(scope)
        logs = self._log_table()
        if logs is not None:
            return Table.from_log(scope, logs)
        assert self.values is not None  # a block without values has a potential
        row = self.values[0 if self.shared else i]
        return Table.from_log(scope, row) if self.space == "log" else Table(scope, row)

    def linear(self) -> tuple[Floats, Ints] | None:
        """The values `[n or 1, size]` of all factors, and the powers of two that they are to be multiplied by.

        One row is shared by all factors. None if the values of some factor are too far apart for floats.

        >>> FactorBlock([[0], [1]], (2,), values=[[798.0, 800.0]], space="log").linear()[1].tolist()
        [1154]
        """
        named = self._log_table()
        if named is None and self.space == "linear":
            assert self.values is not None  # a block without values has a potential
            return np.abs(self.values), np.zeros(len(self.values), np.int64)  # no minus zeros
        logs = self._logs(slice(None)) if named is None else named[None]
        finite = np.isfinite(logs)
        high = np.max(logs, axis=1, where=finite, initial=-np.inf) / LN2
        low = np.min(logs, axis=1, where=finite, initial=np.inf) / LN2
        if (high - low > RANGE_BITS).any():
            return None
        is_near = (low > -RANGE_BITS / 2) & (high < RANGE_BITS / 2) | ~np.isfinite(high)
        exponents = np.rint(np.where(is_near, 0.0, high)).astype(np.int64)
        return np.exp(logs - exponents[:, None] * LN2), exponents

    def _log_table(self) -> Floats | None:
        """The flat log table of a potential; None for a block of values."""
        return None if self.potential is None else self.potential.log_table(self.cards).reshape(-1)

    def log_values(self, codes: AnyInts) -> Floats:
        """The sum of logarithms of all factors at each row of codes `[rows, num_variables]`.

        Cost: one gather per row, factor and variable, in chunks of bounded memory.
        """
        rows = _checked_codes(codes)
        self._check_range(rows)
        totals = np.zeros(len(rows))
        many = max(CHUNK // max(self.arity, 1), 1)
        factors = min(len(self), many)
        lines = max(many // max(factors, 1), 1)
        tabled = self._log_table() if math.prod(self.cards) <= TABLED else None
        for first in range(0, len(self), max(factors, 1)):
            chosen = slice(first, first + factors)
            logs = self._logs(chosen) if self.potential is None else tabled
            for top in range(0, len(rows), lines):
                part = rows[top : top + lines]
                totals[top : top + lines] += self._scores(part[:, self.scopes[chosen]], logs).sum(axis=1)
        return totals

    def _check_range(self, rows: AnyInts) -> None:
        """Raise if rows lack a variable of the block, or have a code that one does not have."""
        if not len(rows) or not self.scopes.size:
            return
        if rows.shape[1] <= int(self.scopes.max()):
            raise ModelError(
                f"The block is over variables at positions up to {self.scopes.max()}; found {rows.shape[1]} columns."
            )
        highest = rows.max(axis=0)
        for axis, card in enumerate(self.cards):
            worst = int(self.scopes[highest[self.scopes[:, axis]].argmax(), axis])
            if highest[worst] >= card:
                raise ModelError(f"Variable {worst} of the rows has {card} states; found the code {highest[worst]}.")

    def _logs(self, chosen: slice) -> Floats:
        """The log tables of these factors, `[n or 1, size]`."""
        assert self.values is not None  # a block without values has a potential
        values = self.values if self.shared else self.values[chosen]
        if self.space == "log":
            return values
        with np.errstate(divide="ignore"):
            return np.log(values)

    def _scores(self, codes: AnyInts, logs: Floats | None) -> Floats:
        """The logarithm of each factor at codes `[rows, factors, arity]`, from log tables or from the potential."""
        if logs is None:
            assert self.potential is not None  # a block without values has a potential
            return self.potential.log_values(codes)
        place = np.zeros(codes.shape[:2], np.int64)
        for axis, card in enumerate(self.cards):
            place *= card
            place += codes[:, :, axis]
        if logs.ndim == 1 or len(logs) == 1:
            return logs.reshape(-1)[place]
        return logs[np.arange(len(logs)), place]

    def __reduce__(self) -> tuple[object, ...]:
        values = self.values if self.potential is None else self.potential
        return _rebuild, (self.scopes, self.cards, values, self.space)

    def __repr__(self) -> str:
        what = self.potential or ("one table" if self.shared else "tables")
        over = self.cards if self.arity <= 8 else f"{self.arity} variables"
        return f"FactorBlock({len(self)} x {what} over {over})"


class Single(Frozen):
    """One factor of any kind as a block of length one.

    Args:
        factor: the factor.
        ids: the positions of its scope among the model's variables, in the order of its axes.

    >>> Single(Table(Discrete("a"), [1, 2]), [0]).log_values(np.array([[0], [1]])).round(6).tolist()
    [0.0, 0.693147]
    """

    __slots__ = ("__weakref__", "scopes", "value")
    scopes: Ids
    value: Factor

    def __init__(self, factor: Factor, ids: ArrayLike) -> None:
        arity = len(factor.scope)
        fill(self, scopes=_checked_scopes(np.asarray(ids).reshape(1, -1), arity), value=factor)

    def __len__(self) -> int:
        return 1

    @property
    def cards(self) -> tuple[int, ...]:
        """The number of states along each axis; 0 for continuous variables."""
        return tuple(v.num_states if isinstance(v, Discrete) else 0 for v in self.value.scope)

    @property
    def arity(self) -> int:
        """The number of variables."""
        return len(self.value.scope)

    @property
    def shared(self) -> bool:
        """True: there is one factor."""
        return True

    @property
    def nbytes(self) -> int:
        """The memory of its numbers, about."""
        return 8 * self.value.size + self.scopes.nbytes

    def factor(self, i: int, variables: Universe) -> Factor:
        """The factor, which is number 0; its scope must be what `variables` has at its positions."""
        if not -1 <= i <= 0:
            raise ArgumentError(f"The block has 1 factor; there is no factor {i}.")
        for variable, place in zip(self.value.scope, self.scopes[0].tolist(), strict=True):
            found = variables[place]
            if found is not variable and found != variable:
                raise ScopeError(f"Position {place} holds {found!r}, not {variable!r}.")
        return self.value

    def log_values(self, codes: AnyInts) -> Floats:
        """The logarithm of the factor at each row of codes `[rows, num_variables]`."""
        if not isinstance(self.value, DiscreteFactor):
            raise NotApplicable(f"{self.value!r} has continuous variables; codes do not describe it. Use log_value.")
        return self.value.log_at(_checked_codes(codes)[:, self.scopes[0]])

    def __reduce__(self) -> tuple[object, ...]:
        return Single, (self.value, self.scopes[0])

    def __repr__(self) -> str:
        return f"Single({self.value!r})"


_SET_SCOPES, _SET_VALUE = setters(Single, "scopes", "value")


def single_blocks(factors: Sequence[Factor], start: Ints, members: Ints) -> tuple[Single, ...]:
    """One block per factor, with its scope among compressed rows of positions; they are known to fit.

    >>> single_blocks([Table(Discrete("a"), [1, 2])], np.array([0, 1]), np.array([7]))[0].scopes.tolist()
    [[7]]
    """
    bounds, line = start.tolist(), read_only(members.view())[None]
    blocks = tuple([Single.__new__(Single) for _ in factors])
    for block, factor, i, j in zip(blocks, factors, bounds, bounds[1:], strict=False):
        _SET_SCOPES(block, line[:, i:j])
        _SET_VALUE(block, factor)
    return blocks


def _rebuild(scopes: Ids, cards: tuple[int, ...], values: Any, space: Space) -> FactorBlock:
    return FactorBlock(scopes, cards, values=values, space=space)


def _checked_scopes(scopes: ArrayLike, arity: int) -> Ids:
    """Positions as read-only int32 or int64 `[n, arity]`, without repeats in a row; good arrays are not copied."""
    ids = np.asarray(scopes)
    if ids.size == 0 and ids.dtype.kind == "f":
        ids = ids.astype(np.int64)
    if ids.ndim != 2 or ids.shape[1] != arity or ids.dtype.kind not in "iu":
        raise ModelError(
            f"The scopes of a block are whole numbers of shape (n, {arity}); found {ids.dtype} {ids.shape}."
        )
    if ids.dtype not in (np.int32, np.int64):
        ids = ids.astype(np.int64)
    if ids.size and int(ids.min()) < 0:
        raise ModelError("The scopes of a block hold positions of variables; found a negative one.")
    _refuse_repeats(ids)
    return read_only(np.ascontiguousarray(ids).view())


def _refuse_repeats(ids: Ids) -> None:
    for a in range(ids.shape[1] if ids.shape[1] <= 4 else 0):
        for b in range(a):
            _refuse_where(ids, ids[:, a] == ids[:, b])
    if ids.shape[1] > 4:
        ordered = np.sort(ids, axis=1)
        _refuse_where(ids, (ordered[:, 1:] == ordered[:, :-1]).any(axis=1))


def _refuse_where(ids: Ids, bad: Bools) -> None:
    if bad.any():
        i = int(bad.argmax())
        raise ScopeError(f"Factor {i} of the block names one variable twice: positions {ids[i].tolist()}.")


def _checked_values(values: ArrayLike, num: int, cards: tuple[int, ...], space: Space) -> Floats:
    """Values as a read-only matrix `[n or 1, prod(cards)]`."""
    one_of("space", space, ("linear", "log"))
    array, size = np.array(values, dtype=np.float64), math.prod(cards)
    if array.shape in (cards, (size,)):
        array = array.reshape(1, size)
    elif array.shape in ((num, *cards), (1, *cards)):
        array = array.reshape(-1, size)
    if array.shape not in ((num, size), (1, size)):
        raise ModelError(
            f"Values of shape {array.shape} do not fit {num} factors of shape {cards}; "
            f"expected {(num, *cards)}, {(num, size)} or one shared {cards}."
        )
    if space == "linear":
        bad = ~(np.isfinite(array) & (array >= 0))
        rule = "finite values >= 0"
    else:
        bad, rule = np.isnan(array) | (array == np.inf), "logarithms that are finite or -inf"
    if bad.any():
        i, j = np.argwhere(bad)[0].tolist()
        raise ModelError(f"A block needs {rule}; factor {i} has {array[i, j]} at flat position {j}.")
    return read_only(array)


def _checked_codes(codes: AnyInts) -> AnyInts:
    rows = np.asarray(codes)
    if rows.ndim != 2 or rows.dtype.kind not in "iu":
        raise ModelError(f"Assignments are whole codes of shape (rows, variables); found {rows.dtype} {rows.shape}.")
    if rows.dtype.kind == "i" and rows.size and int(rows.min()) < 0:
        raise ModelError("Assignments must be complete; found a negative code, which means missing.")
    return rows


def _scope(ids: Ids, cards: tuple[int, ...], variables: Universe) -> tuple[Discrete, ...]:
    scope: list[Discrete] = []
    for place, card in zip(ids.tolist(), cards, strict=True):
        variable = variables[place]
        if not isinstance(variable, Discrete) or variable.num_states != card:
            raise ScopeError(f"Position {place} holds {variable!r}; the block needs a variable with {card} states.")
        scope.append(variable)
    return tuple(scope)
