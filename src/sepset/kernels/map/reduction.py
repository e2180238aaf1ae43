r"""Cost functions in arrays with room for more: merged, restricted, eliminated and absorbed where they are.

A variable with few neighbors is replaced by the least costs over its states,

$$c(\mathbf s) = \min_x \Bigl[ c_X(x) + \sum_{f \ni X} c_f(x, \mathbf s) \Bigr],$$

and a state that is never better than another one is forbidden. Functions of a variable are a linked list of slots. The
variables that may be eliminated wait by the number of their neighbors' joint states, up to a factor of two.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.propagation.wires import Wires, factor_value

FUNCTIONS, SLOTS, ENTRIES, GONE, NEAR, BEST, STAMP, NEEDED, BEGUN = range(9)
"""The single numbers of a pool: how many functions, slots, entries, eliminated variables, neighbors and best states of
these there are; the last stamp; the entries that the next step needs; and whether a reduction has begun."""

LEVELS = 62
"""The number of queues; see `Pool.queues`."""

MOST_DIFFERENCES = 2**22
"""The most differences of costs between two states that are compared; larger functions are left as they are."""


class Pool(NamedTuple):
    """Cost functions over numbered variables.

    Attributes:
        states: where the states of each variable start; the last entry is their number.
        unary: the costs of single variables.
        constant: the cost of nothing, one entry.
        firsts, arities: where the scope of each function starts among the slots, and its length.
        places, sizes: where the costs of each function start, and their number; zero if the function is gone.
        scope, owner, after: the variable of each slot, increasing within a function; its function; and the next slot of
            the same variable, -1 for none.
        heads: the first slot of each variable.
        tables: costs, the last variable of a scope fastest.
        gone: the variables that were eliminated, in order.
        near_at, best_at: where their neighbors start in `near`, and their best states in `best`.
        near, best: the neighbors, and the best state for each of their joint states.
        queues: the first variable that waits at each level: the logarithm of its neighbors' joint states.
        level, before, behind: the level of each variable, -1 if it does not wait, and its neighbors in the queue.
        touched: whether the functions of each variable changed since its states were compared.
        stamps, spots: marks of neighbors, and their places among the listed ones.
        listed, codes, jumps: room for one number per variable.
        room: room for the costs of a step.
        numbers: see `FUNCTIONS`.
    """

    states: Ints
    unary: Floats
    constant: Floats
    firsts: Ints
    arities: Ints
    places: Ints
    sizes: Ints
    scope: Ints
    owner: Ints
    after: Ints
    heads: Ints
    tables: Floats
    gone: Ints
    near_at: Ints
    best_at: Ints
    near: Ints
    best: Ints
    queues: Ints
    level: Ints
    before: Ints
    behind: Ints
    touched: Bytes
    stamps: Ints
    spots: Ints
    listed: Ints
    codes: Ints
    jumps: Ints
    room: Floats
    numbers: Ints


@kernel(inner=True, borrows=True)
def trim(pool: Pool, i: int) -> None:
    """Take functions that are gone out of the list of a variable."""
    last, s = -1, pool.heads[i]
    while s >= 0:
        if pool.sizes[pool.owner[s]] > 0:
            last = s
        elif last < 0:
            pool.heads[i] = pool.after[s]
        else:
            pool.after[last] = pool.after[s]
        s = pool.after[s]


@kernel(inner=True, borrows=True)
def neighbors(pool: Pool, i: int) -> int:
    """List the other variables of the functions of a variable, in increasing order; returns their number."""
    trim(pool, i)
    pool.numbers[STAMP] += 1
    stamp, count, s = pool.numbers[STAMP], 0, pool.heads[i]
    while s >= 0:
        f = pool.owner[s]
        for t in range(pool.firsts[f], pool.firsts[f] + pool.arities[f]):
            j = pool.scope[t]
            if j != i and pool.stamps[j] != stamp:
                pool.stamps[j] = stamp
                at = count
                while at > 0 and pool.listed[at - 1] > j:
                    pool.listed[at] = pool.listed[at - 1]
                    at -= 1
                pool.listed[at] = j
                count += 1
        s = pool.after[s]
    for d in range(count):
        pool.spots[pool.listed[d]] = d
    return count


@kernel(inner=True, borrows=True)
def joint_states(pool: Pool, count: int, most: int) -> int:
    """The number of joint states of the listed variables; one more than `most` if it is larger."""
    size = 1
    for d in range(count):
        j = pool.listed[d]
        size *= pool.states[j + 1] - pool.states[j]
        if size > most:
            return most + 1
    return size


@kernel(inner=True, borrows=True)
def add_spread(pool: Pool, f: int, i: int, count: int, rows: int, out: Floats, start: int) -> None:
    """Add the costs of a function to rows of costs: one row per joint state of the listed variables.

    Args:
        i: the variable whose states a row has; -1 if the rows have one entry.
        rows: the number of rows.
        start: where they start in `out`.
    """
    jumps, codes, own, step = pool.jumps, pool.codes, 0, 1
    for d in range(count):
        jumps[d] = 0
        codes[d] = 0
    for t in range(pool.firsts[f] + pool.arities[f] - 1, pool.firsts[f] - 1, -1):
        j = pool.scope[t]
        if j == i:
            own = step
        else:
            jumps[pool.spots[j]] = step
        step *= pool.states[j + 1] - pool.states[j]
    size = pool.states[i + 1] - pool.states[i] if i >= 0 else 1
    place = pool.places[f]
    for row in range(rows):
        for x in range(size):
            out[start + row * size + x] += pool.tables[place + x * own]
        d = count - 1
        while d >= 0:
            j = pool.listed[d]
            codes[d] += 1
            place += jumps[d]
            if codes[d] < pool.states[j + 1] - pool.states[j]:
                break
            place -= codes[d] * jumps[d]
            codes[d] = 0
            d -= 1


@kernel(inner=True, borrows=True)
def same_scope(pool: Pool, count: int) -> int:
    """The function of exactly the listed variables; -1 if there is none."""
    s = pool.heads[pool.listed[0]]
    while s >= 0:
        f = pool.owner[s]
        if pool.sizes[f] > 0 and pool.arities[f] == count:
            is_same = True
            for d in range(count):
                is_same = is_same and pool.scope[pool.firsts[f] + d] == pool.listed[d]
            if is_same:
                return int(f)
        s = pool.after[s]
    return -1


@kernel(inner=True, borrows=True)
def add(pool: Pool, count: int, size: int, start: int) -> None:
    """Add a function of the listed variables, whose costs start in `room`."""
    numbers = pool.numbers
    if count == 0:
        pool.constant[0] += pool.room[start]
        return
    if count == 1:
        base = pool.states[pool.listed[0]]
        for x in range(size):
            pool.unary[base + x] += pool.room[start + x]
        return
    f = same_scope(pool, count)
    if f >= 0:
        for k in range(size):
            pool.tables[pool.places[f] + k] += pool.room[start + k]
        return
    f, s = numbers[FUNCTIONS], numbers[SLOTS]
    pool.firsts[f], pool.arities[f] = s, count
    pool.places[f], pool.sizes[f] = numbers[ENTRIES], size
    for d in range(count):
        j = pool.listed[d]
        pool.scope[s + d] = j
        pool.owner[s + d] = f
        pool.after[s + d] = pool.heads[j]
        pool.heads[j] = s + d
    for k in range(size):
        pool.tables[pool.places[f] + k] = pool.room[start + k]
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
def has_room(pool: Pool, functions: int, slots: int, entries: int, rows: int) -> bool:
    """Whether there is room for more functions, slots and entries, and for the costs of a step; else that is noted."""
    numbers = pool.numbers
    numbers[NEEDED] = max(functions, slots, entries, rows)
    return bool(
        numbers[FUNCTIONS] + functions <= len(pool.firsts)
        and numbers[SLOTS] + slots <= len(pool.scope)
        and numbers[ENTRIES] + entries <= len(pool.tables)
        and rows <= len(pool.room)
        and numbers[NEAR] + slots <= len(pool.near)
        and numbers[BEST] + entries <= len(pool.best)
    )


@kernel(inner=True, borrows=True)
def leave(pool: Pool, i: int) -> None:
    """Take a variable out of its queue."""
    if pool.level[i] < 0:
        return
    if pool.before[i] >= 0:
        pool.behind[pool.before[i]] = pool.behind[i]
    else:
        pool.queues[pool.level[i]] = pool.behind[i]
    if pool.behind[i] >= 0:
        pool.before[pool.behind[i]] = pool.before[i]
    pool.level[i] = -1


@kernel(inner=True, borrows=True)
def enter(pool: Pool, i: int, entries: int) -> None:
    """Let a variable wait at its level, if its elimination leaves few entries, or fewer than it takes."""
    leave(pool, i)
    most, card = entries, pool.states[i + 1] - pool.states[i]
    count, s = neighbors(pool, i), pool.heads[i]
    while s >= 0:
        most = max(most, pool.sizes[pool.owner[s]] // card)
        s = pool.after[s]
    size, level = joint_states(pool, count, most), 0
    if size > most:
        return
    while size > 1:
        size = (size + 1) // 2
        level += 1
    pool.level[i], pool.before[i], pool.behind[i] = level, -1, pool.queues[level]
    if pool.queues[level] >= 0:
        pool.before[pool.queues[level]] = i
    pool.queues[level] = i


@kernel(inner=True, borrows=True)
def eliminate(pool: Pool, i: int, count: int, size: int) -> None:
    """Replace the functions of a variable by their least costs over it, for the listed neighbors; `room` is zero."""
    numbers, base, card = pool.numbers, pool.states[i], pool.states[i + 1] - pool.states[i]
    for row in range(size):
        for x in range(card):
            pool.room[row * card + x] = pool.unary[base + x]
    s = pool.heads[i]
    while s >= 0:
        add_spread(pool, pool.owner[s], i, count, size, pool.room, 0)
        pool.sizes[pool.owner[s]] = 0
        s = pool.after[s]
    pool.heads[i] = -1
    at = numbers[GONE]
    pool.gone[at], pool.near_at[at], pool.best_at[at] = i, numbers[NEAR], numbers[BEST]
    for d in range(count):
        pool.near[numbers[NEAR] + d] = pool.listed[d]
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
    """Replace the functions of a variable by their costs at one of its states; its neighbors are touched."""
    card, s = pool.states[i + 1] - pool.states[i], pool.heads[i]
    pool.heads[i] = -1
    while s >= 0:
        f, count, step = pool.owner[s], 0, 1
        following = pool.after[s]
        for t in range(pool.firsts[f] + pool.arities[f] - 1, s, -1):
            j = pool.scope[t]
            step *= pool.states[j + 1] - pool.states[j]
        for t in range(pool.firsts[f], pool.firsts[f] + pool.arities[f]):
            if t != s:
                pool.listed[count] = pool.scope[t]
                pool.touched[pool.scope[t]] = 1
                count += 1
        size = pool.sizes[f] // card
        for k in range(size):
            pool.room[k] = pool.tables[pool.places[f] + (k // step * card + x) * step + k % step]
        pool.sizes[f] = 0
        add(pool, count, size, 0)
        s = following


@kernel(inner=True, borrows=True)
def live_state(pool: Pool, i: int) -> int:
    """The only state of a variable that is not forbidden; -1 if there are several, or none."""
    found = -1
    for x in range(pool.states[i + 1] - pool.states[i]):
        if pool.unary[pool.states[i] + x] < np.inf:
            if found >= 0:
                return -1
            found = x
    return found


@kernel(inner=True, borrows=True)
def is_dominated(pool: Pool, i: int, a: int, b: int) -> bool:
    """Whether one state of a variable never costs less than another one, whatever the states of the others."""
    base, card = pool.states[i], pool.states[i + 1] - pool.states[i]
    better, s = pool.unary[base + a] - pool.unary[base + b], pool.heads[i]
    while s >= 0:
        f, step = pool.owner[s], 1
        for t in range(pool.firsts[f] + pool.arities[f] - 1, s, -1):
            j = pool.scope[t]
            step *= pool.states[j + 1] - pool.states[j]
        least = np.inf
        for block in range(pool.places[f], pool.places[f] + pool.sizes[f], step * card):
            for k in range(block, block + step):
                mine, other = pool.tables[k + a * step], pool.tables[k + b * step]
                if mine < np.inf:
                    least = min(least, mine - other)
        if least == -np.inf:
            return False
        better += least
        s = pool.after[s]
    return bool(better >= 0.0)


@kernel(inner=True, borrows=True)
def forbid_dominated(pool: Pool, i: int) -> bool:
    """Forbid the states of a variable that others that stay dominate; whether there are any."""
    base, card, some, s = pool.states[i], pool.states[i + 1] - pool.states[i], False, pool.heads[i]
    while s >= 0:
        if card * pool.sizes[pool.owner[s]] > MOST_DIFFERENCES:
            return False
        s = pool.after[s]
    for a in range(card):
        for b in range(card):
            if (
                a != b
                and pool.unary[base + a] < np.inf
                and pool.unary[base + b] < np.inf
                and is_dominated(pool, i, a, b)
            ):
                pool.unary[base + a] = np.inf
                some = True
    return some


@kernel(inner=True, borrows=True)
def takes_less(pool: Pool, i: int) -> bool:
    """Whether there is room to restrict the functions of a variable."""
    functions, slots, entries, s = 0, 0, 0, pool.heads[i]
    while s >= 0:
        functions += 1
        slots += pool.arities[pool.owner[s]]
        entries += pool.sizes[pool.owner[s]]
        s = pool.after[s]
    return bool(has_room(pool, functions, slots, entries, entries))


@kernel(inner=True, borrows=True)
def compare(pool: Pool, i: int, entries: int) -> bool:
    """Forbid dominated states of a touched variable, and take one with a single state out; False without room."""
    trim(pool, i)
    if not takes_less(pool, i):
        return False
    pool.touched[i] = 0
    if forbid_dominated(pool, i):
        count = neighbors(pool, i)
        for d in range(count):
            pool.touched[pool.listed[d]] = 1
    x = live_state(pool, i)
    if x >= 0 and pool.heads[i] >= 0:
        restrict(pool, i, x)
        enter(pool, i, entries)
    return True


@kernel(inner=True, borrows=True)
def take_out(pool: Pool, i: int, entries: int) -> bool:
    """Eliminate a variable; its neighbors wait again; False without room."""
    count = neighbors(pool, i)
    size = joint_states(pool, count, 2**40)
    if not has_room(pool, 1, count, size, size * (pool.states[i + 1] - pool.states[i])):
        return False
    leave(pool, i)
    pool.touched[i] = 0
    eliminate(pool, i, count, size)
    first = pool.near_at[pool.numbers[GONE] - 1]
    for d in range(count):
        j = pool.near[first + d]
        pool.touched[j] = 1
        enter(pool, j, entries)
    return True


def _reduce_work(pool: Pool, entries: int, *_: object) -> float:
    return 20.0 * (len(pool.heads) * 10 + pool.numbers[ENTRIES])


@kernel(inner=True, borrows=True)
def begin(pool: Pool, entries: int) -> bool:
    """Take variables with a single state out, and let all that may be eliminated wait; False without room."""
    for i in range(len(pool.heads)):
        x = live_state(pool, i)
        if x >= 0:
            trim(pool, i)
            if not takes_less(pool, i):
                return False
            restrict(pool, i, x)
    for i in range(len(pool.heads)):
        enter(pool, i, entries)
        pool.touched[i] = 1
    pool.numbers[BEGUN] = 1
    return True


@kernel(work=_reduce_work, borrows=True)
def reduce(pool: Pool, entries: int, cancel: Bytes) -> bool:
    """Eliminate variables and forbid dominated states until nothing changes; False if there is no room for more.

    Args:
        entries: the most entries of a function that an elimination leaves, unless the variable has a larger one.
    """
    n = len(pool.heads)
    if not pool.numbers[BEGUN] and not begin(pool, entries):
        return False
    while not cancel[0]:
        level = 0
        while level < LEVELS and pool.queues[level] < 0:
            level += 1
        if level < LEVELS:
            if not take_out(pool, pool.queues[level], entries):
                return False
            continue
        changed = False
        for i in range(n):
            if pool.touched[i]:
                if not compare(pool, i, entries):
                    return False
                changed = changed or pool.level[i] >= 0
        for i in range(n):
            if pool.touched[i]:
                enter(pool, i, entries)
                changed = True
        if not changed:
            return True
    return True


@kernel(inner=True, borrows=True)
def is_inside(pool: Pool, f: int, g: int) -> bool:
    """Whether the scope of a function is a part of that of another one."""
    t, last = pool.firsts[g], pool.firsts[g] + pool.arities[g]
    for s in range(pool.firsts[f], pool.firsts[f] + pool.arities[f]):
        while t < last and pool.scope[t] < pool.scope[s]:
            t += 1
        if t == last or pool.scope[t] != pool.scope[s]:
            return False
    return True


@kernel(work=_reduce_work, borrows=True)
def absorb(pool: Pool, cancel: Bytes) -> None:
    """Add functions to the smallest function whose scope has theirs as a part."""
    most = 2
    for f in range(pool.numbers[FUNCTIONS]):
        most = max(most, pool.arities[f])
    for arity in range(2, most):
        for f in range(pool.numbers[FUNCTIONS]):
            if pool.sizes[f] == 0 or pool.arities[f] != arity:
                continue
            chosen, s = -1, pool.heads[pool.scope[pool.firsts[f]]]
            while s >= 0:
                g = pool.owner[s]
                wider = pool.sizes[g] > 0 and pool.arities[g] > arity
                if wider and (chosen < 0 or pool.sizes[g] < pool.sizes[chosen]) and is_inside(pool, f, g):
                    chosen = g
                s = pool.after[s]
            if chosen < 0 or cancel[0]:
                continue
            for d in range(pool.arities[chosen]):
                j = pool.scope[pool.firsts[chosen] + d]
                pool.listed[d] = j
                pool.spots[j] = d
            add_spread(pool, f, -1, pool.arities[chosen], pool.sizes[chosen], pool.tables, pool.places[chosen])
            pool.sizes[f] = 0


def _fill_work(wires: Wires, pool: Pool, *_: object) -> float:
    return 10.0 * float(len(wires.scope) + len(pool.tables))


@kernel(work=_fill_work, borrows=True)
def fill(wires: Wires, pool: Pool, codes: Ints, cancel: Bytes) -> None:
    """Add the negative log values of all factors; there is room for them.

    Args:
        codes: room for one code per variable.
    """
    for f in range(len(wires.kinds)):
        if cancel[0]:
            return
        count, size = wires.starts[f + 1] - wires.starts[f], 1
        for s in range(wires.starts[f], wires.starts[f + 1]):
            at, j = s - wires.starts[f], wires.scope[s]
            while at > 0 and pool.listed[at - 1] > j:
                pool.listed[at] = pool.listed[at - 1]
                at -= 1
            pool.listed[at] = j
            codes[j] = 0
            size *= wires.cards[j]
        for k in range(size):
            pool.room[k] = -factor_value(wires, f, codes)
            for d in range(count - 1, -1, -1):
                j = pool.listed[d]
                codes[j] += 1
                if codes[j] < wires.cards[j]:
                    break
                codes[j] = 0
        add(pool, count, size, 0)


@kernel(work=_fill_work, borrows=True)
def complete(pool: Pool, codes: Ints) -> None:
    """Give the variables that were eliminated their best states, from those of the others."""
    for at in range(pool.numbers[GONE] - 1, -1, -1):
        last = pool.near_at[at + 1] if at + 1 < pool.numbers[GONE] else pool.numbers[NEAR]
        place = 0
        for d in range(pool.near_at[at], last):
            j = pool.near[d]
            place = place * (pool.states[j + 1] - pool.states[j]) + codes[j]
        codes[pool.gone[at]] = pool.best[pool.best_at[at] + place]
