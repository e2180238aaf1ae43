r"""Noisy-or and noisy-max: parents act on the child independently of each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.checks import finite_array, is_number
from sepset.base.display import Shown
from sepset.base.foreign import often
from sepset.base.frames import by_label
from sepset.base.frozen import fill
from sepset.base.numerics.optimize import maximize
from sepset.cpds.contexts import by_state, setting, shown_causes, shown_terms, titles
from sepset.cpds.counts import Configurations, Contexts, columns_of, decode, expected_log
from sepset.cpds.cpd import ParameterBlock
from sepset.cpds.discrete import MOST_TABLED, TOLERANCE, ChainedCPD, DiscreteCPD, check_rows, discrete_scope
from sepset.cpds.influences import Influences
from sepset.cpds.jointstates import EngineValues, JointStates, dense_values
from sepset.cpds.multinomials import exponents, from_logits, logits
from sepset.cpds.parameters import ImaginaryRows, PriorTerm, Varied
from sepset.cpds.priors.dirichlet import CellPrior, FamilyPrior, RowPrior
from sepset.cpds.registry import Fields, registered
from sepset.cpds.table import TableCPD
from sepset.errors import DataError, ModelError, NotApplicable, ScopeError
from sepset.factors.algebra import AnyVariable, Columns, Factor, Scope, check_size, num_entries
from sepset.factors.decomposition import Concave, Decomposition
from sepset.factors.entries import labeled_rows
from sepset.factors.labels import name_of
from sepset.semiring import SUM, Semiring
from sepset.variables.matching import Match, state_codes
from sepset.variables.variable import Discrete, State

Effect: TypeAlias = float | Sequence[float] | Mapping[State, float] | Floats


class NoisyCPD(ChainedCPD):
    """A child that is the maximum of independent contributions: shared parts of `NoisyOr` and `NoisyMax`."""

    __slots__ = ("influences",)
    influences: Influences

    def _free(self) -> Bools:
        """Which rows of contributions can be learned, the leak's first."""
        raise NotImplementedError

    @property
    def num_parameters(self) -> int:
        """One less than the child's states for each row of contributions that can be learned."""
        return int(self._free().sum()) * (self.child.num_states - 1)

    def _select(self, rows: Columns, num_rows: int) -> tuple[Floats, Ints]:
        codes = columns_of(rows, self.parents, num_rows, self)
        return self.influences.probabilities(codes, num_rows), np.arange(num_rows)

    def _tabled(self, free: tuple[Discrete, ...], given: Mapping[Any, int]) -> TableCPD:
        """The table over some parents, each of which acts on all joint states of those before it at once."""
        check_size((*free, self.child))
        values = self.conditioned({p: given[p] for p in self.parents if p not in free}).influences.table()
        return TableCPD._unchecked(self.child, values, given=free, block=self.block)

    @property
    def _is_chain(self) -> bool:
        return self.influences.is_decomposed

    def _num_levels(self, most: int) -> int:
        return self.influences.num_levels(most)

    @property
    def absent(self) -> int:
        """The child's lowest state, in which all contributions are."""
        return self.influences.order[0]

    @property
    def auxiliaries(self) -> tuple[Discrete, ...]:
        """The running maxima of the chain; empty if the table is smaller."""
        return self.influences.auxiliaries(self.child, self.parents) if self._is_chain else ()

    def factors(self) -> tuple[Factor, ...]:
        """A chain of factors, one per parent, or the table if that is smaller."""
        return self._parts().filled

    @property
    def size(self) -> int:
        """The entries of the chain, or of the table if that is smaller."""
        return self.influences.chain_entries(self.parents, self._order) if self._is_chain else num_entries(self.scope)

    def _parts(self) -> Decomposition:
        """The chain, which only sums allow, or the table if that is smaller."""
        if self._is_chain:
            return self.influences.chain(self.child, self.parents, self._order)
        return Decomposition(super().factors())

    def conditioned(self, given: Mapping[Any, int]) -> Self:
        """The same form over the other parents; the contributions of those in `given` become part of the leak."""
        known = self._known(given)
        free = tuple(p for i, p in enumerate(self.parents) if i not in known)
        return self._over(free, influences=self.influences.absorbing(known)) if known else self

    def decomposed(self, given: Mapping[Any, int], semiring: Semiring = SUM) -> Decomposition:
        """The chain for sums; for maxima the form in which auxiliaries are functions of the parents, or the table."""
        if semiring is SUM:
            return super().decomposed(given, semiring)
        rest = self.conditioned(given)
        if (made := rest.influences.for_maxima(self.child, rest.parents, given.get(self.child), rest.line)) is not None:
            return made
        why = "Its contributions differ, so that maxima and logarithms need the table. Observe more parents."
        self._check_tabled(num_entries(rest.scope), len(rest.parents), why)
        return rest._whole()

    def is_whole(self, given: Mapping[Any, int]) -> bool:
        """Whether its factor for maxima is one table of all variables that are not in `given` (codes)."""
        rest = self.conditioned(given)
        return (
            num_entries(rest.scope) <= MOST_TABLED
            and rest.influences.for_maxima(self.child, rest.parents, given.get(self.child), rest.line) is None
        )

    @often
    def concave(self, given: Mapping[Any, int]) -> Concave:
        r"""$P(X \le x) (1 - e^s)$ with $s = \sum_i \log P(Z_i < x \mid u_i) - \log P(Z_i \le x \mid u_i)$."""
        rest = self.conditioned(given)
        return rest.influences.concave(rest.parents, given[self.child])

    def irrelevant(self, context: Mapping[Any, Any]) -> tuple[Discrete, ...]:
        """The parents outside `context` that drop out in it, found without a table."""
        return self.influences.irrelevant(self.parents, self.fixed(context))

    @property
    def parameters(self) -> Contributions[Self]:
        """The contributions, with all operations that learning needs."""
        return Contributions(self, self._free())


@registered("noisy_or")
class NoisyOr(NoisyCPD):
    r"""A binary child that each parent can turn on independently of the others.

    $$P(\text{off} \mid \mathbf u) = (1 - \lambda_0) \prod_i (1 - \lambda_{i, u_i})$$

    Args:
        child: a variable with two states. It is *on* in its second state, or in True where states are booleans.
        given: for each parent, the probability that it alone turns the child on: one number for all states but the
            parent's *off* state (its first, or False), or one number per state, in order or by state.
        leak: the probability that the child is on by itself.
        on: the child's state that means on, if it is not the default.
        block: the parameters it uses; by default its own, named after the child.

    Factors form a chain of small tables if that is smaller than the full table: 30 parents take 30 factors.

    Reference: Koller & Friedman, section 5.4.1.
    Guarantee: exact; a chain, no table.
    Tested by: cpds/test_noisy.py::test_contract_of_noisy_or

    >>> fever, flu, cold = (Discrete(name, (False, True)) for name in ("fever", "flu", "cold"))
    >>> cpd = NoisyOr(fever, given={flu: 0.8, cold: 0.4}, leak=0.01)
    >>> cpd, cpd.to_table()[True, True]
    (NoisyOr(fever[2] | flu[2], cold[2]), array([0.1188, 0.8812]))
    """

    __slots__ = ()

    def __init__(
        self,
        child: Discrete,
        given: Mapping[Discrete, Effect],
        *,
        leak: float = 0.0,
        on: State | None = None,
        block: ParameterBlock | str | None = None,
    ) -> None:
        self._init(child, tuple(given), block)
        if child.num_states != 2:
            raise ModelError(f"{self!r} needs a child with two states; found {child!r}. Use NoisyMax.")
        switch = 1 - _off_code(child) if on is None else child.code(on)
        effects = tuple(_activation(self, parent, effect) for parent, effect in given.items())
        leaks = _chances(self, np.array([leak if is_number(leak) else np.nan]), "the leak")
        fill(self, influences=Influences(leaks[0], effects, (1 - switch, switch)))

    def _shown(self) -> Shown:
        """The probability that each cause alone turns the child on."""
        on = setting(self.child, [self.on])
        return shown_causes(self.label, on, self.parents, list(self.effects.values()), self.leak)

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

    @classmethod
    def from_form(cls, child: Discrete, fields: Fields, *, parents: tuple[Discrete, ...], block: str | None) -> Self:
        """The CPD described by a file."""
        top = fields["top"].whole(0, 1) if "top" in fields else 1
        on = child.states[top] if top < child.num_states else None
        bare = cls(child, dict.fromkeys(parents, 0.0), on=on, block=block)
        return bare.parameters.with_arrays(_arrays(child, parents, fields), TOLERANCE)

    def _free(self) -> Bools:
        """The leak unless it is zero, and states that are not off or not zero."""
        rows, codes = self.influences.rows, np.array([_off_code(p) for p in self.parents], np.int64)
        is_on = np.arange(len(rows)) > 0
        is_on[np.cumsum([1, *(p.num_states for p in self.parents)])[:-1] + codes] = False
        return np.asarray(is_on | (rows[:, 1] > 0))


@registered("noisy_max")
class NoisyMax(NoisyCPD):
    r"""A graded child that is the maximum of its parents' independent contributions.

    $$P(X \le x \mid \mathbf u) = P(Z_0 \le x) \prod_i P(Z_i \le x \mid u_i)$$

    Args:
        child: a variable whose states are ordered, the first meaning absent.
        given: for each parent, the distributions of its contribution, `[parent states, child states]`.
        leak: the distribution of the leak over the child's states; by default absent.
        block: the parameters it uses; by default its own, named after the child.

    Rows sum to one within 1e-9 and are divided by their sums, so that long chains stay distributions.

    Reference: Koller & Friedman, section 5.4; Diez (1993), Parameter adjustment in Bayes networks.
    Guarantee: exact; a chain, no table.
    Tested by: cpds/test_noisy.py::test_contract_of_noisy_max

    >>> pain, strain, flu = Discrete("pain", ("none", "mild", "severe")), Discrete("strain"), Discrete("flu")
    >>> cpd = NoisyMax(pain, {strain: [[1, 0, 0], [0.5, 0.3, 0.2]], flu: [[1, 0, 0], [0.2, 0.6, 0.2]]})
    >>> cpd, cpd.to_table()[1, 1].round(6)
    (NoisyMax(pain[3] | strain[2], flu[2]), array([0.1 , 0.54, 0.36]))
    """

    __slots__ = ()

    def __init__(
        self,
        child: Discrete,
        given: Mapping[Discrete, ArrayLike],
        *,
        leak: ArrayLike | None = None,
        block: ParameterBlock | str | None = None,
    ) -> None:
        self._init(child, tuple(given), block)
        absent = np.eye(child.num_states)[0]
        leaks = _contribution(self, absent if leak is None else leak, None)
        effects = tuple(_contribution(self, effect, parent) for parent, effect in given.items())
        fill(self, influences=Influences(leaks[0], effects, tuple(range(child.num_states))))

    def _shown(self) -> Shown:
        """The distribution of each contribution."""
        effects = by_state(self.parents, self.influences.effects, np.eye(self.child.num_states)[0])
        told = f"{self.child.name} is the largest of these independent contributions"
        head = titles(self.child)
        return shown_terms(self.label, head, [("leak", self.leak.tolist()), *effects], told)

    @property
    def leak(self) -> Floats:
        """The distribution of the leak."""
        return self.influences.leak

    @property
    def effects(self) -> dict[Discrete, Floats]:
        """For each parent, the distributions of its contribution, `[parent states, child states]`."""
        return dict(zip(self.parents, self.influences.effects, strict=True))

    @classmethod
    def from_form(cls, child: Discrete, fields: Fields, *, parents: tuple[Discrete, ...], block: str | None) -> Self:
        """The CPD described by a file."""
        absent = {parent: np.tile(np.eye(child.num_states)[0], (parent.num_states, 1)) for parent in parents}
        return cls(child, absent, block=block).parameters.with_arrays(_arrays(child, parents, fields), TOLERANCE)

    def _free(self) -> Bools:
        """All rows except those in which the child is absent with certainty."""
        return np.asarray(self.influences.rows[:, 0] < 1.0)


N = TypeVar("N", bound=NoisyCPD)


@dataclass(frozen=True, eq=False, repr=False)
class Contributions(JointStates[N]):
    r"""The contributions of a noisy-or or noisy-max: $P(Z_i = z \mid u_i)$, one row for the leak and for each state.

    Their hidden values are counted during EM, so that its estimates are ratios of $\bar M[Z_i = z, u_i]$; complete rows
    are fitted by L-BFGS, whose gradient is one such count (Fisher's identity).

    Attributes:
        free: which rows can be learned; the others never change.

    Reference: Koller & Friedman, sections 17.4.4 and 19.2.2.
    """

    free: Bools

    @property
    def rows(self) -> Floats:
        """The contributions, the leak's first."""
        return self.cpd.influences.rows

    def from_rows(self, rows: Floats) -> N:
        """The CPD with these contributions, which are not checked."""
        sizes = [parent.num_states for parent in self.cpd.parents]
        return self.cpd._with(influences=Influences.stacked(rows, sizes, self.cpd.influences.order))

    def _with_free(self, rows: Floats) -> N:
        """The CPD with these contributions in the rows that can be learned."""
        made = self.rows
        made[self.free] = rows
        return self.from_rows(made)

    @property
    def form(self) -> dict[str, Any]:
        """The code of the highest level, where levels are not in the order of the states."""
        order = self.cpd.influences.order
        return {} if order == tuple(range(len(order))) else {"top": order[-1]}

    @property
    def arrays(self) -> dict[str, Floats]:
        """The contribution of the leak, and those of the parents' states, stacked."""
        return {"leak": self.rows[0], "effects": self.rows[1:]}

    def check_arrays(self, arrays: Mapping[str, Floats], tolerance: float) -> None:
        """Raise unless the rows are distributions."""
        check_rows(np.concatenate([arrays["leak"][None], arrays["effects"]]), self.cpd, self._describe, tolerance)

    def _describe(self, row: int) -> str:
        return "(the leak)" if row == 0 else self.describe_context(row - 1)

    def from_arrays(self, arrays: Mapping[str, Floats]) -> N:
        """The CPD with these contributions."""
        return self.from_rows(np.concatenate([arrays["leak"][None], arrays["effects"]]))

    def random(self, rng: np.random.Generator, *, interior: bool = False) -> N:
        """Every row that can be learned drawn uniformly from its simplex, or from its interior."""
        shape = self.rows.shape
        drawn = rng.gamma(2.0, size=shape) + 0.05 if interior else rng.exponential(size=shape)
        return self._with_free((drawn / drawn.sum(axis=1, keepdims=True))[self.free])

    def _rows_of(self, parent: Discrete) -> Ints:
        """The rows of one parent's states."""
        before = self.cpd.parents[: self.cpd.parents.index(parent)]
        return 1 + sum(p.num_states for p in before) + np.arange(parent.num_states)

    def reordered(self, scope: Scope) -> N:
        """The same contributions, with parents and states in another order."""
        *parents, child = discrete_scope(scope)
        known, match = self.cpd.influences, Match.of(self.cpd.parents, parents)
        effects = tuple(known.effects[axis][order] for axis, order in zip(match.axes, match.orders, strict=True))
        levels = tuple(state_codes(self.cpd.child, child)[list(known.order)].tolist())
        if len(levels) > 2 and levels != tuple(range(len(levels))):
            raise ScopeError(
                f"{name_of(self.cpd)}: the order of the states of {child.name} is that of its levels; found {child!r}."
            )
        return self.cpd._named((*parents, child), influences=Influences(known.leak, effects, levels))

    def relabels(self, variable: AnyVariable) -> bool:
        """Whether a variable is a parent whose states can all be learned; levels of the child are ordered."""
        return any(p == variable and bool(self.free[self._rows_of(p)].all()) for p in self.cpd.parents)

    def relabeled(self, variable: Discrete, order: Ints) -> N:
        """The contributions of a parent's states in another order."""
        if not self.relabels(variable):
            return super().relabeled(variable, order)
        rows, own = self.rows, self._rows_of(variable)
        rows[own] = rows[own[order]]
        return self.from_rows(rows)

    def takes(self, prior: object) -> bool:
        """Whether a prior gives pseudo-counts of any row, or consists of imaginary rows."""
        return isinstance(prior, RowPrior | CellPrior)

    def prior_term(self, prior: object, cpds: Sequence[N], *, is_theta: bool = False) -> PriorTerm:
        """The pseudo-counts of the rows that can be learned, or imaginary rows."""
        if isinstance(prior, RowPrior):
            if is_theta:
                raise NotApplicable(
                    f"{name_of(self.cpd)}: with parameterization='theta' {prior!r} has no mode, since its rows count "
                    "no contribution by itself. Use parameterization='softmax', or a Dirichlet prior."
                )
            return PriorTerm(rows=ImaginaryRows(*prior.rows(cpds)))
        if not isinstance(prior, CellPrior):
            fitting = "pseudo-counts such as Dirichlet(1)" if isinstance(prior, FamilyPrior) else "a Dirichlet prior"
            raise NotApplicable(f"{name_of(self.cpd)} takes {fitting} or None; found {prior!r}.")
        row = exponents(prior.pseudo_counts((1, self.cpd.child.num_states)), is_theta, self.cpd)
        return PriorTerm(counts=np.where(self.free[:, None], row, 0.0).reshape(-1))

    def unseen_states(self, stats: Configurations) -> list[Bools]:
        """The states that never occur among those whose contributions can be learned."""
        free = [self.free[self._rows_of(parent)] for parent in self.cpd.parents]
        return [own & unseen for own, unseen in zip(free, super().unseen_states(stats), strict=True)]

    def fitted(self, stats: Configurations, prior: PriorTerm | None) -> N:
        """The contributions of maximum likelihood; parents' states that never occur get uniform ones."""
        known, shape = self.cpd.influences, self.rows.shape
        alpha = np.zeros(shape) if prior is None or prior.counts is None else prior.counts.reshape(shape)
        codes, levels = np.asfortranarray(stats.codes[:, :-1]), known.level_of[stats.codes[:, -1]]
        start = np.where(self.free[:, None], 1.0 / shape[1], self.rows)
        sizes = [parent.num_states for parent in self.cpd.parents]

        def expected(tables: list[Floats]) -> tuple[float, list[Floats]]:
            made = Influences.stacked(tables[0].copy(), sizes, known.order)
            score, counts = made.expected(codes, levels, stats.counts)
            return score, [np.concatenate(counts)]

        if expected([start])[0] == -np.inf:
            raise DataError(
                f"{name_of(self.cpd)}: the data hold joint states that its fixed parts forbid. Give it a leak."
            )
        return self.from_rows(maximize(expected, [start], [self.free], [alpha])[0])

    def keeping(self, made: N, unseen: Sequence[Bools]) -> N:
        """An estimate with the contributions of this CPD for parents' states that never occur."""
        silent = np.concatenate([[False], *unseen])[:, None]
        return self.from_rows(np.where(silent, self.rows, made.influences.rows))

    def for_rows(self, columns: Columns) -> Self:
        """The same parameters: contributions are few, whatever the number of joint states."""
        return self

    @property
    def zero(self) -> Floats:
        """Zeros, one per contribution."""
        return np.zeros(self.rows.size)

    @property
    def engine_form(self) -> DiscreteCPD:
        """The CPD itself, as a chain, if that is smaller; else its table."""
        return self.cpd if self.cpd._is_chain else self.cpd.to_table()

    @property
    def engine_values(self) -> EngineValues:
        """The factors of the chain, or the table."""
        return dense_values(self.cpd)

    def expected(self, marginals: Sequence[Floats]) -> Floats:
        """The expected counts of contributions, given the marginals along the chain, or over the table."""
        known, order, is_chain = self.cpd.influences, self.cpd._order, self.cpd._is_chain
        return _flat(known.expected_in_chain(marginals, order) if is_chain else known.expected_in_table(marginals[0]))

    def tally(self, columns: Columns, weights: Floats) -> Floats:
        """The expected counts of contributions in complete rows."""
        known, rows = self.cpd.influences, self.statistics(columns, weights)
        return _flat(known.expected(rows.codes[:, :-1], known.level_of[rows.codes[:, -1]], rows.counts)[1])

    def score(self, stats: Floats) -> float:
        r"""$\sum \bar M[Z_i = z, u_i] \log P(z \mid u_i)$."""
        return expected_log(self.rows.reshape(-1), stats)

    def estimate(self, stats: Floats, prior: PriorTerm | None = None) -> N:
        """Ratios of counts in the rows that can be learned; rows without counts are unchanged."""
        rows = self.rows
        counts = self.joined(stats, prior).reshape(rows.shape)
        sums = counts.sum(axis=1, keepdims=True)
        return self.from_rows(np.divide(counts, sums, out=rows, where=(sums > 0) & self.free[:, None]))

    def expected_contexts(self, stats: Floats) -> Contexts:
        """The counts of each parent's states, one parent after another."""
        return Contexts(stats.reshape(self.rows.shape)[1:].sum(axis=1))

    @property
    def varied(self) -> Varied:
        """The contributions that can be learned."""
        return Varied(self.rows[self.free], np.array(self.cpd.influences.order), is_given=False)

    def varied_slopes(self, slopes: Sequence[Floats]) -> Floats:
        """The derivatives with respect to the contributions: the factors are linear in each."""
        known, order = self.cpd.influences, self.cpd._order
        found = known.slopes_in_chain(slopes, order) if self.cpd._is_chain else known.slopes_in_table(slopes[0])
        return found[self.free]

    def varied_context(self, row: int) -> dict[str, Any]:
        """The parent's state whose contribution it is; nothing for the leak."""
        causes = [{}, *({p.name: state} for p in self.cpd.parents for state in p.states)]
        return causes[int(np.flatnonzero(self.free)[row])]

    @property
    def coordinates(self) -> Floats:
        """The logits of the rows that can be learned."""
        return logits(self.rows[self.free]).reshape(-1)

    def at(self, coordinates: Floats) -> N:
        """The CPD with these logits."""
        return self._with_free(from_logits(coordinates.reshape(-1, self.rows.shape[1])))

    def score_slope(self, stats: Floats) -> Floats:
        """Counts minus expected counts."""
        counts, share = stats.reshape(self.rows.shape)[self.free], self.rows[self.free]
        return np.asarray(counts - share * counts.sum(axis=1, keepdims=True)).reshape(-1)

    def information(self, stats: Floats) -> Floats:
        """The variances of the counts."""
        counts, share = stats.reshape(self.rows.shape)[self.free], self.rows[self.free]
        return np.asarray(share * (1.0 - share) * counts.sum(axis=1, keepdims=True)).reshape(-1)

    @property
    def written(self) -> Floats:
        """The contributions, the leak's first."""
        return self.rows.reshape(-1)

    @property
    def are_probabilities(self) -> bool:
        """True: `written` holds the probabilities of the contributions."""
        return True

    @property
    def names(self) -> tuple[str, ...]:
        """Each free parameter as the probability of a level from one cause; the lowest level compensates."""
        child, order = self.cpd.child, self.cpd.influences.order
        causes = ["itself", *(f"{p.name}={state!r}" for p in self.cpd.parents for state in p.states)]
        return tuple(
            f"P({child.name}={child.states[code]!r} by {causes[row]})"
            for row in np.flatnonzero(self.free)
            for code in order[1:]
        )

    @property
    def values(self) -> Floats:
        """The probabilities of the contributions above the lowest."""
        return self.rows[self.free, 1:].reshape(-1)

    def moved(self, step: Floats) -> N | None:
        """The CPD with its contributions changed by a step; None if one would leave [0, 1]."""
        rows = self.rows[self.free]
        rows[:, 1:] += step.reshape(len(rows), -1)
        rows[:, 0] -= step.reshape(len(rows), -1).sum(axis=1)
        return None if (rows < 0).any() else self._with_free(rows)

    def table_slope(self, slope: Floats) -> Floats:
        r"""The gradient by contributions: $\theta(\text{row} = \delta_z) - \theta(\text{row} = \delta_0)$ for each."""
        return np.array([(table - lowest) @ slope for lowest, *above in self._vertices() for table in above])

    def _vertices(self) -> Iterator[list[Floats]]:
        """For each row that can be learned, the tables with all mass of that row at each level."""
        count, levels = num_entries(self.cpd.parents), np.eye(self.rows.shape[1])
        codes = [*decode(np.arange(count), self.cpd.parents).values()]
        for is_row in np.eye(len(self.rows), dtype=bool)[self.free]:
            made = [self.from_rows(np.where(is_row[:, None], level, self.rows)) for level in levels]
            yield [cpd.influences.probabilities(codes, count).reshape(-1) for cpd in made]


def _arrays(child: Discrete, parents: tuple[Discrete, ...], fields: Fields) -> dict[str, Floats]:
    """The contributions in a file."""
    shapes = {"leak": (child.num_states,), "effects": (sum(p.num_states for p in parents), child.num_states)}
    return {name: fields[name].array(shape) for name, shape in shapes.items()}


def _off_code(variable: Discrete) -> int:
    """The code that means off: False where states are booleans, else the first."""
    return 0 if variable.states[0] is False else next((c for c, s in enumerate(variable.states) if s is False), 0)


def _activation(cpd: NoisyOr, parent: Discrete, effect: Effect) -> Floats:
    """The contributions (off, on) of each state of a parent."""
    if isinstance(effect := by_label(effect), Mapping):
        chances = np.zeros(parent.num_states)
        chances[[parent.code(state) for state in effect]] = [*effect.values()]
    elif np.ndim(effect) == 0:
        chances = np.where(np.arange(parent.num_states) == _off_code(parent), 0.0, float(effect))
    else:
        chances = np.array(effect, dtype=np.float64)
    if chances.shape != (parent.num_states,):
        raise ModelError(
            f"{name_of(cpd)} needs one probability, or one for each of the {parent.num_states} states of "
            f"{parent.name}; found {chances.shape}."
        )
    return _chances(cpd, chances, parent.name)


def _chances(cpd: NoisyOr, chances: Floats, what: str) -> Floats:
    if (bad := ~((chances >= 0) & (chances <= 1))).any():
        raise ModelError(f"{name_of(cpd)}: the effect of {what} is {chances[bad][0]:g}. Probabilities lie in [0, 1].")
    return np.stack([1.0 - chances, chances], axis=1)


def _contribution(cpd: NoisyMax, effect: ArrayLike, parent: Discrete | None) -> Floats:
    """The rows of a parent's contribution (or the leak's single row), checked."""
    rows = finite_array(name_of(cpd), "contribution", labeled_rows(effect, cpd.child, parent, cpd))
    shape = (1 if parent is None else parent.num_states, cpd.child.num_states)
    what = "the leak" if parent is None else parent.name
    if rows.shape != shape and (parent is not None or rows.shape != shape[1:]):
        raise ModelError(f"{name_of(cpd)}: the contribution of {what} has the shape {rows.shape}; expected {shape}.")
    rows = rows.reshape(shape)
    check_rows(rows, cpd, lambda place: f"({what}={parent.states[place]!r})" if parent else f"({what})")
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def _flat(tables: Sequence[Floats]) -> Floats:
    return np.concatenate(tables).reshape(-1)
