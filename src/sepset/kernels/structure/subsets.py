"""Loops over all subsets of columns: best and summed parent sets, best sinks, sums over orders and over DAGs.

Sets are bit masks. The parent sets of a child are numbered without the child's own bit: bits above it move down by one.
"""

from __future__ import annotations

import math

import numpy as np

from sepset.base.arraytypes import Bytes, Floats
from sepset.kernels.kernel import kernel


def _lattice(values: Floats, *_: object) -> float:
    return float(values.size * max(values.shape[-1].bit_length() - 1, 1))


def _pairs_of_sets(values: Floats, *_: object) -> float:
    return float(len(values) * 3.0 ** len(values))


@kernel(inline=True)
def without(mask: int, child: int) -> int:
    """The number of a parent set: its mask with the child's bit taken out."""
    return (mask & ((1 << child) - 1)) | ((mask >> (child + 1)) << child)


@kernel(inline=True)
def log_add(a: float, b: float) -> float:
    """log(exp a + exp b)."""
    if a < b:
        a, b = b, a
    if b == -np.inf:
        return a
    return a + math.log1p(math.exp(b - a))


@kernel(inline=True)
def log_subtract(a: float, b: float) -> float:
    """log(exp a - exp b); minus infinity where b is not below a."""
    if b >= a:
        return -np.inf
    if b == -np.inf:
        return a
    return a + math.log1p(-math.exp(b - a))


@kernel(work=_lattice)
def best_subsets(values: Floats, cancel: Bytes) -> None:
    """In place, for every row: the largest value of any subset of each set."""
    size = values.shape[1]
    for row in range(values.shape[0]):
        step = 1
        while step < size:
            if cancel[0]:
                return
            for s in range(size):
                if s & step and values[row, s ^ step] > values[row, s]:
                    values[row, s] = values[row, s ^ step]
            step *= 2


@kernel(work=_lattice)
def sum_subsets(values: Floats, cancel: Bytes) -> None:
    """In place, for every row: the logarithm of the summed exponentials over the subsets of each set."""
    size = values.shape[1]
    for row in range(values.shape[0]):
        step = 1
        while step < size:
            if cancel[0]:
                return
            for s in range(size):
                if s & step:
                    values[row, s] = log_add(values[row, s], values[row, s ^ step])
            step *= 2


@kernel(work=_lattice)
def sum_supersets(values: Floats, cancel: Bytes) -> None:
    """In place, for every row: the logarithm of the summed exponentials over the supersets of each set."""
    size = values.shape[1]
    for row in range(values.shape[0]):
        step = 1
        while step < size:
            if cancel[0]:
                return
            for s in range(size):
                if not s & step:
                    values[row, s] = log_add(values[row, s], values[row, s | step])
            step *= 2


@kernel(work=_lattice)
def best_sinks(best: Floats, totals: Floats, sinks: Bytes, cancel: Bytes) -> None:
    """The best score of a DAG over every set of columns, and its last column.

    best(W) = max over s in W of best(W - s) + best parents of s within W - s; ties go to the first column.
    """
    n = best.shape[0]
    totals[0] = 0.0
    for w in range(1, 1 << n):
        if w & 0xFFFF == 0 and cancel[0]:
            return
        top = -np.inf
        sink = 0
        for s in range(n):
            if w >> s & 1:
                rest = w ^ (1 << s)
                found = totals[rest] + best[s, without(rest, s)]
                if found > top:
                    top = found
                    sink = s
        totals[w] = top
        sinks[w] = sink


@kernel(work=_lattice)
def order_sums(sums: Floats, forward: Floats, backward: Floats, cancel: Bytes) -> None:
    """Log sums over the orders of every set and of its complement.

    f(S) = sum over v in S of f(S - v) a(v, S - v); b(S) = sum over v not in S of a(v, S) b(S + v).
    """
    n = sums.shape[0]
    full = (1 << n) - 1
    forward[0] = 0.0
    backward[full] = 0.0
    for s in range(full + 1):
        if cancel[0]:
            return
        for v in range(n):
            if not s >> v & 1:
                t = s | 1 << v
                forward[t] = log_add(forward[t], forward[s] + sums[v, without(s, v)])
    for s in range(full - 1, -1, -1):
        if cancel[0]:
            return
        for v in range(n):
            if not s >> v & 1:
                backward[s] = log_add(backward[s], sums[v, without(s, v)] + backward[s | 1 << v])


@kernel(work=_pairs_of_sets)
def dag_sums(sums: Floats, scale: Floats, totals: Floats, cancel: Bytes) -> None:
    """The sum over the DAGs of every set of columns, relative to exp(scale): layers of sinks are added to what is left.

    r(S) = sum over nonempty K in S of (-1)^(|K| + 1) r(S - K) times the product of a(v, S - K) over v in K.
    """
    n = sums.shape[0]
    full = (1 << n) - 1
    logs = np.zeros(1 << n)
    signs = np.empty(1 << n)
    totals[:] = 0.0
    totals[0] = 1.0
    for r in range(full):
        if cancel[0]:
            return
        if totals[r] == 0.0:  # no DAG: required parents are missing
            continue
        rest = full ^ r
        logs[0] = 0.0
        signs[0] = -1.0
        k = (0 - rest) & rest
        while k:
            low = k & -k
            v = _bit(low)
            logs[k] = logs[k ^ low] + sums[v, without(r, v)]
            signs[k] = -signs[k ^ low]
            totals[r | k] += signs[k] * totals[r] * math.exp(logs[k] + scale[r] - scale[r | k])
            k = (k - rest) & rest


@kernel(work=_pairs_of_sets)
def dag_derivatives(sums: Floats, scale: Floats, totals: Floats, slopes: Floats, cancel: Bytes) -> None:
    """The derivative of the sum over all DAGs with respect to log a(v, S), relative to that sum: reverse mode."""
    n = sums.shape[0]
    full = (1 << n) - 1
    logs = np.zeros(1 << n)
    signs = np.empty(1 << n)
    adjoint = np.zeros(1 << n)
    adjoint[full] = 1.0 / totals[full]
    slopes[:] = 0.0
    for r in range(full - 1, -1, -1):
        if cancel[0]:
            return
        if totals[r] == 0.0:
            continue
        rest = full ^ r
        logs[0] = 0.0
        signs[0] = -1.0
        k = (0 - rest) & rest
        while k:
            low = k & -k
            v = _bit(low)
            logs[k] = logs[k ^ low] + sums[v, without(r, v)]
            signs[k] = -signs[k ^ low]
            term = signs[k] * adjoint[r | k] * math.exp(logs[k] + scale[r] - scale[r | k])
            adjoint[r] += term
            flow = term * totals[r]
            left = k
            while left:
                low = left & -left
                v = _bit(low)
                slopes[v, without(r, v)] += flow
                left ^= low
            k = (k - rest) & rest


@kernel(inline=True)
def _bit(power: int) -> int:
    """The number of the only bit that is set."""
    bit = 0
    while power > 1:
        power >>= 1
        bit += 1
    return bit


@kernel(work=_pairs_of_sets)
def order_descendants(sums: Floats, source: int, found: Floats, cancel: Bytes) -> None:
    """Log sums over the orders of all columns by the set of descendants of one column: found[T].

    f(S, T) sums over the orders of S in which exactly T descend from the source (itself included). A column joins T if
    one of its parents is in T: a(v, S) - a(v, S - T); it stays outside with parents outside: a(v, S - T).
    """
    n = sums.shape[0]
    full = (1 << n) - 1
    width = 1 << n
    table = np.full((width, width), -np.inf)
    table[0, 0] = 0.0
    for s in range(full):
        if cancel[0]:
            return
        t = s
        while True:
            here = table[s, t]
            if here > -np.inf:
                for v in range(n):
                    if not s >> v & 1:
                        outside = sums[v, without(s & ~t, v)]
                        inside = log_subtract(sums[v, without(s, v)], outside)
                        if v == source:
                            outside, inside = -np.inf, sums[v, without(s, v)]
                        bit = 1 << v
                        table[s | bit, t] = log_add(table[s | bit, t], here + outside)
                        table[s | bit, t | bit] = log_add(table[s | bit, t | bit], here + inside)
            if t == 0:
                break
            t = (t - 1) & s
    found[:] = table[full]


def _fivefold(sums: Floats, *_: object) -> float:
    return float(5.0 ** len(sums))


@kernel(work=_fivefold)
def dag_descendants(sums: Floats, scale: Floats, source: int, found: Floats, cancel: Bytes) -> None:
    """Sums over the DAGs of all columns by the set of descendants of one column, relative to exp(scale): found[T].

    As `dag_sums`, with each sink that joins T having a parent in T, and each that does not having none there.
    """
    n = sums.shape[0]
    full = (1 << n) - 1
    width = 1 << n
    table = np.zeros((width, width))
    table[0, 0] = 1.0
    for s in range(full):
        if cancel[0]:
            return
        rest = full ^ s
        t = s
        while True:
            if table[s, t] != 0.0:
                _add_sinks(sums, scale, source, table, s, t, rest)
            if t == 0:
                break
            t = (t - 1) & s
    found[:] = table[full]


@kernel
def _add_sinks(sums: Floats, scale: Floats, source: int, table: Floats, s: int, t: int, rest: int) -> None:
    n = sums.shape[0]
    inside = np.empty(n)
    outside = np.empty(n)
    for v in range(n):
        if rest >> v & 1:
            outside[v] = sums[v, without(s & ~t, v)]
            inside[v] = log_subtract(sums[v, without(s, v)], outside[v])
            if v == source:
                outside[v], inside[v] = -np.inf, sums[v, without(s, v)]
    k = (0 - rest) & rest
    while k:
        base = scale[s] - scale[s | k]
        j = k
        while True:
            total = base
            sign = -1.0
            for v in range(n):
                if k >> v & 1:
                    sign = -sign
                    total += inside[v] if j >> v & 1 else outside[v]
            if total > -np.inf:
                table[s | k, t | j] += sign * table[s, t] * math.exp(total)
            if j == 0:
                break
            j = (j - 1) & k
        k = (k - rest) & rest
