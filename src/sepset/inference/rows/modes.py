r"""The most probable completion of many rows at once, by max-product elimination with the rows as one more axis.

$$\arg\max_{\mathbf h} \prod_k \phi_k(\mathbf o[m], \mathbf h) \qquad\text{for each row } m$$

Findings are masks, so that rows with any holes go through the same tables. Logarithms are added, which no range of
numbers can upset.

Reference: Koller & Friedman, section 13.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.inference.method import Prepared
from sepset.variables.evidence import Evidence

Scope: TypeAlias = tuple[int, ...]
Tensor: TypeAlias = tuple[Scope, Floats]
"""A scope of variable positions, and logarithms with an axis for rows (of length one where all share it) before it."""

HELD = 2**22
"""About how many numbers the tables of the rows that are completed together may have."""


def row_modes(engine: Prepared, codes: Ints) -> tuple[Ints, Floats]:
    r"""The rows with $\arg\max_{\mathbf h} P(\mathbf h, \mathbf o)$ in their holes, and the log of that maximum.

    Rows of probability zero have -inf, and their completion means nothing. Among equals the choice is fixed by the
    elimination order, and the first state wins.

    Args:
        engine: a prepared discrete problem.
        codes: one row each, over the first variables of the problem, -1 in holes; what further variables the problem
            has are summed out, not maximized.

    Cost: one elimination over all rows; row by row where there is something to sum out, or tables are very large.

    >>> import sepset as ss
    >>> a, b = ss.Discrete("a"), ss.Discrete("b")
    >>> net = ss.MarkovNet(ss.Table((a, b), [[1.0, 4.0], [2.0, 3.0]]))
    >>> engine = ss.CliqueTree().prepare(net.problem())
    >>> filled, logs = row_modes(engine, np.array([[-1, -1], [1, -1], [-1, 0]]))
    >>> filled.tolist(), np.exp(logs).round(6).tolist()
    ([[0, 1], [1, 1], [1, 0]], [4.0, 3.0, 2.0])
    """
    codes = np.asarray(codes, np.int64)
    cards = engine.problem.variables.cards
    factors = [(engine.problem.scope(i), i) for i in range(engine.problem.num_factors)]
    order = _order(engine, codes.shape[1])
    held = sum(int(np.prod(cards[list(scope)])) for scope in _scopes([s for s, _ in factors], order))
    if len(cards) > codes.shape[1] or held > HELD:
        return _one_by_one(engine, codes)
    logs = [(scope, _log(engine, i)) for scope, i in factors]
    size = max(1, HELD // max(held, 1))
    parts = [_together(logs, order, cards, codes[i : i + size]) for i in range(0, len(codes), size)]
    filled = np.concatenate([codes[:0], *(part for part, _ in parts)])
    return filled, np.concatenate([np.zeros(0), *(best for _, best in parts)])


def _order(engine: Prepared, num_variables: int) -> list[int]:
    """All variables, first those that the plan of all marginals eliminates."""
    planned = engine.plan((), ()).positions.tolist()
    known = set(planned)
    return [*planned, *(v for v in range(num_variables) if v not in known)]


def _scopes(scopes: list[Scope], order: Sequence[int]) -> Iterator[Scope]:
    """The scope of every table that elimination makes."""
    left = [set(scope) for scope in scopes]
    for v in order:
        made = set().union({v}, *(s for s in left if v in s))
        yield tuple(sorted(made))
        left = [s for s in left if v not in s] + [made - {v}]


def _log(engine: Prepared, number: int) -> Floats:
    factor = engine.problem.factor(number)
    table = factor if hasattr(factor, "values") else factor.to_table()  # type: ignore[attr-defined]
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(table.values)[None])


def _together(factors: list[Tensor], order: Sequence[int], cards: Ints, codes: Ints) -> tuple[Ints, Floats]:
    """The codes with their holes filled: variables maximized in order, then read back."""
    tensors = [*factors, *_masks(codes, cards)]
    steps: list[tuple[int, Scope, Floats]] = []
    for v in order:
        touched = [t for t in tensors if v in t[0]]
        tensors = [t for t in tensors if v not in t[0]]
        scope = tuple(sorted({u for t in touched for u in t[0]} - {v}))
        total = _added(touched, (*scope, v), cards)
        steps.append((v, scope, total))
        tensors.append((scope, total.max(axis=-1)))
    filled, each = codes.copy(), np.arange(len(codes))
    for v, scope, total in reversed(steps):
        filled[:, v] = total[(each, *(filled[:, u] for u in scope))].argmax(axis=-1)
    return filled, np.broadcast_to(_added(tensors, (), cards), (len(codes),))


def _masks(codes: Ints, cards: Ints) -> Iterator[Tensor]:
    """What is found of each variable, as logarithms of 0 and 1."""
    for v, column in enumerate(codes.T):
        allowed = (column[:, None] < 0) | (column[:, None] == np.arange(int(cards[v])))
        yield (v,), np.where(allowed, 0.0, -np.inf)


def _added(tensors: Sequence[Tensor], scope: Scope, cards: Ints) -> Floats:
    """The sum of tensors over a scope that holds all of theirs."""
    total = np.zeros((1, *(int(cards[u]) for u in scope)))
    for own, array in tensors:
        inside = sorted(range(len(own)), key=lambda i: scope.index(own[i]))
        shape = [int(cards[u]) if u in own else 1 for u in scope]
        total = total + array.transpose(0, *(i + 1 for i in inside)).reshape(len(array), *shape)
    return total


def _one_by_one(engine: Prepared, codes: Ints) -> tuple[Ints, Floats]:
    """The same, one row after the other; findings are masks, so that one program serves every row."""
    cards = [int(card) for card in engine.problem.variables.cards]
    filled, logs = codes.copy(), np.zeros(len(codes))
    for row, found in enumerate(codes.tolist()):
        weights = {v: np.eye(cards[v])[code] if code >= 0 else np.ones(cards[v]) for v, code in enumerate(found)}
        best = engine.best(Evidence({}, weights=weights), range(len(found)))
        logs[row] = best.log_value
        if best.log_value > -np.inf:
            filled[row] = [int(best.values[v]) for v in range(len(found))]
    return filled, logs
