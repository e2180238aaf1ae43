r"""Centred sums: how moments are taken from rows, merged, and taken apart again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.data.dataset import Dataset
from sepset.data.families import Scope
from sepset.errors import DataError
from sepset.variables.variable import Vector

Parts = tuple[Floats, Floats, Floats]
"""Counts, means and scatters, with one axis over contexts."""

SMALLEST, LARGEST = 1e-140, 1e140
"""Between these, sums of squares over any number of rows are floats with all their digits."""

_BLOCK = 1 << 14  # rows whose product is taken at once
_ROUNDING = 1e-9  # of a scatter's size: what taking rows away again may leave below zero


def _empty(contexts: int, size: int) -> Parts:
    return np.zeros(contexts), np.zeros((contexts, size)), np.zeros((contexts, size, size))


def merged(one: Parts, other: Parts) -> Parts:
    r"""The moments of two parts of the data together, context by context.

    $$S = S_1 + S_2 + \tfrac{M_1 M_2}{M_1 + M_2} (\bar x_1 - \bar x_2)(\bar x_1 - \bar x_2)^\top$$

    Reference: Chan, Golub and LeVeque (1983).
    """
    count = one[0] + other[0]
    share = np.divide(other[0], count, out=np.zeros_like(count), where=count > 0)
    delta = other[1] - one[1]
    mean = np.where((one[0] > 0)[:, None], one[1] + share[:, None] * delta, other[1])
    outer = delta[:, :, None] * delta[:, None, :]
    return count, mean, one[2] + other[2] + (one[0] * share)[:, None, None] * outer


def without(whole: Parts, part: Parts) -> Parts:
    """What merges with `part` to `whole`; a count that rounding leaves of zero is zero, and so are its moments.

    Where nothing is left of the count but other rows were seen, the scatter falls below zero (see `shortfall`).
    """
    count = whole[0] - part[0]
    count[np.abs(count) <= 1e-12 * whole[0]] = 0.0
    rest = np.where(count > 0, count, 1.0)
    delta = whole[1] - part[1]
    mean = whole[1] + (part[0] / rest)[:, None] * delta
    outer = delta[:, :, None] * delta[:, None, :]
    scatter = whole[2] - part[2] - (whole[0] * part[0] / rest)[:, None, None] * outer
    mean[count == 0], scatter[count == 0] = 0.0, 0.0
    strange = (count == 0)[:, None] & _differ(whole, part, delta)
    np.einsum("cii->ci", scatter)[strange] = -np.inf
    return count, mean, scatter


def _differ(whole: Parts, part: Parts, delta: Floats) -> Bools:
    """Where the columns of two parts of equal count are not the same rows, by more than rounding."""
    before, other = (np.einsum("cii->ci", p[2]) for p in (whole, part))
    apart = np.abs(before - other) + whole[0][:, None] * delta**2
    return np.asarray(apart > _ROUNDING * before + 1e-24 * whole[0][:, None] * whole[1] ** 2)


def pooled(parts: Parts, target: Ints, contexts: int) -> Parts:
    """The moments with the context at each place merged into that of its target."""
    out = _empty(contexts, parts[1].shape[1])
    for turn in _turns(target):
        one = _empty(contexts, parts[1].shape[1])
        for mine, theirs in zip(one, parts, strict=True):
            mine[target[turn]] = theirs[turn]
        out = merged(out, one)
    return out


def _turns(target: Ints) -> list[Ints]:
    """Places whose targets differ within each turn, so that each turn is one merge."""
    order = np.argsort(target, kind="stable")
    firsts = np.searchsorted(target[order], target[order])
    turn = np.arange(len(target)) - firsts
    return [order[turn == number] for number in range(int(turn.max(initial=-1)) + 1)]


def shortfall(rest: Parts, whole: Parts) -> tuple[Bools, Bools]:
    """The contexts whose count, or whose scatter, falls below zero by more than rounding: rows never seen were taken.

    >>> shortfall(without(centered(np.ones((1, 1))), centered(np.ones((2, 1)))), centered(np.ones((1, 1))))[0].tolist()
    [True]
    """
    squares, before = (np.einsum("cii->ci", part[2]) for part in (rest, whole))
    return rest[0] < 0, (squares < -_ROUNDING * before).any(axis=-1)


def moments_of(rows: Dataset, reals: Sequence[Vector], scope: Scope) -> Parts:
    """The moments of the rows in each joint state of `scope`, in C order."""
    contexts = prod(v.num_states for v in scope)
    places = _places(rows, scope) if scope else None

    def block(start: int) -> Floats:
        part = np.stack([rows.values(v)[start : start + _BLOCK] for v in reals], axis=1)
        check_range(part, [v.name for v in reals], "Moments need finite numbers", start)
        return part

    return _summed(block, rows.num_rows, len(reals), rows.weights, places, contexts)


def centered(rows: Floats, weights: Floats | None = None, places: Ints | None = None, contexts: int = 1) -> Parts:
    """The moments of finite rows `[n, d]`, each in the context at its place; one context where no places are given.

    >>> centered(np.array([[1.0], [3.0], [7.0]]), places=np.array([0, 0, 1]), contexts=2)[1].tolist()
    [[2.0], [7.0]]
    """
    if places is not None and rows.shape[1] == 1:
        return _column(np.ascontiguousarray(rows[:, 0]), weights, places, contexts)
    return _summed(lambda start: rows[start : start + _BLOCK], len(rows), rows.shape[1], weights, places, contexts)


def _column(column: Floats, weights: Floats | None, places: Ints, contexts: int) -> Parts:
    """The moments of one column: many children of one class have one each."""
    from sepset.kernels.data.columnmoments import column_moments

    parts = np.zeros(contexts), np.zeros(contexts), np.zeros(contexts)
    share = np.ones(1) if weights is None else np.ascontiguousarray(weights)
    column_moments(np.ascontiguousarray(places), column, share, *parts)
    return parts[0], parts[1][:, None], parts[2][:, None, None]


def _summed(
    block_at: Callable[[int], Floats],
    num_rows: int,
    size: int,
    weights: Floats | None,
    places: Ints | None,
    contexts: int,
) -> Parts:
    """Block by block, so that a block is in cache when it is read again."""
    share = np.ones(num_rows) if weights is None else weights
    parts = _empty(contexts, size)
    for start in range(0, num_rows, _BLOCK):
        block, weight = block_at(start), share[start : start + _BLOCK]
        if places is None:
            parts = merged(parts, _block_moments(block, weight))
        else:
            _add_by_context(places[start : start + _BLOCK], block, weight, parts)
    return parts[0], parts[1], np.tril(parts[2]) + np.swapaxes(np.tril(parts[2], -1), -1, -2)


def _places(rows: Dataset, scope: Scope) -> Ints:
    places = np.zeros(rows.num_rows, np.int64)
    for variable in scope:
        places = places * variable.num_states + rows.codes(variable)
    return places


def check_range(rows: Floats, names: Sequence[str], need: str, start: int | None = None) -> None:
    """Refuse numbers that are not finite, and columns whose squares are too large or too small to be floats.

    Args:
        rows: `[rows, columns]`.
        names: of the columns.
        need: what an error begins with.
        start: the number of the first row, where these are some of the rows; small numbers are then let pass.

    >>> check_range(np.array([[1.0], [-1e200]]), ["x"], "This needs finite rows")
    Traceback (most recent call last):
    sepset.errors.DataError: Column 'x' holds numbers up to 1e+200, whose squares are no floats. Rescale it so that ...
    """
    top = np.abs(rows).max(axis=0, initial=0.0)
    bad = ~((top < LARGEST) & ((top > SMALLEST) | (top == 0.0) | (start is not None)))
    if not bad.any():
        return
    place = int(bad.argmax())
    if np.isfinite(top[place]):
        raise DataError(
            f"Column {names[place]!r} holds numbers up to {top[place]:.3g}, whose squares are no floats. Rescale it so "
            f"that its largest number lies between {SMALLEST:g} and {LARGEST:g}."
        )
    row = int((~np.isfinite(rows[:, place])).argmax())
    raise DataError(f"{need}. Column {names[place]!r}, row {(start or 0) + row}: {rows[row, place]}.")


def _add_by_context(places: Ints, block: Floats, weights: Floats, parts: Parts) -> None:
    from sepset.kernels.data.scatter import add_rows

    add_rows(np.ascontiguousarray(places), np.ascontiguousarray(block), np.ascontiguousarray(weights), *parts)


def _block_moments(block: Floats, weights: Floats) -> Parts:
    """Two passes over rows that are in cache: the mean, to the last digit, then products about it."""
    total = weights.sum()
    if total == 0:
        return _empty(1, block.shape[1])
    mean = weights @ block / total
    mean += weights @ (block - mean) / total
    centred = block - mean
    return np.array([total]), mean[None], ((weights[:, None] * centred).T @ centred)[None]
