"""The log-space executor: the same program for values that no common scale can represent."""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Floats
from sepset.base.threads import NEVER, interruptible, spend, work_left
from sepset.inference import costs
from sepset.inference.compiled.dense import NO_READS, NO_SPANS, NOTHING
from sepset.inference.compiled.question import Question
from sepset.inference.compiled.run import TensorRun
from sepset.inference.compiled.store import FactorValues
from sepset.variables.evidence import Evidence


class LogRun(TensorRun):
    """A question's workspace of logarithms after a run."""

    __slots__ = ("_evidence", "_workspace", "log_partition", "question")

    is_log = True

    def __init__(self, question: Question, workspace: Floats, evidence: Evidence) -> None:
        self.question = question
        self._workspace = workspace
        self._evidence = evidence
        self.log_partition = self._log_product()

    def __exit__(self, *_: object) -> None:
        """Nothing to return: the workspace belongs to the run."""

    def tensor(self, number: int) -> Floats:
        """The logarithms of one tensor's entries, flat."""
        start = int(self.question.program.offsets[number])
        return self._workspace[start : start + int(self.question.contraction.sizes[number])]

    def scaled(self, number: int) -> tuple[Floats, float]:
        """The entries of one tensor divided by the largest, flat, and the logarithm of the largest."""
        logs = self.tensor(number)
        top = float(logs.max())
        return (np.exp(logs - top), top) if top > -np.inf else (np.zeros(len(logs)), 0.0)

    def joint(self) -> Floats:
        """The normalized joint over the kept variables, flat in rank order."""
        return self._normalized(int(self.question.contraction.roots[0]))[0]

    def _log_product(self) -> float:
        """The logarithm of the product of the totals of all roots; those with one entry are read together."""
        contraction = self.question.contraction
        is_single = contraction.sizes[contraction.roots] == 1
        singles = self._workspace[self.question.program.offsets[contraction.roots[is_single]]]
        return float(singles.sum() + sum(self._log_total(int(t)) for t in contraction.roots[~is_single]))

    def _log_total(self, tensor: int) -> float:
        """The logarithm of a tensor's total, without a copy of it."""
        logs = self.tensor(tensor)
        top, step = float(logs.max()), costs.ENTRIES_TAKEN
        if top == -np.inf:
            return top
        parts = (logs[first : first + step] for first in range(0, len(logs), step))
        return top + float(np.log(sum(float(np.exp(part - top).sum()) for part in parts)))

    def log_joint(self) -> Floats:
        """The logarithms of the normalized joint over the kept variables, flat in rank order: once, in its place."""
        root = int(self.question.contraction.roots[0])
        logs = self.tensor(root)
        logs -= self._log_total(root)
        return logs

    def log_singles(self) -> Floats:
        """The logarithms of all single marginals, concatenated at the question's `places`."""
        places = self.question.places
        found = np.full(self.question.width, -np.inf)
        if self.log_partition == -np.inf:
            return found
        for v, tensor in self.question.singles.items():
            found[places[v]] = self.tensor(tensor) - self._normalized(tensor)[1]
        for v in self.question.observed:
            found[places[v]][self._evidence.codes[v]] = 0.0
        return found

    def factor_marginal(self, number: int) -> Floats:
        """The normalized marginal over the free variables of a relevant factor, flat in rank order."""
        return self._normalized(self.question.factor_homes[number])[0]

    def singles(self) -> Floats:
        """All single marginals, concatenated at the question's `places`; findings are point masses."""
        places = self.question.places
        found = np.zeros(self.question.width)
        for v, tensor in self.question.singles.items():
            found[places[v]] = self._normalized(tensor)[0]
        for v in self.question.observed:
            found[places[v]][self._evidence.codes[v]] = 1.0
        found.setflags(write=False)
        return found

    def _normalized(self, tensor: int) -> tuple[Floats, float]:
        """A tensor as a distribution, and the logarithm of its total."""
        from sepset.kernels.compiled.logspace import normalize_log

        starts = np.array([0, self.question.contraction.sizes[tensor]], dtype=np.int64)
        values, totals = normalize_log(self._workspace, self.question.program.offsets[tensor : tensor + 1], starts)
        return values, float(totals[0])


def run_log(question: Question, values: FactorValues, evidence: Evidence, *, is_late: bool = False) -> LogRun:
    """A run of the question in log space with these findings.

    Args:
        is_late: whether a long run came before, so that it is too late for a refusal.
    """
    from sepset.kernels.compiled.logspace import execute_log

    work = costs.NANOSECONDS_PER_LOG_PRODUCT * question.program.work
    spend(min(work, work_left()) if is_late else work)
    w, program = _filled(question, values.logs, evidence), question.program

    def run(cancel: Bytes) -> None:
        execute_log(w, program.ops, program.groups, question.maximize, cancel)

    if program.work > costs.WORK_UNINTERRUPTED // costs.LOG_SLOWDOWN:
        interruptible(run)
    else:
        run(NEVER)
    return LogRun(question, w, evidence)


def _filled(question: Question, logs: Floats, evidence: Evidence) -> Floats:
    """A workspace of logarithms with the factors at the findings, the likelihoods, and zero for tensors of ones."""
    from sepset.kernels.compiled import contraction as kernels

    program = question.program
    w, blank = np.empty(max(program.size, program.whole)), np.zeros(2, dtype=np.int64)
    w[0] = w[question.free] = 0.0
    codes, dirty = question.codes(evidence), np.ones(program.num_tensors, dtype=np.uint8)
    copied = program.rows, program.copies, program.fixed, codes, codes, dirty
    rest = program.ops[:0], program.groups, blank, blank, NO_SPANS, False, NEVER, NO_READS, NO_READS, NOTHING
    kernels.run(w, logs, *copied, *rest)
    with np.errstate(divide="ignore"):
        for place, v in enumerate(question.touched, start=len(question.numbers) + 1):
            start = int(program.offsets[place])
            w[start : start + len(evidence.weights[v])] = np.log(evidence.weights[v])
    return w
