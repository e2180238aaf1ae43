"""Checks of the numbers that priors are made of: an error names the prior, the figure and what was found."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.errors import ModelError


def check_positive(owner: str, **values: float) -> None:
    """Refuse a hyperparameter that is not a finite number above zero.

    >>> check_positive("BDeu", sample_size=10)
    """
    for name, value in values.items():
        if not (_is_number(value) and np.isfinite(value) and value > 0):
            raise ModelError(f"{owner} needs a finite {name} > 0; found {value!r}.")


def check_finite(owner: str, **values: float) -> None:
    """Refuse a hyperparameter that is not a finite number.

    >>> check_finite("NormalGamma", mean=-2.5)
    """
    for name, value in values.items():
        if not (_is_number(value) and np.isfinite(value)):
            raise ModelError(f"{owner} needs a finite {name}; found {value!r}.")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def finite_array(owner: str, name: str, values: ArrayLike) -> Floats:
    """An array of its own with these finite numbers, one at least.

    >>> finite_array("Dirichlet", "alpha", [1, 2]).tolist()
    [1.0, 2.0]
    """
    try:
        found = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"{owner} needs numbers as {name}; found {values!r}.") from error
    if not found.size or not np.isfinite(found).all():
        raise ModelError(f"{owner} needs finite {name}; found {found.tolist()}.")
    return found
