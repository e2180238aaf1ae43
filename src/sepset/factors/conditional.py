"""The conditional that eliminating variables from a table leaves behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from sepset.errors import NotClosed
from sepset.factors import presentation
from sepset.factors.algebra import Columns
from sepset.variables import Discrete

if TYPE_CHECKING:
    from sepset.factors.table import Table

Array = NDArray[np.float64]


class TableConditional:
    """What eliminating variables from a table leaves behind: sample or take modes of `frontal` given `parents`."""

    __slots__ = ("frontal", "parents", "table")

    def __init__(self, frontal: tuple[Discrete, ...], parents: tuple[Discrete, ...], table: Table) -> None:
        self.frontal, self.parents, self.table = frontal, parents, table

    def _rows(self, rows: Columns, num_rows: int) -> tuple[Array, NDArray[np.int64]]:
        """The distinct parent rows as unnormalized weights, and which of them each row has."""
        place = np.zeros(num_rows, np.int64)
        for variable in self.parents:
            place = place * variable.num_states + rows[variable]
        used, which = np.unique(place, return_inverse=True)
        matrix = self.table._rows(self.parents, self.frontal)[used]
        if self.table.space == "log":
            top = matrix.max(axis=1, keepdims=True)
            matrix = np.exp(matrix - np.where(np.isfinite(top), top, 0.0))
        return matrix, which

    def sample(self, rows: Columns, num_rows: int, rng: np.random.Generator) -> Columns:
        """A draw of the frontal variables for each row of parent codes."""
        weights, which = self._rows(rows, num_rows)
        cumulative = np.cumsum(weights, axis=1)
        totals = cumulative[:, -1]
        if num_rows and not (totals > 0).all():
            raise NotClosed(f"{self!r} has no positive value for some parent states; nothing can be drawn.")
        uniform = rng.random(num_rows)
        # Row i of the cumulative table lies in (i, i + 1], so one sorted search serves every row.
        scaled = (cumulative / totals[:, None] if num_rows else cumulative) + np.arange(len(weights))[:, None]
        flat = np.searchsorted(scaled.reshape(-1), uniform + which, side="right")
        joint = np.minimum(flat - which * weights.shape[1], weights.shape[1] - 1)
        joint = _skip_zeros(joint, weights, which)
        return self._decode(joint)

    def mode(self, rows: Columns, num_rows: int) -> Columns:
        """The most probable frontal codes for each row of parent codes; the lowest on ties."""
        weights, which = self._rows(rows, num_rows)
        return self._decode(weights.argmax(axis=1)[which])

    def _decode(self, joint: NDArray[np.int64]) -> Columns:
        columns: Columns = {}
        for variable in reversed(self.frontal):
            joint, columns[variable] = np.divmod(joint, variable.num_states)
        return columns

    def __repr__(self) -> str:
        return presentation.conditional(self.frontal, self.parents)


def _skip_zeros(joint: NDArray[np.int64], weights: Array, which: NDArray[np.int64]) -> NDArray[np.int64]:
    """Move the rare draw that rounding put on a zero cell to the nearest positive one before it."""
    bad = np.flatnonzero(weights[which, joint] == 0.0)
    for i in bad:
        positive = np.flatnonzero(weights[which[i]])
        joint[i] = positive[max(int(np.searchsorted(positive, joint[i])) - 1, 0)]
    return joint
