"""Entropies and divergences of tables, in nats, with $0 \\log 0 = 0$."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.factors.algebra import axis_of
from sepset.variables.variable import listed

if TYPE_CHECKING:
    from sepset.factors.discrete import DiscreteFactor
    from sepset.variables.variable import VariableLike


def entropy(probabilities: Floats) -> float:
    r"""$-\sum p \log p$.

    >>> round(entropy(np.array([0.5, 0.5, 0.0])), 6)
    0.693147
    """
    positive = probabilities[probabilities > 0]
    return float(-(positive * np.log(positive)).sum()) + 0.0


def kl(log_p: Floats, log_q: Floats) -> float:
    r"""$\sum p \log (p / q)$ from logarithms; inf where $q = 0 < p$."""
    support = log_p > -np.inf
    if (log_q[support] == -np.inf).any():
        return float("inf")
    return max(float((np.exp(log_p[support]) * (log_p[support] - log_q[support])).sum()), 0.0)


def _axes(table: DiscreteFactor, variables: Iterable[VariableLike]) -> set[int]:
    return {axis_of(table.scope, v) for v in listed(variables)}


def _entropy_of(table: DiscreteFactor, axes: set[int]) -> float:
    out = [v for axis, v in enumerate(table.scope) if axis not in axes]
    return table.marginalize(out).entropy()


def conditional_entropy(table: DiscreteFactor, xs: Iterable[VariableLike], given: Iterable[VariableLike]) -> float:
    r"""$H(X, Z) - H(Z)$."""
    x, z = _axes(table, xs), _axes(table, given)
    return max(_entropy_of(table, x | z) - _entropy_of(table, z), 0.0)


def mutual_information(
    table: DiscreteFactor, xs: Iterable[VariableLike], ys: Iterable[VariableLike], given: Iterable[VariableLike] = ()
) -> float:
    r"""$H(X, Z) + H(Y, Z) - H(X, Y, Z) - H(Z)$, never below zero."""
    x, y, z = _axes(table, xs), _axes(table, ys), _axes(table, given)
    gain = _entropy_of(table, x | z) + _entropy_of(table, y | z) - _entropy_of(table, x | y | z)
    return max(gain - _entropy_of(table, z), 0.0)
