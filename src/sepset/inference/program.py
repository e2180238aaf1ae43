"""Programs: contractions laid out as integers over one workspace, run by one compiled call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sepset.inference.contraction import ONE, Contraction, Ranks

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

Group = tuple[int, int, int, int]
"""A merged run of axes: size, and strides in the first operand, the second, and the result."""

MATRIX_WORK = 4096
"""Contractions with at least this much work a product, and no side below `MATRIX_SIDE`, run as matrix products."""
MATRIX_SIDE = 4


class Read(NamedTuple):
    """Where a marginal over one variable lies in the workspace."""

    offset: int
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Instructions over a flat workspace of floats.

    Attributes:
        ops, groups: what the kernel runs.
        size: floats in the workspace.
        offsets: where each tensor starts.
        num_forward: how many instructions the forward sweep has.
    """

    ops: Ints
    groups: Ints
    size: int
    offsets: Ints
    num_tensors: int
    num_forward: int
    contraction: Contraction = field(repr=False)

    @property
    def nbytes(self) -> int:
        """Bytes of one workspace."""
        return 8 * self.size


def assemble(made: Contraction, num_forward: int) -> Program:
    """The program that runs a contraction's steps in order."""
    return _Assembler(made).finish(num_forward)


def merged(union: Sequence[int], cards: Sequence[int], strides: Sequence[dict[int, int]]) -> list[Group]:
    """The axes of `union` with neighbors merged where every operand steps through both as one."""
    groups: list[list[int]] = []
    for r in union:
        size = cards[r]
        if size == 1:
            continue
        steps = [stride.get(r, 0) for stride in strides]
        if groups and all(before == step * size for before, step in zip(groups[-1][1:], steps, strict=True)):
            groups[-1] = [groups[-1][0] * size, *steps]
        else:
            groups.append([size, *steps])
    return [tuple(g) for g in groups]  # type: ignore[misc]


class _Assembler:
    """Collects instructions and groups while offsets are handed out."""

    def __init__(self, made: Contraction) -> None:
        self.made = made
        sizes = np.array([made.size(scope) for scope in made.scopes], dtype=np.int64)
        self.offsets = np.concatenate([[0], np.cumsum(sizes)])
        self.strides = [self._strides(scope) for scope in made.scopes]
        self.rows: list[list[int]] = []
        self.groups: list[Group] = []
        self.scratch = 0

    def _strides(self, scope: Ranks) -> dict[int, int]:
        strides, step = {}, 1
        for r in reversed(scope):
            strides[r] = step
            step *= self.made.cards[r]
        return strides

    def _add_groups(self, groups: Iterable[Group]) -> tuple[int, int]:
        first = len(self.groups)
        listed = list(groups)
        self.groups.extend([(1, 0, 0, 0)] * (2 - len(listed)))
        self.groups.extend(listed)
        return first, len(self.groups) - first

    def finish(self, num_forward: int) -> Program:
        for result, first, second in self.made.steps:
            self._emit(result, first, second)
        size = int(self.offsets[-1])
        ops = np.array(self.rows, dtype=np.int64).reshape(-1, 22)
        ops[:, 20] += size
        groups = np.array(self.groups, dtype=np.int64).reshape(-1, 4)
        return Program(
            ops, groups, size + self.scratch, self.offsets[:-1].copy(), len(self.made.scopes), num_forward, self.made
        )

    def _emit(self, result: int, first: int, second: int) -> None:
        made = self.made
        a, b, d = made.scopes[first], made.scopes[second], made.scopes[result]
        union = sorted({*a, *b})
        cards = made.cards
        groups = merged(union, cards, [self.strides[first], self.strides[second], self.strides[result]])
        head = [0, *(int(self.offsets[t]) for t in (result, first, second)), made.size(d), result, first, second]
        matrix = self._matrix(a, b, d, first, second, result) if second != ONE else None
        if matrix is None:
            self.rows.append([*head, *self._add_groups(_inner_first(groups)), *([0] * 12)])
        else:
            self.rows.append([1, *head[1:], *self._add_groups(_inner_first(groups)), *matrix])

    def _matrix(self, a: Ranks, b: Ranks, d: Ranks, first: int, second: int, result: int) -> list[int] | None:
        """The columns of a batch of matrix products, or None where loops serve better."""
        made = self.made
        in_a, in_b, in_d = set(a), set(b), set(d)
        batch = [r for r in a if r in in_b and r in in_d]
        inner = [r for r in a if r in in_b and r not in in_d]
        left = [r for r in a if r not in in_b]
        right = [r for r in b if r not in in_a]
        if any(r not in in_d for r in (*left, *right)):
            return None
        m, n, k, count = made.size(left), made.size(right), made.size(inner), made.size(batch)
        if min(m, n, k) < MATRIX_SIDE or m * n * k < MATRIX_WORK:
            return None
        transposed = a == (*batch, *inner, *left)
        pack_a = self._packing(first, (*batch, *left, *inner)) if not transposed else (0, 0)
        pack_b = self._packing(second, (*batch, *inner, *right))
        unpack = self._unpacking(result, (*batch, *left, *right))
        need = (count * m * k if pack_a[1] else 0) + (count * k * n if pack_b[1] else 0)
        need += count * m * n if unpack[1] else 0
        self.scratch = max(self.scratch, need)
        return [count, m, n, k, *pack_a, *pack_b, *unpack, 0, int(transposed and a != (*batch, *left, *inner))]

    def _packing(self, tensor: int, order: Ranks) -> tuple[int, int]:
        """Groups that copy a tensor to a contiguous block with these axes; none where it lies so already."""
        if self.made.scopes[tensor] == order:
            return 0, 0
        packed = self._strides(order)
        return self._add_groups(merged(order, self.made.cards, [self.strides[tensor], {}, packed]))

    def _unpacking(self, tensor: int, order: Ranks) -> tuple[int, int]:
        """Groups that copy a contiguous block with these axes to a tensor; none where they agree."""
        if self.made.scopes[tensor] == order:
            return 0, 0
        packed = self._strides(order)
        return self._add_groups(merged(self.made.scopes[tensor], self.made.cards, [packed, {}, self.strides[tensor]]))


def _inner_first(groups: list[Group]) -> list[Group]:
    """Loop order: the groups as they lie, with a longer run that steps by one moved innermost."""
    if len(groups) < 2 or groups[-1][0] >= 8:
        return groups
    best = max(range(len(groups)), key=lambda i: groups[i][0] if max(groups[i][1:]) == 1 else 0)
    return groups[:best] + groups[best + 1 :] + [groups[best]]
