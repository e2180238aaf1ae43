r"""Kinds of costs of pairs of states: submodular ones have exact cuts, metric ones the best expansions.

$$\epsilon(a, b) \ge 0, \quad \epsilon(a, b) = 0 \iff a = b, \quad \epsilon(a, b) = \epsilon(b, a), \quad
\epsilon(a, b) \le \epsilon(a, c) + \epsilon(c, b)$$

are those of a metric; a semimetric need not have the last one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats
from sepset.base.foreign import translated
from sepset.errors import ModelError

ROUNDING = 1e-12
"""The violation, relative to the costs, that is taken for rounding."""


@translated
def is_submodular(costs: ArrayLike) -> bool:
    r"""Whether $\epsilon(a, b) + \epsilon(a', b') \le \epsilon(a, b') + \epsilon(a', b)$ for all $a < a'$ and $b < b'$.

    For two states: equal ones cost no more, together, than unequal ones. `MinCut` is then exact.

    Args:
        costs: `[states, states]`, minus the log values of a pair; infinite for impossible ones.

    Reference: Koller & Friedman, definition 13.5.
    Guarantee: exact, up to rounding.
    Tested by: factors/test_interactions.py::test_every_quadruple_and_triple

    >>> import sepset as ss
    >>> is_submodular([[0, 1], [1, 0]]), is_submodular([[1, 0], [0, 1]])
    (True, False)
    >>> is_submodular(-ss.potentials.TruncatedQuadratic(1.0).log_table((4, 4)))
    True
    """
    e = _costs(costs, square=False)
    rows, columns = np.triu_indices(e.shape[0], 1), np.triu_indices(e.shape[1], 1)
    (a, above), (b, beside) = ([index[:, None] for index in rows], [index[None] for index in columns])
    return bool((e[a, b] + e[above, beside] <= e[a, beside] + e[above, b] + _room(e)).all())


@translated
def is_semimetric(costs: ArrayLike) -> bool:
    """Whether equal states all cost the same, unequal ones more, and equally much in both directions.

    Every swap is then the best of its kind.

    Args:
        costs: `[states, states]`, minus the log values of a pair.

    Reference: Koller & Friedman, box 4.D; Boykov, Veksler & Zabih (2001).
    Guarantee: exact, up to rounding.
    Tested by: factors/test_interactions.py::test_every_quadruple_and_triple

    >>> is_semimetric([[0, 1, 4], [1, 0, 1], [4, 1, 0]]), is_metric([[0, 1, 4], [1, 0, 1], [4, 1, 0]])
    (True, False)
    """
    e = _costs(costs)
    equal = np.diag(e)
    if not len(e) or np.isinf(equal).any():
        return not len(e)
    room, off = _room(e), ~np.eye(len(e), dtype=bool)
    same = float(np.ptp(equal)) <= room
    is_symmetric = bool(np.isclose(e, e.T, rtol=0.0, atol=room).all())
    return same and is_symmetric and bool((e[off] > equal[0] + room).all())


@translated
def is_metric(costs: ArrayLike) -> bool:
    """Whether the costs are a semimetric in which no detour over a third state is cheaper.

    Every expansion is then the best of its kind, and the result within a known factor of the optimum.

    Args:
        costs: `[states, states]`, minus the log values of a pair.

    Reference: Koller & Friedman, box 4.D and section 13.6.2; Boykov, Veksler & Zabih (2001).
    Guarantee: exact, up to rounding.
    Tested by: factors/test_interactions.py::test_every_quadruple_and_triple

    >>> import sepset as ss
    >>> is_metric(-ss.potentials.TruncatedLinear(0.5, 2.0).log_table((5, 5)))
    True
    >>> is_metric([[0, 3, 1], [3, 0, 1], [1, 1, 0]])
    False
    """
    e = _costs(costs)
    if not is_semimetric(e):
        return False
    if not len(e):
        return True
    distance = e - e[0, 0]
    return bool((distance[:, None, :] <= distance[:, :, None] + distance[None, :, :] + _room(e)).all())


def _costs(costs: ArrayLike, *, square: bool = True) -> Floats:
    found = np.asarray(costs, np.float64)
    if found.ndim != 2 or (square and found.shape[0] != found.shape[1]):
        shape = "[states, states]" if square else "[states, states of the other]"
        raise ModelError(f"Costs of pairs of states have the shape {shape}; found {found.shape}.")
    if np.isnan(found).any() or (found == -np.inf).any():
        raise ModelError("Costs are finite or +inf; found NaN or -inf. Pass minus the log values of a pair.")
    return found


def _room(e: Floats) -> float:
    finite = e[np.isfinite(e)]
    return ROUNDING * float(np.abs(finite).max(initial=0.0))
