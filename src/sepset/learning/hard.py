"""Rows completed by the most probable values of what they miss, for hard-assignment EM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sepset.errors import ImpossibleEvidence
from sepset.evidence import Evidence
from sepset.factors.algebra import Columns
from sepset.inference.findings import Findings
from sepset.models.bayesnet import BayesNet

if TYPE_CHECKING:
    from sepset.inference.tabletree import PreparedTables

Array: TypeAlias = NDArray[np.float64]
Codes: TypeAlias = NDArray[np.int64]
Tensor: TypeAlias = tuple[tuple[int, ...], Array]
"""A scope of variable positions, and logarithms with an axis for rows (of length one where all share it) before it."""

HELD = 2**22
"""About how many numbers the largest table over several rows may have."""


def completed(engine: PreparedTables, rows: Findings, model: BayesNet) -> tuple[Columns, Array]:
    r"""The rows with $\arg\max_{\mathbf h} P(\mathbf h \mid \mathbf o)$ in their holes, and their log probabilities.

    Cost: one max-product elimination over many rows at once; row by row where CPDs bring in auxiliaries, which are
    summed out and not maximized.
    Reference: Koller & Friedman, sections 13.2 and 19.2.2.6.
    """
    num_visible = len(model.variables)
    codes = np.full((len(rows), num_visible), -1, dtype=np.int64)
    codes[:, list(rows.positions)] = rows.codes
    holes = np.flatnonzero((codes < 0).any(axis=1))
    if len(engine.problem.variables) > num_visible:
        codes[holes] = [_alone(engine, codes[row]) for row in holes.tolist()]
    else:
        plan = engine.plan((), ())
        factors, order, cards = _logs(engine), plan.positions.tolist(), engine.problem.variables.cards
        size = max(1, HELD // max(plan.largest, 1))
        for part in np.split(holes, range(size, len(holes), size)):
            codes[part] = _together(factors, order, cards, codes[part])
    columns: Columns = {v: codes[:, i] for i, v in enumerate(model.variables)}
    logs = [cpd.log_probability({v: columns[v] for v in cpd.scope}) for cpd in model.cpds]
    return columns, np.sum(logs, axis=0) if logs else np.zeros(len(rows))


def _logs(engine: PreparedTables) -> list[Tensor]:
    """The logarithms of all factors."""
    found = []
    for number, factor in enumerate(engine.problem.factors()):
        dense = factor if hasattr(factor, "values") else factor.to_table()  # type: ignore[attr-defined]
        with np.errstate(divide="ignore"):
            found.append((engine.problem.scope(number), np.log(dense.values)[None]))
    return found


def _together(factors: list[Tensor], order: Sequence[int], cards: Codes, codes: Codes) -> Codes:
    """The codes with their holes filled, all rows at once: variables maximized in order, then read back."""
    tensors = list(factors)
    for v in range(codes.shape[1]):
        allowed = (codes[:, v : v + 1] < 0) | (codes[:, v : v + 1] == np.arange(int(cards[v])))
        tensors.append(((v,), np.where(allowed, 0.0, -np.inf)))
    steps: list[tuple[int, tuple[int, ...], Array]] = []
    for v in [*order, *(u for u in range(codes.shape[1]) if u not in set(order))]:
        touched = [t for t in tensors if v in t[0]]
        tensors = [t for t in tensors if v not in t[0]]
        scope = tuple(sorted({u for t in touched for u in t[0]} - {v}))
        total = _added(touched, (*scope, v), cards)
        steps.append((v, scope, total))
        tensors.append((scope, total.max(axis=-1)))
    if (_added(tensors, (), cards) == -np.inf).any():
        raise ImpossibleEvidence("Some rows have probability zero at these parameters.")
    filled, each = codes.copy(), np.arange(len(codes))
    for v, scope, total in reversed(steps):
        at = (each if len(total) > 1 else np.zeros(len(codes), np.int64), *(filled[:, u] for u in scope))
        filled[:, v] = total[at].argmax(axis=-1)
    return filled


def _added(tensors: Sequence[Tensor], scope: tuple[int, ...], cards: Codes) -> Array:
    """The sum of tensors over a scope that holds all of theirs."""
    total = np.zeros((1, *(int(cards[u]) for u in scope)))
    for own, array in tensors:
        inside = sorted(range(len(own)), key=lambda i: scope.index(own[i]))
        shape = [int(cards[u]) if u in own else 1 for u in scope]
        total = total + array.transpose(0, *(i + 1 for i in inside)).reshape(len(array), *shape)
    return total


def _alone(engine: PreparedTables, codes: Codes) -> list[int]:
    """The codes of one row with its holes filled; findings are masks, so that one program serves every row."""
    cards = engine.problem.variables.cards
    weights = {
        v: np.eye(int(cards[v]))[code] if code >= 0 else np.ones(int(cards[v])) for v, code in enumerate(codes.tolist())
    }
    best = engine.best(Evidence({}, weights=weights), range(len(codes)))
    if best.log_value == -np.inf:
        raise ImpossibleEvidence("Some rows have probability zero at these parameters.")
    return [int(best.values[v]) for v in range(len(codes))]
