r"""Depth-first branch and bound along an order, with bounds of partial assignments from tables.

The bound of a partial assignment changes by the functions of the bucket of the next variable,

$$f(\mathbf x_{\le d}) = f(\mathbf x_{<d}) - \sum_{m \text{ sent by } d} m(\mathbf x_{<d})
+ \sum_{g \text{ in bucket } d} g(\mathbf x_{\le d}),$$

and at a full assignment it is the log value.

Reference: Kask & Dechter (2001), A general scheme for automatic generation of search heuristics.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Ints
from sepset.kernels.kernel import kernel

SLACK = 1e-10
"""A branch must be better by this part of the value, or by this much if the value is small: less is rounding."""


class Buckets(NamedTuple):
    """The functions of the bucket of each variable, in the order of the search.

    Attributes:
        cards: the number of states of each variable.
        states: where the values of each variable start among all.
        starts: where the functions of each bucket start.
        terms: where the earlier variables of each function start.
        depths, steps: the earlier variables of each function, and their steps in its table.
        own: the step of the bucket's variable in the table of each function.
        signs: one, or minus one for messages that the bucket sends.
        places: where the table of each function starts.
        tables: log values.
    """

    cards: Ints
    states: Ints
    starts: Ints
    terms: Ints
    depths: Ints
    steps: Ints
    own: Ints
    signs: Floats
    places: Ints
    tables: Floats


@kernel(borrows=True)
def branch_values(buckets: Buckets, d: int, codes: Ints, before: float, values: Floats) -> None:
    """The bounds at each state of variable `d`, from the bound of the assignment of the earlier ones."""
    first, last = buckets.states[d], buckets.states[d + 1]
    for place in range(first, last):
        values[place] = before
    for g in range(buckets.starts[d], buckets.starts[d + 1]):
        at = buckets.places[g]
        for t in range(buckets.terms[g], buckets.terms[g + 1]):
            at += buckets.steps[t] * codes[buckets.depths[t]]
        for place in range(first, last):
            values[place] += buckets.signs[g] * buckets.tables[at + (place - first) * buckets.own[g]]


@kernel(borrows=True)
def record(value: float, codes: Ints, values: Floats, found: Ints) -> None:
    """Put an assignment among the best ones, in the place of the last one.

    Args:
        values: the values of the best ones, in decreasing order.
        found: their codes, one row after the other.
    """
    k, n = len(values) - 1, len(codes)
    while k > 0 and values[k - 1] < value:
        values[k] = values[k - 1]
        for i in range(n):
            found[k * n + i] = found[(k - 1) * n + i]
        k -= 1
    values[k] = value
    for i in range(n):
        found[k * n + i] = codes[i]


@kernel(borrows=True)
def level(value: float) -> float:
    """The bound that a branch must exceed if this value is known."""
    if value == -np.inf:
        return value
    return value + SLACK * max(1.0, abs(value))


def _search_work(buckets: Buckets, nodes: int, *_: object) -> float:
    return nodes * 4.0 * (1.0 + len(buckets.depths) + float(buckets.states[-1])) / max(1, len(buckets.cards))


@kernel(work=_search_work, borrows=True)
def branch_and_bound(
    buckets: Buckets, nodes: int, codes: Ints, open_values: Floats, best: Floats, found: Ints, depth: int, cancel: Bytes
) -> int:
    """Search on from a depth for some more nodes; returns the depth, -1 at the end.

    Args:
        codes: the present assignment, up to the depth.
        open_values: the bounds of the states of each variable, -inf where they were taken.
        best, found: the best assignments, as in `record`.
    """
    n = len(codes)
    for node in range(nodes):
        if depth < 0 or (node % 256 == 0 and cancel[0]):
            break
        least, chosen = level(best[len(best) - 1]), -1
        for place in range(buckets.states[depth], buckets.states[depth + 1]):
            if open_values[place] > least:
                least, chosen = open_values[place], place
        if chosen < 0:
            for place in range(buckets.states[depth], buckets.states[depth + 1]):
                open_values[place] = -np.inf
            depth -= 1
            continue
        open_values[chosen] = -np.inf
        codes[depth] = chosen - buckets.states[depth]
        if depth == n - 1:
            record(least, codes, best, found)
        else:
            depth += 1
            branch_values(buckets, depth, codes, least, open_values)
    return depth
