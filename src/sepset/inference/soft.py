r"""Soft evidence by iterative proportional fitting: posteriors are made to match given probabilities, all at once.

Each step multiplies one variable's likelihood by target over current,

$$\lambda_i(x) \leftarrow \lambda_i(x)\, q_i(x) / P(x \mid e, \lambda);$$

the fixed point is the distribution nearest to the prior (in KL) that has all the given marginals.
"""

from __future__ import annotations

import numpy as np

from sepset.errors import ImpossibleEvidence
from sepset.evidence import Array, Evidence
from sepset.inference.method import Prepared


def resolve_soft(prepared: Prepared, evidence: Evidence, *, tolerance: float = 1e-12, steps: int = 2000) -> Evidence:
    """The evidence with its soft part turned into likelihoods that produce it.

    Reference: Jeffrey's rule; Vomlel (2004) for several findings at once.
    """
    if not evidence.soft:
        return evidence
    sizes = prepared.problem.variables.cards
    weights = {v: np.asarray(evidence.weights.get(v, np.ones(int(sizes[v])))) for v in evidence.soft}
    for _ in range(steps):
        worst = 0.0
        for variable, target in sorted(evidence.soft.items()):
            current = _current(prepared, evidence, weights, variable)
            worst = max(worst, float(np.abs(current - target).max()))
            weights[variable] = _scaled(weights[variable], target, current, prepared, variable)
        if worst <= tolerance:
            return _hard(evidence, weights)
    names = [prepared.problem.variables[v].name for v in sorted(evidence.soft)]
    raise ImpossibleEvidence(
        f"Soft evidence on {names} cannot be met together: after {steps} rounds of fitting the posterior still "
        f"differs by {worst:.2g}. Check that the findings agree with each other."
    )


def _hard(evidence: Evidence, weights: dict[int, Array]) -> Evidence:
    return Evidence(evidence.codes, {**evidence.weights, **weights}, {}, evidence.reals)


def _current(prepared: Prepared, evidence: Evidence, weights: dict[int, Array], variable: int) -> Array:
    answer = prepared.query([variable], _hard(evidence, weights))
    if answer.log_partition == -np.inf:
        name = prepared.problem.variables[variable].name
        raise ImpossibleEvidence(f"The soft evidence on {name} contradicts the rest of the evidence.")
    return np.asarray(answer.distribution.values)


def _scaled(weights: Array, target: Array, current: Array, prepared: Prepared, variable: int) -> Array:
    impossible = (target > 0) & (current == 0)
    if impossible.any():
        found = prepared.problem.variables[variable]
        state = found.states[int(np.flatnonzero(impossible)[0])]  # type: ignore[union-attr]
        raise ImpossibleEvidence(
            f"Soft evidence gives {found.name}={state!r} a positive probability, but the other evidence rules it out. "
            "Change one of them."
        )
    scaled = np.divide(weights * target, current, out=np.zeros_like(weights), where=current > 0)
    return np.asarray(scaled / scaled.max())
