r"""Logistic regressions of one discrete variable on others, with a penalty on the norm of each variable's block.

With contrasts $C_k$ (rows are states, columns sum to zero), the logits of column $j$ in a row are
$C_j (b + \sum_k B_k C_k[x_k])$, and the objective is the mean loss plus $\sum_k \lambda_k \|B_k\|_F$.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sepset.base.arraytypes import AnyInts, Bytes, Floats
from sepset.kernels.kernel import kernel


@kernel(borrows=True)
def residuals(logits: Floats, answers: AnyInts, weights: Floats, out: Floats) -> float:
    """The mean loss; `out` becomes its gradient with respect to each row's logits."""
    loss = 0.0
    for r in range(len(answers)):
        top = -np.inf
        for c in range(logits.shape[1]):
            top = max(top, logits[r, c])
        total = 0.0
        for c in range(logits.shape[1]):
            out[r, c] = np.exp(logits[r, c] - top)
            total += out[r, c]
        for c in range(logits.shape[1]):
            out[r, c] *= weights[r] / total
        out[r, answers[r]] -= weights[r]
        loss += weights[r] * (top + np.log(total) - logits[r, answers[r]])
    return loss


@kernel(borrows=True)
def block_gradient(
    by_state: Floats, rows: Floats, columns: Floats, block: Floats, penalty: float, out: Floats
) -> float:
    r"""The gradient of the loss along a block, $C_j^\top A^\top C_k$, and how far it is from a condition of optimality.

    Args:
        by_state: $A$, the sum of the gradients of rows with each state of the other column.
        rows: $C_j$.
        columns: $C_k$.
        block: $B_k$.
        penalty: of its norm.
        out: the gradient.
    """
    norm, size = 0.0, 0.0
    for a in range(rows.shape[1]):
        for b in range(columns.shape[1]):
            total = 0.0
            for c in range(rows.shape[0]):
                for s in range(columns.shape[0]):
                    total += rows[c, a] * by_state[s, c] * columns[s, b]
            out[a, b] = total
            norm += total**2
            size += block[a, b] ** 2
    if size == 0.0:
        return float(max(0.0, np.sqrt(norm) - penalty))
    apart = 0.0
    for a in range(rows.shape[1]):
        for b in range(columns.shape[1]):
            apart += (out[a, b] + penalty * block[a, b] / np.sqrt(size)) ** 2
    return float(np.sqrt(apart))


@kernel(borrows=True)
def shrunken_step(
    block: Floats,
    gradient: Floats,
    rows: Floats,
    columns: Floats,
    penalty: float,
    curve: float,
    step: Floats,
    by: Floats,
) -> float:
    """The step to the minimum of a quadratic model of the loss plus the penalty, and the model's change of the loss.

    Args:
        block, gradient, rows, columns, penalty: as in `block_gradient`.
        curve: the curvature of the model.
        step: the step.
        by: the change of the logits of rows with each state of the other column.
    """
    length = 0.0
    for a in range(rows.shape[1]):
        for b in range(columns.shape[1]):
            step[a, b] = block[a, b] - gradient[a, b] / curve
            length += step[a, b] ** 2
    kept = max(0.0, 1.0 - penalty / (curve * np.sqrt(length))) if length > 0.0 else 0.0
    change = 0.0
    for a in range(rows.shape[1]):
        for b in range(columns.shape[1]):
            step[a, b] = kept * step[a, b] - block[a, b]
            change += gradient[a, b] * step[a, b] + 0.5 * curve * step[a, b] ** 2
    for s in range(columns.shape[0]):
        for c in range(rows.shape[0]):
            by[s, c] = 0.0
            for a in range(rows.shape[1]):
                for b in range(columns.shape[1]):
                    by[s, c] += rows[c, a] * step[a, b] * columns[s, b]
    return change


@kernel(borrows=True)
def add_states(logits: Floats, codes: AnyInts, by_state: Floats, sign: float) -> None:
    """Add to each row's logits those of its state."""
    for r in range(len(codes)):
        for c in range(logits.shape[1]):
            logits[r, c] += sign * by_state[codes[r], c]


@kernel(borrows=True)
def sum_states(rows: Floats, codes: AnyInts, by_state: Floats) -> None:
    """The sum of the rows with each state."""
    by_state[:] = 0.0
    for r in range(len(codes)):
        for c in range(rows.shape[1]):
            by_state[codes[r], c] += rows[r, c]


def _node_work(codes: Any, *rest: Any) -> float:
    return 60.0 * float(codes.size)


@kernel(work=_node_work)
def logistic_regression(
    codes: AnyInts,
    j: int,
    cards: AnyInts,
    weights: Floats,
    contrasts: Floats,
    penalties: Floats,
    coefficients: Floats,
    curvatures: Floats,
    logits: Floats,
    sweeps: int,
    tolerance: float,
    cancel: Bytes,
) -> float:
    """Minimize the penalized loss of one column given all others, by steps on one block at a time.

    Args:
        codes: one row per column; the last one is zero everywhere, for the intercept.
        j: the column to explain.
        cards: the number of states of each column; one for the last.
        weights: of the rows; they sum to one.
        contrasts: for each column, its contrasts, filled up with zeros; a one for the last.
        penalties: one per column; infinite where a column must not be used, zero for the last.
        coefficients: a block per column: where to start, and the result.
        curvatures: of the loss along each block: where to start, and the result.
        logits: one row per row, of the coefficients; it follows them.
        sweeps: the most visits of each block.
        tolerance: ends when no block violates its condition of optimality by more.
        cancel: a flag that ends the work.

    Returns the largest violation.
    """
    own, most, last = cards[j], contrasts.shape[2], len(cards) - 1
    rows = contrasts[j, :own, : own - 1]
    gradient, step = np.zeros((most, most)), np.zeros((most, most))
    out, trial = np.zeros_like(logits), np.zeros_like(logits)
    by_state = np.zeros((contrasts.shape[1], own))
    loss = residuals(logits, codes[j], weights, out)
    everything, worst = True, 0.0
    for _ in range(sweeps):
        worst = 0.0
        for k in range(len(cards)):
            if cancel[0]:
                return float(np.inf)
            width = 1 if k == last else cards[k] - 1
            if k == j or width == 0 or penalties[k] == np.inf:
                continue
            block, columns = coefficients[k], contrasts[k, : cards[k], :width]
            if not everything and k != last and not block[: own - 1, :width].any():
                continue
            sum_states(out, codes[k], by_state)
            apart = block_gradient(by_state, rows, columns, block, penalties[k], gradient)
            worst = max(worst, apart)
            for _ in range(60 if apart > tolerance else 0):
                change = shrunken_step(block, gradient, rows, columns, penalties[k], curvatures[k], step, by_state)
                add_states(logits, codes[k], by_state, 1.0)
                after = residuals(logits, codes[j], weights, trial)
                if after <= loss + change + 1e-15 * abs(loss):
                    loss = after
                    out, trial = trial, out
                    for a in range(own - 1):
                        for b in range(width):
                            block[a, b] += step[a, b]
                    curvatures[k] *= 0.7
                    break
                add_states(logits, codes[k], by_state, -1.0)
                curvatures[k] *= 2.0
        if worst <= tolerance and everything:
            return worst
        everything = worst <= tolerance
    return worst
