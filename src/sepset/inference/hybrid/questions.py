r"""Single questions about networks of discrete variables and regressions, in moment form.

Each part of the network that shares no hidden number with the others (`components`) is normal in each state of its
contexts (`posteriors`); its density there is a weight of the contexts in the discrete part (`weightedcontexts`), which
any method can answer for. Real targets are Gaussians, or mixtures with one component per joint state of the contexts:

$$p(\mathbf x \mid \mathbf o) = \sum_{\mathbf c} P(\mathbf c \mid \mathbf o)\,
N(\mathbf x; \mu_{\mathbf c}, \Sigma_{\mathbf c})$$

Nothing is inverted, so that small noise keeps its digits and a relation without noise is kept.

Reference: Koller & Friedman, sections 14.2 and 14.3; Lauritzen (1992); Lauritzen & Jensen (2001).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats, Ints
from sepset.base.cache import Cache
from sepset.base.lazy import lazy
from sepset.base.membership import without
from sepset.base.text import listing
from sepset.errors import NotClosed
from sepset.factors.algebra import num_entries
from sepset.factors.canonical import Cholesky, Forms
from sepset.factors.coordinates import entries
from sepset.factors.hybrid import CanonicalTable
from sepset.factors.moments import Gaussian, GaussianMixture
from sepset.factors.table import Table
from sepset.inference import costs
from sepset.inference.gaussian.ancestry import AncestralAnswer, AncestralMarginals, Ancestry
from sepset.inference.gaussian.components import Component, components
from sepset.inference.gaussian.conditioning import FOUND
from sepset.inference.gaussian.coordinates import Coordinates
from sepset.inference.gaussian.narroworders import NarrowOrder
from sepset.inference.gaussian.widths import Widths, all_regressions, check_entries
from sepset.inference.hybrid.discretepart import DiscretePart, discrete_part
from sepset.inference.hybrid.posteriors import Posterior
from sepset.inference.hybrid.residuals import canonical_loss, residual
from sepset.inference.hybrid.weightedcontexts import WeightedContexts, Weights, weighted
from sepset.inference.hybrid.wide import WideAnswer, WideQuestions
from sepset.inference.method import (
    LARGEST_RESIDUAL,
    Answer,
    Best,
    BestStates,
    Method,
    Prepared,
    elimination_settings,
)
from sepset.inference.plan import EliminationPlan, make_plan
from sepset.inference.result import Guarantee
from sepset.problem import Problem
from sepset.variables.evidence import Evidence
from sepset.variables.variable import Discrete, Vector


class Moments(NamedTuple):
    """Real variables in every joint state of some contexts.

    Attributes:
        by: the positions of the contexts.
        log_shares: the log probability of each joint state, in C order.
        mean, covariance: of the real variables in each state.
    """

    by: tuple[int, ...]
    log_shares: Floats
    mean: Floats
    covariance: Floats


@dataclass(frozen=True, eq=False)
class Situation:
    """The parts of a network given evidence, and its discrete variables with their densities.

    Attributes:
        posteriors: one per part.
        contexts: the discrete part.
    """

    posteriors: tuple[Posterior, ...]
    contexts: WeightedContexts

    @lazy
    def home(self) -> dict[int, Posterior]:
        """The part of each hidden coordinate."""
        return {int(i): p for p in self.posteriors for i in p.component.hidden}

    def with_any(self, coordinates: Ints) -> list[Posterior]:
        """The parts in which any of these coordinates is hidden."""
        return [p for p in self.posteriors if np.isin(p.component.hidden, coordinates).any()]


@dataclass(frozen=True, eq=False)
class RegressionQuestions:
    """Answers to single questions about a problem of discrete variables and regressions.

    Attributes:
        problem: the problem.
        method: answers about its discrete part.
        regressions, states: make the regressions and the discrete part, when they are first needed.
        widths: the sizes of the parts of a question.
        prune: whether regressions that a question does not need are left out.

    Reference: Koller & Friedman 14.2, 14.3; Lauritzen (1992).
    Guarantee: exact; small noise keeps its digits.
    Tested by: inference/hybrid/test_questions.py::test_ill_conditioned_networks_meet_exact_arithmetic
    """

    problem: Problem
    method: Method
    regressions: Callable[[], Coordinates] = field(repr=False)
    states: Callable[[], DiscretePart] = field(repr=False)
    widths: Widths = field(repr=False)
    prune: bool = True
    _layouts: Cache[tuple[Component, ...]] = field(default_factory=lambda: Cache(16), repr=False)
    _situations: Cache[Situation] = field(default_factory=lambda: Cache(4), repr=False)
    _narrowed: Cache[RegressionQuestions] = field(default_factory=lambda: Cache(4), repr=False)

    @classmethod
    def of(cls, problem: Problem, method: Method, *, prune: bool = True) -> RegressionQuestions | None:
        """The questions of a problem in which each real variable has a regression and no other factor, or None."""
        if problem.variables.all_discrete or not all_regressions(problem):
            return None

        return cls(
            problem,
            method,
            lambda: Coordinates.of_regressions(problem),
            lambda: discrete_part(problem),
            Widths(problem, prune),
            prune,
        )

    @lazy
    def coordinates(self) -> Coordinates:
        """The regressions."""
        return self.regressions()

    @lazy
    def part(self) -> DiscretePart:
        """The discrete part."""
        return self.states()

    def plan(self, targets: Sequence[int], observed: Sequence[int]) -> EliminationPlan:
        """The plan of an elimination for the same question; without targets, of all variables."""
        asked = targets or without(range(len(self.problem.variables)), observed)
        relevant = self.problem.relevant(asked, observed, constants=True)
        order, _ = elimination_settings(self.method)
        return make_plan(
            self.problem, relevant, method=order, targets=targets, observed=observed, last=targets, joint=bool(targets)
        )

    def best_plan(self, over: Sequence[int], observed: Sequence[int]) -> EliminationPlan:
        """The plan of an elimination for the same maximum."""
        return self.plan(over, observed)

    @lazy
    def _base(self) -> Prepared | None:
        return None if self.part.problem is None else self.method.prepare(self.part.problem)

    def by_moments(self, targets: Sequence[int], evidence: Evidence) -> RegressionQuestions:
        """Itself: all its questions are in moment form."""
        return self

    def loss(self, targets: Sequence[int], evidence: Evidence) -> float:
        r"""A bound of the relative loss of digits if the same question is eliminated in canonical form.

        Pivots are differences of the diagonal of $K$ and what is left, $1 / \Sigma_{ii}$, so that digits are lost in
        proportion to $K_{ii} \Sigma_{ii}$; those of log densities, to the squares that cancel in them.
        """
        found = self._found(evidence)
        return max((canonical_loss(part, found) for part in self._layout(self._reals(targets), evidence)), default=0.0)

    def _found(self, evidence: Evidence) -> dict[int, float]:
        """The observed numbers, by coordinate."""
        return dict(zip(self._own(sorted(evidence.reals)).tolist(), _values(evidence), strict=True))

    def _reals(self, positions: Sequence[int]) -> tuple[int, ...]:
        cards = self.problem.variables.cards
        return tuple(v for v in positions if cards[v] == 0)

    def _own(self, reals: Sequence[int]) -> Ints:
        """The coordinates of real variables."""
        parts = [self.coordinates.families[v].own for v in reals]
        return np.concatenate([np.zeros(0, np.int64), *parts])

    def _layout(self, reals: tuple[int, ...], evidence: Evidence) -> tuple[Component, ...]:
        wanted = reals if self.prune else tuple(self.coordinates.families)
        codes = {v: evidence.codes[v] for v in self.coordinates.contexts if v in evidence.codes}
        found = tuple(sorted(evidence.reals))

        def make() -> tuple[Component, ...]:
            asked = without(self._own(wanted).tolist(), self._own(found).tolist())
            return components(self.coordinates, asked, self._own(found).tolist(), codes)

        return self._layouts.get((tuple(sorted(wanted)), found, tuple(codes.items())), make)

    def narrowed(self, targets: Sequence[int], evidence: Evidence) -> RegressionQuestions:
        """The same for questions about these targets alone, in which only what they need is laid out."""
        if self.widths.is_small or not self.prune:
            return self
        needed = self.widths.ancestors(np.array([*self._reals(targets), *sorted(evidence.reals)], np.int64))
        if np.count_nonzero(needed) == self.widths.num_reals:
            return self
        key = np.flatnonzero(needed).tobytes()

        def made() -> RegressionQuestions:
            return replace(
                self,
                regressions=lambda: Coordinates.of_regressions(self.problem, needed),
                states=lambda: self.part,
                _layouts=Cache(16),
                _situations=Cache(4),
            )

        return self._narrowed.get(key, made)

    @lazy
    def many(self) -> WideQuestions:
        """Questions about many numbers, by eliminations."""
        return WideQuestions(self.problem, self.coordinates, self._contexts)

    def wide(self, targets: Sequence[int], evidence: Evidence, order: NarrowOrder) -> WideAnswer | None:
        """The answer about many numbers by an elimination in this order; None if digits are lost."""
        return self.many.answer(targets, evidence, order)

    def ancestry(self, targets: Sequence[int], evidence: Evidence) -> AncestralAnswer | None:
        """The moments of real targets as sums over their ancestors; None if these depend on hidden contexts.

        Args:
            targets: few of them, and few findings, as `Widths.carries` says.
        """
        own, found = self._own(targets), self._found(evidence)
        layout = self._layout(tuple(targets), evidence)
        mixed = [part for part in layout if part.by]
        if any(np.isin(own, part.hidden).any() or len(part.hidden) > costs.NUMBERS_SWEPT for part in mixed):
            return None
        at = [np.flatnonzero(np.isin(own, part.hidden)) for part in layout]
        carried = [(Ancestry(part, found, own[a]), a) for part, a in zip(layout, at, strict=True) if not part.by]
        if any(part.moments.error >= 1.0 for part, _ in carried):
            return None
        _check_size(mixed)
        posteriors = [Posterior.of(part, found) for part in mixed]
        weights = [Weights(p.component.by, p.log_density, p.exact) for p in posteriors]
        weights += [Weights((), *part.moments.evidence) for part, _ in carried]
        contexts = self._contexts(evidence, weights)
        shares = (contexts.log_shares(p.component.by) for p in posteriors if contexts.log_partition > -np.inf)
        errors = [residual(p, own[:0], share) for p, share in zip(posteriors, shares, strict=False)]
        worst = max([*errors, *(part.moments.error for part, _ in carried)], default=0.0)
        return AncestralAnswer(self._vectors(targets), tuple(carried), contexts.log_partition, worst)

    def ancestral_marginals(self, evidence: Evidence) -> AncestralMarginals | None:
        """All marginals as sums over paths; None if numbers depend on hidden contexts, or digits are lost.

        Args:
            evidence: given which `Widths.carries_all` holds.
        """
        everyone = tuple(v for v in self.coordinates.families if v not in evidence.reals)
        layout, found = self._layout(everyone, evidence), self._found(evidence)
        whole = None if any(part.by for part in layout) else self.ancestry((), evidence)
        if whole is None or whole.log_partition == -np.inf:
            return None if whole is None else AncestralMarginals(lambda v: None, -np.inf, 0.0)
        contexts, worst = self._contexts(evidence, ()), whole.residual
        states = None if contexts.prepared is None else contexts.prepared.marginals(contexts.evidence)[0]
        mean, covariances = np.zeros(len(self.coordinates)), dict[int, Floats]()
        for part, variables in _by_part(layout, self.coordinates, everyone):
            ancestry = Ancestry(part, found, part.hidden[:0])
            step = max(costs.TARGETS_TOGETHER, int((part.kinds == FOUND).sum()))
            for own in _together([self.coordinates.families[v].own for v in variables], step):
                moments = ancestry.about(np.concatenate(own)).moments
                worst, at = max(worst, moments.error), np.cumsum([0, *map(len, own)])
                mean[np.concatenate(own)] = moments.mean
                covariances |= {
                    int(o[0]): moments.covariance[a:b, a:b] for o, a, b in zip(own, at, at[1:], strict=False)
                }
        if not worst <= LARGEST_RESIDUAL:
            return None

        def read(target: int) -> Any:
            if target not in self.coordinates.families:
                assert states is not None
                return states(contexts.place[target])
            own = self.coordinates.families[target].own
            return Gaussian._make(self._vectors((target,)), mean[own], covariances[int(own[0])])

        return AncestralMarginals(read, whole.log_partition, worst)

    def _situation(self, reals: Sequence[int], evidence: Evidence) -> Situation:
        """The posteriors of all parts that a question about these real variables needs."""
        self.widths.check_contexts(reals, evidence)
        layout = self._layout(self._reals(reals), evidence)
        key = (layout, *(_key(kind) for kind in (evidence.codes, evidence.weights, evidence.reals)))

        def make() -> Situation:
            _check_size(layout)
            values = self._found(evidence)
            posteriors = tuple(Posterior.of(part, values) for part in layout)
            weights = [Weights(p.component.by, p.log_density, p.exact) for p in posteriors]
            return Situation(posteriors, self._contexts(evidence, weights))

        return self._situations.get(key, make)

    def _contexts(self, evidence: Evidence, weights: Sequence[Weights]) -> WeightedContexts:
        return weighted(self.part, self.method.prepare, self._base, evidence, weights)

    def contexts(self, evidence: Evidence) -> WeightedContexts:
        """The discrete part, in which the density of the numbers of the evidence weighs the states."""
        return self._situation((), evidence).contexts

    def log_partition(self, evidence: Evidence) -> float:
        """The log density of the evidence."""
        return self.contexts(evidence).log_partition

    def residual(self, targets: Sequence[int], evidence: Evidence) -> float:
        """The largest relative residual of the equations that the answer solves; zero if no number is hidden."""
        reals = self._reals([v for v in targets if v not in evidence.reals])
        if len(reals) > 1 and not _is_small(self._layout(reals, evidence)):
            reals = ()
        situation = self._situation(reals, evidence)
        if situation.contexts.log_partition == -np.inf:
            return 0.0
        shares = situation.contexts.each_log_shares([tuple(p.component.by) for p in situation.posteriors])
        pairs = zip(situation.posteriors, shares, strict=True)
        return max((residual(p, self._own(reals), share) for p, share in pairs), default=0.0)

    def query(self, targets: Sequence[int], evidence: Evidence) -> Answer:
        """The joint of `targets` given the evidence, in the order asked."""
        reals = self._reals(targets)
        situation = self._situation(reals, evidence)
        log_partition = situation.contexts.log_partition
        if log_partition == -np.inf or not targets:
            return Answer(Table.ones(), log_partition)
        if not reals:
            prepared, place = situation.contexts.prepared, situation.contexts.place
            assert prepared is not None
            found = prepared.query([place[v] for v in targets], situation.contexts.evidence)
            return Answer(found.distribution, log_partition, Guarantee.EXACT)
        states = tuple(v for v in targets if v not in reals)
        moments = self._moments(situation, reals, states)
        made = self._mixed(targets, moments) if states else self._distribution(reals, moments)
        return Answer(made, log_partition, Guarantee.EXACT)

    def _moments(self, situation: Situation, reals: tuple[int, ...], states: tuple[int, ...] = ()) -> Moments:
        """The moments of real variables in every joint state of `states` and of the contexts they depend on."""
        own = self._own(reals)
        parts = situation.with_any(own)
        by = tuple(dict.fromkeys((*states, *sorted({v for p in parts for v in p.component.by}))))
        scope = self._discrete(by)
        size, num = len(own), num_entries(scope)
        check_entries(num * (size + 1) ** 2, listing(self.problem.variables[v].name for v in reals))
        mean, covariance = np.zeros((num, size)), np.zeros((num, size, size))
        for posterior in parts:
            at = np.flatnonzero(np.isin(own, posterior.component.hidden))
            entry = entries(scope, self._discrete(posterior.component.by))
            mean[:, at] = posterior.means(own[at])[entry]
            covariance[:, at[:, None], at] = posterior.covariances(own[at])[entry]
        return Moments(by, situation.contexts.log_shares(by), mean, covariance)

    def _discrete(self, positions: Sequence[int]) -> tuple[Discrete, ...]:
        return tuple(v for v in map(self.problem.variables.__getitem__, positions) if isinstance(v, Discrete))

    def _vectors(self, positions: Sequence[int]) -> tuple[Vector, ...]:
        return tuple(v for v in map(self.problem.variables.__getitem__, positions) if isinstance(v, Vector))

    def _distribution(self, reals: tuple[int, ...], moments: Moments) -> Gaussian | GaussianMixture:
        """A Gaussian, or a mixture of the contexts of positive probability."""
        scope = self._vectors(reals)
        live = np.flatnonzero(moments.log_shares > -np.inf)
        if len(live) == 1:
            return Gaussian._make(scope, moments.mean[live[0]], moments.covariance[live[0]])
        weights = np.exp(moments.log_shares[live] - moments.log_shares[live].max())
        return GaussianMixture._make(scope, weights / weights.sum(), moments.mean[live], moments.covariance[live])

    def _mixed(self, targets: Sequence[int], moments: Moments) -> CanonicalTable:
        """A table of Gaussians, if no context but the targets is hidden and each has a density."""
        variables = [self.problem.variables[v] for v in targets]
        more = [self.problem.variables[v].name for v in moments.by if v not in targets]
        if more:
            raise NotClosed(
                f"The joint of {listing(v.name for v in variables)} has a mixture of Gaussians in each discrete state, "
                f"which no factor can represent. Ask for the continuous targets alone, or for {listing(more)} too."
            )
        chol = Cholesky.of(moments.covariance)
        reals = [v for v in variables if isinstance(v, Vector)]
        if not chol.definite.all():
            raise NotClosed(
                f"The joint of {listing(v.name for v in variables)} has no density: {listing(v.name for v in reals)} "
                "obey a deterministic relation. Ask for the continuous targets alone."
            )
        forms = Forms.from_moments(moments.mean, chol, moments.log_shares)
        return CanonicalTable._make(self._discrete(moments.by), tuple(reals), forms).align(variables)

    def marginals(self, evidence: Evidence) -> tuple[Callable[[int], Any], float]:
        """A reader of the marginal of every unobserved variable, and the log density of the evidence."""
        contexts = self._situation((), evidence).contexts
        log_partition = contexts.log_partition
        if log_partition == -np.inf:
            return lambda v: None, log_partition
        states = None if contexts.prepared is None else contexts.prepared.marginals(contexts.evidence)[0]
        together = self._together(evidence)

        def read(target: int) -> Any:
            if target not in self.coordinates.families:
                assert states is not None
                return states(contexts.place[target])
            situation = self._situation(together if target in together else (target,), evidence)
            return self._distribution((target,), self._marginal(situation, target))

        return read, log_partition

    def _marginal(self, situation: Situation, target: int) -> Moments:
        """The moments of one real variable in every state of its contexts."""
        own = self.coordinates.families[target].own
        if len(own) > 1:
            return self._moments(situation, (target,))
        posterior = situation.home[int(own[0])]
        mean, variance = posterior.single(int(own[0]))
        by = posterior.component.by
        return Moments(by, situation.contexts.log_shares(by), mean[:, None], variance[:, None, None])

    def _together(self, evidence: Evidence) -> tuple[int, ...]:
        """The real variables whose marginals are read from one sweep: all, if that takes few contexts; or none."""
        everyone = tuple(v for v in self.coordinates.families if v not in evidence.reals)
        return everyone if _is_small(self._layout(everyone, evidence)) else ()

    def best(self, evidence: Evidence, over: Sequence[int]) -> Best:
        """The most probable values of `over`, all other variables summed out first."""
        states = self.best_states(evidence, over)
        if states.prepared is None or not states.over:
            return states.complete(Best({}, states.log_total))
        return states.complete(states.prepared.best(states.evidence, states.over))

    def best_states(self, evidence: Evidence, over: Sequence[int]) -> BestStates:
        """The maximum over the states of `over`, of weights in which its numbers are at their most probable values."""
        reals = self._reals(over)
        own = self._own(reals)
        situation = self._situation(reals, evidence)
        asked = situation.with_any(own)
        self._check_maximum(asked, reals, over)
        contexts = self._contexts(evidence, [self._peaks(p, own, p in asked) for p in situation.posteriors])
        states = [v for v in over if v not in reals]

        def complete(found: Best) -> Best:
            if found.log_value == -np.inf:
                return Best({}, -np.inf)
            values = {v: int(found.values[contexts.place[v]]) for v in states}
            log_value = found.log_value + contexts.constant if states else contexts.log_partition
            return Best(self._completed(asked, over, values), log_value)

        inside = [contexts.place[v] for v in states]
        return BestStates(contexts.prepared, contexts.evidence, inside, contexts.log_partition, complete)

    def _completed(self, asked: Sequence[Posterior], over: Sequence[int], states: Mapping[int, int]) -> dict[int, Any]:
        """The values of `over` in these states, numbers at their means."""
        numbers = np.zeros(len(self.coordinates))
        for posterior in asked:
            hidden = posterior.component.hidden
            numbers[hidden] = posterior.means(hidden)[self._state(posterior, states)]
        families = self.coordinates.families
        return {v: numbers[families[v].own] if v in families else states[v] for v in over}

    def _check_maximum(self, asked: Sequence[Posterior], reals: Sequence[int], over: Sequence[int]) -> None:
        """Raise if the density of real variables to be maximized is a mixture."""
        cards = self.problem.variables.cards
        if any(v not in over and cards[v] > 1 for p in asked for v in p.component.by):
            names = listing(sorted(self.problem.variables[v].name for v in reals))
            raise NotClosed(
                f"The density of {names} with the other variables summed out is a mixture of Gaussians, whose maximum "
                "has no closed form. Query its distribution; or leave out `over=` to maximize every variable, if none "
                "has kernels."
            )

    def _peaks(self, posterior: Posterior, own: Ints, is_asked: bool) -> Weights:
        """The weights of the contexts with the numbers asked for at their most probable values."""
        logs, exact = posterior.log_density, posterior.exact
        if is_asked:
            peak, certain = posterior.log_peaks(own[np.isin(own, posterior.component.hidden)])
            logs, exact = logs + peak, exact + certain
        return Weights(posterior.component.by, logs, exact)

    def _state(self, posterior: Posterior, codes: Mapping[int, Any]) -> Any:
        """The joint state of the contexts of a part, from the codes of discrete variables."""
        state: Any = 0
        for v in posterior.component.by:
            state = state * int(self.problem.variables.cards[v]) + codes.get(v, 0)
        return state

    def sample(self, num_rows: int, evidence: Evidence, rng: np.random.Generator) -> dict[int, AnyArray]:
        """Independent draws of every unobserved variable from the posterior."""
        hidden = tuple(v for v in self.coordinates.families if v not in evidence.reals)
        situation = self._situation(hidden, evidence)
        contexts = situation.contexts
        inside = {} if contexts.prepared is None else contexts.prepared.sample(num_rows, contexts.evidence, rng)
        drawn: dict[int, AnyArray] = {v: inside[i] for v, i in contexts.place.items() if i in inside}
        numbers = np.zeros((num_rows, len(self.coordinates)))
        for posterior in situation.posteriors:
            states = np.zeros(num_rows, np.int64) + self._state(posterior, drawn)
            numbers[:, posterior.component.hidden] = posterior.draws(states, rng)
        for v in hidden:
            own = self.coordinates.families[v].own
            drawn[v] = numbers[:, own[0]] if len(own) == 1 else numbers[:, own]
        return drawn


def _values(evidence: Evidence) -> list[float]:
    """The observed numbers in the order of their variables."""
    return [x for v in sorted(evidence.reals) for x in np.ravel(evidence.reals[v]).tolist()]


def _key(kind: Mapping[int, Any]) -> tuple[tuple[int, bytes], ...]:
    return tuple((v, np.asarray(x).tobytes()) for v, x in sorted(kind.items()))


def _by_part(
    layout: Sequence[Component], coordinates: Coordinates, reals: Sequence[int]
) -> list[tuple[Component, list[int]]]:
    """The parts with hidden numbers, and the variables of each."""
    home = np.zeros(len(coordinates), np.int64)
    for number, part in enumerate(layout):
        home[part.hidden] = number
    variables: dict[int, list[int]] = {}
    for v in reals:
        variables.setdefault(int(home[coordinates.families[v].own[0]]), []).append(v)
    return [(layout[number], own) for number, own in variables.items()]


def _together(own: Sequence[Ints], step: int) -> Iterator[list[Ints]]:
    """The coordinates of variables, so many at a time or a little more."""
    some: list[Ints] = []
    for each in own:
        some.append(each)
        if sum(map(len, some)) >= step:
            yield some
            some = []
    if some:
        yield some


def _is_small(layout: Sequence[Component]) -> bool:
    """Whether the covariances of all parts are cached, in few contexts."""
    return all(p.num_states <= costs.REALS_TOGETHER and p.size <= costs.GAIN_ENTRIES_CACHED for p in layout)


def _check_size(layout: Sequence[Component]) -> None:
    for part in layout:
        check_entries(part.num_states * (len(part.places) + 1), f"{len(part.hidden):,} hidden real variables")
