r"""Max-product messages of factors over two variables, in time linear in the states for named kinds.

$$m(y) = \max_x \bigl[h(x) + \theta(x, y)\bigr]$$

Reference: Felzenszwalb & Huttenlocher (2006) for distance transforms; Koller & Friedman, exercise 13.17 and algorithm
13.6, whose listing leaves the first entry undefined.
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.kernels.kernel import kernel
from sepset.kernels.propagation.wires import LINEAR, POTTS, TABLE, Wires, pair_value


@kernel(borrows=True, reassociate=True)
def largest(h: Floats, at: int, size: int) -> float:
    """The largest of some numbers; -inf if there are none."""
    best = -np.inf
    for x in range(at, at + size):
        best = max(best, h[x])
    return best


@kernel(borrows=True)
def potts_maxima(h: Floats, size: int, weight: float, out: Floats, at: int) -> None:
    """The message of a weight for equal states."""
    top = largest(h, 0, size)
    if weight >= 0.0:
        for y in range(size):
            out[at + y] = max(h[y] + weight, top)
        return
    second, where = -np.inf, -1
    for x in range(size):
        if h[x] == top and where < 0:
            where = x
        else:
            second = max(second, h[x])
    for y in range(size):
        out[at + y] = max(h[y] + weight, second if y == where else top)


@kernel(borrows=True)
def linear_maxima(h: Floats, size: int, weight: float, limit: float, out: Floats, at: int) -> None:
    """The message of a cost proportional to the distance, up to a limit: one pass up, one down."""
    top = h[0]
    out[at] = h[0]
    for x in range(1, size):
        top = max(top, h[x])
        out[at + x] = max(h[x], out[at + x - 1] - weight)
    least = top - weight * limit if limit < np.inf else -np.inf
    out[at + size - 1] = max(out[at + size - 1], least)
    for x in range(size - 2, -1, -1):
        out[at + x] = max(out[at + x], out[at + x + 1] - weight, least)


@kernel(borrows=True)
def table_maxima(
    tables: Floats, place: int, h: Floats, size: int, other: int, first: bool, out: Floats, at: int
) -> None:
    """The message of a table, from its first variable or from its second."""
    for y in range(other):
        best = -np.inf
        for x in range(size):
            entry = tables[place + x * other + y] if first else tables[place + y * size + x]
            best = max(best, h[x] + entry)
        out[at + y] = best


@kernel(borrows=True)
def pair_maxima(wires: Wires, f: int, s: int, h: Floats, out: Floats, at: int) -> None:
    """The message of a factor from the variable of slot `s` to its other one, written from `at` on.

    Args:
        h: the log values of the states of the first variable.
    """
    kind, weight, limit = wires.kinds[f], wires.weights[f], wires.limits[f]
    t = 2 * wires.starts[f] + 1 - s
    size, other = wires.cards[wires.scope[s]], wires.cards[wires.scope[t]]
    if kind == TABLE:
        table_maxima(wires.tables, wires.places[f], h, size, other, s < t, out, at)
    elif kind == POTTS:
        potts_maxima(h, size, weight, out, at)
    elif kind == LINEAR and weight >= 0.0:
        linear_maxima(h, size, weight, limit, out, at)
    else:
        for y in range(other):
            best = -np.inf
            for x in range(size):
                best = max(best, h[x] + pair_value(kind, weight, limit, x, y))
            out[at + y] = best
