"""Evidence in words: the findings behind an answer, by name, for captions and files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sepset.variables.evidence import Evidence
from sepset.variables.universe import Universe

MOST_TOLD = 6
"""The largest number of findings in a caption."""


@dataclass(frozen=True, slots=True, eq=False)
class Findings:
    """Evidence with the variables it is about.

    >>> from sepset.variables.evidence import resolve
    >>> from sepset.variables.variable import Discrete
    >>> variables = Universe([Discrete("grade", "ABC"), Discrete("sat", ("low", "high"))])
    >>> print(Findings(resolve({"sat": "high", "grade": {"A", "B"}}, variables), variables))
    grade in {A, B}, sat=high
    """

    evidence: Evidence
    variables: Universe

    @property
    def soft(self) -> frozenset[str]:
        """The names of the variables whose posteriors are given."""
        return frozenset(self.variables[v].name for v in (*self.evidence.soft, *self.evidence.fitted))

    def to_dict(self) -> dict[str, Any]:
        """Each finding by the name of its variable: a state, a number, or a weight for each state."""
        return {self.variables[v].name: self._value(v) for v in self.evidence.touched}

    def _value(self, position: int) -> Any:
        evidence, variable = self.evidence, self.variables[position]
        if position in evidence.codes:
            return variable.states[evidence.codes[position]]  # type: ignore[union-attr]  # codes are of discrete ones
        if position in evidence.reals:
            numbers = np.asarray(evidence.reals[position]).tolist()
            return numbers[0] if isinstance(numbers, list) and len(numbers) == 1 else numbers
        weights = {**evidence.weights, **evidence.soft, **evidence.fitted}[position]
        return dict(zip(variable.states, np.asarray(weights).tolist(), strict=True))  # type: ignore[union-attr]

    def __str__(self) -> str:
        touched = self.evidence.touched
        told = [self._told(v) for v in touched[:MOST_TOLD]]
        more = len(touched) - len(told)
        return ", ".join([*told, *([f"{more} more"] if more else [])])

    def _told(self, position: int) -> str:
        name, value = self.variables[position].name, self._value(position)
        if name in self.soft:
            return f"soft evidence on {name}"
        if position not in self.evidence.weights:
            return f"{name}={value:.6g}" if isinstance(value, float) else f"{name}={value}"
        if set(value.values()) <= {0.0, 1.0}:
            return f"{name} in {{{', '.join(str(state) for state, weight in value.items() if weight)}}}"
        return f"a likelihood of {name}"


NOTHING_FOUND = Findings(Evidence(), Universe(()))
"""The evidence of answers without any."""
