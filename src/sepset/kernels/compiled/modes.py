r"""The most probable assignment after a forward sweep of maxima, root first.

$$\mathbf x_u = \arg\max_{\mathbf u} \prod_i t_i(\mathbf u, \mathbf x_s),$$

where $s$ has been chosen before. Products of more than two tensors are divided by their largest after each factor; one
that becomes zero although none of its factors is has left the range of floats.
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel

SAFE_PARTS = 2
"""Tensors whose product stays within the range of floats; a zero in a larger product may be none."""


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


@kernel(work=lambda *args: args[-1])
def most_probable(
    w: Floats, offsets: Ints, bounds: Ints, pool: Ints, cards: Floats, tensor_start: Ints, tensors: Ints,
    residual_start: Ints, residuals: Ints, largest: int, passes: int,
) -> tuple[Ints, bool]:  # fmt: skip
    """The code of every rank, and whether all products were in range; ties go to the lowest joint code.

    Args:
        w: the workspace, each tensor from its offset, axes in the order of ranks.
        bounds, pool: the scope of each tensor, as compressed rows of ranks.
        cards: the number of states by rank.
        tensor_start, tensors: for each choice the tensors of its product, the root's first.
        residual_start, residuals: for each choice the ranks that it chooses.
        largest: the most joint states of a choice.
        passes: about how many products there are.

    Guarantee: exact; the lowest of equal joint codes.
    Tested by: kernels/compiled/test_modes.py::test_each_choice_is_the_first_largest_product
    """
    codes = np.full(len(cards), -1, np.int64)
    strides, counter = np.zeros(len(cards), np.int64), np.zeros(len(cards), np.int64)
    weights, zeros = np.empty(largest), np.empty(largest, np.uint8)
    for c in range(len(residual_start) - 1):
        ranks = residuals[residual_start[c] : residual_start[c + 1]]
        size, num = 1, tensor_start[c + 1] - tensor_start[c]
        for r in ranks:
            size *= int(cards[r])
        weights[:size] = 1.0
        zeros[:size] = 0
        for i in range(num):
            t = tensors[tensor_start[c] + i]
            for r in ranks:
                strides[r] = 0
            at = offsets[t] + _place(pool, bounds[t], bounds[t + 1], cards, codes, strides)
            top = _multiply(w, at, ranks, cards, strides, counter, weights, zeros)
            if num > SAFE_PARTS and i > 0 and top > 0.0:
                weights[:size] /= top
        best = 0
        for i in range(size):
            if weights[i] > weights[best]:
                best = i
            if num > SAFE_PARTS and weights[i] == 0.0 and zeros[i] == 0:
                return codes, False
        for k in range(len(ranks) - 1, -1, -1):
            r = ranks[k]
            codes[r] = best % int(cards[r])
            best //= int(cards[r])
    return codes, True
