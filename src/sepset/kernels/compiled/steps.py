r"""Clique trees turned into binary steps $d = \sum a b$, and the reverse sweep that differentiates them.

Tensors are numbered as they are made; the first is the number one, then come the inputs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.kernels.compile import kernel

ONE = 0
TENSORS, STEPS, STAMP = 0, 1, 2


class Ledger(NamedTuple):
    """Tensors and steps so far, with room for more.

    Attributes:
        cards: the number of states by rank.
        start, pool: the scope of tensor t is `pool[start[t] : start[t + 1]]`, ranks ascending.
        sizes: the entries of each tensor.
        steps: rows (result, first, second); a second of `ONE` only sums.
        made: how many tensors and steps there are, and the last stamp.
        counts: by rank, how many tensors at hand mention it.
        stamps: by rank, marks.
        scope: scratch for one scope.
    """

    cards: Floats
    start: Ints
    pool: Ints
    sizes: Floats
    steps: Ints
    made: Ints
    counts: Ints
    stamps: Ints
    scope: Ints


@kernel(borrows=True)
def _add_step(book: Ledger, first: int, second: int, length: int) -> int:
    """The tensor over the first `length` of `scope` that sums the product of two; no step where one is that already."""
    start, scope = book.start, book.scope
    if second == ONE and start[first + 1] - start[first] == length:
        return first
    if first == ONE:
        if start[second + 1] - start[second] == length:
            return second
        first, second = second, first
    t, s = book.made[TENSORS], book.made[STEPS]
    book.sizes[t] = 1.0
    for k in range(length):
        book.pool[start[t] + k] = scope[k]
        book.sizes[t] *= book.cards[scope[k]]
    start[t + 1] = start[t] + length
    book.steps[s, 0], book.steps[s, 1], book.steps[s, 2] = t, first, second
    book.made[TENSORS] = t + 1
    book.made[STEPS] = s + 1
    return int(t)


@kernel(borrows=True)
def _stamp(book: Ledger, ranks: Ints, first: int, end: int) -> None:
    for k in range(first, end):
        book.stamps[ranks[k]] = book.made[STAMP]


@kernel(borrows=True)
def _count(book: Ledger, tensor: int, by: int) -> None:
    for k in range(book.start[tensor], book.start[tensor + 1]):
        book.counts[book.pool[k]] += by


@kernel(borrows=True)
def _is_needed(book: Ledger, r: int, shared: int) -> bool:
    """Whether a variable outlives the product of tensors of which `shared` mention it: it is stamped or others do."""
    return bool(book.stamps[r] == book.made[STAMP] or book.counts[r] > shared)


@kernel(borrows=True)
def _restrict(book: Ledger, tensor: int, shared: int) -> int:
    """Put the needed variables of one tensor into `scope`; how many they are."""
    length = 0
    for k in range(book.start[tensor], book.start[tensor + 1]):
        if _is_needed(book, book.pool[k], shared):
            book.scope[length] = book.pool[k]
            length += 1
    return length


@kernel(borrows=True)
def _join(book: Ledger, a: int, b: int) -> tuple[int, float, float]:
    """Put the needed variables of a product into `scope`: how many, their entries, and the multiplications."""
    pool = book.pool
    i, j, end_i, end_j = book.start[a], book.start[b], book.start[a + 1], book.start[b + 1]
    length, size, union = 0, 1.0, 1.0
    while i < end_i or j < end_j:
        shared = 1
        if j == end_j or (i < end_i and pool[i] < pool[j]):
            r = pool[i]
            i += 1
        elif i == end_i or pool[j] < pool[i]:
            r = pool[j]
            j += 1
        else:
            r, shared = pool[i], 2
            i += 1
            j += 1
        union *= book.cards[r]
        if _is_needed(book, r, shared):
            book.scope[length] = r
            length += 1
            size *= book.cards[r]
    return length, size, union


@kernel(borrows=True)
def _multiply(book: Ledger, work: Ints, i: int, j: int) -> None:
    """Put the product of two tensors at hand in the place of the first; the second's is left as it is."""
    a, b = work[i], work[j]
    length, _, _ = _join(book, a, b)
    result = _add_step(book, a, b, length)
    _count(book, a, -1)
    _count(book, b, -1)
    _count(book, result, 1)
    work[i] = result


@kernel(borrows=True)
def _is_same_scope(book: Ledger, a: int, b: int) -> bool:
    first, second = book.start[a], book.start[b]
    length = book.start[a + 1] - first
    if book.start[b + 1] - second != length:
        return False
    for k in range(length):
        if book.pool[first + k] != book.pool[second + k]:
            return False
    return True


@kernel(inline=True)
def _merge_equal(book: Ledger, work: Ints, num: int) -> int:
    """Multiply tensors of equal scope, which no order can do for less; how many tensors are left."""
    i = 0
    while i < num:
        j = i + 1
        while j < num and not _is_same_scope(book, work[i], work[j]):
            j += 1
        if j < num:
            _multiply(book, work, i, j)
            num -= 1
            work[j] = work[num]
        else:
            i += 1
    return num


@kernel(borrows=True)
def _rate(book: Ledger, work: Ints, i: int, j: int, growth: Floats, union: Floats) -> None:
    """Note by how much the product of two tensors at hand outgrows them, and its multiplications."""
    _, size, total = _join(book, work[i], work[j])
    low, high = min(i, j), max(i, j)
    growth[low, high] = size - book.sizes[work[i]] - book.sizes[work[j]]
    union[low, high] = total


@kernel
def _merge_pairs(book: Ledger, work: Ints, num: int) -> None:
    """Multiply pair by pair until one is left, always the pair whose product grows least over its operands; less work
    breaks ties. What a pair would grow does not change when others are multiplied."""
    growth, union = np.empty((num, num)), np.empty((num, num))
    for i in range(num):
        for j in range(i + 1, num):
            _rate(book, work, i, j, growth, union)
    while num > 1:
        best_i, best_j = 0, 1
        for i in range(num):
            for j in range(i + 1, num):
                more, least = growth[i, j], growth[best_i, best_j]
                if more < least or (more == least and union[i, j] < union[best_i, best_j]):
                    best_i, best_j = i, j
        num -= 1
        _multiply(book, work, best_i, best_j)
        work[best_j] = work[num]
        for k in range(num):
            if k != best_j:
                growth[min(k, best_j), max(k, best_j)] = growth[min(k, num), max(k, num)]
                union[min(k, best_j), max(k, best_j)] = union[min(k, num), max(k, num)]
        for k in range(num):
            if k != best_i:
                _rate(book, work, k, best_i, growth, union)


@kernel(borrows=True)
def _combine(book: Ledger, work: Ints, num: int) -> int:
    """One tensor over the stamped variables from several, pair by pair; private variables are summed at once."""
    if num == 0:
        return ONE
    for i in range(num):
        _count(book, work[i], 1)
    for i in range(num if num > 1 else 0):
        summed = _add_step(book, work[i], ONE, _restrict(book, work[i], 1))
        _count(book, work[i], -1)
        _count(book, summed, 1)
        work[i] = summed
    num = _merge_equal(book, work, num)
    if num == 2:
        _multiply(book, work, 0, 1)
    elif num > 2:
        _merge_pairs(book, work, num)
    _count(book, work[0], -1)
    return _add_step(book, work[0], ONE, _restrict(book, work[0], 0))


@kernel(borrows=True)
def _send(
    book: Ledger, group: Ints, last: int, message: int, tensor: int, head: Ints, tail: Ints, behind: Ints
) -> None:
    """Queue a tensor at the clique that eliminates its first variable; the last queue takes the rest."""
    first = book.start[tensor]
    g = group[book.pool[first]] if book.start[tensor + 1] > first else -1
    g = g if g >= 0 else last
    if head[g] < 0:
        head[g] = message
    else:
        behind[tail[g]] = message
    tail[g] = message


@kernel(inline=True)
def _contract(
    book: Ledger, num_inputs: int, group: Ints, sep_start: Ints, sepsets: Ints, kept: Ints
) -> tuple[Ints, Ints, Ints]:
    """The forward sweep: cliques in order, each contracted to its sepset.

    Returns the roots (what no clique takes, with kept variables multiplied into one), and the tensors that each clique
    multiplies as compressed rows.
    """
    last = len(sep_start) - 1
    num_messages = num_inputs + last + 1
    head, tail = np.full(last + 1, -1, np.int64), np.full(last + 1, -1, np.int64)
    behind, tensor = np.full(num_messages, -1, np.int64), np.empty(num_messages, np.int64)
    work, boxes = np.empty(num_messages, np.int64), np.empty(num_messages, np.int64)
    box_start = np.zeros(last + 2, np.int64)
    for m in range(num_inputs):
        tensor[m] = m + 1
        _send(book, group, last, m, m + 1, head, tail, behind)
    for g in range(last + 1):
        num = 0
        m = head[g]
        while m >= 0:
            work[num] = tensor[m]
            boxes[box_start[g] + num] = tensor[m]
            num += 1
            m = behind[m]
        box_start[g + 1] = box_start[g] + num
        if g == last and len(kept) == 0:
            break
        book.made[STAMP] += 1
        if g < last:
            _stamp(book, sepsets, sep_start[g], sep_start[g + 1])
        else:
            _stamp(book, kept, 0, len(kept))
        m = num_inputs + g
        tensor[m] = _combine(book, work, num)
        if g < last:
            _send(book, group, last, m, tensor[m], head, tail, behind)
    roots = boxes[box_start[last] : box_start[last + 1]].copy()
    if len(kept) > 0:
        roots = tensor[num_messages - 1 :].copy()
    return roots, box_start, boxes


@kernel(inline=True)
def _cheapest_homes(book: Ledger) -> Ints:
    """For each rank the smallest tensor that mentions it."""
    homes = np.full(len(book.cards), -1, np.int64)
    for t in range(book.made[TENSORS]):
        for k in range(book.start[t], book.start[t + 1]):
            r = book.pool[k]
            if homes[r] < 0 or book.sizes[t] < book.sizes[homes[r]]:
                homes[r] = t
    return homes


@kernel(inline=True)
def _differentiate(book: Ledger, wanted: Ints, roots: Ints) -> Ints:
    """Append the reverse sweep; for each forward tensor its adjoint, -1 where nothing wanted depends on it.

    An adjoint leaves out the variables it does not depend on.
    """
    steps, start = book.steps, book.start
    num_tensors, num_steps = book.made[TENSORS], book.made[STEPS]
    needed = np.zeros(num_tensors, np.bool_)
    for t in wanted:
        needed[t] = True
    for s in range(num_steps):
        needed[steps[s, 0]] |= needed[steps[s, 1]] or needed[steps[s, 2]]
    adjoints = np.full(num_tensors, -1, np.int64)
    for t in roots:
        adjoints[t] = ONE
    for s in range(num_steps - 1, -1, -1):
        upper = adjoints[steps[s, 0]]
        if upper < 0:
            continue
        for side in range(2):
            t, other = steps[s, 1 + side], steps[s, 2 - side]
            if t == ONE or not needed[t]:
                continue
            book.made[STAMP] += 1
            _stamp(book, book.pool, start[upper], start[upper + 1])
            _stamp(book, book.pool, start[other], start[other + 1])
            adjoints[t] = _add_step(book, upper, other, _restrict(book, t, 0))
    return adjoints


@kernel(borrows=True)
def _add_read(book: Ledger, t: int, adjoint: int, target: int) -> int:
    """Append the product of a tensor and its adjoint, summed to one rank, or where that is -1 to the tensor's scope."""
    length = 1
    book.scope[0] = target
    if target < 0:
        length = book.start[t + 1] - book.start[t]
        for k in range(length):
            book.scope[k] = book.pool[book.start[t] + k]
    return _add_step(book, t, adjoint, length)


@kernel(inline=True)
def _room(numbers: Ints, start: Ints, rank: Ints, group: Ints, sep_start: Ints, num_kept: int) -> tuple[int, int]:
    """How many more tensors there can be, two for each that a clique takes, two adjoints for each of these, and the
    reads; and the most variables one can have."""
    num_groups = len(sep_start) - 1
    width = np.zeros(num_groups + 1, np.int64)
    width[num_groups] = num_kept
    for r in range(len(group)):
        if group[r] >= 0:
            width[group[r]] += 1
    widest = num_kept
    for g in range(num_groups):
        widest = max(widest, width[g] + sep_start[g + 1] - sep_start[g])
    num_inputs = len(numbers) + len(group)
    return 6 * (num_inputs + num_groups + 1) + len(group) + num_inputs, widest


@kernel(inline=True)
def _open_book(
    start: Ints, members: Ints, numbers: Ints, rank: Ints, touched: Ints, cards: Floats, room: int, widest: int
) -> Ledger:
    """The inputs: reduced factors, likelihoods, and a neutral tensor for each variable that none of these mentions."""
    num, most = len(cards), len(numbers) + len(touched) + len(cards)
    total = most
    for i in numbers:
        total += start[i + 1] - start[i]
    tensors = 1 + most + room
    book = Ledger(
        cards,
        np.zeros(tensors + 1, np.int64),
        np.empty(total + room * widest, np.int64),
        np.ones(tensors),
        np.empty((room, 3), np.int64),
        np.zeros(3, np.int64),
        np.zeros(num, np.int64),
        np.zeros(num, np.int64),
        np.empty(num + 1, np.int64),
    )
    seen = np.zeros(num, np.bool_)
    t = 1
    for i in numbers:
        first = book.start[t]
        top = first
        for k in range(start[i], start[i + 1]):
            r = rank[members[k]]
            if r >= 0:
                seen[r] = True
                book.sizes[t] *= cards[r]
                j = top
                while j > first and book.pool[j - 1] > r:
                    book.pool[j] = book.pool[j - 1]
                    j -= 1
                book.pool[j] = r
                top += 1
        t += 1
        book.start[t] = top
    for k in range(len(touched) + num):
        r = touched[k] if k < len(touched) else k - len(touched)
        if k >= len(touched) and seen[r]:
            continue
        seen[r] = True
        book.pool[book.start[t]] = r
        book.sizes[t] = cards[r]
        t += 1
        book.start[t] = book.start[t - 1] + 1
    book.made[TENSORS] = t
    return book


@kernel
def trace(
    start: Ints,
    members: Ints,
    numbers: Ints,
    rank: Ints,
    touched: Ints,
    cards: Floats,
    group: Ints,
    sep_start: Ints,
    sepsets: Ints,
    kept: Ints,
    targets: Ints,
    num_reads: int,
) -> tuple[Ints, Ints, Floats, Ints, Ints, Ints, Ints, Ints, int, int]:
    """All steps of a question: the forward sweep over cliques, the reverse sweep where anything is read, the reads.

    Args:
        start, members: the scopes of all factors as compressed rows of variables.
        numbers: the factors that enter; `rank` says which of their variables do, and where in the order.
        touched: ranks with a likelihood.
        group, sep_start, sepsets: for each rank its clique, and what each clique passes on.
        kept: ranks that no clique eliminates.
        targets: ranks whose marginals are read; then the marginals over the first `num_reads` factors' scopes.

    Returns scopes as compressed rows, sizes, steps, roots, what each clique multiplies as compressed rows, where each
    read is found, and how many inputs and forward steps there are.
    """
    room, widest = _room(numbers, start, rank, group, sep_start, len(kept))
    book = _open_book(start, members, numbers, rank, touched, cards, room, widest)
    num_inputs = book.made[TENSORS] - 1
    roots, box_start, boxes = _contract(book, num_inputs, group, sep_start, sepsets, kept)
    num_forward = book.made[STEPS]
    reads = np.empty(len(targets) + num_reads, np.int64)
    if len(reads) > 0:
        homes = np.empty(len(reads), np.int64)
        cheapest = _cheapest_homes(book)
        for i in range(len(reads)):
            homes[i] = cheapest[targets[i]] if i < len(targets) else 1 + i - len(targets)
        adjoints = _differentiate(book, homes, roots)
        for i in range(len(reads)):
            reads[i] = _add_read(book, homes[i], adjoints[homes[i]], targets[i] if i < len(targets) else -1)
    num = book.made[TENSORS]
    bounds = book.start[: num + 1].copy()
    pool, sizes, steps = book.pool[: bounds[num]].copy(), book.sizes[:num].copy(), book.steps[: book.made[STEPS]].copy()
    return bounds, pool, sizes, steps, roots, box_start, boxes, reads, num_inputs, num_forward
