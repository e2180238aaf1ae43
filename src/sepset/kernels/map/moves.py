"""Energies of moves: every variable keeps one code or takes another."""

from __future__ import annotations

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel, sizes
from sepset.kernels.propagation.wires import TABLE, pair_value


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
