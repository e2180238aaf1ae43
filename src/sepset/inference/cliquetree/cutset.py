r"""Cutset conditioning: fix some variables so that the rest is tractable, and sum over the cases.

$$\sum_{\mathbf x} \prod_i \phi_i = \sum_{\mathbf c} \sum_{\mathbf x - \mathbf c} \prod_i \phi_i[\mathbf c]$$

Each case is answered by a clique tree over the remaining variables, whose tables fit in the given memory.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import AnyArray, Bools, Floats
from sepset.base.cache import Cache
from sepset.base.membership import without
from sepset.base.text import listing, readable
from sepset.errors import TooLarge
from sepset.factors.algebra import Factor
from sepset.factors.table import Table
from sepset.graphs.costs import HOPELESS_BITS
from sepset.graphs.symbolic import SymbolicElimination
from sepset.inference.buckets.evidencefactors import observed_states
from sepset.inference.cliquetree.method import CliqueTree
from sepset.inference.exact.recursive import Conditioning
from sepset.inference.method import Answer, Best, dense
from sepset.inference.plan import ENTRY_BYTES, EliminationPlan, make_plan
from sepset.inference.result import Guarantee
from sepset.problem import Problem, Relevant
from sepset.variables.evidence import Evidence


@dataclass(frozen=True, repr=False)
class CutsetPlan(EliminationPlan):
    """The plan of a question by cutset conditioning: the plan of one case, the fixed variables, the number of cases.

    Attributes:
        cutset: the names of the variables that are fixed.
        num_cases: the number of their joint states.
    """

    cutset: tuple[str, ...] = field(default=(), kw_only=True)
    num_cases: int = field(default=1, kw_only=True)

    @property
    def total_cost(self) -> int:
        """Multiplications of all cases together, if none is impossible."""
        return self.num_cases * self.cost

    def check_cost(self, limit: float) -> None:
        """Raise if the plan has more than `limit` multiplications."""
        if self.total_cost > limit:
            raise TooLarge(
                f"Cutset conditioning would fix {len(self.cutset)} variables ({listing(self.cutset[:5])}...) in "
                f"10^{math.log10(self.num_cases):.1f} cases, 10^{math.log10(self.total_cost):.1f} multiplications in "
                f"all; the limit is {limit:.3g}. Raise `memory=` or `steps=` on the method, or use "
                "RecursiveConditioning(memory=...), which keeps results between cases."
            )

    def to_dict(self) -> dict[str, Any]:
        """The plan in plain values, as `to_json` writes it: that of one case, the cutset, and the number of cases."""
        return {**super().to_dict(), "cutset": list(self.cutset), "num_cases": self.num_cases}

    def _facts(self) -> Iterator[tuple[str, str]]:
        names = ", ".join(self.cutset[:8]) + (f", ... ({len(self.cutset)} in all)" if len(self.cutset) > 8 else "")
        yield from super()._facts()
        yield "cutset", names or "none"
        yield "cases", f"{self.num_cases:,}, each as above"


@dataclass(frozen=True, slots=True)
class CutsetConditioning(Conditioning):
    """Exact answers by cases: variables are fixed until the tables of the others fit in memory.

    Args:
        memory: the largest number of bytes for one case, in addition to the factors themselves.
        order: how elimination orders are chosen.
        steps: the largest number of multiplications of all cases together; above it, `TooLarge` before any work.

    Cost: the number of cases times the cost of one; all marginals come from the same cases.
    Reference: Koller & Friedman, section 9.5; Dechter and Bidyuk (2007) for w-cutsets.
    Guarantee: exact, or refused by its cases.
    Tested by: inference/cliquetree/test_cutset.py::test_every_answer_is_exact_or_refused_for_size

    >>> import sepset as ss
    >>> student = ss.datasets.load("student")
    >>> method = CutsetConditioning(memory=200)
    >>> print(str(ss.prepare(student, method=method).plan()).splitlines()[-1].strip())
    cases         3, each as above
    >>> round(ss.query(student, "intelligence", given={"grade": "C", "sat": "high"}, method=method)["high"], 4)
    0.5783
    """

    def _bound(self, problem: Problem) -> PreparedCutset:
        return PreparedCutset(problem, self)


def choose_cutset(
    elimination: SymbolicElimination, limit: float, candidates: Bools, most: float = math.inf
) -> list[int]:
    """Ranks to fix so that no clique of the order has more than `limit` entries, if `candidates` allow.

    Greedy: the variable in the most cliques that are too large; ties by more states, then by the order.

    Args:
        candidates: by rank, whether a variable may be fixed.
        most: the number of cases from which no more variables are fixed.

    Cost: for each variable fixed, one pass over the cliques that are too large.

    >>> from sepset.graphs.ordering import GivenOrder
    >>> from sepset.graphs.symbolic import symbolic_elimination
    >>> rows = np.array([0, 2, 4, 6, 8]), np.array([1, 3, 0, 2, 1, 3, 0, 2])  # A - B - C - D - A
    >>> order = symbolic_elimination("ABCD", rows, [2] * 4, np.zeros(4, np.int64), GivenOrder("ABCD"))
    >>> choose_cutset(order, 4, np.ones(4, bool))
    [1]
    """
    num, logs = len(elimination.order), np.log2(elimination.ranked_cards)
    clique, member = np.append(np.arange(num), elimination.receivers), np.append(np.arange(num), elimination.scopes)
    bits, bound = np.bincount(clique, weights=logs[member], minlength=num), math.log2(max(limit, 0.5)) + _ROUNDING
    is_open = candidates & (logs > 0)
    chosen: list[int] = []
    left = math.log2(most) if most < math.inf else math.inf
    while left >= 0:
        kept = bits[clique] > bound
        clique, member = clique[kept], member[kept]
        counts = np.bincount(member, minlength=num) * is_open
        if not counts.any():
            break
        best = int(np.lexsort((np.arange(num), -logs, -counts))[0])
        bits[clique[member == best]] -= logs[best]
        is_open[best] = False
        left -= logs[best]
        chosen.append(best)
    return chosen


_ROUNDING = 1e-9
"""Bits within which logarithms of numbers of entries are equal."""


class Case(NamedTuple):
    """One joint state of the cutset: its codes, the evidence with them, and the logarithm of their own weight."""

    codes: dict[int, int]
    evidence: Evidence
    log_weight: float


class PreparedCutset:
    """Cutset conditioning bound to a problem."""

    def __init__(self, problem: Problem, method: CutsetConditioning) -> None:
        self.problem = problem
        self.method = method
        self._plans: Cache[CutsetPlan] = Cache()
        # Cases are planned to fit; the engine's own estimate would also count the factors.
        self._cases_engine = CliqueTree(method.order, 2**62).prepare(problem)

    def query(self, targets: Sequence[int], evidence: Evidence) -> Answer:
        """The joint of `targets` given the evidence, in the order asked: the sum over all cases."""
        variables = [self.problem.variables[v] for v in targets]
        total = _LogSum()
        for case in self.cases(self._plan(targets, evidence, last=targets), evidence):
            answer = self._cases_engine.query(targets, case.evidence)
            if answer.log_partition > -np.inf:
                logs = np.asarray(dense(answer.distribution).align(variables).log_values)
                total.add(logs, answer.log_partition + case.log_weight)
        if total.logs is None:
            return Answer(Table.ones(), -np.inf)
        joint = Table.from_log(variables, total.logs)  # type: ignore[arg-type]
        return Answer(joint.normalize(), joint.log_total + total.shift, Guarantee.EXACT)

    def log_partition(self, evidence: Evidence) -> float:
        """The logarithm of the total weight consistent with the evidence."""
        return self.query((), evidence).log_partition

    def marginals(self, evidence: Evidence) -> tuple[Callable[[int], Any], float]:
        """All single marginals from one pass over the cases."""
        hidden = self._hidden(evidence)
        totals = {v: _LogSum() for v in hidden}
        whole = _LogSum()
        for case in self.cases(self._plan(hidden, evidence, joint=False, shown=()), evidence):
            read, log_partition = self._cases_engine.marginals(case.evidence)
            if log_partition == -np.inf:
                continue
            weight = log_partition + case.log_weight
            whole.add(np.zeros(()), weight)
            for v in hidden:
                fixed = v in case.codes
                totals[v].add(self._point(v, case.codes[v]) if fixed else dense(read(v)).log_values, weight)

        def marginal(target: int) -> Table:
            return Table.from_log(self.problem.variables[target], totals[target].logs).normalize()  # type: ignore[arg-type]

        return marginal, -np.inf if whole.logs is None else float(whole.logs) + whole.shift

    def _point(self, position: int, code: int) -> Floats:
        logs = np.full(int(self.problem.variables.cards[position]), -np.inf)
        logs[code] = 0.0
        return logs

    def best(self, evidence: Evidence, over: Sequence[int]) -> Best:
        """The most probable values of `over`, all other variables summed out; only `over` is fixed."""
        over = self.problem.with_determined(over, evidence.observed, touched=evidence.weights)
        plan = self._plan(over, evidence, last=over, joint=False, candidates=over)
        found = Best({}, -np.inf)
        for case in self.cases(plan, evidence):
            one = self._cases_engine.best(case.evidence, [v for v in over if v not in case.codes])
            if one.log_value + case.log_weight > found.log_value:
                values = {**one.values, **case.codes}
                found = Best({v: values[v] for v in over}, one.log_value + case.log_weight)
        return found

    def sample(self, num_rows: int, evidence: Evidence, rng: np.random.Generator) -> dict[int, AnyArray]:
        """Independent draws of every unobserved variable: first the case of each row, then the other variables."""
        hidden = self._hidden(evidence)
        cases = list(self.cases(self._plan(hidden, evidence, joint=False, shown=()), evidence))
        logs = np.array([self._cases_engine.log_partition(case.evidence) + case.log_weight for case in cases])
        weights = np.exp(logs - logs.max())
        which = rng.choice(len(cases), size=num_rows, p=weights / weights.sum())
        columns: dict[int, AnyArray] = {v: np.zeros(num_rows, np.int64) for v in hidden}
        for number in np.unique(which).tolist():
            rows = np.flatnonzero(which == number)
            drawn = self._cases_engine.sample(len(rows), cases[number].evidence, rng)
            for v in hidden:
                columns[v][rows] = cases[number].codes.get(v, drawn.get(v, 0))
        return columns

    def _hidden(self, evidence: Evidence) -> list[int]:
        observed = set(evidence.observed)
        return [v for v in range(len(self.problem.variables)) if v not in observed]

    def plan(self, targets: Sequence[int], observed: Sequence[int]) -> CutsetPlan:
        """The plan of a query; without targets, of all marginals."""
        evidence = Evidence(dict.fromkeys(observed, 0))
        if targets:
            return self._plan(targets, evidence, last=targets)
        return self._plan(self._hidden(evidence), evidence, joint=False, shown=())

    def best_plan(self, over: Sequence[int], observed: Sequence[int]) -> CutsetPlan:
        """The plan of `best`: maxima over `over`, after sums over the rest."""
        known = self.problem.with_determined(over, observed)
        evidence = Evidence(dict.fromkeys(observed, 0))
        return self._plan(known, evidence, last=known, joint=False, candidates=known, shown=over)

    def _plan(
        self,
        targets: Sequence[int],
        evidence: Evidence,
        *,
        last: Sequence[int] = (),
        joint: bool = True,
        candidates: Sequence[int] | None = None,
        shown: Sequence[int] | None = None,
    ) -> CutsetPlan:
        observed, touched = evidence.observed, tuple(sorted(evidence.weights))
        names = tuple(targets if shown is None else shown)
        key = (tuple(targets), observed, touched, tuple(last), joint, candidates is not None, names)

        def make() -> CutsetPlan:
            relevant = self.problem.relevant(targets, observed, touched=touched, constants=True)
            kept = set(last) if joint else set()
            open_ids = [v for v in (relevant.variables if candidates is None else candidates) if v not in kept]

            def plan_without(cutset: Collection[int]) -> EliminationPlan:
                rest = Relevant(relevant.factors, tuple(v for v in relevant.variables if v not in cutset))
                later = [v for v in last if v not in cutset]
                return make_plan(
                    self.problem,
                    rest,
                    method=self.method.order,
                    targets=names,
                    observed=observed,
                    last=later,
                    joint=joint,
                    # The tables of one case, for each of the most cases there may be.
                    limit=max(self.method.memory, 1) * int(self._most_cases),
                )

            return self._with_cutset(plan_without, open_ids)

        return self._plans.get(key, make)

    def _with_cutset(
        self, plan_without: Callable[[Collection[int]], EliminationPlan], candidates: Sequence[int]
    ) -> CutsetPlan:
        """The plan with enough variables fixed; the last ones are freed again if the plan fits without them."""
        cutset: list[int] = []
        plan = plan_without(cutset)
        most = self._most_cases
        while not self._fits(plan):
            more = self._more(plan, without(candidates, cutset), most)
            if not more:
                raise self._refused(plan)
            cutset += more
            if self._num_cases(cutset) > most:
                self._made(plan, cutset).check_cost(self.method.steps)
            plan = plan_without(cutset)
        while cutset and self._fits(smaller := plan_without(cutset[:-1])):
            cutset, plan = cutset[:-1], smaller
        return self._made(plan, cutset)

    @property
    def _most_cases(self) -> float:
        """The number of cases from which there is no hope that fewer variables would do."""
        return float(min(max(self.method.steps, 1.0), 2.0**200) * 2.0 ** (2 * HOPELESS_BITS))

    def _num_cases(self, cutset: Sequence[int]) -> int:
        return math.prod(int(self.problem.variables.cards[v]) for v in cutset)

    def _made(self, plan: EliminationPlan, cutset: Sequence[int]) -> CutsetPlan:
        parts = {part.name: getattr(plan, part.name) for part in fields(EliminationPlan)}
        names = tuple(self.problem.variables[v].name for v in cutset)
        return CutsetPlan(**parts, cutset=names, num_cases=self._num_cases(cutset))

    def _fits(self, plan: EliminationPlan) -> bool:
        """Whether a case fits in the given memory."""
        return _need(plan) <= self.method.memory

    def _more(self, plan: EliminationPlan, candidates: Sequence[int], most: float) -> list[int]:
        limit = self.method.memory // (3 * ENTRY_BYTES)
        if plan.largest <= limit:
            limit = plan.largest - 1
        is_open = np.isin(plan.positions, np.asarray(candidates, dtype=np.int64))
        return [int(v) for v in plan.positions[choose_cutset(plan.symbolic, limit, is_open, most)]]

    def _refused(self, plan: EliminationPlan) -> TooLarge:
        return TooLarge(
            f"With every variable fixed that can be, one case still takes {readable(_need(plan))} (its largest table "
            f"has {plan.largest:,} entries); the limit is {readable(self.method.memory)}. Raise `memory=` on the "
            "method, ask for fewer targets, or use RecursiveConditioning(memory=...)."
        )

    def cases(self, plan: CutsetPlan, evidence: Evidence) -> Iterator[Case]:
        """The cases that no single factor rules out."""
        plan.check_cost(self.method.steps)
        cutset = [self.problem.variables.id(name) for name in plan.cutset]
        weights = {v: evidence.weights[v] for v in without(evidence.weights, cutset)}
        rest = replace(evidence, weights=weights)
        states = observed_states(self.problem, evidence)
        touched = [i for i in plan.relevant.factors if not set(cutset).isdisjoint(self.problem.scope(i))]
        factors = [f.condition(states) for f in self.problem.factors(touched)]
        for codes in _joint_states(self.problem, cutset, factors):
            log_weight = 0.0
            for v, code in codes.items():
                weight = float(evidence.weights[v][code]) if v in evidence.weights else 1.0
                log_weight += math.log(weight) if weight > 0 else -math.inf
            if log_weight > -math.inf:
                yield Case(codes, replace(rest, codes={**evidence.codes, **codes}), log_weight)


def _need(plan: EliminationPlan) -> int:
    """Bytes for the largest step of a case, or for its messages in both directions, without the factors."""
    return ENTRY_BYTES * max(3 * plan.largest, 2 * plan.total_size)


def _joint_states(problem: Problem, cutset: Sequence[int], factors: Sequence[Factor]) -> Iterator[dict[int, int]]:
    """The joint states of the cutset, first variable slowest, without those that make a factor zero everywhere."""
    if not cutset:
        yield {}
        return
    variable: Any = problem.variables[cutset[0]]
    inside = [f for f in factors if variable in f.scope]
    outside = [f for f in factors if variable not in f.scope]
    for code, state in enumerate(variable.states):
        reduced = [f.condition({variable: state}) for f in inside]
        if all(f.log_total > -math.inf for f in reduced):
            for rest in _joint_states(problem, cutset[1:], [*reduced, *outside]):
                yield {cutset[0]: code, **rest}


class _LogSum:
    """A running sum of arrays given by logarithms, near one in size."""

    def __init__(self) -> None:
        self.logs: Floats | None = None
        self.shift = 0.0

    def add(self, logs: Floats, log_weight: float) -> None:
        if self.logs is None:
            self.logs, self.shift = np.array(logs, dtype=np.float64), log_weight
        else:
            self.logs = np.logaddexp(self.logs, logs + (log_weight - self.shift))
