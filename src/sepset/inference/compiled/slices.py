r"""Steps by slices: a large result that a few steps read is never in memory as a whole.

Let $t = \sum a\, b$ be large, and $d = \sum c\, t$ a step that reads it. For fixed states of some axes of $d$, as
many as make the rest of $t$ small enough for a cache, both steps run one after the other; then for the next states.
A step of the reverse sweep that reads $t$ computes its slices again, where that takes less time than to write and to
read them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.inference import costs
from sepset.inference.compiled.contraction import ONE, Contraction, Ranks
from sepset.kernels.compiled import contraction as kernels, instructions


class Slices(NamedTuple):
    """A step and one that reads its result, run by slices.

    Attributes:
        first, second: the numbers of the steps.
        pair: their instructions over the first slice, as `kernels.compiled.slices` runs them.
        groups: the groups of both.
        axes: the size of each axis of the slices, the slowest first, and its strides in the operands of the first step,
            and in the operands and the result of the second.
        room: the floats of one slice and of what is packed for it.
    """

    first: int
    second: int
    pair: Ints
    groups: Ints
    axes: Ints
    room: int

    @property
    def num(self) -> int:
        """The number of slices."""
        return math.prod(self.axes[:, 0].tolist())

    def placed(self, ops: Ints, start: int) -> Slices:
        """The same with the tensors where these instructions have them, and the slices from `start` on."""
        pair, place = self.pair.copy(), start + self.room - int(self.pair[0, instructions.SIZE])
        result = int(ops[self.first, instructions.TENSOR_D])
        for i, number in enumerate((self.first, self.second)):
            pair[i, [instructions.A, instructions.B, instructions.DST]] = ops[
                number, [instructions.A, instructions.B, instructions.DST]
            ]
        pair[0, instructions.DST], pair[:, instructions.SCRATCH] = place, start
        for column, tensor in ((instructions.A, instructions.TENSOR_A), (instructions.B, instructions.TENSOR_B)):
            if int(ops[self.second, tensor]) == result:
                pair[1, column] = place
        return self._replace(pair=pair)


class _Tensors:
    """The tensors of a contraction with the strides of their axes, and the steps that read each."""

    def __init__(self, made: Contraction, strides: Ints) -> None:
        self.made, self._strides = made, strides
        self.made_by = {d: number for number, (d, _, _) in enumerate(made.steps)}

    def strides(self, tensor: int) -> dict[int, int]:
        """The stride of each axis of more than one state, the slowest first."""
        made = self.made
        first, end = made.bounds[tensor : tensor + 2].tolist()
        found = zip(made.pool[first:end].tolist(), self._strides[first:end].tolist(), strict=True)
        return dict(sorted(((r, s) for r, s in found if made.cards[r] > 1), key=lambda axis: -axis[1]))

    def readers(self, tensor: int) -> list[int]:
        """The steps that read a tensor."""
        return np.flatnonzero((self.made.rows[:, 1:] == tensor).any(axis=1)).tolist()


def sliced(made: Contraction, strides: Ints) -> tuple[Slices, ...]:
    """The steps that run by slices, with places that are not known yet.

    Args:
        strides: the stride of every axis of every tensor, in the order of the contraction's pool.
    """
    if made.sizes.max(initial=0.0) < costs.ENTRIES_SLICED:
        return ()
    tensors, found = _Tensors(made, strides), list[Slices]()
    stored, unstored = {ONE, *made.roots.tolist(), *made.reads.tolist()}, set[int]()
    large = [t for t in np.argsort(-made.sizes, kind="stable").tolist() if made.sizes[t] >= costs.ENTRIES_SLICED]
    for t in large:
        if t <= made.num_inputs or t in stored:
            continue
        readers = tensors.readers(t)
        others = {x for number in (tensors.made_by[t], *readers) for x in made.steps[number]} - {t}
        pairs = list(_pairs(tensors, t, readers)) if not others & unstored else []
        if pairs and len(pairs) == len(readers) and _is_faster(made, pairs):
            found += pairs
            unstored.add(t)
            stored |= others
    return tuple(found)


def _is_faster(made: Contraction, pairs: list[Slices]) -> bool:
    """Whether the slices of a result are computed again in less time than it takes to write and to read it."""
    d, a, b = made.steps[pairs[0].first]
    size, products = float(made.sizes[d]), made.size({*made.scopes[a], *made.scopes[b]})
    kind, unpacking = pairs[0].pair[0, [instructions.KIND, instructions.COUNT_D]].tolist()
    unpacked = costs.NANOSECONDS_PER_ENTRY * size if kind == instructions.PACKED and unpacking else 0.0
    again = (len(pairs) - 1) * (costs.NANOSECONDS_PER_PRODUCT * products + unpacked)
    return b != ONE and again < (len(pairs) + 1) * costs.NANOSECONDS_PER_STREAMED_ENTRY * size


def _pairs(tensors: _Tensors, tensor: int, readers: list[int]) -> Iterator[Slices]:
    """The step that makes a tensor with each that reads it, for those that can run by slices."""
    made, first = tensors.made, tensors.made_by[tensor]
    for second in readers:
        axes, left = list[int](), int(made.sizes[tensor])
        for r in _sliced_axes(tensors, tensor, first, second):
            if left <= costs.ENTRIES_OF_A_SLICE:
                break
            axes.append(r)
            left //= made.cards[r]
        if axes and left <= costs.ENTRIES_OF_A_SLICE and _is_split(tensors, tensor, first, second, tuple(axes)):
            yield _pair(tensors, tensor, first, second, tuple(axes))


def _is_split(tensors: _Tensors, tensor: int, first: int, second: int, axes: Ranks) -> bool:
    """Whether slices of the other tensors are all read together in less time than the sliced one would be."""
    made = tensors.made
    others = [*made.steps[first][1:], *(t for t in made.steps[second] if t != tensor)]
    missing = [made.size(set(axes).difference(made.scopes[t])) for t in others]
    again = sum((times - 1) * float(made.sizes[t]) for t, times in zip(others, missing, strict=True))
    return len(others) == 4 and again < float(made.sizes[tensor])


def _sliced_axes(tensors: _Tensors, tensor: int, first: int, second: int) -> list[int]:
    """The axes along which two steps may be sliced, those first of which slices of the other tensors are smallest and
    most of one piece."""
    made, own = tensors.made, tensors.strides(tensor)
    others = {*made.steps[first], *made.steps[second]} - {tensor}
    strides = {t: tensors.strides(t) for t in others}

    def gain(r: int) -> tuple[float, int]:
        having = [t for t in others if r in strides[t]]
        return -sum(made.sizes[having]), -min(strides[t][r] for t in having)

    return sorted((r for r in tensors.strides(made.steps[second][0]) if r in own), key=gain)


def _pair(tensors: _Tensors, tensor: int, first: int, second: int, axes: Ranks) -> Slices:
    """The instructions of two steps over the first slice."""
    from sepset.kernels.compiled import layout

    made, rest = tensors.made, []
    steps = made.steps[first], made.steps[second]
    names = (ONE, *steps[0][1:], next(x for x in steps[1][1:] if x != tensor), tensor, steps[1][0])
    for name in names:
        strides = {r: s for r, s in tensors.strides(name).items() if r not in axes}
        rest.append(_packed(strides, made) if name == tensor else strides)
    scopes = [sorted(strides) for strides in rest]
    sizes = np.array([made.size(scope) for scope in scopes], dtype=np.float64)
    moves = np.array([strides[r] for strides, scope in zip(rest, scopes, strict=True) for r in scope], dtype=np.int64)
    bounds, pool = np.cumsum([0, *map(len, scopes)]), np.array([r for scope in scopes for r in scope], dtype=np.int64)
    is_second = steps[1][2] == tensor
    rows = np.array([[4, 1, 2], [5, 3, 4] if is_second else [5, 4, 3 if names[3] != ONE else ONE]], dtype=np.int64)
    none = np.zeros(0, np.int64)
    parts = made.weights, bounds, pool, sizes, rows, moves, np.zeros(1, np.int64), *(none,) * 9
    ops, groups, _, size, *_ = layout.assemble(*parts)
    if ops[1, instructions.KIND] == instructions.LOOPS and kernels.step_products(ops, groups)[1] > 1.5 * sizes[5]:
        ops[1, instructions.SIZE] = 0  # a sum, whose result is set to zero before any slice
    room = int(size - sizes.sum() + sizes[4])
    return Slices(first, second, ops, groups, _axes(tensors, steps, axes), room)


def _packed(strides: dict[int, int], made: Contraction) -> dict[int, int]:
    """The strides of a tensor of its own with these axes, in the order of their strides."""
    found, step = {}, 1
    for r in reversed(strides):
        found[r], step = step, step * made.cards[r]
    return found


def _axes(tensors: _Tensors, steps: tuple[tuple[int, int, int], ...], axes: Ranks) -> Ints:
    """The sizes of the axes of slices, and their strides in the tensors of both steps; none in the sliced one."""
    (sliced, a, b), (d, c, e) = steps
    strides = [{} if t == sliced else tensors.strides(t) for t in (a, b, c, e, d)]
    rows = [[tensors.made.cards[r], *(found.get(r, 0) for found in strides)] for r in axes]
    return np.array(rows, dtype=np.int64)
