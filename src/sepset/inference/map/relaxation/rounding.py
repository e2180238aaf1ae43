r"""Assignments from pseudo-marginals, one variable after the other.

$$x_i \leftarrow \arg\max_x \; \theta_i(x) + \sum_{r \ni i} \mathbf E_{q_r}\bigl[\theta_r(\mathbf x_r) \mid x_i = x,
\text{ earlier choices}\bigr]$$

which is the objective of the linear program after all pseudo-marginals have been reduced by the choices.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.inference.map.relaxation.polytope import Polytope

CERTAIN = 1e-6
"""The distance from one at which a pseudo-marginal counts as one; solvers have such tolerances."""


def fractional(polytope: Polytope, marginals: Floats) -> Ints:
    """The variables none of whose states has pseudo-marginal one."""
    starts = polytope.regions.wiring.plugs.states
    if not len(starts) - 1:
        return np.zeros(0, np.int64)
    return np.flatnonzero(np.maximum.reduceat(marginals, starts[:-1]) < 1.0 - CERTAIN)


def rounded(polytope: Polytope, columns: Floats) -> Ints:
    """The codes of an assignment; the assignment of the pseudo-marginals themselves if these are whole.

    Variables are taken in decreasing order of their largest pseudo-marginal.

    Reference: Koller & Friedman, section 13.5.2.
    """
    wiring, marginals = polytope.regions.wiring, polytope.marginals(columns)
    starts = wiring.plugs.states
    own = [marginals[starts[i] : starts[i + 1]] for i in range(wiring.num_variables)]
    codes = np.array([int(q.argmax()) for q in own], np.int64)
    open_ones = fractional(polytope, marginals)
    order = sorted(open_ones.tolist(), key=lambda i: -float(own[i].max()))
    known = np.ones(wiring.num_variables, bool)
    known[open_ones] = False
    for i in order:
        score = np.where(own[i] > 0.0, wiring.logs(i), -np.inf)
        for place in range(wiring.wires.degrees[i], wiring.wires.degrees[i + 1]):
            r = int(wiring.factors[wiring.wires.slots[place]])
            if r < polytope.regions.num_base:
                score = score + _expected(polytope, r, i, codes, known, columns)
        codes[i], known[i] = int(score.argmax()), True
    return codes


def _expected(polytope: Polytope, r: int, i: int, codes: Ints, known: Any, columns: Floats) -> Floats:
    """The expected log value of a region at each state of a variable, given the choices; the largest without mass."""
    wiring = polytope.regions.wiring
    scope = wiring.scope(r).tolist()
    at = tuple(int(codes[v]) if known[v] else slice(None) for v in scope)
    free = [v for v in scope if not known[v]]
    q, logs = polytope.table(r, columns)[at], wiring.table(r)[at]
    others = tuple(axis for axis, v in enumerate(free) if v != i)
    mass, total = q.sum(axis=others), np.where(q > 0.0, q * np.where(q > 0.0, logs, 0.0), 0.0).sum(axis=others)
    return np.asarray(np.where(mass > 0.0, total / np.where(mass > 0.0, mass, 1.0), logs.max(axis=others)))
