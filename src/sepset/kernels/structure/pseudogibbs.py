"""Sweeps of a pseudo-Gibbs sampler over CPDs that are decision trees in flat arrays.

A node with `tested[node] >= 0` tests that variable, and `branches[starts[node] + code]` is the next node; at a leaf the
probabilities of the child are `values[starts[node]:]`.
"""

from __future__ import annotations

from typing import Any

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel


def _work(codes: Ints, free: Ints, *rest: Any) -> float:
    return float(12 * rest[6].size)  # the uniform numbers


@kernel(work=_work)
def sweep(
    codes: Ints, free: Ints, cards: Ints, roots: Ints, tested: Ints, starts: Ints, branches: Ints, values: Floats,
    uniforms: Floats, offsets: Ints, sums: Floats, targets: Ints, joint: Ints, cancel: Bytes,
) -> None:  # fmt: skip
    """Draw the free variables in order, once for each row of uniform numbers.

    `sums` adds up the distributions that variables are drawn from, each at its offset, and `joint` records the joint
    state of the targets after each sweep.
    """
    for t in range(len(uniforms)):
        if cancel[0]:
            break
        for k in range(len(free)):
            v = free[k]
            node = roots[v]
            while tested[node] >= 0:
                node = branches[starts[node] + codes[tested[node]]]
            first, card, u = starts[node], cards[v], uniforms[t, k]
            x, total = 0, values[first]
            while u >= total and x < card - 1:
                x += 1
                total += values[first + x]
            while x > 0 and values[first + x] == 0.0:
                x -= 1
            codes[v] = x
            for y in range(card):
                sums[offsets[v] + y] += values[first + y]
        place = 0
        for k in range(len(targets)):
            place = place * cards[targets[k]] + codes[targets[k]]
        joint[t] = place
