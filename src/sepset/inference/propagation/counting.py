r"""Counting numbers: when they are convex, and the bound on all log values that they give.

Beliefs of max-product with weights $\kappa_f$ of factors and $\kappa_i$ of variables have
$\tilde P = e^c \prod_f \beta_f^{\kappa_f} \prod_i b_i^{\kappa_i}$. The numbers are convex if there are $\nu \ge 0$ with

$$\kappa_f = \nu_f + \sum_{i \in f} \nu_{f,i}, \qquad \kappa_i = \nu_i - \sum_{f \ni i} \nu_{f,i},$$

and then, whether or not the messages have converged,

$$\log \tilde P(\mathbf x) \le c + \sum_i \nu_i \max \log b_i + \sum_f \max \Bigl[\nu_f \log \beta_f +
\sum_i \nu_{f,i} \log \frac{\beta_f}{b_i}\Bigr].$$
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.inference.propagation.passing import Beliefs
from sepset.inference.wiring import Wiring

MOST_SLOTS = 50_000
"""The largest linear program that tests whether numbers are convex."""

ROUNDING = 1e-9
"""The most by which sums of counting numbers may miss, which is taken for rounding."""


class Split(NamedTuple):
    r"""Convex counting numbers as sums of $\nu_f$ of factors, $\nu_i$ of variables, and $\nu_{f,i}$ of slots."""

    factors: Floats
    variables: Floats
    slots: Floats


def counting_numbers(wiring: Wiring, rhos: Floats, counts: Floats) -> Floats:
    """The counting number of each variable."""
    return counts - np.bincount(wiring.plugs.scope, rhos[wiring.factors], minlength=wiring.num_variables)


def convex_split(wiring: Wiring, rhos: Floats, counts: Floats) -> Split | None:
    r"""Convex counting numbers as sums of numbers that are not negative; None if they are not convex.

    Models of more than 50,000 slots with negative counting numbers are not tested: None.

    Args:
        rhos: the counting number of each factor over two and more variables.
        counts: for each variable its counting number and those of its factors together.

    Cost: a linear program with a variable per slot, unless all numbers are positive.
    Reference: Koller & Friedman, definition 11.4 and section 13.4.2.2; Heskes (2006).
    Guarantee: exact.
    Tested by: inference/propagation/test_counting.py::test_bethe_numbers_are_convex_with_at_most_one_cycle_each
    """
    own = counting_numbers(wiring, rhos, counts)
    needs = np.maximum(-own, 0.0)
    if (rhos < 0.0).any() or needs.sum() > rhos.sum() + ROUNDING * max(1.0, len(rhos)):
        return None
    slots = np.zeros(len(wiring.factors))
    if needs.max(initial=0.0) > 0.0:
        found = _transport(wiring, rhos, needs) if len(slots) <= MOST_SLOTS else None
        if found is None:
            return None
        slots = found
    left = rhos - np.bincount(wiring.factors, slots, minlength=wiring.num_factors)
    more = own + np.bincount(wiring.plugs.scope, slots, minlength=wiring.num_variables)
    return Split(np.maximum(left, 0.0), np.maximum(more, 0.0), slots)


def _transport(wiring: Wiring, supplies: Floats, needs: Floats) -> Floats | None:
    """Amounts for each slot with which factors serve the needs of their variables, by a linear program."""
    from scipy import optimize, sparse

    num = len(wiring.factors)
    ones, slots = np.ones(num), np.arange(num)
    out = sparse.csr_array((ones, (wiring.factors, slots)), shape=(wiring.num_factors, num))
    into = sparse.csr_array((ones, (wiring.plugs.scope, slots)), shape=(wiring.num_variables, num))
    limits = np.concatenate([supplies, -needs])
    rows: Any = sparse.vstack([out, -into])
    solved = optimize.linprog(np.zeros(num), A_ub=rows, b_ub=limits, bounds=(0, None))
    return np.maximum(np.asarray(solved.x, np.float64), 0.0) if solved.status == 0 else None


def dual_messages(beliefs: Beliefs, shares: Floats) -> Floats:
    r"""The dual messages of max-product beliefs, whose bound is that of convex counting numbers, or below it.

    $$\delta_{f \to i} = \rho_f (\log m_{f \to i} - \log b_i) + \nu_{f,i} \log b_i$$

    leaves $\nu_i \log b_i$ to each variable, and $\nu_f \log \beta_f + \sum_i \nu_{f,i} \log (\beta_f / b_i)$ to each
    factor. On a forest, a share of one for the variable of each factor toward the root gives the largest log value.

    Args:
        shares: $\nu_{f,i}$ for each slot; the bound holds for all numbers.

    Reference: Koller & Friedman, theorem 13.8; Weiss, Yanover & Meltzer (2007) for other weights of factors.
    Guarantee: upper bound.
    Tested by: inference/propagation/test_counting.py::test_bounds_hold_for_all_messages
    """
    wiring, wires = beliefs.wiring, beliefs.wiring.wires
    sizes = np.diff(wires.messages)
    first = np.repeat(wires.states[wires.scope] - wires.messages[:-1], sizes)
    own = beliefs.logs[first + np.arange(len(beliefs.messages))]
    possible = (own > -np.inf) & (beliefs.messages > -np.inf)
    sent, belief = np.where(possible, beliefs.messages, 0.0), np.where(possible, own, 0.0)
    rhos = np.repeat(beliefs.rhos[wiring.factors], sizes)
    return np.asarray(rhos * sent + (np.repeat(shares, sizes) - rhos) * belief)
