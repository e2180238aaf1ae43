r"""Rows that observe every variable of a small discrete problem: products of table entries, without inference.

$$\log P(\mathbf x[m]) = \sum_i \log \phi_i(\mathbf x_{D_i}[m]), \qquad
\bar M_i[\mathbf u] = \sum_m w_m\, 1\{\mathbf x_{D_i}[m] = \mathbf u\}$$
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.inference import costs
from sepset.inference.evidencerows import EvidenceRows
from sepset.inference.method import dense
from sepset.problem import Problem


@dataclass(frozen=True, slots=True, eq=False)
class CompleteStates:
    """Rows of states of every variable of a problem.

    Attributes:
        problem: the problem.
        num_rows: the number of rows.
        entries: for each factor, the flat entry that each row selects.
    """

    problem: Problem
    num_rows: int
    entries: tuple[Ints, ...]

    @classmethod
    def of(cls, problem: Problem, rows: EvidenceRows) -> CompleteStates | None:
        """The rows of a discrete problem, or None if a variable is missing in some row or the problem is not small.

        >>> from sepset.variables.universe import Universe
        >>> empty = Problem(Universe([]), ())
        >>> CompleteStates.of(empty, EvidenceRows((), np.zeros((2, 0), np.int64))).log_weights({}).tolist()
        [0.0, 0.0]
        """
        column = {v: i for i, v in enumerate(rows.positions)}
        if len(column) < len(problem.variables) or sum(map(math.prod, problem.shapes)) > costs.ENTRIES_OF_COMPLETE_ROWS:
            return None
        if (rows.codes < 0).any():
            return None
        codes, entries = rows.codes.astype(np.int64), []
        for number, shape in enumerate(problem.shapes):
            entry = np.zeros(len(rows), np.int64)
            for v, size in zip(problem.scope(number), shape, strict=True):
                entry = entry * size + codes[:, column[v]]
            entries.append(entry)
        return cls(problem, len(rows), tuple(entries))

    def log_weights(self, tables: Mapping[int, Floats]) -> Floats:
        """The logarithm of the product of all factors in each row, some with new values, by their numbers."""
        total = np.zeros(self.num_rows)
        with np.errstate(divide="ignore"):
            for i, entry in enumerate(self.entries):
                logs = np.log(tables[i]) if i in tables else dense(self.problem.factor(i)).log_values
                total += logs.reshape(-1)[entry]
        return total

    def summed(self, weights: Floats) -> tuple[Floats, ...]:
        """For each factor the total weight of the rows at each of its entries."""
        pairs = zip(self.entries, self.problem.shapes, strict=True)
        sums = [(np.bincount(entry, weights, math.prod(shape)), shape) for entry, shape in pairs]
        return tuple(found.astype(np.float64, copy=False).reshape(shape) for found, shape in sums)
