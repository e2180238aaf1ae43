"""The conditionals that eliminating variables from dense and sparse tables leaves behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.errors import NotClosed
from sepset.factors.algebra import Columns
from sepset.factors.labels import conditional
from sepset.factors.rows import join, reduce_groups
from sepset.semiring import MAX, SUM
from sepset.variables.variable import Discrete

if TYPE_CHECKING:
    from sepset.factors.sparse import SparseTable
    from sepset.factors.table import Table


class TableConditional:
    r"""What eliminating variables from a table leaves behind: $\phi(\mathbf y \mid \mathbf x)$.

    Args:
        frontal: the eliminated variables $\mathbf Y$.
        parents: the others, $\mathbf X$.
        table: the factor before elimination, unnormalized.

    >>> from sepset.factors.table import Table
    >>> a, b = Discrete("a"), Discrete("b")
    >>> conditional, rest = Table((a, b), [[1, 3], [5, 2]]).eliminate("b")
    >>> conditional, conditional.mode({a: np.array([0, 1])}, 2)[b].tolist()
    (Conditional(b[2] | a[2]), [1, 0])
    """

    __slots__ = ("frontal", "parents", "table")

    def __init__(self, frontal: tuple[Discrete, ...], parents: tuple[Discrete, ...], table: Table) -> None:
        self.frontal, self.parents, self.table = frontal, parents, table

    def _rows(self, rows: Columns, num_rows: int) -> tuple[Floats, Ints]:
        """The distinct parent rows as the table stores them, and which of them each row has."""
        place = np.zeros(num_rows, np.int64)
        for variable in self.parents:
            place = place * variable.num_states + rows[variable]
        used, which = np.unique(place, return_inverse=True)
        return self.table._rows(self.parents, self.frontal)[used], which

    def _weights(self, matrix: Floats) -> Floats:
        """Each stored row as linear weights whose largest is one."""
        top = matrix.max(axis=1, keepdims=True)
        zero = -np.inf if self.table.space == "log" else 0.0
        if (top == zero).any():
            raise NotClosed(f"{self!r} has no positive value for some parent states; nothing can be drawn.")
        return np.asarray(np.exp(matrix - top) if self.table.space == "log" else matrix / top)

    def sample(self, rows: Columns, num_rows: int, rng: np.random.Generator) -> Columns:
        """A draw of the frontal variables for each row of parent codes."""
        if not num_rows:
            return self._decode(np.zeros(0, np.int64))
        matrix, which = self._rows(rows, num_rows)
        weights = self._weights(matrix)
        cumulative = np.cumsum(weights, axis=1)
        cumulative /= cumulative[:, -1:]
        # Row i of the cumulative table lies in [i, i + 1], so one sorted search serves every row.
        cumulative += np.arange(len(weights))[:, None]
        flat = np.searchsorted(cumulative.reshape(-1), rng.random(num_rows) + which, side="right")
        joint = np.clip(flat - which * weights.shape[1], 0, weights.shape[1] - 1)
        return self._decode(_skip_zeros(joint, weights, which))

    def mode(self, rows: Columns, num_rows: int) -> Columns:
        """The most probable frontal codes for each row of parent codes; the lowest on ties."""
        if not num_rows:
            return self._decode(np.zeros(0, np.int64))
        matrix, which = self._rows(rows, num_rows)
        return self._decode(matrix.argmax(axis=1)[which])

    def _decode(self, joint: Ints) -> Columns:
        columns: Columns = {}
        for variable in reversed(self.frontal):
            joint, columns[variable] = np.divmod(joint, variable.num_states)
        return columns

    def __repr__(self) -> str:
        return conditional(self.frontal, self.parents)


def _skip_zeros(joint: Ints, weights: Floats, which: Ints) -> Ints:
    """Move the rare draw that rounding put on a zero cell to the nearest positive one before it."""
    bad = np.flatnonzero(weights[which, joint] == 0.0)
    for i in bad:
        positive = np.flatnonzero(weights[which[i]])
        joint[i] = positive[max(int(np.searchsorted(positive, joint[i])) - 1, 0)]
    return joint


class SparseConditional:
    r"""What eliminating variables from a sparse table leaves behind: $\phi(\mathbf y \mid \mathbf x)$.

    >>> from sepset.factors.sparse import SparseTable
    >>> a, b = Discrete("a"), Discrete("b")
    >>> conditional, rest = SparseTable((a, b), [[0, 1], [1, 0], [1, 1]], [1, 5, 2]).eliminate("b")
    >>> conditional, conditional.mode({a: np.array([0, 1])}, 2)[b].tolist()
    (Conditional(b[2] | a[2]), [1, 0])
    """

    __slots__ = ("frontal", "parents", "table")

    def __init__(self, frontal: tuple[Discrete, ...], parents: tuple[Discrete, ...], table: SparseTable) -> None:
        self.frontal, self.parents, self.table = frontal, parents, table

    def _groups(self, rows: Columns, num_rows: int) -> tuple[Ints, Floats, Ints, Ints]:
        """The support in groups of equal parents: codes, logarithms, where groups begin, and the group of each row."""
        codes, logs, begins = self.table.align(self.parents + self.frontal)._grouped(self.parents)
        asked = np.zeros((num_rows, len(self.parents)), np.int64)
        for axis, variable in enumerate(self.parents):
            asked[:, axis] = rows[variable]
        known = codes[begins][:, : len(self.parents)]
        i, group, _ = join(asked, known, [v.num_states for v in self.parents])
        if len(i) != num_rows:
            raise NotClosed(f"{self!r} has no positive value for some parent states; nothing can be drawn.")
        return codes[:, len(self.parents) :], logs, begins, group

    def sample(self, rows: Columns, num_rows: int, rng: np.random.Generator) -> Columns:
        """A draw of the frontal variables for each row of parent codes."""
        codes, logs, begins, group = self._groups(rows, num_rows)
        lengths = np.diff(np.append(begins, len(logs)))
        totals = reduce_groups(logs, begins, SUM)
        probabilities = np.exp(logs - np.repeat(totals, lengths))
        # Each group adds one to the running sum, up to rounding; exact ends keep draws inside their group.
        running = np.cumsum(probabilities)
        below = np.concatenate([[0.0], running])[begins]
        mass = np.append(below[1:], running[-1:]) - below
        place = np.searchsorted(running, below[group] + rng.random(num_rows) * mass[group], side="right")
        place = np.clip(place, begins[group], begins[group] + lengths[group] - 1)
        return {v: codes[place, axis] for axis, v in enumerate(self.frontal)}

    def mode(self, rows: Columns, num_rows: int) -> Columns:
        """The most probable frontal codes for each row of parent codes; the lowest on ties."""
        codes, logs, begins, group = self._groups(rows, num_rows)
        lengths = np.diff(np.append(begins, len(logs)))
        best = logs == np.repeat(reduce_groups(logs, begins, MAX), lengths)
        candidates = np.flatnonzero(best)
        first = candidates[np.searchsorted(candidates, begins)] if len(begins) else begins
        return {v: codes[first[group], axis] for axis, v in enumerate(self.frontal)}

    def __repr__(self) -> str:
        return conditional(self.frontal, self.parents)
