"""Greedy elimination of a whole graph: one compiled pass over adjacency rows with incremental costs.

The rows are in one `pool`: `pool[0]` has neighbors, and for each `pool[1]` has the place of the reverse entry in the
neighbor's row, so that removing an entry needs no search. `rows[0]`, `rows[1]` and `rows[2]` have each row's start,
size and capacity, and `rows[0, n]` the first free place. When v is eliminated its row remains: it is then the message
scope of v.

For each node the pass updates three sums over its neighbors, in `sums`: the weight $w_a w_b$ of the missing edges
between them (the fill), their weights, and the log2 of their numbers of states. `mark[0]` stamps the members of the
current neighborhood, `mark[1]` the nodes whose sums the elimination of v has changed: `touched[: touched[n]]`;
`touched[n + 1]` counts the work.

Logarithms and powers are written out here, since those of libraries differ in the last digit from one processor to
another: the order is a function of the arguments.
"""

from __future__ import annotations

import math

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Int32s, Ints
from sepset.kernels.kernel import kernel, sizes

ROOT = 0.7071067811865476  # of a half
GRAIN = 1.5 * 2.0**32  # a number is rounded to a multiple of 2 to the power -20 where this is added to it
LOG = 0.6931471805599453  # natural, of two
TWICE_PER_LOG = 2.8853900817779268  # two by that
LEAST_NORMAL = 2.0**-1022
# The logarithms of small whole numbers, rounded: most sets of fill edges are small.
SMALL = np.array([0.0, *((math.log2(k) + GRAIN) - GRAIN for k in range(1, 256))])


def _order_work(indptr: Ints, indices: Int32s, *others: object) -> float:
    """The neighbors of each node are compared pairwise, once for each of them."""
    degrees = np.diff(indptr)
    return 4 * len(indptr) + 4 * float(np.square(degrees).sum())


@kernel(work=_order_work)
def greedy_order(
    indptr: Ints,
    indices: Int32s,
    weight: Floats,
    logs: Floats,
    group: Ints,
    mix: Floats,
    bias: Floats,
    tie: Floats,
    limit: float,
    patience: int,
    cancel: Bytes,
) -> tuple[Ints, float, int]:
    """The greedy order, log2 of the total size of its maximal cliques, and the work done (places read in rows).

    The next node has the smallest group, then the smallest mix[0] log2(1 + fill) + mix[1] log2(message size) + bias,
    then the smallest `tie`. An order whose tables exceed 2^`limit` entries once `patience` places were read, or that is
    canceled, is returned unfinished with an infinite total; with a limit of minus infinity it stops before the first
    fill edge. A node whose neighbors are all adjacent costs its degree; otherwise rows are read.
    """
    n = len(indptr) - 1
    rows = np.empty((3, n + 1), np.int64)
    pool = _copy_rows(indptr, indices, rows)
    sums = np.empty((3, n), np.float64)
    mark = np.empty((2, n), np.int64)
    _start_sums(pool, rows, weight, logs, sums, mark, cancel)
    half = 1
    while half < n:
        half *= 2
    rank = np.empty((3, n), np.float64)
    tree = np.empty(2 * half, np.int64)
    _start_tree(sums, group, mix, bias, tie, rank, tree)
    order = np.empty(n, np.int64)
    touched = np.empty(n + 2, np.int64)
    touched[n + 1] = len(indices)
    stamp = n
    spent, most = 0.0, power(limit)
    for step in range(n):
        v = tree[1]
        if cancel[0]:
            return order[:step], np.inf, touched[n + 1]
        if sums[0, v] > 0.5:
            spent += power(logs[v] + sums[2, v])
            if spent > most and touched[n + 1] >= patience:
                return order[:step], np.inf, touched[n + 1]
        order[step] = v
        touched[n] = 0
        stamp = _detach(pool, rows, v, weight, logs, sums, mark, stamp, touched)
        if sums[0, v] > 0.5:
            pool, stamp = _connect(pool, rows, v, weight, logs, sums, mark, stamp, touched, cancel)
        tree[half + v] = -1
        _replay(tree, half + v, rank)
        for i in range(touched[n]):
            u = touched[i]
            rank[1, u] = _cost(sums, mix, bias, u)
            _replay(tree, half + u, rank)
    return order, _table_total(pool, rows, order, logs), touched[n + 1]


@kernel(inner=True)
def logarithm(x: float) -> float:
    r"""log2 of a number $x = 2^n m$ with $\frac12 \le m < 1$.

    $$\log_2 x = n - \tfrac12 + \frac{2}{\ln 2} \left(t + \frac{t^3}{3} + \dots + \frac{t^{17}}{17}\right), \quad
      t = \frac{m - \sqrt{1/2}}{m + \sqrt{1/2}}$$
    """
    if x <= 0.0 or x == np.inf:
        return np.inf if x > 0.0 else -np.inf
    if x < LEAST_NORMAL:
        m, exponent = math.frexp(x)
    else:  # the same by its bits, without a call
        bits = np.float64(x).view(np.int64)
        half = (bits & np.int64(0xFFFFFFFFFFFFF)) | np.int64(0x3FE0000000000000)
        m, exponent = np.int64(half).view(np.float64), int(bits >> np.int64(52)) - 1022
    if m == 0.5:  # a power of two, such as one more than no fill edges
        return exponent - 1.0
    t = (m - ROOT) / (m + ROOT)
    square = t * t
    fourth = square * square
    thirds, fifths = 0.0, 0.0  # every other term each: two sums at the same time
    for k in range(3, -1, -1):
        thirds = thirds * fourth + 1.0 / (4 * k + 3)
        fifths = fifths * fourth + 1.0 / (4 * k + 5)
    return (exponent - 0.5) + TWICE_PER_LOG * (t + t * (square * thirds + fourth * fifths))


@kernel(inner=True)
def power(x: float) -> float:
    r"""2 to the power x, zero or infinity beyond the range: $2^n \sum_k \frac{(f \ln 2)^k}{k!}$, $x = n + f$."""
    if x < -1080.0 or x > 1023.99:
        return 0.0 if x < 0.0 else np.inf
    whole = math.floor(x + 0.5)
    step, total = (x - whole) * LOG, 1.0
    for k in range(14, 0, -1):
        total = 1.0 + total * (step * (1.0 / k))
    return math.ldexp(total, int(whole))


@kernel(work=sizes)
def without_nodes(indptr: Ints, indices: Int32s, gone: Ints) -> tuple[Ints, Ints, Int32s]:
    """The remaining node numbers, and the induced subgraph on them as compressed rows of new numbers."""
    n = len(indptr) - 1
    number = np.zeros(n, np.int64)
    for v in gone:
        number[v] = -1
    kept = np.empty(n - len(gone), np.int64)
    count = 0
    for v in range(n):
        if number[v] == 0:
            number[v] = count
            kept[count] = v
            count += 1
    rows = np.empty(count + 1, np.int64)
    found = np.empty(len(indices), np.int32)
    rows[0] = 0
    top = 0
    for i in range(count):
        for k in range(indptr[kept[i]], indptr[kept[i] + 1]):
            if number[indices[k]] >= 0:
                found[top] = number[indices[k]]
                top += 1
        rows[i + 1] = top
    return kept, rows, found[:top].copy()


@kernel(inline=True)
def _copy_rows(indptr: Ints, indices: Int32s, rows: Ints) -> Int32s:
    n = len(indptr) - 1
    pool = np.empty((2, 2 * len(indices) + 16 * n + 16), np.int32)
    top = 0
    for v in range(n):
        rows[0, v] = top
        rows[1, v] = 0
        rows[2, v] = indptr[v + 1] - indptr[v] + 4
        top += rows[2, v]
    rows[0, n] = top
    for v in range(n):
        for i in range(indptr[v], indptr[v + 1]):
            if indices[i] < v:
                _link(pool, rows, v, indices[i])
    return pool


@kernel(borrows=True)
def _link(pool: Int32s, rows: Ints, a: int, b: int) -> None:
    """Append a and b to each other's rows, which have space."""
    i, j = rows[1, a], rows[1, b]
    pool[0, rows[0, a] + i], pool[1, rows[0, a] + i] = b, j
    pool[0, rows[0, b] + j], pool[1, rows[0, b] + j] = a, i
    rows[1, a] = i + 1
    rows[1, b] = j + 1


@kernel
def _make_room(pool: Int32s, rows: Ints, a: int) -> Int32s:
    """Make space in a row: a full row moves to the end of the pool, and a full pool grows."""
    size = rows[1, a]
    if size < rows[2, a]:
        return pool
    n = rows.shape[1] - 1
    top = rows[0, n]
    if top + 2 * size + 4 > pool.shape[1]:
        grown = np.empty((2, 2 * top + 4 * size + 8), np.int32)
        for i in range(top):  # entry by entry: checking the shapes of slices takes the compiler seconds
            grown[0, i] = pool[0, i]
            grown[1, i] = pool[1, i]
        pool = grown
    for i in range(size):
        pool[0, top + i] = pool[0, rows[0, a] + i]
        pool[1, top + i] = pool[1, rows[0, a] + i]
    rows[0, a] = top
    rows[2, a] = 2 * size + 4
    rows[0, n] = top + 2 * size + 4
    return pool


@kernel(inline=True)
def _start_sums(
    pool: Int32s, rows: Ints, weight: Floats, logs: Floats, sums: Floats, mark: Ints, cancel: Bytes
) -> None:
    """Initialize the sums: missing pairs are all pairs, by the square of the sum, minus the present ones.

    A present pair is a triangle: it is counted at its node of largest degree, from that of smallest degree. If the pass
    is canceled the sums are too large.
    """
    n = mark.shape[1]
    for v in range(n):
        mark[0, v] = -1
        mark[1, v] = -1
        total, squares, logged = 0.0, 0.0, 0.0
        for i in range(rows[0, v], rows[0, v] + rows[1, v]):
            u = pool[0, i]
            total += weight[u]
            squares += weight[u] * weight[u]
            logged += logs[u]
        sums[0, v] = (total * total - squares) / 2
        sums[1, v] = total
        sums[2, v] = logged
    for v in range(n):
        if cancel[0]:
            break
        for i in range(rows[0, v], rows[0, v] + rows[1, v]):
            if _is_smaller(rows, pool[0, i], v):
                mark[0, pool[0, i]] = v
        for i in range(rows[0, v], rows[0, v] + rows[1, v]):
            u = pool[0, i]
            if not _is_smaller(rows, u, v):
                continue
            for j in range(rows[0, u], rows[0, u] + rows[1, u]):
                x = pool[0, j]
                if mark[0, x] == v and _is_smaller(rows, u, x):
                    sums[0, v] -= weight[u] * weight[x]
                    sums[0, u] -= weight[v] * weight[x]
                    sums[0, x] -= weight[u] * weight[v]
    for v in range(n):
        mark[0, v] = -1


@kernel(inline=True)
def _is_smaller(rows: Ints, u: int, v: int) -> bool:
    return bool(rows[1, u] < rows[1, v] or (rows[1, u] == rows[1, v] and u < v))


@kernel(inline=True)
def _start_tree(sums: Floats, group: Ints, mix: Floats, bias: Floats, tie: Floats, rank: Floats, tree: Ints) -> None:
    """Build a tournament tree: leaf half + v is node v, and tree[1] is the winner."""
    n = len(group)
    half = len(tree) // 2
    for v in range(half):
        tree[half + v] = v if v < n else -1
    for v in range(n):
        rank[0, v] = group[v]
        rank[1, v] = _cost(sums, mix, bias, v)
        rank[2, v] = tie[v]
    for i in range(half - 1, 0, -1):
        tree[i] = _winner(tree[2 * i], tree[2 * i + 1], rank)


@kernel(borrows=True)
def _cost(sums: Floats, mix: Floats, bias: Floats, v: int) -> float:
    """The cost of eliminating v; its logarithm is rounded as those of states are, so that equal costs tie."""
    more = 1.0 + max(sums[0, v], 0.0)
    few = np.uint64(min(more, 255.0))
    fill = SMALL[few] if float(few) == more else (logarithm(more) + GRAIN) - GRAIN
    return float(mix[0] * fill + mix[1] * sums[2, v] + bias[v])


@kernel(borrows=True)
def _winner(a: int, b: int, rank: Floats) -> int:
    if a < 0 or b < 0:
        return max(a, b)
    for level in range(3):
        if rank[level, a] != rank[level, b]:
            return a if rank[level, a] < rank[level, b] else b
    return min(a, b)


@kernel(borrows=True)
def _replay(tree: Ints, leaf: int, rank: Floats) -> None:
    i = leaf // 2
    while i > 0:
        tree[i] = _winner(tree[2 * i], tree[2 * i + 1], rank)
        i //= 2


@kernel(inline=True)
def _detach(
    pool: Int32s,
    rows: Ints,
    v: int,
    weight: Floats,
    logs: Floats,
    sums: Floats,
    mark: Ints,
    stamp: int,
    touched: Ints,
) -> int:
    """Remove v from its neighbors' rows, where the pairs (v, x) are no longer missing."""
    stamp += 1
    n = mark.shape[1]
    first, end = rows[0, v], rows[0, v] + rows[1, v]
    for i in range(first, end):
        mark[0, pool[0, i]] = stamp
        mark[1, pool[0, i]] = v
        touched[i - first] = pool[0, i]
    touched[n] = end - first
    touched[n + 1] += end - first
    all_linked = sums[0, v] <= 0.5
    for i in range(first, end):
        u = pool[0, i]
        shared = sums[1, v] - weight[u]
        if not all_linked:
            shared = 0.0
            touched[n + 1] += rows[1, u]
            for j in range(rows[0, u], rows[0, u] + rows[1, u]):
                if mark[0, pool[0, j]] == stamp:
                    shared += weight[pool[0, j]]
        _unlink(pool, rows, u, pool[1, i])
        sums[1, u] -= weight[v]
        sums[2, u] -= logs[v]
        sums[0, u] -= weight[v] * (sums[1, u] - shared)
    return stamp


@kernel(borrows=True)
def _unlink(pool: Int32s, rows: Ints, u: int, place: int) -> None:
    """Close the gap at a place in row u by its last entry."""
    last = rows[1, u] - 1
    x, way = pool[0, rows[0, u] + last], pool[1, rows[0, u] + last]
    pool[0, rows[0, u] + place], pool[1, rows[0, u] + place] = x, way
    pool[1, rows[0, x] + way] = place
    rows[1, u] = last


@kernel(inline=True)
def _connect(
    pool: Int32s,
    rows: Ints,
    v: int,
    weight: Floats,
    logs: Floats,
    sums: Floats,
    mark: Ints,
    stamp: int,
    touched: Ints,
    cancel: Bytes,
) -> tuple[Int32s, int]:
    """Make the neighbors of v a clique, unless the pass is canceled. A fill edge a - b completes a pair for the common
    neighbors of a and b, and adds to a (and b) the missing pairs of b with those neighbors of a that are not adjacent
    to b."""
    first, end = rows[0, v], rows[0, v] + rows[1, v]
    n = mark.shape[1]
    for i in range(first, end):
        if cancel[0]:
            break
        a = pool[0, i]
        stamp += 1
        for k in range(rows[0, a], rows[0, a] + rows[1, a]):
            mark[0, pool[0, k]] = stamp
        for j in range(i + 1, end):
            b = pool[0, j]
            if mark[0, b] == stamp:
                continue
            common = 0.0
            touched[n + 1] += rows[1, b]
            for k in range(rows[0, b], rows[0, b] + rows[1, b]):
                c = pool[0, k]
                if mark[0, c] == stamp:
                    common += weight[c]
                    sums[0, c] -= weight[a] * weight[b]
                    if mark[1, c] != v:
                        mark[1, c] = v
                        touched[touched[n]] = c
                        touched[n] += 1
            sums[0, a] += weight[b] * (sums[1, a] - common)
            sums[0, b] += weight[a] * (sums[1, b] - common)
            sums[1, a] += weight[b]
            sums[1, b] += weight[a]
            sums[2, a] += logs[b]
            sums[2, b] += logs[a]
            pool = _make_room(pool, rows, a)
            pool = _make_room(pool, rows, b)
            _link(pool, rows, a, b)
            mark[0, b] = stamp
    return pool, stamp


@kernel(inline=True)
def _table_total(pool: Int32s, rows: Ints, order: Ints, logs: Floats) -> float:
    """log2 of the entries of all maximal cliques: that of v is contained in another if it equals an earlier message."""
    n = len(order)
    position = np.empty(n, np.int64)
    absorbed = np.zeros(n, np.bool_)
    for i in range(n):
        position[order[i]] = i
    top, total = 0.0, 0.0
    for v in order:
        parent = n
        size = logs[v]
        for i in range(rows[0, v], rows[0, v] + rows[1, v]):
            parent = min(parent, position[pool[0, i]])
            size += logs[pool[0, i]]
        if parent < n and rows[1, order[parent]] == rows[1, v] - 1:
            absorbed[parent] = True
        if not absorbed[position[v]]:
            total = total * power(min(top - size, 0.0)) + power(min(size - top, 0.0))
            top = max(top, size)
    return float(top + logarithm(total))
