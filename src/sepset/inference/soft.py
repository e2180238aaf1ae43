r"""Soft evidence by iterative proportional fitting: posteriors are made to match given probabilities, all at once.

Each step multiplies one variable's likelihood by target over current,

$$\lambda_i(x) \leftarrow \lambda_i(x)\, q_i(x) / P(x \mid e, \lambda);$$

the fixed point is the distribution nearest to the prior (in KL) that has all the given marginals.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sepset.errors import ImpossibleEvidence, listing
from sepset.evidence import Array, Evidence
from sepset.inference.method import Prepared, dense


def resolve_soft(prepared: Prepared, evidence: Evidence, *, tolerance: float = 1e-12, steps: int = 2000) -> Evidence:
    """The evidence with its soft part turned into likelihoods that produce it.

    Reference: Jeffrey's rule; Vomlel (2004) for several findings at once.
    """
    if not evidence.soft:
        return evidence
    sizes = prepared.problem.variables.cards
    weights = {v: np.asarray(evidence.weights.get(v, np.ones(int(sizes[v])))) for v in evidence.soft}
    worst = 0.0
    for step in range(steps):
        worst = 0.0
        for variable, target in sorted(evidence.soft.items()):
            current = _current(prepared, evidence, weights, variable)
            worst = max(worst, float(np.abs(current - target).max()))
            excluded = (target > 0) & (current == 0)
            if excluded.any():
                raise _excluded(prepared, variable, excluded) if step == 0 else _unmet(prepared, evidence, worst)
            weights[variable] = _scaled(weights[variable], target, current)
        if worst <= tolerance:
            return _hard(evidence, weights)
    raise _unmet(prepared, evidence, worst)


def _unmet(prepared: Prepared, evidence: Evidence, worst: float) -> ImpossibleEvidence:
    """Findings that pull each other to ever more extreme likelihoods."""
    names = listing(prepared.problem.variables[v].name for v in sorted(evidence.soft))
    return ImpossibleEvidence(
        f"Soft evidence on {names} cannot be met together: fitting leaves the posterior off by {worst:.2g}. "
        "Check that the findings agree with each other."
    )


def _excluded(prepared: Prepared, variable: int, states: NDArray[np.bool_]) -> ImpossibleEvidence:
    found = prepared.problem.variables[variable]
    state = found.states[int(np.flatnonzero(states)[0])]  # type: ignore[union-attr]
    return ImpossibleEvidence(
        f"Soft evidence gives {found.name}={state!r} a positive probability, but the other evidence rules it out. "
        "Change one of them."
    )


def _hard(evidence: Evidence, weights: dict[int, Array]) -> Evidence:
    return Evidence(evidence.codes, {**evidence.weights, **weights}, {}, evidence.reals)


def _current(prepared: Prepared, evidence: Evidence, weights: dict[int, Array], variable: int) -> Array:
    answer = prepared.query([variable], _hard(evidence, weights))
    if answer.log_partition == -np.inf:
        name = prepared.problem.variables[variable].name
        raise ImpossibleEvidence(f"The soft evidence on {name} contradicts the rest of the evidence.")
    return np.asarray(dense(answer.distribution).values)


def _scaled(weights: Array, target: Array, current: Array) -> Array:
    scaled = np.divide(weights * target, current, out=np.zeros_like(weights), where=current > 0)
    return np.asarray(scaled / scaled.max())
