r"""How much numbers depend on the noise of their ancestors: slopes multiplied along all paths, children first.

Coordinates are in an order in which parents come first. Coordinate $i$ has the parents
`above[start[i] : start[i + 1]]`, with a slope for each.
"""

from __future__ import annotations

from typing import Any

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.kernels.kernel import kernel


def _passes(*args: Any) -> float:
    """One step for each parent and target."""
    return float(args[1].size * max(1, args[4].shape[1]))


@kernel(work=_passes)
def carry_back(
    start: Ints, above: Ints, slopes: Floats, is_hidden: Bools, weights: Floats, sizes: Floats, steps: Ints
) -> None:
    """Add to the weights of parents those of their children times the slope.

    Args:
        weights, sizes: one row per coordinate and one column per target, one at the target itself; `sizes` sums
            absolute values.
        steps: for each coordinate how many operations round its weights at most.
    """
    for i in range(len(start) - 2, -1, -1):
        if not is_hidden[i]:
            continue
        for edge in range(start[i], start[i + 1]):
            j = above[edge]
            steps[j] = max(steps[j], steps[i]) + 2
            for target in range(weights.shape[1]):
                weights[j, target] += slopes[edge] * weights[i, target]
                sizes[j, target] += abs(slopes[edge]) * sizes[i, target]


def _arcs(*args: Any) -> float:
    """One step for each parent."""
    return float(args[1].size)


@kernel(work=_arcs)
def carry_forward(start: Ints, above: Ints, slopes: Floats, is_hidden: Bools, sizes: Floats) -> None:
    """Add to the sizes of hidden coordinates those of their parents times the slope, parents first."""
    for i in range(len(start) - 1):
        if is_hidden[i]:
            for edge in range(start[i], start[i + 1]):
                sizes[i] += slopes[edge] * sizes[above[edge]]
