r"""Factors written over arrays of variables: `unary`, `pairwise` and `over_scopes` for grids, chains and codes.

They store positions within their arrays; a model binds them to its own numbering. Nothing is built element by element.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import AnyInts, Floats
from sepset.base.checks import one_of
from sepset.base.foreign import translated
from sepset.base.text import listing
from sepset.errors import ModelError, ScopeError
from sepset.factors.block import FactorBlock
from sepset.factors.potentials import Potential
from sepset.factors.table import Table
from sepset.variables.array import Edges, VariableArray
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete

Space = Literal["linear", "log"]


@dataclass(frozen=True, slots=True, eq=False)
class FactorArray:
    r"""Factors $\phi_i(\mathbf x_{D_i})$ of one shape over variables and arrays, before a model numbers them.

    Attributes:
        parts: the variables and arrays they are over.
        places: positions within `parts`, one row per factor.
        content: a named potential shared by all, or `[n or 1, entries]` values.
        space: "linear" for values, "log" for their logarithms.
    """

    parts: tuple[Discrete | VariableArray, ...]
    places: AnyInts
    content: Potential | Floats
    space: Space = "linear"

    def __len__(self) -> int:
        return len(self.places)

    def cards(self) -> tuple[int, ...]:
        """The number of states along each axis, the same for every factor."""
        if len(self.parts) == 1 and isinstance(self.parts[0], VariableArray):
            return (self.parts[0].num_states,) * int(self.places.shape[1])
        cards = Universe(self.parts).cards[self.places]
        if len(cards) and (cards != cards[0]).any():
            bad = int(np.flatnonzero((cards != cards[0]).any(axis=1))[0])
            raise ModelError(
                f"The factors of a block have one shape; factor 0 has {cards[0].tolist()} states, "
                f"factor {bad} has {cards[bad].tolist()}. Use one block per shape."
            )
        return tuple(map(int, cards[0])) if len(cards) else (1,) * self.places.shape[1]

    def bind(self, variables: Universe) -> FactorBlock:
        """The block with scopes in a model's own numbering."""
        if not len(self):
            return FactorBlock(np.zeros((0, 0), np.int64), (), values=[1.0])
        scopes = self.places
        offsets = [_first(part, variables) for part in self.parts]
        if len(self.parts) > 1 or (offsets and offsets[0] != 0):
            ids = [
                np.arange(len(p)) + o if isinstance(p, VariableArray) else [o]
                for p, o in zip(self.parts, offsets, strict=True)
            ]
            scopes = np.concatenate(ids).astype(self.places.dtype)[self.places]
        if isinstance(self.content, np.ndarray):
            return FactorBlock(scopes, self.cards(), values=self.content, space=self.space)
        return FactorBlock(scopes, self.cards(), values=self.content)

    def __repr__(self) -> str:
        over = listing([getattr(p, "base", None) for p in self.parts], 4)
        return f"FactorArray({len(self)} factors of {self.places.shape[1]} variables over {over})"


def _first(part: Discrete | VariableArray, variables: Universe) -> int:
    return variables.array_offset(part) if isinstance(part, VariableArray) else variables.id(part)


@translated
def unary(over: VariableArray | Discrete, log_values: ArrayLike) -> FactorArray:
    r"""One factor $\phi_i(x_i) = e^{\ell_i(x_i)}$ for each variable of an array.

    Args:
        over: the array, or one variable.
        log_values: logarithms of shape `(*array.shape, states)`, or `(states,)` for the same factor everywhere.

    Reference: Koller & Friedman 4.4.1.
    Guarantee: exact.
    Tested by: models/test_blocks.py::test_unary_one_factor_a_variable

    >>> unary(Discrete.array("pixel", (2, 3)), np.zeros((2, 3, 2)))
    FactorArray(6 factors of 1 variables over 'pixel')
    """
    logs = np.asarray(log_values, np.float64)
    shape = over.shape if isinstance(over, VariableArray) else ()
    if logs.shape not in ((*shape, over.num_states), (over.num_states,)):
        raise ModelError(
            f"unary over {over!r} needs logarithms of shape {(*shape, over.num_states)} or {(over.num_states,)}; "
            f"found {logs.shape}."
        )
    size = len(over) if isinstance(over, VariableArray) else 1
    places = np.arange(size, dtype=np.int32).reshape(-1, 1)
    return FactorArray((over,), places, logs.reshape(-1, over.num_states), "log")


@translated
def pairwise(
    edges: Edges | Iterable[tuple[Discrete, Discrete]],
    potential: Potential | Table | ArrayLike,
    *,
    space: Space = "linear",
) -> FactorArray:
    r"""One factor $\phi_{ij}(x_i, x_j)$ for each edge.

    Args:
        edges: `array.grid_edges()`, or pairs of variables.
        potential: a named potential such as `Potts(1.5)`, or values of shape `(k, k')`, or `(edges, k, k')`.
        space: "log" if the values are logarithms.

    Reference: Koller & Friedman 4.4.1.
    Guarantee: exact.
    Tested by: models/test_blocks.py::test_pairwise_over_grids_and_pairs

    >>> from sepset.factors.potentials import Potts
    >>> pairwise(Discrete.array("pixel", (2, 3)).grid_edges(), Potts(1.5))
    FactorArray(7 factors of 2 variables over 'pixel')
    """
    made = (
        over_scopes(edges, potential, space=space)
        if not isinstance(edges, Edges)
        else _over_edges(edges, potential, space)
    )
    if len(made) and made.places.shape[1] != 2:
        raise ModelError(f"pairwise needs pairs of variables; found scopes of {made.places.shape[1]}. Use block.")
    return made


def _over_edges(edges: Edges, potential: Potential | Table | ArrayLike, space: Space) -> FactorArray:
    return over_scopes(edges.pairs, potential, array=edges.array, space=space)


@translated
def over_scopes(
    scopes: Iterable[Sequence[Discrete]] | ArrayLike,
    potential: Potential | Table | ArrayLike,
    *,
    array: VariableArray | None = None,
    space: Space = "linear",
) -> FactorArray:
    r"""One factor for each scope, all of one shape: parity checks, templates, higher-order terms.

    Args:
        scopes: tuples of variables, or with `array` an integer matrix of flat positions in it.
        potential: a named potential such as `Parity()`, or values: one table for all, or one per scope.
        array: the array that integer scopes refer to.
        space: "log" if the values are logarithms.

    Reference: Koller & Friedman 4.4.1.
    Guarantee: exact.
    Tested by: models/test_blocks.py::test_blocks_of_any_arity

    >>> from sepset.factors.potentials import Parity
    >>> over_scopes([[0, 1, 2, 3], [2, 3, 5, 0]], Parity(), array=Discrete.array("bit", 6))
    FactorArray(2 factors of 4 variables over 'bit')
    """
    one_of("space", space, ("linear", "log"))
    parts, places = _places(scopes, array)
    values = potential.values if isinstance(potential, Table) else potential
    if isinstance(values, Potential):
        return FactorArray(parts, places, values)
    if not len(places):
        return FactorArray(parts, places, np.zeros((1, 1)), space)
    draft = FactorArray(parts, places, np.zeros((1, 1)), space)
    return FactorArray(parts, places, _tables(np.asarray(values, np.float64), draft.cards(), len(places)), space)


def _places(scopes: Any, array: VariableArray | None) -> tuple[tuple[Discrete | VariableArray, ...], AnyInts]:
    if array is not None:
        places = np.asarray(scopes)
        if places.ndim != 2 or not np.issubdtype(places.dtype, np.integer):
            raise ScopeError(f"Scopes over {array!r} are a matrix of positions, one row per factor; found {scopes!r}.")
        if places.size and not (places.min() >= 0 and places.max() < len(array)):
            raise ScopeError(f"{array!r} has positions 0 to {len(array) - 1}; found {places.min()} to {places.max()}.")
        return (array,), places
    rows = [tuple(scope) for scope in scopes]
    if len({len(row) for row in rows}) > 1:
        raise ModelError(
            f"The factors of a block have equally many variables; found {listing(sorted({len(r) for r in rows}))}."
        )
    variables = Universe.union(*rows)
    places = np.array([variables.ids(row) for row in rows], np.int64).reshape(len(rows), len(rows[0]) if rows else 0)
    return variables.parts, places  # type: ignore[return-value]  # tables are over discrete variables


def _tables(values: Floats, cards: tuple[int, ...], count: int) -> Floats:
    if values.shape == cards:
        return values.reshape(1, -1)
    if values.shape == (count, *cards):
        return values.reshape(count, -1)
    raise ModelError(
        f"A block of {count} factors needs values of shape {cards} or {(count, *cards)}; found {values.shape}."
    )
