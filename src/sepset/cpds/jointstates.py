r"""Parameters of discrete CPDs: a table for the inference engine, and counts of joint states as statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self, TypeAlias, TypeVar

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.frozen import fill
from sepset.base.lazy import lazy
from sepset.cpds.counts import (
    Configurations,
    Contexts,
    checked_configurations,
    checked_weights,
    count,
    decode,
    joint_codes,
    states_of,
    unseen_message,
)
from sepset.cpds.discrete import ChainedCPD, DiscreteCPD
from sepset.cpds.parameters import AnyParameters, Parameters, PriorTerm, S, weighted
from sepset.cpds.priors.dirichlet import RowPrior
from sepset.errors import DataError, NotApplicable, TooLarge
from sepset.factors.algebra import Columns, num_entries
from sepset.factors.chains import BY_NAME, Line
from sepset.factors.decomposition import Decomposition
from sepset.factors.labels import name_of
from sepset.factors.table import Table
from sepset.semiring import SUM, Semiring
from sepset.variables.variable import Discrete

LARGEST = 2**20
"""The largest number of joint states of a family that are counted one by one, if the CPD is not a table."""

D = TypeVar("D", bound=DiscreteCPD)

EngineValues: TypeAlias = Sequence[Floats | Table]
"""The values of a discrete CPD's factors: arrays, or tables beyond the range of floats."""


class Undivided(ChainedCPD):
    """A CPD as one factor over all its variables, which is built with evidence: its marginal has all joint states."""

    __slots__ = ("cpd",)
    cpd: DiscreteCPD

    def __init__(self, cpd: DiscreteCPD) -> None:
        self._init(cpd.child, cpd.parents, cpd.block)
        fill(self, cpd=cpd, line=getattr(cpd, "line", BY_NAME))

    def along(self, line: Line) -> Self:
        """The same with the chains of the CPD along a line."""
        return self if self.line or not isinstance(self.cpd, ChainedCPD) else type(self)(self.cpd.along(line))

    def _select(self, rows: Columns, num_rows: int) -> tuple[Floats, Ints]:
        return self.cpd._select(rows, num_rows)

    @property
    def num_parameters(self) -> int:
        """Those of the CPD."""
        return self.cpd.num_parameters

    @property
    def parameters(self) -> AnyParameters:
        """Those of the CPD."""
        return self.cpd.parameters

    @property
    def label(self) -> str:
        """That of the CPD, which users know."""
        return self.cpd.label

    @property
    def is_tabled(self) -> bool:
        """No: its factor waits for evidence."""
        return False

    def decomposition(self) -> None:
        """None: there are no factors without evidence."""

    def decomposed(self, given: Mapping[Any, int], semiring: Semiring = SUM) -> Decomposition:
        """The factors of the CPD in a context."""
        return self.cpd.decomposed(given, semiring)

    def irrelevant(self, context: Mapping[Any, Any]) -> tuple[Discrete, ...]:
        """The parents that drop out of the CPD in a context."""
        return self.cpd.irrelevant(context)


@dataclass(frozen=True, eq=False, repr=False)
class DiscreteParameters(Parameters[D, S]):
    """The parameters of a CPD over discrete variables, whose table the inference engine uses."""

    @property
    def stored(self) -> Literal["counts"] | None:
        """Counts of joint states, if these are few enough to be listed."""
        return "counts" if self.is_table or num_entries(self.cpd.scope) <= LARGEST else None

    def from_counts(self, table: Floats) -> S:
        """The statistics of the joint states that occur."""
        flat = table.reshape(-1)
        seen = np.flatnonzero(flat)
        return self.statistics(decode(seen, self.cpd.scope), flat[seen])

    def tells(self, parent: Discrete) -> bool:
        """Whether the child's distribution differs between the states of a parent."""
        return parent not in self._irrelevant

    @lazy
    def _irrelevant(self) -> frozenset[Discrete]:
        """The parents that make no difference."""
        return frozenset(self.cpd.irrelevant({}))

    def for_rows(self, columns: Columns) -> Self:
        """The same parameters, since counts have no center; too many joint states raise an error."""
        size = num_entries(self.cpd.scope)
        if size > LARGEST:
            raise TooLarge(
                f"EM keeps an expected count for each of the {size:,} joint states of {name_of(self.cpd)}; at most "
                f"{LARGEST:,} are allowed. Give it fewer parents, or make it a NoisyOr, which needs one count for each "
                "parent's state."
            )
        return self

    @property
    def engine_form(self) -> DiscreteCPD:
        """The table of the CPD, whose marginal contains all statistics."""
        return self.cpd.to_table()

    @property
    def engine_values(self) -> EngineValues:
        """The table."""
        return (self.cpd.to_factor().in_range,)


@dataclass(frozen=True, eq=False, repr=False)
class JointStates(DiscreteParameters[D, Configurations]):
    r"""The parameters of a discrete CPD whose statistics are counts of joint states.

    A subclass defines the fit to these counts (`fitted`); an EM step then never lowers the objective:

    $$\theta' = \arg\max \sum_{x, \mathbf u} \bar M[x, \mathbf u] \log P(x \mid \mathbf u; \theta).$$

    Attributes:
        possible: the joint states that the rows allow, if there are too many in all; flat statistics are over these.
    """

    possible: Configurations | None = field(default=None, kw_only=True)

    def fitted(self, stats: Configurations, prior: PriorTerm | None) -> D:
        """The CPD of maximum likelihood, or posterior; parents' states that never occur get some parameters."""
        raise self.refusal("is not estimated from counts", "Give it its parameters.")

    def keeping(self, made: D, unseen: Sequence[Bools]) -> D:
        """An estimate that keeps the parameters of this CPD for parents' states that never occur."""
        raise self.refusal("has no parameters per state of a parent", "There unseen= is 'raise' or 'uniform'.")

    def unseen_states(self, stats: Configurations) -> list[Bools]:
        """For each parent, which of its states have parameters to be learned and never occur."""
        return [stats.state_counts(axis) == 0 for axis in range(len(self.cpd.parents))]

    @property
    def remedy(self) -> str:
        """The advice in errors about parents' states that never occur."""
        return "Give a prior such as Dirichlet(1), or unseen='uniform'."

    def statistics(self, columns: Columns, weights: Floats | None = None) -> Configurations:
        """The (weighted) counts of the distinct joint states that occur; `+` merges them."""
        return Configurations.of(columns, self.cpd.scope, weights, self.cpd)

    def aligned(self, stats: Configurations) -> Configurations:
        """The same counts over this CPD's own variables."""
        return Configurations(self.cpd.scope, stats.codes, stats.counts)

    def log_likelihood(self, stats: Configurations, *, has_rows: bool = False) -> float:
        """The log-likelihood, summed over the joint states that occur."""
        return weighted(self.cpd, stats.columns, stats.counts)

    def takes(self, prior: object) -> bool:
        """Whether a prior consists of imaginary rows, which are added to those of the data."""
        return isinstance(prior, RowPrior)

    def maximized(
        self,
        stats: Configurations,
        prior: PriorTerm | None = None,
        *,
        unseen: object = "uniform",
        cpds: Sequence[D] = (),
    ) -> D:
        """The CPD fitted to these counts, including the imaginary rows of a prior."""
        known = checked_configurations(stats, self.cpd.scope, self.cpd)
        if prior is not None and prior.rows is not None:
            known = known + self.statistics(prior.rows.of(self.cpd), prior.rows.weights)
            prior = replace(prior, rows=None)
        if _determines(prior):
            return self.fitted(known, prior)
        if unseen not in ("raise", "uniform", "keep"):
            what = f"has no separate contexts; there unseen= is 'raise', 'uniform' or 'keep', not {unseen!r}"
            raise NotApplicable(f"{name_of(self.cpd)} {what}.")
        silent = self.unseen_states(known)
        if unseen == "raise":
            self._refuse(silent)
        made = self.fitted(known, prior)
        return self.keeping(made, silent) if unseen == "keep" else made

    def _refuse(self, unseen: Sequence[Bools]) -> None:
        for parent, states in zip(self.cpd.parents, unseen, strict=True):
            if states.any():
                where = np.flatnonzero(states)
                raise DataError(unseen_message(self.cpd, where, parent.num_states, states_of(parent), self.remedy))

    def contexts(self, stats: Configurations) -> Contexts:
        """The counts of each parent's states, one parent after another."""
        counts = [stats.state_counts(axis) for axis in range(len(self.cpd.parents))]
        return Contexts(np.concatenate([np.zeros(0), *counts]))

    def describe_context(self, context: int) -> str:
        """The state of a parent."""
        return [f"({p.name}={state!r})" for p in self.cpd.parents for state in p.states][context]

    def for_rows(self, columns: Columns) -> Self:
        """The same parameters, with the joint states that the rows allow if there are too many in all."""
        if num_entries(self.cpd.scope) <= LARGEST or not all(v in columns for v in self.cpd.scope):
            return super().for_rows(columns)
        return replace(self, possible=Configurations.allowed(columns, self.cpd.scope, LARGEST, self.cpd))

    def including(self, other: Self) -> Self:
        """The same operations, with the joint states that the rows of a tied CPD allow too."""
        if self.possible is None or other.possible is None:
            return self
        both = self.possible + self.aligned(other.possible)
        if len(both.counts) > LARGEST:
            raise TooLarge(
                f"EM keeps an expected count for each joint state that the rows of {name_of(self.cpd)} and of the "
                "CPDs it is "
                f"tied to allow, more than {LARGEST:,}. Give them their own blocks, or rows with fewer missing cells."
            )
        return replace(self, possible=both)

    def about(self, first: Self) -> Self:
        """The same operations, with the joint states of the block."""
        return self if first.possible is None else replace(self, possible=self.aligned(first.possible))

    @property
    def engine_form(self) -> DiscreteCPD:
        """The table of the CPD; one factor that is built with evidence if it has too many joint states."""
        return Undivided(self.cpd) if self.possible is not None else super().engine_form

    @property
    def engine_values(self) -> EngineValues:
        """The table; an empty array if it is not built."""
        return (np.zeros(0),) if self.possible is not None else super().engine_values

    @property
    def zero(self) -> Floats:
        """Zeros, one per joint state."""
        return np.zeros(num_entries(self.cpd.scope) if self.possible is None else len(self.possible.counts))

    def expected(self, marginals: Sequence[Any]) -> Floats:
        """The expected counts of joint states."""
        if self.possible is None:
            return np.asarray(marginals[0]).reshape(-1)
        codes, counts = marginals[0]
        return count(self.possible.places(codes), len(self.possible.counts), counts)

    def tally(self, columns: Columns, weights: Floats) -> Floats:
        """The counts of joint states."""
        if self.possible is not None:
            found = self.statistics(columns, weights)
            return count(self.possible.places(found.codes), len(self.possible.counts), found.counts)
        places = joint_codes(columns, self.cpd.scope, len(weights), self.cpd)
        return count(places, num_entries(self.cpd.scope), checked_weights(weights, len(weights), self.cpd))

    def score(self, stats: Floats) -> float:
        r"""$\sum \bar M[x, \mathbf u] \log P(x \mid \mathbf u)$."""
        if self.possible is None:
            seen = stats > 0
            return float(stats[seen] @ self.cpd.to_factor().log_values.reshape(-1)[seen])
        return weighted(self.cpd, self.possible.columns, stats)

    def estimate(self, stats: Floats, prior: PriorTerm | None = None) -> D:
        """The better of this CPD and the one fitted to expected counts: a generalized M-step."""
        known = self._configurations(stats)
        if prior is not None and prior.rows is not None:
            known = known + self.statistics(prior.rows.of(self.cpd), prior.rows.weights)
        rest = None if prior is None else replace(prior, rows=None)
        made = self.fitted(known, rest)
        old, new = (
            weighted(own.cpd, known.columns, known.counts) + own.log_prior(rest) for own in (self, self.of(made))
        )
        return made if new >= old else self.cpd

    def _configurations(self, stats: Floats) -> Configurations:
        """The joint states with a positive count."""
        if self.possible is None:
            return Configurations.of_table(stats, self.cpd.scope)
        seen = stats > 0
        return Configurations(self.cpd.scope, self.possible.codes[seen], stats[seen])

    def expected_contexts(self, stats: Floats) -> Contexts:
        """The counts of each parent's states, one parent after another."""
        if self.possible is not None:
            return self.contexts(self._configurations(stats))
        counts = stats.reshape([v.num_states for v in self.cpd.scope])
        axes = range(counts.ndim)
        parts = [counts.sum(axis=tuple(a for a in axes if a != axis)) for axis in axes[:-1]]
        return Contexts(np.concatenate([np.zeros(0), *parts]))


def _determines(prior: PriorTerm | None) -> bool:
    """Whether a prior determines the parameters of states without rows."""
    if prior is None:
        return False
    return prior.density is not None or (prior.counts is not None and bool(prior.counts.any()))


def dense_values(cpd: DiscreteCPD) -> tuple[Floats | Table, ...]:
    """The values of a discrete CPD's factors as dense arrays, one axis per variable, or as tables of logarithms."""
    return tuple(_dense(factor).in_range for factor in cpd.factors())


def _dense(factor: Any) -> Table:
    table: Table = factor if isinstance(factor, Table) else factor.to_table()
    return table
