r"""Counting numbers: when they are convex, and the bound on all log values that they give.

Beliefs of max-product with weights $\kappa_f$ of factors and $\kappa_i$ of variables have
$\tilde P = e^c \prod_f \beta_f^{\kappa_f} \prod_i b_i^{\kappa_i}$. The numbers are convex if there are $\nu \ge 0$ with

$$\kappa_f = \nu_f + \sum_{i \in f} \nu_{f,i}, \qquad \kappa_i = \nu_i - \sum_{f \ni i} \nu_{f,i},$$

and then, whether or not the messages have converged,

$$\log \tilde P(\mathbf x) \le c + \sum_f \nu_f \max \log \beta_f + \sum_i \nu_i \max \log b_i +
\sum_{f, i} \nu_{f,i} \max \log \frac{\beta_f}{b_i}.$$
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.threads import interruptible
from sepset.inference.assignment import Certificate
from sepset.inference.map.dual import AGREE
from sepset.inference.propagation.passing import Beliefs, rooms
from sepset.inference.wiring import Wiring
from sepset.kernels.propagation.counting import split_bound

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


def bound_by(beliefs: Beliefs, split: Split) -> float:
    """The upper bound on all log values that max-product beliefs give with convex counting numbers.

    Reference: Koller & Friedman, theorem 13.8; Weiss, Yanover & Meltzer (2007) for other weights of factors.
    Guarantee: upper bound.
    Tested by: inference/propagation/test_counting.py::test_bounds_hold_for_all_messages
    """
    if beliefs.log_totals == -np.inf:
        return -np.inf
    wiring = beliefs.wiring
    how = wiring.wires, beliefs.rhos, split.factors, split.slots, beliefs.logs, beliefs.messages
    found = float(interruptible(partial(split_bound, *how, *rooms(wiring))))
    return wiring.constant + beliefs.log_totals + found


def convex_certificate(beliefs: Beliefs, split: Split, bound: float) -> Certificate:
    """The certificate of a bound by convex counting numbers."""
    return Certificate(
        f"No assignment has a log value above {bound:.10g}.",
        "A reparameterization with convex counting numbers: its beliefs and their ratios have maxima of that sum.",
        partial(_proves, beliefs, split, bound),
    )


def _proves(beliefs: Beliefs, split: Split, bound: float) -> bool:
    found, again = bound_by(beliefs, split), counting_numbers(beliefs.wiring, beliefs.rhos, beliefs.counts)
    wiring = beliefs.wiring
    factors = split.factors + np.bincount(wiring.factors, split.slots, minlength=wiring.num_factors)
    variables = split.variables - np.bincount(wiring.plugs.scope, split.slots, minlength=wiring.num_variables)
    is_split = np.abs(factors - beliefs.rhos).max(initial=0.0) + np.abs(variables - again).max(initial=0.0) <= 1e-6
    return bool(is_split and min(map(np.min, [p for p in split if len(p)]), default=0.0) >= 0.0) and (
        found == bound or found <= bound + AGREE * max(1.0, abs(bound))
    )
