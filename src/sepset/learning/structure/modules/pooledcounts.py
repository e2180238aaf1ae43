r"""Counts and scores of modules: groups of columns with shared parents and one CPD.

The counts of a module are those of its members added up, and its score is that of one family with these counts:

$$M_k[x, \mathbf u] = \sum_{X \in C_k} M[X = x, \mathbf U_k = \mathbf u]$$
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import gammaln, xlogy

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.cpds.priors.dirichlet import FamilyPrior
from sepset.errors import NotApplicable
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import CellEvidence, FamilyScore
from sepset.learning.structure.scores.likelihood import AIC, BIC, LogLikelihood


class PooledScore:
    r"""The score of a module from its pooled counts: its evidence, or its likelihood less a penalty.

    A prior that spreads an equivalent sample size over the network adds up over the members of a module, as it does
    over all CPDs that share parameters; other pseudo-counts and penalties count once. A module without members has
    the score zero.

    Args:
        score: `BDeu`, `K2`, or a penalized likelihood such as `BIC`.
        total: the weight of the rows.
    """

    def __init__(self, score: FamilyScore, total: float) -> None:
        is_likelihood = isinstance(score, LogLikelihood | BIC | AIC)
        if not (is_likelihood or isinstance(score, CellEvidence)):
            raise NotApplicable(
                f"{score!r} does not score pooled counts. Use BDeu(10), K2(), BIC() or AIC() for modules."
            )
        self.score: Any = score
        self.total, self.is_likelihood = total, is_likelihood
        self.adds_up = isinstance(score, FamilyPrior)

    def __call__(self, tables: Floats, q: float, sizes: Ints) -> Floats:
        """The scores of tables `[tables, contexts, states]`.

        Args:
            tables: pooled counts; contexts without rows may be left out.
            q: the number of all contexts.
            sizes: the number of members that each table was pooled over.
        """
        r = tables.shape[2]
        if self.is_likelihood:
            fit = (xlogy(tables, tables).sum(2) - xlogy(tables.sum(2), tables.sum(2))).sum(1)
            found = fit - self.score.penalties(np.array([q]), r, self.total)[0]
        else:
            a = self.score.pseudo_count(np.array([q]), r)[0] * (np.maximum(sizes, 1) if self.adds_up else 1.0)
            a = np.broadcast_to(a, sizes.shape)[:, None]
            cells = (gammaln(a[..., None] + tables) - gammaln(a)[..., None]).sum((1, 2))
            found = cells - (gammaln(r * a + tables.sum(2)) - gammaln(r * a)).sum(1)
        return np.where(sizes > 0, found, 0.0)


class ModuleTables(NamedTuple):
    """The scores of one module and of all its changes.

    Attributes:
        now: its score.
        toggled: its score with each column moved in, or out if it is a member.
        added: its score with each column as one more parent; NaN for its parents.
        removed: its score without each of its parents, in their order.
    """

    now: float
    toggled: Floats
    added: Floats
    removed: Floats


class PooledCounts:
    """The pooled counts of modules among columns that have the same states.

    Args:
        columns: complete discrete columns with one set of states.
        score: what is summed over modules.

    Attributes:
        num_scores: how many tables were scored.
    """

    def __init__(self, columns: Columns, score: FamilyScore) -> None:
        self.columns, self.r = columns, int(columns.cards[0])
        self.score = PooledScore(score, columns.total)
        self.weights = columns.weights.astype(np.float64)
        self.indicators = [np.ascontiguousarray((columns.codes == x).T, np.float64) for x in range(self.r)]
        self.num_scores = 0

    def tables(self, members: Bools, parents: Sequence[int]) -> ModuleTables:
        """The scores of a module and of its changes.

        Cost: rows times columns times the square of the number of states.
        """
        given, n, q = tuple(sorted(parents)), len(self.columns), float(self.r) ** len(parents)
        num_members = int(members.sum())
        held = np.column_stack([one @ members for one in self.indicators]) * self.weights[:, None]
        pooled, of_each = self._pooled(given, held), self._of_each(given)
        signs = np.where(members, -1.0, 1.0)
        toggled = pooled + signs[:, None, None] * of_each
        self.num_scores += 2 * n + len(given) + 1
        sizes = np.full(n, num_members)
        added = self.score(self._split(given, held), q * self.r, sizes)
        added[list(given)] = np.nan
        return ModuleTables(
            float(self.score(pooled[None], q, sizes[:1])[0]),
            self.score(np.maximum(toggled, 0.0), q, sizes + signs.astype(np.int64)),
            added,
            np.array([self._without(given, p, held, num_members) for p in given]),
        )

    def of(self, members: Bools, parents: Sequence[int]) -> float:
        """The score of a module, from its members' counts one after the other."""
        given, size = tuple(sorted(parents)), int(members.sum())
        total = sum((self.columns.counts(x, given) for x in np.flatnonzero(members).tolist()), np.zeros((1, self.r)))
        return float(self.score(total[None], float(self.r) ** len(given), np.array([size]))[0])

    def _rows_by_context(self, given: tuple[int, ...], weights: Floats) -> Any:
        """The matrix that adds up rows by context, each with its weight."""
        ids, size = self.columns.contexts(given)
        return sparse.csr_matrix((weights, (ids, np.arange(len(ids)))), shape=(size, len(ids)))

    def _pooled(self, given: tuple[int, ...], held: Floats) -> Floats:
        return np.asarray(self._rows_by_context(given, np.ones(len(held))) @ held)

    def _of_each(self, given: tuple[int, ...]) -> Floats:
        """The counts of each column, `[columns, contexts, states]`."""
        adding = self._rows_by_context(given, self.weights)
        return np.stack([(adding @ one).T for one in self.indicators], axis=2)

    def _split(self, given: tuple[int, ...], held: Floats) -> Floats:
        """The pooled counts with the contexts split by each column, `[columns, contexts, states]`."""
        parts = []
        for x in range(self.r):
            adding = self._rows_by_context(given, held[:, x])
            parts.append(np.concatenate([(adding @ one).T for one in self.indicators], axis=1))
        return np.stack(parts, axis=2)

    def _without(self, given: tuple[int, ...], parent: int, held: Floats, size: int) -> float:
        rest = tuple(p for p in given if p != parent)
        pooled = self._pooled(rest, held)
        return float(self.score(pooled[None], float(self.r) ** len(rest), np.array([size]))[0])
