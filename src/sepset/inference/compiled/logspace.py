"""Compiled questions asked in logarithms: the same program, where no common scale can hold the numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from sepset.base.arraytypes import Bytes, Floats
from sepset.base.cache import Slot
from sepset.base.threads import interruptible
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.inference.compiled.question import LONG, NEVER, NOTHING, Question, Run
from sepset.inference.compiled.store import SAFE_BITS, FactorStore
from sepset.problem import Problem
from sepset.variables.evidence import Evidence

T = TypeVar("T")

SLOWER = 30
"""How much longer a multiplication takes in logarithms."""


@dataclass(frozen=True, slots=True, eq=False)
class LogStore:
    """The logarithms of every factor's entries, laid out as a `FactorStore` is; zeros are minus infinity."""

    values: Floats = field(repr=False)

    @classmethod
    def of(cls, problem: Problem) -> LogStore:
        """The logarithms of an all-discrete problem: made when first needed, and kept with it."""
        return problem.kept.get(LOG_STORE, lambda: cls._made(problem))

    @classmethod
    def _made(cls, problem: Problem) -> LogStore:
        parts = []
        for factor in problem.factors():
            table = factor.to_table() if isinstance(factor, SparseTable) else factor
            assert isinstance(table, Table)
            parts.append(table.log_values.reshape(-1))
        return cls(np.concatenate(parts) if parts else np.zeros(0))


LOG_STORE: Slot[LogStore] = Slot("the logarithms of every factor's numbers")


@dataclass(frozen=True, slots=True, eq=False)
class LogRun:
    """A question's workspace of logarithms after a run."""

    question: Question
    workspace: Floats = field(repr=False)

    @property
    def is_log(self) -> bool:
        """Tensors hold logarithms."""
        return True

    def tensor(self, number: int) -> Floats:
        """The logarithms of one tensor's entries, flat."""
        start = int(self.question.program.offsets[number])
        return self.workspace[start : start + int(self.question.contraction.sizes[number])]

    def scaled(self, number: int) -> tuple[Floats, float]:
        """The entries of one tensor over the largest, flat, and the logarithm of that."""
        logs = self.tensor(number)
        top = float(logs.max())
        return (np.exp(logs - top), top) if top > -np.inf else (np.zeros(len(logs)), 0.0)

    @property
    def log_partition(self) -> float:
        """The logarithm of the product of the roots, summed over what is kept."""
        return float(sum(self._normalized(int(t))[1] for t in self.question.contraction.roots))

    def joint(self) -> Floats:
        """The normalized joint over what is kept, flat in rank order."""
        return self._normalized(int(self.question.contraction.roots[0]))[0]

    def factor_marginal(self, number: int) -> Floats:
        """The normalized marginal over the free variables of a relevant factor, flat in rank order."""
        return self._normalized(self.question.factor_homes[number])[0]

    def singles(self, evidence: Evidence) -> Floats:
        """All single marginals, normalized, end to end as the question's places say; findings are point masses."""
        places = self.question.places
        found = np.zeros(self.question.width)
        for v, tensor in self.question.singles.items():
            found[places[v]] = self._normalized(tensor)[0]
        for v in self.question.observed:
            found[places[v]][evidence.codes[v]] = 1.0
        found.setflags(write=False)
        return found

    def _normalized(self, tensor: int) -> tuple[Floats, float]:
        """A tensor as a distribution, and the logarithm of its total."""
        from sepset.kernels.compiled.logspace import normalize_log

        starts = np.array([0, self.question.contraction.sizes[tensor]], dtype=np.int64)
        values, totals = normalize_log(self.workspace, self.question.program.offsets[tensor : tensor + 1], starts)
        return values, float(totals[0])


Finished = Run | LogRun
"""A question's workspace after a run, in either space."""


def ask(
    question: Question, store: FactorStore, problem: Problem, evidence: Evidence, read: Callable[[Finished], T]
) -> T:
    """What `read` finds after a run: in logarithms where some range is too wide for linear numbers."""
    if is_linear(store, evidence):
        found = question.ask(store, evidence, lambda run: None if run.is_wide else (read(run),))
        if found is not None:
            return found[0]
    return ask_log(question, problem, evidence, read)


def ask_marginals(question: Question, store: FactorStore, problem: Problem, evidence: Evidence) -> tuple[float, Floats]:
    """The log partition, and every target's marginal end to end as the question's places say."""
    if is_linear(store, evidence):
        log_partition, values, is_wide = question.marginals(store, evidence)
        if not is_wide:
            return log_partition, values
    return ask_log(question, problem, evidence, lambda run: (run.log_partition, run.singles(evidence)))


def is_linear(store: FactorStore, evidence: Evidence) -> bool:
    """Whether all numbers leave linear products room, as far as can be told before a run."""
    return store.is_safe and (not evidence.weights or all(map(_is_safe, evidence.weights.values())))


def _is_safe(weights: Floats) -> bool:
    """Whether likelihoods leave linear products room, as the factors must."""
    positive = [weight for weight in weights.tolist() if weight > 0.0]
    return not positive or min(positive) > max(positive) * 2.0**-SAFE_BITS


def ask_log(question: Question, problem: Problem, evidence: Evidence, read: Callable[[LogRun], T]) -> T:
    """What `read` finds after a run in logarithms with these findings."""
    from sepset.kernels.compiled.logspace import execute_log

    logs = LogStore.of(problem).values
    w = _filled(question, logs if question.states is None else logs[question.states.cells], evidence)
    program = question.program

    def run(cancel: Bytes) -> None:
        execute_log(w, program.ops, program.groups, question.maximize, cancel)

    if program.work > LONG // SLOWER:
        interruptible(run)
    else:
        run(np.zeros(1, dtype=np.uint8))
    return read(LogRun(question, w))


def _filled(question: Question, logs: Floats, evidence: Evidence) -> Floats:
    """A workspace with the factors at the findings, the likelihoods, and zero for what is always one."""
    from sepset.kernels.compiled import contraction as kernels

    program = question.program
    w, blank = np.empty(program.size), np.zeros(2, dtype=np.int64)
    w[0] = w[question.free] = 0.0
    codes, dirty = question.codes(evidence), np.ones(program.num_tensors, dtype=np.uint8)
    copied = program.rows, program.copies, program.fixed, codes, codes, dirty
    rest = program.ops[:0], program.groups, blank, blank, False, NEVER, NOTHING, NOTHING, w[:0]
    kernels.run(w, logs, *copied, *rest)
    with np.errstate(divide="ignore"):
        for place, v in enumerate(question.touched, start=len(question.numbers) + 1):
            start = int(program.offsets[place])
            w[start : start + len(evidence.weights[v])] = np.log(evidence.weights[v])
    return w
