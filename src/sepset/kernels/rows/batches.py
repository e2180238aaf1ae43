r"""Table programs over blocks of rows: every entry becomes a short vector with one lane per row of evidence.

A tensor that does not depend on findings is stored once and broadcast; all others have their lanes innermost, so that
the loops of a single run become loops over contiguous vectors. Offsets are unsigned: the compiler must check signed
indices for negative values, and then nothing vectorizes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sepset.base.logarithms import LN2
from sepset.kernels.compiled.modes import TIED
from sepset.kernels.compiled.tiles import advance
from sepset.kernels.kernel import kernel

# Columns of an instruction; offsets are into the workspace, lanes included.
DST, A, B, SIZE, TENSOR_D, TENSOR_A, TENSOR_B, FIRST, COUNT, LANES_A, LANES_B, GROWTH = range(12)
# Columns of a factor whose place in the store depends on findings, or whose marginal is counted.
HOME, LANES, GROUP, GROUPS, BASE, START, STOP = range(7)

LIMIT = 450.0
"""Entries stay within this many powers of two of one, so that the product of two is a normal number."""
RANGE = 400.0
NEARLY_ZERO = 2.0**-500
"""Products below this are scaled up by it, so that the next one is a normal number."""
LOG_OF_LIMIT = -500.0 * LN2


@kernel(reassociate=True, borrows=True)
def _products(
    w: Any, d: int, a: int, b: int, n: int, a1: int, b1: int, d1: int, lanes_a: int, lanes_b: int, lanes: int
) -> None:
    """Add the products of the innermost group, lane by lane."""
    to, left, right = np.uint64(d), np.uint64(a), np.uint64(b)
    to1, left1, right1 = np.uint64(d1), np.uint64(a1), np.uint64(b1)
    wide = np.uint64(lanes)
    for _ in range(n):
        if lanes_a == 0:
            s = w[left]
            for i in range(wide):
                w[to + i] += w[right + i] * s
        elif lanes_b == 0:
            s = w[right]
            for i in range(wide):
                w[to + i] += w[left + i] * s
        else:
            for i in range(wide):
                w[to + i] += w[left + i] * w[right + i]
        left += left1
        right += right1
        to += to1


@kernel(borrows=True)
def _largest(
    w: Any, d: int, a: int, b: int, n: int, a1: int, b1: int, d1: int, lanes_a: int, lanes_b: int, lanes: int
) -> None:
    """Keep the largest products of the innermost group, lane by lane."""
    to, left, right = np.uint64(d), np.uint64(a), np.uint64(b)
    to1, left1, right1 = np.uint64(d1), np.uint64(a1), np.uint64(b1)
    wide = np.uint64(lanes)
    for _ in range(n):
        if lanes_a == 0:
            s = w[left]
            for i in range(wide):
                w[to + i] = max(w[to + i], w[right + i] * s)
        elif lanes_b == 0:
            s = w[right]
            for i in range(wide):
                w[to + i] = max(w[to + i], w[left + i] * s)
        else:
            for i in range(wide):
                w[to + i] = max(w[to + i], w[left + i] * w[right + i])
        left += left1
        right += right1
        to += to1


@kernel(borrows=True)
def _contract(w: Any, op: Any, groups: Any, lanes: int, maximize: bool, counter: Any) -> None:
    """Run one instruction: its groups as nested loops, the last one and the lanes innermost."""
    d, a, b, first = op[DST], op[A], op[B], op[FIRST]
    for i in range(np.uint64(d), np.uint64(d + op[SIZE] * lanes)):
        w[i] = 0.0
    outer = op[COUNT] - 1
    last = first + outer
    n, a1, b1, d1 = groups[last, 0], groups[last, 1], groups[last, 2], groups[last, 3]
    for g in range(outer):
        counter[g] = 0
    while True:
        if maximize:
            _largest(w, d, a, b, n, a1, b1, d1, op[LANES_A], op[LANES_B], lanes)
        else:
            _products(w, d, a, b, n, a1, b1, d1, op[LANES_A], op[LANES_B], lanes)
        g, a, b, d = advance(groups, first, outer, counter, a, b, d)
        if g < 0:
            return


@kernel(borrows=True)
def vary(steps: Any, varies: Any) -> None:
    """Mark the results of steps `(result, one operand, the other)` that depend on findings, in their order."""
    for k in range(len(steps)):
        varies[steps[k, 0]] = varies[steps[k, 1]] or varies[steps[k, 2]]


@kernel(borrows=True)
def bounds(ops: Any, lows: Any, highs: Any, checks: Any) -> None:
    r"""Find which results must be rescaled, from bounds on the powers of two of all nonzero entries.

    Entries of a product are between the products of the smallest and of the largest entries, so bounds add; a result
    that may exceed the limit is checked, and is then near one.
    """
    for r in range(ops.shape[0]):
        d, a, b = ops[r, TENSOR_D], ops[r, TENSOR_A], ops[r, TENSOR_B]
        lows[d] = lows[a] + lows[b]
        highs[d] = highs[a] + highs[b] + np.log2(ops[r, GROWTH])
        checks[r] = 0
        if lows[d] < -LIMIT or highs[d] > LIMIT:
            checks[r] = 1
            lows[d], highs[d] = -RANGE, 1.0


@kernel(borrows=True)
def _rescale(w: Any, d: int, size: int, exponents: Any, flags: Any, high: Any, low: Any) -> None:
    """Scale each lane's largest entry near one; flag a lane whose range is too wide for products."""
    lanes = len(high)
    high[:] = 0.0
    low[:] = np.inf
    for e in range(size):
        at = np.uint64(d + e * lanes)
        for i in range(np.uint64(lanes)):
            value = w[at + i]
            high[i] = max(high[i], value)
            low[i] = min(low[i], value if value > 0.0 else np.inf)
    for i in range(lanes):
        if high[i] > 0.0:
            if low[i] < high[i] * 2.0**-RANGE:
                flags[i] = 1
            shift = int(np.floor(np.log2(high[i])))
            exponents[i] += shift
            high[i] = 2.0 ** (-shift)
    for e in range(size):
        at = np.uint64(d + e * lanes)
        for i in range(np.uint64(lanes)):
            w[at + i] *= high[i]


@kernel(borrows=True)
def _load_findings(w: Any, codes: Any, start: int, likelihoods: Any, found: Any) -> None:
    """Write the mask of each observed column: one at the observed state, or everywhere if the cell is missing."""
    last = codes.shape[1] - 1
    lanes = len(found)
    for r in range(likelihoods.shape[0]):
        column, offset = likelihoods[r, 0], likelihoods[r, 1]
        for i in range(lanes):
            found[i] = codes[column, min(start + i, last)]
        for state in range(likelihoods[r, 2]):
            at = np.uint64(offset + state * lanes)
            for i in range(np.uint64(lanes)):
                w[at + i] = 1.0 if found[i] < 0 or found[i] == state else 0.0


@kernel(borrows=True)
def _place(codes: Any, row: int, parts: Any, r: int, fixed: Any) -> Any:
    """The place in the store of a factor's part for a row's findings."""
    s = parts[r, BASE]
    for k in range(parts[r, START], parts[r, STOP]):
        s += codes[fixed[k, 0], row] * fixed[k, 1]
    return s


@kernel(borrows=True)
def _load_factors(
    w: Any, store: Any, codes: Any, start: int, parts: Any, groups: Any, fixed: Any, lanes: int, counter: Any
) -> None:
    """Copy each reduced factor from the store, every lane from its own place."""
    last = codes.shape[1] - 1
    for r in range(parts.shape[0]):
        first, outer = parts[r, GROUP], parts[r, GROUPS] - 1
        n, s1, d1 = groups[first + outer, 0], groups[first + outer, 1], groups[first + outer, 3]
        for i in range(lanes):
            s = _place(codes, min(start + i, last), parts, r, fixed)
            home, d = parts[r, HOME] + i, 0
            for g in range(outer):
                counter[g] = 0
            while True:
                for j in range(n):
                    w[home + (d + j * d1) * lanes] = store[s + j * s1]
                g, s, _, d = advance(groups, first, outer, counter, s, 0, d)
                if g < 0:
                    break


@kernel(borrows=True)
def _sum_lane(w: Any, offset: int, size: int, varies: int, lane: int, lanes: int) -> float:
    total = 0.0
    for e in range(size):
        total += w[offset + e * lanes + lane] if varies == 1 else w[offset + e]
    return total


@kernel(borrows=True)
def _log_partition(w: Any, roots: Any, exponents: Any, lane: int, lanes: int) -> float:
    total = 0.0
    for r in range(roots.shape[0]):
        mass = _sum_lane(w, roots[r, 0], roots[r, 1], roots[r, 2], lane, lanes)
        if mass == 0.0:
            return -np.inf
        total += np.log(mass) + exponents[roots[r, 3], lane] * LN2
    return total


@kernel(borrows=True)
def _read(w: Any, reads: Any, lane: int, lanes: int, out: Any) -> None:
    """Write a row's normalized marginals, concatenated."""
    for r in range(reads.shape[0]):
        offset, size, varies, start = reads[r, 0], reads[r, 1], reads[r, 2], reads[r, 3]
        total = _sum_lane(w, offset, size, varies, lane, lanes)
        for e in range(size):
            out[start + e] = (w[offset + e * lanes + lane] if varies == 1 else w[offset + e]) / total


@kernel(borrows=True)
def _part_size(groups: Any, first: int, count: int) -> int:
    size = 1
    for g in range(first, first + count):
        size *= groups[g, 0]
    return size


@kernel(reassociate=True, borrows=True)
def _add_lanes(w: Any, at: int, scale: Any) -> float:
    """The weighted sum of one entry over the rows of a block."""
    total = 0.0
    start = np.uint64(at)
    for i in range(np.uint64(len(scale))):
        total += scale[i] * w[start + i]
    return total


@kernel(borrows=True)
def _scales(w: Any, home: int, size: int, varies: int, weight: Any, scale: Any) -> None:
    """The scale of each row's entries of a tensor: its weight divided by their sum."""
    lanes = np.uint64(len(scale))
    if varies == 0:
        total = 0.0
        for e in range(size):
            total += w[home + e]
        for i in range(lanes):
            scale[i] = weight[i] / total if weight[i] > 0.0 else 0.0
        return
    scale[:] = 0.0
    for e in range(size):
        at = np.uint64(home + e * len(scale))
        for i in range(lanes):
            scale[i] += w[at + i]
    for i in range(lanes):
        scale[i] = weight[i] / scale[i] if weight[i] > 0.0 else 0.0


@kernel(borrows=True)
def _count_block(w: Any, parts: Any, groups: Any, weight: Any, scale: Any, counter: Any, totals: Any) -> None:
    """Add the factor marginals of a block's rows, for factors whose place does not depend on the row."""
    lanes = len(scale)
    for r in range(parts.shape[0]):
        if parts[r, STOP] > parts[r, START]:
            continue
        first, outer = parts[r, GROUP], parts[r, GROUPS] - 1
        n, s1, d1 = groups[first + outer, 0], groups[first + outer, 1], groups[first + outer, 3]
        home, varies = parts[r, HOME], parts[r, LANES]
        _scales(w, home, _part_size(groups, first, outer + 1), varies, weight, scale)
        whole = scale.sum()
        s, d = parts[r, BASE], 0
        for g in range(outer):
            counter[g] = 0
        while True:
            for j in range(n):
                if varies == 1:
                    totals[s + j * s1] += _add_lanes(w, home + (d + j * d1) * lanes, scale)
                else:
                    totals[s + j * s1] += whole * w[home + d + j * d1]
            g, s, _, d = advance(groups, first, outer, counter, s, 0, d)
            if g < 0:
                break


@kernel(borrows=True)
def _count(
    w: Any, codes: Any, row: int, weight: float, parts: Any, groups: Any, fixed: Any, lane: int, lanes: int,
    counter: Any, totals: Any,
) -> None:  # fmt: skip
    """Add a row's factor marginals, normalized and weighted, for factors whose place depends on its findings."""
    for r in range(parts.shape[0]):
        if parts[r, STOP] == parts[r, START]:
            continue
        first, outer = parts[r, GROUP], parts[r, GROUPS] - 1
        n, s1, d1 = groups[first + outer, 0], groups[first + outer, 1], groups[first + outer, 3]
        size = _part_size(groups, first, outer + 1)
        home, varies = parts[r, HOME], parts[r, LANES]
        scale = weight / _sum_lane(w, home, size, varies, lane, lanes)
        step, shift = (lanes, lane) if varies == 1 else (1, 0)
        s, d = _place(codes, row, parts, r, fixed), 0
        for g in range(outer):
            counter[g] = 0
        while True:
            for j in range(n):
                totals[s + j * s1] += scale * w[home + (d + j * d1) * step + shift]
            g, s, _, d = advance(groups, first, outer, counter, s, 0, d)
            if g < 0:
                break


@kernel(borrows=True)
def _sweep(
    w: Any, ops: Any, groups: Any, checks: Any, exponents: Any, maximize: bool, counter: Any, flags: Any, high: Any,
    low: Any, cancel: Any,
) -> None:  # fmt: skip
    """Run all instructions for one block, up to a cancellation; rows whose range is too wide for products are
    flagged."""
    lanes = len(flags)
    for r in range(ops.shape[0]):
        if cancel[0] != 0:
            return
        op = ops[r]
        d, a, b = op[TENSOR_D], op[TENSOR_A], op[TENSOR_B]
        for i in range(lanes):
            exponents[d, i] = exponents[a, i] + exponents[b, i]
        _contract(w, op, groups, lanes, maximize, counter)
        if checks[r] == 1:
            _rescale(w, op[DST], op[SIZE], exponents[d], flags, high, low)


@kernel
def run_rows(
    w: Any, ops: Any, groups: Any, checks: Any, exponents: Any, store: Any, codes: Any, likelihoods: Any, moving: Any,
    copies: Any, fixed: Any, roots: Any, reads: Any, counted: Any, weights: Any, log_partition: Any, out: Any,
    totals: Any, wide: Any, cancel: Any,
) -> None:  # fmt: skip
    """Answer rows block by block; rows that need log space are marked in `wide` and skipped.

    `codes` has one row for each observed column, so that the cells of a block are contiguous.
    """
    lanes = exponents.shape[1]
    counter = np.zeros(64, np.int64)
    flags, found = np.zeros(lanes, np.uint8), np.zeros(lanes, np.int64)
    high, low, weight = np.zeros(lanes), np.zeros(lanes), np.zeros(lanes)
    for start in range(0, codes.shape[1], lanes):
        flags[:] = 0
        _load_findings(w, codes, start, likelihoods, found)
        _load_factors(w, store, codes, start, moving, copies, fixed, lanes, counter)
        _sweep(w, ops, groups, checks, exponents, False, counter, flags, high, low, cancel)
        if cancel[0] != 0:
            return
        weight[:] = 0.0
        for i in range(min(lanes, codes.shape[1] - start)):
            row = start + i
            log_partition[row] = _log_partition(w, roots, exponents, i, lanes)
            if flags[i] == 1:
                wide[row] = 1
            elif log_partition[row] > -np.inf:
                weight[i] = weights[row]
                _read(w, reads, i, lanes, out[row])
                _count(w, codes, row, weights[row], counted, copies, fixed, i, lanes, counter, totals)
        _count_block(w, counted, copies, weight, high, counter, totals)


# Columns of a clique in back-substitution: the ranges of its residual variables, and of its tensors.
RESIDUAL, END_RESIDUAL, INBOX, END_INBOX = range(4)
# Columns of a clique's tensor: its start, whether it has lanes, and the range of its axes.
OFFSET, VARIES, AXIS, END_AXIS = range(4)


@kernel(borrows=True)
def _weight(w: Any, inbox: Any, first: int, end: int, axes: Any, codes: Any, lane: int, lanes: int) -> Any:
    """The product of a clique's tensors at some codes, as a number near one and a power of two; zero is zero."""
    value, power = 1.0, 0
    for t in range(first, end):
        place = 0
        for k in range(inbox[t, AXIS], inbox[t, END_AXIS]):
            place += codes[axes[k, 0]] * axes[k, 1]
        at = inbox[t, OFFSET] + (place * lanes + lane if inbox[t, VARIES] == 1 else place)
        value *= w[at]
        if value == 0.0:
            return 0.0, 0
        if value < NEARLY_ZERO:
            value *= 1.0 / NEARLY_ZERO
            power -= 1
        elif value > 1.0 / NEARLY_ZERO:
            value *= NEARLY_ZERO
            power += 1
    return value, power


@kernel(borrows=True)
def _is_larger(value: float, power: int, best: float, top: int) -> bool:
    """Whether one weight is larger than another by more than rounding, each a number and a power of the limit."""
    if value == 0.0 or best == 0.0:
        return value > best
    if power == top:
        return value * (1.0 - TIED) > best
    return bool(np.log(value) - power * LOG_OF_LIMIT > np.log(best) - top * LOG_OF_LIMIT + TIED)


@kernel(borrows=True)
def _read_back(
    w: Any, cliques: Any, residuals: Any, inbox: Any, axes: Any, cards: Any, lane: int, lanes: int, codes: Any,
    best: Any,
) -> None:  # fmt: skip
    """A code for every rank, cliques root first, each given the codes of its sepset; ties go to the first state of the
    variable eliminated last."""
    for c in range(cliques.shape[0]):
        first, end = cliques[c, RESIDUAL], cliques[c, END_RESIDUAL]
        for k in range(first, end):
            codes[residuals[k]] = 0
            best[residuals[k]] = 0
        top_value, top_power = -1.0, 0
        while True:
            value, power = _weight(w, inbox, cliques[c, INBOX], cliques[c, END_INBOX], axes, codes, lane, lanes)
            if top_value < 0.0 or _is_larger(value, power, top_value, top_power):
                top_value, top_power = value, power
                for k in range(first, end):
                    best[residuals[k]] = codes[residuals[k]]
            k = end - 1
            while k >= first:
                codes[residuals[k]] += 1
                if codes[residuals[k]] < cards[residuals[k]]:
                    break
                codes[residuals[k]] = 0
                k -= 1
            if k < first:
                break
        for k in range(first, end):
            codes[residuals[k]] = best[residuals[k]]


@kernel
def run_modes(
    w: Any, ops: Any, groups: Any, checks: Any, exponents: Any, codes: Any, likelihoods: Any, roots: Any, cliques: Any,
    residuals: Any, inbox: Any, axes: Any, cards: Any, log_value: Any, out: Any, wide: Any, cancel: Any,
) -> None:  # fmt: skip
    """The most probable codes by rank of each row, block by block, and the logarithm of their value.

    Rows that need log space are marked in `wide`; for these and for impossible ones no codes are written.

    Args:
        codes: one row for each observed column; findings are masks.
        cliques: root first, the ranges of each clique's residual variables and of its tensors.
        residuals: ranks, the one eliminated last first.
        inbox: the start of each tensor, whether it has lanes, and the range of its axes.
        axes: rank and stride.
    """
    lanes = exponents.shape[1]
    counter = np.zeros(64, np.int64)
    flags, found = np.zeros(lanes, np.uint8), np.zeros(lanes, np.int64)
    high, low, best = np.zeros(lanes), np.zeros(lanes), np.zeros(len(cards), np.int64)
    for start in range(0, codes.shape[1], lanes):
        flags[:] = 0
        _load_findings(w, codes, start, likelihoods, found)
        _sweep(w, ops, groups, checks, exponents, True, counter, flags, high, low, cancel)
        if cancel[0] != 0:
            return
        for i in range(min(lanes, codes.shape[1] - start)):
            row = start + i
            log_value[row] = _log_partition(w, roots, exponents, i, lanes)
            if flags[i] == 1:
                wide[row] = 1
            elif log_value[row] > -np.inf:
                _read_back(w, cliques, residuals, inbox, axes, cards, i, lanes, out[row], best)
