"""Information measures of arrays of floats in decimal numbers of 300 digits, from their definitions."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from typing import Any

import numpy as np

DIGITS = 300


def in_many_digits(function: Callable[..., Decimal]) -> Callable[..., float]:
    """The function computed with many digits, as a float."""

    @functools.wraps(function)
    def rounded(*args: Any, **options: Any) -> float:
        with localcontext(prec=DIGITS):
            return float(function(*args, **options))

    return rounded


def shares(values: np.ndarray) -> dict[tuple[int, ...], Decimal]:
    """The probabilities of cells: the floats over their sum."""
    found = {cell: Decimal(float(values[cell])) for cell in np.ndindex(values.shape)}
    total = sum(found.values())
    return {cell: value / total for cell, value in found.items()}


def rows_of(values: np.ndarray) -> dict[tuple[int, ...], Decimal]:
    """Conditional probabilities: the floats over the sum of their row, the last axis."""
    found: dict[tuple[int, ...], Decimal] = {}
    for context in np.ndindex(values.shape[:-1]):
        found |= {(*context, *cell): p for cell, p in shares(values[context]).items()}
    return found


def summed(joint: dict[tuple[int, ...], Decimal], axes: Sequence[int]) -> list[Decimal]:
    """The marginal probabilities of some axes."""
    found: dict[tuple[int, ...], Decimal] = {}
    for cell, p in joint.items():
        kept = tuple(cell[axis] for axis in axes)
        found[kept] = found.get(kept, Decimal(0)) + p
    return list(found.values())


def plain_entropy(probabilities: Sequence[Decimal]) -> Decimal:
    return -sum((p * p.ln() for p in probabilities if p), Decimal(0))


def plain_kl(p: dict[tuple[int, ...], Decimal], q: dict[tuple[int, ...], Decimal]) -> Decimal:
    return sum((x * (x / q[cell]).ln() for cell, x in p.items() if x), Decimal(0))


@in_many_digits
def entropy(values: np.ndarray, axes: Sequence[int], given: Sequence[int] = ()) -> Decimal:
    """The entropy of some axes of a joint, on average given others."""
    joint = shares(values)
    return plain_entropy(summed(joint, [*axes, *given])) - plain_entropy(summed(joint, given))


@in_many_digits
def mutual_information(values: np.ndarray, xs: Sequence[int], ys: Sequence[int], given: Sequence[int] = ()) -> Decimal:
    """The mutual information of two sets of axes of a joint, on average given others."""
    joint = shares(values)
    x, y, both, z = ([*xs, *given], [*ys, *given], [*xs, *ys, *given], given)
    one, other, together, known = (plain_entropy(summed(joint, axes)) for axes in (x, y, both, z))
    return one + other - together - known


@in_many_digits
def kl(p: np.ndarray, q: np.ndarray) -> Decimal:
    """The divergence of two tables over the same cells."""
    return plain_kl(shares(p), shares(q))


@in_many_digits
def kl_of_chains(p: Sequence[np.ndarray], q: Sequence[np.ndarray]) -> Decimal:
    """The divergence of two networks of conditional tables, each table given all variables before."""
    return plain_kl(_product(p), _product(q))


def _product(tables: Sequence[np.ndarray]) -> dict[tuple[int, ...], Decimal]:
    found = {(): Decimal(1)}
    for table in tables:
        rows = rows_of(table)
        found = {cell: found[cell[:-1]] * p for cell, p in rows.items()}
    return found
