"""How a question runs: over dense tables, over supports alone, or in logarithms; chosen here and nowhere else.

Every executor takes a question, the numbers of a problem and findings, and makes a run; none changes an answer.
"""

from __future__ import annotations

from sepset.base.arraytypes import Floats
from sepset.inference.compiled.dense import run_dense
from sepset.inference.compiled.logspace import run_log
from sepset.inference.compiled.question import Question
from sepset.inference.compiled.run import Run, TensorRun
from sepset.inference.compiled.store import SAFE_BITS, FactorStore, Numbers
from sepset.inference.compiled.supports import Supports
from sepset.variables.evidence import Evidence


def run_tensors(question: Question, numbers: Numbers, evidence: Evidence) -> TensorRun:
    """The question run with these findings: in logarithms where some range is too wide for linear numbers."""
    if is_linear(numbers.store, evidence):
        run = run_dense(question, numbers, evidence)
        if not run.is_wide:
            return run
    return run_log(question, numbers, evidence)


def run(question: Question, numbers: Numbers, evidence: Evidence, supports: Supports | None) -> Run:
    """The same for a joint or single marginals: also over supports, where these make a program that is faster."""
    if supports is not None and is_linear(numbers.store, evidence):
        program = supports.program(question)
        if program is not None:
            found = program.run(numbers, evidence)
            return run_log(question, numbers, evidence) if found.is_wide else found
    return run_tensors(question, numbers, evidence)


def is_linear(store: FactorStore, evidence: Evidence) -> bool:
    """Whether all numbers leave linear products room, as far as can be told before a run."""
    return store.is_safe and (not evidence.weights or all(map(_is_safe, evidence.weights.values())))


def _is_safe(weights: Floats) -> bool:
    """Whether likelihoods leave linear products room, as the factors must."""
    positive = [weight for weight in weights.tolist() if weight > 0.0]
    return not positive or min(positive) > max(positive) * 2.0**-SAFE_BITS
