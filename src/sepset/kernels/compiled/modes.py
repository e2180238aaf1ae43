r"""The most probable assignment after a forward sweep of maxima, root first.

$$\mathbf x_u = \arg\max_{\mathbf u} \prod_i t_i(\mathbf u, \mathbf x_s),$$

where $s$ has been chosen before. Products of more than two tensors are divided by a power of two near their largest
after each factor; one that becomes zero although none of its factors is has left the range of floats.
"""

from __future__ import annotations

import math

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel

SAFE_PARTS = 2
"""Tensors whose product stays within the range of floats; a zero in a larger product may be none."""

TIED = 1e-12
"""The relative difference of two products that counts as rounding."""

MOST_BITS = 1000
"""The largest power of two by which products are scaled at once."""


@kernel(inner=True, borrows=True)
def _place(pool: Ints, first: int, end: int, cards: Floats, codes: Ints, strides: Ints) -> int:
    """The place of a tensor's known codes; the strides of its other axes go to their ranks."""
    place, stride = 0, 1
    for k in range(end - 1, first - 1, -1):
        r = pool[k]
        if codes[r] >= 0:
            place += codes[r] * stride
        else:
            strides[r] = stride
        stride *= int(cards[r])
    return place


@kernel(inner=True, borrows=True)
def _multiply(
    w: Floats, at: int, ranks: Ints, cards: Floats, strides: Ints, counter: Ints, weights: Floats, zeros: Bytes
) -> float:
    """Multiply the weight of each joint state by a tensor; the largest product."""
    last = len(ranks) - 1  # a choice has at least one variable
    num, step = int(cards[ranks[last]]), strides[ranks[last]]
    top, place = 0.0, 0
    for k in range(last):
        counter[k] = 0
    while True:
        for i in range(num):
            value = w[at + i * step]
            if value == 0.0:
                zeros[place + i] = 1
            value *= weights[place + i]
            weights[place + i] = value
            top = max(top, value)
        place += num
        k = last - 1
        while k >= 0:
            counter[k] += 1
            at += strides[ranks[k]]
            if counter[k] < cards[ranks[k]]:
                break
            at -= counter[k] * strides[ranks[k]]
            counter[k] = 0
            k -= 1
        if k < 0:
            return top


@kernel(inner=True, borrows=True)
def _weigh(
    w: Floats, offsets: Ints, bounds: Ints, pool: Ints, cards: Floats, tensors: Ints, ranks: Ints, codes: Ints,
    strides: Ints, counter: Ints, weights: Floats, zeros: Bytes,
) -> tuple[float, int, bool]:  # fmt: skip
    """The products of the tensors for each joint state of the ranks, over a power of two.

    Returns the largest one, the power, and whether all were in range.
    """
    num, power, top = len(tensors), 0, 1.0
    weights[:] = 1.0
    zeros[:] = 0
    for i in range(num):
        t = tensors[i]
        for r in ranks:
            strides[r] = 0
        at = offsets[t] + _place(pool, bounds[t], bounds[t + 1], cards, codes, strides)
        top = _multiply(w, at, ranks, cards, strides, counter, weights, zeros)
        if num > SAFE_PARTS and i > 0 and top > 0.0:
            bits = max(math.frexp(top)[1], -MOST_BITS)
            scale = math.ldexp(1.0, -bits)
            weights *= scale
            top *= scale
            power += bits
    if num > SAFE_PARTS:
        for i in range(len(weights)):
            if weights[i] == 0.0 and zeros[i] == 0:
                return top, power, False
    return top, power, True


@kernel(inner=True, borrows=True)
def _put(weights: Floats, least: float, ranks: Ints, cards: Floats, codes: Ints) -> bool:
    """The codes of the first joint state with at least this weight; whether there is another one."""
    place, is_tied = 0, False
    while weights[place] < least:
        place += 1
    for i in range(place + 1, len(weights)):
        if weights[i] >= least:
            is_tied = True
            break
    for k in range(len(ranks) - 1, -1, -1):
        r = ranks[k]
        codes[r] = place % int(cards[r])
        place //= int(cards[r])
    return is_tied


@kernel(inner=True, borrows=True)
def _advance(ranks: Ints, cards: Floats, codes: Ints) -> bool:
    """The next joint state of the ranks, the last one first; whether there is one."""
    for k in range(len(ranks) - 1, -1, -1):
        r = ranks[k]
        codes[r] += 1
        if codes[r] < cards[r]:
            return True
        codes[r] = 0
    return False


@kernel(inner=True, borrows=True)
def _choose_in_parts(
    w: Floats, offsets: Ints, bounds: Ints, pool: Ints, cards: Floats, tensors: Ints, slow: Ints, fast: Ints,
    codes: Ints, strides: Ints, counter: Ints, weights: Floats, zeros: Bytes, cancel: Bytes,
) -> bool:  # fmt: skip
    """The codes of a choice with many joint states, a part for each state of the slow ranks; whether all were in range.

    All parts are weighed for the largest product, then again for the first one that is as large.
    """
    best, best_power = 0.0, 0
    for turn in range(2):
        for r in slow:
            codes[r] = 0
        while True:
            top, power, is_in_range = _weigh(
                w, offsets, bounds, pool, cards, tensors, fast, codes, strides, counter, weights, zeros
            )
            if cancel[0] != 0 or not is_in_range:
                return is_in_range
            off = min(max(power - best_power, -MOST_BITS), MOST_BITS)
            if turn == 0 and (best == 0.0 or math.ldexp(top, off) > best) and top > 0.0:
                best, best_power = top, power
            elif turn == 1 and math.ldexp(top, off) >= best * (1.0 - TIED):
                _put(weights, math.ldexp(best * (1.0 - TIED), -off), fast, cards, codes)
                return True
            if not _advance(slow, cards, codes):
                break
    return True


@kernel(work=lambda *args: args[-2])
def most_probable(
    w: Floats, offsets: Ints, bounds: Ints, pool: Ints, cards: Floats, tensor_start: Ints, tensors: Ints,
    residual_start: Ints, residuals: Ints, is_step: Bytes, largest: int, passes: int, cancel: Bytes,
) -> tuple[Ints, bool, bool]:  # fmt: skip
    """The code of every rank, and whether all products were in range; ties go to the lowest joint code.

    The third is whether a tie may have ended it: in a choice that is one step of several.

    Args:
        w: the workspace, each tensor from its offset, axes in the order of ranks.
        bounds, pool: the scope of each tensor, as compressed rows of ranks.
        cards: the number of states by rank.
        tensor_start, tensors: for each choice the tensors of its product, the root's first.
        residual_start, residuals: for each choice the ranks that it chooses; the first ones vary slowest.
        is_step: whether each choice is one of several that together have no lowest joint code.
        largest: the most joint states that are weighed together, at least those of one variable.
        passes: about how many products there are.
        cancel: whether to stop, with any codes.

    Guarantee: exact; the lowest of joint codes that are equal but for rounding.
    Tested by: kernels/compiled/test_modes.py::test_each_choice_is_the_first_largest_product
    """
    codes = np.full(len(cards), -1, np.int64)
    strides, counter = np.zeros(len(cards), np.int64), np.zeros(len(cards), np.int64)
    weights, zeros = np.empty(largest), np.empty(largest, np.uint8)
    for c in range(len(residual_start) - 1):
        ranks, own = (
            residuals[residual_start[c] : residual_start[c + 1]],
            tensors[tensor_start[c] : tensor_start[c + 1]],
        )
        first = len(ranks) - 1  # a choice has at least one variable
        size = int(cards[ranks[first]])
        while first > 0 and size * int(cards[ranks[first - 1]]) <= largest:
            first -= 1
            size *= int(cards[ranks[first]])
        slow, fast = ranks[:first], ranks[first:]
        room, marks = weights[:size], zeros[:size]
        if first > 0 and is_step[c] != 0:
            return codes, True, True  # ties between parts are not looked for
        if first > 0:
            is_in_range = _choose_in_parts(
                w, offsets, bounds, pool, cards, own, slow, fast, codes, strides, counter, room, marks, cancel
            )
        else:
            top, _, is_in_range = _weigh(
                w, offsets, bounds, pool, cards, own, fast, codes, strides, counter, room, marks
            )
            if is_in_range and _put(room, top * (1.0 - TIED), fast, cards, codes) and is_step[c] != 0:
                return codes, True, True
        if not is_in_range:
            return codes, False, False
    return codes, True, False
