r"""Recursive conditioning: exact answers within any memory budget.

$$V_X(\mathbf u) = \bigoplus_x \prod_{f \in X} \phi_f(x, \mathbf u) \prod_{Y \in \mathrm{Ch}_X} V_Y(x, \mathbf u)$$

A case analysis over a dtree: each node fixes one variable, and the parts below it become independent. Results are kept
for as many joint states as fit in memory, where they save most; others are computed again when needed.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from typing import Any

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats, Ints
from sepset.base.cache import Cache
from sepset.base.lazy import lazy
from sepset.base.membership import without
from sepset.base.text import readable
from sepset.data.duplicates import group_words
from sepset.errors import NotApplicable, TooLarge
from sepset.factors.algebra import check_size
from sepset.factors.table import Table
from sepset.graphs.costs import HOPELESS_BITS
from sepset.graphs.ordering import OrderingMethod, Portfolio
from sepset.inference import costs
from sepset.inference.buckets.evidencefactors import reduced_factors
from sepset.inference.buckets.pool import product
from sepset.inference.exact.dtree import (
    RESULT_BYTES,
    Dtree,
    balanced_parents,
    choose_kept,
    elimination_parents,
    make_dtree,
    useful,
)
from sepset.inference.exact.dtreevalues import Recursion
from sepset.inference.hybrid.questions import RegressionQuestions
from sepset.inference.method import Answer, Best, Prepared, check_settings, dense
from sepset.inference.plan import ENTRY_BYTES, EliminationPlan, make_plan
from sepset.inference.result import EVERYTHING_EXACT, Guarantee, Guarantees
from sepset.problem import Problem
from sepset.variables.evidence import Evidence


@dataclass(frozen=True, repr=False)
class ConditioningPlan(EliminationPlan):
    """The plan of a question by recursive conditioning: an order with its dtree, and the kept results.

    Attributes:
        tree: the dtree.
        kept: the nodes whose results are kept.
    """

    tree: Dtree = field(kw_only=True, repr=False)
    kept: tuple[int, ...] = field(kw_only=True, repr=False)

    @property
    def memory(self) -> int:
        """Bytes for all kept results."""
        return RESULT_BYTES * sum(self.tree.sizes[node] for node in self.kept)

    @lazy
    def full_memory(self) -> int:
        """Bytes for all useful results: with these, the time is that of variable elimination."""
        return RESULT_BYTES * sum(self.tree.sizes[node] for node in useful(self.tree))

    @lazy
    def steps(self) -> int:
        """The number of states visited if no factor is zero; zeros end a branch early."""
        return self.tree.steps(self.kept)

    @property
    def seconds(self) -> float:
        """The estimated time of these steps."""
        return costs.SECONDS_PER_RECURSION_STEP * min(self.steps, 10**300)

    def check_steps(self, limit: float) -> None:
        """Raise if the plan has more than `limit` steps."""
        if self.steps > limit:
            raise _too_many(self.memory, self.steps, limit, self.full_memory)

    def _facts(self) -> Iterator[tuple[str, str]]:
        tables = ("largest table", "total", "cost")  # there are no clique tables here
        yield from (fact for fact in super()._facts() if fact[0] not in tables)
        useful_results, all_of_them = len(useful(self.tree)), readable(self.full_memory)
        yield "dtree", f"height {self.tree.height}"
        yield "kept", f"{len(self.kept)} of {useful_results} useful results, {readable(self.memory)} of {all_of_them}"
        yield "time", f"{_power(self.steps)} steps at most, about {duration(self.seconds)}"


def _too_many(memory: int, steps: int, limit: float, full_memory: int) -> TooLarge:
    """The refusal of a recursion of too many steps, with the memory that would take fewer."""
    seconds = costs.SECONDS_PER_RECURSION_STEP * min(steps, 10**300)
    return TooLarge(
        f"Recursive conditioning that keeps {readable(memory)} of results would visit {_power(steps)} states, about "
        f"{duration(seconds)}; the limit is {limit:.3g} states. Raise `memory=` (all results take "
        f"{readable(full_memory)}) or `steps=` on the method, observe more variables, or use an approximate method."
    )


def _power(number: int) -> str:
    return f"{number:,}" if number < 10**6 else f"10^{math.log10(number):.1f}"


def duration(seconds: float) -> str:
    """A time in a readable unit.

    >>> duration(0.0021), duration(7200)
    ('2.1 ms', '2.0 hours')
    """
    for limit, size, unit in ((1.0, 1e-3, "ms"), (120.0, 1.0, "s"), (7200.0, 60.0, "minutes"), (2e5, 3600.0, "hours")):
        if seconds < limit:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds / 86400:.3g} days"


@dataclass(frozen=True, slots=True)
class Conditioning(ABC):
    """Exact answers by cases, within bounds on memory and time: the settings, and the problems they are for."""

    memory: int = 2**30
    order: OrderingMethod = field(default_factory=Portfolio)
    _: KW_ONLY
    steps: float = 1e12

    def __post_init__(self) -> None:
        check_settings(self.order, self.memory)

    def prepare(self, problem: Problem) -> Prepared:
        """The method bound to a problem; raises if it has continuous variables without a regression."""
        if (moments := RegressionQuestions.of(problem, self)) is not None:
            return moments
        check_discrete(problem, type(self).__name__)
        return self._bound(problem)

    @abstractmethod
    def _bound(self, problem: Problem) -> Prepared:
        """The method bound to a discrete problem."""

    def promises(self, problem: Problem) -> Guarantees:
        """Everything exact."""
        return EVERYTHING_EXACT


@dataclass(frozen=True, slots=True)
class RecursiveConditioning(Conditioning):
    """Exact answers within a memory budget: less memory takes more time, and even none gives the answer.

    Args:
        memory: the largest number of bytes of kept results, in addition to the factors and the answer: 0 is pure
            recursion, and with enough memory the time is that of variable elimination.
        order: how the elimination order behind the dtree is chosen.
        steps: the largest number of states of one recursion; above it, `TooLarge` before any work.

    Cost: the steps of `plan`; each marginal is one recursion with its variable at the root.
    Reference: Darwiche (2001), Recursive conditioning. Artificial Intelligence 126.
    Guarantee: exact, or refused by its steps.
    Tested by: inference/exact/test_recursive.py::test_every_answer_is_exact_in_any_memory

    >>> import sepset as ss
    >>> student = ss.datasets.load("student")
    >>> method = RecursiveConditioning(memory=0)
    >>> round(ss.query(student, "intelligence", given={"grade": "C", "sat": "high"}, method=method)["high"], 4)
    0.5783
    """

    def _bound(self, problem: Problem) -> PreparedConditioning:
        return PreparedConditioning(problem, self)


def check_discrete(problem: Problem, method: str) -> None:
    """Raise if the problem has continuous variables, which have no states to enumerate."""
    continuous = [v.name for v in problem.variables if not v.is_discrete]
    if continuous:
        raise NotApplicable(
            f"{method} enumerates states; {continuous[0]!r} is continuous. Use VariableElimination or CliqueTree."
        )


class PreparedConditioning:
    """Recursive conditioning bound to a problem."""

    def __init__(self, problem: Problem, method: RecursiveConditioning) -> None:
        self.problem = problem
        self.method = method
        self._plans: Cache[ConditioningPlan] = Cache()

    def query(self, targets: Sequence[int], evidence: Evidence) -> Answer:
        """The joint of `targets` given the evidence, in the order asked: one recursion for each of its entries."""
        variables = [self.problem.variables[v] for v in targets]
        check_size(variables)
        plan = self._plan(targets, evidence, outside=targets)
        tables = self._tables(plan, evidence)
        recursion = self._recursion(plan, tables)
        parts = [t for t, home in zip(tables, plan.tree.homes, strict=True) if home < 0]
        parts += [self._message(recursion, root) for root in plan.tree.roots]
        joint: Any = product([Table.ones(variables), *parts])  # type: ignore[arg-type]
        log_partition = joint.log_total
        if log_partition == -np.inf:
            return Answer(joint, log_partition)
        return Answer(joint.normalize().align(variables), log_partition, Guarantee.EXACT)

    def _message(self, recursion: Recursion, root: int) -> Table:
        """A root's value for each joint state of the targets it depends on."""
        tree = recursion.tree
        logs = np.empty((tree.sizes[root], tree.cards[root]))
        for rows, contexts in recursion.blocks(root):
            logs[rows] = recursion.log_profiles(root, contexts)
        scope = [self.problem.variables[tree.names[v]] for v in (*tree.contexts[root], root)]
        return Table.from_log(scope, logs.reshape(-1)).marginalize(scope[-1:])  # type: ignore[arg-type]

    def marginals(self, evidence: Evidence) -> tuple[Callable[[int], Any], float]:
        """Each marginal by its own recursion, when it is read."""
        return lambda target: self.query([target], evidence).distribution, self.log_partition(evidence)

    def log_partition(self, evidence: Evidence) -> float:
        """The logarithm of the total weight consistent with the evidence."""
        return self.query((), evidence).log_partition

    def best(self, evidence: Evidence, over: Sequence[int]) -> Best:
        """The most probable values of `over`, all other variables summed out first."""
        over = self.problem.with_determined(over, evidence.observed, touched=evidence.weights)
        plan = self._plan(over, evidence, last=over)
        chosen = {self.problem.variables[v].name for v in over}
        maximized = [node for node in range(len(plan.tree)) if plan.tree.names[node] in chosen]
        tables = self._tables(plan, evidence)
        codes, log_value = self._descend(self._recursion(plan, tables, maximized), maximized, 1, None)
        constants = sum(t.log_total for t, home in zip(tables, plan.tree.homes, strict=True) if home < 0)
        log_value += constants
        if log_value == -np.inf:
            return Best({}, -np.inf)
        place = {plan.tree.names[node]: node for node in maximized}
        return Best({v: codes[0, place[self.problem.variables[v].name]] for v in over}, float(log_value))

    def sample(self, num_rows: int, evidence: Evidence, rng: np.random.Generator) -> dict[int, AnyArray]:
        """Independent draws of every unobserved variable from the posterior, from the dtree's roots down."""
        hidden = without(range(len(self.problem.variables)), evidence.observed)
        plan = self._plan(hidden, evidence)
        recursion = self._recursion(plan, self._tables(plan, evidence))
        codes, _ = self._descend(recursion, range(len(plan.tree)), num_rows, rng)
        place = {name: node for node, name in enumerate(plan.tree.names)}
        return {v: codes[:, place[self.problem.variables[v].name]] for v in hidden}

    def _descend(
        self, recursion: Recursion, nodes: Collection[int], num_rows: int, rng: np.random.Generator | None
    ) -> tuple[Ints, float]:
        """States of `nodes`, parents first, for each row: modes, or draws where `rng` is given; and the roots' total.

        Rows with equal contexts share one recursion. If no state is positive, the codes are undefined.
        """
        tree = recursion.tree
        codes = np.zeros((num_rows, len(tree)), np.int64)
        total, wanted = 0.0, set(nodes)
        for node in sorted(wanted.union(tree.roots)):
            contexts, group = _distinct(codes[:, tree.contexts[node]])
            logs = recursion.log_profiles(node, contexts)
            if tree.parents[node] < 0 and num_rows:
                total += _reduce(logs[0], node in wanted and rng is None)
                if total == -np.inf:
                    break
            if node in wanted:
                codes[:, node] = _picked(logs, group, rng)
        return codes, total

    def plan(self, targets: Sequence[int], observed: Sequence[int]) -> ConditioningPlan:
        """The plan of a query; without targets, of one recursion over all variables."""
        evidence = Evidence(dict.fromkeys(observed, 0))
        if targets:
            return self._plan(targets, evidence, outside=targets, to_run=False)
        everything = without(range(self.problem.num_visible), observed)
        return self._plan(everything, evidence, shown=(), to_run=False)

    def best_plan(self, over: Sequence[int], observed: Sequence[int]) -> ConditioningPlan:
        """The plan of `best`: maxima over `over`, after sums over the rest."""
        known = self.problem.with_determined(over, observed)
        return self._plan(known, Evidence(dict.fromkeys(observed, 0)), last=known, shown=over)

    def _plan(
        self,
        targets: Sequence[int],
        evidence: Evidence,
        *,
        outside: Sequence[int] = (),
        last: Sequence[int] = (),
        shown: Sequence[int] | None = None,
        to_run: bool = True,
    ) -> ConditioningPlan:
        names = tuple(targets if shown is None else shown)
        observed, touched = evidence.observed, tuple(sorted(evidence.weights))
        key = (tuple(targets), observed, touched, tuple(outside), tuple(last), names)

        def make() -> ConditioningPlan:
            relevant = self.problem.relevant(targets, observed, touched=touched, constants=True)
            plan = make_plan(
                self.problem,
                relevant,
                method=self.method.order,
                targets=names,
                observed=observed,
                last=outside or last,
                joint=bool(outside),
                # At best each entry of the tables is one step.
                limit=ENTRY_BYTES * int(min(max(self.method.steps, 1.0), 2.0**200)) if to_run else None,
                has_tables=False,
            )
            if to_run:
                self._check_least(plan, len(outside))
            return self._with_tree(plan, observed, touched, outside, last)

        return self._plans.get(key, make)

    def _check_least(self, plan: EliminationPlan, num_outside: int) -> None:
        """Raise if the steps are far beyond the limit even with all results kept: one for each entry of the cliques."""
        sizes = plan.symbolic.rounded[: len(plan.symbolic.order) - num_outside]
        least = float(sizes.sum())
        if least > 2.0**HOPELESS_BITS * self.method.steps:
            steps = int(least) if least < math.inf else plan.largest
            raise _too_many(self.method.memory, steps, self.method.steps, RESULT_BYTES * steps)

    def _with_tree(
        self,
        plan: EliminationPlan,
        observed: Sequence[int],
        touched: Sequence[int],
        outside: Sequence[int],
        last: Sequence[int],
    ) -> ConditioningPlan:
        """The plan with a dtree, that of the order or a balanced one, whichever takes fewer steps in this memory."""
        variables, seen = self.problem.variables, set(observed)
        numbers = [self.problem.scope(i) for i in plan.relevant.factors] + [(v,) for v in touched]
        scopes = [[variables[v].name for v in scope if v not in seen] for scope in numbers]
        cards = {name: variables[name].num_states for name in plan.order}  # type: ignore[union-attr]
        given = [variables[v].name for v in outside]
        # Only the order's own dtree has the maximized variables above those summed out.
        mixed = bool(last) and len(last) < len(plan.order)
        shapes = [elimination_parents] if mixed else [elimination_parents, balanced_parents]
        elimination = plan.elimination
        trees = [make_dtree(shape(elimination, given), scopes, cards, given) for shape in shapes]
        kept = [choose_kept(tree, self.method.memory // RESULT_BYTES, self.method.steps) for tree in trees]
        best = min(range(len(trees)), key=lambda i: trees[i].steps(kept[i]))
        parts = {part.name: getattr(plan, part.name) for part in fields(EliminationPlan)}
        return ConditioningPlan(**parts, tree=trees[best], kept=kept[best])

    def _tables(self, plan: ConditioningPlan, evidence: Evidence) -> list[Table]:
        plan.check_steps(self.method.steps)
        return [dense(f) for f in reduced_factors(self.problem, evidence, plan.relevant.factors)]

    def _recursion(self, plan: ConditioningPlan, tables: Sequence[Table], maximized: Sequence[int] = ()) -> Recursion:
        return Recursion(plan.tree, plan.kept, tables, maximized)


def _distinct(rows: Ints) -> tuple[Ints, Ints]:
    """The distinct rows, and for each row the index of its distinct row."""
    first, group = group_words(rows)
    return rows[first], group


def _reduce(logs: Floats, maximize: bool) -> float:
    top = float(logs.max())
    if maximize or top == -np.inf:
        return top
    return top + math.log(float(np.exp(logs - top).sum()))


def _picked(logs: Floats, group: Ints, rng: np.random.Generator | None) -> Ints:
    """The state of each row: the mode of its group's values, or a draw in proportion to them."""
    if rng is None:
        return np.asarray(logs.argmax(axis=1)[group])
    cumulative = np.cumsum(np.exp(logs - logs.max(axis=1, keepdims=True)), axis=1)
    marks = rng.random(len(group)) * cumulative[group, -1]
    drawn = (cumulative[group] <= marks[:, None]).sum(axis=1)
    # A threshold rounded up to the total would lie past the last positive state.
    last = logs.shape[1] - 1 - (logs[:, ::-1] > -np.inf).argmax(axis=1)
    return np.asarray(np.minimum(drawn, last[group]))
