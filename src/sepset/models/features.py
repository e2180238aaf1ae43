r"""Features of log-linear models: real functions of a few variables.

$$P(\mathbf x) = \frac1Z \exp\Bigl(\sum_k w_k f_k(\mathbf x_{D_k})\Bigr)$$
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.base.checks import check_takes
from sepset.base.frozen import fill
from sepset.errors import ModelError
from sepset.factors.algebra import check_scope, check_size, num_entries
from sepset.factors.table import Table
from sepset.variables.variable import Discrete, listed


@dataclass(frozen=True, slots=True, eq=False)
class Feature:
    r"""A feature $f(\mathbf x_D)$: any real function of discrete variables, which may be negative.

    Args:
        scope: the variables $D$.
        function: a function called with one state per variable, or an array of the scope's shape.
        name: how it prints.

    Reference: Koller & Friedman, definition 4.14.

    >>> a, b = Discrete("a", 2), Discrete("b", 2)
    >>> Feature((a, b), lambda x, y: x == y).values.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    scope: tuple[Discrete, ...]
    values: Floats
    name: str

    def __init__(
        self, scope: Iterable[Discrete] | Discrete, function: Callable[..., Any] | ArrayLike, *, name: str = ""
    ) -> None:
        variables = check_scope(listed(scope))
        check_size(variables)
        shape = tuple(v.num_states for v in variables)
        if callable(function):
            check_takes(function, len(variables), "variables")
            states = itertools.product(*(v.states for v in variables))
            values = np.fromiter((float(function(*s)) for s in states), np.float64, num_entries(variables))
        else:
            values = np.array(function, np.float64)
        if values.shape not in (shape, (num_entries(variables),)) or not np.isfinite(values).all():
            raise ModelError(f"A feature over {[v.name for v in variables]} needs finite numbers of shape {shape}.")
        fill(self, scope=variables, values=values.reshape(shape), name=name)

    def factor(self, weight: float) -> Table:
        r"""The factor $e^{w f(\mathbf x)}$."""
        return Table.from_log(self.scope, weight * self.values)

    def __repr__(self) -> str:
        title = f"{self.name}: " if self.name else ""
        return f"Feature({title}{', '.join(v.name for v in self.scope)})"
