r"""Binary contraction trees rearranged by rotations: downhill, or now and then uphill (simulated annealing).

A rotation replaces $(a\,b)\,c$ by $(a\,c)\,b$, and changes two steps only: the variables of $a\,c$ that $b$ or
anything outside of the whole product $p$ has as well are

$$(\mathbf S_a \cup \mathbf S_c) \cap (\mathbf S_b \cup \mathbf S_p).$$

Scopes are sets of bits, in words of `WORD` bits so that none is negative.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.compiled.tape import ONE
from sepset.kernels.kernel import kernel, sizes

BYTES_PER_WORD = 7
WORD = 8 * BYTES_PER_WORD
PER_PRODUCT, PER_ENTRY, PER_STREAMED_ENTRY, PER_STEP = 0, 1, 2, 3
MODULUS, MULTIPLIER = 2147483647, 48271
"""Of the random numbers (Park and Miller), whose products fit in a word."""
NUM_CHANCES = 64
"""Different chances of a rotation uphill."""


class Tree(NamedTuple):
    """A forest of binary products, its nodes in one array: the leaves first.

    Attributes:
        left, right: the operands of each node; -1 for leaves.
        scopes: the scope of each node, as words.
        entries: the entries of each node.
        costs: the estimated nanoseconds of each node's steps.
        asked: 1 where the derivative with respect to a node is computed.
        products: for each byte of a scope and each of its 256 values, the product of the numbers of states.
        rates: nanoseconds per multiplication, per entry that is packed or streamed, and per step.
    """

    left: Ints
    right: Ints
    scopes: Ints
    entries: Floats
    costs: Floats
    asked: Bytes
    products: Floats
    rates: Floats


@kernel(borrows=True)
def _joint_states(tree: Tree, a: int, b: int, c: int, d: int) -> tuple[float, float]:
    """The joint states of two nodes' variables, and of those among them that two others have as well."""
    union, kept = 1.0, 1.0
    for w in range(tree.scopes.shape[1]):
        both = tree.scopes[a, w] | tree.scopes[b, w]
        left = both & (tree.scopes[c, w] | tree.scopes[d, w])
        k = BYTES_PER_WORD * w
        while both:
            union *= tree.products[k, both & 255]
            kept *= tree.products[k, left & 255]
            both >>= 8
            left >>= 8
            k += 1
    return union, kept


@kernel(borrows=True)
def _with_rest(tree: Tree, p: int, a: int, b: int, c: int) -> float:
    """The joint states of b and of what is left of (a c) in the product p of all three."""
    union = 1.0
    for w in range(tree.scopes.shape[1]):
        other = tree.scopes[b, w]
        both = other | ((tree.scopes[a, w] | tree.scopes[c, w]) & tree.scopes[p, w])
        both |= (tree.scopes[a, w] | tree.scopes[c, w]) & other
        k = BYTES_PER_WORD * w
        while both:
            union *= tree.products[k, both & 255]
            both >>= 8
            k += 1
    return union


@kernel(borrows=True)
def _nanoseconds(rates: Floats, union: float, a: float, b: float, d: float, asked: int) -> float:
    """The estimated time of a product of two tensors to a third, given their entries and the joint states of all their
    variables, and of the derivatives with respect to those of its operands that are asked for.

    If one of the three has all variables, each entry is passed once; otherwise the step runs by panels.
    """
    is_streamed = union <= max(a, b, d)
    moved = (a + b + d) * (rates[PER_STREAMED_ENTRY] if is_streamed else rates[PER_ENTRY])
    return float((1 + asked) * (rates[PER_PRODUCT] * union + moved + rates[PER_STEP]))


@kernel(borrows=True)
def _rotate(tree: Tree, p: int, x: int, a: int, b: int, c: int, most: float) -> None:
    """Make p = (a b) c, with x = (a b), into (a c) b unless its steps then cost more than `most` times as much."""
    limit = most * (tree.costs[x] + tree.costs[p])
    union, rest = _joint_states(tree, a, c, b, p)
    lower = _nanoseconds(tree.rates, union, tree.entries[a], tree.entries[c], rest, tree.asked[a] + tree.asked[c])
    if lower > limit:
        return
    is_asked = max(tree.asked[a], tree.asked[c])
    union = _with_rest(tree, p, a, b, c)
    upper = _nanoseconds(tree.rates, union, rest, tree.entries[b], tree.entries[p], is_asked + tree.asked[b])
    if lower + upper > limit:
        return
    for w in range(tree.scopes.shape[1]):
        needed = tree.scopes[b, w] | tree.scopes[p, w]
        tree.scopes[x, w] = (tree.scopes[a, w] | tree.scopes[c, w]) & needed
    tree.left[x], tree.right[x] = a, c
    tree.left[p], tree.right[p] = x, b
    tree.entries[x], tree.costs[x], tree.costs[p], tree.asked[x] = rest, lower, upper, is_asked


@kernel
def _sweep(tree: Tree, num_leaves: int, sharpness: float, num_moves: int, state: int) -> int:
    """Try rotations at random nodes; the next random number.

    One that makes two steps r times as expensive is made with the chance $r^{-\text{sharpness}}$.
    """
    most = np.ones(NUM_CHANCES)
    if sharpness < np.inf:
        most = ((np.arange(NUM_CHANCES) + 0.5) / NUM_CHANCES) ** (-1.0 / sharpness)
    num_inner = len(tree.left) - num_leaves
    for _ in range(num_moves):
        state = state * MULTIPLIER % MODULUS
        p = num_leaves + state % num_inner
        state = state * MULTIPLIER % MODULUS
        bits = state >> 8
        x, c = tree.left[p], tree.right[p]
        if x < num_leaves or (c >= num_leaves and bits & 1):
            x, c = c, x
        if x >= num_leaves:
            a, b = tree.left[x], tree.right[x]
            if bits & 2:
                a, b = b, a
            _rotate(tree, p, x, a, b, c, most[(bits >> 2) % NUM_CHANCES])
    return state


@kernel
def _tree(rows: Ints, leaves: Ints, asked: Bytes, kept: Ints, products: Floats, rates: Floats) -> Tree:
    """The tree of these products, with the scopes, entries and costs of all nodes."""
    num_leaves, words = leaves.shape
    num = num_leaves + len(rows)
    left, right, derived = np.full(num, -1), np.full(num, -1), np.zeros(num, np.uint8)
    inside, outside = np.zeros((num, words), np.int64), np.zeros((num, words), np.int64)
    inside[:num_leaves], derived[:num_leaves] = leaves, asked
    for v in range(num):
        outside[v] = kept
        if v >= num_leaves:
            left[v], right[v] = rows[v - num_leaves]
            inside[v] = inside[left[v]] | inside[right[v]]
            derived[v] = max(derived[left[v]], derived[right[v]])
    for v in range(num - 1, num_leaves - 1, -1):
        outside[left[v]] = outside[v] | inside[right[v]]
        outside[right[v]] = outside[v] | inside[left[v]]
        inside[v] &= outside[v]
    tree = Tree(left, right, inside, np.ones(num), np.zeros(num), derived, products, rates)
    for v in range(num):
        a, b = (left[v], right[v]) if v >= num_leaves else (v, v)
        union, tree.entries[v] = _joint_states(tree, a, b, v, v)
        if v >= num_leaves:
            entries = tree.entries[a], tree.entries[b], tree.entries[v]
            tree.costs[v] = _nanoseconds(rates, union, *entries, derived[a] + derived[b])
    return tree


@kernel
def _num_members(scopes: Ints) -> int:
    """The number of bits of all scopes together."""
    num = 0
    for word in scopes.flat:
        while word:
            word &= word - 1
            num += 1
    return num


@kernel
def _ordered(left: Ints, right: Ints, num_leaves: int) -> Ints:
    """The products as rows of two operands, renumbered so that each comes after its operands."""
    num = len(left)
    is_root, number = np.ones(num, np.bool_), np.arange(num)
    for v in range(num_leaves, num):
        is_root[left[v]] = is_root[right[v]] = False
    rows, stack = np.empty((num - num_leaves, 2), np.int64), np.empty(2 * num + 2, np.int64)
    made = 0
    for root in range(num_leaves, num):
        if not is_root[root]:
            continue
        stack[0], top = root, 1
        while top > 0:
            v = stack[top - 1]
            if v < 0:  # both operands are numbered
                v = -1 - v
                rows[made, 0], rows[made, 1] = number[left[v]], number[right[v]]
                number[v] = num_leaves + made
                made += 1
                top -= 1
                continue
            stack[top - 1] = -1 - v
            for child in (right[v], left[v]):
                if child >= num_leaves:
                    stack[top] = child
                    top += 1
    return rows


@kernel(work=sizes)
def estimate(cards: Floats, bounds: Ints, pool: Ints, sizes: Floats, steps: Ints, rates: Floats) -> float:
    """The estimated nanoseconds of all steps of a contraction; the arguments are those of `leaves` and `anneal`."""
    total = 0.0
    mark = np.full(len(cards), -1, np.int64)
    for s in range(len(steps)):
        union = 1.0
        for t in steps[s, 1:]:
            for k in range(bounds[t], bounds[t + 1]):
                if mark[pool[k]] != s:
                    mark[pool[k]] = s
                    union *= cards[pool[k]]
        total += _nanoseconds(rates, union, sizes[steps[s, 1]], sizes[steps[s, 2]], sizes[steps[s, 0]], 0)
    return total


@kernel
def leaves(
    cards: Floats,
    bounds: Ints,
    pool: Ints,
    sizes: Floats,
    steps: Ints,
    num_inputs: int,
    kept: Ints,
    targets: Ints,
    num_reads: int,
) -> tuple[Ints, Ints, Bytes, Ints, Floats]:
    """The first arguments of `anneal` for the forward sweep of a contraction.

    Args:
        bounds, pool: the scope of tensor t is `pool[bounds[t] : bounds[t + 1]]`; the inputs come after the first.
        steps: rows (result, first, second) of the forward sweep; with a second of `ONE` they only sum.
        targets: ranks whose marginals are read, from the smallest input; and those over the first `num_reads` inputs.
    """
    num_words = max(1, (len(cards) + WORD - 1) // WORD)
    counts, homes = np.zeros(len(cards), np.int64), np.zeros(len(cards), np.int64)
    for t in range(1, num_inputs + 1):
        for k in range(bounds[t], bounds[t + 1]):
            r = pool[k]
            counts[r] += 1
            if homes[r] == 0 or sizes[t] < sizes[homes[r]]:
                homes[r] = t
    counts[kept] += 2
    scopes, last = np.zeros((num_inputs, num_words), np.int64), np.zeros(num_words, np.int64)
    for t in range(1, num_inputs + 1):
        for k in range(bounds[t], bounds[t + 1]):
            if counts[pool[k]] > 1:
                scopes[t - 1, pool[k] // WORD] |= 1 << pool[k] % WORD
    for r in kept:
        last[r // WORD] |= 1 << r % WORD
    asked = np.zeros(num_inputs, np.uint8)
    asked[:num_reads] = 1
    for r in targets:
        asked[homes[r] - 1] = 1
    return _products(steps, num_inputs), scopes, asked, last, _byte_products(cards, num_words)


@kernel
def _products(steps: Ints, num_inputs: int) -> Ints:
    """The operands of each product of a forward sweep, sums left out; the inputs have the first numbers."""
    number = np.arange(-1, num_inputs + len(steps))
    rows = np.empty((len(steps), 2), np.int64)
    made = 0
    for s in range(len(steps)):
        d, a, b = steps[s, 0], steps[s, 1], steps[s, 2]
        number[d] = number[a]
        if b != ONE:
            rows[made, 0], rows[made, 1] = number[a], number[b]
            number[d] = num_inputs + made
            made += 1
    return rows[:made].copy()


@kernel
def _byte_products(cards: Floats, num_words: int) -> Floats:
    """For each byte of a scope and each of its 256 values, the product of the numbers of states."""
    products = np.ones((BYTES_PER_WORD * num_words, 256))
    for r in range(len(cards)):
        for value in range(256):
            if value >> r % 8 & 1:
                products[r // 8, value] *= cards[r]
    return products


@kernel
def anneal(
    rows: Ints,
    scopes: Ints,
    asked: Bytes,
    kept: Ints,
    products: Floats,
    rates: Floats,
    schedule: Floats,
    num_moves: int,
    seed: int,
    cancel: Bytes,
) -> tuple[Ints, float, float, int]:
    """The best tree found as rows of two operands, its cost and that of the first, and the variables of its results.

    Args:
        rows: the operands of each product of the first tree, after theirs; the leaves have the first numbers.
        scopes: of the leaves, as words, without variables that only one of them has.
        asked: by leaf, whether the derivative with respect to it is computed.
        kept: the variables that are not summed, as words.
        products: for each byte of a scope and each of its 256 values, the product of the numbers of states.
        rates: nanoseconds per multiplication, per entry that is packed or streamed, and per step.
        schedule: the sharpness of each stage, infinite for downhill only; the best tree at the end of one counts.
        num_moves: rotations tried in each stage.
        seed: of the random numbers, positive.
    """
    num_leaves = len(scopes)
    tree = _tree(rows, scopes, asked, kept, products, rates)
    first = best = tree.costs.sum()
    left, right = tree.left.copy(), tree.right.copy()
    for sharpness in schedule:
        seed = _sweep(tree, num_leaves, sharpness, num_moves, seed)
        total = tree.costs.sum()
        if total < best:
            best = total
            left[:], right[:] = tree.left, tree.right
        if cancel[0]:
            break
    found = _ordered(left, right, num_leaves)
    return found, best, first, _num_members(_tree(found, scopes, asked, kept, products, rates).scopes[num_leaves:])
