r"""The order of each tensor's axes, chosen so that steps need not transpose.

In a step $d = \sum a b$ every axis has a role: in all three tensors (batch), in $a$ and $d$, in $b$ and $d$, or
summed. Panels read whole lines unless neighbors are states of the batch: operands are (batch, own, summed), and the
result is (batch, own, own). The reverse sweep has the same axes in other roles, and the same batch, so an adjoint in
the order of its tensor fits as well. Where there is little to multiply per entry, the tensors of a step have one order.
A tensor is the result of one step and an operand of another: of the axes that are no batch in the one, those that are
in the other come first. Panels decide before others, unless these are larger than any cache, and of either kind those
of large tensors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.compiled.sorting import ascending
from sepset.kernels.compiled.tape import ONE
from sepset.kernels.kernel import kernel, times

# Multiplications per entry from which a step is laid out for panels; entries of a tensor that no cache holds; and those
# of the innermost axes of a result that stay together, or of summed ones.
INTENSE, HUGE, TOGETHER = 4.0, 2.0**23, 64
NEW = 2**40

# The roles of axes in a step.
BATCH, FIRST, SECOND, SUMMED = 1, 2, 3, 4


class Scopes(NamedTuple):
    """Tensors and their axes.

    Attributes:
        cards: the number of states by rank.
        start, pool: the scope of tensor t is `pool[start[t] : start[t + 1]]`, ranks ascending.
        sizes: the entries of each tensor.
        strides: the stride of each axis, in the order of `pool`.
        place: by rank, its place in the order of the current step; -1 for none.
    """

    cards: Floats
    start: Ints
    pool: Ints
    sizes: Floats
    strides: Ints
    place: Ints


@kernel(borrows=True)
def _lay(scopes: Scopes, tensor: int) -> None:
    """The strides of a tensor whose axes are ordered by `place`, ranks without a place first."""
    first, end = scopes.start[tensor], scopes.start[tensor + 1]
    for k in range(first, end):
        step = 1
        own = scopes.place[scopes.pool[k]]
        for other in range(first, end):
            there = scopes.place[scopes.pool[other]]
            if there > own or (there == own and other > k):
                step *= int(scopes.cards[scopes.pool[other]])
        scopes.strides[k] = step


@kernel(borrows=True)
def _follow(scopes: Scopes, tensor: int) -> int:
    """Give every axis of a tensor its place in the tensor's own order; the number of places."""
    first, end = scopes.start[tensor], scopes.start[tensor + 1]
    for k in range(first, end):
        own = 0
        for other in range(first, end):
            farther = scopes.strides[other] > scopes.strides[k]
            own += 1 if farther or (scopes.strides[other] == scopes.strides[k] and other < k) else 0
        scopes.place[scopes.pool[k]] = own
    return int(end - first)


@kernel(borrows=True)
def _forget(scopes: Scopes, tensor: int) -> None:
    for k in range(scopes.start[tensor], scopes.start[tensor + 1]):
        scopes.place[scopes.pool[k]] = -1


@kernel(borrows=True)
def _has(scopes: Scopes, tensor: int, rank: int) -> bool:
    for k in range(scopes.start[tensor], scopes.start[tensor + 1]):
        if scopes.pool[k] == rank:
            return True
    return False


@kernel(borrows=True)
def _products(scopes: Scopes, d: int, a: int, b: int) -> float:
    """The multiplications of a step; none if it is a sum over an axis of only one operand."""
    work = scopes.sizes[d]
    for k in range(scopes.start[a], scopes.start[a + 1]):
        if not _has(scopes, d, scopes.pool[k]):
            if not _has(scopes, b, scopes.pool[k]):
                return 0.0
            work *= scopes.cards[scopes.pool[k]]
    for k in range(scopes.start[b], scopes.start[b + 1]):
        if not _has(scopes, d, scopes.pool[k]) and not _has(scopes, a, scopes.pool[k]):
            return 0.0
    return float(work)


@kernel(borrows=True)
def _is_intense(scopes: Scopes, d: int, a: int, b: int) -> bool:
    """Whether a step has many multiplications per entry."""
    entries = scopes.sizes[a] + scopes.sizes[b] + scopes.sizes[d]
    return bool(b != ONE and _products(scopes, d, a, b) >= INTENSE * entries)


@kernel(borrows=True)
def _forget_step(scopes: Scopes, d: int, a: int, b: int) -> None:
    _forget(scopes, d)
    _forget(scopes, a)
    _forget(scopes, b)


@kernel(borrows=True)
def _role(scopes: Scopes, steps: Ints, step: int, rank: int) -> int:
    """The role of an axis in a step: in all tensors, own of the first operand, of the second, or summed; zero for no
    step."""
    if step < 0:
        return 0
    in_a, in_b = _has(scopes, steps[step, 1], rank), _has(scopes, steps[step, 2], rank)
    if not _has(scopes, steps[step, 0], rank):
        return SUMMED
    return BATCH if in_a and in_b else FIRST if in_a else SECOND


@kernel(borrows=True)
def _lay_for_both(scopes: Scopes, steps: Ints, tensor: int, step: int, other: int) -> None:
    """The strides of a tensor of a step by panels: the batch first, then own and summed axes, the last of which is not
    a batch axis in the other step that has it, if there is such an axis."""
    room = len(scopes.cards) + 1
    first, end = scopes.start[tensor], scopes.start[tensor + 1]
    last = 0
    for k in range(first, end):
        role = _role(scopes, steps, step, scopes.pool[k])
        if role != BATCH and _role(scopes, steps, other, scopes.pool[k]) != BATCH:
            last = max(last, role)
    for k in range(first, end):
        r = scopes.pool[k]
        role = _role(scopes, steps, step, r)
        role = SUMMED + 1 if role == last else role
        is_near = _role(scopes, steps, other, r) != BATCH
        scopes.place[r] += (2 * role + (1 if is_near else 0)) * room
    _lay(scopes, tensor)
    for k in range(first, end):
        scopes.place[scopes.pool[k]] %= room


@kernel(inline=True)
def _lay_panels(scopes: Scopes, laid: Bytes, steps: Ints, made: Ints, read: Ints, s: int) -> None:
    """The tensors of a step as (batch, own, summed) and (batch, own, own), each part in the order of one with it."""
    for i in (2, 1, 0):
        if laid[steps[s, i]] == 1:
            _follow(scopes, steps[s, i])
    for i in (1, 2, 0):
        t = steps[s, i]
        for k in range(scopes.start[t], scopes.start[t + 1]):
            r = scopes.pool[k]
            scopes.place[r] = r if scopes.place[r] < 0 else scopes.place[r]
        if laid[t] == 0:
            _lay_for_both(scopes, steps, t, s, read[t] if i == 0 else made[t])
            laid[t] = 1
    _forget_step(scopes, steps[s, 0], steps[s, 1], steps[s, 2])


@kernel(inline=True)
def _lay_stream(scopes: Scopes, laid: Bytes, d: int, a: int, b: int) -> None:
    """The tensors of a step in the order of the largest that has one: axes that it does not have come before its
    innermost ones, which are long enough for a loop, or last if they are many."""
    like = -1
    for t in (d, a, b):
        if laid[t] == 1 and (like < 0 or scopes.sizes[t] > scopes.sizes[like]):
            like = t
    if like < 0:
        like = d if scopes.sizes[d] >= max(scopes.sizes[a], scopes.sizes[b]) else a
        like = b if scopes.sizes[b] > scopes.sizes[like] else like
        laid[like] = 1
    cut = _follow(scopes, like)
    inner, others = 1.0, 1.0
    for t in (a, b, d):
        for k in range(scopes.start[t], scopes.start[t + 1]):
            if scopes.place[scopes.pool[k]] < 0:
                others *= scopes.cards[scopes.pool[k]]
                scopes.place[scopes.pool[k]] = NEW
    while cut > 0 and inner < TOGETHER and others < TOGETHER:
        cut -= 1
        for k in range(scopes.start[like], scopes.start[like + 1]):
            if scopes.place[scopes.pool[k]] == cut:
                inner *= scopes.cards[scopes.pool[k]]
    room = len(scopes.cards) + 1
    for t in (a, b, d):
        for k in range(scopes.start[t], scopes.start[t + 1]):
            r = scopes.pool[k]
            if scopes.place[r] == NEW:
                scopes.place[r] = NEW + 1 + cut + r
            elif scopes.place[r] >= cut and scopes.place[r] < NEW:
                scopes.place[r] += NEW + 1 + room
    for t in (a, b, d):
        if laid[t] == 0:
            _lay(scopes, t)
            laid[t] = 1
    _forget_step(scopes, d, a, b)


@kernel(borrows=True)
def _is_within(scopes: Scopes, inner: int, outer: int) -> bool:
    for k in range(scopes.start[inner], scopes.start[inner + 1]):
        if not _has(scopes, outer, scopes.pool[k]):
            return False
    return True


@kernel(work=times(8))
def axis_strides(
    cards: Floats, start: Ints, pool: Ints, sizes: Floats, steps: Ints, num_forward: int, roots: Ints, is_free: bool
) -> Ints:
    """The stride of every axis of every tensor, in the order of `pool`.

    Args:
        cards: the number of states by rank.
        start, pool: the scope of tensor t is `pool[start[t] : start[t + 1]]`, ranks ascending.
        steps: rows (result, first, second).
        num_forward: the number of steps of the forward sweep, each of whose tensors is an operand once.
        roots: tensors whose axes are by rank in any case.
        is_free: whether orders may be chosen; otherwise all are by rank.
    """
    num = len(sizes)
    room = len(cards) + 1
    scopes = Scopes(cards, start, pool, sizes, np.empty(len(pool), np.int64), np.full(room, -1, np.int64))
    for t in range(num):
        _lay(scopes, t)
    if not is_free:
        return scopes.strides
    laid = np.zeros(num, np.uint8)
    for t in roots:
        laid[t] = 1
    partner, made, read = np.full(num, -1, np.int64), np.full(num, -1, np.int64), np.full(num, -1, np.int64)
    cost = np.empty(num_forward)
    for s in range(num_forward):
        d, a, b = steps[s, 0], steps[s, 1], steps[s, 2]
        partner[a], partner[b] = b, a
        made[d], read[a], read[b] = s, s, s
        cost[s] = sizes[d] + sizes[a] + sizes[b]
        if _is_intense(scopes, d, a, b):
            cost[s] += HUGE
        elif max(sizes[d], sizes[a], sizes[b]) >= HUGE:
            cost[s] += 2.0**60
    for s in ascending(-cost):
        if _is_intense(scopes, steps[s, 0], steps[s, 1], steps[s, 2]):
            _lay_panels(scopes, laid, steps, made, read, s)
        else:
            _lay_stream(scopes, laid, steps[s, 0], steps[s, 1], steps[s, 2])
    partner[ONE] = -1
    for s in range(num_forward, len(steps)):
        d, a, b = steps[s, 0], steps[s, 1], steps[s, 2]
        like = a if sizes[a] >= sizes[b] else b
        for t in (a, b):
            if partner[t] >= 0 and _is_within(scopes, d, partner[t]):
                like = partner[t]
        _follow(scopes, like)
        _lay(scopes, d)
        _forget(scopes, like)
    return scopes.strides
