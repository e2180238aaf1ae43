r"""Second derivatives of the log-likelihood of incomplete rows, exact.

As a function of the logarithms $\varphi_c = \log \theta_c$ of all cells, $P(\mathbf o) = \sum_{\mathbf h}
\exp \sum_c N_c \varphi_c$, where $N_c$ counts the uses of cell $c$. So

$$\frac{\partial \ell}{\partial \varphi_c} = \bar M_c, \qquad
\frac{\partial^2 \ell}{\partial \varphi_c\, \partial \varphi_d} = \sum_m w_m \text{Cov}[N_c, N_d \mid \mathbf o[m]]
= \sum_m w_m P(c \mid \mathbf o[m]) \big(E[N_d \mid c, \mathbf o[m]] - E[N_d \mid \mathbf o[m]]\big),$$

and the chain rule leads to coordinates in which rows of probabilities sum to one.

Reference: Louis (1982), Finding the observed information matrix when using the EM algorithm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.lazy import lazy
from sepset.cpds.counts import decode
from sepset.cpds.parameters import AnyParameters
from sepset.factors.algebra import num_entries
from sepset.inference.capabilities import answer_rows, summed_marginals, with_values
from sepset.inference.evidencerows import EvidenceRows, Workers
from sepset.inference.method import Prepared
from sepset.learning.incomplete.expectation import Expectation
from sepset.models.bayesnet import BayesNet

SURE = 1e-13
"""Posterior probabilities within this distance of one are one: such a row has no covariance."""


@dataclass(frozen=True, eq=False)
class CellCovariance:
    r"""The posterior covariances of the uses of all cells, summed over the rows.

    Attributes:
        expectation: the E-step.
        model: the network, whose parameters are probabilities of states.

    Cost: three passes of inference for each joint state of a family, over the rows that leave it open.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.learning.task import Task
    >>> from sepset.variables.variable import Discrete
    >>> net = BayesNet(TableCPD(Discrete("coin"), [0.3, 0.7]))
    >>> CellCovariance(Expectation.of(Task(net, {"coin": [0, None]})), net).matrix.round(2).tolist()
    [[0.21, -0.21], [-0.21, 0.21]]
    """

    expectation: Expectation
    model: BayesNet

    @lazy
    def parameters(self) -> list[AnyParameters]:
        """The parameters of each CPD, in the form of the factors."""
        return self.expectation.parameters(self.model)

    @lazy
    def factors(self) -> list[int]:
        """The number of the first factor of each CPD, and of all."""
        return [0, *np.cumsum([len(own.engine_values) for own in self.parameters]).tolist()]

    @lazy
    def prepared(self) -> Prepared:
        """The method of inference at the parameters of the model."""
        values = [value for own in self.parameters for value in own.engine_values]
        return with_values(self.expectation.engine.prepared, values)

    @lazy
    def log_partition(self) -> Floats:
        """The log probability of each row."""
        return self._log_partition(self.expectation.rows)

    @lazy
    def starts(self) -> Ints:
        """The first cell of each block, and the number of all cells."""
        sizes = [len(own.zero) for own in self.expectation.blocks.firsts(self.model)]
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    @lazy
    def matrix(self) -> Floats:
        """The sum over the rows of the covariances, cells of all blocks in order."""
        found = np.zeros((int(self.starts[-1]),) * 2)
        for start, members in zip(self.starts, self.expectation.blocks.members, strict=False):
            for i in members:
                for cell, row in self._rows(i):
                    found[start + cell] += row
        return np.asarray(0.5 * (found + found.T))

    def _rows(self, i: int) -> Iterator[tuple[int, Floats]]:
        """The covariances of the uses of cells by one CPD with those of all cells, one joint state at a time."""
        own: Any = self.parameters[i]
        if not own.cpd.num_parameters:
            return
        scope = own.cpd.scope
        states = decode(np.arange(num_entries(scope)), scope)
        cells = own.cells(states)
        columns = [self.whole.positions.index(self.model.variables.id(v)) for v in scope]
        for cell, state in zip(cells.tolist(), np.stack([states[v] for v in scope], axis=1), strict=True):
            row = self._covariance(columns, state) if own.probabilities[cell] > 0 else None
            if row is not None:
                yield cell, row

    def _covariance(self, columns: list[int], state: Ints) -> Floats | None:
        """The covariance of a joint state with the uses of all cells; None if no row leaves it open."""
        found = self.whole.codes[:, columns]
        missing = found < 0
        rows = np.flatnonzero((missing | (found == state)).all(axis=1) & missing.any(axis=1))
        if not len(rows):
            return None
        share = np.exp(self._log_partition(self._fixed(rows, columns, state)) - self.log_partition[rows])
        is_open = (share > 0.0) & (share < 1.0 - SURE)
        rows, share = rows[is_open], share[is_open]
        if not len(rows):
            return None
        weights = self.expectation.weights[rows] * share
        after = self._expected(self._fixed(rows, columns, state), weights)
        return np.asarray(after - self._expected(self.expectation.rows.take(rows), weights))

    @lazy
    def whole(self) -> EvidenceRows:
        """The rows with a column for each variable."""
        return self.expectation.rows.over(range(len(self.model.variables)), ())

    def _fixed(self, rows: Ints, columns: list[int], state: Ints) -> EvidenceRows:
        """Some rows with a joint state as if it had been observed."""
        codes = self.whole.codes[rows].copy()
        codes[:, columns] = state
        return EvidenceRows(self.whole.positions, codes).found()

    def _log_partition(self, rows: EvidenceRows) -> Floats:
        """The log probability of each row; -inf for impossible ones."""
        found = answer_rows(self.prepared, rows, [], Workers(self.expectation.threads))
        return np.asarray(np.where(np.isnan(found.log_partition), -np.inf, found.log_partition))

    def _expected(self, rows: EvidenceRows, weights: Floats) -> Floats:
        """The expected uses of all cells in some rows."""
        marginals, _ = summed_marginals(self.prepared, rows, weights, Workers(self.expectation.threads))
        first = self.factors
        each = [own.expected(marginals[first[i] : first[i + 1]]) for i, own in enumerate(self.parameters)]
        parts = [np.sum([each[i] for i in block], axis=0) for block in self.expectation.blocks.members]
        return np.concatenate([np.zeros(0), *parts])


@dataclass(frozen=True, eq=False)
class Simplices:
    """Cells in groups whose masses sum to one, and quadratic forms in coordinates without that constraint.

    Attributes:
        masses: the probability of each cell, all positive.
        groups: the group of each cell; the last cell of each group is determined by the others.
    """

    masses: Floats
    groups: Ints

    @lazy
    def last(self) -> Ints:
        """The last cell of the group of each cell."""
        ends = np.zeros(int(self.groups.max(initial=-1)) + 1, np.int64)
        ends[self.groups] = np.arange(len(self.groups))
        return ends[self.groups]

    @lazy
    def free(self) -> Ints:
        """The cells that are not the last of their group."""
        return np.flatnonzero(self.last != np.arange(len(self.groups)))

    def in_probabilities(self, covariance: Floats, counts: Floats) -> Floats:
        r"""The Hessian by the free masses: $\varphi_c = \log \theta_c$, and the last mass is one less the others.

        Args:
            covariance: the Hessian by the logarithms.
            counts: the gradient by the logarithms, that of the log prior included.
        """
        full = covariance / np.outer(self.masses, self.masses) - np.diag(counts / self.masses**2)
        change = np.zeros((len(self.masses), len(self.free)))
        change[self.free, np.arange(len(self.free))] = 1.0
        change[self.last[self.free], np.arange(len(self.free))] -= 1.0
        return np.asarray(change.T @ full @ change)

    def in_logits(self, covariance: Floats, counts: Floats) -> Floats:
        r"""The Hessian by the free logits, the last zero: $\varphi_c = \lambda_c - \log \sum_{c'} e^{\lambda_{c'}}$.

        Args:
            covariance: the Hessian by the logarithms.
            counts: the gradient by the logarithms, that of the log prior included.
        """
        same = self.groups[:, None] == self.groups
        slope = np.eye(len(self.masses)) - same * self.masses
        totals = np.bincount(self.groups, weights=counts, minlength=1)[self.groups] if len(counts) else counts
        spread = np.diag(self.masses) - same * np.outer(self.masses, self.masses)
        full = slope.T @ covariance @ slope - totals[:, None] * spread
        return np.asarray(full[np.ix_(self.free, self.free)])
