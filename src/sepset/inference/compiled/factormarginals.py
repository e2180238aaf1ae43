r"""Marginals over the scopes of factors: the gradient of the log partition function.

$$\frac{\partial \log Z}{\partial \log \phi(\mathbf u)} = P(\mathbf u \mid \mathbf e)$$
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.inference.compiled.logspace import Finished
from sepset.inference.compiled.store import FactorStore
from sepset.inference.exact.messages import Calibration
from sepset.inference.method import dense
from sepset.problem import Problem
from sepset.variables.evidence import Evidence


def from_run(run: Finished, store: FactorStore, evidence: Evidence) -> Floats:
    """The factor marginals after a run, laid out as the store is; observed variables are point masses."""
    question = run.question
    flat = np.zeros(len(store.values))
    for place, number in enumerate(question.plan.relevant.factors):
        scope = question.contraction.scopes[place + 1]
        cards = [question.contraction.cards[r] for r in scope]
        cells = _cells(store, number, [question.ids[r] for r in scope], cards, evidence)
        flat[cells] = run.factor_marginal(place)
    return flat


def from_calibration(calibration: Calibration, problem: Problem, store: FactorStore, evidence: Evidence) -> Floats:
    """The same from a calibrated tree of factors."""
    flat = np.zeros(len(store.values))
    for number, strides in enumerate(store.strides):
        free = [v for v in strides if v not in evidence.codes]
        cards = [int(problem.variables.cards[v]) for v in free]
        cells = _cells(store, number, free, cards, evidence)
        if not free:
            flat[cells] = 1.0
            continue
        found = dense(calibration.marginal([problem.variables[v].name for v in free]))
        flat[cells] = found.align([problem.variables[v] for v in free]).values.reshape(-1)
    return flat


def _cells(store: FactorStore, number: int, free: Sequence[int], cards: Sequence[int], evidence: Evidence) -> Floats:
    """Where the free part of a factor lies in the store, in C order of `free`."""
    strides = store.strides[number]
    fixed = sum(stride * evidence.codes[v] for v, stride in strides.items() if v in evidence.codes)
    cells = np.array([int(store.offsets[number]) + fixed])
    for v, card in zip(free, cards, strict=True):
        cells = (cells[:, None] + strides[v] * np.arange(card)).reshape(-1)
    return cells
