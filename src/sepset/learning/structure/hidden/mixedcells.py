r"""The rows that structural EM expects where some columns are numbers: completions of states, moments of numbers.

Given the states $\mathbf d$ of a row, its numbers are Gaussian with a mean and a covariance that follow from the
regressions. A row is replaced by its completions of missing states, with their posterior probabilities as weights; its
missing numbers by their conditional means, and the conditional covariance is kept with them:

$$P(\mathbf d_h \mid \mathbf d_o, \mathbf x_o) \propto P(\mathbf d) \, \mathcal N(\mathbf x_o; \mu_o, \Sigma_{oo}),
\qquad E[\mathbf x \mathbf x^\top] = \bar{\mathbf x} \bar{\mathbf x}^\top + \text{Cov}(\mathbf x \mid \mathbf x_o,
\mathbf d).$$
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import AnyArray, Bools, Floats, Ints
from sepset.base.frozen import fill
from sepset.base.lazy import lazy
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.data.dataset import Dataset
from sepset.data.scatter import Scatters
from sepset.engine.bound import Bound
from sepset.inference.capabilities import list_rows
from sepset.inference.evidencerows import EvidenceRows, Workers
from sepset.learning.structure.columns import Columns, RealMoments
from sepset.learning.structure.hidden.missingcells import MOST_STATES, NEGLIGIBLE
from sepset.models.bayesnet import BayesNet


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


class ExpectedColumns(Columns, inner=True):
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
    engine = Bound(_from_origins(columns, model))
    place = {engine.model.variables.id(name): k for k, name in enumerate(columns.names)}
    found = list_rows(engine.prepared, _evidence(columns, place), MOST_STATES, Workers())
    kept = np.flatnonzero(found.chances > NEGLIGIBLE)
    named: dict[str, AnyArray] = {}
    for i, v in enumerate(found.rows.positions):
        named[columns.names[place[v]]] = found.rows.codes[kept, i]
    reals = [place[v] for v in found.rows.real_positions]
    for i, k in enumerate(reals):
        named[columns.names[k]] = found.rows.reals[kept, i] + columns.origins[k]
    weights = np.asarray(columns.weights, np.float64)[found.owner[kept]] * found.chances[kept]
    some = np.flatnonzero(found.kinds[kept] >= 0)
    covariances = np.zeros((len(columns), len(columns), len(found.covariances)))
    covariances[np.ix_(reals, reals)] = np.moveaxis(found.covariances, 0, 2)
    spread = Spread(some, found.kinds[kept][some], covariances)
    return ExpectedColumns(Dataset.from_codes(columns.variables, named, weights=weights), spread)


def _from_origins(columns: Columns, model: BayesNet) -> BayesNet:
    """The network of numbers that are counted from the origins of their columns, which keeps their digits."""
    origin = dict(zip(columns.names, columns.origins.tolist(), strict=True))
    moved = []
    for name in itertools.compress(columns.names, columns.is_real):
        cpd = model.cpd(name, kind=LinearGaussian)
        start = cpd.coefficients @ np.array([origin[v.name] for v in cpd.given]) - origin[name]
        moved.append(cpd.with_parameters(cpd.intercept + start, cpd.coefficients, covariance=cpd.covariance))
    return model.with_cpds(*moved)


def _evidence(columns: Columns, place: Mapping[int, int]) -> EvidenceRows:
    """The rows as evidence about the variables of a network, by the column of each."""
    states, reals = ([v for v, k in place.items() if columns.is_real[k] == is_real] for is_real in (False, True))
    codes, values = columns.codes[[place[v] for v in states]], columns.values[[place[v] for v in reals]]
    return EvidenceRows(tuple(states), np.ascontiguousarray(codes.T, np.int32), tuple(reals), values.T.copy())
