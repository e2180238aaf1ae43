r"""Variable elimination over the factor protocol: one loop for marginals, MAP and exact sampling.

Eliminating $X$ multiplies the factors that mention it, $\psi = \prod \phi_i$, and splits the product into what
back-substitution needs and what flows on, $\psi = \psi(x \mid \cdot)\, \tau$ with $\tau = \bigoplus_x \psi$. Sums give
marginals; maxima with modes read backwards give MAP; sums with draws made backwards give exact posterior samples.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepset.errors import NotClosed
from sepset.evidence import Evidence
from sepset.factors.algebra import AnyVariable, Columns, Conditional, Factor
from sepset.factors.table import Table
from sepset.graphs.ordering import OrderingMethod, Portfolio
from sepset.inference.method import Answer, Best
from sepset.inference.plan import Plan, PlanCache, make_plan
from sepset.inference.reduction import observed_states, reduced_factors
from sepset.inference.result import Guarantee, Guarantees
from sepset.problem import Problem
from sepset.semiring import MAX, SUM, Semiring


class Eliminated(NamedTuple):
    """The conditionals in elimination order, and the product of what is left."""

    conditionals: list[Conditional]
    remainder: Factor


def product(factors: Iterable[Factor]) -> Factor:
    """The product of all factors, small ones first; the empty product is one."""
    ordered = sorted(factors, key=lambda f: f.size)
    return reduce(lambda left, right: left * right, ordered, Table.ones())


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
        keep: False drops the conditionals, and with them the memory of the clique tables.

    Cost: the sum of the products' sizes.
    Reference: Koller & Friedman, algorithms 9.1 and 13.1.

    >>> from sepset.variables import Discrete
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
    """A variable no factor mentions is uniform; a continuous one has no proper distribution."""
    if not variable.is_discrete:
        raise NotClosed(f"No factor mentions {variable.name}, so it has no distribution. Give it a factor or drop it.")
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
        memory: the most bytes one step may need; larger plans are refused before anything is allocated.
        prune: False keeps barren parts, so that tests can compare.

    Reference: Koller & Friedman, chapter 9 and section 13.2.
    """

    order: OrderingMethod = field(default_factory=Portfolio)
    memory: int = 8 * 2**30
    prune: bool = True

    def prepare(self, problem: Problem) -> PreparedElimination:
        """The method bound to a problem; plans are made once per question and kept."""
        return PreparedElimination(problem, self)

    def promises(self, problem: Problem) -> Guarantees:
        """Everything exact."""
        return dict.fromkeys(("log_partition", "marginals", "moments", "assignment"), Guarantee.EXACT)


class PreparedElimination:
    """Variable elimination bound to a problem."""

    def __init__(self, problem: Problem, method: VariableElimination) -> None:
        self.problem = problem
        self.method = method
        self._plans = PlanCache()

    def query(self, targets: Sequence[int], evidence: Evidence) -> Answer:
        """The joint of `targets` given the evidence, in the order asked."""
        variables = [self.problem.variables[v] for v in targets]
        if any(not v.is_discrete for v in variables):
            return self._continuous_query(targets, evidence)
        plan = self._plan(targets, evidence, [targets])
        hidden = [n for n in plan.order if n not in {v.name for v in variables}]
        remainder = self._run(plan, hidden, evidence, SUM, keep=False).remainder
        joint = self._cover(remainder, variables)
        log_partition = joint.log_total
        if log_partition == -np.inf:
            return Answer(joint, log_partition)
        return Answer(joint.normalize().align(variables), log_partition)

    def _cover(self, factor: Factor, variables: Sequence[AnyVariable]) -> Any:
        """The factor over exactly these discrete variables: those it does not mention are uniform."""
        missing = [v for v in variables if not any(v == mine for mine in factor.scope)]
        return reduce(lambda f, v: f * Table.ones(v), missing, factor)  # type: ignore[arg-type]

    def _continuous_query(self, targets: Sequence[int], evidence: Evidence) -> Answer:
        """A Gaussian, or a mixture with one component a joint state of the relevant discrete variables."""
        keep = [v for v in self._relevant(targets, evidence) if self.problem.variables[v].is_discrete]
        plan = self._plan(targets, evidence, [keep, targets])
        kept = {self.problem.variables[v].name for v in (*keep, *targets)}
        remainder = self._run(plan, [n for n in plan.order if n not in kept], evidence, SUM, keep=False).remainder
        log_partition = remainder.log_total
        if log_partition == -np.inf:
            return Answer(remainder, log_partition)
        names = [self.problem.variables[v] for v in targets]
        return Answer(remainder.to_distribution(names), log_partition)  # type: ignore[attr-defined]

    def _relevant(self, targets: Sequence[int], evidence: Evidence) -> tuple[int, ...]:
        touched, observed = [*evidence.weights], evidence.observed
        return self.problem.relevant(
            targets, observed, touched=touched, constants=True, prune=self.method.prune
        ).variables

    def marginals(self, evidence: Evidence) -> tuple[Callable[[int], Any], float]:
        """Each marginal by its own elimination, when it is read."""
        return lambda target: self.query([target], evidence).distribution, self.log_partition(evidence)

    def log_partition(self, evidence: Evidence) -> float:
        """The logarithm of the total weight consistent with the evidence."""
        plan = self._plan([], evidence, [])
        return self._run(plan, plan.order, evidence, SUM, keep=False).remainder.log_total

    def best(self, evidence: Evidence, over: Sequence[int]) -> Best:
        """The most probable values of `over`, all other variables summed out first."""
        plan = self._plan(over, evidence, [over], joint=False)
        chosen = {self.problem.variables[v] for v in over}
        done = self._run(plan, plan.order, evidence, lambda v: MAX if v in chosen else SUM)
        log_value = done.remainder.log_total
        if log_value == -np.inf:
            return Best({}, log_value)
        maximized = [c for c in done.conditionals if c.frontal[0] in chosen]
        columns = read_back(maximized, 1, None)
        return Best({v: columns[self.problem.variables[v]][0] for v in over}, log_value)

    def sample(self, num_rows: int, evidence: Evidence, rng: np.random.Generator) -> dict[int, NDArray[Any]]:
        """Independent draws of every unobserved variable from the posterior."""
        hidden = [v for v in range(len(self.problem.variables)) if v not in set(evidence.observed)]
        plan = self._plan(hidden, evidence, [], joint=False)
        done = self._run(plan, plan.order, evidence, SUM)
        columns = read_back(done.conditionals, num_rows, rng)
        return {v: columns[self.problem.variables[v]] for v in hidden}

    def plan(self, targets: Sequence[int], observed: Sequence[int]) -> Plan:
        """What a query would cost; without targets, what one tree over everything would."""
        if targets:
            return self._plan(targets, Evidence(dict.fromkeys(observed, 0)), [targets])
        everything = [v for v in range(len(self.problem.variables)) if v not in set(observed)]
        return self._plan(everything, Evidence(dict.fromkeys(observed, 0)), [], joint=False, shown=())

    def _plan(
        self,
        targets: Sequence[int],
        evidence: Evidence,
        last: Sequence[Sequence[int]],
        *,
        joint: bool = True,
        shown: Sequence[int] | None = None,
    ) -> Plan:
        observed, touched = evidence.observed, tuple(sorted(evidence.weights))
        key = (tuple(targets), observed, touched, tuple(map(tuple, last)), joint)
        return self._plans.get(key, lambda: self._make_plan(targets, observed, touched, last, joint, shown))

    def _make_plan(
        self,
        targets: Sequence[int],
        observed: Sequence[int],
        touched: Sequence[int],
        last: Sequence[Sequence[int]],
        joint: bool,
        shown: Sequence[int] | None,
    ) -> Plan:
        relevant = self.problem.relevant(targets, observed, touched=touched, constants=True, prune=self.method.prune)
        free = [[v for v in group if v not in set(observed)] for group in last]
        return make_plan(
            self.problem,
            relevant,
            method=self.method.order,
            targets=targets if shown is None else shown,
            observed=observed,
            last=free,
            joint=joint,
        )

    def _run(
        self,
        plan: Plan,
        names: Iterable[str],
        evidence: Evidence,
        semiring: Semiring | Callable[[AnyVariable], Semiring],
        *,
        keep: bool = True,
    ) -> Eliminated:
        plan.check(self.method.memory)
        factors = reduced_factors(self.problem, evidence, plan.relevant.factors)
        order = [self.problem.variables[name] for name in names]
        return eliminate(factors, order, semiring, keep=keep)


def value_at(problem: Problem, evidence: Evidence, values: dict[AnyVariable, Any]) -> float:
    """The logarithm of the unnormalized value of a full assignment of states, likelihoods included."""
    states = {**observed_states(problem, evidence), **values}
    return sum(f.log_value(states) for f in reduced_factors(problem, Evidence(weights=evidence.weights)))
