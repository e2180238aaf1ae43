"""Back-substitution after a forward sweep, root first: modes, or draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial, reduce

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.threads import NEVER, interruptible
from sepset.inference import costs
from sepset.inference.compiled.contraction import Choice, Ranks, Traceback
from sepset.inference.compiled.dense import DenseRun
from sepset.inference.compiled.run import TensorRun
from sepset.kernels.compiled import modes as kernels
from sepset.kernels.compiled.modes import SAFE_PARTS, TIED

Choose = Callable[[Floats, Ints], Ints]
"""From weights (one row per distinct context) and the context of each row, a joint code for each row."""


def most_probable(run: TensorRun) -> list[int]:
    """A code for every rank: one most probable assignment after a sweep of maxima.

    Of equal ones (but for rounding), that with the lowest state of the variable eliminated last, then of the one before
    it, and so on; the same by loops or by arrays, in parts or at once. Only a clique with ties and more joint states
    than are worth comparing is read by the steps of its contraction, the lowest states of each.

    Cost: one pass over the tensors of each choice at the codes chosen before.
    Reference: Koller & Friedman 13.2.
    Guarantee: exact.
    Tested by: inference/compiled/test_readback.py::test_modes_attain_the_maximum
    """
    question = run.question
    if isinstance(run, DenseRun):
        codes, is_in_range, is_tied = _by_loops(run, question.traceback)
        if is_tied:
            codes, is_in_range, _ = _by_loops(run, question.tied_traceback)
        if is_in_range:
            found: list[int] = codes.tolist()
            return found
    columns = read_back(run, 1, modes, maximize=True)
    return [int(columns[r][0]) for r in range(len(columns))]


def _by_loops(run: DenseRun, plan: Traceback) -> tuple[Ints, bool, bool]:
    """The codes, whether all products were in range, and whether a tie ended it."""
    question, made = run.question, run.question.contraction
    parts = run.workspace, question.program.offsets, made.bounds, made.pool, made.weights, *plan
    if plan.passes <= costs.WORK_UNINTERRUPTED:
        found: tuple[Ints, bool, bool] = kernels.most_probable(*parts, NEVER)
        return found
    return interruptible(partial(kernels.most_probable, *parts))


def read_back(run: TensorRun, num_rows: int, choose: Choose, *, maximize: bool) -> dict[int, Ints]:
    """A code for every eliminated rank and row, cliques in distribute order.

    Args:
        maximize: whether the weight of several joint states together is the largest of theirs, or their sum.

    Cost: one pass over the tensors of a choice for each distinct context; in memory, a few million numbers.
    Reference: Koller & Friedman 13.2, 12.1.
    Guarantee: exact.
    Tested by: inference/compiled/test_readback.py::test_draws_follow_the_posterior
    """
    cards = run.question.contraction.cards
    columns: dict[int, Ints] = {}
    for choice in run.question.mode_choices if maximize else run.question.choices:
        context, which = _contexts(columns, choice.scope, cards, num_rows)
        joint = _chosen(run, choice, context, which, choose, maximize)
        for r in reversed(choice.residual):
            joint, columns[r] = np.divmod(joint, cards[r])
    return columns


def _chosen(
    run: TensorRun, choice: Choice, context: dict[int, Ints], which: Ints, choose: Choose, maximize: bool
) -> Ints:
    """The joint code of each row, by blocks of contexts; context by context if each has many joint states."""
    size = run.question.contraction.size(choice.residual)
    num = len(next(iter(context.values()))) if context else 1
    if size > costs.STATES_READ_BY_CLIQUE:
        joint = np.empty(len(which), dtype=np.int64)
        for i in range(num):
            rows = np.flatnonzero(which == i)
            parts = _Parts(run, choice, {r: int(codes[i]) for r, codes in context.items()})
            joint[rows] = parts.chosen(len(rows), choose, maximize)
        return joint
    block = max(1, costs.ENTRIES_READ_AT_ONCE // size)
    if num <= block:
        return choose(_weights(run, choice, context, num).reshape(num, size), which)
    joint, by_context = np.empty(len(which), dtype=np.int64), np.argsort(which, kind="stable")
    bounds = np.searchsorted(which[by_context], [*range(0, num, block), num])
    for i, first in enumerate(range(0, num, block)):
        rows, end = by_context[bounds[i] : bounds[i + 1]], min(first + block, num)
        some = {r: codes[first:end] for r, codes in context.items()}
        weights = _weights(run, choice, some, end - first).reshape(end - first, size)
        joint[rows] = choose(weights, which[rows] - first)
    return joint


def _contexts(
    columns: dict[int, Ints], sepset: Sequence[int], cards: Sequence[int], num_rows: int
) -> tuple[dict[int, Ints], Ints]:
    """The distinct joint codes of a sepset over the rows, and which of them each row has."""
    place = np.zeros(num_rows, dtype=np.int64)
    for r in sepset:
        place = place * cards[r] + columns[r]
    one, which = distinct_places(place, math.prod(cards[r] for r in sepset))
    return {r: columns[r][one] for r in sepset}, which


def distinct_places(numbers: Ints, bound: int) -> tuple[Ints, Ints]:
    """A place of each distinct number, in the order of the numbers, and which of them each place holds.

    Numbers below a bound that is not much larger than their count are marked instead of sorted.

    >>> distinct_places(np.array([7, 5, 7]), 8)[1].tolist()
    [1, 0, 1]
    """
    if bound > 4 * len(numbers):
        _, first, which = np.unique(numbers, return_index=True, return_inverse=True)
        return first, which
    place = np.full(bound, -1, np.int64)
    place[numbers] = np.arange(len(numbers))
    found = np.flatnonzero(place >= 0)
    rank = np.empty(bound, np.int64)
    rank[found] = np.arange(len(found))
    return place[found], rank[numbers]


class _Parts:
    """The joint states of a choice in one context in parts, one for each state of the first variables.

    Only the weights of one part are in memory at a time: first for its total, then again for the choice within it.
    """

    def __init__(self, run: TensorRun, choice: Choice, context: dict[int, int]) -> None:
        cards = [run.question.contraction.cards[r] for r in choice.residual]
        most = costs.STATES_READ_BY_CLIQUE
        first = next(i for i in range(len(cards)) if i + 1 == len(cards) or math.prod(cards[i:]) <= most)
        self._head, self._tail = cards[:first], cards[first:]
        self._is_log = run.is_log or len(choice.tensors) > SAFE_PARTS
        self._takes_logs = self._is_log and not run.is_log
        self._tensors = [self._at(run, t, choice.residual, context) for t in choice.tensors]

    def _at(self, run: TensorRun, tensor: int, residual: Ranks, context: dict[int, int]) -> Floats:
        """A view of one tensor in the context, with an axis for each residual variable."""
        made = run.question.contraction
        scope = made.scopes[tensor]
        array = run.tensor(tensor).reshape([made.cards[r] for r in scope])
        own = array[tuple([context.get(r, slice(None)) for r in scope])]
        free = [r for r in scope if r not in context]
        own = own.transpose([free.index(r) for r in residual if r in free])
        return own.reshape([made.cards[r] if r in free else 1 for r in residual])

    def chosen(self, num_rows: int, choose: Choose, maximize: bool) -> Ints:
        """The joint code of each row."""
        total = np.max if maximize else _log_sum if self._is_log else np.sum
        totals = np.array([total(self._part(i)) for i in range(math.prod(self._head))])
        parts = choose(self._positive(totals), np.zeros(num_rows, dtype=np.int64))
        joint = np.empty(num_rows, dtype=np.int64)
        for i in np.unique(parts).tolist():
            rows = np.flatnonzero(parts == i)
            within = choose(self._positive(self._part(i)), np.zeros(len(rows), dtype=np.int64))
            joint[rows] = i * math.prod(self._tail) + within
        return joint

    def _part(self, number: int) -> Floats:
        """The products of one part, or their logarithms."""
        codes = np.unravel_index(number, self._head) if self._head else ()
        found: Floats = np.zeros(()) if self._is_log else np.ones(())
        for tensor in self._tensors:
            there = tensor[tuple(int(c) if size > 1 else 0 for c, size in zip(codes, tensor.shape, strict=False))]
            if self._takes_logs:
                with np.errstate(divide="ignore"):
                    there = np.log(there)
            found = found + there if self._is_log else found * there
        return np.broadcast_to(found, self._tail).reshape(-1)

    def _positive(self, weights: Floats) -> Floats:
        return (np.exp(weights - _largest(weights[None], -np.inf)[0]) if self._is_log else weights)[None]


def _log_sum(logs: Floats) -> float:
    top = float(logs.max())
    return top if top == -np.inf else top + float(np.log(np.exp(logs - top).sum()))


def _weights(run: TensorRun, choice: Choice, context: dict[int, Ints], num: int) -> Floats:
    """The product of a choice's tensors at each of `num` contexts, over its residual variables; in range.

    Arrays have few axes: there is none for a variable of one state.
    """
    cards = run.question.contraction.cards
    residual = [r for r in choice.residual if cards[r] > 1]
    whole = (num, *(cards[r] for r in residual))
    if not choice.tensors:
        return np.ones(whole)
    parts = [_part(run, tensor, residual, context) for tensor in choice.tensors]
    if not run.is_log:
        weights = parts[0]
        for part in parts[1:]:
            weights = weights * part
            if len(parts) > SAFE_PARTS:
                weights = np.ldexp(weights, -np.frexp(_largest(weights, 0.0))[1])
        if len(parts) <= SAFE_PARTS or weights.all() or not _is_lost(weights, parts):
            return np.broadcast_to(weights, whole)
    with np.errstate(divide="ignore"):
        logs = reduce(np.add, parts if run.is_log else map(np.log, parts))
    return np.broadcast_to(np.exp(logs - _largest(logs, -np.inf)), whole)


def _is_lost(weights: Floats, parts: Sequence[Floats]) -> bool:
    """Whether some product is zero although none of its factors is."""
    return bool((reduce(np.logical_and, [part != 0.0 for part in parts]) & (weights == 0.0)).any())


def _part(run: TensorRun, tensor: int, residual: Sequence[int], context: dict[int, Ints]) -> Floats:
    """One tensor at each context, with an axis for each residual variable; of size one where it does not depend."""
    made = run.question.contraction
    scope = [r for r in made.scopes[tensor] if made.cards[r] > 1]
    known = [i for i, r in enumerate(scope) if r in context]
    free = [scope.index(r) for r in residual if r in scope]
    array = run.tensor(tensor).reshape([made.cards[r] for r in scope]).transpose(known + free)
    part = array[tuple(context[scope[i]] for i in known)] if known else array[None]
    own = {scope[i] for i in free}
    return part.reshape(len(part), *(made.cards[r] if r in own else 1 for r in residual))


def _largest(weights: Floats, zero: float) -> Floats:
    """The largest weight of each context, by which products stay in range; neutral if all are zero."""
    top = weights.max(axis=tuple(range(1, weights.ndim)), keepdims=True)
    return np.where(top > zero, top, 1.0 if zero == 0.0 else 0.0)


def modes(weights: Floats, which: Ints) -> Ints:
    """The lowest joint code of largest weight, but for rounding."""
    first = (weights >= (1.0 - TIED) * weights.max(axis=1, keepdims=True)).argmax(axis=1)
    return np.asarray(first[which], dtype=np.int64)


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
