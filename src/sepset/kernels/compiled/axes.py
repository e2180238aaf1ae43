r"""The order of each tensor's axes, chosen so that steps need not transpose.

In a step $d = \sum a b$ every axis has a role: in all three tensors (batch), in $a$ and $d$, in $b$ and $d$, or
summed. A matrix product takes (batch, own, summed) of both operands, and gives (batch, own, own). The reverse sweep has
the same axes in other roles, so an adjoint in the order of its tensor fits as well. Where there is little to multiply
per entry, the tensors of a step have one order. A tensor is the result of one step and an operand of another: matrix
products decide first, and among them those of large tensors; what is decided already is transposed where it does not
fit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.compiled.sorting import ascending
from sepset.kernels.compiled.tape import ONE
from sepset.kernels.kernel import kernel, times

# Multiplications per entry from which a step is laid out for matrix products; entries of the innermost axes of a
# result that stay together, or of summed ones.
INTENSE, TOGETHER = 4.0, 64
NEW = 2**40


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
def _is_intense(scopes: Scopes, d: int, a: int, b: int) -> bool:
    """Whether a step is a matrix product with many multiplications per entry."""
    work = scopes.sizes[d]
    for k in range(scopes.start[a], scopes.start[a + 1]):
        if not _has(scopes, d, scopes.pool[k]):
            if not _has(scopes, b, scopes.pool[k]):
                return False
            work *= scopes.cards[scopes.pool[k]]
    for k in range(scopes.start[b], scopes.start[b + 1]):
        if not _has(scopes, d, scopes.pool[k]) and not _has(scopes, a, scopes.pool[k]):
            return False
    return bool(b != ONE and work >= INTENSE * (scopes.sizes[a] + scopes.sizes[b] + scopes.sizes[d]))


@kernel(borrows=True)
def _forget_step(scopes: Scopes, d: int, a: int, b: int) -> None:
    _forget(scopes, d)
    _forget(scopes, a)
    _forget(scopes, b)


@kernel(inline=True)
def _lay_matrix(scopes: Scopes, laid: Bytes, d: int, a: int, b: int) -> None:
    """The tensors of a step as (batch, own, summed) and (batch, own, own), each part in the order of one with it."""
    room = len(scopes.cards) + 1
    for t in (b, a, d):
        if laid[t] == 1:
            _follow(scopes, t)
    for t in (a, b, d):
        for k in range(scopes.start[t], scopes.start[t + 1]):
            r = scopes.pool[k]
            if scopes.place[r] < 0:
                scopes.place[r] = r
            if scopes.place[r] < room:
                in_a, in_b, in_d = _has(scopes, a, r), _has(scopes, b, r), _has(scopes, d, r)
                part = 1 if in_a and in_b and in_d else 4 if not in_d else 2 if in_a else 3
                scopes.place[r] += part * room
    for t in (a, b, d):
        if laid[t] == 0:
            _lay(scopes, t)
            laid[t] = 1
    _forget_step(scopes, d, a, b)


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
    order = ascending(-(sizes[steps[:num_forward, 0]] + sizes[steps[:num_forward, 1]] + sizes[steps[:num_forward, 2]]))
    partner = np.full(num, -1, np.int64)
    for s in order:
        d, a, b = steps[s, 0], steps[s, 1], steps[s, 2]
        partner[a], partner[b] = b, a
        if _is_intense(scopes, d, a, b):
            _lay_matrix(scopes, laid, d, a, b)
    for s in order:
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
