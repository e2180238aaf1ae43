"""The real parents of a regression: their names in the order of the coefficients, and their values."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.errors import ArgumentError, DataError, ModelError
from sepset.variables.variable import Vector

Names: TypeAlias = Vector | str | Iterable[Vector | str]
"""The parents of a regression, or their names."""


def parents_of(owner: str, given: Names, num: int) -> tuple[str, ...]:
    """The names of the parents of a regression with `num` coefficients, the first of which is the intercept.

    >>> parents_of("A prior", ["u", "v"], 3)
    ('u', 'v')
    """
    if not isinstance(given, Iterable):
        raise ArgumentError(f"given= is a variable, its name, or a list of them; found {given!r}.")
    listed = [given] if isinstance(given, str | Vector) else [*given]
    if not all(isinstance(v, str | Vector) for v in listed):
        raise ArgumentError(f"given= is a variable, its name, or a list of them; found {listed!r}.")
    names = tuple([v if isinstance(v, str) else v.name for v in listed])
    if len(set(names)) < len(names):
        raise ModelError(f"{owner}: given= names a parent twice: {', '.join(names)}.")
    if names and len(names) > num - 1:
        raise ModelError(
            f"{owner}: {len(names)} parents need an intercept and a coefficient each; found {num} numbers."
        )
    return names


def with_one(parents: ArrayLike, number: int) -> Floats:
    r"""$(1, \mathbf u)$ for the values of `number` real parents.

    >>> with_one([2, 3], 2).tolist()
    [1.0, 2.0, 3.0]
    """
    try:
        values = np.asarray(parents, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        raise DataError(f"The parents of a regression are numbers; found {parents!r}.") from None
    if len(values) != number:
        raise DataError(f"The regression has {number} parents; found {len(values)} values.")
    if not np.isfinite(values).all():
        raise DataError(f"The parents of a regression are finite numbers; found {values.tolist()}.")
    return np.concatenate([[1.0], values])
