"""Walks over the factors of a wired model: breadth first, and spanning forests."""

from __future__ import annotations

from sepset.base.arraytypes import Bytes, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.propagation.wires import Wires


def _forest_work(wires: Wires, *_: object) -> float:
    return 20.0 * float(len(wires.scope) + len(wires.cards))


@kernel(borrows=True)
def root_of(parents: Ints, i: int) -> int:
    """The representative of a set of variables; paths to it are halved on the way."""
    while parents[i] != i:
        parents[i] = parents[parents[i]]
        i = parents[i]
    return i


@kernel(work=_forest_work, borrows=True)
def spanning_forest(wires: Wires, order: Ints, parents: Ints, stamps: Ints, left_out: Bytes) -> None:
    """Mark the factors that would close a cycle, taken in order.

    Args:
        parents: each variable itself at first, then the sets that factors have joined.
        stamps: -1 for each variable.
        left_out: zeros, one per factor; one where it closes a cycle.
    """
    for f in order:
        first, last, closes = wires.starts[f], wires.starts[f + 1], False
        for s in range(first, last):
            root = root_of(parents, wires.scope[s])
            closes = closes or stamps[root] == f
            stamps[root] = f
        if closes:
            left_out[f] = 1
            continue
        for s in range(first + 1, last):
            parents[root_of(parents, wires.scope[s])] = root_of(parents, wires.scope[first])


@kernel(work=_forest_work, borrows=True)
def traverse(wires: Wires, factors: Ints, seen: Bytes, found: Bytes, queue: Ints, order: Ints, up: Bytes) -> int:
    """List the factors breadth first from the first variable of each component; returns the number of components.

    Args:
        seen, found: zeros, one per variable and one per factor.
        order: room for the factors in order.
        up: zeros, one per slot; one where a factor was reached from this variable.
    """
    components, count = 0, 0
    for root in range(len(wires.cards)):
        if seen[root]:
            continue
        components += 1
        seen[root], queue[0] = 1, root
        head, tail = 0, 1
        while head < tail:
            i = queue[head]
            head += 1
            for place in range(wires.degrees[i], wires.degrees[i + 1]):
                s = wires.slots[place]
                f = factors[s]
                if found[f]:
                    continue
                found[f], up[s], order[count] = 1, 1, f
                count += 1
                for t in range(wires.starts[f], wires.starts[f + 1]):
                    j = wires.scope[t]
                    if not seen[j]:
                        seen[j], queue[tail] = 1, j
                        tail += 1
    return components
