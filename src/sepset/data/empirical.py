r"""The empirical distribution of rows, stored as the rows that occur.

$$\hat P_{\mathcal D}(\alpha) = \frac1M \sum_m 1\{\xi[m] \in \alpha\}$$
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.display import Shown, Tabulated
from sepset.base.lazy import lazy
from sepset.base.text import listing
from sepset.data.sources import as_dataset
from sepset.errors import DataError, NotApplicable
from sepset.factors.labels import MOST_SHOWN, cut, one_line
from sepset.variables.evidence import resolve
from sepset.variables.variable import Discrete


class Empirical(Tabulated):
    r"""The distribution that gives each row of complete discrete data the share of rows equal to it.

    It has the largest likelihood of all distributions, and converges to the truth; with many variables nearly every
    cell is empty, which is why models are learned at all.

    Args:
        data: complete rows over discrete variables, a dataset, any frame or a mapping of columns; the weights of a
            dataset count.

    Reference: Koller & Friedman, equation 16.4 and theorem 16.1.
    Guarantee: exact.
    Tested by: data/test_empirical.py::test_shares_of_rows

    >>> found = Empirical({"a": [0, 1, 1, 1], "b": ["x", "x", "y", "x"]})
    >>> found.probability({"a": 1}), found.num_cells, found.log_likelihood.__round__(4)
    (0.75, 4, -4.1589)
    """

    def __init__(self, data: object) -> None:
        data = as_dataset(data)
        real = [v.name for v in data.variables if not isinstance(v, Discrete)]
        if real:
            raise NotApplicable(f"An empirical distribution over cells needs states; {listing(real)} are continuous.")
        if not data.is_complete:
            raise DataError(
                "An empirical distribution needs complete rows. Fit a model by EM, which allows missing cells."
            )
        self.rows = data.collapse()
        total = data.total_weight
        if not total > 0:
            raise DataError("An empirical distribution needs rows that count; there are none.")
        self.total = float(total)

    @lazy
    def probabilities(self) -> Floats:
        """The probability of each distinct row."""
        assert self.rows.weights is not None
        return np.asarray(self.rows.weights / self.total)

    @property
    def num_cells(self) -> int:
        """The number of joint states there are, seen or not."""
        return math.prod(v.num_states for v in self.rows.variables if isinstance(v, Discrete))

    def probability(self, given: Mapping[Any, Any]) -> float:
        """The share of rows in which the findings hold: states, sets of states, or `Not`."""
        evidence = resolve(given, self.rows.variables)
        share = self.probabilities.copy()
        for position, code in evidence.codes.items():
            share *= self.rows.codes(self.rows.variables[position]) == code
        for position, weights in evidence.weights.items():
            share *= np.asarray(weights)[self.rows.codes(self.rows.variables[position])]
        return float(share.sum())

    @property
    def entropy(self) -> float:
        """The entropy in nats."""
        p = self.probabilities[self.probabilities > 0]
        return -float(p @ np.log(p))

    @property
    def log_likelihood(self) -> float:
        r"""$\log P(\mathcal D) = -M H(\hat P)$: no distribution gives the rows more."""
        return -self.total * self.entropy

    def _shown(self) -> Shown:
        """The most frequent rows with their probabilities."""
        order = np.argsort(-self.probabilities, kind="stable")[:MOST_SHOWN]
        variables = [v for v in self.rows.variables if isinstance(v, Discrete)]
        cells = ((v.states[self.rows.codes(v)[row]] for v in variables) for row in order)
        rows = [
            (*map(one_line, states), f"{p:.6g}") for states, p in zip(cells, self.probabilities[order], strict=True)
        ]
        head = (*(v.name for v in variables), "probability")
        bars = self.probabilities[order].tolist()
        return Shown(head, rows, repr(self), cut(len(self.rows), "rows"), words=len(variables), bars=bars)

    def __repr__(self) -> str:
        return f"Empirical({len(self.rows)} distinct rows of weight {self.total:g}, {self.num_cells:.3g} cells)"
