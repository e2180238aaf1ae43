r"""The rows that structural EM expects where some columns are numbers: completions of states, moments of numbers.

Given the states $\mathbf d$ of a row, its numbers are Gaussian with a mean and a covariance that follow from the
regressions. A row is replaced by its completions of missing states, with their posterior probabilities as weights; its
missing numbers by their conditional means, and the conditional covariance is kept with them:

$$P(\mathbf d_h \mid \mathbf d_o, \mathbf x_o) \propto P(\mathbf d) \, \mathcal N(\mathbf x_o; \mu_o, \Sigma_{oo}),
\qquad E[\mathbf x \mathbf x^\top] = \bar{\mathbf x} \bar{\mathbf x}^\top + \text{Cov}(\mathbf x \mid \mathbf x_o,
\mathbf d).$$
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import AnyInts, Bools, Floats, Ints
from sepset.base.frozen import fill
from sepset.base.lazy import lazy
from sepset.base.logarithms import LOG_2PI
from sepset.base.text import listing
from sepset.base.threads import require_time
from sepset.data.dataset import Dataset
from sepset.data.duplicates import group_rows
from sepset.data.missingness import patterns_of
from sepset.data.scatter import Scatters
from sepset.errors import NotApplicable
from sepset.factors.canonical import Cholesky
from sepset.learning.structure.columns import Columns, RealMoments
from sepset.learning.structure.hidden.missingcells import MOST_STATES, NEGLIGIBLE
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete


class Spread(NamedTuple):
    """The covariances of missing numbers given the rest of their rows.

    Attributes:
        rows: the expected rows with missing numbers.
        kinds: the covariance of each of them.
        covariances: of each two columns, one for each kind of row; zero where a number is observed.
    """

    rows: Ints
    kinds: Ints
    covariances: Floats


class ExpectedColumns(Columns):
    """Completed rows with fractional weights, in which missing numbers have a mean and a covariance.

    Args:
        dataset: the completed rows.
        spread: the covariances of missing numbers.
    """

    spread: Spread

    def __init__(self, dataset: Dataset, spread: Spread) -> None:
        super().__init__(dataset)
        fill(self, spread=spread)

    @property
    def is_expected(self) -> bool:
        """True: weights are probabilities, and so say more about how many rows there are than their number."""
        return True

    def moments(self, child: int | None = None) -> RealMoments:
        """The expected moments of all real columns."""
        known = super().moments(child)
        added = self.added_scatter(np.zeros(self.num_rows, np.int64), 1, list(range(len(self))))[0]
        return known._replace(scatter=known.scatter + added)

    def added_scatter(self, places: Ints, size: int, chosen: Sequence[int]) -> Floats:
        """The sums of the covariances of some columns over the rows of each context.

        Args:
            places: the context of each row.
            size: the number of contexts.
            chosen: the columns.
        """
        rows, kinds, covariances = self.spread
        found = np.zeros((size, len(chosen), len(chosen)))
        at, mass = places[rows], self.weights[rows]
        for i, j in combinations_with_replacement(range(len(chosen)), 2):
            if self.is_uncertain[chosen[i]] and self.is_uncertain[chosen[j]]:
                own = covariances[chosen[i], chosen[j]][kinds]
                found[:, i, j] = found[:, j, i] = np.bincount(at, mass * own, size)
        return found

    @lazy
    def is_uncertain(self) -> Bools:
        """Which columns have missing numbers."""
        return np.asarray(np.einsum("iik->ik", self.spread.covariances).any(axis=1))

    def scatters(self, child: int, given: Sequence[int], by: Sequence[int]) -> Scatters:
        """The expected statistics of a regression, in the units of the columns: one for each joint state of `by`."""
        place, size = np.zeros(self.num_rows, np.int64), 1
        for column in by:
            place, size = place * int(self.cards[column]) + self.codes[column], size * int(self.cards[column])
        chosen = [*given, child]
        known = Scatters.of(self.values[chosen].T, place, size, np.asarray(self.weights, np.float64))
        means = known.means + np.where(known.counts[:, None] > 0, self.origins[chosen], 0.0)
        return Scatters(known.counts, means, known.products + self.added_scatter(place, size, chosen))


def expected_columns(columns: Columns, model: BayesNet) -> ExpectedColumns:
    """The rows that a network expects: every completion of missing states, with moments of missing numbers.

    Args:
        columns: the rows; a row may have up to 4,096 joint states of its missing cells.
        model: the network, of tables and linear Gaussians.

    Guarantee: exact.
    Tested by: learning/structure/hidden/test_mixedcells.py::test_expected_statistics_by_enumeration
    """
    rows, codes = _completed(columns)
    logs = _log_tables(columns, model, codes)
    numbers = _Numbers.of(columns, model)
    values, kinds, covariances = columns.values[:, rows].copy(), np.full(len(rows), -1, np.int64), list[Floats]()
    for places, kind in numbers.groups(columns, codes, rows):
        require_time()
        density, filled = kind.completed(values[:, places])
        logs[places] += density
        values[:, places] = filled
        if kind.missing.any():
            kinds[places] = len(covariances)
            covariances.append(kind.covariance)
    starts = np.flatnonzero(np.diff(rows, prepend=-1))
    logs -= np.maximum.reduceat(logs, starts)[rows]
    chances = np.exp(logs)
    chances /= np.add.reduceat(chances, starts)[rows]
    kept = np.flatnonzero(chances > NEGLIGIBLE)
    weights = np.asarray(columns.weights, np.float64)[rows[kept]] * chances[kept]
    raw = values[:, kept] + columns.origins[:, None]
    named = {v.name: raw[k] if columns.is_real[k] else codes[k, kept] for k, v in enumerate(columns.variables)}
    some = np.flatnonzero(kinds[kept] >= 0)
    stacked = np.array(covariances).reshape(len(covariances), len(columns), len(columns))
    spread = Spread(some, kinds[kept][some], np.ascontiguousarray(np.moveaxis(stacked, 0, 2)))
    return ExpectedColumns(Dataset.from_codes(columns.variables, named, weights=weights), spread)


def _completed(columns: Columns) -> tuple[Ints, AnyInts]:
    """All completions of the missing states of each row, in the order of the rows: the row, and the codes."""
    is_missing = (columns.codes < 0) & ~columns.is_real[:, None]
    first, which = patterns_of(is_missing.T)
    parts, owners = [], []
    for number, one in enumerate(first.tolist()):
        rows, members = np.flatnonzero(which == number), np.flatnonzero(is_missing[:, one])
        cards = columns.cards[members].tolist()
        if math.prod(cards) > MOST_STATES:
            raise NotApplicable(
                f"Row {int(rows[0])} misses {len(members)} states, which have {math.prod(cards):,} joint values; with "
                f"columns of numbers StructuralEM lists up to {MOST_STATES:,} of a row. Leave such rows or columns out."
            )
        states = np.indices(cards).reshape(len(cards), math.prod(cards))
        codes = np.repeat(columns.codes[:, rows], states.shape[1], axis=1)
        codes[members] = np.tile(states, len(rows))
        parts.append(codes)
        owners.append(np.repeat(rows, states.shape[1]))
    owner = np.concatenate(owners)
    order = np.argsort(owner, kind="stable")
    return owner[order], np.concatenate(parts, axis=1)[:, order]


def _log_tables(columns: Columns, model: BayesNet, codes: AnyInts) -> Floats:
    """The log probability of the states of each completed row."""
    place, found = {name: k for k, name in enumerate(columns.names)}, np.zeros(codes.shape[1])
    for child in np.flatnonzero(~columns.is_real).tolist():
        cpd: Any = model.cpd(columns.names[child])
        with np.errstate(divide="ignore"):
            table = np.log(np.asarray(cpd.values, np.float64))
        found += table[tuple(codes[place[v.name]] for v in (*cpd.parents, cpd.child))]
    return found


@dataclass(frozen=True)
class _Kind:
    r"""The Gaussian of all numbers in one context, of which some are missing.

    With $\Sigma_{oo} = L L^\top$, $W = L^{-1} \Sigma_{oh}$ and $\mathbf z = L^{-1}(\mathbf x_o - \mu_o)$,

    $$\log p(\mathbf x_o) = -\tfrac12 |\mathbf z|^2 - \tfrac12 \log \det 2 \pi \Sigma_{oo}, \quad
    E[\mathbf x_h] = \mu_h + W^\top \mathbf z, \quad \text{Cov}(\mathbf x_h) = \Sigma_{hh} - W^\top W.$$

    Attributes:
        missing: which columns are.
        observed: which are not, of the real ones.
        mean: of all columns.
        root: $L$.
        cross: $W$.
        log_scale: the log density at its mean.
        covariance: of what is missing, given what is observed; zero elsewhere.
    """

    missing: Bools
    observed: Ints
    mean: Floats
    root: Cholesky
    cross: Floats
    log_scale: float
    covariance: Floats

    @classmethod
    def of(cls, mean: Floats, covariance: Floats, missing: Bools, is_real: Bools) -> _Kind:
        seen, hidden = np.flatnonzero(is_real & ~missing), np.flatnonzero(missing)
        root = Cholesky.of(covariance[None, seen[:, None], seen])
        cross = root.whiten(covariance[None, seen[:, None], hidden])[0]
        left = np.zeros_like(covariance)
        left[np.ix_(hidden, hidden)] = covariance[np.ix_(hidden, hidden)] - cross.T @ cross
        log_scale = -0.5 * len(seen) * LOG_2PI - float(root.half_log_det()[0])
        return cls(missing, seen, mean, root, cross, log_scale, left)

    @property
    def has_density(self) -> bool:
        """Whether what is observed has one: no variance is zero, and no number a linear function of others."""
        return bool(self.root.definite[0])

    def completed(self, values: Floats) -> tuple[Floats, Floats]:
        """The log density of what is observed in each row, and the rows with conditional means of what is missing."""
        apart = self.root.whiten((values[self.observed] - self.mean[self.observed, None])[None])[0]
        filled = values.copy()
        filled[self.missing] = self.mean[self.missing, None] + self.cross.T @ apart
        return self.log_scale - 0.5 * (apart**2).sum(axis=0), filled


@dataclass(frozen=True)
class _Numbers:
    """The regressions of all real columns, in the units in which `Columns` keeps numbers."""

    order: tuple[int, ...]
    cpds: tuple[Any, ...]
    given: tuple[Ints, ...]
    by: tuple[tuple[int, ...], ...]
    columns: Columns

    @classmethod
    def of(cls, columns: Columns, model: BayesNet) -> _Numbers:
        place = {name: k for k, name in enumerate(columns.names)}
        order = [place[name] for name in model.dag.topological_order if columns.is_real[place[name]]]
        cpds: list[Any] = [model.cpd(columns.names[k]) for k in order]
        given = [np.array([place[v.name] for v in cpd.given], np.int64) for cpd in cpds]
        by = [tuple(place[v.name] for v in cpd.by) for cpd in cpds]
        return cls(tuple(order), tuple(cpds), tuple(given), tuple(by), columns)

    def gaussian(self, codes: AnyInts) -> tuple[Floats, Floats]:
        """The mean and the covariance of all columns, given the states of one row."""
        n, origins = len(self.columns), self.columns.origins
        mean, covariance = np.zeros(n), np.zeros((n, n))
        for child, cpd, given, by in zip(self.order, self.cpds, self.given, self.by, strict=True):
            at = 0
            for column in by:
                at = at * int(self.columns.cards[column]) + int(codes[column])
            slope = cpd.coefficients[at, 0]
            mean[child] = cpd.intercept[at, 0] - origins[child] + slope @ (mean[given] + origins[given])
            across = slope @ covariance[given]
            covariance[child], covariance[:, child] = across, across
            covariance[child, child] = cpd.covariance[at, 0, 0] + across[given] @ slope
        return mean, covariance

    def groups(self, columns: Columns, codes: AnyInts, rows: Ints) -> Iterator[tuple[Ints, _Kind]]:
        """The completed rows with the same regressions and the same missing numbers, and their Gaussian."""
        if not self.order:
            return
        by = sorted({column for several in self.by for column in several})
        missing = np.isnan(columns.values[:, rows])
        words = [*(codes[k] for k in by), *missing[list(self.order)].astype(np.int8)]
        cards = [*(int(columns.cards[k]) for k in by), *(2 for _ in self.order)]
        firsts, groups = group_rows(words, cards, len(rows))
        order = np.argsort(groups, kind="stable")
        parts = np.split(order, np.cumsum(np.bincount(groups, minlength=len(firsts)))[:-1])
        known: dict[tuple[int, ...], tuple[Floats, Floats]] = {}
        for first, places in zip(firsts.tolist(), parts, strict=True):
            context = tuple(codes[by, first].tolist())
            if context not in known:
                known[context] = self.gaussian(codes[:, first])
            kind = _Kind.of(*known[context], missing[:, first], columns.is_real)
            if not kind.has_density:
                raise _no_density(columns, kind, by, context)
            yield places, kind


def _no_density(columns: Columns, kind: _Kind, by: Sequence[int], context: Sequence[int]) -> NotApplicable:
    names = listing([columns.names[k] for k in kind.observed])
    states = ((columns.variables[k], code) for k, code in zip(by, context, strict=True))
    where = ", ".join(f"{v.name}={v.states[code]!r}" for v, code in states if isinstance(v, Discrete))
    return NotApplicable(
        f"StructuralEM reached a singular covariance: {names}{where and f' where {where}'} have no joint density. "
        "Drop a column that follows from others, or merge states with few rows."
    )
