r"""Rows of evidence about discrete variables and regressions: each row is a mixture over its hidden contexts.

$$P(\mathbf o) = \sum_{\mathbf c} P(\mathbf c, \mathbf o), \qquad
P(\mathbf c, \mathbf o) = P(\mathbf c, \mathbf o_d)\, N(\mathbf o_r; \mu_{\mathbf c}, \Sigma_{\mathbf c})$$

The first factor is a question about the discrete part of the problem, which any method can answer; the second comes
from a sweep over the regressions. If a relation has no noise, a context in which observed values follow from others
outweighs every context in which they only have a density.

Reference: Koller & Friedman, sections 14.2 and 14.3; Lauritzen (1992).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.cache import Cache
from sepset.base.lazy import lazy
from sepset.base.threads import require_time
from sepset.errors import TooLarge
from sepset.factors.regression import Regression
from sepset.inference import costs
from sepset.inference.capabilities import answer_rows, summed_marginals, with_values
from sepset.inference.completion import complete_rows, draw_rows
from sepset.inference.evidencerows import EvidenceRows, ListedRows, RowAnswers, RowValues, Workers
from sepset.inference.gaussian.conditioning import CompletedRows
from sepset.inference.gaussian.coordinates import Coordinates
from sepset.inference.gaussian.precision import NOTHING, Budget, sharp_rows
from sepset.inference.hybrid.choices import Choices, Part
from sepset.inference.hybrid.completestates import CompleteStates
from sepset.inference.hybrid.listing import completions, covariances, singular, without_density
from sepset.inference.hybrid.mixturemodes import mixture_modes
from sepset.inference.method import Prepared
from sepset.variables.universe import Universe

MOST_CONTEXTS_PER_ROW = 2**16
"""The largest number of joint contexts enumerated for one row; a row that hides more raises `TooLarge`."""


class Mixture(NamedTuple):
    """Some rows as mixtures over their hidden contexts.

    Attributes:
        part: the rows and their choices of contexts.
        completed: each choice with expectations in place of missing values.
        share: the probability of each choice given its row; zero if the row is impossible.
        log_density: the log density of each row.
        error: how far rounding may have moved each choice, relative to its numbers; empty if that was not looked into.
    """

    part: Part
    completed: CompletedRows
    share: Floats
    log_density: Floats
    error: Floats = NOTHING

    @property
    def is_possible(self) -> Bools:
        """Which rows have a positive density."""
        return self.log_density > -np.inf

    def mean(self, terms: Floats) -> Floats:
        """The expectation in each row of a quantity given for each choice, one row of terms per choice."""
        weighted = self.share.reshape(-1, *(1,) * (terms.ndim - 1)) * terms
        return np.asarray(np.add.reduceat(weighted, self.part.starts, axis=0))

    @property
    def residual(self) -> Floats:
        """How far rounding may have moved each row: its choices, or their weights."""
        own = np.maximum.reduceat(np.where(self.share > 0, self.error, 0.0), self.part.starts)
        weights = self.mean(np.expm1(np.minimum(self.completed.loss, 50.0)))
        alone = np.add.reduceat(self.share > 0, self.part.starts) <= 1
        return np.asarray(np.where(alone, own, np.maximum(own, np.minimum(weights, 1.0))))

    def drawn(self, uniform: Floats) -> Ints:
        """A choice for each row, by uniform numbers in [0, 1); never one of probability zero."""
        reached, starts = np.cumsum(self.share), self.part.starts
        before = reached[starts] - self.share[starts]
        ends = np.append(starts[1:], len(reached)) - 1
        picked = np.searchsorted(reached, before + uniform * (reached[ends] - before), side="right")
        live = np.append(-1, np.flatnonzero(self.share > 0))
        last = np.maximum(live[np.searchsorted(live, ends, side="right") - 1], starts)
        return np.asarray(np.clip(picked, starts, last), np.int64)


class Counted(NamedTuple):
    """Weighted sums over rows: marginals over the factors of the discrete part, expected products of each regression.

    Attributes:
        tables: one array per factor of the discrete part.
        moments: by the position of the child, one matrix per joint state of its discrete parents.
        log_partition: of every row.
    """

    tables: tuple[Floats, ...]
    moments: Mapping[int, Floats]
    log_partition: Floats


@dataclass(frozen=True, eq=False)
class HybridRows:
    """A problem of discrete variables and regressions, for many rows of evidence at once.

    Attributes:
        coordinates: the regressions.
        states: the positions of the discrete variables, in the order of the discrete part.
        prepared: the discrete part, prepared; None if there is none.
        log_total: the logarithm of the total weight; zero if it is one.
        tables: new values for factors of the discrete part, by their numbers there.

    Reference: Koller & Friedman 14.2; Lauritzen (1992).
    Guarantee: exact posteriors, moments, statistics, modes and draws.
    Tested by: inference/hybrid/test_rows.py::test_log_partitions_and_posteriors
    """

    coordinates: Coordinates
    states: tuple[int, ...] = ()
    prepared: Prepared | None = field(default=None, repr=False)
    log_total: float = 0.0
    tables: Mapping[int, Floats] = field(default_factory=dict, repr=False)
    _layouts: Cache[Choices] = field(default_factory=lambda: Cache(2), repr=False)
    _complete: Cache[CompleteStates | None] = field(default_factory=lambda: Cache(2), repr=False)

    @lazy
    def _place(self) -> dict[int, int]:
        return {v: i for i, v in enumerate(self.states)}

    @lazy
    def discrete(self) -> Prepared | None:
        """The discrete part with its values; None if there is none."""
        return self.prepared if self.prepared is None or not self.tables else with_values(self.prepared, self.tables)

    def with_values(self, tables: Mapping[int, Floats], regressions: Mapping[int, Regression]) -> HybridRows:
        """The same structure with new values: tables of the discrete part, already checked, and all regressions."""
        new = {**self.tables, **tables}
        return replace(self, tables=new, coordinates=self.coordinates.with_values(regressions))

    def num_choices(self, rows: EvidenceRows, targets: Sequence[int]) -> Floats:
        """The number of joint contexts enumerated for each row, with these targets."""
        return self._choices(rows, targets).numbers

    def are_many(self, rows: EvidenceRows, targets: Sequence[int]) -> Bools:
        """Which rows, with these targets, have too many joint contexts, or too many missing numbers, for a batch."""
        is_wide = self._choices(rows, targets).sizes > costs.MOST_CONTEXT_ENTRIES
        return np.asarray((self.num_choices(rows, targets) > costs.CONTEXTS_ENUMERATED_PER_ROW) | is_wide)

    def _choices(self, rows: EvidenceRows, targets: Sequence[int]) -> Choices:
        asked = tuple(t for t in targets if t in self.coordinates.place)
        wanted: tuple[int, ...] | None = tuple(t for t in targets if t in self.coordinates.families)
        if wanted is not None and len(wanted) == len(self.coordinates.families):
            wanted = None
        return self._layouts.get((rows, asked, wanted), lambda: Choices(self.coordinates, rows, wanted, asked))

    def _mixtures(self, choices: Choices, workers: Workers) -> Iterator[Mixture]:
        """The rows part by part, each row once."""
        logs, done = self._log_weights(choices.states, workers), 0
        for part in self._parts(choices):
            completed = CompletedRows.of(self.coordinates, part.groups, part.values, part.group)
            yield _mixture(part, completed, logs[part.states] + completed.log_density)
            done += len(part.rows)
            workers.report(done, len(choices.rows))

    def _sharp_mixtures(self, choices: Choices, workers: Workers) -> Iterator[Mixture]:
        """The same; where rounding may have moved numbers, they are computed again with more digits."""
        logs, done, budget = self._log_weights(choices.states, workers), 0, Budget()
        for part in self._parts(choices):
            found, error = sharp_rows(self.coordinates, part.groups, part.values, part.group, budget)
            yield _mixture(part, found, logs[part.states] + found.log_density)._replace(error=error)
            done += len(part.rows)
            workers.report(done, len(choices.rows))

    def _parts(self, choices: Choices) -> Iterable[Part]:
        return choices.parts if choices.numbers.sum() <= costs.CHOICES_CACHED else choices.each()

    def _log_weights(self, states: EvidenceRows, workers: Workers) -> Floats:
        """The log partition of the discrete part in each row of states."""
        complete = self._complete_states(states)
        if complete is not None:
            return complete.log_weights(self.tables)
        if self.discrete is None:
            return np.full(len(states), self.log_total)
        return answer_rows(self.discrete, self._inside(states), (), _quiet(workers)).log_partition

    def _summed(self, states: EvidenceRows, mass: Floats, workers: Workers) -> tuple[Floats, ...]:
        """The marginals over the factors of the discrete part, summed over the rows of states."""
        complete = self._complete_states(states)
        if complete is not None:
            return complete.summed(mass)
        if self.discrete is None:
            return ()
        return summed_marginals(self.discrete, self._inside(states), mass, _quiet(workers)).factors

    def _complete_states(self, states: EvidenceRows) -> CompleteStates | None:
        if self.prepared is None:
            return None
        problem = self.prepared.problem
        return self._complete.get(states, lambda: CompleteStates.of(problem, self._inside(states)))

    def _inside(self, states: EvidenceRows) -> EvidenceRows:
        """Evidence about the discrete part, from evidence about the problem."""
        return EvidenceRows(tuple(self._place[v] for v in states.positions), states.codes)

    def answers(self, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowAnswers:
        """The log partition of every row, and in each the posterior of every target."""
        choices = self._choices(rows, targets)
        chances = self._chances(choices.states, [t for t in targets if t in self._place], workers)
        cards = {t: chances[t].shape[1] if t in chances else 0 for t in targets}
        found, residual = RowAnswers.empty(len(rows), targets, cards), np.zeros(len(rows))
        for mixture in self._sharp_mixtures(choices, workers):
            self._read(mixture, chances, found)
            residual[mixture.part.rows] = mixture.residual
        return found._replace(residual=residual)

    def state_answers(self, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowAnswers:
        """The log partition of the discrete part in every row, and the posteriors of discrete targets."""
        if self.discrete is None:
            return RowAnswers(np.full(len(rows), self.log_total), {})
        inside, asked = self._inside(EvidenceRows(rows.positions, rows.codes)), [self._place[t] for t in targets]
        found = answer_rows(self.discrete, inside, asked, _quiet(workers))
        return RowAnswers(found.log_partition, {t: found.probabilities[self._place[t]] for t in targets})

    def _chances(self, states: EvidenceRows, targets: Sequence[int], workers: Workers) -> dict[int, Floats]:
        """The posterior of each discrete target in every row of states."""
        if self.discrete is None or not targets:
            return {}
        asked = [self._place[t] for t in targets]
        found = answer_rows(self.discrete, self._inside(states), asked, _quiet(workers)).probabilities
        return {t: found[self._place[t]] for t in targets}

    def _read(self, mixture: Mixture, chances: Mapping[int, Floats], found: RowAnswers) -> None:
        """Write the posteriors of some rows into the answers; impossible ones stay NaN."""
        part, possible = mixture.part, mixture.is_possible
        found.log_partition[part.rows] = mixture.log_density
        at = part.rows[possible]
        for target, each in chances.items():
            live = np.where(mixture.share[:, None] > 0, each[part.states], 0.0)
            found.probabilities[target][at] = mixture.mean(live)[possible]
        for target, (mean, variance) in found.moments.items():
            own, completed = self.coordinates.column(target), mixture.completed
            center = mixture.mean(completed.values[:, own])
            apart = (completed.values[:, own] - center[part.owner]) ** 2
            spread = mixture.mean(completed.spread.variances_of(own, completed.group) + apart)
            mean[at], variance[at] = center[possible], spread[possible]

    def modes(self, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> Floats:
        """The mode of each real target (columns) in each row: of a normal distribution, or of a mixture of them."""
        modes, own = np.full((len(rows), len(targets)), np.nan), [self.coordinates.column(t) for t in targets]
        for part, completed, share, *_ in self._sharp_mixtures(self._choices(rows, targets), workers):
            live = np.flatnonzero(share > 0)
            for column, place in enumerate(own):
                variance = completed.spread.variances_of(place, completed.group[live])
                found = mixture_modes(part.owner[live], share[live], completed.values[live, place], variance)
                modes[part.rows[found.owner], column] = found.value
        return modes

    def best(self, rows: EvidenceRows, workers: Workers) -> RowValues:
        """Every variable, missing cells at their jointly most probable values, and the logarithms of these maxima."""
        made, log_value = self._over(rows), np.empty(len(rows))
        choices = self._choices(rows, self.coordinates.reals)
        filled, logs = choices.states.codes, np.full(len(choices.states), self.log_total)
        if self.discrete is not None:
            (states, logs) = complete_rows(self.discrete, self._inside(choices.states), _quiet(workers))
            filled = states.codes
        for part, completed, *_ in self._sharp_mixtures(choices, workers):
            peak, exact = completed.spread.log_peaks
            log_joint = logs[part.states] + completed.log_density + peak[part.group]
            log_joint = _dominant(part, log_joint, completed.exact + exact[part.group])
            log_value[part.rows] = np.maximum.reduceat(log_joint, part.starts)
            chosen = np.flatnonzero(log_joint == log_value[part.rows][part.owner])
            chosen = chosen[np.unique(part.owner[chosen], return_index=True)[1]]
            keep = log_value[part.rows] > -np.inf
            made.reals[part.rows[keep]] = completed.values[chosen[keep]][:, self._columns]
            made.codes[part.rows[keep]] = filled[part.states[chosen[keep]], : made.codes.shape[1]]
        return RowValues(made, log_value)

    def _over(self, rows: EvidenceRows) -> EvidenceRows:
        """The rows with a column for every variable: the discrete ones of the model, and all scalar real ones."""
        visible = 0 if self.discrete is None else self.discrete.problem.num_visible
        return rows.over(self.states[:visible], self.coordinates.reals)

    def _is_scalar(self, position: int) -> bool:
        family = self.coordinates.families.get(position)
        return family is not None and len(family.own) == 1

    @lazy
    def _columns(self) -> list[int]:
        return [self.coordinates.column(v) for v in self.coordinates.reals]

    def draws(
        self, rows: EvidenceRows, targets: Sequence[int], rng: np.random.Generator, workers: Workers
    ) -> RowValues:
        """The targets, missing cells drawn jointly, and the log partitions."""
        made, log_partition, picked = self._over(rows), np.empty(len(rows)), np.empty(len(rows), np.int64)
        choices = self._choices(rows, (*targets, *self.coordinates.reals))
        for mixture in self._sharp_mixtures(choices, workers):
            part, keep = mixture.part, mixture.is_possible
            log_partition[part.rows] = mixture.log_density
            chosen = mixture.drawn(rng.random(len(part.rows)))
            picked[part.rows] = part.states[chosen]
            made.reals[part.rows[keep]] = mixture.completed.drawn(chosen[keep], rng)[:, self._columns]
        discrete = [t for t in targets if t in self._place]
        if self.discrete is not None and discrete:
            possible, asked = np.flatnonzero(log_partition > -np.inf), [self._place[t] for t in discrete]
            given = self._inside(choices.states.take(picked[possible]))
            drawn = draw_rows(self.discrete, given, asked, rng, _quiet(workers))
            made.codes[possible[:, None], asked] = drawn.rows.codes
        return RowValues(made.over(discrete, [t for t in targets if self._is_scalar(t)]), log_partition)

    def listed(self, rows: EvidenceRows, variables: Universe, most: int, workers: Workers) -> ListedRows:
        """All completions of the missing states of every row; see `ListsRows`."""
        whole = self._over(rows)
        owner, codes = completions(whole.codes, [int(variables.cards[v]) for v in whole.positions], most)
        made = EvidenceRows(whole.positions, codes, whole.real_positions, whole.reals[owner])
        logs, kinds, reals = np.empty(len(owner)), np.full(len(owner), -1, np.int64), np.empty(made.reals.shape)
        found = [np.zeros((0, made.reals.shape[1], made.reals.shape[1]))]
        for mixture in self._mixtures(self._choices(made, self.coordinates.reals), workers):
            require_time()
            part, completed = mixture.part, mixture.completed
            bound = np.flatnonzero(np.isin(completed.group, without_density(self.coordinates, completed.spread)))
            if len(bound):
                raise singular(variables, made.take(part.rows[bound[:1]]), self.coordinates.contexts)
            logs[part.rows] = mixture.log_density
            has_gaps = np.isnan(made.reals[part.rows]).any(axis=1)
            kinds[part.rows[has_gaps]] = sum(map(len, found)) + completed.group[has_gaps]
            reals[part.rows] = completed.values[:, self._columns]
            found.append(covariances(completed.spread, self._columns))
        listed = EvidenceRows(whole.positions, codes, whole.real_positions, reals)
        return ListedRows(owner, listed, _shares(owner, logs), kinds, np.concatenate(found))

    def counts(self, rows: EvidenceRows, weights: Floats, workers: Workers) -> Counted:
        """The expected statistics of every factor, summed over the rows; impossible rows contribute nothing."""
        choices = self._choices(rows, self.coordinates.reals)
        _check_numbers(choices.numbers)
        log_partition, mass = np.empty(len(rows)), np.zeros(len(choices.states))
        moments = np.zeros(int(self.coordinates.layout[2][-1]))
        for part, completed, share, log_density, _ in self._mixtures(choices, workers):
            weight = share * weights[part.rows][part.owner]
            log_partition[part.rows] = log_density
            mass += np.bincount(part.states, weight, len(mass))
            completed.add_moments(self.coordinates, weight, moments)
        tables = self._summed(choices.states, mass, workers)
        return Counted(tables, self.coordinates.split(moments), log_partition)


def _shares(owner: Ints, logs: Floats) -> Floats:
    """The share of each completion of a row in the sum over all of them; NaN if none is possible."""
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    if not len(starts):
        return logs
    place = np.cumsum(np.diff(owner, prepend=-1) != 0) - 1
    with np.errstate(invalid="ignore"):
        chances = np.exp(logs - np.maximum.reduceat(logs, starts)[place])
        return np.asarray(chances / np.add.reduceat(chances, starts)[place])


def _quiet(workers: Workers) -> Workers:
    return Workers(workers.threads)


def _mixture(part: Part, completed: CompletedRows, log_joint: Floats) -> Mixture:
    """The probability of each choice given its row, and each row's log density."""
    logs = _dominant(part, log_joint, completed.exact)
    top = np.maximum.reduceat(logs, part.starts)
    safe = np.where(top > -np.inf, top, 0.0)
    share = np.exp(logs - safe[part.owner])
    mass = np.add.reduceat(share, part.starts)
    with np.errstate(divide="ignore"):
        log_density = safe + np.log(mass)
    return Mixture(part, completed, share / np.where(mass > 0, mass, 1.0)[part.owner], log_density)


def _dominant(part: Part, log_joint: Floats, exact: Ints) -> Floats:
    """The log densities of choices, -inf if another choice of the row has more values of probability one."""
    if not exact.any():
        return log_joint
    most = np.maximum.reduceat(np.where(log_joint > -np.inf, exact, -1), part.starts)
    return np.where(exact < most[part.owner], -np.inf, log_joint)


def _check_numbers(numbers: Floats) -> None:
    if len(numbers) and numbers.max() > MOST_CONTEXTS_PER_ROW:
        raise TooLarge(
            f"A row hides discrete variables with {numbers.max():,.0f} joint states that real variables depend on; at "
            f"most {MOST_CONTEXTS_PER_ROW:,} are enumerated. Drop such rows, or discretize the real variables."
        )
