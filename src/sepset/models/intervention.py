r"""Interventions: what a variable becomes when something outside the model sets it.

A state is a point mass; a sequence or a mapping of probabilities is a stochastic intervention.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sepset.cpds.table import TableCPD
from sepset.errors import ModelError, NotApplicable
from sepset.evidence import is_missing
from sepset.variables import Discrete, Vector


def intervened(variable: Discrete | Vector, value: object) -> TableCPD:
    """The parentless CPD of an intervened variable.

    Args:
        variable: what is set.
        value: a state, a sequence with one probability a state, or a mapping from states to probabilities.

    >>> intervened(Discrete("dose", ("low", "high")), "high").values
    array([0., 1.])
    """
    if not isinstance(variable, Discrete):
        raise NotApplicable(
            f"{variable.name} is continuous; a point intervention has no density. "
            "Replace its CPD instead: with_cpds(LinearGaussian(...)) without parents."
        )
    if is_missing(value):
        raise ModelError(f"do() was given {value!r} for {variable.name}. Name a state, or leave the variable out.")
    if isinstance(value, Mapping):
        row = np.zeros(variable.num_states)
        for state, probability in value.items():
            row[variable.code(state)] = probability
        return TableCPD(variable, row)
    if isinstance(value, Sequence | np.ndarray) and not isinstance(value, str):
        return TableCPD(variable, np.asarray(value, np.float64))
    row = np.zeros(variable.num_states)
    row[variable.code(value)] = 1.0
    return TableCPD(variable, row)
