r"""Variable elimination over the factor protocol: one loop for marginals, MAP and exact sampling.

Eliminating $X$ multiplies the factors that mention it, $\psi = \prod \phi_i$, and splits the product into a conditional
for back-substitution and a message, $\psi = \psi(x \mid \cdot)\, \tau$ with $\tau = \bigoplus_x \psi$. Sums give
marginals; maxima with modes read backwards give MAP; sums with draws made backwards give exact posterior samples.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import AnyArray
from sepset.base.cache import Cache
from sepset.base.lazy import lazy
from sepset.base.membership import without
from sepset.base.text import listing
from sepset.base.threads import require_work, work_left
from sepset.errors import NotClosed
from sepset.factors.algebra import AnyVariable, Columns, Conditional, Factor
from sepset.factors.table import Table
from sepset.graphs.ordering import OrderingMethod, Portfolio
from sepset.inference.buckets.evidencefactors import reduced_factors
from sepset.inference.buckets.pool import ENTRY_NANOSECONDS, product
from sepset.inference.exact.digits import canonical_loss
from sepset.inference.gaussian.ancestry import AncestralAnswer, AncestralMarginals
from sepset.inference.gaussian.widths import Widths, all_regressions
from sepset.inference.hybrid.questions import RegressionQuestions
from sepset.inference.hybrid.wide import WideAnswer
from sepset.inference.method import Answer, Best, check_settings
from sepset.inference.plan import ENTRY_BYTES, EliminationPlan, make_plan
from sepset.inference.refusals import has_minors, limited_rows, refuse_minors
from sepset.inference.result import EVERYTHING_EXACT, Guarantee, Guarantees
from sepset.problem import Problem
from sepset.semiring import MAX, SUM, Semiring
from sepset.variables.evidence import Evidence


class Eliminated(NamedTuple):
    """The conditionals in elimination order, and the product of the remaining factors."""

    conditionals: list[Conditional]
    remainder: Factor


def eliminate(
    factors: Iterable[Factor],
    order: Iterable[AnyVariable],
    semiring: Semiring | Callable[[AnyVariable], Semiring] = SUM,
    *,
    keep: bool = True,
) -> Eliminated:
    """The conditionals and the remainder of eliminating `order`, one variable at a time.

    Args:
        factors: any mixture of factor families that can be multiplied.
        order: the variables, first eliminated first.
        semiring: one for all variables, or a function that gives each its own (marginal MAP).
        keep: False discards the conditionals, and so the memory of the clique tables.

    Cost: the sum of the products' sizes.
    Reference: Koller & Friedman, algorithms 9.1 and 13.1.
    Guarantee: exact.
    Tested by: inference/exact/test_elimination.py::test_every_order_gives_the_same_sum

    >>> from sepset.variables.variable import Discrete
    >>> a, b = Discrete("a"), Discrete("b")
    >>> _, rest = eliminate([Table(a, [0.4, 0.6]), Table((a, b), [[0.9, 0.1], [0.5, 0.5]])], [a])
    >>> rest.values.round(3).tolist()
    [0.66, 0.34]
    """
    pool = dict(enumerate(factors))
    numbering = itertools.count(len(pool))
    touching: dict[AnyVariable, dict[int, None]] = {}
    for number, factor in pool.items():
        for variable in factor.scope:
            touching.setdefault(variable, {})[number] = None
    conditionals: list[Conditional] = []
    chosen = semiring if callable(semiring) and not isinstance(semiring, Semiring) else lambda _: semiring
    for variable in order:
        numbers = touching.pop(variable, {})
        joint = product(pool.pop(n) for n in numbers)
        conditional, message = _split(joint, variable, chosen(variable), keep)
        conditionals.extend(conditional)
        number = next(numbering)
        pool[number] = message
        for other in joint.scope:
            if other in touching:
                for n in numbers:
                    touching[other].pop(n, None)
        for other in message.scope:
            touching.setdefault(other, {})[number] = None
    return Eliminated(conditionals, product(pool.values()))


def _split(joint: Factor, variable: AnyVariable, semiring: Semiring, keep: bool) -> tuple[list[Conditional], Factor]:
    if not any(v == variable for v in joint.scope):
        joint = joint * _free(variable)
    if not keep:
        return [], joint.marginalize([variable], semiring)
    conditional, message = joint.eliminate([variable], semiring)
    return [conditional], message


def _free(variable: AnyVariable) -> Factor:
    """A uniform factor of a variable in no scope; raises if it is continuous, since it has no proper distribution."""
    if not variable.is_discrete:
        raise NotClosed(
            f"No factor has {variable.name} in its scope, so it has no distribution. Give it a factor or drop it."
        )
    return Table.ones(variable)  # type: ignore[arg-type]


def read_back(conditionals: Sequence[Conditional], num_rows: int, rng: np.random.Generator | None) -> Columns:
    """Values of every eliminated variable, last eliminated first: modes, or draws where `rng` is given."""
    columns: Columns = {}
    for conditional in reversed(conditionals):
        if rng is None:
            columns.update(conditional.mode(columns, num_rows))
        else:
            columns.update(conditional.sample(columns, num_rows, rng))
    return columns


@dataclass(frozen=True, slots=True)
class VariableElimination:
    """Exact answers by eliminating one variable after another, for every family of factors.

    Args:
        order: how the elimination order is chosen.
        memory: the largest number of bytes held at once; a larger plan raises `TooLarge` before anything is allocated.
        prune: False keeps barren factors, for comparison in tests.

    Reference: Koller & Friedman, chapter 9 and section 13.2.
    Guarantee: exact.
    Tested by: inference/test_method.py::test_every_answer_is_what_was_promised

    >>> import sepset as ss
    >>> asia = ss.datasets.load("asia")
    >>> round(ss.query(asia, "lung", given={"xray": "yes"}, method=ss.VariableElimination())["yes"], 4)
    0.4887
    """

    order: OrderingMethod = field(default_factory=Portfolio)
    memory: int = 8 * 2**30
    _: KW_ONLY
    prune: bool = True

    def __post_init__(self) -> None:
        check_settings(self.order, self.memory)

    def prepare(self, problem: Problem) -> PreparedElimination:
        """The method bound to a problem; plans are made once per question and cached."""
        return PreparedElimination(problem, self)

    def promises(self, problem: Problem) -> Guarantees:
        """Everything exact."""
        return EVERYTHING_EXACT


class PreparedElimination:
    """Variable elimination bound to a problem."""

    def __init__(self, problem: Problem, method: VariableElimination) -> None:
        self.problem = problem
        self.method = method
        self._plans: Cache[EliminationPlan] = Cache()
        self._ancestries: Cache[AncestralAnswer | None] = Cache(4)
        self._carried_marginals: Cache[AncestralMarginals | None] = Cache(2)
        self._wide: Cache[WideAnswer | None] = Cache(2)

    @lazy
    def _regressions(self) -> RegressionQuestions | None:
        return RegressionQuestions.of(self.problem, self.method, prune=self.method.prune)

    @lazy
    def widths(self) -> Widths | None:
        """The sizes of the parts of a question, if all real variables have regressions."""
        return Widths(self.problem, self.method.prune) if all_regressions(self.problem) else None

    def by_moments(self, targets: Sequence[int], evidence: Evidence) -> RegressionQuestions | None:
        """The questions in moment form, if all real variables have regressions and the question is not too wide."""
        widths, known = self.widths, self._regressions
        is_covered = widths is not None and known is not None and widths.covers(targets, evidence)
        return known.narrowed(targets, evidence) if known is not None and is_covered else None

    def wide(
        self, targets: Sequence[int], evidence: Evidence, known: RegressionQuestions | None = None
    ) -> WideAnswer | None:
        """The answer about more numbers than a sweep takes, by an elimination in moment form; None if that is long.

        Args:
            known: the questions in moment form, if they are at hand.
        """
        order = None if self.widths is None else self.widths.narrow_order(targets, evidence)
        if order is None or (known := known or self._regressions) is None:
            return None
        own = known.narrowed(targets, evidence)
        return self._wide.get((tuple(targets), _key(evidence)), lambda: own.wide(targets, evidence, order))

    def residual(self, targets: Sequence[int], evidence: Evidence) -> float | None:
        """The largest relative residual, or loss of digits in canonical form; None if it was not measured."""
        if (wide := self.wide(targets, evidence)) is not None:
            return wide.residual
        if self._regressions is None:
            discrete = self.problem.variables.all_discrete
            return None if discrete else canonical_loss(reduced_factors(self.problem, evidence))
        if (found := self.by_moments(targets, evidence)) is not None:
            return found.residual(targets, evidence)
        if (carried := self._residual_of_paths(targets, evidence)) is not None:
            return carried
        return self._regressions.narrowed(targets, evidence).loss(targets, evidence)

    def _carried(self, targets: Sequence[int], evidence: Evidence) -> AncestralAnswer | None:
        """Real targets as sums over their ancestors, if all real variables have regressions; None if that is long."""
        widths, known, cards = self.widths, self._regressions, self.problem.variables.cards
        if widths is None or known is None or any(cards[v] > 0 or v in evidence.reals for v in targets):
            return None
        if not (targets or evidence.reals) or not widths.carries(targets, evidence):
            return None
        key = tuple(targets), _key(evidence)
        return self._ancestries.get(key, lambda: known.narrowed(targets, evidence).ancestry(targets, evidence))

    def carried_marginals(self, evidence: Evidence) -> AncestralMarginals | None:
        """All marginals from sums over paths, if all real variables have regressions; None if that is long."""
        widths, known = self.widths, self._regressions
        if widths is None or known is None or not widths.carries_all(evidence):
            return None
        return self._carried_marginals.get(_key(evidence), lambda: known.ancestral_marginals(evidence))

    def _residual_of_paths(self, targets: Sequence[int], evidence: Evidence) -> float | None:
        """That of an answer from sums over paths; None if it was found otherwise.

        All unobserved variables are asked for together or one by one: the larger of what was found.
        """
        if len(targets) + len(evidence.observed) < len(self.problem.variables):
            carried = self._carried(targets, evidence)
            return None if carried is None else carried.residual
        key = _key(evidence)
        joint, each = self._ancestries.find((tuple(targets), key)), self._carried_marginals.find(key)
        return max((one.residual for one in (joint, each) if one is not None), default=None)

    def query(self, targets: Sequence[int], evidence: Evidence) -> Answer:
        """The joint of `targets` given the evidence, in the order asked."""
        if (wide := self.wide(targets, evidence)) is not None and (found := wide.query()) is not None:
            return found
        if (moments := self.by_moments(targets, evidence)) is not None:
            return moments.query(targets, evidence)
        variables = [self.problem.variables[v] for v in targets]
        if any(not v.is_discrete for v in variables):
            if (carried := self._carried(targets, evidence)) is not None:
                if carried.log_partition == -np.inf:
                    return Answer(Table.ones(), -np.inf)
                return Answer(carried.distribution, carried.log_partition, Guarantee.EXACT)
            return self._continuous_query(targets, evidence)
        plan = self._plan(targets, evidence, targets)
        joint = self._cover(self._reduced(plan, targets, evidence), variables)
        log_partition = joint.log_total
        if log_partition == -np.inf:
            return Answer(joint, log_partition)
        return Answer(joint.normalize().align(variables), log_partition, Guarantee.EXACT)

    def _reduced(self, plan: EliminationPlan, keep: Sequence[int], evidence: Evidence) -> Factor:
        """The product of all relevant factors with everything but `keep` summed out."""
        kept = {self.problem.variables[v].name for v in keep}
        hidden = [name for name in plan.order if name not in kept]
        return self._run(plan, hidden, evidence, SUM, keep=False).remainder

    def _cover(self, factor: Factor, variables: Sequence[AnyVariable]) -> Any:
        """The factor extended to exactly these discrete variables; those not in its scope are uniform."""
        missing = [v for v in variables if not any(v == mine for mine in factor.scope)]
        return reduce(lambda f, v: f * Table.ones(v), missing, factor)  # type: ignore[arg-type]

    def _continuous_query(self, targets: Sequence[int], evidence: Evidence) -> Answer:
        """A Gaussian, or a mixture with one component per joint state of the discrete variables it depends on."""
        keep = [*self._mixing(targets, evidence), *targets]
        remainder = self._reduced(self._plan(targets, evidence, keep), keep, evidence)
        log_partition = remainder.log_total
        if log_partition == -np.inf:
            return Answer(remainder, log_partition)
        variables = [self.problem.variables[v] for v in targets]
        covered = self._cover(remainder, [v for v in variables if v.is_discrete])
        try:
            return Answer(covered.to_distribution(variables), log_partition, Guarantee.EXACT)
        except NotClosed as error:
            if not any(v.is_discrete for v in variables):
                raise
            more = [self.problem.variables[v].name for v in keep if v not in targets]
            raise NotClosed(
                f"The joint of {listing(v.name for v in variables)} has a mixture of Gaussians in each discrete state, "
                f"which no factor can represent. Ask for the continuous targets alone, or for {listing(more)} too."
            ) from error

    def _mixing(self, targets: Sequence[int], evidence: Evidence) -> list[int]:
        """The discrete variables other than targets that finally share a factor with a continuous target.

        They are reached from the targets through continuous variables, which are integrated out first.
        """
        variables = self.problem.variables
        if not variables.cards.any():  # no variable is discrete
            return []
        relevant = self.problem.relevant(
            targets, evidence.observed, touched=[*evidence.weights], constants=True, prune=self.method.prune
        )
        inside = set(relevant.variables)
        start, members = (part.tolist() for part in self.problem.scopes)
        scopes = [[v for v in members[start[i] : start[i + 1]] if v in inside] for i in relevant.factors]
        touching: dict[int, list[int]] = {}
        for i, scope in enumerate(scopes):
            for v in scope:
                touching.setdefault(v, []).append(i)
        stack = [v for v in targets if not variables[v].is_discrete]
        met = dict.fromkeys(stack)
        while stack:
            for other in (u for i in touching.get(stack.pop(), ()) for u in scopes[i] if u not in met):
                met[other] = None
                if not variables[other].is_discrete:
                    stack.append(other)
        return sorted(v for v in met if variables[v].is_discrete and v not in targets)

    def marginals(self, evidence: Evidence) -> tuple[Callable[[int], Any], float]:
        """Each marginal by its own elimination, when it is read."""
        everyone = range(len(self.problem.variables))
        if (wide := self.wide(everyone, evidence)) is not None and (found := wide.marginals()) is not None:
            return found
        if (moments := self.by_moments(everyone, evidence)) is not None:
            return moments.marginals(evidence)
        if (carried := self.carried_marginals(evidence)) is not None:
            return carried.read, carried.log_partition
        return lambda target: self.query([target], evidence).distribution, self.log_partition(evidence)

    def log_partition(self, evidence: Evidence) -> float:
        """The logarithm of the total weight consistent with the evidence."""
        if (wide := self.wide((), evidence)) is not None:
            return wide.log_partition
        if (moments := self.by_moments((), evidence)) is not None:
            return moments.log_partition(evidence)
        if (carried := self._carried((), evidence)) is not None:
            return carried.log_partition
        return self._reduced(self._plan([], evidence, []), [], evidence).log_total

    def require_log_partition(self, evidence: Evidence) -> None:
        """Raise if the log partition is too large, before anything is made for it."""
        if self.widths is None or not self.widths.in_moments((), evidence):
            self._plan([], evidence, [])

    def best(self, evidence: Evidence, over: Sequence[int]) -> Best:
        """The most probable values of `over`, all other variables summed out first."""
        if (wide := self.wide(over, evidence)) is not None and (peak := wide.best()) is not None:
            return peak
        if (moments := self.by_moments(over, evidence)) is not None:
            return moments.best(evidence, over)
        carried = self._carried(over, evidence) if over else None
        if carried is not None and (peak := carried.best(over)) is not None:
            return peak
        over = self.problem.with_determined(over, evidence.observed, touched=evidence.weights)
        plan = self._best_plan(over, evidence)
        chosen = {self.problem.variables[v] for v in over}
        if work_left() < math.inf and not self.problem.functions:
            require_work(ENTRY_NANOSECONDS * plan.cost)
        try:
            with limited_rows(self.problem):
                done = self._run(plan, plan.order, evidence, lambda v: MAX if v in chosen else SUM)
        except NotClosed as error:
            raise _no_maximum(chosen, error) from error
        log_value = done.remainder.log_total
        if log_value == -np.inf:
            return Best({}, log_value)
        maximized = [c for c in done.conditionals if c.frontal[0] in chosen]
        columns = read_back(maximized, 1, None)
        return Best({v: columns[self.problem.variables[v]][0] for v in over}, log_value)

    def sample(self, num_rows: int, evidence: Evidence, rng: np.random.Generator) -> dict[int, AnyArray]:
        """Independent draws of every unobserved variable from the posterior."""
        hidden = without(range(len(self.problem.variables)), evidence.observed)
        if (wide := self.wide(hidden, evidence)) is not None:
            return wide.sample(num_rows, rng)
        if (moments := self.by_moments(hidden, evidence)) is not None:
            return moments.sample(num_rows, evidence, rng)
        plan = self._plan(hidden, evidence, [], joint=False)
        done = self._run(plan, plan.order, evidence, SUM)
        columns = read_back(done.conditionals, num_rows, rng)
        return {v: columns[self.problem.variables[v]] for v in hidden}

    def plan(self, targets: Sequence[int], observed: Sequence[int], *, to_run: bool = False) -> EliminationPlan:
        """The plan of a query; without targets, of a single tree over all variables.

        Args:
            to_run: whether a plan far beyond the memory is refused; otherwise it is made to be looked at.
        """
        evidence = Evidence(dict.fromkeys(observed, 0))
        if not targets:
            everything = without(range(len(self.problem.variables)), observed)
            return _sized(self._plan(everything, evidence, [], joint=False, shown=(), to_run=to_run))
        continuous = any(not self.problem.variables[v].is_discrete for v in targets)
        keep = [*self._mixing(targets, evidence), *targets] if continuous else targets
        return _sized(self._plan(targets, evidence, keep, to_run=to_run))

    def best_plan(self, over: Sequence[int], observed: Sequence[int]) -> EliminationPlan:
        """The plan of `best`: maxima over `over`, after sums over the rest."""
        known = self.problem.with_determined(over, observed)
        return self._best_plan(known, Evidence(dict.fromkeys(observed, 0)), shown=over)

    def _best_plan(
        self, over: Sequence[int], evidence: Evidence, shown: Sequence[int] | None = None
    ) -> EliminationPlan:
        return self._plan(over, evidence, over, joint=False, shown=shown)

    def _plan(
        self,
        targets: Sequence[int],
        evidence: Evidence,
        last: Sequence[int],
        *,
        joint: bool = True,
        shown: Sequence[int] | None = None,
        to_run: bool = True,
    ) -> EliminationPlan:
        observed = evidence.observed
        touched = tuple(sorted(set(evidence.weights).difference(targets)))
        names = tuple(targets if shown is None else shown)
        key = (tuple(targets), observed, touched, tuple(last), joint, names)

        def make() -> EliminationPlan:
            prune = self.method.prune
            if to_run and prune and has_minors(self.problem):
                self._refuse_minors(targets, observed)
            relevant = self.problem.relevant(targets, observed, touched=touched, constants=True, prune=prune)
            return make_plan(
                self.problem,
                relevant,
                method=self.method.order,
                targets=names,
                observed=observed,
                last=last,
                joint=joint,
                # Only one table is held at a time, whatever they are together.
                limit=max(self.method.memory, 1) * max(len(relevant.variables), 1) if to_run else None,
            )

        return self._plans.get(key, make)

    def _refuse_minors(self, targets: Sequence[int], observed: Sequence[int]) -> None:
        """Raise if the graph alone tells that one table is far larger than as many as there are variables may be."""
        num_hidden = len(self.problem.variables) - len(observed)
        is_everything = len(targets) >= num_hidden
        memory = max(self.method.memory, 1) * max(num_hidden, 1)
        refuse_minors(self.problem, None if is_everything else targets, observed, memory)

    def _run(
        self,
        plan: EliminationPlan,
        names: Iterable[str],
        evidence: Evidence,
        semiring: Semiring | Callable[[AnyVariable], Semiring],
        *,
        keep: bool = True,
    ) -> Eliminated:
        plan.check(self.method.memory, plan.step_memory + (_kept_memory(plan) if keep else 0))
        factors = reduced_factors(self.problem, evidence, plan.relevant.factors)
        order = [self.problem.variables[name] for name in names]
        return eliminate(factors, order, semiring, keep=keep)


def _key(evidence: Evidence) -> Hashable:
    """The findings as a key of a cache."""
    kinds = (evidence.codes, evidence.weights, evidence.reals)
    return tuple(tuple((v, np.asarray(x).tobytes()) for v, x in sorted(kind.items())) for kind in kinds)


def _sized(plan: EliminationPlan) -> EliminationPlan:
    """The plan with what its largest step takes: no more than that is held at a time."""
    return replace(plan, need=plan.step_memory)


def _kept_memory(plan: EliminationPlan) -> int:
    """Bytes of all conditionals: one for each variable, over its elimination clique."""
    total = float(plan.symbolic.rounded.sum())
    return ENTRY_BYTES * (int(total) if total < np.inf else plan.largest)


def _no_maximum(chosen: Collection[AnyVariable], error: NotClosed) -> NotClosed:
    """The error for continuous variables that are maximized while discrete ones are summed out."""
    if all(v.is_discrete for v in chosen):
        return error
    names = listing(sorted(v.name for v in chosen if not v.is_discrete))
    return NotClosed(
        f"The density of {names} with the other variables summed out is a mixture of Gaussians, whose maximum has no "
        "closed form. Query its distribution; or leave out `over=` to maximize every variable, if none has kernels."
    )
