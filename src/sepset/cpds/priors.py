"""Priors over the parameters of CPDs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sepset.errors import ModelError

Array: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Dirichlet:
    r"""Pseudo-counts added to the counts of each cell: $\theta_k = (M_k + \alpha_k) / \sum_j (M_j + \alpha_j)$.

    That is the posterior mean under a Dirichlet with these hyperparameters.

    Args:
        alpha: one number for every cell, or an array that broadcasts to the counts (contexts by states).

    Reference: Koller & Friedman, section 17.3.

    >>> Dirichlet(0.5).pseudo_counts((1, 3)).tolist()
    [[0.5, 0.5, 0.5]]
    """

    alpha: Array

    def __init__(self, alpha: ArrayLike) -> None:
        array = np.array(alpha, dtype=np.float64)
        if not (np.isfinite(array).all() and (array >= 0).all()):
            raise ModelError(f"Dirichlet needs finite pseudo-counts >= 0; found {array.tolist()}.")
        array.setflags(write=False)
        object.__setattr__(self, "alpha", array)

    def pseudo_counts(self, shape: tuple[int, int]) -> Array:
        """The pseudo-counts of `shape` = (contexts, child states)."""
        alpha = self.alpha.reshape(shape) if self.alpha.size == math.prod(shape) else self.alpha
        try:
            return np.broadcast_to(alpha, shape)
        except ValueError as error:
            raise ModelError(
                f"Dirichlet pseudo-counts of shape {self.alpha.shape} do not fit {shape[0]} contexts by "
                f"{shape[1]} states. Give one number, one per state, or one per cell."
            ) from error

    def __repr__(self) -> str:
        return f"Dirichlet({self.alpha.tolist()})"


@dataclass(frozen=True, slots=True)
class Normal:
    r"""Independent normal priors with mean zero on the weights of a logistic CPD: $-\lVert w \rVert^2 / 2 s^2$.

    Reference: Koller & Friedman, section 20.4.1.

    >>> Normal(2.0).scale
    2.0
    """

    scale: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.scale) and self.scale > 0):
            raise ModelError(f"Normal needs a finite scale > 0; found {self.scale!r}.")
