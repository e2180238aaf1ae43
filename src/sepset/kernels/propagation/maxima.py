r"""Max-product messages of factors over two variables, in time linear in the states for named kinds.

$$m(y) = \max_x \bigl[h(x) + \theta(x, y)\bigr]$$

Reference: Felzenszwalb & Huttenlocher (2006) for distance transforms; Koller & Friedman, exercise 13.17 and algorithm
13.6, whose listing leaves the first entry undefined.
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.kernels.kernel import kernel
from sepset.kernels.propagation.wires import POTTS, QUADRATIC, TABLE, Wires, pair_value


@kernel(borrows=True, reassociate=True)
def largest(h: Floats) -> float:
    """The largest of some numbers; -inf if there are none."""
    a = b = c = d = h.dtype.type(-np.inf)  # four at a time, none of which waits for another
    for k in range(len(h) // 4):
        x = 4 * k
        a = h[x] if h[x] > a else a
        b = h[x + 1] if h[x + 1] > b else b
        c = h[x + 2] if h[x + 2] > c else c
        d = h[x + 3] if h[x + 3] > d else d
    for x in range(len(h) - len(h) % 4, len(h)):
        a = h[x] if h[x] > a else a
    a, c = (a if a > b else b), (c if c > d else d)
    return a if a > c else c


@kernel(borrows=True)
def potts_maxima(h: Floats, start: int, size: int, weight: float, out: Floats, at: int) -> None:
    """The message of a weight for equal states, from those at `start` in `h`."""
    top = largest(h[start : start + size])
    if weight >= 0.0:
        for y in range(size):
            value = h[start + y] + weight
            out[at + y] = value if value > top else top
        return
    second, where = -np.inf, -1
    for x in range(size):
        if h[start + x] == top and where < 0:
            where = x
        else:
            second = max(second, h[start + x])
    for y in range(size):
        out[at + y] = max(h[start + y] + weight, second if y == where else top)


@kernel(borrows=True)
def linear_maxima(h: Floats, size: int, weight: float, out: Floats, at: int) -> None:
    """The message of a cost proportional to the distance: one pass up, one down."""
    out[at] = h[0]
    for x in range(1, size):
        out[at + x] = max(h[x], out[at + x - 1] - weight)
    for x in range(size - 2, -1, -1):
        out[at + x] = max(out[at + x], out[at + x + 1] - weight)


@kernel(borrows=True)
def overtakes(h: Floats, early: int, late: int, weight: float) -> int:
    """The first state at which the later of two parabolas is not below the earlier one."""
    place = 0.5 * ((h[early] - h[late]) / weight + float(late * late - early * early)) / float(late - early)
    return int(np.ceil(max(place, 0.0))) if place < 2.0**60 else 2**60


@kernel(borrows=True)
def quadratic_maxima(h: Floats, size: int, weight: float, out: Floats, at: int) -> None:
    """The message of a cost proportional to the square of the distance: the upper envelope of parabolas.

    Parabolas that are somewhere on top are stacked in `out`. The k-th begins at state k or later, so that the second
    loop, from the last state down, writes behind the entries that it still reads.
    """
    top = -1
    for x in range(size):
        while h[x] > -np.inf and top >= 0:
            last = int(out[at + top])
            begins = overtakes(h, int(out[at + top - 1]), last, weight) if top > 0 else 0
            if overtakes(h, last, x, weight) > begins:
                break
            top -= 1
        if h[x] > -np.inf:
            top += 1
            out[at + top] = float(x)
    for y in range(size - 1, -1, -1):
        while top > 0 and overtakes(h, int(out[at + top - 1]), int(out[at + top]), weight) > y:
            top -= 1
        x = int(out[at + top]) if top >= 0 else -1
        value = h[x] - weight * float((x - y) * (x - y)) if x >= 0 else -np.inf
        top -= 1 if top == y else 0
        out[at + y] = value


@kernel(borrows=True)
def distance_maxima(kind: int, h: Floats, size: int, weight: float, limit: float, out: Floats, at: int) -> None:
    """The message of a cost of the distance or its square, up to a limit; the weight is not negative."""
    if kind == QUADRATIC and weight > 0.0:
        quadratic_maxima(h, size, weight, out, at)
    else:
        linear_maxima(h, size, weight, out, at)
    if limit < np.inf:
        least = largest(h[:size]) - weight * limit
        for x in range(size):
            out[at + x] = max(out[at + x], least)


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
        potts_maxima(h, 0, size, weight, out, at)
    elif weight >= 0.0:
        distance_maxima(kind, h, size, weight, limit, out, at)
    else:
        for y in range(other):
            best = -np.inf
            for x in range(size):
                best = max(best, h[x] + pair_value(kind, weight, limit, x, y))
            out[at + y] = best
