"""Incremental EM: the rows in parts, each with the statistics of its last visit."""

from __future__ import annotations

import numpy as np

from sepset.learning.blocks import FlatStatistics
from sepset.learning.incomplete.run import EMTask, Iterate
from sepset.models.bayesnet import BayesNet


def dealt(task: EMTask, model: BayesNet, parts: int) -> Iterate:
    """The iterate at these parameters, with the rows divided into parts."""
    visits = tuple(_visit(task, model, part, parts) for part in range(parts))
    return _joined(task, model, visits)


def one_pass(task: EMTask, state: Iterate) -> Iterate:
    """Each part in turn visited at the newest parameters, followed by estimates from all."""
    visits, model = list(state.memory), state.model
    for part in range(len(visits)):
        model = task.expectation.blocks.maximize(model, _total(visits), task.terms)
        visits[part] = _visit(task, model, part, len(visits))
    return _joined(task, model, tuple(visits))


def _visit(task: EMTask, model: BayesNet, part: int, parts: int) -> tuple[FlatStatistics, float]:
    r"""The statistics of one part, and the entropy $H(Q)$ of its completions as far as the free energy needs it."""
    num_rows = len(task.expectation.weights)
    rows = np.flatnonzero(np.random.default_rng(num_rows).permutation(num_rows) % parts == part)
    found = task.expectation.expect(model, rows)
    return found.statistics, found.log_likelihood - task.expectation.blocks.score(model, found.statistics)


def _joined(task: EMTask, model: BayesNet, visits: tuple[tuple[FlatStatistics, float], ...]) -> Iterate:
    total = _total(visits)
    energy = task.expectation.blocks.score(model, total) + sum(entropy for _, entropy in visits)
    return task.iterate(model, total, energy, memory=visits)


def _total(visits: tuple[tuple[FlatStatistics, float], ...] | list[tuple[FlatStatistics, float]]) -> FlatStatistics:
    return tuple(np.sum(arrays, axis=0) for arrays in zip(*(stats for stats, _ in visits), strict=True))
