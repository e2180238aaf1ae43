r"""Recursive conditioning as a machine that can stop at any step and go on.

Every node of the tree instantiates one variable, $V(\mathbf u) = \bigoplus_x \prod_f \phi_f \prod_c V_c$: the factors
whose other variables stand above it, and its children. A node may keep its values in the cache, one for each joint
state of its context. Numbers carry exponents of $2^{256}$, nearly always zero, and a zero ends its branch.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sepset.kernels.compile import kernel

Ints = NDArray[np.int64]
Exponents = NDArray[np.int32]
Floats = NDArray[np.float64]
Number = tuple[float, int]

CARD, PARENT, CHILD, CHILD_END, FACTOR, FACTOR_END, CONTEXT, CONTEXT_END, CACHE, MAXIMIZE = range(10)
"""Columns of `nodes`: states, the node above, ranges of children, factors and context, cache offset or -1, semiring."""

OFFSET, ARG, ARG_END, OWN = range(4)
"""Columns of `factors`: where its values start, the range of its arguments, the stride of the node's own variable."""

STATE, NEXT_CHILD, SLOT, WEIGHT, TOTAL = range(5)
"""Columns of `work`: the current state and child, the place in the cache, exponents of the product and of the sum."""

NODE, ROW, STEPS = range(3)
"""Places of `machine`: the node it stands at or -1 between rows, the row of contexts, states visited so far."""

EMPTY = -(2**31)
"""The exponent of a cache entry that was never filled."""

UNIT = 256
"""One step of an exponent, in bits; mantissas stay within a step either way."""

LOW, HIGH = 2.0**-UNIT, 2.0**UNIT


@kernel(borrows=True)
def place_of(entries: Ints, start: int, end: int, assigned: Ints) -> int:
    """The sum of strides at the states assigned to the variables of a range."""
    place = 0
    for i in range(start, end):
        place += assigned[entries[i, 0]] * entries[i, 1]
    return place


@kernel(borrows=True)
def times(weight: float, exponent: int, value: float, more: int) -> Number:
    """The product of two numbers."""
    weight *= value
    exponent += more
    if weight < LOW and weight > 0.0:
        return weight * HIGH, exponent - 1
    if weight > HIGH:
        return weight * LOW, exponent + 1
    return weight, exponent


@kernel(borrows=True)
def plus(total: float, above: int, weight: float, exponent: int, maximize: int) -> Number:
    """The sum (or maximum) of two numbers."""
    if total == 0.0:
        return weight, exponent
    if weight == 0.0:
        return total, above
    if exponent != above:
        if maximize:
            gap = math.log2(weight) - math.log2(total) + UNIT * (exponent - above)
            return (weight, exponent) if gap > 0.0 else (total, above)
        if exponent > above:
            total, above, weight, exponent = weight, exponent, total, above
        weight = math.ldexp(weight, int(UNIT * (exponent - above)))
    if maximize:
        return max(total, weight), above
    total += weight
    return (total * LOW, above + 1) if total > HIGH else (total, above)


@kernel(borrows=True)
def locate(node: int, nodes: Ints, factors: Ints, args: Ints, assigned: Ints, places: Ints) -> None:
    """Each factor's place without the node's own variable."""
    for f in range(nodes[node, FACTOR], nodes[node, FACTOR_END]):
        places[f] = factors[f, OFFSET] + place_of(args, factors[f, ARG], factors[f, ARG_END], assigned)


@kernel(borrows=True)
def weigh(
    node: int, state: int, nodes: Ints, factors: Ints, places: Ints, values: Floats, exponents: Exponents
) -> Number:
    """The product of a node's own factors at a state."""
    weight, exponent = 1.0, 0
    for f in range(nodes[node, FACTOR], nodes[node, FACTOR_END]):
        place = places[f] + state * factors[f, OWN]
        weight, exponent = times(weight, exponent, values[place], int(exponents[place]))
        if weight == 0.0:
            break
    return weight, exponent


@kernel(borrows=True)
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
    node, row, steps = machine[NODE], machine[ROW], 0
    while steps < limit:
        if node < 0:
            if row == len(rows):
                break
            start = nodes[top, CONTEXT]
            for i in range(start, nodes[top, CONTEXT_END]):
                assigned[contexts[i, 0]] = rows[row, i - start]
            node = top
            locate(node, nodes, factors, args, assigned, places)
            work[node, STATE] = -1
            sums[node, 1] = 0.0
        work[node, STATE] += 1
        state = work[node, STATE]
        if state < nodes[node, CARD]:
            steps += 1
            weight, exponent = weigh(node, state, nodes, factors, places, values, exponents)
            assigned[node] = state
            child = nodes[node, CHILD]
        elif node == top:
            row += 1
            node = -1
            continue
        else:
            value, more = sums[node, 1], work[node, TOTAL]
            if nodes[node, CACHE] >= 0:
                cache[work[node, SLOT]] = value
                cache_exponents[work[node, SLOT]] = more
            node = nodes[node, PARENT]
            state = work[node, STATE]
            weight, exponent = times(sums[node, 0], work[node, WEIGHT], value, more)
            child = work[node, NEXT_CHILD] + 1
        below = -1
        while weight > 0.0 and child < nodes[node, CHILD_END]:
            below = children[child]
            if nodes[below, CACHE] >= 0:
                slot = nodes[below, CACHE] + place_of(
                    contexts, nodes[below, CONTEXT], nodes[below, CONTEXT_END], assigned
                )
                work[below, SLOT] = slot
                if cache_exponents[slot] != EMPTY:
                    weight, exponent = times(weight, exponent, cache[slot], int(cache_exponents[slot]))
                    below = -1
                    child += 1
                    continue
            locate(below, nodes, factors, args, assigned, places)
            if nodes[below, CHILD] < nodes[below, CHILD_END]:
                break
            value, more = 0.0, 0
            for leaf in range(nodes[below, CARD]):
                one, its = weigh(below, leaf, nodes, factors, places, values, exponents)
                value, more = plus(value, more, one, its, nodes[below, MAXIMIZE])
            steps += nodes[below, CARD]
            if nodes[below, CACHE] >= 0:
                cache[work[below, SLOT]] = value
                cache_exponents[work[below, SLOT]] = more
            weight, exponent = times(weight, exponent, value, more)
            below = -1
            child += 1
        if below >= 0 and weight > 0.0:
            sums[node, 0], work[node, WEIGHT], work[node, NEXT_CHILD] = weight, exponent, child
            node = below
            work[node, STATE] = -1
            sums[node, 1] = 0.0
            continue
        if node == top:
            out[row, state], out_exponents[row, state] = weight, exponent
        total, above = plus(sums[node, 1], work[node, TOTAL], weight, exponent, nodes[node, MAXIMIZE])
        sums[node, 1], work[node, TOTAL] = total, above
    machine[NODE], machine[ROW] = node, row
    machine[STEPS] += steps
    return bool(node < 0 and row == len(rows))
