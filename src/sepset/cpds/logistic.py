r"""Logistic CPDs: sigmoid for a binary child, softmax for more states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats, Ints
from sepset.base.frozen import fill, read_only
from sepset.base.optimize import minimize, minimize_sparse, softmax
from sepset.cpds.configurations import Configurations, checked_configurations
from sepset.cpds.counts import Unseen, check_unseen, column, states_of, unseen_message
from sepset.cpds.cpd import ParameterBlock
from sepset.cpds.discrete import DiscreteCPD
from sepset.cpds.priors.dirichlet import Laplace, Normal
from sepset.errors import DataError, ModelError, NotApplicable
from sepset.factors.algebra import Columns, Factor, num_entries
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.variables.variable import Discrete

MAX_SUMS = 2**16
"""The most distinct partial sums of weights that the chain of factors may have at one place."""


REMEDY = "Give a prior such as Normal(1), or unseen='uniform'."
"""What to do where a parent's state never occurs."""


class LogisticCPD(DiscreteCPD):
    r"""A child whose log-odds are a sum over its parents: $P(x \mid \mathbf u) \propto \exp(b_x + \sum_i w_{i,u_i,x})$.

    Args:
        child: the variable $X$; for two states this is the sigmoid of $b + \sum_i w_{i,u_i}$ for the second state.
        given: for each parent its weights, `[parent states, child states]`; for a binary child also one log-odds a
            parent state, or one number for every parent state but the first.
        bias: one number a child state; for a binary child also the log-odds alone.
        block: the parameters it uses; by default its own, named after the child.

    Reference: Koller & Friedman, section 5.4.2.

    >>> x, a, b = Discrete("x"), Discrete("a"), Discrete("b")
    >>> cpd = LogisticCPD(x, {a: 2.0, b: -1.0}, bias=-1.0)
    >>> cpd, cpd.to_table()[1, 1]
    (LogisticCPD(x[2] | a[2], b[2]), array([0.5, 0.5]))
    """

    __slots__ = ("bias", "weights")
    bias: Floats
    weights: tuple[Floats, ...]

    def __init__(
        self,
        child: Discrete,
        given: Mapping[Discrete, ArrayLike],
        bias: ArrayLike = 0.0,
        *,
        block: ParameterBlock | str | None = None,
    ) -> None:
        self._init(child, tuple(given), block)
        weights = tuple(_weights(self, parent, numbers) for parent, numbers in given.items())
        fill(self, bias=_bias(self, bias), weights=tuple(map(read_only, weights)))

    @property
    def num_parameters(self) -> int:
        """One less than the child's states, times one plus one for each parent state but the first."""
        return (self.child.num_states - 1) * (1 + sum(p.num_states - 1 for p in self.parents))

    def _select(self, rows: Columns, num_rows: int) -> tuple[Floats, Ints]:
        logits = np.tile(self.bias, (num_rows, 1))
        for parent, weights in zip(self.parents, self.weights, strict=True):
            logits += weights[column(rows, parent, num_rows, self)]
        return softmax(logits), np.arange(num_rows)

    @property
    def auxiliaries(self) -> tuple[Discrete, ...]:
        """The partial sums of weights between the parents; none where the table is smaller."""
        sums = self._partial_sums()
        return () if sums is None else self._sum_variables(sums)

    def factors(self) -> tuple[Factor, ...]:
        r"""The table, or a chain over the distinct partial sums $s_i = s_{i-1} + w_{i,u_i}$ where that is smaller.

        Sums repeat where weights do: $n$ parents of one weight have $n + 1$ of them. Where neither fits, the table's
        size is refused with its figure.
        """
        sums = self._partial_sums()
        if sums is None:
            return super().factors()
        ends = self._sum_variables(sums)
        chain: list[Factor] = []
        for i, end in enumerate(ends):
            before = () if i == 0 else (ends[i - 1],)
            codes, next_codes = _grid([v.num_states for v in (*before, self.parents[i])]), sums[i][1]
            rows = np.column_stack([codes, next_codes])
            chain.append(SparseTable((*before, self.parents[i], end), rows, np.ones(len(rows))))
        logits = sums[-1][0][:, None, :] + self.weights[-1][None]
        values = softmax(logits.reshape(-1, self.child.num_states)).reshape(logits.shape)
        return (*chain, Table((ends[-1], self.parents[-1], self.child), values))

    def _sum_variables(self, sums: list[tuple[Floats, Ints]]) -> tuple[Discrete, ...]:
        return tuple(self.child.hidden(f"sum {i + 1}", len(levels)) for i, (levels, _) in enumerate(sums))

    def _partial_sums(self) -> list[tuple[Floats, Ints]] | None:
        """For each parent but the last, the distinct sums up to it and which of them each (sum, state) leads to."""
        table = num_entries(self.scope)
        levels, cells, steps = self.bias[None, :], 0, []
        for weights in self.weights[:-1]:
            joint = (levels[:, None, :] + weights[None]).reshape(-1, self.child.num_states)
            odds = np.round(joint - joint[:, :1], 12) + 0.0
            keys, axis = (odds[:, 1], None) if odds.shape[1] == 2 else (odds, 0)  # single numbers sort faster than rows
            _, first, which = np.unique(keys, axis=axis, return_index=True, return_inverse=True)
            cells += 4 * len(joint)
            if cells >= table or len(first) > MAX_SUMS:
                return None
            levels = joint[first]
            steps.append((levels, which.reshape(-1)))
        last = len(levels) * self.child.num_states * (self.parents[-1].num_states if self.parents else 1)
        return steps if steps and cells + last < table else None

    def irrelevant(self, context: Mapping[Any, Any]) -> tuple[Discrete, ...]:
        """The parents outside `context` whose states all add the same log-odds; no context makes others drop out."""
        fixed = self.fixed(context)
        pairs = zip(self.parents, self.weights, strict=True)
        return tuple(p for p, w in pairs if p not in fixed and _is_flat(w))

    def statistics(self, codes: Columns, weights: ArrayLike | None = None) -> Configurations:
        """The (weighted) counts of the distinct joint states that occur; `+` merges."""
        return Configurations.of(codes, self.scope, weights, self)

    def from_statistics(self, stats: Configurations, prior: object = None, *, unseen: Unseen = "uniform") -> Self:
        r"""The logistic CPD of largest likelihood, found by L-BFGS; the problem is concave.

        First states (of the child and of each parent) have weight zero, which makes the answer unique. Without a
        prior, weights of perfectly separated data grow until the likelihood stops improving.

        Args:
            stats: configurations as `statistics` gives them.
            prior: `Normal` or `Laplace` on the weights (not the bias), or None for maximum likelihood.
            unseen: parent states that never occur get weight zero ("uniform", the default), or "raise" an error.

        Reference: Koller & Friedman, section 17.4.4.
        """
        check_unseen(unseen)
        if prior is not None and not isinstance(prior, Normal | Laplace):
            raise NotApplicable(f"{self!r} takes a Normal or Laplace prior or None; found {prior!r}.")
        known = checked_configurations(stats, self.scope, self)
        if unseen == "raise":
            _refuse_unseen(self, known)
        fit = _Fit(known, prior.scale**-2.0 if isinstance(prior, Normal) else 0.0)
        if isinstance(prior, Laplace):
            found = minimize_sparse(fit.loss, np.zeros(fit.size), fit.on_weights / prior.scale)
        else:
            found = minimize(fit.loss, np.zeros(fit.size))
        bias, weights = fit.unpack(found)
        return type(self)(self.child, dict(zip(self.parents, weights, strict=True)), bias, block=self.block)


class _Fit:
    """The penalized negative log-likelihood over bias and weights, first states held at zero."""

    def __init__(self, known: Configurations, precision: float) -> None:
        self.codes, self.counts, self.precision = known.codes, known.counts, precision
        self.cards = [v.num_states for v in known.variables]
        self.k = self.cards[-1]
        self.sizes = [1, *(card - 1 for card in self.cards[:-1])]
        self.size = sum(self.sizes) * (self.k - 1)

    @property
    def on_weights(self) -> Floats:
        """One for each number that is a weight, zero for those of the bias."""
        return np.concatenate([np.zeros(self.k - 1), np.ones(self.size - self.k + 1)])

    def unpack(self, flat: Floats) -> tuple[Floats, list[Floats]]:
        rows = np.concatenate([np.zeros((sum(self.sizes), 1)), flat.reshape(sum(self.sizes), self.k - 1)], axis=1)
        bias, *rest = np.split(rows, np.cumsum(self.sizes)[:-1])
        return bias[0], [np.concatenate([np.zeros((1, self.k)), part]) for part in rest]

    def loss(self, flat: Floats) -> tuple[float, Floats]:
        bias, weights = self.unpack(flat)
        logits = np.tile(bias, (len(self.counts), 1))
        for axis, part in enumerate(weights):
            logits += part[self.codes[:, axis]]
        probabilities = softmax(logits)
        places = np.arange(len(self.counts)), self.codes[:, -1]
        top = logits.max(axis=1)
        log_sums = top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
        value = -float(self.counts @ (logits[places] - log_sums))
        error = probabilities * self.counts[:, None]
        error[places] -= self.counts
        slopes = [error.sum(axis=0, keepdims=True)]
        for axis, part in enumerate(weights):
            slope = self.precision * part
            np.add.at(slope, self.codes[:, axis], error)
            slopes.append(slope[1:])
            value += 0.5 * self.precision * float((part**2).sum())
        return value, np.concatenate(slopes)[:, 1:].reshape(-1)


def _refuse_unseen(cpd: LogisticCPD, known: Configurations) -> None:
    for axis, parent in enumerate(cpd.parents):
        silent = np.flatnonzero(known.state_counts(axis) == 0)
        if silent.size:
            raise DataError(unseen_message(cpd, silent, parent.num_states, states_of(parent), REMEDY))


def _bias(cpd: LogisticCPD, bias: ArrayLike) -> Floats:
    numbers, k = np.array(bias, dtype=np.float64), cpd.child.num_states
    if numbers.shape == () and (k == 2 or numbers == 0.0):
        numbers = np.eye(k)[-1] * numbers
    return _finite(cpd, numbers, (k,), "the bias")


def _weights(cpd: LogisticCPD, parent: Discrete, given: ArrayLike) -> Floats:
    numbers, k = np.array(given, dtype=np.float64), cpd.child.num_states
    if k == 2 and numbers.shape == ():
        numbers = np.where(np.arange(parent.num_states) == 0, 0.0, numbers)
    if k == 2 and numbers.shape == (parent.num_states,):
        numbers = np.stack([np.zeros(parent.num_states), numbers], axis=1)
    return _finite(cpd, numbers, (parent.num_states, k), parent.name)


def _finite(cpd: LogisticCPD, numbers: Floats, shape: tuple[int, ...], what: str) -> Floats:
    if numbers.shape != shape:
        raise ModelError(f"{cpd!r}: the weights of {what} have the shape {numbers.shape}; expected {shape}.")
    if not np.isfinite(numbers).all():
        raise ModelError(f"{cpd!r}: the weights of {what} hold {numbers[~np.isfinite(numbers)][0]}; give finite ones.")
    return numbers


def _is_flat(weights: Floats) -> bool:
    odds = weights - weights[:, :1]
    return bool((odds == odds[0]).all())


def _grid(cards: list[int]) -> Ints:
    """All joint codes in C order, one row each."""
    return np.indices(cards).reshape(len(cards), -1).T
