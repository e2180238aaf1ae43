r"""Parameters made of multinomials: cells with probabilities, in groups that each sum to one.

Tables, trees, rules and partitions have the likelihood $\prod_c \theta_c^{M[c]}$ over cells $c$, so their statistics
are the counts $M[c]$ and their estimates are ratios of counts. In logits $\lambda$ of the cells of a group,

$$\theta_c = \frac{e^{\lambda_c}}{\sum_{c'} n_{c'} e^{\lambda_{c'}}}, \qquad
\frac{\partial \ell}{\partial \lambda_c} = M[c] - n_c \theta_c \sum_{c'} M[c'],$$

with $n_c$ the number of the child's states that cell $c$ stands for.

Reference: Koller & Friedman, sections 17.2.3, 17.4.2 and 17.5.2, and lemma 19.1.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.cpds.counts import (
    FLAT_PRIOR,
    NO_PRIOR,
    Contexts,
    checked_counts,
    checked_weights,
    column,
    count,
    decode,
    expected_log,
    num_rows_of,
    summed,
    unseen_message,
)
from sepset.cpds.dirichletposterior import DirichletPosterior
from sepset.cpds.discrete import DiscreteCPD, check_rows
from sepset.cpds.jointstates import LARGEST, D, DiscreteParameters, EngineValues, dense_values
from sepset.cpds.parameters import PriorTerm, Varied, complete_rows
from sepset.cpds.priors.dirichlet import K2, CellPrior, Dirichlet, DirichletMixture, FamilyPrior
from sepset.errors import DataError, NotApplicable
from sepset.factors.algebra import Columns, num_entries
from sepset.factors.labels import name_of

LOWEST = -69.0
"""Logits this far below the largest of their group, a probability of about 1e-30, count as probability zero."""


def logits(probabilities: Floats) -> Floats:
    """Logits of probabilities; those of zeros are low enough to stay zero.

    >>> logits(np.array([1.0, 0.0])).tolist()
    [0.0, -138.0]
    """
    return np.log(probabilities, out=np.full(np.shape(probabilities), 2.0 * LOWEST), where=probabilities > 0.0)


def from_logits(rows: Floats) -> Floats:
    """Rows of probabilities with these logits; those far below the largest are zero.

    >>> from_logits(np.array([[0.0, 0.0, -100.0]])).tolist()
    [[0.5, 0.5, 0.0]]
    """
    below = rows - rows.max(axis=1, keepdims=True)
    weights = np.where(below > LOWEST, np.exp(below), 0.0)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False, repr=False)
class Multinomials(DiscreteParameters[D, Floats]):
    """The probabilities of cells in groups that each sum to one.

    A subclass defines its cells, the cell of each row of codes, and the probabilities estimated from counts.

    Attributes:
        cell_of: the cell of each joint state in C order of the scope, if it was computed before.
        entry_cells: for each of the CPD's own factors the cell that each entry is the probability of, or -1; None if
            the table is used, since it is not too large.
    """

    cell_of: Ints | None = None
    entry_cells: tuple[Ints, ...] | None = None

    @property
    @abstractmethod
    def probabilities(self) -> Floats:
        r"""The probabilities $\theta_c$, flat."""

    @property
    @abstractmethod
    def groups(self) -> Ints:
        """Which multinomial each cell belongs to."""

    @property
    @abstractmethod
    def sizes(self) -> Floats:
        """The number of joint states of parents and child that each cell stands for."""

    @property
    @abstractmethod
    def child_states(self) -> Bools:
        """Which of the child's states each cell stands for, `[cells, states]`."""

    @abstractmethod
    def cells(self, codes: Columns) -> Ints:
        """The cell of each row."""

    @abstractmethod
    def ratios(self, counts: Floats) -> Floats:
        """The maximum likelihood probabilities, flat; groups without any count are uniform."""

    @abstractmethod
    def from_probabilities(self, probabilities: Floats) -> D:
        """The CPD of the same form with these probabilities, flat, which are not checked."""

    @property
    def multiplicities(self) -> Floats:
        """The number of states of the child that each cell stands for; times its probability it sums to one."""
        return np.ones(len(self.probabilities))

    @property
    def key(self) -> Hashable:
        """The kind, the domains and the number of cells."""
        return *super().key, len(self.probabilities)  # type: ignore[misc]  # a tuple

    @property
    def is_default(self) -> bool:
        """Whether every distribution is uniform."""
        off = np.abs(self.probabilities - 1.0 / self.cpd.child.num_states)
        return bool(off.max(initial=0.0) <= 1e-12)

    def random(self, rng: np.random.Generator, *, interior: bool = False) -> D:
        """The CPD with every distribution drawn uniformly from its simplex, or from its interior."""
        num = len(self.probabilities)
        drawn = rng.gamma(2.0, size=num) + 0.05 if interior else rng.exponential(size=num) + 1e-9
        return self.from_probabilities(self.ratios(drawn * self.multiplicities if interior else drawn))

    def statistics(self, columns: Columns, weights: Floats | None = None) -> Floats:
        """The (weighted) counts of the cells, flat; additive."""
        cells = self.cells(columns)
        return count(cells, len(self.probabilities), checked_weights(weights, len(cells), self.cpd))

    def log_likelihood(self, stats: Floats, *, has_rows: bool = False) -> float:
        r"""$\sum_c M[c] \log \theta_c$."""
        return expected_log(self.probabilities, stats)

    @property
    def is_exact(self) -> bool:
        """True: estimates are ratios of counts."""
        return True

    def takes(self, prior: object) -> bool:
        """Whether a prior gives pseudo-counts of cells."""
        return isinstance(prior, CellPrior | FamilyPrior | DirichletMixture)

    def pseudo_counts(self, prior: object, cpds: Sequence[D]) -> Floats:
        """The pseudo-counts that a prior gives the cells of a block, flat."""
        if isinstance(prior, FamilyPrior):
            return np.asarray(prior.hyperparameters(cpds), dtype=np.float64).reshape(-1)
        if isinstance(prior, CellPrior):
            return self._spread(prior).reshape(-1)
        raise NotApplicable(f"{name_of(self.cpd)} takes a Dirichlet prior or None; found {prior!r}.")

    def _spread(self, prior: CellPrior) -> Floats:
        """Pseudo-counts: one for all cells, one per cell, or those of the child's states that a cell stands for."""
        num_cells, num_states = len(self.probabilities), self.cpd.child.num_states
        if isinstance(prior, Dirichlet) and prior.alpha.size == num_cells != num_states:
            return prior.alpha
        if isinstance(prior, K2) or (isinstance(prior, Dirichlet) and prior.alpha.size == 1):
            return prior.pseudo_counts((1, num_cells))
        try:
            groups = self.groups
        except NotApplicable:  # contexts that overlap have no rows of their own, so one row is used for all
            groups = np.zeros(num_cells, np.int64)
        rows = prior.pseudo_counts((int(groups.max()) + 1, num_states))
        return np.asarray((rows[groups] * self.child_states).sum(axis=1))

    def prior_term(self, prior: object, cpds: Sequence[D], *, is_theta: bool = False) -> PriorTerm:
        r"""The pseudo-counts $\alpha$, or $\alpha - 1$ if the mode is taken in the probabilities themselves."""
        return PriorTerm(counts=exponents(self.pseudo_counts(prior, cpds), is_theta, self.cpd))

    def maximized(
        self, stats: Floats, prior: PriorTerm | None = None, *, unseen: object = "uniform", cpds: Sequence[D] = ()
    ) -> D:
        r"""The estimate $\theta_c = (M[c] + \alpha_c) / n_c (M + \alpha)$, with the sums $M + \alpha$ of its group."""
        counts = checked_counts(stats, len(self.probabilities), self.cpd)
        total = counts if prior is None or prior.counts is None else counts + prior.counts
        return self.from_probabilities(self.ratios(self._filled(total, unseen, cpds or [self.cpd], prior is not None)))

    def _filled(self, counts: Floats, unseen: object, cpds: Sequence[D], has_prior: bool) -> Floats:
        """The counts, with contexts without any filled as `unseen` says."""
        empty = np.bincount(self.groups, weights=counts) == 0
        policy = unseen if isinstance(unseen, str) else ""
        if policy == "uniform" or not empty.any():
            return counts
        if policy == "raise":
            remedy = FLAT_PRIOR if has_prior else NO_PRIOR
            raise DataError(unseen_message(self.cpd, np.flatnonzero(empty), len(empty), self.describe_context, remedy))
        return np.where(empty[self.groups], self._filling(counts, unseen, cpds), counts)

    def _filling(self, counts: Floats, unseen: object, cpds: Sequence[D]) -> Floats:
        if not isinstance(unseen, str):
            return self.pseudo_counts(unseen, cpds)
        if unseen == "keep":
            return np.asarray(self.probabilities * self.multiplicities)
        if unseen != "marginal":
            return self.pseudo_counts(unseen, cpds)
        states = self.child_states
        if (states.sum(axis=1) > 1).any():
            raise NotApplicable(
                f"{name_of(self.cpd)} has cells of several states; there unseen= is 'uniform' or a prior."
            )
        marginal = counts @ states
        if not marginal.any():
            raise DataError(
                f"{name_of(self.cpd)} has no data at all, so the child's marginal is unknown. Use unseen='uniform'."
            )
        return np.asarray(marginal[states.argmax(axis=1)])

    def settled(
        self,
        stats: Floats,
        prior: PriorTerm | None = None,
        *,
        cpds: Sequence[D] = (),
        rows: tuple[Columns, Floats | None] | None = None,
        floor: float | None = None,
        min_variance: float | None = None,
    ) -> D:
        """This estimate with every probability raised to at least `floor`, if given."""
        if floor is None:
            return self.cpd
        return self.from_probabilities(self.ratios(np.maximum(self.probabilities, floor) * self.multiplicities))

    @property
    def is_conjugate(self) -> bool:
        """True: Dirichlet priors are conjugate."""
        return True

    def posterior(self, prior: object, cpds: Sequence[D], stats: Floats) -> DirichletPosterior:
        """A Dirichlet distribution, or a mixture of them, in every context."""
        if not isinstance(prior, DirichletMixture):
            return DirichletPosterior(tuple(cpds), np.ones(1), self.pseudo_counts(prior, cpds)[None], stats)
        alphas = np.stack([self.pseudo_counts(component, cpds) for component in prior.components])
        return DirichletPosterior(tuple(cpds), prior.weights, alphas, stats)

    def contexts(self, stats: Floats) -> Contexts | None:
        """The number of rows in each group, and of cells without any; None if contexts overlap."""
        try:
            groups = self.groups
        except NotApplicable:
            return None
        sums = np.asarray(np.bincount(groups, weights=stats), dtype=np.float64)
        return Contexts(sums, int(((stats == 0) & (sums[groups] > 0)).sum()))

    def for_rows(self, columns: Columns) -> Self:
        """The same parameters, with the cell of each joint state, or of each entry of its factors, computed once."""
        if self.is_table:
            return super().for_rows(columns)
        if self.is_factored:
            return replace(self, entry_cells=self._marked())
        return replace(super().for_rows(columns), cell_of=self._cell_of)

    @property
    def is_factored(self) -> bool:
        """Whether cells are counted by the CPD's own factors, since its joint states are too many to be listed."""
        return not self.is_table and self.cpd.size <= LARGEST < num_entries(self.cpd.scope)

    def cell_sums(self, arrays: Sequence[Floats]) -> Floats:
        """The sums over all entries that are one cell, of arrays that are shaped like the CPD's factors."""
        if self.entry_cells is None and self.cpd.size == num_entries(self.cpd.scope):
            return np.asarray(summed(self._cell_of, len(self.probabilities), arrays[0].reshape(-1)))
        known = self._marked() if self.entry_cells is None else self.entry_cells
        pairs = [(cells[cells >= 0], one[cells >= 0]) for cells, one in zip(known, arrays, strict=True)]
        places, weights = (np.concatenate(parts) for parts in zip(*pairs, strict=True))
        return np.asarray(summed(places, len(self.probabilities), weights))

    def _marked(self) -> tuple[Ints, ...]:
        """The cells of the entries of the CPD's factors, found by marking each cell with a number above one."""
        marked = dense_values(self.from_probabilities(np.arange(2.0, len(self.probabilities) + 2.0)))
        arrays = map(np.asarray, marked)
        return tuple(np.where(values >= 2.0, values - 2.0, -1.0).astype(np.int64) for values in arrays)

    @property
    def engine_form(self) -> DiscreteCPD:
        """The table of the CPD, or the CPD itself if that is too large; marginals contain all statistics."""
        return self.cpd if self.entry_cells is not None else super().engine_form

    @property
    def _cell_of(self) -> Ints:
        if self.cell_of is not None:
            return self.cell_of
        return self.cells(decode(np.arange(num_entries(self.cpd.scope)), self.cpd.scope))

    @property
    def zero(self) -> Floats:
        """Zeros, one per cell."""
        return np.zeros(len(self.probabilities))

    @property
    def engine_values(self) -> EngineValues:
        """The table, or the CPD's own factors."""
        if self.entry_cells is not None:
            return dense_values(self.cpd)
        return (self.probabilities[self._cell_of].reshape([v.num_states for v in self.cpd.scope]),)

    def expected(self, marginals: Sequence[Floats]) -> Floats:
        """The expected counts of the cells."""
        if self.entry_cells is not None:
            return self.cell_sums(marginals)
        return count(self._cell_of, len(self.probabilities), marginals[0].reshape(-1))

    def tally(self, columns: Columns, weights: Floats) -> Floats:
        """The counts of the cells."""
        return self.statistics(columns, weights)

    def score(self, stats: Floats) -> float:
        r"""$\sum_c \bar M[c] \log \theta_c$."""
        return expected_log(self.probabilities, stats)

    def estimate(self, stats: Floats, prior: PriorTerm | None = None) -> D:
        """Ratios of counts; contexts without any are uniform."""
        return self.from_probabilities(self.ratios(self.joined(stats, prior)))

    def expected_contexts(self, stats: Floats) -> Contexts | None:
        """The expected number of rows in each group, and of cells without any."""
        return self.contexts(stats)

    def start(
        self, columns: Columns, weights: Floats | None, rng: np.random.Generator, prior: PriorTerm | None = None
    ) -> D:
        """The estimate from complete rows, with a random pseudo-count in every cell."""
        rows, share = complete_rows(columns, weights, self.cpd.scope)
        noise = rng.uniform(0.5, 1.5, len(self.probabilities))
        return self.from_probabilities(self.ratios(self.statistics(rows, share) + noise))

    def group_sums(self, values: Floats) -> Floats:
        """For each cell, the sum of `values` over the cells of its group."""
        groups = self.groups
        return np.asarray(np.bincount(groups, weights=values)[groups], dtype=np.float64)

    @property
    def coordinates(self) -> Floats:
        """The logits of the cells."""
        return logits(self.probabilities)

    def at(self, coordinates: Floats) -> D:
        """The CPD with these logits."""
        groups = self.groups
        top = np.full(int(groups.max()) + 1, -np.inf)
        np.maximum.at(top, groups, coordinates)
        below = coordinates - top[groups]
        weights = np.where(below > LOWEST, np.exp(below), 0.0)
        return self.from_probabilities(np.asarray(weights / self.group_sums(self.multiplicities * weights)))

    def score_slope(self, stats: Floats) -> Floats:
        """Counts minus expected counts."""
        return np.asarray(stats - self.multiplicities * self.probabilities * self.group_sums(stats))

    def information(self, stats: Floats) -> Floats:
        """The variances of the counts."""
        share = self.multiplicities * self.probabilities
        return np.asarray(share * (1.0 - share) * self.group_sums(stats))

    @property
    def written(self) -> Floats:
        """The probabilities of the cells."""
        return self.probabilities

    @property
    def are_probabilities(self) -> bool:
        """True: `written` holds the probabilities of the cells."""
        return True

    @property
    def _free(self) -> tuple[Ints, Ints, Floats]:
        """The free cells, the cell of each one's group that compensates for a change, and its rate of change."""
        groups, share = self.groups, self.multiplicities
        last = np.zeros(int(groups.max(initial=-1)) + 1, np.int64)
        last[groups] = np.arange(len(groups))
        free = np.flatnonzero(last[groups] != np.arange(len(groups)))
        other = last[groups[free]]
        return free, other, np.asarray(share[free] / share[other])

    @property
    def names(self) -> tuple[str, ...]:
        """Each free cell as a conditional probability."""
        return tuple(map(self._name, self._free[0].tolist()))

    def _name(self, cell: int) -> str:
        child = self.cpd.child
        state = child.states[int(np.argmax(self.child_states[cell]))]
        context = self.describe_context(int(self.groups[cell])).strip("()") if self.cpd.parents else ""
        return f"P({child.name}={state!r}{' | ' if context else ''}{context})"

    @property
    def values(self) -> Floats:
        """The probabilities of the free cells."""
        return np.asarray(self.probabilities[self._free[0]])

    def moved(self, step: Floats) -> D | None:
        """The CPD with the free cells changed by a step, others compensating; None if a cell would leave [0, 1]."""
        free, other, rate = self._free
        new = self.probabilities.copy()
        new[free] += step
        np.subtract.at(new, other, rate * step)
        return None if (new < 0).any() else self.from_probabilities(new)

    def table_slope(self, slope: Floats) -> Floats:
        """The gradient with respect to the free cells, others compensating."""
        total = slope if self.is_table else count(self._cell_of, len(self.probabilities), slope)
        free, other, rate = self._free
        return np.asarray(total[free] - rate * total[other])


@dataclass(frozen=True, eq=False, repr=False)
class Rows(Multinomials[D]):
    """Rows of probabilities, one per context, with a cell for each state of the child."""

    @property
    @abstractmethod
    def rows(self) -> Floats:
        """The probabilities, `[contexts, states]`."""

    @property
    @abstractmethod
    def context_sizes(self) -> Floats:
        """The number of joint states of the parents that each context stands for."""

    @abstractmethod
    def from_rows(self, rows: Floats) -> D:
        """The CPD of the same form with these rows, which are not checked."""

    @property
    def arrays(self) -> dict[str, Floats]:
        """The rows."""
        return {"rows": self.rows}

    def check_arrays(self, arrays: Mapping[str, Floats], tolerance: float) -> None:
        """Raise unless the rows are distributions."""
        check_rows(arrays["rows"], self.cpd, self.describe_context, tolerance)

    def from_arrays(self, arrays: Mapping[str, Floats]) -> D:
        """The CPD with these rows."""
        return self.from_rows(arrays["rows"])

    @property
    def probabilities(self) -> Floats:
        """The rows, one after the other."""
        return self.rows.reshape(-1)

    @property
    def groups(self) -> Ints:
        """The row of each cell."""
        rows = self.rows
        return np.repeat(np.arange(len(rows)), rows.shape[1])

    @property
    def sizes(self) -> Floats:
        """The number of joint states of parents and child that each cell stands for."""
        return np.repeat(self.context_sizes, self.rows.shape[1])

    @property
    def child_states(self) -> Bools:
        """The states in order, for each row."""
        return np.tile(np.eye(self.rows.shape[1], dtype=np.bool_), (len(self.rows), 1))

    def cells(self, codes: Columns) -> Ints:
        """The context of each row of codes, and in it the child's state."""
        num_rows = num_rows_of(codes, self.cpd.child, self.cpd)
        _, context = self.cpd._select(codes, num_rows)
        places: Ints = context * self.cpd.child.num_states + column(codes, self.cpd.child, num_rows, self.cpd)
        return places

    def ratios(self, counts: Floats) -> Floats:
        """The counts divided by the sums of their rows; rows without any are uniform."""
        rows = counts.reshape(-1, self.cpd.child.num_states)
        sums = rows.sum(axis=1, keepdims=True)
        uniform = np.full_like(rows, 1.0 / self.cpd.child.num_states)
        found: Floats = np.divide(rows, sums, out=uniform, where=sums > 0)
        return found.reshape(-1)

    def from_probabilities(self, probabilities: Floats) -> D:
        """The CPD with these rows."""
        return self.from_rows(probabilities.reshape(-1, self.cpd.child.num_states))

    @property
    def varied(self) -> Varied:
        """The rows themselves."""
        return Varied(self.rows, np.arange(self.rows.shape[1]))

    def varied_slopes(self, slopes: Sequence[Floats]) -> Floats:
        """The sums of the derivatives over all entries that are one cell."""
        return self.cell_sums(slopes).reshape(self.rows.shape)

    def varied_context(self, row: int) -> dict[str, Any]:
        """Nothing: a context is a set of joint states."""
        return {}

    def group_sums(self, values: Floats) -> Floats:
        """For each cell, the sum of its row."""
        rows = values.reshape(self.rows.shape)
        return np.broadcast_to(rows.sum(axis=1, keepdims=True), rows.shape).reshape(-1)

    def at(self, coordinates: Floats) -> D:
        """The CPD with these logits."""
        return self.from_rows(from_logits(coordinates.reshape(self.rows.shape)))


def exponents(alpha: Floats, is_theta: bool, cpd: object) -> Floats:
    """The exponents of the probabilities in the density whose mode is sought, for pseudo-counts `alpha`."""
    if is_theta and (alpha < 1).any():
        raise NotApplicable(
            f"{name_of(cpd)}: with pseudo-counts below one ({float(alpha.min()):g}) the density is unbounded at the "
            "border, "
            "so with parameterization='theta' it has no mode. Use parameterization='softmax', larger pseudo-counts, or "
            "Bayes."
        )
    return alpha - 1.0 if is_theta else alpha
