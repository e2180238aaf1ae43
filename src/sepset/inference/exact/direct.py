r"""One question about a few small tables, by elimination with NumPy: no plan, no program, no compiled code.

$$\tau = \sum_x \prod_{i : x \in \phi_i} \phi_i \qquad \text{for one variable } x \text{ after the other}$$

A question that is asked once is answered sooner in this way than a program for it is compiled. The variable with the
smallest product is eliminated next; scopes are bits of whole numbers, so that unions are single operations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.inference import costs

MOST_LABELS = 26
"""The most variables of one product; more with several states have too many entries, and NumPy has names for 52."""


class Part(NamedTuple):
    """A table: the numbers of its variables, one for each axis, and its entries."""

    members: tuple[int, ...]
    values: Floats


def direct_joint(parts: Sequence[Part], cards: Sequence[int], targets: Sequence[int]) -> tuple[Floats, float] | None:
    """The normalized joint of `targets`, axes in their order, and the logarithm of the total.

    None if a product has more entries than `costs.DIRECT_ENTRIES`, if numbers might underflow, or if the total is zero.

    Reference: Koller & Friedman, algorithm 9.1.
    Guarantee: exact.
    Tested by: inference/exact/test_direct.py::test_joints_are_those_of_enumeration

    Args:
        parts: the tables; no entry is above one.
        cards: the number of states of each variable.
        targets: the variables that are kept.

    >>> direct_joint([Part((0,), np.array([0.5, 0.5])), Part((0, 1), np.array([[1.0, 0.0], [0.5, 0.5]]))], [2, 2], [1])
    (array([0.75, 0.25]), 0.0)
    """
    order = _order(parts, cards, targets)
    if order is None or _may_underflow(parts):
        return None
    left = list(parts)
    for v in order:
        touched = [part for part in left if v in part.members]
        left = [part for part in left if v not in part.members]
        left.append(_product(touched, _scope(touched, v)))
    joint = _product(left, tuple(targets)).values
    total = float(joint.sum())
    return (joint / total, math.log(total)) if total > 0.0 else None


def _order(parts: Sequence[Part], cards: Sequence[int], targets: Sequence[int]) -> list[int] | None:
    """The variables to be summed out, each with the smallest product at its turn; None if one is too large."""
    near = {v: 0 for part in parts for v in part.members}
    for members, _ in parts:
        bits = sum([1 << v for v in members])
        for v in members:
            near[v] |= bits
    kept = sum([1 << v for v in targets])
    for v in targets:
        near.pop(v, None)
    known: dict[int, int] = {}
    cost = {v: _entries(bits, cards, known) for v, bits in near.items()}
    order = []
    while cost:
        v = min(cost, key=cost.__getitem__)
        if cost.pop(v) > costs.DIRECT_ENTRIES or near[v].bit_count() > MOST_LABELS:
            return None
        order.append(v)
        message = rest = near.pop(v) & ~(1 << v)
        rest &= ~kept
        while rest:
            low = rest & -rest
            rest ^= low
            u = low.bit_length() - 1
            near[u] = (near[u] | message) & ~(1 << v)
            cost[u] = _entries(near[u], cards, known)
    return order if _entries(kept, cards, known) <= costs.DIRECT_ENTRIES else None


def _entries(bits: int, cards: Sequence[int], known: dict[int, int]) -> int:
    """The number of joint states of a set of variables."""
    found = known.get(bits)
    if found is None:
        found, rest = 1, bits
        while rest:
            low = rest & -rest
            found *= cards[low.bit_length() - 1]
            rest ^= low
        known[bits] = found
    return found


def _may_underflow(parts: Sequence[Part]) -> bool:
    """Whether the product of the smallest positive entries might be below the normal numbers."""
    entries = np.concatenate([part.values.reshape(-1) for part in parts]) if parts else np.ones(1)
    least = float(entries[entries > 0.0].min(initial=1.0))
    return len(parts) * math.log2(least) < -1000.0


def _scope(parts: Sequence[Part], without: int) -> tuple[int, ...]:
    return tuple({v: None for part in parts for v in part.members if v != without})


def _product(parts: list[Part], kept: tuple[int, ...]) -> Part:
    """The product of tables, summed over all variables but `kept`."""
    while len(parts) > costs.DIRECT_OPERANDS:
        first, parts = parts[: costs.DIRECT_OPERANDS], parts[costs.DIRECT_OPERANDS :]
        parts.append(_product(first, _scope(first, -1)))
    label: dict[int, int] = {}
    operands: list[Any] = []
    for members, values in parts:
        operands += values, [label.setdefault(v, len(label)) for v in members]
    if not operands:
        return Part((), np.ones(()))
    return Part(kept, np.asarray(np.einsum(*operands, [label[v] for v in kept])))
