r"""Recursive conditioning as a machine that can stop at any step and go on.

Every node of the tree instantiates one variable, $V(\mathbf u) = \bigoplus_x \prod_f \phi_f \prod_c V_c$: the factors
whose other variables stand above it, and its children. A node may keep its values in the cache, one for each joint
state of its context. Numbers are mantissas with exponents of two, and a zero ends its branch.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sepset.kernels.compile import kernel

Ints = NDArray[np.int64]
Exponents = NDArray[np.int32]
Floats = NDArray[np.float64]

CARD, PARENT, CHILD, CHILD_END, FACTOR, FACTOR_END, CONTEXT, CONTEXT_END, CACHE, MAXIMIZE = range(10)
"""Columns of `nodes`: states, the node above, ranges of children, factors and context, cache offset or -1, semiring."""

OFFSET, ARG, ARG_END, OWN = range(4)
"""Columns of `factors`: where its values start, the range of its arguments, the stride of the node's own variable."""

STATE, NEXT_CHILD, SLOT, WEIGHT, TOTAL = range(5)
"""Columns of `work`: the current state and child, the place in the cache, exponents of the product and of the sum."""

NODE, MODE, ROW, STEPS = range(4)
"""Places of `machine`: where it stands, what comes next, which row of contexts, states visited so far."""

BEGIN, ENTER, NEXT, DESCEND, RETURN = range(5)

EMPTY = np.int32(-(2**31))
"""The exponent of a cache entry that was never filled."""

TINY = 1e-200


@kernel
def place_of(entries: Ints, start: int, end: int, assigned: Ints) -> int:
    """The sum of strides at the states assigned to the variables of a range."""
    place = 0
    for i in range(start, end):
        place += assigned[entries[i, 0]] * entries[i, 1]
    return place


@kernel
def enter(
    node: int, nodes: Ints, factors: Ints, args: Ints, assigned: Ints, places: Ints, work: Ints, sums: Floats
) -> None:
    """Start a node: nothing summed yet, and each factor's place without the node's own variable."""
    work[node, STATE] = -1
    work[node, TOTAL] = 0
    sums[node, 1] = 0.0
    for f in range(nodes[node, FACTOR], nodes[node, FACTOR_END]):
        places[f] = factors[f, OFFSET] + place_of(args, factors[f, ARG], factors[f, ARG_END], assigned)


@kernel
def weigh(
    node: int, nodes: Ints, factors: Ints, places: Ints, values: Floats, exponents: Exponents, work: Ints, sums: Floats
) -> None:
    """The product of a node's own factors at its current state."""
    state = work[node, STATE]
    weight, exponent = 1.0, 0
    for f in range(nodes[node, FACTOR], nodes[node, FACTOR_END]):
        place = places[f] + state * factors[f, OWN]
        weight *= values[place]
        if weight == 0.0:
            break
        exponent += exponents[place]
        if weight < TINY:
            weight, shift = math.frexp(weight)
            exponent += shift
    sums[node, 0] = weight
    work[node, WEIGHT] = exponent


@kernel
def multiply(node: int, value: float, exponent: int, work: Ints, sums: Floats) -> None:
    """The node's product times a child's value."""
    weight = sums[node, 0] * value
    work[node, WEIGHT] += exponent
    if weight < TINY and weight > 0.0:
        weight, shift = math.frexp(weight)
        work[node, WEIGHT] += shift
    sums[node, 0] = weight


@kernel
def accumulate(node: int, nodes: Ints, work: Ints, sums: Floats) -> None:
    """The node's product joins its sum (or maximum); sums keep the larger exponent."""
    weight, shift = math.frexp(sums[node, 0])
    exponent = work[node, WEIGHT] + shift
    total, above = sums[node, 1], work[node, TOTAL]
    if total == 0.0:
        total, above = weight, exponent
    elif nodes[node, MAXIMIZE]:
        if exponent > above or (exponent == above and weight > total):
            total, above = weight, exponent
    elif exponent > above:
        total, above = weight + math.ldexp(total, above - exponent), exponent
    else:
        total += math.ldexp(weight, exponent - above)
    if total > 1.0:
        total, shift = math.frexp(total)
        above += shift
    sums[node, 1] = total
    work[node, TOTAL] = above


@kernel
def run(
    top: int,
    rows: Ints,
    nodes: Ints,
    children: Ints,
    factors: Ints,
    args: Ints,
    contexts: Ints,
    values: Floats,
    exponents: Exponents,
    cache: Floats,
    cache_exponents: Exponents,
    assigned: Ints,
    places: Ints,
    work: Ints,
    sums: Floats,
    machine: Ints,
    out: Floats,
    out_exponents: Ints,
    limit: int,
) -> bool:
    """Go on for about `limit` states; True when `out[row, state]` of node `top` is complete for all rows."""
    node, mode, row = machine[NODE], machine[MODE], machine[ROW]
    value, exponent = 0.0, 0
    steps = 0
    while steps < limit or mode == RETURN:
        if mode == NEXT:
            work[node, STATE] += 1
            if work[node, STATE] < nodes[node, CARD]:
                steps += 1
                weigh(node, nodes, factors, places, values, exponents, work, sums)
                if sums[node, 0] > 0.0:
                    assigned[node] = work[node, STATE]
                    work[node, NEXT_CHILD] = nodes[node, CHILD]
                    mode = DESCEND
            elif node == top:
                row += 1
                mode = BEGIN
            else:
                value, exponent = sums[node, 1], work[node, TOTAL]
                if nodes[node, CACHE] >= 0:
                    cache[work[node, SLOT]] = value
                    cache_exponents[work[node, SLOT]] = exponent
                node = nodes[node, PARENT]
                mode = RETURN
        elif mode == DESCEND:
            if work[node, NEXT_CHILD] < nodes[node, CHILD_END]:
                node = children[work[node, NEXT_CHILD]]
                mode = ENTER
            else:
                accumulate(node, nodes, work, sums)
                if node == top:
                    out[row, work[node, STATE]] = sums[node, 0]
                    out_exponents[row, work[node, STATE]] = work[node, WEIGHT]
                mode = NEXT
        elif mode == ENTER:
            mode = NEXT
            if nodes[node, CACHE] >= 0:
                slot = nodes[node, CACHE] + place_of(contexts, nodes[node, CONTEXT], nodes[node, CONTEXT_END], assigned)
                work[node, SLOT] = slot
                if cache_exponents[slot] != EMPTY:
                    value, exponent = cache[slot], np.int64(cache_exponents[slot])  # type: ignore[assignment]
                    node = nodes[node, PARENT]
                    mode = RETURN
            if mode == NEXT:
                enter(node, nodes, factors, args, assigned, places, work, sums)
        elif mode == RETURN:
            multiply(node, value, exponent, work, sums)
            work[node, NEXT_CHILD] += 1
            mode = DESCEND if value > 0.0 else NEXT
        else:
            if row == len(rows):
                break
            start = nodes[top, CONTEXT]
            for i in range(start, nodes[top, CONTEXT_END]):
                assigned[contexts[i, 0]] = rows[row, i - start]
            node = top
            enter(node, nodes, factors, args, assigned, places, work, sums)
            mode = NEXT
    machine[NODE], machine[MODE], machine[ROW] = node, mode, row
    machine[STEPS] += steps
    return bool(mode == BEGIN and row == len(rows))
