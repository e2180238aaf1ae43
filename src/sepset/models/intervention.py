r"""Interventions: the CPD of a variable that is set from outside the model.

A state is a point mass; probabilities, or a distribution over the variable, are a stochastic intervention.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sepset.base.checks import number
from sepset.cpds.table import TableCPD
from sepset.errors import ModelError, ScopeError
from sepset.factors.framerows import is_frame
from sepset.factors.moments import Gaussian
from sepset.factors.table import Table
from sepset.variables.evidence import Soft, is_missing, real_value
from sepset.variables.variable import Discrete, Vector

if TYPE_CHECKING:
    from sepset.cpds.lineargaussian import LinearGaussian


def intervened(variable: Discrete | Vector, value: object) -> TableCPD | LinearGaussian:
    """The parentless CPD of an intervened variable.

    Args:
        variable: the variable to set.
        value: a state; a sequence with one probability per state, or a mapping, series or frame of them by state; a
            distribution over the variable, such as an answer. For a continuous variable a number, or a Gaussian.

    >>> intervened(Discrete("dose", ("low", "high")), "high").values
    array([0., 1.])
    """
    if is_missing(value):
        raise ModelError(f"do() was given {value!r} for {variable.name}. Name a state, or leave the variable out.")
    value = getattr(value, "distribution", value)
    if isinstance(value, Table | Gaussian) and [v.name for v in value.scope] != [variable.name]:
        found = ", ".join(v.name for v in value.scope)
        raise ScopeError(f"do() was given a distribution over {found or 'no variable'} for {variable.name}.")
    return _discrete(variable, value) if isinstance(variable, Discrete) else _real(variable, value)


def _real(variable: Vector, value: Any) -> LinearGaussian:
    from sepset.cpds.lineargaussian import LinearGaussian

    if isinstance(value, Gaussian):
        return LinearGaussian(variable, value.mean(), covariance=value.covariance)
    return LinearGaussian(variable, real_value(variable, value), covariance=np.zeros((variable.size, variable.size)))


def _discrete(variable: Discrete, value: Any) -> TableCPD:
    if isinstance(value, Table):
        value = dict(zip(value.scope[0].states, value.values.tolist(), strict=True))
    elif isinstance(value, Soft):
        value = value.probabilities
    row = np.zeros(variable.num_states)
    if isinstance(value, Mapping):
        for state, probability in value.items():
            row[variable.code(state)] = number(f"the probability of {state!r}", probability)
        return TableCPD(variable, row)
    if is_frame(value) or (isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes)):
        return TableCPD(variable, value)
    row[variable.code(value)] = 1.0
    return TableCPD(variable, row)
