"""Answers in plain values: dictionaries of names, states and numbers, which JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sepset.variables.variable import Discrete

if TYPE_CHECKING:
    from sepset.inference.result import MarginalsResult, QueryResult, Result


def answer_document(answer: QueryResult) -> dict[str, Any]:
    """A query as targets, evidence, a row for each joint state, and guarantees."""
    return {
        "targets": [v.name for v in answer.scope],
        "given": _findings(answer.findings.to_dict()),
        **distribution_document(answer.distribution),
        "log_partition": _finite(answer.log_partition),
        **about_document(answer),
    }


def marginals_document(answers: MarginalsResult) -> dict[str, Any]:
    """Marginals as evidence, a distribution for each variable, and guarantees."""
    parts = {name: distribution_document(answers[name]) for name in answers}
    return {
        "given": _findings(answers.findings.to_dict()),
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
    if not reals:
        return {"probabilities": _rows(distribution)}
    rows = _rows(distribution.marginalize(reals))
    return {"probabilities": [row | _moments_in(distribution, row) for row in rows]}


def _rows(table: Any) -> list[dict[str, Any]]:
    """The states and the probability of each entry."""
    codes, values = table.cells()
    names = [v.name for v in table.scope]
    rows = ([v.states[code] for v, code in zip(table.scope, row, strict=True)] for row in codes.tolist())
    pairs = zip(rows, values.tolist(), strict=True)
    return [{**dict(zip(names, row, strict=True)), "probability": p} for row, p in pairs]


def _moments_in(distribution: Any, row: Mapping[str, Any]) -> dict[str, Any]:
    """The moments of the real variables in a joint state of the discrete ones; nothing if it has no probability."""
    if not row["probability"]:
        return {}
    states = {v.name: row[v.name] for v in distribution.scope if isinstance(v, Discrete)}
    return _moments(distribution.condition(states).to_moments())


def _moments(distribution: Any) -> dict[str, Any]:
    mean, variance = (np.asarray(moment).tolist() for moment in (distribution.mean(), distribution.variance()))
    return {"mean": mean, "variance": variance}


def _findings(given: Mapping[str, Any]) -> dict[str, Any]:
    """The findings, with weights as a row for each state."""
    return {
        name: [{"state": state, "weight": weight} for state, weight in value.items()]
        if isinstance(value, dict)
        else value
        for name, value in given.items()
    }


def about_document(result: Result) -> dict[str, Any]:
    """The guarantees and the status of a result."""
    guarantees = {part: guarantee.value for part, guarantee in result.guarantees.items()}
    return {"guarantees": guarantees, "status": result.status.value}


def plain_value(value: Any) -> Any:
    """A state or number of Python for one of NumPy, and a list for an array.

    >>> plain_value(np.float64(0.5)), plain_value(np.arange(2)), plain_value("yes")
    (0.5, [0, 1], 'yes')
    """
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
