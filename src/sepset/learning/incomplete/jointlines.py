r"""Missing numbers of many rows at once, whatever each row misses: linear Gaussians as one precision matrix a context.

Given all states, lines $x_i = b_i + \sum_j \beta_{ij} x_j + \varepsilon_i$ are jointly normal with the precision
$K = W^\top D^{-1} W$, $W = I - B$. What is missing in a row, given what was found, has the covariance $K_{mm}^{-1}$ and
the mean $\mu_m - K_{mm}^{-1} (K \delta)_m$, where $\delta$ is found less expected numbers, and zero where missing. The
matrices to be inverted are as small as what a row misses, and rows that miss equally many are done together.

Reference: Koller & Friedman, theorem 7.4 in the information form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.logarithms import LOG_2PI
from sepset.cpds.counts import joint_codes
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.factors.algebra import Columns
from sepset.learning.incomplete.gaussianfamily import Numbers
from sepset.variables.variable import Discrete, Vector

BLOCK = 2**20
"""About how many entries of covariances are laid out row by row at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class JointLines:
    """The lines of a network, each about one real variable, none of which leaves nothing over.

    Attributes:
        lines: the linear Gaussians.
        scope: their children.
        by: the discrete variables that any of them depends on.
    """

    lines: tuple[LinearGaussian, ...]
    scope: tuple[Vector, ...]
    by: tuple[Discrete, ...]

    @classmethod
    def of(cls, lines: Sequence[LinearGaussian]) -> JointLines | None:
        """The lines together; none where some variance is zero, so that there is no precision."""
        if not all(line.covariance.min() > 0 for line in lines):
            return None
        by = dict.fromkeys(v for line in lines for v in line.by)
        return cls(tuple(lines), tuple(line.child for line in lines), tuple(by))

    def completed(self, columns: Columns, patterns: Ints) -> Numbers:
        """The rows with missing numbers (NaN) replaced by their expectations given states and found numbers.

        Args:
            columns: states and numbers of the rows.
            patterns: a number for each row; rows of one number miss the same.
        """
        values = np.stack([columns[v] for v in self.scope], axis=1)
        missing = np.isnan(values)
        contexts, context = self._contexts(columns, len(values))
        mean, precision = self._moments(contexts)
        first, group = _grouped(patterns, context, len(contexts[self.by[0]]) if self.by else 1)
        found = _Groups(missing[first], precision, context[first])
        filled = found.expectations(values, mean, context, group)
        whole: Columns = {**columns}
        whole |= {v: filled[:, i] for i, v in enumerate(self.scope)}
        log = self._log_density(whole, len(values)) - found.log_peak[group]
        return Numbers(whole, log, found.log_peak[group], self.scope, group, found.covariances)

    def _contexts(self, columns: Columns, num_rows: int) -> tuple[Columns, Ints]:
        """The joint states of discrete parents that occur, and which of them each row has."""
        codes = reduce(lambda code, v: code * v.num_states + columns[v], self.by, np.zeros(num_rows, np.int64))
        _, first, which = np.unique(codes, return_index=True, return_inverse=True)
        return {v: columns[v][first] for v in self.by}, which.reshape(-1)

    def _moments(self, contexts: Columns) -> tuple[Floats, Floats]:
        """The mean and the precision of all numbers in each context."""
        num = len(contexts[self.by[0]]) if self.by else 1
        place = {v: i for i, v in enumerate(self.scope)}
        size = len(place)
        apart, noise, start = np.zeros((num, size, size)), np.ones((num, size)), np.zeros((num, size))
        for i, line in enumerate(self.lines):
            entry = joint_codes(contexts, line.by, num, line)
            apart[:, i, i] = 1.0
            apart[:, i, [place[v] for v in line.given]] = -line.coefficients[entry][:, 0]
            noise[:, i], start[:, i] = line.covariance[entry, 0, 0], line.intercept[entry, 0]
        turned = np.swapaxes(apart, 1, 2)
        mean = np.asarray(np.linalg.solve(apart, start[..., None])[..., 0], np.float64)
        return mean, (turned / noise[:, None, :]) @ apart

    def _log_density(self, columns: Columns, num_rows: int) -> Floats:
        total = np.zeros(num_rows)
        for line in self.lines:
            entry = joint_codes(columns, line.by, num_rows, line)
            apart = columns[line.child] - line.intercept[entry, 0]
            for j, parent in enumerate(line.given):
                apart -= line.coefficients[:, 0, j][entry] * columns[parent]
            variance = line.covariance[:, 0, 0]
            total -= 0.5 * (apart**2 / variance[entry] + (LOG_2PI + np.log(variance))[entry])
        return total


def _grouped(patterns: Ints, context: Ints, num_contexts: int) -> tuple[Ints, Ints]:
    """A row of each group that misses the same in the same context, and the group of each row."""
    _, first, group = np.unique(patterns * num_contexts + context, return_index=True, return_inverse=True)
    return first, group.reshape(-1)


class _Groups:
    """Groups of rows that miss the same numbers in the same context.

    Attributes:
        covariances: of all numbers given those found, zero where they were found; one matrix a group.
        log_peak: the log density of the expectations of the missing numbers, one a group.
    """

    def __init__(self, missing: Bools, precision: Floats, context: Ints) -> None:
        self.missing, self.precision = missing, precision
        self.covariances = np.zeros((len(missing), missing.shape[1], missing.shape[1]))
        self.log_peak = np.zeros(len(missing))
        counts = missing.sum(axis=1)
        for count in np.unique(counts[counts > 0]):
            at = np.flatnonzero(counts == count)
            holes = np.nonzero(missing[at])[1].reshape(len(at), count)
            rows, across = holes[:, :, None], holes[:, None, :]
            inner = precision[context[at][:, None, None], rows, across]
            self.covariances[at[:, None, None], rows, across] = np.linalg.inv(inner)
            self.log_peak[at] = 0.5 * (np.linalg.slogdet(inner)[1] - count * LOG_2PI)

    def expectations(self, values: Floats, mean: Floats, context: Ints, group: Ints) -> Floats:
        """The values with expectations in place of those that are missing."""
        filled = np.where(self.missing[group], mean[context], values)
        holes = np.asarray(self.missing.any(axis=1))[group]
        step = max(1, BLOCK // max(1, values.shape[1] ** 2))
        for c in range(len(mean)):
            rows = np.flatnonzero(holes & (context == c))
            for at in np.split(rows, range(step, len(rows), step)):
                pull = (filled[at] - mean[c]) @ self.precision[c]
                filled[at] -= np.einsum("rij,rj->ri", self.covariances[group[at]], pull)
        return filled
