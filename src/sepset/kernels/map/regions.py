r"""The best states of a region given all other variables, by an elimination whose tables are limited.

$$m_v(\mathbf s) = \max_{x_v} \Bigl[\theta_v(x_v) + \sum_{f \ni v} \theta_f(x_v, \mathbf s, \mathbf x_{\text{fixed}})
+ \sum_{c} m_c(x_v, \mathbf s)\Bigr]$$

Variables of small tables are eliminated first. Where the smallest table is too large, the variable of most neighbors in
it is fixed at its present state, so that every region shrinks to one that can be solved. Zeros count as a large loss,
so that an impossible assignment becomes one with fewer impossible factors.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.propagation.wires import Wires, factor_value

FIXED, WAITING, GONE = range(3)
"""The marks of variables: at their present state; in the region; eliminated."""

LEVELS, WIDEST = 256, 96
"""Tables are told apart by half bits of their size, and those of so many variables not at all."""

NUM_GONE, NUM_LINKS, NUM_ENTRIES, STAMP, LOWEST = range(5)
"""The counters of a workspace."""


class Region(NamedTuple):
    """The arrays in which a region is solved.

    Attributes:
        marks: the mark of each variable.
        bits: the logarithm to base two of each variable's number of states.
        counts: the counters.
        levels: the level of the table of each variable.
        heads, nexts, prevs: the variables of each level, linked.
        stamps: when each variable was last seen.
        order: the variables in the order of elimination.
        owners: the number of the elimination that used each factor; -1 before.
        users: the number of the elimination that used each message; -1 before.
        starts, scopes: the variables of each message.
        places, tables: the values of each message, the last variable fastest.
        first, following, sources: the messages about each variable, linked.
        large, small: room for one table each.
        pairs: room for sums of tables over the variable that is eliminated, alone and with each one of `scope`.
        scope, steps, digits: room for the variables of a table, their strides and codes.
        trial: room for an assignment.
    """

    marks: Bytes
    bits: Floats
    counts: Ints
    levels: Ints
    heads: Ints
    nexts: Ints
    prevs: Ints
    stamps: Ints
    order: Ints
    owners: Ints
    users: Ints
    starts: Ints
    scopes: Ints
    places: Ints
    tables: Floats
    first: Ints
    following: Ints
    sources: Ints
    large: Floats
    small: Floats
    pairs: Floats
    scope: Ints
    steps: Ints
    digits: Ints
    trial: Ints


@kernel(borrows=True)
def softened(value: float, loss: float) -> float:
    """The value, or minus the loss if it is -inf."""
    return value if value > -np.inf else -loss


@kernel(borrows=True)
def put_level(region: Region, i: int, level: int) -> None:
    """List a variable under a level."""
    head = region.heads[level]
    region.nexts[i], region.prevs[i], region.levels[i] = head, -1, level
    if head >= 0:
        region.prevs[head] = i
    region.heads[level] = i
    region.counts[LOWEST] = min(region.counts[LOWEST], level)


@kernel(borrows=True)
def take_level(region: Region, i: int) -> None:
    """Remove a variable from the list of its level."""
    before, after = region.prevs[i], region.nexts[i]
    if before >= 0:
        region.nexts[before] = after
    else:
        region.heads[region.levels[i]] = after
    if after >= 0:
        region.prevs[after] = before


@kernel(borrows=True)
def gather(wires: Wires, region: Region, factors: Ints, i: int) -> int:
    """The variables of the table that eliminating `i` takes, into `scope` without `i`; their number, limited."""
    region.counts[STAMP] += 1
    stamp, count = region.counts[STAMP], 0
    region.stamps[i] = stamp
    for at in range(wires.degrees[i], wires.degrees[i + 1]):
        f = factors[wires.slots[at]]
        if region.owners[f] >= 0:
            continue
        for s in range(wires.starts[f], wires.starts[f + 1]):
            j = wires.scope[s]
            if region.marks[j] == WAITING and region.stamps[j] != stamp:
                if count == WIDEST:
                    return count
                region.stamps[j] = stamp
                region.scope[count] = j
                count += 1
    link = region.first[i]
    while link >= 0:
        m = region.sources[link]
        link = region.following[link]
        if region.users[m] >= 0:
            continue
        for at in range(region.starts[m], region.starts[m + 1]):
            j = region.scopes[at]
            if region.marks[j] == WAITING and region.stamps[j] != stamp:
                if count == WIDEST:
                    return count
                region.stamps[j] = stamp
                region.scope[count] = j
                count += 1
    return count


@kernel(borrows=True)
def level_of(wires: Wires, region: Region, factors: Ints, i: int) -> int:
    """Twice the bits of the table that eliminating `i` takes, rounded up and limited."""
    count = gather(wires, region, factors, i)
    bits = region.bits[i]
    for at in range(count):
        bits += region.bits[region.scope[at]]
    return LEVELS - 1 if count == WIDEST else min(LEVELS - 1, int(np.ceil(2.0 * bits - 1e-9)))


@kernel(borrows=True)
def fix(wires: Wires, region: Region, factors: Ints, i: int) -> None:
    """Fix a variable of the region, and list those that it shared tables with again, each once if they are few."""
    count = gather(wires, region, factors, i)
    take_level(region, i)
    region.marks[i] = FIXED
    if count == WIDEST:
        relist_all(wires, region, factors, i)
        return
    for d in range(count):
        region.digits[d] = region.scope[d]
    for d in range(count):
        relist(wires, region, factors, region.digits[d])


@kernel(borrows=True)
def relist_all(wires: Wires, region: Region, factors: Ints, i: int) -> None:
    """List the variables that share factors or messages with `i` again."""
    for at in range(wires.degrees[i], wires.degrees[i + 1]):
        f = factors[wires.slots[at]]
        if region.owners[f] < 0:
            for s in range(wires.starts[f], wires.starts[f + 1]):
                relist(wires, region, factors, wires.scope[s])
    link = region.first[i]
    while link >= 0:
        m = region.sources[link]
        link = region.following[link]
        if region.users[m] < 0:
            for at in range(region.starts[m], region.starts[m + 1]):
                relist(wires, region, factors, region.scopes[at])


@kernel(borrows=True)
def relist(wires: Wires, region: Region, factors: Ints, i: int) -> None:
    """List a waiting variable under its present level."""
    if region.marks[i] == WAITING:
        level = level_of(wires, region, factors, i)
        if level != region.levels[i]:
            take_level(region, i)
            put_level(region, i, level)


@kernel(borrows=True)
def add_table(wires: Wires, region: Region, count: int, size: int, own: int, table: Floats, base: int) -> None:
    """Add a table to `large`, whose variables are those of `scope` and then one of `size` states.

    Args:
        own: the stride of the last variable; those of the others are in `steps`.
        base: where the table starts.
    """
    outer, inner, step = count - 1, 1, 0
    if count:
        inner, step = wires.cards[region.scope[outer]], region.steps[outer]
    for d in range(outer):
        region.digits[d] = 0
    at, place, d = 0, base, 0
    while d >= 0:
        for y in range(inner):
            for x in range(size):
                region.large[at + x] += table[place + y * step + x * own]
            at += size
        d = outer - 1
        while d >= 0:
            region.digits[d] += 1
            place += region.steps[d]
            if region.digits[d] < wires.cards[region.scope[d]]:
                break
            place -= region.digits[d] * region.steps[d]
            region.digits[d] = 0
            d -= 1


@kernel(borrows=True)
def add_operand(wires: Wires, region: Region, count: int, size: int, own: int, table: Floats, base: int) -> None:
    """Add a table to `pairs` if it is about at most one variable of `scope`, which is faster, or to `large`."""
    others, start, offset, step, inner = 0, 0, size, 0, 1
    for d in range(count):
        if region.steps[d]:
            others += 1
            start, step, inner = offset, region.steps[d], wires.cards[region.scope[d]]
        offset += size * wires.cards[region.scope[d]]
    if others > 1:
        add_table(wires, region, count, size, own, table, base)
        return
    for y in range(inner):
        for x in range(size):
            region.pairs[start + y * size + x] += table[base + y * step + x * own]


@kernel(borrows=True)
def clear_sums(wires: Wires, unary: Floats, region: Region, v: int, count: int, outer: int, loss: float) -> None:
    """Make `large` and `pairs` zero, but for the unary terms."""
    size = wires.cards[v]
    for at in range(outer * size):
        region.large[at] = 0.0
    end = size
    for d in range(count):
        end += size * wires.cards[region.scope[d]]
    for at in range(end):
        region.pairs[at] = softened(unary[wires.states[v] + at], loss) if at < size else 0.0


@kernel(borrows=True)
def add_pairs(wires: Wires, region: Region, count: int, size: int) -> None:
    """Add the sums of `pairs` to `large`; those of the variable alone go with the first pair."""
    region.steps[:count] = 0
    if not count:
        add_table(wires, region, 0, size, 1, region.pairs, 0)
    start = size
    for d in range(count):
        num, has = wires.cards[region.scope[d]], False
        for at in range(start, start + num * size):
            if d == 0:
                region.pairs[at] += region.pairs[(at - start) % size]
            has = has or region.pairs[at] != 0.0
        if has:
            region.steps[d] = size
            add_table(wires, region, count, size, 1, region.pairs, start)
            region.steps[d] = 0
        start += num * size


@kernel(borrows=True)
def write_factor(wires: Wires, region: Region, f: int, codes: Ints, loss: float) -> None:
    """The values of a factor at all states of its waiting variables into `small`, the last one fastest."""
    first, last, at = wires.starts[f], wires.starts[f + 1], 0
    for s in range(first, last):
        j = wires.scope[s]
        region.trial[j] = 0 if region.marks[j] == WAITING else codes[j]
    s = first
    while s >= first:
        region.small[at] = softened(factor_value(wires, f, region.trial), loss)
        at += 1
        s = last - 1
        while s >= first:
            j = wires.scope[s]
            if region.marks[j] == WAITING:
                region.trial[j] += 1
                if region.trial[j] < wires.cards[j]:
                    break
                region.trial[j] = 0
            s -= 1


@kernel(borrows=True)
def add_factor(wires: Wires, region: Region, f: int, v: int, count: int, codes: Ints, loss: float) -> None:
    """Add a factor to `large` or `pairs`."""
    write_factor(wires, region, f, codes, loss)
    for d in range(count):
        region.steps[d] = 0
    step, own = 1, 0
    for s in range(wires.starts[f + 1] - 1, wires.starts[f] - 1, -1):
        j = wires.scope[s]
        if region.marks[j] != WAITING:
            continue
        if j == v:
            own = step
        for d in range(count):
            if region.scope[d] == j:
                region.steps[d] = step
        step *= wires.cards[j]
    add_operand(wires, region, count, wires.cards[v], own, region.small, 0)


@kernel(borrows=True)
def add_message(wires: Wires, region: Region, m: int, v: int, count: int, codes: Ints) -> None:
    """Add the message of an earlier elimination to `large` or `pairs`."""
    for d in range(count):
        region.steps[d] = 0
    step, own, base = 1, 0, region.places[m]
    for at in range(region.starts[m + 1] - 1, region.starts[m] - 1, -1):
        j = region.scopes[at]
        if region.marks[j] == FIXED:
            base += step * codes[j]
        elif j == v:
            own = step
        for d in range(count):
            if region.scope[d] == j:
                region.steps[d] = step
        step *= wires.cards[j]
    add_operand(wires, region, count, wires.cards[v], own, region.tables, base)


@kernel(borrows=True)
def eliminate(
    wires: Wires, unary: Floats, factors: Ints, region: Region, v: int, count: int, outer: int, codes: Ints, loss: float
) -> None:
    """Eliminate a variable, given those in `scope` with `outer` joint states; its maxima become a message."""
    number, size = region.counts[NUM_GONE], wires.cards[v]
    clear_sums(wires, unary, region, v, count, outer, loss)
    for at in range(wires.degrees[v], wires.degrees[v + 1]):
        f = factors[wires.slots[at]]
        if region.owners[f] < 0:
            add_factor(wires, region, f, v, count, codes, loss)
            region.owners[f] = number
    link = region.first[v]
    while link >= 0:
        m = region.sources[link]
        if region.users[m] < 0:
            add_message(wires, region, m, v, count, codes)
            region.users[m] = number
        link = region.following[link]
    add_pairs(wires, region, count, size)
    send(region, count, outer, size)
    region.order[number] = v
    region.marks[v] = GONE


@kernel(borrows=True)
def send(region: Region, count: int, outer: int, size: int) -> None:
    """The maxima of `large` over its last variable become the next message, listed with its variables."""
    number, start = region.counts[NUM_GONE], region.counts[NUM_ENTRIES]
    region.places[number], region.users[number] = start, -1
    for at in range(outer):
        best = -np.inf
        for x in range(size):
            best = max(best, region.large[at * size + x])
        region.tables[start + at] = best
    first = region.starts[number]
    for d in range(count):
        j, link = region.scope[d], region.counts[NUM_LINKS]
        region.scopes[first + d] = j
        region.sources[link], region.following[link] = number, region.first[j]
        region.first[j] = link
        region.counts[NUM_LINKS] += 1
    region.starts[number + 1] = first + count
    region.counts[NUM_GONE] += 1
    region.counts[NUM_ENTRIES] += outer


@kernel(borrows=True)
def trace(wires: Wires, unary: Floats, factors: Ints, region: Region, draws: Floats, codes: Ints, loss: float) -> None:
    """The best states of the eliminated variables, from the last one to the first; ties are drawn."""
    for number in range(region.counts[NUM_GONE] - 1, -1, -1):
        v = region.order[number]
        size = wires.cards[v]
        for x in range(size):
            codes[v] = x
            region.large[x] = softened(unary[wires.states[v] + x], loss)
            for at in range(wires.degrees[v], wires.degrees[v + 1]):
                f = factors[wires.slots[at]]
                if region.owners[f] == number:
                    region.large[x] += softened(factor_value(wires, f, codes), loss)
            link = region.first[v]
            while link >= 0:
                m = region.sources[link]
                if region.users[m] == number:
                    place = 0
                    for at in range(region.starts[m], region.starts[m + 1]):
                        place = place * wires.cards[region.scopes[at]] + codes[region.scopes[at]]
                    region.large[x] += region.tables[region.places[m] + place]
                link = region.following[link]
        best = int(draws[v] * size)
        for x in range(size):
            if region.large[x] > region.large[best]:
                best = x
        codes[v] = best


@kernel(borrows=True)
def prepare(wires: Wires, factors: Ints, region: Region, members: Ints) -> None:
    """Empty the workspace, mark the variables of the region, and list them under their levels, the last one first."""
    for i in range(len(region.counts)):
        region.counts[i] = 0
    for level in range(LEVELS):
        region.heads[level] = -1
    for f in range(len(region.owners)):
        region.owners[f] = -1
    for i in range(len(region.marks)):
        region.stamps[i], region.first[i], region.marks[i] = 0, -1, FIXED
    region.starts[0], region.counts[LOWEST] = 0, LEVELS
    for i in members:
        if wires.cards[i] > 1:
            region.marks[i] = WAITING
    for i in members:
        if wires.cards[i] > 1:
            put_level(region, i, level_of(wires, region, factors, i))


def _work(wires: Wires, unary: Floats, factors: Ints, region: Region, *_: object) -> float:
    return 40.0 * float(len(wires.slots) + len(region.marks)) + 10.0 * float(len(region.large))


@kernel(work=_work, borrows=True)
def solve_region(
    wires: Wires, unary: Floats, factors: Ints, region: Region, members: Ints, draws: Floats, keys: Floats,
    codes: Ints, loss: float, most: int, cancel: Bytes,
) -> int:  # fmt: skip
    """Set the variables of the region to their best states given the others; their number, without those fixed.

    Args:
        region: the workspace.
        members: the variables of the region; of tables of one size, that of the last one is made first.
        draws: one uniform number per variable, for ties.
        keys: where a table is too large, its variable of the largest key is fixed.
        codes: the present assignment; changed.
        loss: the loss of a factor of value zero.
        most: the largest number of entries of a table.
    """
    prepare(wires, factors, region, members)
    while region.counts[LOWEST] < LEVELS:
        if cancel[0]:
            return 0
        v = region.heads[region.counts[LOWEST]]
        if v < 0:
            region.counts[LOWEST] += 1
            continue
        count, size, first = gather(wires, region, factors, v), float(wires.cards[v]), v
        for d in range(count):
            j = region.scope[d]
            size *= float(wires.cards[j])
            first = j if keys[j] > keys[first] else first
        outer = size / wires.cards[v]
        if count == WIDEST or size > most or region.counts[NUM_ENTRIES] + outer > len(region.tables):
            fix(wires, region, factors, first)
            continue
        take_level(region, v)
        eliminate(wires, unary, factors, region, v, count, int(outer), codes, loss)
        for at in range(region.starts[region.counts[NUM_GONE] - 1], region.starts[region.counts[NUM_GONE]]):
            relist(wires, region, factors, region.scopes[at])
    trace(wires, unary, factors, region, draws, codes, loss)
    return int(region.counts[NUM_GONE])
