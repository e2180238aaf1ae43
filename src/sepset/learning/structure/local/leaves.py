r"""The score of one leaf: of the rows that reach it, whose child has one distribution.

With counts $M_x$ at a leaf $\ell$ it is one of

$$\sum_x M_x \log\frac{M_x}{M} - c\,(|X| - 1), \qquad
\log\frac{\Gamma(\alpha_\ell)}{\Gamma(\alpha_\ell + M)}
+ \sum_x \log\frac{\Gamma(\alpha_{x \mid \ell} + M_x)}{\Gamma(\alpha_{x \mid \ell})}.$$

The pseudo-counts of a leaf are $\alpha\, P'(x, \mathbf c_\ell)$, with $\mathbf c_\ell$ its context: the same in every
tree that has the context. So are the scores. A tree scores the sum of its leaves, plus $\log c$ for each under a prior
$P(T) \propto c^{|T|}$.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from scipy.special import gammaln, xlogy

from sepset.base.arraytypes import AnyInts, Floats, Ints
from sepset.errors import NotApplicable
from sepset.kernels.structure.familyscores import EVIDENCE, LIKELIHOOD
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import CellEvidence, FamilyScore
from sepset.learning.structure.scores.likelihood import AIC, BIC, LogLikelihood


@runtime_checkable
class ImaginaryCounts(Protocol):
    """A parameter prior given by imaginary rows: their counts in the joint states of any variables."""

    def imaginary_counts(self, scope: Any) -> Floats:
        """The counts, one axis per variable in the order given."""


@dataclass(frozen=True, eq=False)
class LeafScore:
    """The score of leaves for one child.

    Attributes:
        r: the number of the child's states.
        kind: `LIKELIHOOD` or `EVIDENCE`, as kernels know them.
        fixed: the pseudo-count of each cell, whatever the leaf.
        shared: the pseudo-count of each cell of a leaf that all joint states reach; others have their share of it.
        per_leaf: subtracted for each leaf: the penalty of its parameters, less the logarithm of the tree prior.
        prior: gives imaginary counts in place of both pseudo-counts.
    """

    r: int
    kind: int
    fixed: float
    shared: float
    per_leaf: float
    prior: ImaginaryCounts | None = None

    @classmethod
    def of(cls, score: FamilyScore, child: int, columns: Columns, per_leaf: float = 1.0) -> LeafScore:
        """The score of leaves that goes with a score of families.

        Args:
            score: of families.
            child: the column.
            columns: the data.
            per_leaf: the factor of the tree prior, $c$.
        """
        r, log_prior = int(columns.cards[child]), math.log(per_leaf)
        if isinstance(score, LogLikelihood | BIC | AIC):
            penalty = score.per_parameter(columns.total) * (r - 1)
            return cls(r, LIKELIHOOD, 0.0, 0.0, penalty - log_prior)
        if isinstance(score, CellEvidence):
            one, half = score.pseudo_count(np.array([1.0, 2.0]), r).tolist()
            return cls(r, EVIDENCE, 2 * half - one, 2 * (one - half), -log_prior)
        if isinstance(score, ImaginaryCounts):
            return cls(r, EVIDENCE, 0.0, 0.0, -log_prior, score)
        raise NotApplicable(
            f"A leaf has a score under BIC, AIC, LogLikelihood, BDeu, K2 and BDe; found {score!r}. Use one of these."
        )

    @property
    def terms(self) -> Floats:
        """The numbers that kernels take."""
        return np.array([self.fixed, self.shared, self.per_leaf])

    def values(self, counts: Floats, shares: Floats | float, imaginary: Floats | None = None) -> Floats:
        """The scores of leaves from their counts.

        Args:
            counts: with the child's states along the last axis.
            shares: of the joint states that reach each leaf.
            imaginary: the imaginary counts of the leaves, where the prior gives them.
        """
        totals = counts.sum(-1)
        if self.kind == LIKELIHOOD:
            return np.asarray((xlogy(counts, counts)).sum(-1) - xlogy(totals, totals) - self.per_leaf)
        alpha = self.pseudo_counts(np.asarray(shares), imaginary)
        whole = alpha.sum(-1)
        cells = (gammaln(alpha + counts) - gammaln(alpha)).sum(-1)
        return np.asarray(cells - gammaln(whole + totals) + gammaln(whole) - self.per_leaf)

    def pseudo_counts(self, shares: Floats, imaginary: Floats | None) -> Floats:
        """The pseudo-counts of leaves, the child's states along the last axis."""
        if imaginary is not None:
            return imaginary
        return np.repeat((self.fixed + self.shared * shares)[..., None], self.r, axis=-1)

    def imaginary(self, child: int, parents: tuple[int, ...], columns: Columns) -> Floats | None:
        """The imaginary counts of a family, the child's states along the last axis; None if the prior has none."""
        if self.prior is None:
            return None
        return self.prior.imaginary_counts([columns.variables[columns.names[c]] for c in (*parents, child)])


@dataclass(frozen=True, eq=False)
class LeafRows:
    """The rows that count for a child, those equal in the columns in question as one.

    Attributes:
        codes: one row per candidate.
        child: its states.
        weights: one per row, positive.
    """

    codes: AnyInts
    child: AnyInts
    weights: Floats

    @classmethod
    def of(cls, child: int, candidates: tuple[int, ...], columns: Columns) -> LeafRows:
        """The rows of a child and candidates for its parents."""
        rows, weights = counted_rows(child, columns), columns.weights.astype(np.float64)
        states = math.prod(int(columns.cards[c]) for c in (*candidates, child))
        if states <= len(rows):
            rows, weights = _distinct((*candidates, child), columns, rows, weights, states)
        else:
            weights = weights[rows]
        codes = columns.codes[list(candidates)][:, rows].astype(np.int32)  # one type, which is compiled once
        return cls(np.ascontiguousarray(codes), columns.codes[child][rows].astype(np.int32), weights)


def counted_rows(child: int, columns: Columns) -> Ints:
    """The rows of positive weight in which a column was not set by an intervention."""
    is_counted = columns.weights > 0
    if columns.intervened is not None:
        is_counted &= ~columns.intervened[child]
    return np.flatnonzero(is_counted)


def _distinct(
    family: tuple[int, ...], columns: Columns, rows: Ints, weights: Floats, states: int
) -> tuple[Ints, Floats]:
    """One row for each joint state that occurs, with its total weight."""
    key = np.zeros(len(rows), np.int64)
    for column in family:
        key = key * int(columns.cards[column]) + columns.codes[column][rows]
    totals: Floats = np.bincount(key, weights[rows], states).astype(np.float64)
    first = np.zeros(states, np.int64)
    first[key[::-1]] = rows[::-1]
    seen = np.flatnonzero(totals > 0)
    return first[seen], totals[seen]
