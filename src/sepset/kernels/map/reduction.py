r"""Cost functions in arrays with room for more: merged, restricted, eliminated and absorbed where they are.

A variable with few neighbors is replaced by the least costs over its states,

$$c(\mathbf s) = \min_x \Bigl[ c_X(x) + \sum_{f \ni X} c_f(x, \mathbf s) \Bigr],$$

and a state that is never better than another one is forbidden. The functions of a variable are a linked list of slots.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel

FUNCTIONS, SLOTS, ENTRIES, GONE, NEAR, BEST, STAMP = range(7)
"""The single numbers of a pool: how many functions, slots, entries, eliminated variables, neighbors and best states of
these there are; and the last stamp."""

STATES, HEADS, OUT, NEAR_AT, BEST_AT, COST, TOUCHED, STAMPS, SPOTS, LISTED, CODES, JUMPS = range(12)
"""The numbers of each variable: where its states start; its first slot. Of the eliminated ones, in order: the variable,
and where its neighbors and their best states start. The entries that its elimination leaves: `UNKNOWN`, or `NEVER` if
they are too many or it is eliminated. Whether its functions changed since its states were compared. Marks of neighbors,
their places among the listed ones, and room for a list, their codes and steps."""

UNKNOWN, NEVER = -1, -2

FIRST, ARITY, PLACE, SIZE = range(4)
"""The numbers of each function: where its scope starts among the slots, and its length; where its costs start, and
their number, zero if it is gone."""

SCOPE, OWNER, AFTER = range(3)
"""The numbers of each slot: its variable, increasing within a function; its function; and the next slot of the same
variable, -1 for none."""

MOST_DIFFERENCES = 2**22
"""The most differences of costs between two states that are compared; larger functions are left as they are."""


class Pool(NamedTuple):
    """Cost functions over numbered variables.

    Attributes:
        variables: see `STATES`; one column per variable and one more.
        functions: see `FIRST`.
        slots: see `SCOPE`.
        unary: the costs of single variables, and last the cost of nothing.
        tables: costs, the last variable of a scope fastest.
        near, best: the neighbors of eliminated variables, and the best state for each of their joint states.
        room: room for the costs of a step.
        numbers: see `FUNCTIONS`.
    """

    variables: Ints
    functions: Ints
    slots: Ints
    unary: Floats
    tables: Floats
    near: Ints
    best: Ints
    room: Floats
    numbers: Ints


@kernel(inner=True, borrows=True)
def trim(pool: Pool, i: int) -> None:
    """Take functions that are gone out of the list of a variable."""
    last, s = -1, pool.variables[HEADS, i]
    while s >= 0:
        if pool.functions[SIZE, pool.slots[OWNER, s]] > 0:
            last = s
        elif last < 0:
            pool.variables[HEADS, i] = pool.slots[AFTER, s]
        else:
            pool.slots[AFTER, last] = pool.slots[AFTER, s]
        s = pool.slots[AFTER, s]


@kernel(inner=True, borrows=True)
def neighbors(pool: Pool, i: int) -> int:
    """List the other variables of the functions of a variable, in increasing order; returns their number."""
    trim(pool, i)
    pool.numbers[STAMP] += 1
    stamp, count, s = pool.numbers[STAMP], 0, pool.variables[HEADS, i]
    while s >= 0:
        f = pool.slots[OWNER, s]
        for t in range(pool.functions[FIRST, f], pool.functions[FIRST, f] + pool.functions[ARITY, f]):
            j = pool.slots[SCOPE, t]
            if j != i and pool.variables[STAMPS, j] != stamp:
                pool.variables[STAMPS, j] = stamp
                at = count
                while at > 0 and pool.variables[LISTED, at - 1] > j:
                    pool.variables[LISTED, at] = pool.variables[LISTED, at - 1]
                    at -= 1
                pool.variables[LISTED, at] = j
                count += 1
        s = pool.slots[AFTER, s]
    for d in range(count):
        pool.variables[SPOTS, pool.variables[LISTED, d]] = d
    return count


@kernel(inner=True, borrows=True)
def advance(pool: Pool, count: int, place: int) -> int:
    """The next joint state of the listed variables, the last changing fastest, in `CODES`; where its entry is."""
    for d in range(count - 1, -1, -1):
        j = pool.variables[LISTED, d]
        pool.variables[CODES, d] += 1
        place += pool.variables[JUMPS, d]
        if pool.variables[CODES, d] < pool.variables[STATES, j + 1] - pool.variables[STATES, j]:
            break
        place -= pool.variables[CODES, d] * pool.variables[JUMPS, d]
        pool.variables[CODES, d] = 0
    return place


@kernel(inner=True, borrows=True)
def add_spread(pool: Pool, f: int, i: int, count: int, rows: int, out: Floats, start: int) -> None:
    """Add the costs of a function to rows of costs: one row per joint state of the listed variables.

    Args:
        i: the variable whose states a row has; -1 if the rows have one entry.
        rows: the number of rows.
        start: where they start in `out`.
    """
    own, step = 0, 1
    for d in range(count):
        pool.variables[JUMPS, d] = 0
        pool.variables[CODES, d] = 0
    for t in range(pool.functions[FIRST, f] + pool.functions[ARITY, f] - 1, pool.functions[FIRST, f] - 1, -1):
        j = pool.slots[SCOPE, t]
        if j == i:
            own = step
        else:
            pool.variables[JUMPS, pool.variables[SPOTS, j]] = step
        step *= pool.variables[STATES, j + 1] - pool.variables[STATES, j]
    size = pool.variables[STATES, i + 1] - pool.variables[STATES, i] if i >= 0 else 1
    place = pool.functions[PLACE, f]
    for row in range(rows):
        for x in range(size):
            out[start + row * size + x] += pool.tables[place + x * own]
        place = advance(pool, count, place)


@kernel(inner=True, borrows=True)
def same_scope(pool: Pool, count: int) -> int:
    """The function of exactly the listed variables; -1 if there is none."""
    s = pool.variables[HEADS, pool.variables[LISTED, 0]]
    while s >= 0:
        f = pool.slots[OWNER, s]
        if pool.functions[SIZE, f] > 0 and pool.functions[ARITY, f] == count:
            is_same = True
            for d in range(count):
                is_same = is_same and pool.slots[SCOPE, pool.functions[FIRST, f] + d] == pool.variables[LISTED, d]
            if is_same:
                return int(f)
        s = pool.slots[AFTER, s]
    return -1


@kernel(inner=True, borrows=True)
def add(pool: Pool, count: int, size: int, start: int) -> None:
    """Add a function of the listed variables, whose costs start in `room`."""
    numbers = pool.numbers
    if count == 0:
        pool.unary[len(pool.unary) - 1] += pool.room[start]
        return
    if count == 1:
        base = pool.variables[STATES, pool.variables[LISTED, 0]]
        for x in range(size):
            pool.unary[base + x] += pool.room[start + x]
        return
    f = same_scope(pool, count)
    if f >= 0:
        for k in range(size):
            pool.tables[pool.functions[PLACE, f] + k] += pool.room[start + k]
        return
    f, s = numbers[FUNCTIONS], numbers[SLOTS]
    pool.functions[FIRST, f], pool.functions[ARITY, f] = s, count
    pool.functions[PLACE, f], pool.functions[SIZE, f] = numbers[ENTRIES], size
    for d in range(count):
        j = pool.variables[LISTED, d]
        pool.slots[SCOPE, s + d] = j
        pool.slots[OWNER, s + d] = f
        pool.slots[AFTER, s + d] = pool.variables[HEADS, j]
        pool.variables[HEADS, j] = s + d
    for k in range(size):
        pool.tables[pool.functions[PLACE, f] + k] = pool.room[start + k]
    numbers[FUNCTIONS] += 1
    numbers[SLOTS] += count
    numbers[ENTRIES] += size


def _insert_work(pool: Pool, count: int, size: int) -> float:
    return 10.0 * (count + size)


@kernel(work=_insert_work, borrows=True)
def insert(pool: Pool, count: int, size: int) -> None:
    """Add a function of the listed variables, whose costs are in `room`."""
    add(pool, count, size, 0)


@kernel(inner=True, borrows=True)
def has_room(pool: Pool, entries: int) -> bool:
    """Whether there is room for one more function of so many entries."""
    numbers, slots = pool.numbers, pool.variables.shape[1]
    return bool(
        numbers[FUNCTIONS] < pool.functions.shape[1]
        and numbers[SLOTS] + slots <= pool.slots.shape[1]
        and numbers[ENTRIES] + entries <= len(pool.tables)
        and numbers[NEAR] + slots <= len(pool.near)
        and numbers[BEST] + entries <= len(pool.best)
    )


@kernel(inner=True, borrows=True)
def weigh(pool: Pool, i: int, entries: int) -> int:
    """The entries that the elimination of a variable leaves; `NEVER` if they are too many and more than it takes."""
    most, card = entries, pool.variables[STATES, i + 1] - pool.variables[STATES, i]
    count, size, s = neighbors(pool, i), 1, pool.variables[HEADS, i]
    while s >= 0:
        most = max(most, pool.functions[SIZE, pool.slots[OWNER, s]] // card)
        s = pool.slots[AFTER, s]
    for d in range(count):
        j = pool.variables[LISTED, d]
        size *= pool.variables[STATES, j + 1] - pool.variables[STATES, j]
        if size > most:
            return NEVER
    return size


@kernel(inner=True, borrows=True)
def eliminate(pool: Pool, i: int) -> None:
    """Replace the functions of a variable by their least costs over it; its neighbors are touched."""
    numbers, base = pool.numbers, pool.variables[STATES, i]
    card, count, size = pool.variables[STATES, i + 1] - base, neighbors(pool, i), pool.variables[COST, i]
    for row in range(size):
        for x in range(card):
            pool.room[row * card + x] = pool.unary[base + x]
    s = pool.variables[HEADS, i]
    while s >= 0:
        add_spread(pool, pool.slots[OWNER, s], i, count, size, pool.room, 0)
        pool.functions[SIZE, pool.slots[OWNER, s]] = 0
        s = pool.slots[AFTER, s]
    at = numbers[GONE]
    pool.variables[OUT, at], pool.variables[NEAR_AT, at], pool.variables[BEST_AT, at] = i, numbers[NEAR], numbers[BEST]
    pool.variables[HEADS, i], pool.variables[COST, i], pool.variables[TOUCHED, i] = -1, NEVER, 0
    for d in range(count):
        j = pool.variables[LISTED, d]
        pool.near[numbers[NEAR] + d] = j
        pool.variables[COST, j], pool.variables[TOUCHED, j] = UNKNOWN, 1
    for row in range(size):
        best = 0
        for x in range(1, card):
            if pool.room[row * card + x] < pool.room[row * card + best]:
                best = x
        pool.best[numbers[BEST] + row] = best
        pool.room[row] = pool.room[row * card + best]
    numbers[GONE] += 1
    numbers[NEAR] += count
    numbers[BEST] += size
    for x in range(card):
        pool.unary[base + x] = 0.0
    add(pool, count, size, 0)


@kernel(inner=True, borrows=True)
def restrict(pool: Pool, i: int, x: int) -> None:
    """Replace the first function of a variable by its costs at one state; its other variables are touched."""
    card, s, count, step = pool.variables[STATES, i + 1] - pool.variables[STATES, i], pool.variables[HEADS, i], 0, 1
    f = pool.slots[OWNER, s]
    size = pool.functions[SIZE, f] // card
    for t in range(pool.functions[FIRST, f], pool.functions[FIRST, f] + pool.functions[ARITY, f]):
        j = pool.slots[SCOPE, t]
        if t != s:
            pool.variables[LISTED, count] = j
            pool.variables[COST, j], pool.variables[TOUCHED, j] = UNKNOWN, 1
            count += 1
        if t > s:
            step *= pool.variables[STATES, j + 1] - pool.variables[STATES, j]
    for k in range(size):
        pool.room[k] = pool.tables[pool.functions[PLACE, f] + (k // step * card + x) * step + k % step]
    pool.functions[SIZE, f] = 0
    pool.variables[HEADS, i] = pool.slots[AFTER, s]
    add(pool, count, size, 0)


@kernel(inner=True, borrows=True)
def is_dominated(pool: Pool, i: int, a: int, b: int) -> bool:
    """Whether one state of a variable never costs less than another one, whatever the states of the others."""
    base = pool.variables[STATES, i]
    card, better, s = (
        pool.variables[STATES, i + 1] - base,
        pool.unary[base + a] - pool.unary[base + b],
        pool.variables[HEADS, i],
    )
    while s >= 0:
        f, step = pool.slots[OWNER, s], 1
        for t in range(s + 1, pool.functions[FIRST, f] + pool.functions[ARITY, f]):
            j = pool.slots[SCOPE, t]
            step *= pool.variables[STATES, j + 1] - pool.variables[STATES, j]
        least, place = np.inf, pool.functions[PLACE, f]
        if card * pool.functions[SIZE, f] > MOST_DIFFERENCES:
            return False
        for block in range(place, place + pool.functions[SIZE, f], step * card):
            for k in range(block, block + step):
                if pool.tables[k + a * step] < np.inf:
                    least = min(least, pool.tables[k + a * step] - pool.tables[k + b * step])
        if least == -np.inf:
            return False
        better += least
        s = pool.slots[AFTER, s]
    return bool(better >= 0.0)


@kernel(inner=True, borrows=True)
def compare(pool: Pool, i: int) -> int:
    """Forbid the states of a variable that others that stay dominate; returns its only state that is left, or -1."""
    base, found, num = pool.variables[STATES, i], -1, 0
    card = pool.variables[STATES, i + 1] - base
    count = neighbors(pool, i)
    pool.variables[TOUCHED, i] = 0
    for a in range(card):
        for b in range(card):
            if (
                a != b
                and pool.unary[base + a] < np.inf
                and pool.unary[base + b] < np.inf
                and is_dominated(pool, i, a, b)
            ):
                pool.unary[base + a] = np.inf
                for d in range(count):
                    pool.variables[TOUCHED, pool.variables[LISTED, d]] = 1
        if pool.unary[base + a] < np.inf:
            found, num = a, num + 1
    return found if num == 1 else -1


@kernel(inner=True, borrows=True)
def thin_out(pool: Pool, widest: int) -> int:
    """Forbid dominated states of touched variables, and take those with a single state out of their functions.

    Returns whether something changed; -1 without room.
    """
    changed = 0
    for i in range(pool.variables.shape[1] - 1):
        if not pool.variables[TOUCHED, i]:
            continue
        x = compare(pool, i)
        while x >= 0 and pool.variables[HEADS, i] >= 0:
            if not has_room(pool, widest):
                pool.variables[TOUCHED, i] = 1
                return -1
            restrict(pool, i, x)
            pool.variables[COST, i], changed = UNKNOWN, 1
            trim(pool, i)
    for i in range(pool.variables.shape[1] - 1):
        changed = max(changed, pool.variables[TOUCHED, i])
    return changed


def _reduce_work(pool: Pool, *_: object) -> float:
    return 20.0 * float(pool.variables.size + pool.numbers[ENTRIES])


@kernel(work=_reduce_work, borrows=True)
def reduce(pool: Pool, entries: int, widest: int, cancel: Bytes) -> bool:
    """Eliminate variables and forbid dominated states until nothing changes; False if there is no room for more.

    Variables that leave few entries are eliminated first, up to a factor of two.

    Args:
        entries: the most entries of a function that an elimination leaves, unless the variable has a larger one.
        widest: the most entries of a function that a step adds.
    """
    n, level, changed = pool.variables.shape[1] - 1, 1, thin_out(pool, widest)
    while changed >= 0 and not cancel[0]:
        again = False
        for i in range(n):
            if pool.variables[COST, i] == UNKNOWN:
                pool.variables[COST, i] = weigh(pool, i, entries)
            if pool.variables[COST, i] >= 0 and pool.variables[COST, i] <= level:
                if not has_room(pool, widest):
                    return False
                eliminate(pool, i)
                again = True
        level = 1 if again else 2 * level
        if level >= 2 * widest:
            changed, level = thin_out(pool, widest), 1
            if changed == 0:
                return True
    return changed >= 0


@kernel(inner=True, borrows=True)
def is_inside(pool: Pool, f: int, g: int) -> bool:
    """Whether the scope of a function is a part of that of another one."""
    t, last = pool.functions[FIRST, g], pool.functions[FIRST, g] + pool.functions[ARITY, g]
    for s in range(pool.functions[FIRST, f], pool.functions[FIRST, f] + pool.functions[ARITY, f]):
        while t < last and pool.slots[SCOPE, t] < pool.slots[SCOPE, s]:
            t += 1
        if t == last or pool.slots[SCOPE, t] != pool.slots[SCOPE, s]:
            return False
    return True


@kernel(work=_reduce_work, borrows=True)
def absorb(pool: Pool, cancel: Bytes) -> None:
    """Add functions to the smallest function whose scope has theirs as a part."""
    most = 2
    for f in range(pool.numbers[FUNCTIONS]):
        most = max(most, pool.functions[ARITY, f])
    for arity in range(2, most):
        for f in range(pool.numbers[FUNCTIONS]):
            if pool.functions[SIZE, f] == 0 or pool.functions[ARITY, f] != arity:
                continue
            chosen, s = -1, pool.variables[HEADS, pool.slots[SCOPE, pool.functions[FIRST, f]]]
            while s >= 0:
                g = pool.slots[OWNER, s]
                wider = pool.functions[SIZE, g] > 0 and pool.functions[ARITY, g] > arity
                if (
                    wider
                    and (chosen < 0 or pool.functions[SIZE, g] < pool.functions[SIZE, chosen])
                    and is_inside(pool, f, g)
                ):
                    chosen = g
                s = pool.slots[AFTER, s]
            if chosen < 0 or cancel[0]:
                continue
            for d in range(pool.functions[ARITY, chosen]):
                j = pool.slots[SCOPE, pool.functions[FIRST, chosen] + d]
                pool.variables[LISTED, d] = j
                pool.variables[SPOTS, j] = d
            add_spread(
                pool,
                f,
                -1,
                pool.functions[ARITY, chosen],
                pool.functions[SIZE, chosen],
                pool.tables,
                pool.functions[PLACE, chosen],
            )
            pool.functions[SIZE, f] = 0


def _fill_work(pool: Pool, *_: object) -> float:
    return 10.0 * float(pool.slots.size + len(pool.tables))


@kernel(work=_fill_work, borrows=True)
def fill(pool: Pool, starts: Ints, scope: Ints, places: Ints, values: Floats, cancel: Bytes) -> None:
    """Add the negative values of tables over any order of variables; there is room for them.

    Args:
        starts, scope: where the variables of each table start, and the variables.
        places: where its values start.
    """
    for f in range(len(places)):
        first, count, size = starts[f], starts[f + 1] - starts[f], 1
        for t in range(count - 1, -1, -1):  # sorted; `JUMPS` has their steps
            j, at = scope[first + t], count - 1 - t
            while at > 0 and pool.variables[LISTED, at - 1] > j:
                pool.variables[LISTED, at] = pool.variables[LISTED, at - 1]
                pool.variables[JUMPS, at] = pool.variables[JUMPS, at - 1]
                at -= 1
            pool.variables[LISTED, at], pool.variables[JUMPS, at], pool.variables[CODES, count - 1 - t] = j, size, 0
            size *= pool.variables[STATES, j + 1] - pool.variables[STATES, j]
        place = places[f]
        for k in range(size if not cancel[0] else 0):
            pool.room[k] = -values[place]
            place = advance(pool, count, place)
        add(pool, count, size, 0)


@kernel(work=_fill_work, borrows=True)
def complete(pool: Pool, codes: Ints) -> None:
    """Give the variables that were eliminated their best states, from those of the others."""
    for at in range(pool.numbers[GONE] - 1, -1, -1):
        last = pool.variables[NEAR_AT, at + 1] if at + 1 < pool.numbers[GONE] else pool.numbers[NEAR]
        place = 0
        for d in range(pool.variables[NEAR_AT, at], last):
            j = pool.near[d]
            place = place * (pool.variables[STATES, j + 1] - pool.variables[STATES, j]) + codes[j]
        codes[pool.variables[OUT, at]] = pool.best[pool.variables[BEST_AT, at] + place]
