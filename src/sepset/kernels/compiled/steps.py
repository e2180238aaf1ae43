r"""Clique trees turned into binary steps $d = \sum a b$, and the reverse sweep that differentiates them.

Tensors are numbered as they are made; the first is the number one, then come the inputs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sepset.base.arraytypes import Bools, Bytes, Floats, Ints
from sepset.kernels.compiled.sorting import ascending
from sepset.kernels.compiled.tape import (
    ONE,
    STAMP,
    STEPS,
    TENSORS,
    Tape,
    add_step,
    count,
    is_over,
    join,
    restrict,
    stamp,
)
from sepset.kernels.kernel import kernel, pairs, sizes

MOST_PAIRED = 512
"""Tensors of a clique up to which all pairs are compared."""


@kernel(borrows=True)
def _multiply(tape: Tape, work: Ints, i: int, j: int) -> None:
    """Replace the first of two current tensors by their product; the place of the second is unchanged."""
    a, b = work[i], work[j]
    length, _, _ = join(tape, a, b)
    result = add_step(tape, a, b, length)
    count(tape, a, -1)
    count(tape, b, -1)
    count(tape, result, 1)
    work[i] = result


@kernel(borrows=True)
def _is_same_scope(tape: Tape, a: int, b: int) -> bool:
    first, second = tape.start[a], tape.start[b]
    length = tape.start[a + 1] - first
    if tape.start[b + 1] - second != length:
        return False
    for k in range(length):
        if tape.pool[first + k] != tape.pool[second + k]:
            return False
    return True


@kernel(inline=True)
def _merge_equal(tape: Tape, work: Ints, num: int) -> int:
    """Multiply tensors of equal scope, which no order can do at less cost; the number of remaining tensors."""
    i = 0
    while i < num:
        j = i + 1
        while j < num and not _is_same_scope(tape, work[i], work[j]):
            j += 1
        if j < num:
            _multiply(tape, work, i, j)
            num -= 1
            work[j] = work[num]
        else:
            i += 1
    return num


@kernel(borrows=True)
def _rate(tape: Tape, work: Ints, i: int, j: int, growth: Floats, union: Floats) -> None:
    """Record the growth of the product of two current tensors over them, and its multiplications."""
    _, size, total = join(tape, work[i], work[j])
    low, high = min(i, j), max(i, j)
    growth[low, high] = size - tape.sizes[work[i]] - tape.sizes[work[j]]
    union[low, high] = total


@kernel
def _merge_pairs(tape: Tape, work: Ints, num: int) -> None:
    """Multiply pairs until one tensor is left, always the pair whose product grows least over its operands; ties by
    less work. The growth of a pair does not change when others are multiplied."""
    growth, union = np.empty((num, num)), np.empty((num, num))
    for i in range(num):
        for j in range(i + 1, num):
            _rate(tape, work, i, j, growth, union)
    while num > 1 and not is_over(tape):
        best_i, best_j = 0, 1
        for i in range(num):
            for j in range(i + 1, num):
                more, least = growth[i, j], growth[best_i, best_j]
                if more < least or (more == least and union[i, j] < union[best_i, best_j]):
                    best_i, best_j = i, j
        num -= 1
        _multiply(tape, work, best_i, best_j)
        work[best_j] = work[num]
        for k in range(num):
            if k != best_j:
                growth[min(k, best_j), max(k, best_j)] = growth[min(k, num), max(k, num)]
                union[min(k, best_j), max(k, best_j)] = union[min(k, num), max(k, num)]
        for k in range(num):
            if k != best_i:
                _rate(tape, work, k, best_i, growth, union)


@kernel(borrows=True)
def _combine(tape: Tape, work: Ints, num: int) -> int:
    """The product of several tensors over the stamped variables, pairwise; variables of only one are summed first."""
    if num == 0:
        return ONE
    for i in range(num):
        count(tape, work[i], 1)
    for i in range(num if num > 1 else 0):
        summed = add_step(tape, work[i], ONE, restrict(tape, work[i], 1))
        count(tape, work[i], -1)
        count(tape, summed, 1)
        work[i] = summed
    if num > MOST_PAIRED:
        num = _merge_blocks(tape, work, num)
    num = _merge_equal(tape, work, num)
    if num == 2:
        _multiply(tape, work, 0, 1)
    elif num > 2:
        _merge_pairs(tape, work, num)
    count(tape, work[0], -1)
    return add_step(tape, work[0], ONE, restrict(tape, work[0], 0))


@kernel
def _merge_blocks(tape: Tape, work: Ints, num: int) -> int:
    """Multiply many tensors in blocks, those of equal first variables together, until few are left; their number.

    Comparing all pairs takes their square in memory and their cube in time.
    """
    while num > MOST_PAIRED and not is_over(tape):
        keys = np.empty(num, np.int64)
        for i in range(num):
            first = tape.start[work[i]]
            low = tape.pool[first] if tape.start[work[i] + 1] > first else 0
            high = tape.pool[first + 1] if tape.start[work[i] + 1] > first + 1 else 0
            keys[i] = low * len(tape.cards) + high
        sorted_work = work[:num][ascending(keys)]
        made = 0
        for first in range(0, num, MOST_PAIRED):
            block = sorted_work[first : first + MOST_PAIRED].copy()
            count = _merge_equal(tape, block, len(block))
            _merge_pairs(tape, block, count)
            work[made] = block[0]
            made += 1
        num = made
    return num


@kernel(borrows=True)
def _send(tape: Tape, group: Ints, last: int, message: int, tensor: int, head: Ints, tail: Ints, behind: Ints) -> None:
    """Queue a tensor at the clique that eliminates its first variable, or else in the last queue."""
    first = tape.start[tensor]
    g = group[tape.pool[first]] if tape.start[tensor + 1] > first else -1
    g = g if g >= 0 else last
    if head[g] < 0:
        head[g] = message
    else:
        behind[tail[g]] = message
    tail[g] = message


@kernel(inline=True)
def _contract(
    tape: Tape, num_inputs: int, group: Ints, sep_start: Ints, sepsets: Ints, kept: Ints
) -> tuple[Ints, Ints, Ints]:
    """The forward sweep: cliques in order, each contracted to its sepset.

    Returns the roots (the tensors of no clique; those with kept variables are multiplied into one), and the tensors
    that each clique multiplies as compressed rows.
    """
    last = len(sep_start) - 1
    num_messages = num_inputs + last + 1
    head, tail = np.full(last + 1, -1, np.int64), np.full(last + 1, -1, np.int64)
    behind, tensor = np.full(num_messages, -1, np.int64), np.empty(num_messages, np.int64)
    work, boxes = np.empty(num_messages, np.int64), np.empty(num_messages, np.int64)
    box_start = np.zeros(last + 2, np.int64)
    for m in range(num_inputs):
        tensor[m] = m + 1
        _send(tape, group, last, m, m + 1, head, tail, behind)
    for g in range(last + 1):
        num = 0
        m = head[g]
        while m >= 0:
            work[num] = tensor[m]
            boxes[box_start[g] + num] = tensor[m]
            num += 1
            m = behind[m]
        box_start[g + 1] = box_start[g] + num
        if is_over(tape) or (g == last and len(kept) == 0):
            break
        tape.made[STAMP] += 1
        if g < last:
            stamp(tape, sepsets, sep_start[g], sep_start[g + 1])
        else:
            stamp(tape, kept, 0, len(kept))
        m = num_inputs + g
        tensor[m] = _combine(tape, work, num)
        if g < last:
            _send(tape, group, last, m, tensor[m], head, tail, behind)
    roots = boxes[box_start[last] : box_start[last + 1]].copy()
    if len(kept) > 0:
        roots = tensor[num_messages - 1 :].copy()
    return roots, box_start, boxes


@kernel(inline=True)
def _follow(tape: Tape, num_inputs: int, tree: Ints, kept: Ints) -> tuple[Ints, Ints, Ints, Ints, Ints, Ints]:
    """The forward sweep along a binary tree of products, each summed over what nothing else has in scope.

    Returns the roots; and each step that removes variables as a clique: the clique of each rank, the scopes of the
    results, and the operands, both as compressed rows.
    """
    num = num_inputs + len(tree)
    work, is_root = np.empty(num, np.int64), np.ones(num, np.bool_)
    group, cliques = np.full(len(tape.cards), -1, np.int64), np.empty((num, 3), np.int64)
    tape.made[STAMP] += 1
    stamp(tape, kept, 0, len(kept))
    for i in range(num_inputs):
        count(tape, i + 1, 1)
    num_cliques = 0
    for i in range(num):
        a, b = i + 1, ONE
        if i >= num_inputs:
            left, right = tree[i - num_inputs, 0], tree[i - num_inputs, 1]
            is_root[left] = is_root[right] = False
            a, b = work[left], work[right]
            length, _, _ = join(tape, a, b)
        else:
            length = restrict(tape, a, 1)
        work[i] = add_step(tape, a, b, length)
        count(tape, a, -1)
        count(tape, b, -1)
        count(tape, work[i], 1)
        if _remove(tape, a, group, num_cliques) + _remove(tape, b, group, num_cliques) > 0:
            cliques[num_cliques, 0], cliques[num_cliques, 1], cliques[num_cliques, 2] = work[i], a, b
            num_cliques += 1
        if is_over(tape):
            break
    roots = work[is_root]
    sep_start, sepsets, box_start, boxes = _as_rows(tape, cliques[:num_cliques], roots)
    return roots, group, sep_start, sepsets, box_start, boxes


@kernel(borrows=True)
def _remove(tape: Tape, tensor: int, group: Ints, clique: int) -> int:
    """Assign the variables of a tensor that no current one has to a clique; their number."""
    num = 0
    for k in range(tape.start[tensor], tape.start[tensor + 1]):
        r = tape.pool[k]
        if tape.counts[r] == 0 and group[r] < 0:
            group[r] = clique
            num += 1
    return num


@kernel(inline=True)
def _as_rows(tape: Tape, cliques: Ints, roots: Ints) -> tuple[Ints, Ints, Ints, Ints]:
    """The scopes of the cliques' results, and their operands with the roots at the end, as compressed rows."""
    num = len(cliques)
    sep_start, box_start = np.zeros(num + 1, np.int64), np.zeros(num + 2, np.int64)
    boxes = np.empty(2 * num + len(roots), np.int64)
    for g in range(num):
        d, a, b = cliques[g, 0], cliques[g, 1], cliques[g, 2]
        sep_start[g + 1] = sep_start[g] + tape.start[d + 1] - tape.start[d]
        boxes[box_start[g]] = a
        box_start[g + 1] = box_start[g] + 1
        if b != ONE:
            boxes[box_start[g + 1]] = b
            box_start[g + 1] += 1
    sepsets = np.empty(sep_start[num], np.int64)
    for g in range(num):
        first = tape.start[cliques[g, 0]] - sep_start[g]
        for k in range(sep_start[g], sep_start[g + 1]):  # a slice would compile for a second
            sepsets[k] = tape.pool[first + k]
    for i in range(len(roots)):
        boxes[box_start[num] + i] = roots[i]
    box_start[num + 1] = box_start[num] + len(roots)
    return sep_start, sepsets, box_start, boxes


@kernel(inline=True)
def _cheapest_homes(tape: Tape) -> Ints:
    """For each rank the smallest tensor with it in scope."""
    homes = np.full(len(tape.cards), -1, np.int64)
    for t in range(tape.made[TENSORS]):
        for k in range(tape.start[t], tape.start[t + 1]):
            r = tape.pool[k]
            if homes[r] < 0 or tape.sizes[t] < tape.sizes[homes[r]]:
                homes[r] = t
    return homes


@kernel(inline=True)
def _differentiate(tape: Tape, wanted: Ints, roots: Ints) -> Ints:
    """Append the reverse sweep; for each forward tensor its adjoint, or -1 if no read needs it.

    An adjoint leaves out the variables it does not depend on.
    """
    steps, start = tape.steps, tape.start
    num_tensors, num_steps = tape.made[TENSORS], tape.made[STEPS]
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
            tape.made[STAMP] += 1
            stamp(tape, tape.pool, start[upper], start[upper + 1])
            stamp(tape, tape.pool, start[other], start[other + 1])
            adjoints[t] = add_step(tape, upper, other, restrict(tape, t, 0))
    return adjoints


@kernel(borrows=True)
def _add_read(tape: Tape, t: int, adjoint: int, target: int) -> int:
    """Append the product of a tensor and its adjoint, summed to one rank, or to the tensor's scope for rank -1."""
    length = 1
    tape.scope[0] = target
    if target < 0:
        length = tape.start[t + 1] - tape.start[t]
        for k in range(length):
            tape.scope[k] = tape.pool[tape.start[t] + k]
    return add_step(tape, t, adjoint, length)


@kernel(inline=True)
def _room(
    members: Ints, numbers: Ints, start: Ints, rank: Ints, group: Ints, sep_start: Ints, sepsets: Ints, num_kept: int
) -> tuple[int, int]:
    """Bounds on the number of further tensors (two for each input of a clique, two adjoints for each of these, and the
    reads) and on the number of their variables."""
    num_groups = len(sep_start) - 1
    width, inputs = np.zeros(num_groups + 1, np.int64), np.ones(num_groups + 1, np.int64)
    width[num_groups] = num_kept
    for r in range(len(group)):
        if group[r] >= 0:
            width[group[r]] += 1
            inputs[group[r]] += 2
    for i in numbers:
        first = len(group)
        for k in range(start[i], start[i + 1]):
            if rank[members[k]] >= 0:
                first = min(first, rank[members[k]])
        g = group[first] if first < len(group) else -1
        inputs[g if g >= 0 else num_groups] += 1
    variables = len(group)
    for g in range(num_groups + 1):
        if g < num_groups:
            width[g] += sep_start[g + 1] - sep_start[g]
            to = group[sepsets[sep_start[g]]] if sep_start[g + 1] > sep_start[g] else -1
            inputs[to if to >= 0 else num_groups] += 1
        variables += 7 * inputs[g] * width[g]
    num_inputs = len(numbers) + len(group)
    return 6 * (num_inputs + num_groups + 1) + len(group) + num_inputs, variables


@kernel(inline=True)
def _add_factor(tape: Tape, t: int, begin: int, end: int, members: Ints, rank: Ints, seen: Bools) -> None:
    """Tensor t is a factor without what is observed, with its ranks in ascending order."""
    first = tape.start[t]
    top = first
    for k in range(begin, end):
        r = rank[members[k]]
        if r >= 0:
            seen[r] = True
            tape.sizes[t] *= tape.cards[r]
            j = top
            while j > first and tape.pool[j - 1] > r:
                tape.pool[j] = tape.pool[j - 1]
                j -= 1
            tape.pool[j] = r
            top += 1
    tape.start[t + 1] = top


@kernel(inline=True)
def _new_tape(
    start: Ints,
    members: Ints,
    numbers: Ints,
    rank: Ints,
    touched: Ints,
    cards: Floats,
    room: int,
    variables: int,
    limit: float,
    cancel: Bytes,
) -> Tape:
    """The inputs: reduced factors, likelihoods, and a tensor of ones for each variable in none of their scopes."""
    num, most = len(cards), len(numbers) + len(touched) + len(cards)
    total = most
    for i in numbers:
        total += start[i + 1] - start[i]
    tensors = 1 + most + room
    tape = Tape(
        cards,
        np.zeros(tensors + 1, np.int64),
        np.empty(total + variables, np.int64),
        np.ones(tensors),
        np.empty((room, 3), np.int64),
        np.zeros(3, np.int64),
        np.zeros(num, np.int64),
        np.zeros(num, np.int64),
        np.empty(num + 1, np.int64),
        np.array([0.0, limit]),
        cancel,
    )
    seen = np.zeros(num, np.bool_)
    t = 1
    for i in numbers:
        _add_factor(tape, t, start[i], start[i + 1], members, rank, seen)
        t += 1
    for k in range(len(touched) + num):
        r = touched[k] if k < len(touched) else k - len(touched)
        if k >= len(touched) and seen[r]:
            continue
        seen[r] = True
        tape.pool[tape.start[t]] = r
        tape.sizes[t] = cards[r]
        t += 1
        tape.start[t] = tape.start[t - 1] + 1
    tape.made[TENSORS] = t
    return tape


def _trace_work(start: Ints, members: Ints, *others: Any) -> float:
    """Each operand of a clique is compared with each other one."""
    return 4 * sizes(start, members, *others) + 4 * pairs(start, members)


@kernel(work=_trace_work)
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
    tree: Ints,
    num_members: int,
    limit: float,
    cancel: Bytes,
) -> tuple[Ints, Ints, Floats, Ints, Ints, Ints, Ints, Ints, int, int, Ints, Ints, Ints]:
    """All steps of a question: the forward sweep over cliques or a binary tree, the reverse sweep if anything is read,
    and the reads.

    Args:
        start, members: the scopes of all factors as compressed rows of variables.
        numbers: the numbers of the factors used; `rank` has the place of their variables in the order, or -1.
        touched: ranks with a likelihood.
        group, sep_start, sepsets: for each rank its clique, and the sepset of each clique.
        kept: ranks that no clique eliminates.
        targets: ranks whose marginals are read; then the marginals over the first `num_reads` factors' scopes.
        tree: the products of a binary tree as rows of two operands, the inputs first; none for cliques.
        num_members: the number of variables of all results of the tree together.
        limit: the entries of all steps' results from which the sweep is not completed.

    Returns scopes as compressed rows, sizes, steps, roots, the tensors of each clique as compressed rows, the tensor of
    each read, the numbers of inputs and of forward steps, -1 if they are not complete; and the cliques, which are those
    given or the steps of the tree that remove variables.
    """
    room, variables = _room(members, numbers, start, rank, group, sep_start, sepsets, len(kept))
    if len(tree) > 0:
        room = 7 * (len(numbers) + len(touched) + len(cards))
        variables = 2 * num_members + 5 * (len(members) + len(touched) + len(cards))
    tape = _new_tape(start, members, numbers, rank, touched, cards, room, variables, limit, cancel)
    num_inputs = tape.made[TENSORS] - 1
    if len(tree) > 0:
        roots, group, sep_start, sepsets, box_start, boxes = _follow(tape, num_inputs, tree, kept)
    else:
        roots, box_start, boxes = _contract(tape, num_inputs, group, sep_start, sepsets, kept)
    num_forward = -1 if is_over(tape) else tape.made[STEPS]
    reads = np.empty(len(targets) + num_reads, np.int64)
    if len(reads) > 0 and num_forward >= 0:
        homes = np.empty(len(reads), np.int64)
        cheapest = _cheapest_homes(tape)
        for i in range(len(reads)):
            homes[i] = cheapest[targets[i]] if i < len(targets) else 1 + i - len(targets)
        adjoints = _differentiate(tape, homes, roots)
        for i in range(len(reads)):
            reads[i] = _add_read(tape, homes[i], adjoints[homes[i]], targets[i] if i < len(targets) else -1)
    num = tape.made[TENSORS]
    bounds = tape.start[: num + 1].copy()
    pool, sizes, steps = tape.pool[: bounds[num]].copy(), tape.sizes[:num].copy(), tape.steps[: tape.made[STEPS]].copy()
    ends = roots, box_start, boxes, reads, num_inputs, num_forward
    return bounds, pool, sizes, steps, *ends, group, sep_start, sepsets
