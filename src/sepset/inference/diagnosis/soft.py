r"""Soft evidence by iterative proportional fitting: likelihoods under which posteriors match the given probabilities.

Each step multiplies one variable's likelihood by target over current,

$$\lambda_i(x) \leftarrow \lambda_i(x)\, q_i(x) / P(x \mid e, \lambda);$$

the fixed point is the distribution with all the given marginals that is nearest to the prior in KL divergence. Where
the findings leave some joint states hardly any probability this becomes slow, and Newton steps on the convex dual

$$\min_\theta\; \log \sum_{\mathbf x} P(\mathbf x, e)\, e^{\sum_i \theta_i(x_i)} - \sum_i \sum_x q_i(x)\, \theta_i(x),
\qquad \lambda_i = e^{\theta_i},$$

continue: its gradient is $P(x_i) - q_i(x_i)$, and its curvature the covariance of the states of these variables.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.base.text import listing
from sepset.errors import ImpossibleEvidence
from sepset.inference.conflict import impossible
from sepset.inference.method import Prepared, dense
from sepset.variables.evidence import Evidence

NEWTON_STEPS = 200
"""The largest number of Newton steps; where probabilities vanish, each divides the error by about e."""

SHORT, LONGEST = 5.0, 80.0
"""The length of the first step, in logarithms of likelihoods, and of the longest; steps that succeed are doubled."""

HALVINGS = 30
"""How often a step that does not lower the objective is halved."""

ROUNDING = 1e-13
"""How far the objective may rise, relative to its size, since it is a difference of logarithms."""

BISECTIONS = 60
"""The number of bisections that find the step of a given length."""


def resolve_soft(prepared: Prepared, evidence: Evidence, *, tolerance: float = 1e-12, steps: int = 100) -> Evidence:
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
            return replace(_hard(evidence, weights), fitted=evidence.soft)
    fitted = _newton(prepared, evidence, weights, tolerance)
    return replace(_hard(evidence, fitted), fitted=evidence.soft)


def _newton(prepared: Prepared, evidence: Evidence, weights: dict[int, Floats], tolerance: float) -> dict[int, Floats]:
    """The likelihoods that meet the findings, by Newton steps of bounded length from those found so far."""
    variables = sorted(evidence.soft)
    target = np.concatenate([evidence.soft[v] for v in variables])
    free = np.concatenate([weights[v] for v in variables]) > 0
    worst, reach = math.inf, SHORT
    for _ in range(NEWTON_STEPS):
        current, covariance = moments(prepared, _hard(evidence, weights), variables)
        gradient = np.where(free, current - target, 0.0)
        worst = float(np.abs(gradient).max())
        if worst <= tolerance:
            return weights
        step = _step(covariance * np.outer(free, free), gradient, reach)
        weights, share = _moved(prepared, evidence, weights, step, gradient)
        reach = min(2 * reach, LONGEST) if share == 1.0 else max(share * reach, SHORT / 2**HALVINGS)
    raise _unmet(prepared, evidence, worst)


def _step(curvature: Floats, gradient: Floats, reach: float) -> Floats:
    r"""The Newton step, or the best one of the length `reach` if that is shorter: $(C + \mu I)\, d = -g$.

    Where the curvature vanishes, nothing changes and there is no gradient; or a joint state that the findings need has
    hardly any probability yet, and the way to it is long.
    """
    values, vectors = np.linalg.eigh(curvature)
    values, along = np.maximum(values, 0.0), vectors.T @ gradient
    least = float(max(values.max(initial=0.0) * np.finfo(float).eps * len(values), np.finfo(float).tiny))
    low, high = math.log(least), math.log(max(float(np.linalg.norm(along)) / reach, least)) + 1.0
    if np.linalg.norm(along / (values + least)) > reach:
        for _ in range(BISECTIONS):
            middle = (low + high) / 2
            is_long = np.linalg.norm(along / (values + math.exp(middle))) > reach
            low, high = (middle, high) if is_long else (low, middle)
        least = math.exp(high)
    return np.asarray(-(vectors @ (along / (values + least))))


def _moved(
    prepared: Prepared, evidence: Evidence, weights: dict[int, Floats], step: Floats, gradient: Floats
) -> tuple[dict[int, Floats], float]:
    """The likelihoods after the part of the step that lowers the dual objective enough, and how large it is."""
    before, slope, share = _dual(prepared, evidence, weights), float(gradient @ step), 1.0
    for _ in range(HALVINGS):
        moved = _multiplied(weights, share * step)
        if _dual(prepared, evidence, moved) <= before + 1e-4 * share * slope + ROUNDING * (1 + abs(before)):
            break
        share /= 2
    return moved, share


def _multiplied(weights: dict[int, Floats], logs: Floats) -> dict[int, Floats]:
    ends = np.cumsum([len(weights[v]) for v in sorted(weights)])[:-1]
    parts = zip(sorted(weights), np.split(logs, ends), strict=True)
    return {v: _of_largest_one(weights[v] * np.exp(part), weights[v]) for v, part in parts}


def _of_largest_one(row: Floats, before: Floats) -> Floats:
    """The likelihoods divided by the largest; those that were possible stay so."""
    return np.where(before > 0, np.maximum(row / row.max(), np.finfo(float).tiny), 0.0)


def _dual(prepared: Prepared, evidence: Evidence, weights: dict[int, Floats]) -> float:
    """The objective of the dual: the log partition minus the expected logarithm of the likelihoods."""
    expected = sum(float(q[q > 0] @ np.log(weights[v][q > 0])) for v, q in evidence.soft.items())
    return prepared.log_partition(_hard(evidence, weights)) - expected


def moments(prepared: Prepared, evidence: Evidence, variables: list[int]) -> tuple[Floats, Floats]:
    """The probabilities of all states of these variables, and the covariances of their indicators."""
    singles = [np.asarray(dense(prepared.query([v], evidence).distribution).values) for v in variables]
    ends = np.cumsum([0, *map(len, singles)])
    joint = np.zeros((int(ends[-1]), int(ends[-1])))
    for i, first in enumerate(variables):
        joint[ends[i] : ends[i + 1], ends[i] : ends[i + 1]] = np.diag(singles[i])
        for j, second in enumerate(variables[:i]):
            pair = np.asarray(dense(prepared.query([first, second], evidence).distribution).values)
            joint[ends[i] : ends[i + 1], ends[j] : ends[j + 1]] = pair
            joint[ends[j] : ends[j + 1], ends[i] : ends[i + 1]] = pair.T
    mean = np.concatenate(singles)
    return mean, joint - np.outer(mean, mean)


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
    if prepared.log_partition(Evidence({**given.codes, variable: code}, others, reals=given.reals)) > -np.inf:
        return ImpossibleEvidence(
            f"{asked} given the rest its probability is below {np.finfo(float).tiny:.1g}, which no likelihood "
            "can offset. Give it zero, or observe it."
        )
    return ImpossibleEvidence(f"{asked} the model or the other evidence excludes it. Change one of them.")


def _hard(evidence: Evidence, weights: dict[int, Floats]) -> Evidence:
    return Evidence(evidence.codes, {**evidence.weights, **weights}, reals=evidence.reals)


def _current(prepared: Prepared, evidence: Evidence, weights: dict[int, Floats], variable: int) -> Floats:
    answer = prepared.query([variable], _hard(evidence, weights))
    if answer.log_partition == -np.inf:
        rest = _hard(evidence, {})
        is_soft = prepared.log_partition(rest) > -np.inf
        raise _unmet(prepared, evidence, 1.0) if is_soft else impossible(prepared, rest)
    return np.asarray(dense(answer.distribution).values)


def _scaled(weights: Floats, target: Floats, current: Floats) -> Floats:
    scaled = np.divide(weights * target, current, out=np.zeros_like(weights), where=current > 0)
    return _of_largest_one(scaled, weights * (target > 0))
