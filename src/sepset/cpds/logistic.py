r"""Logistic CPDs: sigmoid for a binary child, softmax for more states."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.checks import whole
from sepset.base.display import Shown
from sepset.base.foreign import often
from sepset.base.frames import by_label
from sepset.base.frozen import fill, read_only
from sepset.base.lazy import lazy
from sepset.base.numerics.optimize import log_softmax, minimize, minimize_sparse, softmax
from sepset.cpds.contexts import by_state, shown_terms, titles
from sepset.cpds.counts import Configurations, column, num_rows_of
from sepset.cpds.cpd import ParameterBlock
from sepset.cpds.discrete import ChainedCPD, chunks, discrete_scope
from sepset.cpds.jointstates import JointStates
from sepset.cpds.parameters import ImaginaryRows, PriorTerm
from sepset.cpds.priors.dirichlet import RowPrior
from sepset.cpds.priors.weights import WeightPrior
from sepset.cpds.registry import Fields, registered
from sepset.cpds.table import TableCPD
from sepset.errors import ModelError, NotApplicable
from sepset.factors.algebra import AnyVariable, Columns, Factor, Scope, check_size, num_entries
from sepset.factors.chains import RunningSums
from sepset.factors.decomposition import Concave, Decomposition
from sepset.factors.entries import labeled_rows, row_of
from sepset.factors.labels import name_of
from sepset.factors.table import Table
from sepset.kernels.buckets.causes import FIRST
from sepset.variables.matching import Match, state_order
from sepset.variables.variable import Discrete

FLAT = 30.0
"""Log-odds beyond which a probability is all but zero or one."""

STEEP = 690.0
"""Log-odds beyond which a probability is taken for one that floating-point numbers do not hold."""

MAX_SUMS = 2**10
"""The largest number of distinct partial sums of weights at one place of the chain of factors."""


@registered("logistic")
class LogisticCPD(ChainedCPD):
    r"""A child whose log-odds are a sum over its parents: $P(x \mid \mathbf u) \propto \exp(b_x + \sum_i w_{i,u_i,x})$.

    Args:
        child: the variable $X$; for two states this is the sigmoid of $b + \sum_i w_{i,u_i}$ for the second state.
        given: for each parent its weights, `[parent states, child states]`; for a binary child also one log-odds
            per parent state, or one number for every parent state but the first.
        bias: one number per child state; for a binary child also the log-odds alone.
        block: the parameters it uses; by default its own, named after the child.

    Reference: Koller & Friedman, section 5.4.2.
    Guarantee: exact; partial sums where smaller.
    Tested by: cpds/test_logistic.py::test_contract

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
        *,
        bias: ArrayLike = 0.0,
        block: ParameterBlock | str | None = None,
    ) -> None:
        self._init(child, tuple(given), block)
        weights = tuple(_weights(self, parent, numbers) for parent, numbers in given.items())
        fill(self, bias=_bias(self, bias), weights=tuple(map(read_only, weights)))

    def _shown(self) -> Shown:
        """The bias and the weights: of a binary child the log-odds."""
        head, weights, bias = titles(self.child), self.weights, self.bias
        if len(bias) == 2:
            head, weights, bias = head[1:], tuple(w[:, 1:] - w[:, :1] for w in weights), bias[1:] - bias[:1]
            head = [f"log-odds of {head[0]}"]
        named = [("bias", bias.tolist()), *by_state(self.parents, weights, np.zeros(len(bias)))]
        told = "" if len(bias) == 1 else f"P({self.child.name}) is proportional to the exponential of the sum"
        return shown_terms(self.label, head, named, told)

    @property
    def num_parameters(self) -> int:
        """One less than the child's states, times one plus one for each parent state but the first."""
        return (self.child.num_states - 1) * (1 + sum(p.num_states - 1 for p in self.parents))

    def _select(self, rows: Columns, num_rows: int) -> tuple[Floats, Ints]:
        return softmax(self._logits(rows, num_rows)), np.arange(num_rows)

    def _logits(self, rows: Columns, num_rows: int) -> Floats:
        """The sums of bias and weights for each row of parents."""
        logits = np.tile(self.bias, (whole("num_rows", num_rows), 1))
        for parent, weights in zip(self.parents, self.weights, strict=True):
            logits += weights[column(rows, parent, num_rows, self)]
        return logits

    def _all_logits(self) -> Floats:
        """The sums of bias and weights for all joint states of the parents, the last one fastest."""
        rows = np.array(self.bias[None])
        for weights in self.weights:
            rows = (rows[:, None, :] + weights[None]).reshape(-1, self.child.num_states)
        return rows

    @property
    def auxiliaries(self) -> tuple[Discrete, ...]:
        """The partial sums of weights between the parents; empty if the table is smaller."""
        chain = self._chain
        return chain[0].auxiliaries if chain else ()

    @property
    def size(self) -> int:
        """The entries of the chain of partial sums, or of the table if that is smaller."""
        chain = self._chain
        return chain[1] if chain else num_entries(self.scope)

    def log_probabilities(self, rows: Columns, num_rows: int) -> Floats:
        r"""The logarithms of the child's distribution for each row of parent codes, none of them -inf."""
        return log_softmax(self._logits(rows, num_rows))

    def log_probability(self, rows: Columns) -> Floats:
        """The log probability of the child's code given its parents' codes, one per row; never -inf."""
        num_rows = num_rows_of(rows, self.child, self)
        codes = column(rows, self.child, num_rows, self)
        chosen = np.empty(num_rows)
        for part in chunks(num_rows):
            logits = self._logits(self._cut(rows, part), part.stop - part.start)
            chosen[part] = log_softmax(logits)[np.arange(len(logits)), codes[part]]
        return chosen

    @property
    def _is_steep(self) -> bool:
        """Whether some probability may be too small for a floating-point number."""
        apart = [w[:, :, None] - w[:, None, :] for w in (self.bias[None], *self.weights)]
        return bool(sum((a.max(axis=0) for a in apart), np.zeros(1)).max() > STEEP)

    def to_factor(self) -> Table:
        """The table, with logarithms as entries if some probability may be too small for a number."""
        if not self._is_steep:
            return super().to_factor()
        check_size(self.scope)
        return Table.from_log(self.scope, log_softmax(self._all_logits()).reshape(-1))

    def conditioned(self, given: Mapping[Any, int]) -> LogisticCPD:
        """The logistic CPD over the other parents; the weights of those in `given` are added to the bias."""
        self._known(given)
        pairs = list(zip(self.parents, self.weights, strict=True))
        bias = self.bias + sum((w[given[p]] for p, w in pairs if p in given), np.zeros_like(self.bias))
        rest = [(p, w) for p, w in pairs if p not in given]
        return self._over(tuple(p for p, _ in rest), weights=tuple(w for _, w in rest), bias=bias)

    def _advice(self) -> str:
        """The end of a refusal: how to go on where the weights have too many sums."""
        return (
            f"Its weights differ, so that those of {len(self.parents)} hidden parents have too many sums. Observe more "
            "of its parents, round the weights to multiples of a step such as 0.1, which makes sums equal, or count in "
            "draws of the whole network (ss.sample without given=)."
        )

    def _tabled(self, free: tuple[Discrete, ...], given: Mapping[Any, int]) -> TableCPD:
        """The table over some parents: the log-odds of all joint states, with each parent's weights added at once."""
        check_size((*free, self.child))
        rest = self.conditioned({p: given[p] for p in self.parents if p not in free})
        rest = rest._over(free, weights=tuple(rest.weights[rest.parents.index(p)] for p in free), bias=rest.bias)
        rows = rest._all_logits()
        for part in chunks(len(rows)):
            rows[part] = softmax(rows[part])
        return TableCPD._unchecked(self.child, rows.reshape(-1), given=free, block=self.block)

    @often
    def concave(self, given: Mapping[Any, int]) -> Concave:
        r"""$-\log(1 + \sum_{c \ne x} e^{s_c})$, concave in the log-odds $s_c$ of the other states relative to $x$."""
        rest, code = self.conditioned(given), given[self.child]

        def relative(logs: Floats) -> Floats:
            return np.delete(logs - logs[..., code, None], code, axis=-1)

        zeros = tuple(np.zeros(p.num_states) for p in rest.parents)
        terms = tuple(relative(w) for w in rest.weights)
        functions = _log_first, _log_first_slope, _log_first_points
        return Concave(rest.parents, zeros, terms, relative(rest.bias), *functions, kind=FIRST)

    def factors(self) -> tuple[Factor, ...]:
        r"""The table, or a chain over the distinct partial sums $s_i = s_{i-1} + w_{i,u_i}$ where that is smaller.

        Sums repeat where weights do: $n$ parents of one weight have $n + 1$ of them. If neither fits, an error names
        the size of the table.
        """
        chain = self._chain
        return chain[0].filled if chain else super().factors()

    def _parts(self) -> Decomposition:
        chain = self._chain
        return chain[0] if chain else Decomposition(super().factors())

    @property
    def _chain(self) -> tuple[Decomposition, int] | None:
        """The chain of partial sums of log-odds and its number of entries; None if the table is smaller."""
        table, most = num_entries(self.scope), self._most_sums
        if not self._may_have_few_sums(most):
            return None
        order = self._order
        odds, parents = [_odds(self.weights[i]) for i in order], [self.parents[i] for i in order]
        sums = RunningSums.of(self.bias[1:] - self.bias[0], odds, most=most)
        if sums is None:
            return None
        size = sums.entries(parents) + len(sums.levels[-1]) * num_entries((parents[-1], self.child))
        final = partial(self._final, odds[-1])
        return (sums.chain(self.child, parents, final, is_log=True), size) if size < table else None

    @property
    def _most_sums(self) -> int:
        """The most distinct partial sums of a chain that is smaller than the table; zero if there is none."""
        return min(MAX_SUMS, math.isqrt(num_entries(self.scope) // 8)) if len(self.parents) > 1 else 0

    def _may_have_few_sums(self, most: int) -> bool:
        r"""Whether the sums of all parents but the last may be so few, in any order.

        $|A + B| \ge |A| + |B| - 1$; and some parents have at most as many times more than all others but the last as
        that has states, if it is one of them.
        """
        total = largest = 0
        for weights in self.weights:
            added = _num_odds(weights) - 1  # or more
            total, largest = total + added, max(largest, added)
            if 1 + total - largest > most:
                return False
        if not most:
            return False
        enough = most * max(parent.num_states for parent in self.parents)
        return RunningSums.of(np.zeros(len(self.bias) - 1), [*map(_odds, self.weights)], most=enough) is not None

    @property
    def is_tabled(self) -> bool:
        """Whether the weights have too many sums for a chain, and the table is made whatever is observed."""
        return self._has_table and not self._may_have_few_sums(self._most_sums)

    def _final(self, last: Floats, sums: Floats) -> Floats:
        """The log probabilities `[sums, states of the last parent, child's states]`."""
        odds = sums[:, None, :] + last[None]
        logits = np.concatenate([np.zeros((*odds.shape[:2], 1)), odds], axis=2)
        return log_softmax(logits.reshape(-1, self.child.num_states)).reshape(logits.shape)

    def irrelevant(self, context: Mapping[Any, Any]) -> tuple[Discrete, ...]:
        """The parents outside `context` whose states all add the same log-odds; no context makes others drop out."""
        fixed = self.fixed(context)
        pairs = zip(self.parents, self.weights, strict=True)
        return tuple(p for p, w in pairs if p not in fixed and _is_flat(w))

    @classmethod
    def from_form(cls, child: Discrete, fields: Fields, *, parents: tuple[Discrete, ...], block: str | None) -> Self:
        """The CPD described by a file."""
        k, sizes = child.num_states, [p.num_states for p in parents]
        weights = np.split(fields["weights"].array((sum(sizes), k)), np.cumsum(sizes)[:-1])
        return cls(child, dict(zip(parents, weights, strict=False)), bias=fields["bias"].array((k,)), block=block)

    @property
    def parameters(self) -> Weights:
        """The bias and the weights, with all operations that learning needs."""
        return Weights(self)


@dataclass(frozen=True, eq=False, repr=False)
class Weights(JointStates[LogisticCPD]):
    r"""The bias and the weights of a logistic CPD.

    Those of all first states (of the child and of each parent) are zero in the coordinates, which makes them unique:

    $$\frac{\partial \theta_{x \mid \mathbf u}}{\partial w_{i,s,c}} = 1[u_i = s]\, \theta_{x \mid \mathbf u}
    \left(1[x = c] - \theta_{c \mid \mathbf u}\right)$$

    Reference: Koller & Friedman, section 17.4.4.
    """

    @property
    def arrays(self) -> dict[str, Floats]:
        """The bias, and the weights of the parents' states, stacked."""
        k = self.cpd.child.num_states
        return {"bias": self.cpd.bias, "weights": np.concatenate([np.zeros((0, k)), *self.cpd.weights])}

    def from_arrays(self, arrays: Mapping[str, Floats]) -> LogisticCPD:
        """The CPD with this bias and these weights."""
        ends = np.cumsum([p.num_states for p in self.cpd.parents])
        weights = np.split(arrays["weights"], ends[:-1]) if self.cpd.parents else []
        for array in weights:
            array.setflags(write=False)
        return self.cpd._with(bias=arrays["bias"], weights=tuple(weights))

    def random(self, rng: np.random.Generator, *, interior: bool = False) -> LogisticCPD:
        """The CPD with standard normal weights and bias."""
        own = self.arrays
        weights = rng.normal(size=own["weights"].shape)
        return self.from_arrays({"weights": weights, "bias": rng.normal(size=own["bias"].shape)})

    def reordered(self, scope: Scope) -> LogisticCPD:
        """The same weights, with parents and states in another order."""
        *parents, child = discrete_scope(scope)
        states, match = state_order(self.cpd.child, child), Match.of(self.cpd.parents, parents)
        parts = [self.cpd.weights[axis][order] for axis, order in zip(match.axes, match.orders, strict=True)]
        weights = tuple(read_only(part[:, states]) for part in parts)
        return self.cpd._named((*parents, child), bias=self.cpd.bias[states], weights=weights)

    def relabels(self, variable: AnyVariable) -> bool:
        """True: the states of the child and of every parent may be in any order."""
        return True

    def relabeled(self, variable: Discrete, order: Ints) -> LogisticCPD:
        """The weights of a parent's states, or all weights of the child's, in another order."""
        bias, weights = self.cpd.bias, list(self.cpd.weights)
        if variable == self.cpd.child:
            bias, weights = bias[order], [w[:, order] for w in weights]
        else:
            place = self.cpd.parents.index(variable)
            weights[place] = weights[place][order]
        return self.from_arrays({"bias": bias.copy(), "weights": np.concatenate(weights)})

    def takes(self, prior: object) -> bool:
        """Whether a prior is on weights, or consists of imaginary rows."""
        return isinstance(prior, WeightPrior) or super().takes(prior)

    def prior_term(self, prior: object, cpds: Sequence[LogisticCPD], *, is_theta: bool = False) -> PriorTerm:
        """A density of the weights, or imaginary rows."""
        if isinstance(prior, RowPrior):
            return PriorTerm(rows=ImaginaryRows(*prior.rows(cpds)))
        if isinstance(prior, WeightPrior):
            return PriorTerm(density=prior)
        raise NotApplicable(
            f"{name_of(self.cpd)} takes a prior such as NormalWeights, LaplaceWeights or ImaginaryData; found "
            f"{prior!r}. For "
            "a mixed network give a list of priors."
        )

    @property
    def remedy(self) -> str:
        """The advice in errors about parents' states that never occur."""
        return "Give a prior such as NormalWeights(1), or unseen='uniform'."

    def fitted(self, stats: Configurations, prior: PriorTerm | None) -> LogisticCPD:
        r"""The weights of maximum likelihood, or posterior, found by L-BFGS; the problem is concave.

        Without a prior, weights of perfectly separated data grow until the likelihood stops improving; parents' states
        that never occur get weight zero.
        """
        density: WeightPrior | None = None if prior is None else prior.density
        fit = PenalizedFit(stats, 0.0 if density is None else density.precision)
        if density is not None and density.rate > 0:
            return self.at(minimize_sparse(fit.loss, np.zeros(fit.size), self.penalized * density.rate))
        return self.at(minimize(fit.loss, np.zeros(fit.size)))

    def keeping(self, made: LogisticCPD, unseen: Sequence[Bools]) -> LogisticCPD:
        """An estimate with the weights of this CPD for parents' states that never occur."""
        silent = np.concatenate([np.zeros(0, np.bool_), *unseen])[:, None]
        own, new = self.of(self.at(self.coordinates)).arrays, self.of(made).arrays
        return self.from_arrays({"bias": new["bias"], "weights": np.where(silent, own["weights"], new["weights"])})

    @property
    def coordinates(self) -> Floats:
        """The bias, then each parent's weights, relative to first states."""
        odds = [w - w[:, :1] for w in self.cpd.weights]
        bias = self.cpd.bias - self.cpd.bias[0] + sum(o[0] for o in odds)
        return np.concatenate([bias[1:], *((o - o[:1])[1:, 1:].reshape(-1) for o in odds)])

    def at(self, coordinates: Floats) -> LogisticCPD:
        """The CPD with these weights."""
        k, sizes = self.cpd.child.num_states, [p.num_states - 1 for p in self.cpd.parents]
        rows = np.zeros((1 + sum(sizes), k))
        rows[:, 1:] = coordinates.reshape(len(rows), k - 1)
        parts = np.split(rows[1:], np.cumsum(sizes)[:-1]) if sizes else []
        weights = [np.concatenate([np.zeros((1, k)), part]) for part in parts]
        return self.from_arrays({"bias": rows[0], "weights": np.concatenate([np.zeros((0, k)), *weights])})

    def score_slope(self, stats: Floats) -> Floats:
        """Counts minus expected counts, summed by parent's state."""
        if self.possible is not None:
            apart = np.eye(self.cpd.child.num_states)[self.possible.codes[:, -1]] - self._shares()
            return self._by_row(apart * stats[:, None])
        counts = stats.reshape([v.num_states for v in self.cpd.scope])
        return self._by_state(counts - self.cpd.to_table().values * counts.sum(axis=-1, keepdims=True))

    def information(self, stats: Floats) -> Floats:
        """The variances of the counts, summed by parent's state."""
        if self.possible is not None:
            each = self._shares()
            return self._by_row(each * (1.0 - each) * stats[:, None])
        counts, share = stats.reshape([v.num_states for v in self.cpd.scope]), self.cpd.to_table().values
        return self._by_state(share * (1.0 - share) * counts.sum(axis=-1, keepdims=True))

    def _shares(self) -> Floats:
        """The distribution of the child in each joint state that the rows allow."""
        assert self.possible is not None  # there are too many to list them all
        return self.cpd.probabilities(self.possible.columns, len(self.possible.counts))

    def _by_row(self, rows: Floats) -> Floats:
        """The same sums as those of a table, of one row of numbers per joint state that the rows allow."""
        assert self.possible is not None  # there are too many to list them all
        parts = [rows.sum(axis=0)[1:]]
        for parent, codes in zip(self.cpd.parents, self.possible.codes.T, strict=False):
            sums = np.zeros((parent.num_states, rows.shape[1]))
            np.add.at(sums, codes, rows)
            parts.append(sums[1:, 1:].reshape(-1))
        return np.concatenate(parts)

    def _by_state(self, table: Floats) -> Floats:
        """The sums of a table by the child's state, then by those of child and each parent, without first states."""
        child = table.ndim - 1
        parts = [table.sum(axis=tuple(range(child)))[1:]]
        for axis in range(child):
            rest = tuple(a for a in range(child) if a != axis)
            parts.append(table.sum(axis=rest)[1:, 1:].reshape(-1))
        return np.concatenate(parts)

    @property
    def penalized(self) -> Floats:
        """One for each weight, zero for the bias."""
        bias = self.cpd.child.num_states - 1
        return np.repeat([0.0, 1.0], [bias, self.cpd.num_parameters - bias])

    @property
    def names(self) -> tuple[str, ...]:
        """Each free parameter as a bias or a weight."""
        own, states = self.cpd.child, self.cpd.child.states[1:]
        causes = [f"weight of {p.name}={state!r}" for p in self.cpd.parents for state in p.states[1:]]
        return tuple(f"{what} for {own.name}={state!r}" for what in ("bias", *causes) for state in states)

    @property
    def weighed(self) -> tuple[tuple[dict[str, Any], Any], ...]:
        """The parent's state and the child's state of each weight, in the order of `names`; no parent for a bias."""
        causes = [{p.name: state} for p in self.cpd.parents for state in p.states[1:]]
        return tuple((cause, state) for cause in ({}, *causes) for state in self.cpd.child.states[1:])

    def doubled(self, pair: Discrete) -> LogisticCPD:
        r"""The logistic CPD of two draws: $\theta_x \theta_{x'} \propto e^{s_x + s_{x'}}$."""

        def added(numbers: Floats) -> Floats:
            sums = numbers[..., :, None] + numbers[..., None, :]
            return sums.reshape(*numbers.shape[:-1], -1)

        weights = {p: added(w) for p, w in zip(self.cpd.parents, self.cpd.weights, strict=True)}
        return LogisticCPD(pair, weights, bias=added(self.cpd.bias))

    @property
    def values(self) -> Floats:
        """The same as the coordinates: weights have no constraints."""
        return self.coordinates

    def moved(self, step: Floats) -> LogisticCPD:
        """The CPD with its weights changed by a step, those of first states held fixed."""
        own, more = self.arrays, self.of(self.at(step)).arrays
        return self.from_arrays({name: own[name] + more[name] for name in own})

    def table_slope(self, slope: Floats, *, sign: float = -1.0) -> Floats:
        """The gradient with respect to the weights; with a sign of 1 the sums of the terms whose difference it is."""
        table = self.cpd.to_table().values
        towards = table * slope.reshape(table.shape)
        return self._by_state(towards + sign * table * towards.sum(axis=-1, keepdims=True))


class PenalizedFit:
    """The penalized negative log-likelihood over bias and weights, first states held at zero."""

    def __init__(self, known: Configurations, precision: float) -> None:
        self.codes, self.counts, self.precision = known.codes, known.counts, precision
        self.cards = [v.num_states for v in known.variables]
        self.k = self.cards[-1]
        self.sizes = [1, *(card - 1 for card in self.cards[:-1])]
        self.size = sum(self.sizes) * (self.k - 1)

    @lazy
    def _indicators(self) -> tuple[Any, Any]:
        """In every row a one for the bias and for each parent that is not in its first state; and the transpose."""
        from scipy.sparse import csr_array

        codes, starts = self.codes[:, :-1], np.cumsum(self.sizes)[:-1]
        row, axis = np.nonzero(codes > 0)
        rows = np.concatenate([np.arange(len(codes)), row])
        columns = np.concatenate([np.zeros(len(codes), np.int64), starts[axis] + codes[row, axis] - 1])
        found = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(codes), sum(self.sizes)))
        return found, csr_array(found.T)

    def loss(self, flat: Floats) -> tuple[float, Floats]:
        """The penalized negative log-likelihood, and its gradient."""
        indicators, turned = self._indicators
        weights = flat.reshape(-1, self.k - 1)
        logits = np.concatenate([np.zeros((len(self.counts), 1)), indicators @ weights], axis=1)
        probabilities = softmax(logits)
        places = np.arange(len(self.counts)), self.codes[:, -1]
        top = logits.max(axis=1)
        log_sums = top + np.log(np.exp(logits - top[:, None]).sum(axis=1))
        value = -float(self.counts @ (logits[places] - log_sums)) + 0.5 * self.precision * float(
            (weights[1:] ** 2).sum()
        )
        error = probabilities * self.counts[:, None]
        error[places] -= self.counts
        slope = turned @ error[:, 1:]
        slope[1:] += self.precision * weights[1:]
        return value, np.asarray(slope, np.float64).reshape(-1)


def _bias(cpd: LogisticCPD, bias: ArrayLike) -> Floats:
    numbers, k = np.array(labeled_rows(bias, cpd.child, None, cpd), dtype=np.float64), cpd.child.num_states
    if numbers.shape == () and (k == 2 or numbers == 0.0):
        numbers = np.eye(k)[-1] * numbers
    return _finite(cpd, numbers, (k,), "the bias")


def _weights(cpd: LogisticCPD, parent: Discrete, given: ArrayLike) -> Floats:
    k = cpd.child.num_states
    if k == 2 and isinstance(named := by_label(given), Mapping):
        given = row_of(parent, named, cpd)
    numbers = np.array(labeled_rows(given, cpd.child, parent, cpd), dtype=np.float64)
    if k == 2 and numbers.shape == ():
        numbers = np.where(np.arange(parent.num_states) == 0, 0.0, numbers)
    if k == 2 and numbers.shape == (parent.num_states,):
        numbers = np.stack([np.zeros(parent.num_states), numbers], axis=1)
    return _finite(cpd, numbers, (parent.num_states, k), parent.name)


def _finite(cpd: LogisticCPD, numbers: Floats, shape: tuple[int, ...], what: str) -> Floats:
    if numbers.shape != shape:
        raise ModelError(f"{name_of(cpd)}: the weights of {what} have the shape {numbers.shape}; expected {shape}.")
    if not np.isfinite(numbers).all():
        raise ModelError(
            f"{name_of(cpd)}: the weights of {what} hold {numbers[~np.isfinite(numbers)][0]}; give finite ones."
        )
    return numbers


def _odds(weights: Floats) -> Floats:
    """Log-odds relative to the first state of the child."""
    return np.asarray(weights[:, 1:] - weights[:, :1])


def _num_odds(weights: Floats) -> int:
    """The number of distinct log-odds of the states of a parent, up to rounding; of the child's second state alone.

    >>> _num_odds(np.array([[0.0, 1.0], [2.0, 3.0], [0.0, 0.5]]))
    2
    """
    return len({round(row[-1] - row[0], 12) for row in weights[:, :2].tolist()})


def _is_flat(weights: Floats) -> bool:
    odds = weights - weights[:, :1]
    return bool((odds == odds[0]).all())


def _log_first(sums: Floats) -> Floats:
    r"""$-\log(1 + \sum_c e^{s_c})$."""
    top = np.maximum(sums.max(axis=-1, initial=0.0), 0.0)
    rest = np.exp(-top) + np.exp(sums - top[..., None]).sum(axis=-1)
    return np.asarray(-top - np.log(rest))


def _log_first_slope(sums: Floats) -> Floats:
    """Minus the probabilities of the states but the first."""
    return np.asarray(-np.exp(sums + _log_first(sums)[..., None]))


def _log_first_points(low: Floats, high: Floats, number: int) -> Floats:
    """Arguments at equal distances, where some gradient is not all but zero or one."""
    return np.linspace(np.clip(low, -FLAT, FLAT), np.clip(high, -FLAT, FLAT), number)
