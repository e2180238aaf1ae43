"""Independent variables under concave functions of sums of their terms: values of assignments, better ones nearby."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.kernels.kernel import kernel

REST, FIRST = 0, 1
r"""The functions $\log(1 - e^s)$ and $-\log(1 + \sum_c e^{s_c})$."""


class Causes(NamedTuple):
    """Independent variables and the functions of their sums.

    Attributes:
        states: where the states of each variable start.
        own: the log value of each state.
        starts: where the arguments to which each variable adds start; those of one function follow each other.
        numbers: these arguments.
        blocks: where the terms of each variable start.
        terms: what its states add, `[states, arguments]`.
        sums: the arguments without any variable.
        home: the function of each argument.
        places: where the arguments of each function start.
        kinds: `REST` or `FIRST`, of each function.
        near: the largest argument at which a tangent touches.
    """

    states: Ints
    own: Floats
    starts: Ints
    numbers: Ints
    blocks: Ints
    terms: Floats
    sums: Floats
    home: Ints
    places: Ints
    kinds: Ints
    near: Floats


@kernel(borrows=True, inner=True)
def function_value(causes: Causes, f: int, sums: Floats) -> float:
    """A function at its arguments."""
    first, last = causes.places[f], causes.places[f + 1]
    if causes.kinds[f] == REST:
        return float(np.log(-np.expm1(min(sums[first], 0.0))))
    top = 0.0
    for m in range(first, last):
        top = max(top, sums[m])
    total = np.exp(-top)
    for m in range(first, last):
        total += np.exp(sums[m] - top)
    return float(-top - np.log(total))


@kernel(borrows=True, inner=True)
def value_at(kind: int, s: float) -> float:
    """A function of one argument."""
    if kind == REST:
        return float(np.log(-np.expm1(min(s, 0.0))))
    return float(-max(s, 0.0) - np.log1p(np.exp(-abs(s))))


@kernel(borrows=True, inner=True)
def row(causes: Causes, i: int, o: int) -> int:
    """Where the terms of a state are, less the place of the first argument of its variable."""
    num = causes.starts[i + 1] - causes.starts[i]
    return int(causes.blocks[i] + (o - causes.states[i]) * num - causes.starts[i])


@kernel(borrows=True, inner=True)
def value_of(causes: Causes, codes: Ints, sums: Floats) -> float:
    """The log value of an assignment; sets its sums."""
    total = 0.0
    for m in range(len(causes.sums)):
        sums[m] = causes.sums[m]
    for i in range(len(codes)):
        o = causes.states[i] + codes[i]
        total += causes.own[o]
        at = row(causes, i, o)
        for j in range(causes.starts[i], causes.starts[i + 1]):
            sums[causes.numbers[j]] += causes.terms[at + j]
    for f in range(len(causes.kinds)):
        total += function_value(causes, f, sums)
    return total


@kernel(borrows=True, inner=True)
def offer(value: float, codes: Ints, best: Floats, found: Ints) -> bool:
    """Put an assignment among the best ones if it is better than the last and not among them."""
    k, n = len(best) - 1, len(codes)
    if not value > best[k]:
        return False
    for j in range(k + 1):
        if abs(best[j] - value) <= 1e-9 * max(1.0, abs(value)):
            same = True
            for i in range(n):
                if found[j * n + i] != codes[i]:
                    same = False
                    break
            if same:
                return False
    while k > 0 and best[k - 1] < value:
        best[k] = best[k - 1]
        for i in range(n):
            found[k * n + i] = found[(k - 1) * n + i]
        k -= 1
    best[k] = value
    for i in range(n):
        found[k * n + i] = codes[i]
    return True


@kernel(borrows=True, inner=True)
def change(causes: Causes, i: int, to: int, codes: Ints, sums: Floats) -> float:
    """Give a variable another state, and the sums what that adds to them; returns how much the value rises."""
    before, after = causes.states[i] + codes[i], causes.states[i] + to
    rise, last = causes.own[after] - causes.own[before], -1
    old, new = row(causes, i, before), row(causes, i, after)
    for j in range(causes.starts[i], causes.starts[i + 1]):
        if causes.home[causes.numbers[j]] != last:
            last = causes.home[causes.numbers[j]]
            rise -= function_value(causes, last, sums)
    for j in range(causes.starts[i], causes.starts[i + 1]):
        sums[causes.numbers[j]] += causes.terms[new + j] - causes.terms[old + j]
    last = -1
    for j in range(causes.starts[i], causes.starts[i + 1]):
        if causes.home[causes.numbers[j]] != last:
            last = causes.home[causes.numbers[j]]
            rise += function_value(causes, last, sums)
    codes[i] = to
    return float(rise)


@kernel(borrows=True, inner=True)
def second(causes: Causes, i: int, rise: float, codes: Ints, sums: Floats) -> float:
    """After the change of variable i, the first change of a later one that makes both together better."""
    for other in range(i + 1, len(codes)):
        own = codes[other]
        for code in range(causes.states[other + 1] - causes.states[other]):
            if code == own or causes.own[causes.states[other] + code] == -np.inf:
                continue
            more = rise + change(causes, other, code, codes, sums)
            if more > 1e-9:
                return more
            change(causes, other, own, codes, sums)
    return rise
