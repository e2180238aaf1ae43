"""Answers in plain values: dictionaries of names, states and numbers, which JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sepset.base.display import plain
from sepset.variables.findings import Findings
from sepset.variables.variable import Discrete, State

if TYPE_CHECKING:
    from sepset.inference.result import MarginalsResult, QueryResult, Result


def answer_document(answer: QueryResult) -> dict[str, Any]:
    """A query as targets, evidence, a row for each joint state, and guarantees."""
    return {
        "targets": [v.name for v in answer.scope],
        "given": findings_document(answer.findings),
        **distribution_document(answer.distribution),
        "log_partition": _finite(answer.log_partition),
        **about_document(answer),
    }


def marginals_document(answers: MarginalsResult) -> dict[str, Any]:
    """Marginals as evidence, a distribution for each variable, and guarantees."""
    parts = {name: distribution_document(answers[name]) for name in answers}
    return {
        "given": findings_document(answers.findings),
        "marginals": {name: part.get("probabilities", part) for name, part in parts.items()},
        "log_partition": _finite(answers.log_partition),
        **about_document(answers.about),
    }


def distribution_document(distribution: Any) -> dict[str, Any]:
    """A row for each joint state; of real variables the mean and the variance, in each joint state of the discrete.

    >>> from sepset.factors.table import Table
    >>> distribution_document(Table(Discrete("coin", ("head", "tail")), [0.25, 0.75]))["probabilities"][0]
    {'coin': 'head', 'probability': 0.25}
    """
    reals = [v for v in distribution.scope if not isinstance(v, Discrete)]
    if len(reals) == len(distribution.scope) > 0:
        return _moments(distribution)
    table = distribution.marginalize(reals) if reals else distribution
    return {"probabilities": [_row(distribution, table, row, p) for row, p in _entries(table)]}


def _entries(table: Any) -> Iterator[tuple[list[State], float]]:
    """The states and the probability of each entry."""
    codes, values = table.cells()
    rows = ([v.states[code] for v, code in zip(table.scope, row, strict=True)] for row in codes.tolist())
    return zip(rows, values.tolist(), strict=True)


def _row(distribution: Any, table: Any, states: list[State], probability: float) -> dict[str, Any]:
    """A joint state with its probability, and the moments of the real variables in it if it is possible.

    Names of variables come first: where one is `probability`, the number is called `probability_`.
    """
    row = {v.name: plain_state(state) for v, state in zip(table.scope, states, strict=True)}
    numbers: dict[str, Any] = {"probability": probability}
    if table is not distribution and probability:
        found = distribution.condition({v.name: state for v, state in zip(table.scope, states, strict=True)})
        numbers |= _moments(found.to_moments())
    for title, number in numbers.items():
        while title in row:
            title += "_"
        row[title] = number
    return row


def _moments(distribution: Any) -> dict[str, Any]:
    mean, variance = (plain(moment) for moment in (distribution.mean(), distribution.variance()))
    return {"mean": mean, "variance": variance}


def findings_document(findings: Findings) -> dict[str, Any]:
    """The findings by the names of their variables; a row for each state with its weight, or soft probability."""
    soft = findings.soft
    return {
        name: [
            {"state": plain_state(state), "probability" if name in soft else "weight": weight}
            for state, weight in value.items()
        ]
        if isinstance(value, dict)
        else plain_state(value)
        for name, value in findings.to_dict().items()
    }


def about_document(result: Result) -> dict[str, Any]:
    """The guarantees and the status of a result."""
    guarantees = {part: guarantee.value for part, guarantee in result.guarantees.items()}
    return {"guarantees": guarantees, "status": result.status.value}


def plain_state(state: Any) -> Any:
    """A state or number as JSON can hold it: in words if it is not finite, a list for an array.

    >>> plain_state(np.float64(0.5)), plain_state(float("inf")), plain_state(np.arange(2)), plain_state("yes")
    (0.5, 'inf', [0, 1], 'yes')
    """
    found = state.tolist() if isinstance(state, np.ndarray | np.generic) else state
    return str(found) if isinstance(found, float) and not math.isfinite(found) else plain(found)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
