r"""The instructions of table programs over a workspace of logarithms, for values that no common scale can represent.

$$\log d(\mathbf u) = m(\mathbf u) + \log \sum_{\mathbf v} e^{\log a + \log b - m(\mathbf u)}, \qquad
m(\mathbf u) = \max_{\mathbf v} (\log a + \log b)$$

Every instruction runs as loops, twice: for the maxima, and for the sums relative to them. Zero is minus infinity.
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.compiled.contraction import products
from sepset.kernels.compiled.instructions import COUNT, DST, FIRST, SIZE, A, B
from sepset.kernels.compiled.tiles import advance
from sepset.kernels.kernel import kernel, sizes


@kernel(borrows=True)
def _fold(w: Floats, sums: Floats, op: Ints, groups: Ints, add: bool, counter: Ints, cancel: Bytes) -> None:
    """Keep the largest $\\log a + \\log b$ of each result in `w`; or sum the terms relative to it, in `sums`."""
    a, b, d, base = op[A], op[B], op[DST], op[DST]
    first, outer = op[FIRST], op[COUNT] - 1
    last = first + outer
    n, sa, sb, sd = groups[last, 0], groups[last, 1], groups[last, 2], groups[last, 3]
    for g in range(outer):
        counter[g] = 0
    while True:
        for i in range(n):
            value = w[a + i * sa] + w[b + i * sb]
            if add:
                if value > -np.inf:
                    sums[d - base + i * sd] += np.exp(value - w[d + i * sd])
            elif value > w[d + i * sd]:
                w[d + i * sd] = value
        g, a, b, d = advance(groups, first, outer, counter, a, b, d)
        if g < 0 or cancel[0] != 0:
            return


@kernel(work=lambda w, ops, groups, *_: 20 * len(ops) + 4 * products(ops, groups))
def execute_log(w: Floats, ops: Ints, groups: Ints, maximize: bool, cancel: Bytes) -> None:
    """Run the instructions in order, until `cancel` is set.

    Guarantee: exact; any range.
    Tested by: kernels/compiled/test_logspace.py::test_totals_and_marginals
    """
    counter = np.zeros(64, np.int64)
    widest = 1
    for r in range(ops.shape[0]):
        work = 1
        for g in range(ops[r, FIRST], ops[r, FIRST] + ops[r, COUNT]):
            work *= groups[g, 0]
        if work != ops[r, SIZE] and not maximize:
            widest = max(widest, ops[r, SIZE])
    sums = np.empty(widest)
    for r in range(ops.shape[0]):
        if cancel[0] != 0:
            return
        op = ops[r]
        d, size = op[DST], op[SIZE]
        w[d : d + size] = -np.inf
        _fold(w, sums, op, groups, False, counter, cancel)
        work = 1
        for g in range(op[FIRST], op[FIRST] + op[COUNT]):
            work *= groups[g, 0]
        if maximize or work == size:
            continue
        sums[:size] = 0.0
        _fold(w, sums, op, groups, True, counter, cancel)
        for i in range(size):
            w[d + i] += np.log(sums[i]) if sums[i] > 0.0 else 0.0


@kernel(work=sizes)
def normalize_log(w: Floats, places: Ints, starts: Ints) -> tuple[Floats, Floats]:
    """Concatenated distributions, part i from the logarithms at `places[i]`, and the logarithm of each part's total."""
    values, totals = np.empty(starts[-1]), np.empty(len(places))
    for i in range(len(places)):
        shift = places[i] - starts[i]
        top, total = -np.inf, 0.0
        for k in range(starts[i], starts[i + 1]):
            top = max(top, w[shift + k])
        for k in range(starts[i], starts[i + 1]):
            values[k] = np.exp(w[shift + k] - top) if top > -np.inf else 0.0
            total += values[k]
        for k in range(starts[i], starts[i + 1]):
            values[k] /= total if total > 0.0 else 1.0
        totals[i] = top + np.log(total) if total > 0.0 else -np.inf
    return values, totals
