r"""Interventions: the CPD of a variable that is set from outside the model.

A state is a point mass; a sequence or a mapping of probabilities is a stochastic intervention.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from sepset.base.checks import number
from sepset.cpds.table import TableCPD
from sepset.errors import ModelError
from sepset.variables.evidence import is_missing, real_value
from sepset.variables.variable import Discrete, Vector

if TYPE_CHECKING:
    from sepset.cpds.lineargaussian import LinearGaussian


def intervened(variable: Discrete | Vector, value: object) -> TableCPD | LinearGaussian:
    """The parentless CPD of an intervened variable.

    Args:
        variable: the variable to set.
        value: a state, a sequence with one probability per state, or a mapping from states to probabilities; for a
            continuous variable a number, which can be sampled but has no density and so cannot become a factor.

    >>> intervened(Discrete("dose", ("low", "high")), "high").values
    array([0., 1.])
    """
    from sepset.cpds.lineargaussian import LinearGaussian

    if is_missing(value):
        raise ModelError(f"do() was given {value!r} for {variable.name}. Name a state, or leave the variable out.")
    if not isinstance(variable, Discrete):
        return LinearGaussian(
            variable, real_value(variable, value), covariance=np.zeros((variable.size, variable.size))
        )
    if isinstance(value, Mapping):
        row = np.zeros(variable.num_states)
        for state, probability in value.items():
            row[variable.code(state)] = number(f"the probability of {state!r}", probability)
        return TableCPD(variable, row)
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str | bytes):
        return TableCPD(variable, value)
    row = np.zeros(variable.num_states)
    row[variable.code(value)] = 1.0
    return TableCPD(variable, row)
