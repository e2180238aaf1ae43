"""Trees of items: growing by counts of bits, probabilities of many users, and log-odds by Markov blankets."""

from __future__ import annotations

import math

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints, UInt64s
from sepset.kernels.kernel import kernel
from sepset.kernels.structure.familyscores import num_bits

SMALLEST_GAIN = 1e-9
"""Gains below are rounding errors."""


def _growing(bits: UInt64s, item: int, candidates: Ints, *rest: object) -> float:
    return float(20 * (len(candidates) + 1) * bits.shape[1])


@kernel(work=_growing)
def grow(
    bits: UInt64s, item: int, candidates: Ints, logs: Floats, log_leaf: float, masks: UInt64s, nodes: Ints,
    counts: Ints, cancel: Bytes,
) -> int:  # fmt: skip
    """Grow the tree of an item, level by level, while a split gains and there is room; the number of nodes.

    `masks[0]` holds all users, `nodes` -1. `logs[0, m]` is the log evidence of m users in one cell, `logs[1, m]` is
    subtracted for m users in a leaf. Ties go to the first candidate.
    """
    own, words = bits[item], bits.shape[1]
    total, with_item = np.int64(0), np.int64(0)
    for w in range(words):
        total += np.int64(num_bits(masks[0, w]))
        with_item += np.int64(num_bits(masks[0, w] & own[w]))
    counts[0, 0], counts[0, 1] = total - with_item, with_item
    size, node = 1, 0
    while node < size and size + 2 <= len(nodes) and not cancel[0]:
        n0, n1 = counts[node, 0], counts[node, 1]
        before = logs[0, n0] + logs[0, n1] - logs[1, n0 + n1]
        best, gain, best0, best1 = -1, SMALLEST_GAIN, np.int64(0), np.int64(0)
        if n0 > 0 and n1 > 0:
            for k in range(len(candidates)):
                other = bits[candidates[k]]
                m, m1 = np.int64(0), np.int64(0)
                for w in range(words):
                    met = masks[node, w] & other[w]
                    m += np.int64(num_bits(met))
                    m1 += np.int64(num_bits(met & own[w]))
                if m == 0 or m == n0 + n1:
                    continue
                m0 = m - m1
                after = logs[0, m0] + logs[0, m1] - logs[1, m] + logs[0, n0 - m0] + logs[0, n1 - m1]
                after -= logs[1, n0 + n1 - m]
                if after + log_leaf - before > gain:
                    best, gain, best0, best1 = k, after + log_leaf - before, m0, m1
        if best >= 0:
            other = bits[candidates[best]]
            nodes[node, 0], nodes[node, 1], nodes[node, 2] = candidates[best], size, size + 1
            for w in range(words):
                masks[size, w] = masks[node, w] & ~other[w]
                masks[size + 1, w] = masks[node, w] & other[w]
            counts[size, 0], counts[size, 1] = n0 - best0, n1 - best1
            counts[size + 1, 0], counts[size + 1, 1] = best0, best1
            size += 2
        node += 1
    return size


def _scoring(rows: Bytes, *rest: object) -> float:
    return 6.0 * rows.size


@kernel(work=_scoring)
def probabilities(
    rows: Bytes, roots: Ints, tested: Ints, starts: Ints, branches: Ints, values: Floats, out: Floats
) -> None:
    """The probability of each item given the others, for every row."""
    for u in range(rows.shape[0]):
        for item in range(rows.shape[1]):
            node = roots[item]
            while tested[node] >= 0:
                node = branches[starts[node] + int(rows[u, tested[node]])]
            out[u, item] = values[starts[node] + 1]


@kernel(work=_scoring)
def log_odds(rows: Bytes, roots: Ints, tested: Ints, starts: Ints, branches: Ints, values: Floats, out: Floats) -> None:
    """The log-odds of each absent item given all others in a Bayesian network, for every row; `out` holds zeros.

    The CPD of an item adds to its own log-odds, and to those of the items that it tests: only these can lead elsewhere.
    """
    for u in range(rows.shape[0]):
        for item in range(rows.shape[1]):
            x = rows[u, item]
            node = roots[item]
            while tested[node] >= 0:
                node = branches[starts[node] + int(rows[u, tested[node]])]
            out[u, item] += math.log(values[starts[node] + 1]) - math.log(values[starts[node]])
            now = math.log(values[starts[node] + x])
            passed = roots[item]
            while tested[passed] >= 0:
                flipped = tested[passed]
                if rows[u, flipped] == 0:
                    leaf = branches[starts[passed] + 1]
                    while tested[leaf] >= 0:
                        code = np.uint8(1) if tested[leaf] == flipped else rows[u, tested[leaf]]
                        leaf = branches[starts[leaf] + code]
                    out[u, flipped] += math.log(values[starts[leaf] + x]) - now
                passed = branches[starts[passed] + int(rows[u, flipped])]
