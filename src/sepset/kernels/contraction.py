r"""Binary contractions over one flat workspace: the only numeric operation that exact table programs need.

$$d(\mathbf u) = \bigoplus_{\mathbf v} a(\mathbf u, \mathbf v)\, b(\mathbf u, \mathbf v)$$

An instruction is a row of integers. Its axes are merged into groups with one stride per operand and run as nested
loops, the last two innermost; a large sum runs as a batch of matrix products after packing its operands. Results are
rescaled by powers of two, so that only exponents grow; a table whose range is too wide for that raises a flag.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sepset.kernels.compile import kernel

# Columns of an instruction. Offsets are into the workspace; first and count select rows of the group table.
KIND, DST, A, B, SIZE, TENSOR_D, TENSOR_A, TENSOR_B, FIRST, COUNT = range(10)
# Columns that only matrix products use: sizes, packing groups of a and b, unpacking groups of the result.
BATCH, M, N, K, PACK_A, COUNT_A, PACK_B, COUNT_B, UNPACK, COUNT_D, SCRATCH, TRANSPOSED = range(10, 22)
WIDTH = 22

LOOPS, MATRIX = 0, 1
SIZE_OF, STRIDE_A, STRIDE_B, STRIDE_D = 0, 1, 2, 3

# The largest entry stays within these limits, and a range beyond the last is flagged: so no entry is below 2**-510, and
# no product of two below the least normal number.
LOW, HIGH = 2.0**-60, 2.0**60
RANGE = 2.0**-450


@kernel(reassociate=True)
def _sum_block(
    w: Any, d: int, a: int, b: int, n2: int, a2: int, b2: int, d2: int, n1: int, a1: int, b1: int, d1: int
) -> None:
    """Add the products of two innermost groups; the common stride patterns are written so that they vectorize."""
    for _ in range(n2):
        if d1 == 1:
            if a1 == 1 and b1 == 1:
                for i in range(n1):
                    w[d + i] += w[a + i] * w[b + i]
            elif a1 == 1 and b1 == 0:
                s = w[b]
                for i in range(n1):
                    w[d + i] += w[a + i] * s
            elif a1 == 0 and b1 == 1:
                s = w[a]
                for i in range(n1):
                    w[d + i] += w[b + i] * s
            else:
                for i in range(n1):
                    w[d + i] += w[a + i * a1] * w[b + i * b1]
        elif d1 == 0:
            total = 0.0
            if a1 == 1 and b1 == 1:
                for i in range(n1):
                    total += w[a + i] * w[b + i]
            elif a1 == 1 and b1 == 0:
                for i in range(n1):
                    total += w[a + i]
                total *= w[b]
            elif a1 == 0 and b1 == 1:
                for i in range(n1):
                    total += w[b + i]
                total *= w[a]
            else:
                for i in range(n1):
                    total += w[a + i * a1] * w[b + i * b1]
            w[d] += total
        else:
            for i in range(n1):
                w[d + i * d1] += w[a + i * a1] * w[b + i * b1]
        d += d2
        a += a2
        b += b2


@kernel
def _max_block(
    w: Any, d: int, a: int, b: int, n2: int, a2: int, b2: int, d2: int, n1: int, a1: int, b1: int, d1: int
) -> None:
    """Keep the largest products of two innermost groups."""
    for _ in range(n2):
        for i in range(n1):
            value = w[a + i * a1] * w[b + i * b1]
            if value > w[d + i * d1]:
                w[d + i * d1] = value
        d += d2
        a += a2
        b += b2


@kernel
def _copy_block(w: Any, d: int, a: int, n2: int, a2: int, d2: int, n1: int, a1: int, d1: int) -> None:
    for _ in range(n2):
        for i in range(n1):
            w[d + i * d1] = w[a + i * a1]
        d += d2
        a += a2


@kernel
def _loops(w: Any, d: int, a: int, b: int, groups: Any, first: int, count: int, mode: int, counter: Any) -> None:
    """Run groups `first` to `first + count` as nested loops; `mode` is 0 to sum, 1 to maximize, 2 to copy a to d."""
    last = first + count - 1
    n1, a1, b1, d1 = groups[last, 0], groups[last, 1], groups[last, 2], groups[last, 3]
    n2, a2, b2, d2 = groups[last - 1, 0], groups[last - 1, 1], groups[last - 1, 2], groups[last - 1, 3]
    outer = count - 2
    for g in range(outer):
        counter[g] = 0
    while True:
        if mode == 0:
            _sum_block(w, d, a, b, n2, a2, b2, d2, n1, a1, b1, d1)
        elif mode == 1:
            _max_block(w, d, a, b, n2, a2, b2, d2, n1, a1, b1, d1)
        else:
            _copy_block(w, d, a, n2, a2, d2, n1, a1, d1)
        g = outer - 1
        while g >= 0:
            row = first + g
            counter[g] += 1
            a += groups[row, 1]
            b += groups[row, 2]
            d += groups[row, 3]
            if counter[g] < groups[row, 0]:
                break
            counter[g] = 0
            a -= groups[row, 0] * groups[row, 1]
            b -= groups[row, 0] * groups[row, 2]
            d -= groups[row, 0] * groups[row, 3]
            g -= 1
        if g < 0:
            return


@kernel
def _matrix(w: Any, op: Any, groups: Any, counter: Any) -> None:
    """A batch of matrix products; operands are packed to (batch, m, k) and (batch, k, n) where they are not so, nor
    with the last two transposed (bit 1 says that a is, bit 2 that b is)."""
    batch, m, n, k = op[BATCH], op[M], op[N], op[K]
    a, b, d = op[A], op[B], op[DST]
    scratch = op[SCRATCH]
    if op[COUNT_A] > 0:
        _loops(w, scratch, a, 0, groups, op[PACK_A], op[COUNT_A], 2, counter)
        a = scratch
        scratch += batch * m * k
    if op[COUNT_B] > 0:
        _loops(w, scratch, b, 0, groups, op[PACK_B], op[COUNT_B], 2, counter)
        b = scratch
        scratch += batch * k * n
    out = scratch if op[COUNT_D] > 0 else d
    for i in range(batch):
        left = w[a + i * m * k : a + (i + 1) * m * k]
        right = w[b + i * k * n : b + (i + 1) * k * n]
        result = w[out + i * m * n : out + (i + 1) * m * n].reshape(m, n)
        if op[TRANSPOSED] == 0:
            np.dot(left.reshape(m, k), right.reshape(k, n), result)
        elif op[TRANSPOSED] == 1:
            np.dot(left.reshape(k, m).T, right.reshape(k, n), result)
        elif op[TRANSPOSED] == 2:
            np.dot(left.reshape(m, k), right.reshape(n, k).T, result)
        else:
            np.dot(left.reshape(k, m).T, right.reshape(n, k).T, result)
    if op[COUNT_D] > 0:
        _loops(w, d, out, 0, groups, op[UNPACK], op[COUNT_D], 2, counter)


@kernel
def _rescale(w: Any, d: int, size: int, exponents: Any, tensor: int, flags: Any) -> None:
    """Bring the largest entry near one where it has drifted; flag a range that products could not survive."""
    high = 0.0
    low = np.inf
    for i in range(d, d + size):
        value = w[i]
        high = max(high, value)
        low = min(low, value if value > 0.0 else np.inf)
    if high == 0.0:
        return
    if low < high * RANGE:
        flags[0] = 1
    if high < LOW or high > HIGH:
        shift = int(np.floor(np.log2(high)))
        scale = 2.0 ** (-shift)
        for i in range(d, d + size):
            w[i] *= scale
        exponents[tensor] += shift


@kernel
def gather(w: Any, store: Any, rows: Any, groups: Any, offsets: Any) -> None:
    """Copy reduced factors from the store to the workspace; the groups of `rows` carry strides into the store."""
    counter = np.zeros(64, np.int64)
    for r in range(rows.shape[0]):
        d, first, count = rows[r, 0], rows[r, 1], rows[r, 2]
        s = offsets[r]
        last = first + count - 1
        outer = count - 1
        n, sa, sd = groups[last, 0], groups[last, 1], groups[last, 3]
        for g in range(outer):
            counter[g] = 0
        while True:
            for i in range(n):
                w[d + i * sd] = store[s + i * sa]
            g = outer - 1
            while g >= 0:
                row = first + g
                counter[g] += 1
                s += groups[row, 1]
                d += groups[row, 3]
                if counter[g] < groups[row, 0]:
                    break
                counter[g] = 0
                s -= groups[row, 0] * groups[row, 1]
                d -= groups[row, 0] * groups[row, 3]
                g -= 1
            if g < 0:
                break


@kernel
def execute(w: Any, ops: Any, groups: Any, exponents: Any, flags: Any, maximize: bool, cancel: Any) -> None:
    """Run the instructions in order; `flags[0]` is raised where a range leaves what linear numbers can carry."""
    counter = np.zeros(64, np.int64)
    for r in range(ops.shape[0]):
        if cancel[0] != 0:
            flags[1] = 1
            return
        op = ops[r]
        d, size = op[DST], op[SIZE]
        exponents[op[TENSOR_D]] = exponents[op[TENSOR_A]] + exponents[op[TENSOR_B]]
        if op[KIND] == MATRIX and not maximize:
            _matrix(w, op, groups, counter)
        else:
            for i in range(d, d + size):
                w[i] = 0.0
            _loops(w, d, op[A], op[B], groups, op[FIRST], op[COUNT], 1 if maximize else 0, counter)
        _rescale(w, d, size, exponents, op[TENSOR_D], flags)


@kernel
def run(
    w: Any,
    store: Any,
    which: Any,
    rows: Any,
    copies: Any,
    base: Any,
    fixed_start: Any,
    columns: Any,
    strides: Any,
    codes: Any,
    ops: Any,
    groups: Any,
    exponents: Any,
    flags: Any,
    maximize: bool,
    cancel: Any,
) -> None:
    """Copy the factors `which` from the store, each at the place that the findings' codes decide, and execute."""
    chosen = np.empty((len(which), 3), np.int64)
    offsets = np.empty(len(which), np.int64)
    for i in range(len(which)):
        f = which[i]
        offsets[i] = base[f]
        for k in range(fixed_start[f], fixed_start[f + 1]):
            offsets[i] += strides[k] * codes[columns[k]]
        for c in range(3):
            chosen[i, c] = rows[f, c]
    gather(w, store, chosen, copies, offsets)
    execute(w, ops, groups, exponents, flags, maximize, cancel)


@kernel
def read_normalized(w: Any, places: Any, starts: Any) -> Any:
    """Distributions end to end: part i is copied from `places[i]`, and sums to one where it has any mass."""
    values = np.empty(starts[-1])
    for i in range(len(places)):
        first, end = starts[i], starts[i + 1]
        total = 0.0
        for k in range(first, end):
            values[k] = w[places[i] + k - first]
            total += values[k]
        if total > 0.0:
            for k in range(first, end):
                values[k] /= total
    return values


@kernel
def log_total(w: Any, places: Any, sizes: Any, exponents: Any) -> float:
    """The logarithm of the product of the sums of several tables, each times two to its exponent."""
    total = 0.0
    for i in range(len(places)):
        mass = 0.0
        for k in range(places[i], places[i] + sizes[i]):
            mass += w[k]
        total += np.log(mass) + exponents[i] * np.log(2.0)
    return total
