r"""How EM sees one CPD: its factors in the engine, its expected statistics from their marginals, its estimate.

Statistics are flat arrays that add up over rows, whatever the CPD:

- tables, trees and rules have expected counts $\bar M[c]$ of their cells;
- noisy-or and noisy-max have expected counts of the hidden contributions $Z_i = z$ of each parent's state;
- any other discrete CPD has expected counts of joint states, and an inner maximization that never does worse.

Reference: Koller & Friedman, sections 19.2.2 and 17.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.cpds.configurations import Configurations
from sepset.cpds.counts import count, pseudo_counts
from sepset.cpds.cpd import CPD
from sepset.cpds.discrete import DiscreteCPD, decode
from sepset.cpds.influences import Influences
from sepset.cpds.noisy import NoisyMax, NoisyOr
from sepset.cpds.parameters import Multinomials, multinomials
from sepset.cpds.priors.dirichlet import Laplace, Normal, RowPrior, pseudo_counts_of
from sepset.cpds.table import TableCPD
from sepset.errors import NotApplicable, TooLarge
from sepset.factors.algebra import Columns, num_entries
from sepset.inference.values import Value

WeightPrior: TypeAlias = Normal | Laplace
"""A prior on weights, which has no pseudo-counts."""

LARGEST = 2**20
"""The most joint states of a family whose counts are kept one by one."""


class Estimated(Protocol):
    """One block during EM; its parameters change from step to step, this does not."""

    @property
    def is_counted(self) -> bool:
        """Whether its statistics are counts of events."""

    def nothing(self, cpd: Any) -> Floats:
        """The statistics of no rows."""

    def estimate(self, cpd: Any, stats: Floats, alpha: Any) -> CPD:
        """The CPD that statistics and `alpha` suggest."""

    def alpha(self, cpds: Sequence[Any], prior: object, is_theta: bool) -> Any:
        """What a prior adds to the statistics of a block: pseudo-counts, or the prior itself where it is on weights."""

    def log_prior(self, cpd: Any, alpha: Any) -> float:
        """The log density of the parameters, up to a constant; zero where `alpha` is None."""

    def score(self, cpd: Any, stats: Floats) -> float:
        """The expected log-likelihood of completed rows with these statistics; linear in them."""

    def complete(self, cpd: Any, columns: Any, weights: Floats) -> Floats:
        """The statistics of complete rows."""

    def spread(self, cpd: Any, stats: Floats) -> Any:
        """How the rows spread over contexts, as `Fragmentation` takes it; None where there are no contexts."""


@dataclass(frozen=True, slots=True, eq=False)
class ImaginedRows:
    """Imaginary rows of a block, which count beside the data at any parameters.

    Attributes:
        columns: of the variables of the block's first CPD.
        weights: one a row.
        rest: what else the prior is about.
    """

    columns: Columns
    weights: Floats
    rest: Any = None

    def log_probability(self, cpd: CPD) -> float:
        """The log probability of the imaginary rows."""
        counted = self.weights > 0
        logs = cpd.log_probability({v: self.columns[u] for v, u in zip(cpd.scope, self.columns, strict=True)})
        return float(logs[counted] @ self.weights[counted])


def joined(family: Estimated, cpd: CPD, stats: Floats, alpha: Any) -> tuple[Floats, Any]:
    """The statistics with those of imaginary rows at these parameters, and what is left of the prior.

    >>> from sepset.variables.variable import Discrete
    >>> coin = TableCPD(Discrete("coin"), [0.5, 0.5])
    >>> rows = ImaginedRows({coin.child: np.array([0, 0, 1])}, np.ones(3))
    >>> joined(Cells(None), coin, np.array([1.0, 0.0]), rows)
    (array([3., 1.]), None)
    """
    if not isinstance(alpha, ImaginedRows):
        return stats, alpha
    columns = {v: alpha.columns[u] for v, u in zip(cpd.scope, alpha.columns, strict=True)}
    return stats + family.complete(cpd, columns, alpha.weights), alpha.rest


class Family(Estimated, Protocol):
    """A CPD during EM, with an inference engine."""

    def engine(self, cpd: Any) -> CPD:
        """The CPD as the engine takes it."""

    def numbers(self, cpd: Any) -> Sequence[Value]:
        """The values of its factors in the engine."""

    def statistics(self, cpd: Any, marginals: Sequence[Floats]) -> Floats:
        """The expected statistics, flat, from the summed marginals over its factors' scopes."""


def family_of(cpd: CPD) -> Family:
    """How EM treats a discrete CPD.

    >>> from sepset.variables.variable import Discrete
    >>> family_of(TableCPD(Discrete("x"), [0.5, 0.5]))
    Cells(place=None)
    """
    if not isinstance(cpd, DiscreteCPD):
        raise NotApplicable(f"EM learns discrete CPDs and linear Gaussians; {cpd!r} is neither.")
    if not cpd.num_parameters and multinomials(cpd) is None:
        return Fixed()
    if isinstance(cpd, NoisyOr | NoisyMax):
        return Contributions(bool(cpd.auxiliaries))
    _check_size(cpd)
    if isinstance(cpd, TableCPD):
        return Cells(None)
    grid = decode(np.arange(num_entries(cpd.scope)), cpd.scope)
    known = multinomials(cpd)
    return JointStates() if known is None else Cells(known.cells(grid))


def _check_size(cpd: DiscreteCPD) -> None:
    size = num_entries(cpd.scope)
    if size > LARGEST:
        raise TooLarge(
            f"EM keeps an expected count for each of the {size:,} joint states of {cpd!r}; at most {LARGEST:,} are "
            "allowed. Give it fewer parents, or make it a NoisyOr, which needs one count for each parent's state."
        )


@dataclass(frozen=True, slots=True)
class Fixed:
    """A CPD without parameters: a function of its parents, a multiplexer."""

    @property
    def is_counted(self) -> bool:
        """Yes."""
        return True

    def engine(self, cpd: CPD) -> CPD:
        """The CPD itself."""
        return cpd

    def numbers(self, cpd: CPD) -> Sequence[Floats]:
        """The values of its factors."""
        return dense_values(cpd)

    def statistics(self, cpd: CPD, marginals: Sequence[Floats]) -> Floats:
        """Nothing."""
        return np.zeros(0)

    def complete(self, cpd: CPD, columns: Any, weights: Floats) -> Floats:
        """Nothing."""
        return np.zeros(0)

    def nothing(self, cpd: CPD) -> Floats:
        """Nothing."""
        return np.zeros(0)

    def estimate(self, cpd: CPD, stats: Floats, alpha: object) -> CPD:
        """The CPD itself."""
        return cpd

    def alpha(self, cpds: Sequence[CPD], prior: object, is_theta: bool) -> None:
        """Nothing."""

    def log_prior(self, cpd: CPD, alpha: object) -> float:
        """Nothing."""
        return 0.0

    def score(self, cpd: CPD, stats: Floats) -> float:
        """Nothing: what it says of completed rows never changes."""
        return 0.0

    def spread(self, cpd: CPD, stats: Floats) -> None:
        """Nothing."""


@dataclass(frozen=True, slots=True, eq=False)
class Cells:
    """A CPD made of multinomials.

    Attributes:
        place: the cell of each joint state, in C order of the scope; None where they are the same.
    """

    place: Ints | None

    @property
    def is_counted(self) -> bool:
        """Yes."""
        return True

    def engine(self, cpd: DiscreteCPD) -> CPD:
        """Its table, whose marginal has all its statistics."""
        return cpd.to_table()

    def numbers(self, cpd: DiscreteCPD) -> Sequence[Floats]:
        """The table."""
        shape = [v.num_states for v in cpd.scope]
        flat = cast(Multinomials, cpd).parameters
        return (flat.reshape(shape) if self.place is None else flat[self.place].reshape(shape),)

    def statistics(self, cpd: Any, marginals: Sequence[Floats]) -> Floats:
        """The expected counts of the cells."""
        flat = marginals[0].reshape(-1)
        return flat if self.place is None else count(self.place, len(cpd.parameters), flat)

    def complete(self, cpd: CPD, columns: Any, weights: Floats) -> Floats:
        """The counts of the cells."""
        return np.asarray(cpd.statistics(columns, weights))

    def nothing(self, cpd: Any) -> Floats:
        """Zeros."""
        return np.zeros(len(cpd.parameters))

    def alpha(self, cpds: Sequence[Any], prior: object, is_theta: bool) -> Floats:
        r"""The pseudo-counts $\alpha$, or $\alpha - 1$ where the mode is taken in the probabilities themselves."""
        return _exponents(pseudo_counts_of(prior, cpds), is_theta, cpds[0])

    def log_prior(self, cpd: Any, alpha: Floats | None) -> float:
        r"""$\sum_c \alpha_c \log \theta_c$."""
        return 0.0 if alpha is None else _score(cpd.parameters, alpha)

    def score(self, cpd: Any, stats: Floats) -> float:
        r"""$\sum_c \bar M[c] \log \theta_c$."""
        return _score(cpd.parameters, stats)

    def spread(self, cpd: Any, stats: Floats) -> Floats:
        """The counts of the cells."""
        return stats

    def estimate(self, cpd: Any, stats: Floats, alpha: Floats | None) -> CPD:
        """Ratios of counts; contexts without any are uniform. Overlapping rules keep what no search improves."""
        total = stats if alpha is None else stats + alpha
        made = cpd.from_statistics(total)
        if self.place is None:
            return cast(CPD, made)
        return cast(CPD, made if _score(made.parameters, total) >= _score(cpd.parameters, total) else cpd)


@dataclass(frozen=True, slots=True)
class JointStates:
    """Any other discrete CPD: counts of joint states, and whatever maximization it has."""

    @property
    def is_counted(self) -> bool:
        """Yes."""
        return True

    def engine(self, cpd: DiscreteCPD) -> CPD:
        """Its table."""
        return cpd.to_table()

    def numbers(self, cpd: DiscreteCPD) -> Sequence[Floats]:
        """The table."""
        return (cpd.to_table().values,)

    def statistics(self, cpd: CPD, marginals: Sequence[Floats]) -> Floats:
        """The expected counts of joint states."""
        return marginals[0].reshape(-1)

    def complete(self, cpd: DiscreteCPD, columns: Any, weights: Floats) -> Floats:
        """The counts of joint states."""
        return cpd.to_table().statistics(columns, weights)

    def nothing(self, cpd: DiscreteCPD) -> Floats:
        """Zeros."""
        return np.zeros(num_entries(cpd.scope))

    def alpha(self, cpds: Sequence[Any], prior: object, is_theta: bool) -> Any:
        """The prior, where it is about weights, or its rows."""
        return ImaginedRows(*prior.rows(cpds)) if isinstance(prior, RowPrior) else weight_prior(cpds[0], prior)

    def log_prior(self, cpd: Any, alpha: Any) -> float:
        """The penalty of the weights, first states held at zero, or the log probability of imaginary rows."""
        if alpha is None:
            return 0.0
        if isinstance(alpha, ImaginedRows):
            return alpha.log_probability(cpd)
        odds = [w - w[:, :1] for w in cpd.weights]
        return sum(weight_penalty(alpha, o - o[:1]) for o in odds)

    def score(self, cpd: DiscreteCPD, stats: Floats) -> float:
        r"""$\sum \bar M[x, \mathbf u] \log P(x \mid \mathbf u)$."""
        return _score(cpd.to_table().values.reshape(-1), stats)

    def spread(self, cpd: DiscreteCPD, stats: Floats) -> tuple[Floats, ...]:
        """The counts of each parent's states."""
        counts = stats.reshape([v.num_states for v in cpd.scope])
        axes = range(counts.ndim)
        return tuple(counts.sum(axis=tuple(a for a in axes if a != axis)) for axis in axes[:-1])

    def estimate(self, cpd: DiscreteCPD, stats: Floats, alpha: object) -> CPD:
        """The better of the maximization and of what there was: a generalized M-step."""
        stats, alpha = joined(self, cpd, stats, alpha)  # type: ignore[arg-type]  # discrete CPDs are CPDs
        seen = np.flatnonzero(stats > 0)
        codes = np.column_stack([*decode(seen, cpd.scope).values()]) if len(seen) else np.zeros((0, len(cpd.scope)))
        counts = Configurations(cpd.scope, codes.astype(np.int64), stats[seen])
        made: DiscreteCPD = cpd.from_statistics(counts, alpha)  # type: ignore[attr-defined]
        scores = [self.score(c, stats) + self.log_prior(c, alpha) for c in (made, cpd)]
        return cast(CPD, made if scores[0] >= scores[1] else cpd)


@dataclass(frozen=True, slots=True)
class Contributions:
    """A noisy-or or noisy-max, whose hidden contributions are counted: leak first, then each parent's states.

    Attributes:
        is_chain: whether the engine has its chain of factors, or the table.
    """

    is_chain: bool

    @property
    def is_counted(self) -> bool:
        """Yes."""
        return True

    def engine(self, cpd: DiscreteCPD) -> CPD:
        """The chain, where that is smaller, or the table."""
        return cast(CPD, cpd) if self.is_chain else cpd.to_table()

    def numbers(self, cpd: DiscreteCPD) -> Sequence[Floats]:
        """The factors of the chain, or the table."""
        return dense_values(cast(CPD, cpd)) if self.is_chain else (cpd.to_table().values,)

    def statistics(self, cpd: Any, marginals: Sequence[Floats]) -> Floats:
        """The expected counts of contributions given the marginals."""
        known: Influences = cpd.influences
        level_of = np.argsort(known.order)
        if not self.is_chain:
            codes, counts = _cells_of(marginals[0])
            return _flat(known.expected(codes[:, :-1], level_of[codes[:, -1]], counts)[1])
        return _flat(_chain_counts(known, marginals, level_of))

    def complete(self, cpd: Any, columns: Any, weights: Floats) -> Floats:
        """The expected counts of contributions in complete rows."""
        rows = cpd.statistics(columns, weights)
        level_of = np.argsort(cpd.influences.order)
        return _flat(cpd.influences.expected(rows.codes[:, :-1], level_of[rows.codes[:, -1]], rows.counts)[1])

    def nothing(self, cpd: Any) -> Floats:
        """Zeros."""
        return np.zeros(sum(t.size for t in contributions(cpd)))

    def alpha(self, cpds: Sequence[Any], prior: object, is_theta: bool) -> Floats | ImaginedRows:
        """The pseudo-counts of the rows that can be learned, or imaginary rows."""
        cpd = cpds[0]
        if isinstance(prior, RowPrior):
            check_rows_join(prior, cpd, is_theta)
            return ImaginedRows(*prior.rows(cpds))
        k = cpd.child.num_states
        row = _exponents(pseudo_counts(prior, (1, k), cpd), is_theta, cpd)
        return _flat([np.where(free[:, None], row, 0.0) for free in cpd._free()])

    def log_prior(self, cpd: Any, alpha: Floats | ImaginedRows | None) -> float:
        """The log density of the rows that can be learned, or the log probability of imaginary rows."""
        if isinstance(alpha, ImaginedRows):
            return alpha.log_probability(cpd)
        return 0.0 if alpha is None else _score(_flat(contributions(cpd)), alpha)

    def score(self, cpd: Any, stats: Floats) -> float:
        r"""$\sum \bar M[Z_i = z, u_i] \log P(z \mid u_i)$."""
        return _score(_flat(contributions(cpd)), stats)

    def spread(self, cpd: Any, stats: Floats) -> tuple[Floats, ...]:
        """The counts of each parent's states."""
        tables = contributions(cpd)
        parts = np.split(stats, np.cumsum([t.size for t in tables])[:-1])
        return tuple(p.reshape(t.shape).sum(axis=1) for p, t in zip(parts[1:], tables[1:], strict=True))

    def estimate(self, cpd: Any, stats: Floats, alpha: Floats | ImaginedRows | None) -> CPD:
        """Ratios of counts in the rows that can be learned; rows without any stay."""
        tables = contributions(cpd)
        stats, counts = joined(self, cpd, stats, alpha)
        total = stats if counts is None else stats + counts
        parts = np.split(total, np.cumsum([t.size for t in tables])[:-1])
        made = [_learned(t, p.reshape(t.shape), f) for t, p, f in zip(tables, parts, cpd._free(), strict=True)]
        return contributing(cpd, made)


def contributions(cpd: Any) -> list[Floats]:
    """The contributions of a noisy-or or noisy-max, leak first, one row a state."""
    return [cpd.influences.leak[None, :], *cpd.influences.effects]


def contributing(cpd: Any, tables: Sequence[Floats]) -> CPD:
    """The noisy-or or noisy-max with these contributions, leak first."""
    if isinstance(cpd, NoisyOr):
        given = {p: np.clip(t[:, 1], 0.0, 1.0) for p, t in zip(cpd.parents, tables[1:], strict=True)}
        return NoisyOr(cpd.child, given, float(np.clip(tables[0][0, 1], 0.0, 1.0)), on=cpd.on, block=cpd.block)
    return NoisyMax(cpd.child, dict(zip(cpd.parents, tables[1:], strict=True)), tables[0][0], block=cpd.block)


def dense_values(cpd: CPD) -> Sequence[Floats]:
    """The values of a discrete CPD's factors as dense arrays."""
    return tuple(f.values if hasattr(f, "values") else f.to_table().values for f in cpd.factors())  # type: ignore[attr-defined]


def check_rows_join(prior: object, cpd: CPD, is_theta: bool) -> None:
    """Refuse imaginary rows of noisy-or and noisy-max where the mode of probabilities is asked."""
    if is_theta and isinstance(cpd, NoisyOr | NoisyMax):
        raise NotApplicable(
            f"{cpd!r}: with parameterization='theta' {prior!r} has no mode, since its rows count no contribution by "
            "itself. Use parameterization='softmax', or a Dirichlet prior."
        )


def weight_prior(cpd: CPD, prior: object) -> WeightPrior:
    """A prior on weights; any other is refused."""
    if isinstance(prior, Normal | Laplace):
        return prior
    others = "" if cpd.child.is_discrete else " NormalGamma, LinearNormalGamma,"
    raise NotApplicable(
        f"{cpd!r} takes a prior such as{others} Normal, Laplace or ImaginaryData; found {prior!r}. A list of priors "
        "serves a mixed network."
    )


def weight_penalty(prior: WeightPrior, weights: Floats) -> float:
    """The log density, up to a constant, of weights under a `Normal` or `Laplace` prior.

    >>> weight_penalty(Normal(1.0), np.array([1.0, 2.0])), weight_penalty(Laplace(0.5), np.array([-1.0]))
    (-2.5, -2.0)
    """
    if isinstance(prior, Normal):
        return -0.5 * float((weights**2).sum()) / prior.scale**2
    return -float(np.abs(weights).sum()) / float(prior.scale)


def _exponents(alpha: Floats, is_theta: bool, cpd: CPD) -> Floats:
    """The exponents of the probabilities in the density whose mode is wanted."""
    if is_theta and (alpha < 1).any():
        raise NotApplicable(
            f"{cpd!r}: with parameterization='theta' the density has no mode where a pseudo-count is below one; found "
            f"{float(alpha.min()):g}. Use parameterization='softmax', or larger pseudo-counts."
        )
    return alpha - 1.0 if is_theta else alpha


def _score(probabilities: Floats, counts: Floats) -> float:
    """The expected log-likelihood of counts."""
    seen = counts > 0
    with np.errstate(divide="ignore"):
        return float(counts[seen] @ np.log(probabilities[seen]))


def _learned(table: Floats, counts: Floats, free: Bools) -> Floats:
    sums = counts.sum(axis=1, keepdims=True)
    ratios = np.divide(counts, sums, out=table.copy(), where=sums > 0)
    return np.where(free[:, None], ratios, table)


def _cells_of(marginal: Floats) -> tuple[Ints, Floats]:
    """The joint codes with a positive count, and their counts."""
    flat = marginal.reshape(-1)
    seen = np.flatnonzero(flat > 0)
    return np.column_stack(np.unravel_index(seen, marginal.shape)).astype(np.int64), flat[seen]


def _chain_counts(known: Influences, marginals: Sequence[Floats], level_of: Ints) -> list[Floats]:
    """Contributions from the marginals along the chain: the maximum so far acts as one more, certain, parent."""
    last = len(marginals) - 1
    k = len(known.leak)
    levels = level_of if last == 0 else np.arange(k)
    codes, counts = _cells_of(marginals[0])
    first = Influences(known.leak.copy(), (known.effects[0].copy(),), tuple(range(k)))
    found = first.expected(codes[:, :1], levels[codes[:, 1]], counts)[1]
    nothing = np.eye(k)[0]
    for i in range(1, last + 1):
        codes, counts = _cells_of(marginals[i])
        levels = level_of if i == last else np.arange(k)
        step = Influences(nothing, (np.eye(k), known.effects[i].copy()), tuple(range(k)))
        found.append(step.expected(codes[:, :2], levels[codes[:, 2]], counts)[1][2])
    return found


def _flat(tables: Sequence[Floats]) -> Floats:
    return np.concatenate([t.reshape(-1) for t in tables])
