"""What draws are asked with: a seed, and how many; what numpy would refuse in its own words is refused in ours."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from sepset.errors import NotApplicable

Seed: TypeAlias = int | np.random.Generator


def generator(seed: Seed) -> np.random.Generator:
    """The generator of a seed, or the one given, which moves on.

    >>> int(generator(0).integers(100)) == int(generator(np.random.default_rng(0)).integers(100))
    True
    """
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise NotApplicable(
            f"seed= is a whole number of at least zero, or a numpy.random.Generator; found {seed!r}."
        ) from None


def num_draws(number: int) -> int:
    """The number of draws, which is whole and not negative.

    >>> num_draws(3)
    3
    """
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 0:
        raise NotApplicable(f"The number of draws is a whole number of at least zero; found {number!r}.")
    return int(number)
