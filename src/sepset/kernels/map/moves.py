"""Energies of moves: every variable keeps one code or takes another."""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Int32s, Ints
from sepset.kernels.kernel import kernel, sizes
from sepset.kernels.propagation.wires import TABLE, pair_value

OPEN, FRUSTRATED = -1, -2
"""Marks of a move with impossible cells, and of one that is not submodular."""


@kernel(work=sizes, borrows=True)
def move_cells(
    scope: Ints, cards: Ints, kinds: Bytes, places: Ints, tables: Floats, weights: Floats, limits: Floats, keep: Ints,
    take: Ints, out: Floats,
) -> None:  # fmt: skip
    """The energies of each factor of two variables, `[4, m]`: both keep, the second takes, the first takes, both."""
    for f in range(len(kinds)):
        i, j = scope[2 * f], scope[2 * f + 1]
        for cell in range(4):
            x = take[i] if cell >= 2 else keep[i]
            y = take[j] if cell % 2 else keep[j]
            if kinds[f] == TABLE:
                out[cell, f] = -tables[places[f] + x * cards[j] + y]
            else:
                out[cell, f] = -pair_value(kinds[f], weights[f], limits[f], x, y)


@kernel(work=sizes, borrows=True)
def move_arcs(
    scope: Ints, cards: Ints, kinds: Bytes, places: Ints, tables: Floats, weights: Floats, limits: Floats, keep: Ints,
    take: Ints, nodes: Int32s, rounding: float, unary: Floats, edges: Int32s, arcs: Floats, factors: Ints,
    cells: Floats,
) -> int:  # fmt: skip
    """Add the energies of a submodular move in pairs to those of single variables and to arcs between them.

    Variables that are offered their own code have no node. Returns the number of edges, or one of the marks.

    Args:
        nodes: the node of each variable; -1 for those that keep their code.
        rounding: the violation of submodularity, relative to the numbers, that is taken for rounding.
        unary: `[2, nodes]`, the energies of keeping and of taking, to which is added.
        edges, arcs: `[m, 2]`, room for the nodes of each edge, and its capacities forth and back.
        factors: room for the factor of each edge.
        cells: room for the four energies of a factor.
    """
    count = 0
    for f in range(len(kinds)):
        i, j = scope[2 * f], scope[2 * f + 1]
        a, b = nodes[i], nodes[j]
        if a < 0 and b < 0:
            continue
        largest = 0.0
        for cell in range(4):
            x = take[i] if cell >= 2 else keep[i]
            y = take[j] if cell % 2 else keep[j]
            if kinds[f] == TABLE:
                cells[cell] = -tables[places[f] + x * cards[j] + y]
            else:
                cells[cell] = -pair_value(kinds[f], weights[f], limits[f], x, y)
            largest = max(largest, abs(cells[cell]))
        if largest == np.inf:
            return OPEN
        if b < 0 or a < 0:
            node, taken = (b, cells[1]) if a < 0 else (a, cells[2])
            unary[0, node] += cells[0]
            unary[1, node] += taken
            continue
        cost = cells[1] + cells[2] - cells[0] - cells[3]
        if cost < -rounding * largest:
            return FRUSTRATED
        cost = max(cost, 0.0)
        forth = min(max(cells[1] - cells[0], 0.0), cost)
        unary[1, a] += cells[2] - cells[0] - (cost - forth)
        unary[1, b] += cells[1] - cells[0] - forth
        if cost > 0.0:
            edges[count, 0], edges[count, 1] = a, b
            arcs[count, 0], arcs[count, 1] = forth, cost - forth
            factors[count] = f
            count += 1
    return count
