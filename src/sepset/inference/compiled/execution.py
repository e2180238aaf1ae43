"""The choice of an executor: dense tables, supports, or log space.

Every executor takes a question, the factor values of a problem and findings, and returns a run with the same answers.
"""

from __future__ import annotations

from sepset.base.arraytypes import Floats
from sepset.inference import costs
from sepset.inference.compiled.dense import run_dense
from sepset.inference.compiled.logspace import run_log
from sepset.inference.compiled.question import Question
from sepset.inference.compiled.run import Run, TensorRun
from sepset.inference.compiled.store import SAFE_BITS, FactorStore, FactorValues
from sepset.inference.compiled.supports import Supports
from sepset.variables.evidence import Evidence


def run_tensors(question: Question, values: FactorValues, evidence: Evidence, *, threads: int | None = 1) -> TensorRun:
    """A run of the question with these findings, in log space if some range is too wide for linear arithmetic.

    Args:
        threads: the number of threads that share a large step; None for one per processor.
    """
    return _run(question, values, evidence, reads_tensors=True, threads=threads)


def run(
    question: Question, values: FactorValues, evidence: Evidence, supports: Supports | None, *, threads: int | None = 1
) -> Run:
    """The same for a joint or single marginals: over supports if that program is faster."""
    if supports is not None and is_linear(values.store, evidence):
        program = supports.program(question)
        found = None if program is None else program.run(values, evidence)
        if found is not None and not found.is_wide:
            return found
    return _run(question, values, evidence, reads_tensors=False, threads=threads)


def _run(
    question: Question, values: FactorValues, evidence: Evidence, *, reads_tensors: bool, threads: int | None
) -> TensorRun:
    """A run over dense tables: linear where the values allow it, otherwise in log space."""
    if is_linear(values.store, evidence):
        run = run_dense(question, values, evidence, reads_tensors=reads_tensors, threads=threads)
        if not run.is_wide:
            return run
        del run  # and its workspace, before there is another
        is_late = question.nanoseconds > costs.NANOSECONDS_OF_A_SEARCH
        return run_log(question, values, evidence, is_late=is_late)
    return run_log(question, values, evidence)


def is_linear(store: FactorStore, evidence: Evidence) -> bool:
    """Whether all values leave room for linear products, as far as is known before a run."""
    return store.is_safe and (not evidence.weights or all(map(_is_safe, evidence.weights.values())))


def _is_safe(weights: Floats) -> bool:
    """Whether likelihoods leave room for linear products."""
    positive = [weight for weight in weights.tolist() if weight > 0.0]
    return not positive or min(positive) > max(positive) * 2.0**-SAFE_BITS
