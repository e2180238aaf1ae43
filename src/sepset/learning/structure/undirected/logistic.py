r"""Neighborhoods of discrete columns: each regressed on all others with a penalty on blocks.

With contrasts $C_k$ whose columns sum to zero, and $C_k^\top C_k = K_k I$ for $K_k$ states,

$$\log P(x_j \mid \mathbf x_{-j}) = C_j[x_j] \Bigl(b_j + \sum_k B_{jk} C_k[x_k]^\top\Bigr) - \log Z, \qquad
\min \; -\tfrac1M \sum_m \log P(x_j[m] \mid \mathbf x_{-j}[m])
+ \lambda \sum_k \sqrt{(K_j - 1)(K_k - 1)} \, \|B_{jk}\|_F$$

For two states $C = (1, -1)^\top$: the Ising model with couplings $B_{jk}$. The norm does not depend on the order of
states.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import AnyInts, Bools, Floats, Ints
from sepset.base.threads import NEVER, interruptible
from sepset.inference.iterate import keeping
from sepset.kernels.structure.logistic import logistic_regression
from sepset.learning.structure.columns import Columns

SWEEPS = 10_000
LONG = 1_000_000
"""The cells of data whose regressions take so long that Ctrl-C must be heeded amid one."""

NEWTON_STEPS = 25
"""The steps of Newton's method for a likelihood without penalty; states that are told apart perfectly never end it."""


class States(NamedTuple):
    """Codes among the states that occur.

    Attributes:
        codes: one row per column.
        cards: how many states of each column occur.
        places: for each column, the new code of each state; -1 if it does not occur.
        weights: of the rows; they sum to one.
        contrasts: one matrix per column, filled up with zeros.
    """

    codes: AnyInts
    cards: Ints
    places: tuple[Ints, ...]
    weights: Floats
    contrasts: Floats

    @classmethod
    def of(cls, columns: Columns) -> States:
        """The states of the columns that occur in rows of positive weight."""
        used = columns.weights > 0
        places = []
        for codes, card in zip(columns.codes, columns.cards.tolist(), strict=True):
            seen = np.bincount(codes[used], minlength=card) > 0
            places.append(np.where(seen, np.cumsum(seen) - 1, -1))
        cards = np.array([int(p.max()) + 1 for p in places], np.int64)
        codes = np.array([p[c[used]] for p, c in zip(places, columns.codes, strict=True)], np.int32)
        return cls(codes, cards, tuple(places), columns.weights[used] / columns.total, _contrasts(cards))

    def coded(self, columns: Columns) -> tuple[AnyInts, Floats]:
        """Other rows in these codes, without those that have a state that does not occur here; and their weights."""
        codes = np.array([p[c] for p, c in zip(self.places, columns.codes, strict=True)], np.int32)
        known = (codes >= 0).all(0)
        return np.ascontiguousarray(codes[:, known]), columns.weights[known].astype(np.float64)

    def design(self, k: int, codes: AnyInts) -> Floats:
        """The contrasts of a column in each row."""
        return np.asarray(self.contrasts[k, codes[k], : self.cards[k] - 1])


def contrasts_of(card: int) -> Floats:
    """Orthogonal contrasts of so many states: columns sum to zero, and their squares to the number of states.

    >>> contrasts_of(2).tolist()
    [[1.0], [-1.0]]
    """
    steps = np.arange(1, card)
    matrix = np.where(np.arange(card)[:, None] < steps, 1.0, 0.0)
    matrix[steps, steps - 1] = -steps
    return np.asarray(matrix * np.sqrt(card / (steps * (steps + 1.0))))


def _contrasts(cards: Ints) -> Floats:
    most = max(2, int(cards.max()))
    found = np.zeros((len(cards), most, most - 1))
    for k, card in enumerate(cards.tolist()):
        found[k, :card, : card - 1] = contrasts_of(card)
    return found


@dataclass(frozen=True, slots=True, eq=False)
class LogisticNeighborhoods:
    """Regressions of every column on all others with one penalty.

    Attributes:
        states: what the coefficients are about.
        coefficients: for each column, a block per column, and last its intercept.
        violation: the largest violation of a condition of optimality.
    """

    states: States
    coefficients: Floats
    violation: float

    @property
    def selected(self) -> Bools:
        """For each column, which others it depends on."""
        return np.asarray((self.coefficients[:, :-1] != 0.0).any((2, 3)))

    @property
    def num_parameters(self) -> int:
        """The number of coefficients in the blocks that are not zero."""
        sizes = self.states.cards - 1
        return int((np.outer(sizes, sizes) * self.selected).sum())

    def log_likelihood(self, columns: Columns) -> float:
        """The sum of the columns' conditional log-likelihoods of other rows, per row."""
        codes, weights = self.states.coded(columns)
        total = 0.0
        for j, card in enumerate(self.states.cards.tolist()):
            if card > 1 and weights.sum() > 0:
                logits = self.logits_of(j, codes)
                top = logits.max(1, keepdims=True)
                logs = logits - top - np.log(np.exp(logits - top).sum(1, keepdims=True))
                total += float(weights @ logs[np.arange(len(weights)), codes[j]] / weights.sum())
        return total

    def logits_of(self, j: int, codes: AnyInts) -> Floats:
        """The logit of each state of a node given all others, in each row."""
        card, states = int(self.states.cards[j]), self.states
        inner = np.tile(self.coefficients[j, -1, : card - 1, 0], (codes.shape[1], 1))
        for k in np.flatnonzero(self.selected[j]).tolist():
            block = self.coefficients[j, k, : card - 1, : states.cards[k] - 1]
            inner += states.design(k, codes) @ block.T
        return np.asarray(inner @ states.contrasts[j, :card, : card - 1].T)


def group_weights(states: States) -> Floats:
    """The weight of each pair's penalty, by the number of its coefficients."""
    return np.asarray(np.sqrt(np.outer(states.cards - 1.0, states.cards - 1.0)))


def largest_penalty(states: States) -> float:
    """The smallest penalty with which no column depends on another."""
    scale = group_weights(states)
    top = 0.0
    for j in range(len(states.cards)):
        for k in range(j):
            if scale[j, k] > 0.0:
                table = np.zeros((int(states.cards[j]), int(states.cards[k])))
                np.add.at(table, (states.codes[j], states.codes[k]), states.weights)
                apart = table - np.outer(table.sum(1), table.sum(0))
                rows, columns = contrasts_of(len(table)), contrasts_of(table.shape[1])
                top = max(top, float(np.linalg.norm(rows.T @ apart @ columns)) / scale[j, k])
    return top


def logistic_path(states: States, penalties: Floats, tolerance: float) -> Iterator[LogisticNeighborhoods]:
    """The regressions with each penalty, each started from the one before."""
    num, most = len(states.cards), states.contrasts.shape[2]
    coefficients, curvatures = np.zeros((num, num + 1, most, most)), np.ones((num, num + 1))
    codes, cards, contrasts = _with_intercept(states)
    logits = [np.zeros((len(states.weights), int(card))) for card in states.cards]
    scale = group_weights(states)
    for penalty in penalties.tolist():
        worst = 0.0
        charges = np.hstack([penalty * scale, np.zeros((num, 1))])
        with keeping(lambda: LogisticNeighborhoods(states, coefficients.copy(), math.inf)):
            for j in np.flatnonzero(states.cards > 1).tolist():
                own = (charges[j], coefficients[j], curvatures[j], logits[j])
                given = (codes, j, cards, states.weights, contrasts, *own, SWEEPS, tolerance)
                regress = partial(logistic_regression, *given)
                worst = max(worst, regress(NEVER) if codes.size < LONG else interruptible(regress))
        yield LogisticNeighborhoods(states, coefficients.copy(), worst)


def _with_intercept(states: States) -> tuple[AnyInts, Ints, Floats]:
    """Codes, numbers of states and contrasts with one more column of one state, for intercepts."""
    codes = np.vstack([states.codes, np.zeros((1, states.codes.shape[1]), states.codes.dtype)])
    one = np.zeros((1, *states.contrasts.shape[1:]))
    one[0, 0, 0] = 1.0
    return codes, np.append(states.cards, 1), np.concatenate([states.contrasts, one])


def refitted_loss(states: States, j: int, given: Ints) -> float:
    r"""The smallest mean loss of a column given some others, without a penalty: Newton's method from zero."""
    card = int(states.cards[j])
    if card < 2:
        return 0.0
    parts = [np.ones((len(states.weights), 1)), *(states.design(k, states.codes) for k in given.tolist())]
    x, contrasts = np.hstack(parts), states.contrasts[j, :card, : card - 1]
    beta = np.zeros((card - 1, x.shape[1]))
    loss = math.inf
    for _ in range(NEWTON_STEPS):
        before = loss
        loss, step = _newton(x, contrasts, states.codes[j], states.weights, beta)
        if not before - loss > 1e-9:
            break
        beta = _searched(x, contrasts, states, j, beta, step, loss)
    return loss


def _newton(x: Floats, contrasts: Floats, answers: AnyInts, weights: Floats, beta: Floats) -> tuple[float, Floats]:
    """The mean loss, and Newton's step."""
    logits = x @ beta.T @ contrasts.T
    logits -= logits.max(1, keepdims=True)
    p = np.exp(logits)
    p /= p.sum(1, keepdims=True)
    loss = -float(weights @ np.log(p[np.arange(len(answers)), answers]))
    residual = p.copy()
    residual[np.arange(len(answers)), answers] -= 1.0
    gradient = (residual * weights[:, None] @ contrasts).T @ x
    means = p @ contrasts
    inner = np.einsum("rc,ca,cb->rab", p, contrasts, contrasts) - means[:, :, None] * means[:, None, :]
    size = beta.size
    hessian = np.einsum("r,rab,rk,rl->akbl", weights, inner, x, x, optimize=True).reshape(size, size)
    step = -np.linalg.lstsq(hessian, gradient.ravel(), rcond=1e-12)[0]
    return loss, step.reshape(beta.shape)


def _searched(x: Floats, contrasts: Floats, states: States, j: int, beta: Floats, step: Floats, loss: float) -> Floats:
    """The first point along a step, by halves, that has a smaller loss; the start if none has."""
    share = 1.0
    while share > 1e-6:
        point = beta + share * step
        logits = x @ point.T @ contrasts.T
        top = logits.max(1)
        logs = top + np.log(np.exp(logits - top[:, None]).sum(1)) - logits[np.arange(len(top)), states.codes[j]]
        if float(states.weights @ logs) < loss:
            return np.asarray(point)
        share /= 2.0
    return beta
