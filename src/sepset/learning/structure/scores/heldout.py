r"""Scores by rows that the parameters have not seen: one held-out part, or several parts in turn."""

from __future__ import annotations

from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.checks import fraction, whole
from sepset.cpds.priors.dirichlet import K2, BDeu
from sepset.kernels.structure.familyscores import SKIPPED
from sepset.learning.structure.columns import Columns

_PARTS: WeakKeyDictionary[Columns, dict[object, Floats]] = WeakKeyDictionary()


class _HeldOut:
    r"""The base: $\sum_k \sum_{x, \mathbf u} M_k[x, \mathbf u] \log \theta^{(-k)}_{x \mid \mathbf u}$ over parts $k$.

    The parameters are posterior means given all other rows.
    """

    __slots__ = ()
    prior: BDeu | K2
    seed: int

    kinds = frozenset({"discrete"})
    """Discrete columns."""

    @property
    def is_equivalent(self) -> bool:
        """Whether I-equivalent structures have equal scores."""
        return self.prior.is_equivalent

    def shares(self) -> Floats:
        """The share of each held-out part."""
        raise NotImplementedError

    def family(self, child: int, parents: tuple[int, ...], columns: Columns) -> float:
        """The score of one family."""
        key, size = columns.keys(child, parents)
        r = int(columns.cards[child])
        q = np.prod(columns.cards[list(parents)], dtype=np.float64)
        a = float(self.prior.pseudo_count(np.atleast_1d(q), r)[0])
        used = key != SKIPPED
        whole_table = np.bincount(key[used], columns.weights[used], size * r).reshape(size, r)
        found = 0.0
        for part in self.held_out(columns):
            held = np.bincount(key[used], part[used], size * r).reshape(size, r)
            rest = whole_table - held
            found += float((held * np.log((rest + a) / (rest.sum(1, keepdims=True) + r * a))).sum())
        return found

    def held_out(self, columns: Columns) -> Floats:
        """The weight of each row in each held-out part; copies of a row are dealt like rows."""
        kept = _PARTS.setdefault(columns, {})
        if self not in kept:
            parts = np.zeros((len(self.shares()), columns.num_rows))
            parts[:, columns.cases.places] = _dealt(columns.cases.weights, self.shares(), self.seed)
            kept[self] = parts
        return kept[self]


def _dealt(weights: Floats, shares: Floats, seed: int) -> Floats:
    rng = np.random.default_rng(seed)
    if np.array_equal(weights, np.rint(weights)):
        owners = np.repeat(np.arange(len(weights)), weights.astype(np.int64))
        sizes = np.rint(np.cumsum(shares) * len(owners)).astype(np.int64)
        mixed = rng.permutation(owners)
        parts = np.split(mixed, sizes)[: len(shares)]
        return np.array([np.bincount(part, minlength=len(weights)) for part in parts], dtype=np.float64)
    places = np.searchsorted(np.cumsum(shares), rng.permutation(len(weights)) / len(weights), side="right")
    return np.array([np.where(places == k, weights, 0.0) for k in range(len(shares))])


@dataclass(frozen=True, slots=True)
class Holdout(_HeldOut):
    r"""The log-likelihood of held-out rows, with parameters from the others.

    Args:
        share: of the rows that are held out.
        prior: `BDeu` or `K2`, of the parameters.
        seed: of the choice of rows.

    Reference: Koller & Friedman, box 16.A.
    Guarantee: exact for the rows held out; an estimate of the expected log-likelihood.
    Tested by: learning/structure/scores/test_heldout.py::test_held_out_rows_by_hand

    >>> Holdout(0.25).family(0, (), Columns.of({"a": [0, 1] * 8})) < 0
    True
    """

    share: float = 0.3
    prior: BDeu | K2 = field(default_factory=lambda: BDeu(1.0))
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        fraction("Holdout(share=)", self.share)

    def shares(self) -> Floats:
        """One part."""
        return np.array([self.share])


@dataclass(frozen=True, slots=True)
class CrossValidated(_HeldOut):
    r"""The log-likelihood of every row, with parameters from the parts that it is not in.

    Args:
        parts: the number of parts.
        prior: `BDeu` or `K2`, of the parameters.
        seed: of the choice of rows.

    Reference: Koller & Friedman, box 16.A.
    Guarantee: exact for this division of the rows.
    Tested by: learning/structure/scores/test_heldout.py::test_held_out_rows_by_hand

    >>> CrossValidated(4).family(0, (), Columns.of({"a": [0, 1] * 8})) < 0
    True
    """

    parts: int = 10
    prior: BDeu | K2 = field(default_factory=lambda: BDeu(1.0))
    seed: int = field(default=0, kw_only=True)

    def __post_init__(self) -> None:
        whole("CrossValidated(parts=)", self.parts, least=2)

    def shares(self) -> Floats:
        """Parts of equal size."""
        return np.full(self.parts, 1 / self.parts)
