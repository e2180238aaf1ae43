"""The order of a search, and cost functions whose variables are in that order."""

from __future__ import annotations

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.map.reduction import (
    AFTER,
    ARITY,
    ENTRIES,
    FIRST,
    FUNCTIONS,
    HEADS,
    LISTED,
    OWNER,
    PLACE,
    SCOPE,
    SIZE,
    SLOTS,
    STATES,
    Pool,
)

BITS = 62
"""The number of neighbors that one word of a row tells."""


def _pool_work(pool: Pool, *_: object) -> float:
    return 2.0 * float(pool.numbers[SLOTS] + pool.variables.shape[1] - 1)


@kernel(work=_pool_work, borrows=True)
def label(pool: Pool, labels: Ints) -> int:
    """Number the connected parts of variables that have functions, -1 for all others; returns their number."""
    parts = 0
    for i in range(pool.variables.shape[1] - 1):
        labels[i] = -1
    for start in range(pool.variables.shape[1] - 1):
        if labels[start] >= 0:
            continue
        pool.variables[LISTED, 0], height = start, 1
        while height > 0:
            height -= 1
            s = pool.variables[HEADS, pool.variables[LISTED, height]]
            while s >= 0:
                f = pool.slots[OWNER, s]
                for t in range(
                    pool.functions[FIRST, f],
                    pool.functions[FIRST, f] + (pool.functions[ARITY, f] if pool.functions[SIZE, f] > 0 else 0),
                ):
                    j = pool.slots[SCOPE, t]
                    if labels[j] < 0:
                        labels[j] = parts
                        pool.variables[LISTED, height] = j
                        height += 1
                s = pool.slots[AFTER, s]
        parts += labels[start] >= 0
    return parts


@kernel(inner=True, borrows=True)
def num_bits(rows: Ints, first: int, words: int) -> int:
    """The number of neighbors in a row."""
    count = 0
    for k in range(first, first + words):
        word = rows[k]
        while word:
            word &= word - 1
            count += 1
    return count


@kernel(inner=True, borrows=True)
def connect(pool: Pool, place: Ints, rows: Ints, words: int) -> None:
    """Enter the variables of each function as neighbors of each other."""
    for f in range(pool.numbers[FUNCTIONS]):
        first = pool.functions[FIRST, f]
        last = first + pool.functions[ARITY, f]
        if pool.functions[SIZE, f] == 0 or place[pool.slots[SCOPE, first]] < 0:
            continue
        for s in range(first, last):
            for t in range(first, last):
                d = place[pool.slots[SCOPE, t]]
                if t != s:
                    rows[place[pool.slots[SCOPE, s]] * words + d // BITS] |= 1 << (d % BITS)


def _order_work(pool: Pool, place: Ints, rows: Ints, degrees: Ints, *_: object) -> float:
    return 20.0 * float(len(rows)) + float(len(degrees)) ** 2


@kernel(work=_order_work, borrows=True)
def least_degrees(pool: Pool, place: Ints, rows: Ints, degrees: Ints, order: Ints, cancel: Bytes) -> None:
    """Eliminate the variable with the fewest neighbors, which then are neighbors of each other, until none is left.

    Args:
        place: the number of each variable among those of a part, -1 for all others.
        rows: bits of neighbors, all zero; as many words for each variable.
        degrees: room for one number per variable of the part.
        order: receives them in order.
    """
    n = len(order)
    words = len(rows) // max(n, 1)
    connect(pool, place, rows, words)
    for i in range(n):
        degrees[i] = num_bits(rows, i * words, words)
    for at in range(n):
        chosen = -1
        for i in range(n):
            if degrees[i] >= 0 and (chosen < 0 or degrees[i] < degrees[chosen]):
                chosen = i
        order[at], degrees[chosen], first = chosen, -1, chosen * words
        for k in range(words if not cancel[0] else 0):
            word, d = rows[first + k], k * BITS
            while word:
                if word & 1:
                    for w in range(words):
                        rows[d * words + w] |= rows[first + w]
                    rows[d * words + chosen // BITS] &= ~(1 << (chosen % BITS))
                    rows[d * words + k] &= ~(1 << (d % BITS))
                    degrees[d] = num_bits(rows, d * words, words)
                word >>= 1
                d += 1


def _arrange_work(pool: Pool, *_: object) -> float:
    return 10.0 * float(pool.numbers[SLOTS] + pool.numbers[ENTRIES])


@kernel(work=_arrange_work, borrows=True)
def arrange(
    pool: Pool, chosen: Ints, place: Ints, cards: Ints, starts: Ints, scope: Ints, steps: Ints, places: Ints,
    tables: Floats, codes: Ints,
) -> None:  # fmt: skip
    """Write functions with their variables in the order of their places.

    Args:
        chosen: the functions.
        place: the place of each variable.
        cards: the number of states by place.
        starts, places: where the scope and the costs of each of them start.
        scope, steps, tables: receive the places of the variables of each scope, their steps, and the costs.
        codes: room for one code per variable of a scope.
    """
    for k in range(len(chosen)):
        f, first = chosen[k], starts[k]
        arity, size = pool.functions[ARITY, f], pool.functions[SIZE, f]
        step = 1
        for t in range(arity - 1, -1, -1):  # sorted by place; `steps` has the steps of the function as it is
            j = pool.slots[SCOPE, pool.functions[FIRST, f] + t]
            at = first + arity - 1 - t
            while at > first and scope[at - 1] > place[j]:
                scope[at], steps[at] = scope[at - 1], steps[at - 1]
                at -= 1
            scope[at], steps[at] = place[j], step
            step *= pool.variables[STATES, j + 1] - pool.variables[STATES, j]
        source = pool.functions[PLACE, f]
        for d in range(arity):
            codes[d] = 0
        for out in range(places[k], places[k] + size):
            tables[out] = pool.tables[source]
            for d in range(arity - 1, -1, -1):
                codes[d] += 1
                source += steps[first + d]
                if codes[d] < cards[scope[first + d]]:
                    break
                source -= codes[d] * steps[first + d]
                codes[d] = 0
        step = 1
        for d in range(arity - 1, -1, -1):
            steps[first + d] = step
            step *= cards[scope[first + d]]
