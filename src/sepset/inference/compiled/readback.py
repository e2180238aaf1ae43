"""Back-substitution after a forward sweep, root first: modes, or draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.inference.compiled.run import TensorRun

SAFE_PARTS = 2
"""Tensors whose product stays within the range of floats; a zero in a larger product may be none."""

Choose = Callable[[Floats, Ints], Ints]
"""From weights (one row per distinct context) and the context of each row, a joint code for each row."""


def read_back(run: TensorRun, num_rows: int, choose: Choose) -> dict[int, Ints]:
    """A code for every eliminated rank and row, cliques in distribute order.

    Reference: Koller & Friedman 13.2, 12.1.
    Guarantee: exact.
    Tested by: inference/compiled/test_readback.py::test_draws_follow_the_posterior
    """
    question = run.question
    made, tree = question.contraction, question.tree
    residuals: list[list[int]] = [[] for _ in tree.sepsets]
    for r, group in enumerate(tree.group):
        if group >= 0:
            residuals[group].append(r)
    columns: dict[int, Ints] = {}
    for group in reversed(range(len(tree.sepsets))):
        context, which = _contexts(columns, tree.sepsets[group], made.cards, num_rows)
        weights = _weights(run, made.inboxes[group], residuals[group], context)
        joint = choose(weights.reshape(len(weights), math.prod(weights.shape[1:])), which)
        for r in reversed(residuals[group]):
            joint, columns[r] = np.divmod(joint, made.cards[r])
    return columns


def _contexts(
    columns: dict[int, Ints], sepset: Sequence[int], cards: Sequence[int], num_rows: int
) -> tuple[dict[int, Ints], Ints]:
    """The distinct joint codes of a sepset over the rows, and which of them each row has."""
    place = np.zeros(num_rows, dtype=np.int64)
    for r in sepset:
        place = place * cards[r] + columns[r]
    _, first, which = np.unique(place, return_index=True, return_inverse=True)
    return {r: columns[r][first] for r in sepset}, which


def _weights(run: TensorRun, inbox: Sequence[int], residual: Sequence[int], context: dict[int, Ints]) -> Floats:
    """The product of a clique's tensors at each context, over its residual variables; the largest is one."""
    made = run.question.contraction
    count = len(next(iter(context.values()))) if context else 1
    shape = (count, *(made.cards[r] for r in residual))
    if not run.is_log:
        weights = np.ones(shape)
        for tensor in inbox:
            weights = _scaled(weights * _part(run, tensor, residual, context))
        if len(inbox) <= SAFE_PARTS or weights.all():
            return weights
    logs = np.zeros(shape)
    with np.errstate(divide="ignore"):
        for tensor in inbox:
            part = _part(run, tensor, residual, context)
            logs = logs + (part if run.is_log else np.log(part))
    return _exponentials(logs)


def _part(run: TensorRun, tensor: int, residual: Sequence[int], context: dict[int, Ints]) -> Floats:
    """One of a clique's tensors at each context, with an axis for each residual variable."""
    made = run.question.contraction
    scope = made.scopes[tensor]
    known = [i for i, r in enumerate(scope) if r in context]
    free = [i for i, r in enumerate(scope) if r not in context]
    array = run.tensor(tensor).reshape([made.cards[r] for r in scope]).transpose(known + free)
    part = array[tuple(context[scope[i]] for i in known)] if known else array[None]
    own = {scope[i] for i in free}
    return part.reshape(len(part), *(made.cards[r] if r in own else 1 for r in residual))


def _scaled(weights: Floats) -> Floats:
    """The weights divided by the largest of their context, which keeps products in range; zeros if all are zero."""
    top = weights.max(axis=tuple(range(1, weights.ndim)), keepdims=True)
    return np.asarray(weights / np.where(top > 0, top, 1.0))


def _exponentials(logs: Floats) -> Floats:
    """The same from logarithms."""
    top = logs.max(axis=tuple(range(1, logs.ndim)), keepdims=True)
    return np.asarray(np.exp(logs - np.where(top > -np.inf, top, 0.0)))


def modes(weights: Floats, which: Ints) -> Ints:
    """The joint code of largest weight; ties go to the lowest."""
    return np.asarray(weights.argmax(axis=1)[which], dtype=np.int64)


def drawer(rng: np.random.Generator) -> Choose:
    """A `Choose` that draws joint codes in proportion to their weights."""

    def draw(weights: Floats, which: Ints) -> Ints:
        cumulative = np.cumsum(weights, axis=1)
        uniform = rng.random(len(which)) * cumulative[which, -1]
        if weights.shape[0] == 1:
            joint = np.searchsorted(cumulative[0], uniform, side="right")
        else:
            joint = _search_rows(cumulative, which, uniform)
        last = _last_positive(weights)
        return np.asarray(np.minimum(joint, last[which]), dtype=np.int64)

    return draw


def _search_rows(cumulative: Floats, which: Ints, values: Floats) -> Ints:
    """For each value the number of entries of its row that are at most it, by bisection on all rows at once."""
    low = np.zeros(len(which), dtype=np.int64)
    high = np.full(len(which), cumulative.shape[1] - 1, dtype=np.int64)
    for _ in range(math.ceil(math.log2(max(cumulative.shape[1], 2))) + 1):
        middle = (low + high) // 2
        right = cumulative[which, middle] <= values
        low = np.where(right & (low < high), middle + 1, low)
        high = np.where(right, high, middle)
    return low


def _last_positive(weights: Floats) -> Ints:
    return np.asarray(weights.shape[1] - 1 - (weights[:, ::-1] > 0).argmax(axis=1), dtype=np.int64)
