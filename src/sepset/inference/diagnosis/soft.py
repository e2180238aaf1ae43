r"""Soft evidence by iterative proportional fitting: likelihoods under which posteriors match the given probabilities.

Each step multiplies one variable's likelihood by target over current,

$$\lambda_i(x) \leftarrow \lambda_i(x)\, q_i(x) / P(x \mid e, \lambda);$$

the fixed point is the distribution with all the given marginals that is nearest to the prior in KL divergence.
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.base.text import listing
from sepset.errors import ImpossibleEvidence
from sepset.inference.conflict import impossible
from sepset.inference.method import Prepared, dense
from sepset.variables.evidence import Evidence


def resolve_soft(prepared: Prepared, evidence: Evidence, *, tolerance: float = 1e-12, steps: int = 2000) -> Evidence:
    """The evidence with its soft part turned into likelihoods that produce it.

    Reference: Jeffrey's rule; Vomlel (2004) for several findings at once.
    Guarantee: posterior met to 1e-12, or refused.
    Tested by: inference/diagnosis/test_soft.py::test_several_findings_are_met_at_once_by_the_nearest_joint
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
                given = _hard(evidence, weights)
                raise _excluded(prepared, given, variable, excluded) if step == 0 else _unmet(prepared, evidence, worst)
            weights[variable] = _scaled(weights[variable], target, current)
        if worst <= tolerance:
            return _hard(evidence, weights)
    raise _unmet(prepared, evidence, worst)


def _unmet(prepared: Prepared, evidence: Evidence, worst: float) -> ImpossibleEvidence:
    """The error for findings whose likelihoods do not converge."""
    names = listing(prepared.problem.variables[v].name for v in sorted(evidence.soft))
    return ImpossibleEvidence(
        f"Soft evidence on {names} cannot be satisfied together: after fitting, the posterior differs by {worst:.2g}. "
        "Check that the findings agree with each other."
    )


def _excluded(prepared: Prepared, given: Evidence, variable: int, states: Bools) -> ImpossibleEvidence:
    """The error for a state that is impossible, or too improbable for any floating-point likelihood."""
    found, code = prepared.problem.variables[variable], int(np.flatnonzero(states)[0])
    asked = f"Soft evidence gives {found.name}={found.states[code]!r} a positive probability, but"  # type: ignore[union-attr]
    others = {v: row for v, row in given.weights.items() if v != variable}
    if prepared.log_partition(Evidence({**given.codes, variable: code}, others, {}, given.reals)) > -np.inf:
        return ImpossibleEvidence(
            f"{asked} given the rest its probability is below {np.finfo(float).tiny:.1g}, which no likelihood "
            "can offset. Give it zero, or observe it."
        )
    return ImpossibleEvidence(f"{asked} the model or the other evidence excludes it. Change one of them.")


def _hard(evidence: Evidence, weights: dict[int, Floats]) -> Evidence:
    return Evidence(evidence.codes, {**evidence.weights, **weights}, {}, evidence.reals)


def _current(prepared: Prepared, evidence: Evidence, weights: dict[int, Floats], variable: int) -> Floats:
    answer = prepared.query([variable], _hard(evidence, weights))
    if answer.log_partition == -np.inf:
        rest = _hard(evidence, {})
        is_soft = prepared.log_partition(rest) > -np.inf
        raise _unmet(prepared, evidence, 1.0) if is_soft else impossible(prepared, rest)
    return np.asarray(dense(answer.distribution).values)


def _scaled(weights: Floats, target: Floats, current: Floats) -> Floats:
    scaled = np.divide(weights * target, current, out=np.zeros_like(weights), where=current > 0)
    return np.asarray(scaled / scaled.max())
