"""Why evidence is impossible: a smallest set of findings that contradict each other."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sepset.errors import ImpossibleEvidence
from sepset.evidence import Evidence
from sepset.inference.method import Prepared
from sepset.variables import Discrete


def minimal_conflict(prepared: Prepared, evidence: Evidence) -> tuple[int, ...]:
    """Positions whose findings are together impossible, and no longer so when any one of them is dropped.

    Cost: one log partition a finding.
    """
    needed = list(evidence.touched)
    for position in evidence.touched:
        rest = [v for v in needed if v != position]
        if prepared.log_partition(restrict(evidence, rest)) == -np.inf:
            needed = rest
    return tuple(needed)


def restrict(evidence: Evidence, positions: Iterable[int]) -> Evidence:
    """The evidence on these positions only."""
    kept = set(positions)
    parts = (evidence.codes, evidence.weights, evidence.soft, evidence.reals)
    return Evidence(*({v: x for v, x in part.items() if v in kept} for part in parts))  # type: ignore[arg-type]


def impossible(prepared: Prepared, evidence: Evidence) -> ImpossibleEvidence:
    """The error that names the findings to blame, or the model where it gives zero to everything."""
    conflict = minimal_conflict(prepared, evidence)
    if not conflict:
        return ImpossibleEvidence(
            "The model gives every assignment probability zero: its factors contradict each other."
        )
    findings = ", ".join(_describe(prepared, evidence, v) for v in conflict)
    alone = "is impossible under the model" if len(conflict) == 1 else "contradict each other"
    return ImpossibleEvidence(f"The evidence has probability zero: {findings} {alone}. Drop or change one of them.")


def _describe(prepared: Prepared, evidence: Evidence, position: int) -> str:
    variable = prepared.problem.variables[position]
    if isinstance(variable, Discrete) and position in evidence.codes:
        return f"{variable.name}={variable.states[evidence.codes[position]]!r}"
    if isinstance(variable, Discrete) and position in evidence.weights:
        return f"{variable.name}~{evidence.weights[position].tolist()}"
    return f"{variable.name}={evidence.reals.get(position)}"
