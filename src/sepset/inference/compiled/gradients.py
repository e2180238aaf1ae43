r"""Derivatives of the partition function with respect to all factor entries, from one forward and one reverse sweep.

$$A_i(\mathbf x) = \frac{\partial Z(\mathbf e)}{\partial \phi_i(\mathbf x)}, \qquad
  \frac{\partial \log Z}{\partial \log \phi_i(\mathbf x)} = P(\mathbf x \mid \mathbf e)$$

Nothing is divided by an entry, so the derivative is also defined where the entry is zero. The derivative with respect
to the logarithm of an entry is the marginal over the factor's scope, whose sums over rows are expected counts.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.cache import Cache
from sepset.base.lazy import lazy
from sepset.errors import NotApplicable
from sepset.graphs.ordering import OrderingMethod, Portfolio
from sepset.inference.compiled.contraction import ONE
from sepset.inference.compiled.execution import run_tensors
from sepset.inference.compiled.question import Question, compile_question
from sepset.inference.compiled.run import TensorRun
from sepset.inference.compiled.store import FactorStore, FactorValues
from sepset.inference.method import DEFAULT_MEMORY
from sepset.inference.plan import EliminationPlan, make_plan
from sepset.inference.refusals import refuse_minors
from sepset.kernels.kernel import are_loaded
from sepset.problem import Problem
from sepset.variables.evidence import Evidence

LARGEST = 709.0
"""The largest logarithm of a float, rounded down."""


@dataclass(frozen=True, eq=False)
class Gradient:
    r"""The derivatives of $Z(\mathbf e)$ with respect to the relevant factors; barren factors are left out.

    Attributes:
        log_partition: $\log Z(\mathbf e)$.
        parts: by factor number, an array over the factor's whole scope and the logarithm of its scale.
    """

    log_partition: float
    parts: Mapping[int, tuple[Floats, float]] = field(repr=False)

    def relative(self, number: int, reference: float) -> Floats | None:
        r"""$A_i / e^{\text{reference}}$ for one factor, or None if the factor is barren."""
        if number not in self.parts:
            return None
        array, log_scale = self.parts[number]
        top = float(array.max(initial=0.0))
        if top == 0.0 or log_scale == -math.inf:
            return np.zeros_like(array)
        log_top = log_scale + math.log(top) - reference
        if log_top > LARGEST:
            raise NotApplicable(
                f"A derivative of the evidence's probability, relative to that, is about e^{log_top:.0f}, beyond "
                "floats: the evidence is nearly impossible. Vary the parameters of a model that explains it."
            )
        return np.asarray(array / top * math.exp(log_top))

    def direction(self, number: int) -> Floats | None:
        """One factor's derivatives scaled to sum to one, or None if all are zero."""
        array, log_scale = self.parts[number]
        total = float(array.sum())
        return None if total == 0.0 or log_scale == -math.inf else np.asarray(array / total)


class Derivatives:
    """The derivatives of one discrete problem, compiled once for each observed set.

    Args:
        problem: all its variables discrete.
        order: how elimination orders are chosen.
        memory: the largest number of bytes of a workspace.
        prune: False keeps barren factors, without assuming that they sum to one.

    Reference: Darwiche (2003).
    Guarantee: exact.
    Tested by: inference/compiled/test_gradients.py::test_derivatives_are_what_a_unit_of_an_entry_adds
    """

    def __init__(
        self, problem: Problem, order: OrderingMethod | None = None, memory: int = DEFAULT_MEMORY, *, prune: bool = True
    ) -> None:
        self.problem = problem
        self.order = Portfolio() if order is None else order
        self.memory = memory
        self._prune = prune
        self._questions: Cache[Question] = Cache(32)

    @lazy
    def _values(self) -> FactorValues:
        return FactorValues(self.problem, FactorStore.of(self.problem))

    def plan(self, observed: Iterable[int], touched: Iterable[int] = ()) -> EliminationPlan:
        """The plan of the forward sweep for this observed set; the reverse sweep about doubles its cost."""
        observed = tuple(observed)
        relevant = self.problem.relevant((), observed, touched=touched, constants=True, prune=self._prune)
        limit = max(self.memory, 1)  # a memory of zero is valid for methods that store nothing
        return make_plan(self.problem, relevant, method=self.order, observed=observed, limit=limit, has_tables=False)

    def gradient(self, evidence: Evidence, *, numbers: Container[int] | None = None) -> Gradient:
        """The derivatives at the evidence, in log space if some range is too wide for linear arithmetic.

        Args:
            evidence: the findings.
            numbers: the factors whose derivatives are wanted; None for all.

        Cost: one forward and one reverse sweep.
        Reference: Darwiche (2003), A differential approach to inference in Bayesian networks.
        """
        question = self.question(evidence)
        with run_tensors(question, self._values.holding(question.numbers), evidence) as run:
            return self._read(run, evidence, numbers)

    def question(self, evidence: Evidence) -> Question:
        """The compiled question about findings of these variables."""
        observed, touched = evidence.observed, tuple(sorted(evidence.weights))

        def make() -> Question:
            if len(self.problem.chains) or not are_loaded():
                refuse_minors(self.problem, (), observed, max(self.memory, 1))
            plan = self.plan(observed, touched)
            return compile_question(
                self._values.store.layout,
                plan,
                cards=self.problem.variables.cards,
                observed=observed,
                touched=touched,
                factors=True,
                memory=self.memory,
            )

        return self._questions.get((observed, touched), make)

    def _read(self, run: TensorRun, evidence: Evidence, numbers: Container[int] | None) -> Gradient:
        logs = _log_masses(run)
        root_of, adjoint_of = roots_of(run.question), adjoints_of(run.question)
        others = {root: math.fsum(log for r, log in logs.items() if r != root) for root in logs}
        rank = {v: r for r, v in enumerate(run.question.ids)}
        parts: dict[int, tuple[Floats, float]] = {}
        for place, number in enumerate(run.question.numbers.tolist()):
            if numbers is None or number in numbers:
                adjoint, root = adjoint_of[place], root_of.get(place + 1, place + 1)
                array, log_scale = run.scaled(adjoint)
                whole = self.spread(run.question, number, adjoint, array, evidence, rank)
                parts[number] = whole, log_scale + others[root]
        return Gradient(sum(logs.values()), parts)

    def spread(
        self, question: Question, number: int, adjoint: int, flat: Any, evidence: Evidence, rank: Mapping[int, int]
    ) -> Any:
        """An adjoint over its factor's whole scope: zero outside the findings."""
        made, scope = question.contraction, self.problem.scope(number)
        free = [v for v in scope if v in rank]
        own = set(made.scopes[adjoint])
        array = flat.reshape([made.cards[r] for r in made.scopes[adjoint]])
        ordered = sorted(free, key=lambda v: rank[v])
        array = array.reshape([made.cards[rank[v]] if rank[v] in own else 1 for v in ordered])
        array = array.transpose([ordered.index(v) for v in free])
        full = np.zeros([int(self.problem.variables.cards[v]) for v in scope], flat.dtype)
        full[tuple(slice(None) if v in rank else evidence.codes[v] for v in scope)] = array
        return full


def _log_masses(run: TensorRun) -> dict[int, float]:
    """The logarithm of each root; their sum is the log partition."""
    found = {}
    for root in run.question.contraction.roots:
        values, log_scale = run.scaled(root)
        mass = float(values.sum())
        found[root] = math.log(mass) + log_scale if mass > 0.0 else -math.inf
    return found


def roots_of(question: Question) -> dict[int, int]:
    """The root that each tensor of the forward sweep ends in, but for roots."""
    found = dict[int, int]()
    for result, first, second in list(question.contraction.steps)[: question.program.num_forward][::-1]:
        found[first] = found[second] = found.get(result, result)
    return found


def adjoints_of(question: Question) -> list[int]:
    """For each factor the tensor of its derivatives, whose product with it is its marginal."""
    operands = {result: (first, second) for result, first, second in question.contraction.steps}
    found = []
    for tensor, home in enumerate(question.factor_homes, start=1):
        if home == tensor:
            found.append(ONE)
            continue
        first, second = operands[home]
        found.append(second if first == tensor else first)
    return found


def factor_marginals(run: TensorRun, store: FactorStore, evidence: Evidence) -> Floats:
    """The marginal over every factor's scope, in the layout of the store; observed variables are point masses."""
    question, flat = run.question, np.zeros(len(store.values))
    if len(question.numbers):
        cells, sizes = question.cells.get((), lambda: _cells(question, store))
        flat[cells + np.repeat(_shifts(store, evidence)[question.numbers], sizes)] = run.factor_marginals()
    return flat


def _cells(question: Question, store: FactorStore) -> tuple[Ints, Ints]:
    """The places in the store of each factor's entries, with observed variables in their first state, and how many."""
    found = []
    for place, number in enumerate(question.numbers.tolist()):
        strides, cells = store.strides[number], store.layout.offsets[number : number + 1]
        for r in question.contraction.scopes[place + 1]:
            states = np.arange(question.contraction.cards[r])
            cells = (cells[:, None] + strides[question.ids[r]] * states).reshape(-1)
        found.append(cells)
    return np.concatenate(found), np.fromiter(map(len, found), np.int64, len(found))


def _shifts(store: FactorStore, evidence: Evidence) -> Ints:
    """How far the entries of each factor at the findings are from those at the first states."""
    start, members, strides = store.rows
    codes = np.zeros(int(members.max(initial=-1)) + 1, np.int64)
    near = {v: code for v, code in evidence.codes.items() if v < len(codes)}
    codes[list(near)] = list(near.values())
    before = np.append(0, np.cumsum(strides * codes[members]))
    return np.asarray(before[start[1:]] - before[start[:-1]])
