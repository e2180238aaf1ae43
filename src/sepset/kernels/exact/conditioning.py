r"""Recursive conditioning as a state machine that can stop at any step and continue.

Every node of the tree instantiates one variable, $V(\mathbf u) = \bigoplus_x \prod_f \phi_f \prod_c V_c$: the factors
whose other variables are above it, and its children. A node may keep its values in the cache, one for each joint
state of its context. Values have exponents in units of $2^{256}$, nearly always zero, and a zero ends its branch.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from sepset.base.arraytypes import Floats, Int32s, Ints
from sepset.kernels.kernel import kernel

Number = tuple[float, int]

CARD, PARENT, CHILD, CHILD_END, FACTOR, FACTOR_END, CONTEXT, CONTEXT_END, CACHE, MAXIMIZE = range(10)
"""Columns of `nodes`: states, the parent, ranges of children, factors and context, cache offset or -1, semiring."""

OFFSET, ARG, ARG_END, OWN = range(4)
"""Columns of `factors`: the start of its values, the range of its arguments, the stride of the node's own variable."""

STATE, NEXT_CHILD, SLOT, WEIGHT, TOTAL = range(5)
"""Columns of `work`: the current state and child, the place in the cache, exponents of the product and of the sum."""

NODE, ROW, STEPS = range(3)
"""Places of `machine`: the current node or -1 between rows, the row of contexts, states visited so far."""

EMPTY = -(2**31)
"""The exponent of a cache entry that was never filled."""

UNIT = 256
"""One unit of an exponent, in bits; mantissas stay within one unit of one."""

LOW, HIGH = 2.0**-UNIT, 2.0**UNIT


class Tree(NamedTuple):
    """The constant arrays: nodes, ranges of children, factors, arguments and contexts, and the factors' entries."""

    nodes: Ints
    children: Ints
    factors: Ints
    args: Ints
    contexts: Ints
    values: Floats
    exponents: Int32s


class Progress(NamedTuple):
    """The mutable arrays: the cache, the assigned states, each factor's place, and the progress of every node."""

    cache: Floats
    cache_exponents: Int32s
    assigned: Ints
    places: Ints
    work: Ints
    sums: Floats


@kernel(borrows=True)
def place_of(entries: Ints, start: int, end: int, assigned: Ints) -> int:
    """The sum of strides times the states assigned to the variables of a range."""
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
def locate(node: int, tree: Tree, progress: Progress) -> None:
    """Each factor's place without the node's own variable."""
    factors = tree.factors
    for f in range(tree.nodes[node, FACTOR], tree.nodes[node, FACTOR_END]):
        place = place_of(tree.args, factors[f, ARG], factors[f, ARG_END], progress.assigned)
        progress.places[f] = factors[f, OFFSET] + place


@kernel(borrows=True)
def weigh(node: int, state: int, tree: Tree, progress: Progress) -> Number:
    """The product of a node's own factors at a state."""
    weight, exponent = 1.0, 0
    for f in range(tree.nodes[node, FACTOR], tree.nodes[node, FACTOR_END]):
        place = progress.places[f] + state * tree.factors[f, OWN]
        weight, exponent = times(weight, exponent, tree.values[place], int(tree.exponents[place]))
        if weight == 0.0:
            break
    return weight, exponent


@kernel(borrows=True)
def begin(node: int, tree: Tree, progress: Progress) -> None:
    """Start before the first state of a node."""
    locate(node, tree, progress)
    progress.work[node, STATE] = -1
    progress.sums[node, 1] = 0.0


@kernel(borrows=True)
def begin_row(top: int, row: Ints, tree: Tree, progress: Progress) -> None:
    """Assign a row to the context of the top node, and start before its first state."""
    start = tree.nodes[top, CONTEXT]
    for i in range(start, tree.nodes[top, CONTEXT_END]):
        progress.assigned[tree.contexts[i, 0]] = row[i - start]
    begin(top, tree, progress)


@kernel(borrows=True)
def is_known(node: int, tree: Tree, progress: Progress) -> bool:
    """Whether the cache has a node's value; its place there is recorded."""
    nodes = tree.nodes
    if nodes[node, CACHE] < 0:
        return False
    place = place_of(tree.contexts, nodes[node, CONTEXT], nodes[node, CONTEXT_END], progress.assigned)
    slot = nodes[node, CACHE] + place
    progress.work[node, SLOT] = slot
    return bool(progress.cache_exponents[slot] != EMPTY)


@kernel(borrows=True)
def keep(node: int, value: float, exponent: int, tree: Tree, progress: Progress) -> None:
    """Write a node's value to the cache if the node is kept."""
    if tree.nodes[node, CACHE] >= 0:
        progress.cache[progress.work[node, SLOT]] = value
        progress.cache_exponents[progress.work[node, SLOT]] = exponent


@kernel(borrows=True)
def sum_leaf(leaf: int, tree: Tree, progress: Progress) -> Number:
    """The value of a node without children."""
    locate(leaf, tree, progress)
    value, exponent = 0.0, 0
    for state in range(tree.nodes[leaf, CARD]):
        one, its = weigh(leaf, state, tree, progress)
        value, exponent = plus(value, exponent, one, its, tree.nodes[leaf, MAXIMIZE])
    keep(leaf, value, exponent, tree, progress)
    return value, exponent


@kernel(borrows=True)
def multiply_children(
    node: int, child: int, weight: float, exponent: int, tree: Tree, progress: Progress
) -> tuple[float, int, int, int]:
    """The product with the values of children, from `child` on, up to one that has to be visited: the index of that
    child or the end, and the number of states that leaves were summed over."""
    steps = 0
    while weight > 0.0 and child < tree.nodes[node, CHILD_END]:
        below = tree.children[child]
        if is_known(below, tree, progress):
            slot = progress.work[below, SLOT]
            weight, exponent = times(weight, exponent, progress.cache[slot], int(progress.cache_exponents[slot]))
        elif tree.nodes[below, CHILD] < tree.nodes[below, CHILD_END]:
            break
        else:
            value, more = sum_leaf(below, tree, progress)
            weight, exponent = times(weight, exponent, value, more)
            steps += tree.nodes[below, CARD]
        child += 1
    return weight, exponent, child, steps


@kernel(borrows=True)
def end(node: int, tree: Tree, progress: Progress) -> tuple[int, float, int, int]:
    """After the last state of a node: its parent, the parent's product with its value, and the next child there."""
    value, more = progress.sums[node, 1], progress.work[node, TOTAL]
    keep(node, value, more, tree, progress)
    above = tree.nodes[node, PARENT]
    weight, exponent = times(progress.sums[above, 0], progress.work[above, WEIGHT], value, more)
    return above, weight, exponent, progress.work[above, NEXT_CHILD] + 1


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
    exponents: Int32s,
    cache: Floats,
    cache_exponents: Int32s,
    assigned: Ints,
    places: Ints,
    work: Ints,
    sums: Floats,
    machine: Ints,
    out: Floats,
    out_exponents: Ints,
    limit: int,
) -> bool:
    """Continue for about `limit` states; True when `out[row, state]` of node `top` is complete for all rows."""
    tree = Tree(nodes, children, factors, args, contexts, values, exponents)
    progress = Progress(cache, cache_exponents, assigned, places, work, sums)
    node, row, steps = machine[NODE], machine[ROW], 0
    while steps < limit:
        if node < 0:
            if row == len(rows):
                break
            node = top
            begin_row(node, rows[row], tree, progress)
        work[node, STATE] += 1
        state = work[node, STATE]
        if state < nodes[node, CARD]:
            steps += 1
            assigned[node] = state
            weight, exponent = weigh(node, state, tree, progress)
            child = nodes[node, CHILD]
        elif node == top:
            row += 1
            node = -1
            continue
        else:
            node, weight, exponent, child = end(node, tree, progress)
            state = work[node, STATE]
        weight, exponent, child, spent = multiply_children(node, child, weight, exponent, tree, progress)
        steps += spent
        if weight > 0.0 and child < nodes[node, CHILD_END]:
            sums[node, 0], work[node, WEIGHT], work[node, NEXT_CHILD] = weight, exponent, child
            node = children[child]
            begin(node, tree, progress)
            continue
        if node == top:
            out[row, state], out_exponents[row, state] = weight, exponent
        total, above = plus(sums[node, 1], work[node, TOTAL], weight, exponent, nodes[node, MAXIMIZE])
        sums[node, 1], work[node, TOTAL] = total, above
    machine[NODE], machine[ROW] = node, row
    machine[STEPS] += steps
    return bool(node < 0 and row == len(rows))
