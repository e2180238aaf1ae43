r"""Noisy-or and noisy-max: parents act on the child independently of each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.frozen import fill
from sepset.base.optimize import maximize
from sepset.cpds.configurations import Configurations, checked_configurations
from sepset.cpds.counts import Unseen, check_unseen, column, pseudo_counts, states_of, unseen_message
from sepset.cpds.cpd import ParameterBlock
from sepset.cpds.discrete import DiscreteCPD, check_rows
from sepset.cpds.influences import Influences
from sepset.errors import DataError, ModelError
from sepset.factors.algebra import Columns, Factor
from sepset.variables.variable import Discrete, State

Effect: TypeAlias = float | Sequence[float] | Mapping[State, float] | Floats


class NoisyOr(DiscreteCPD):
    r"""A binary child that each parent turns on by itself.

    $$P(\text{off} \mid \mathbf u) = (1 - \lambda_0) \prod_i (1 - \lambda_{i, u_i})$$

    Args:
        child: a variable with two states. It is *on* in its second state, or in True where states are booleans.
        given: for each parent, the probability that it alone turns the child on: one number for all states but the
            parent's *off* state (its first, or False), or one number a state, in order or by state.
        leak: the probability that the child is on by itself.
        on: the child's state that means on, where the default is wrong.
        block: the parameters it uses; by default its own, named after the child.

    Factors form a chain of small tables where that is smaller than the full table: 30 parents take 30 factors.

    Reference: Koller & Friedman, section 5.4.1.

    >>> fever, flu, cold = (Discrete(name, (False, True)) for name in ("fever", "flu", "cold"))
    >>> cpd = NoisyOr(fever, given={flu: 0.8, cold: 0.4}, leak=0.01)
    >>> cpd, cpd.to_table()[True, True]
    (NoisyOr(fever[2] | flu[2], cold[2]), array([0.1188, 0.8812]))
    """

    __slots__ = ("influences",)
    influences: Influences

    def __init__(
        self,
        child: Discrete,
        given: Mapping[Discrete, Effect],
        leak: float = 0.0,
        *,
        on: State | None = None,
        block: ParameterBlock | str | None = None,
    ) -> None:
        self._init(child, tuple(given), block)
        if child.num_states != 2:
            raise ModelError(f"{self!r} needs a child with two states; found {child!r}. Use NoisyMax.")
        switch = 1 - _off_code(child) if on is None else child.code(on)
        effects = tuple(_activation(self, parent, effect) for parent, effect in given.items())
        leaks = _chances(self, np.array([leak], dtype=np.float64), "the leak")
        influences = Influences(leaks[0], effects, (1 - switch, switch))
        fill(self, influences=influences)

    @property
    def on(self) -> State:
        """The child's state that means on."""
        return self.child.states[self.influences.order[1]]

    @property
    def leak(self) -> float:
        """The probability that the child is on by itself."""
        return float(self.influences.leak[1])

    @property
    def effects(self) -> dict[Discrete, Floats]:
        """For each parent and each of its states, the probability that it alone turns the child on."""
        return {parent: e[:, 1] for parent, e in zip(self.parents, self.influences.effects, strict=True)}

    @property
    def num_parameters(self) -> int:
        """One for the leak (unless it is zero) and one for each state of each parent but off."""
        return sum(int(rows.sum()) for rows in self._free())

    def _free(self) -> list[Bools]:
        """Which rows can be learned: the leak unless zero, and states that are not off or not zero."""
        rows = [np.array([self.leak > 0])]
        for parent, effect in self.effects.items():
            rows.append((np.arange(parent.num_states) != _off_code(parent)) | (effect > 0))
        return rows

    def _select(self, rows: Columns, num_rows: int) -> tuple[Floats, Ints]:
        return _select(self, self.influences, rows, num_rows)

    @property
    def auxiliaries(self) -> tuple[Discrete, ...]:
        """The running maxima of the chain; none where the table is smaller."""
        chained = self.influences.is_decomposed(self.parents)
        return self.influences.auxiliaries(self.child, self.parents) if chained else ()

    def factors(self) -> tuple[Factor, ...]:
        """A chain of factors, one a parent, or the table where that is smaller."""
        chained = self.influences.is_decomposed(self.parents)
        return self.influences.chain(self.child, self.parents) if chained else super().factors()

    def irrelevant(self, context: Mapping[Any, Any]) -> tuple[Discrete, ...]:
        """The parents outside `context` that drop out in it, found without a table."""
        return self.influences.irrelevant(self.parents, self.fixed(context))

    def statistics(self, codes: Columns, weights: ArrayLike | None = None) -> Configurations:
        """The (weighted) counts of the distinct joint states that occur; `+` merges."""
        return Configurations.of(codes, self.scope, weights, self)

    def from_statistics(self, stats: Configurations, prior: object = None, *, unseen: Unseen = "uniform") -> Self:
        r"""The noisy-or of largest likelihood (plus pseudo-counts) found by L-BFGS with gradients from expected counts.

        A leak of zero stays zero, and so do parents in their off state.

        Args:
            stats: configurations as `statistics` gives them.
            prior: `Dirichlet` pseudo-counts for each learned pair (off, on), or None for maximum likelihood.
            unseen: parent states that never occur get one half ("uniform", the default), or "raise" an error.

        Reference: Koller & Friedman, sections 17.4.4 and 19.2.2.
        """
        tables = _learned(self, self.influences, self._free(), stats, prior, unseen)
        given = {parent: table[:, 1] for parent, table in zip(self.parents, tables[1:], strict=True)}
        return type(self)(self.child, given, float(tables[0][0, 1]), on=self.on, block=self.block)


class NoisyMax(DiscreteCPD):
    r"""A graded child that is the largest of its parents' independent contributions.

    $$P(X \le x \mid \mathbf u) = P(Z_0 \le x) \prod_i P(Z_i \le x \mid u_i)$$

    Args:
        child: a variable whose states are ordered, the first meaning absent.
        given: for each parent, the distributions of its contribution, `[parent states, child states]`.
        leak: the distribution of the leak over the child's states; by default absent.
        block: the parameters it uses; by default its own, named after the child.

    Rows sum to one within 1e-9 and are divided by their sums, so that long chains stay distributions.

    Reference: Koller & Friedman, section 5.4; Diez (1993), Parameter adjustment in Bayes networks.

    >>> pain, strain, flu = Discrete("pain", ("none", "mild", "severe")), Discrete("strain"), Discrete("flu")
    >>> cpd = NoisyMax(pain, {strain: [[1, 0, 0], [0.5, 0.3, 0.2]], flu: [[1, 0, 0], [0.2, 0.6, 0.2]]})
    >>> cpd, cpd.to_table()[1, 1].round(6)
    (NoisyMax(pain[3] | strain[2], flu[2]), array([0.1 , 0.54, 0.36]))
    """

    __slots__ = ("influences",)
    influences: Influences

    def __init__(
        self,
        child: Discrete,
        given: Mapping[Discrete, ArrayLike],
        leak: ArrayLike | None = None,
        *,
        block: ParameterBlock | str | None = None,
    ) -> None:
        self._init(child, tuple(given), block)
        absent = np.eye(child.num_states)[0]
        leaks = _contribution(self, absent if leak is None else leak, None)
        effects = tuple(_contribution(self, effect, parent) for parent, effect in given.items())
        fill(self, influences=Influences(leaks[0], effects, tuple(range(child.num_states))))

    @property
    def leak(self) -> Floats:
        """The distribution of the leak."""
        return self.influences.leak

    @property
    def effects(self) -> dict[Discrete, Floats]:
        """For each parent, the distributions of its contribution, `[parent states, child states]`."""
        return dict(zip(self.parents, self.influences.effects, strict=True))

    @property
    def num_parameters(self) -> int:
        """One less than the child's states for each row that is not certain absence."""
        return sum(int(rows.sum()) for rows in self._free()) * (self.child.num_states - 1)

    def _free(self) -> list[Bools]:
        """Which rows can be learned: all but those of certain absence."""
        return [table[:, 0] < 1.0 for table in (self.leak[None, :], *self.influences.effects)]

    def _select(self, rows: Columns, num_rows: int) -> tuple[Floats, Ints]:
        return _select(self, self.influences, rows, num_rows)

    @property
    def auxiliaries(self) -> tuple[Discrete, ...]:
        """The running maxima of the chain; none where the table is smaller."""
        chained = self.influences.is_decomposed(self.parents)
        return self.influences.auxiliaries(self.child, self.parents) if chained else ()

    def factors(self) -> tuple[Factor, ...]:
        """A chain of factors, one a parent, or the table where that is smaller."""
        chained = self.influences.is_decomposed(self.parents)
        return self.influences.chain(self.child, self.parents) if chained else super().factors()

    def irrelevant(self, context: Mapping[Any, Any]) -> tuple[Discrete, ...]:
        """The parents outside `context` that drop out in it, found without a table."""
        return self.influences.irrelevant(self.parents, self.fixed(context))

    def statistics(self, codes: Columns, weights: ArrayLike | None = None) -> Configurations:
        """The (weighted) counts of the distinct joint states that occur; `+` merges."""
        return Configurations.of(codes, self.scope, weights, self)

    def from_statistics(self, stats: Configurations, prior: object = None, *, unseen: Unseen = "uniform") -> Self:
        """The noisy-max of largest likelihood (plus pseudo-counts) found by L-BFGS with gradients from expected counts.

        Rows of certain absence (of the leak or of a parent's state) stay as they are.

        Args:
            stats: configurations as `statistics` gives them.
            prior: `Dirichlet` pseudo-counts for each learned row, or None for maximum likelihood.
            unseen: parent states that never occur get uniform rows (the default), or "raise" an error.
        """
        tables = _learned(self, self.influences, self._free(), stats, prior, unseen)
        return type(self)(self.child, dict(zip(self.parents, tables[1:], strict=True)), tables[0][0], block=self.block)


def _off_code(variable: Discrete) -> int:
    """The code that means off: False where states are booleans, else the first."""
    return next((code for code, state in enumerate(variable.states) if state is False), 0)


def _activation(cpd: NoisyOr, parent: Discrete, effect: Effect) -> Floats:
    """The contributions (off, on) of each state of a parent."""
    if isinstance(effect, Mapping):
        chances = np.zeros(parent.num_states)
        for state, chance in effect.items():
            chances[parent.code(state)] = chance
    elif np.ndim(effect) == 0:
        chances = np.where(np.arange(parent.num_states) == _off_code(parent), 0.0, float(effect))  # type: ignore[arg-type]
    else:
        chances = np.array(effect, dtype=np.float64)
    if chances.shape != (parent.num_states,):
        raise ModelError(
            f"{cpd!r} needs one probability, or one for each of the {parent.num_states} states of {parent.name}; "
            f"found {chances.shape}."
        )
    return _chances(cpd, chances, parent.name)


def _chances(cpd: NoisyOr, chances: Floats, what: str) -> Floats:
    bad = ~((chances >= 0) & (chances <= 1))
    if bad.any():
        raise ModelError(f"{cpd!r}: the effect of {what} is {chances[bad][0]:g}. Probabilities lie in [0, 1].")
    return np.stack([1.0 - chances, chances], axis=1)


def _contribution(cpd: NoisyMax, effect: ArrayLike, parent: Discrete | None) -> Floats:
    """The rows of a parent's contribution (or the leak's single row), checked."""
    rows = np.array(effect, dtype=np.float64)
    shape = (1 if parent is None else parent.num_states, cpd.child.num_states)
    what = "the leak" if parent is None else parent.name
    if rows.shape != shape and (parent is not None or rows.shape != shape[1:]):
        raise ModelError(f"{cpd!r}: the contribution of {what} has the shape {rows.shape}; expected {shape}.")
    rows = rows.reshape(shape)
    check_rows(rows, cpd, lambda place: f"({what}={parent.states[place]!r})" if parent else f"({what})")
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def _select(cpd: DiscreteCPD, influences: Influences, rows: Columns, num_rows: int) -> tuple[Floats, Ints]:
    codes = [column(rows, parent, num_rows, cpd) for parent in cpd.parents]
    return influences.probabilities(codes, num_rows), np.arange(num_rows)


def _learned(
    cpd: DiscreteCPD,
    influences: Influences,
    free: list[Bools],
    stats: object,
    prior: object,
    unseen: Unseen,
) -> list[Floats]:
    """The contributions (leak first) of largest likelihood; rows that are not free stay."""
    check_unseen(unseen)
    known = checked_configurations(stats, cpd.scope, cpd)
    for axis, parent in enumerate(cpd.parents):
        silent = np.flatnonzero((known.state_counts(axis) == 0) & free[axis + 1])
        if silent.size and unseen == "raise":
            raise DataError(unseen_message(cpd, silent, parent.num_states, states_of(parent)))
    k = cpd.child.num_states
    alphas = [pseudo_counts(prior, (1, k), cpd) * rows[:, None] for rows in free]
    level_of = np.argsort(influences.order)
    codes, levels = np.asfortranarray(known.codes[:, :-1]), level_of[known.codes[:, -1]]
    start = [influences.leak[None, :], *influences.effects]
    start = [np.where(rows[:, None], 1.0 / k, table) for rows, table in zip(free, start, strict=True)]

    def expected(tables: list[Floats]) -> tuple[float, list[Floats]]:
        return Influences(tables[0][0], tuple(tables[1:]), influences.order).expected(codes, levels, known.counts)

    if expected(start)[0] == -np.inf:
        raise DataError(f"{cpd!r}: the data hold joint states that its fixed parts forbid. Give it a leak.")
    return maximize(expected, start, free, alphas)
