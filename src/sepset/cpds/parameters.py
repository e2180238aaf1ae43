r"""What learning asks about the parameters of one CPD. Every CPD answers in its own file, as `cpd.parameters`.

The questions come in five groups; what a CPD does not define is refused by name.

- *values*: the arrays and back, to the bit; random draws; the parameters of a tied CPD; the form that files keep.
- *complete rows*: statistics that add up, their likelihood, the estimate with what a prior adds, the posterior.
- *incomplete rows*: the form that the inference engine takes, expected statistics, their score and their estimate.
- *coordinates*: a vector without constraints and back, the slope and the curvature of the score.
- *free parameters*: names, values, and the derivative of the conditional distribution by each.

Statistics of incomplete rows are flat arrays $\bar s$ that add up over rows, with a score that is linear in them,
$E[\log P(\mathbf x \mid \mathbf u)] = \bar s \cdot f(\theta)$: expected counts, or expected moments.

Reference: Koller & Friedman, sections 17.2, 17.4 and 19.2.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, Protocol, Self, TypeAlias, TypeVar

import numpy as np

from sepset.base.arraytypes import AnyArray, Bools, Floats, Ints
from sepset.base.checks import one_of
from sepset.cpds.priors.weights import WeightPrior
from sepset.data.moments import Moments
from sepset.errors import ModelError, NotApplicable
from sepset.factors.algebra import AnyVariable, Columns, Scope
from sepset.factors.regression import Regression
from sepset.variables.variable import Discrete

Parameterization: TypeAlias = Literal["softmax", "theta"]
"""Where a mode is taken: of unconstrained parameters (logits, logarithms of variances), or of the parameters
themselves."""

ROUNDING = 1e-6
"""How far from one the rows of probabilities that were computed may sum."""


class Parametrized(Protocol):
    """The part of a CPD that its parameters need."""

    @property
    def child(self) -> AnyVariable:
        """The variable it is about."""

    @property
    def scope(self) -> Scope:
        """The parents, then the child."""

    @property
    def num_parameters(self) -> int:
        """The number of free parameters."""

    def log_probability(self, rows: Columns) -> Floats:
        """The log probability (density) of the child given its parents, one value per row."""

    def statistics(self, codes: Columns, weights: Floats | None = None) -> Any:
        """Sufficient statistics of complete rows."""


C = TypeVar("C", bound=Parametrized)
S = TypeVar("S")


@dataclass(frozen=True, slots=True, eq=False)
class ImaginaryRows:
    """Rows that a prior adds to those of the data.

    Attributes:
        columns: of the variables of a block's first CPD.
        weights: one per row.
    """

    columns: Columns
    weights: Floats

    def of(self, cpd: Parametrized) -> Columns:
        """The columns under the names of a tied CPD."""
        return {v: self.columns[u] for v, u in zip(cpd.scope, self.columns, strict=True)}


@dataclass(frozen=True, slots=True, eq=False)
class PriorTerm:
    r"""What a prior adds to the objective of one block: $\sum_c \alpha_c \log \theta_c$, rows, or a log density.

    Attributes:
        counts: pseudo-counts, shaped like the flat statistics.
        rows: imaginary rows, which count beside the data at any parameters.
        density: a density of the parameters themselves, as the CPD understands it.
    """

    counts: Floats | None = None
    rows: ImaginaryRows | None = None
    density: Any = None


@dataclass(frozen=True, slots=True, eq=False)
class Contexts:
    """How rows spread over the contexts of a CPD.

    Attributes:
        counts: how many rows (or what total weight) each context has.
        zero_cells: cells without a row, in contexts that have some.
    """

    counts: Floats
    zero_cells: int = 0


@dataclass(frozen=True, eq=False, repr=False)
class Values(Generic[C]):
    """The values of the parameters of one CPD: arrays and back, draws, and what tied CPDs share."""

    cpd: C

    def of(self, cpd: C) -> Self:
        """The same questions about another CPD of the same form; what was learned about the form is kept."""
        return replace(self, cpd=cpd)

    def refusal(self, what: str, instead: str) -> NotApplicable:
        """The error that refuses an operation: which CPD, which operation, what to use instead."""
        return NotApplicable(f"{self.cpd!r} {what}. {instead}")

    @property
    def form(self) -> dict[str, Any]:
        """What a file keeps beside the kind, the variables, the block and the arrays: plain values."""
        return {}

    @property
    def arrays(self) -> dict[str, Floats]:
        """The numbers by name."""
        raise self.refusal("does not say which arrays hold its parameters", "Turn it into a CPD that does.")

    def with_arrays(self, arrays: Mapping[str, Floats], tolerance: float = ROUNDING) -> C:
        """The CPD of the same form and block with these numbers, to the bit; what does not fit is refused.

        Args:
            arrays: names and shapes as in `arrays`.
            tolerance: how far from one rows of probabilities may sum.
        """
        shapes = {name: array.shape for name, array in self.arrays.items()}
        found = {name: np.shape(array) for name, array in arrays.items()}
        if found != shapes:
            raise ModelError(f"{self.cpd!r} takes arrays of the shapes {shapes}; found {found}.")
        made = {name: np.array(array, dtype=np.float64, order="C") for name, array in arrays.items()}
        if not all(np.isfinite(array).all() for array in made.values()):
            raise ModelError(f"{self.cpd!r} takes finite numbers; found others.")
        self.check_arrays(made, tolerance)
        return self.from_arrays(made)

    def check_arrays(self, arrays: Mapping[str, Floats], tolerance: float) -> None:
        """Refuse finite arrays of the right shapes that are no parameters of this form."""

    def from_arrays(self, arrays: Mapping[str, Floats]) -> C:
        """The CPD of the same form and block with these arrays, which are not checked."""
        raise self.refusal("cannot be rebuilt from arrays", "Make it with its constructor.")

    def like(self, other: C) -> C:
        """This CPD with the parameters of one it is tied to."""
        return self.from_arrays(self.of(other).arrays)

    @property
    def key(self) -> Hashable:
        """What CPDs that share a block agree about."""
        return type(self.cpd), tuple(v.domain if isinstance(v, Discrete) else v.size for v in self.cpd.scope)

    @property
    def is_default(self) -> bool:
        """Whether these are the parameters that a bare graph gives."""
        return False

    @property
    def is_table(self) -> bool:
        """Whether the parameters are the entries of a table over parents and child."""
        return False

    def random(self, rng: np.random.Generator, *, interior: bool = False) -> C:
        """The CPD with random parameters.

        Args:
            interior: whether probabilities keep away from zero and one.
        """
        raise self.refusal("has no random start", "Give start='model' and its parameters.")

    def tells(self, parent: Discrete) -> bool:
        """Whether the child's distribution differs between the states of a parent."""
        return True

    def relabels(self, variable: AnyVariable) -> bool:
        """Whether the CPD keeps its form when the states of a variable change places."""
        return False

    def relabeled(self, variable: Discrete, order: Ints) -> C:
        """The CPD after the states of a variable change places: state `order[i]` is now state `i`."""
        raise self.refusal(f"is not of its form when the states of {variable.name!r} change places", "Use a TableCPD.")


class CompleteRows(Values[C], Generic[C, S]):
    """The parameters and complete rows: statistics `S` that add up, and what they suggest."""

    def statistics(self, columns: Columns, weights: Floats | None = None) -> S:
        """The statistics of complete rows; those of two sets of rows add up with `+`."""
        found: S = self.cpd.statistics(columns, weights)
        return found

    @property
    def stored(self) -> Literal["counts", "moments"] | None:
        """What a group-by over rows that stay where they are must find: counts of joint states, moments, or neither."""
        return None

    def from_counts(self, table: Floats) -> S:
        """The statistics of rows with these counts of joint states, in C order over the scope."""
        raise NotApplicable(f"Counts of joint states say nothing about {self.cpd!r}. Give the rows.")

    def from_moments(self, moments: Moments) -> S:
        """The statistics of rows with these moments of the real variables in each discrete context."""
        raise NotApplicable(f"Moments of real variables say nothing about {self.cpd!r}. Give the rows.")

    def aligned(self, stats: S) -> S:
        """The statistics of a tied CPD as if counted for this one."""
        return stats

    def log_likelihood(self, stats: S, *, has_rows: bool = False) -> float | None:
        """The log-likelihood of the rows with these statistics; None where only the rows tell.

        Args:
            has_rows: whether the rows can be asked instead, where they keep more digits.
        """
        return None

    @property
    def is_exact(self) -> bool:
        """Whether the estimate has a closed form, so that it is a global optimum."""
        return False

    def takes(self, prior: object) -> bool:
        """Whether a prior is about parameters of this kind."""
        return False

    @property
    def sizes(self) -> Floats:
        """How many joint states of parents and child each cell stands for, where the CPD is made of multinomials."""
        raise self.refusal("is not made of multinomials, which such a prior is about", "Use MAP with Dirichlet.")

    def prior_term(self, prior: object, cpds: Sequence[C], *, is_theta: bool = False) -> PriorTerm:
        """What a prior adds to the objective; one that does not apply is refused.

        Args:
            prior: one prior.
            cpds: the CPDs of the block, this one first.
            is_theta: whether the mode is taken in the parameters themselves.
        """
        raise self.refusal(f"takes no prior; found {prior!r}", "Use MLE.")

    def maximized(
        self, stats: S, prior: PriorTerm | None = None, *, unseen: object = "uniform", cpds: Sequence[C] = ()
    ) -> C:
        """The CPD of largest likelihood, or of largest posterior with a prior.

        Args:
            stats: as `statistics` gives them.
            unseen: for contexts that neither rows nor prior determine: "raise" an error, "uniform", the child's
                "marginal", "keep" the parameters as they are, or a prior to fill them with.
            cpds: the CPDs of the block, where there are others.
        """
        raise self.refusal("is not estimated from statistics", "Give it its parameters.")

    def settled(
        self,
        stats: S,
        prior: PriorTerm | None = None,
        *,
        cpds: Sequence[C] = (),
        rows: tuple[Columns, Floats | None] | None = None,
        floor: float | None = None,
        min_variance: float | None = None,
    ) -> C:
        """This estimate with all its digits and within limits; one at which the likelihood has no bound is refused.

        Args:
            stats: what it was estimated from.
            cpds: the CPDs of the block, where there are others.
            rows: the columns and weights of the rows, where they are at hand.
            floor: the smallest probability.
            min_variance: the smallest variance.
        """
        return self.cpd

    def facts(self, stats: S, *, has_rows: bool) -> dict[str, object]:
        """What a reader of this estimate should know about how well the rows determine it."""
        return {}

    @property
    def is_conjugate(self) -> bool:
        """Whether `posterior` has a closed form."""
        return False

    def posterior(self, prior: object, cpds: Sequence[C], stats: S) -> Any:
        """The posterior of the parameters of a block, of which this is the first CPD."""
        raise self.refusal(
            "declares no conjugate prior, so its posterior has no closed form", "Use MAP, or give it a table."
        )

    def contexts(self, stats: S) -> Contexts | None:
        """How rows with these statistics spread over contexts; None where there are no contexts."""
        return None

    def describe_context(self, context: int) -> str:
        """The context, for messages."""
        raise self.refusal("has no contexts", "Ask about a CPD that has.")


class IncompleteRows(Values[C]):
    """The parameters and incomplete rows: flat expected statistics, from the marginals of an inference engine."""

    def for_rows(self, columns: Columns) -> Self:
        """The same questions, ready for statistics of incomplete rows: their centers, the cell of each joint state.

        Args:
            columns: the rows, missing codes -1 and missing numbers NaN; none where all variables are discrete.
        """
        raise self._no_expectations()

    def about(self, first: Self) -> Self:
        """The same, with statistics taken about the center of a tied CPD, so that they add up."""
        return self

    @property
    def center(self) -> Floats:
        """What moments are taken about; empty for counts."""
        return np.zeros(0)

    def recentered(self, stats: Floats, center: Floats) -> Floats:
        """Statistics that were taken about another center."""
        return stats

    @property
    def is_counted(self) -> bool:
        """Whether the flat statistics are counts of events, of which the smallest mean nothing."""
        return True

    @property
    def zero(self) -> Floats:
        """The flat statistics of no rows."""
        raise self._no_expectations()

    @property
    def engine_form(self) -> Any:
        """The CPD as the inference engine takes it: the marginals of its factors determine the statistics."""
        raise self._no_expectations()

    @property
    def engine_values(self) -> Sequence[Floats | Regression]:
        """The values of the factors of `engine_form`: dense arrays, or regressions."""
        raise self._no_expectations()

    def expected(self, marginals: Sequence[Floats]) -> Floats:
        """The flat statistics that the summed marginals over the factors of `engine_form` tell."""
        raise self._no_expectations()

    def tally(self, columns: Columns, weights: Floats) -> Floats:
        """The flat statistics of complete rows."""
        raise self._no_expectations()

    def score(self, stats: Floats) -> float:
        """The expected log-likelihood of rows with these flat statistics; linear in them."""
        raise self._no_expectations()

    def estimate(self, stats: Floats, prior: PriorTerm | None = None) -> C:
        """The CPD that flat statistics and a prior suggest: no worse than this one."""
        raise self._no_expectations()

    def expected_contexts(self, stats: Floats) -> Contexts | None:
        """How rows with these flat statistics spread over contexts; None where there are no contexts."""
        return None

    def start(
        self, columns: Columns, weights: Floats | None, rng: np.random.Generator, prior: PriorTerm | None = None
    ) -> C:
        """A rough estimate from the rows that are complete for this family, to begin an iteration at.

        Args:
            columns: missing codes -1 and missing numbers NaN.
            weights: one per row, or None.
            rng: breaks ties.
        """
        return self.random(rng)

    def _no_expectations(self) -> NotApplicable:
        what = "is not learned from incomplete rows, since it has no expected statistics"
        return self.refusal(what, "Fit it to complete rows.")

    def joined(self, stats: Floats, prior: PriorTerm | None) -> Floats:
        """The flat statistics with the pseudo-counts and imaginary rows of a prior."""
        if prior is None:
            return stats
        total = stats if prior.counts is None else stats + prior.counts
        return total if prior.rows is None else total + self.tally(prior.rows.of(self.cpd), prior.rows.weights)


class Coordinates(IncompleteRows[C]):
    """The parameters as a vector without constraints, and slopes of the expected log-likelihood along it."""

    @property
    def coordinates(self) -> Floats:
        """The parameters as a vector without constraints, of the same length for every CPD of the form."""
        raise self.refusal("does not say what its parameters without constraints are", "Use EM().")

    def at(self, coordinates: Floats) -> C:
        """The CPD of the same form with these coordinates."""
        raise self.refusal("cannot be rebuilt from coordinates", "Use EM().")

    def score_slope(self, stats: Floats) -> Floats:
        """The gradient of `score` by the coordinates."""
        raise self.refusal("does not know the slope of its likelihood", "Use EM().")

    def information(self, stats: Floats) -> Floats:
        """About how fast `score_slope` falls along each coordinate: the information of completed rows."""
        raise self.refusal("does not know the curvature of its likelihood", "Use EM().")

    @property
    def penalized(self) -> Floats:
        """One for each coordinate that is a weight, which priors on weights penalize; zero for others."""
        return np.zeros(len(self.coordinates))

    def log_prior(self, prior: PriorTerm | None) -> float:
        """The log density of the parameters, up to a constant; zero without a prior."""
        if prior is None:
            return 0.0
        total = 0.0 if prior.counts is None else self.score(prior.counts)
        if prior.rows is not None:
            total += weighted(self.cpd, prior.rows.of(self.cpd), prior.rows.weights)
        return total if prior.density is None else total + self.log_density(prior.density)

    def log_density(self, density: Any) -> float:
        """The log density of the parameters under the density of a prior, up to a constant."""
        found: float = density.log_density(self.coordinates[self.penalized > 0])
        return found

    def slope(self, stats: Floats, prior: PriorTerm | None = None) -> Floats:
        """The gradient of `score` and of the smooth part of `log_prior`."""
        found = self.score_slope(self.joined(stats, prior))
        return found if prior is None or prior.density is None else found + self.density_slope(prior.density)

    def density_slope(self, density: Any) -> Floats:
        """The gradient of the smooth part of `log_density`."""
        return np.asarray(-density.precision * self.penalized * self.coordinates)

    def curvature(self, stats: Floats, prior: PriorTerm | None = None) -> Floats:
        """About how fast `slope` falls along each coordinate."""
        return self.information(self.joined(stats, prior))

    def kinks(self, prior: PriorTerm | None) -> Floats:
        r"""How sharp the log prior's kink at zero is along each coordinate: $1 / s$ for weights under `Laplace`."""
        sharp = prior is not None and isinstance(prior.density, WeightPrior) and prior.density.rate > 0
        return self.penalized * prior.density.rate if sharp and prior is not None else np.zeros(len(self.coordinates))

    @property
    def written(self) -> Floats:
        """The parameters as the CPD is written with them, in the shape that reports give them."""
        return self.coordinates

    @property
    def are_probabilities(self) -> bool:
        """Whether `written` holds probabilities, which end at zero and one."""
        return False


class FreeParameters(Values[C]):
    """The parameters that can change by themselves, and the derivative of the conditional distribution by each."""

    @property
    def names(self) -> tuple[str, ...]:
        """What each free parameter is called."""
        raise self._no_free_parameters()

    @property
    def values(self) -> Floats:
        """The free parameters."""
        raise self._no_free_parameters()

    def moved(self, step: Floats) -> C | None:
        """The CPD with its free parameters moved; None where a probability would leave [0, 1]."""
        raise self._no_free_parameters()

    def table_slope(self, slope: Floats) -> Floats:
        r"""The slope by the free parameters: $(\partial\theta / \partial\varphi)^\top g$, with $\theta$ the table.

        Args:
            slope: $g$, flat in C order over the scope.
        """
        raise self._no_free_parameters()

    def _no_free_parameters(self) -> NotApplicable:
        return self.refusal(
            "does not say what its free parameters are",
            "Give tables, trees, rules, noisy-or, noisy-max or logistic CPDs; to_table() turns a discrete CPD into a "
            "table, which has parameters of its own.",
        )


class Parameters(CompleteRows[C, S], Coordinates[C], FreeParameters[C]):
    """The parameters of one CPD: everything that learning asks about them.

    >>> from sepset.cpds.table import TableCPD
    >>> coin = TableCPD(Discrete("coin"), [0.25, 0.75])
    >>> coin.parameters.arrays, coin.parameters.names
    ({'rows': array([[0.25, 0.75]])}, ('P(coin=0)',))
    """


def check_parameterization(parameterization: object) -> None:
    """Raise unless this names a parameterization."""
    one_of("parameterization", parameterization, ("softmax", "theta"))


def complete_rows(columns: Columns, weights: Floats | None, scope: Scope) -> tuple[Columns, Floats]:
    """The rows in which every variable of the scope is observed, and the weight of each.

    >>> a = Discrete("a")
    >>> complete_rows({a: np.array([1, -1, 0])}, None, (a,))[0][a].tolist()
    [1, 0]
    """
    whole = np.all([is_observed(columns[v]) for v in scope], axis=0)
    share = np.ones(int(whole.sum())) if weights is None else weights[whole]
    return {v: columns[v][whole] for v in scope}, share


def is_observed(column: AnyArray) -> Bools:
    """Which cells are observed: missing codes are -1, missing numbers NaN."""
    return np.asarray(~np.isnan(column) if column.dtype.kind == "f" else column >= 0)


def weighted(cpd: Parametrized, columns: Columns, weights: Floats | None) -> float:
    """The weighted sum of log probabilities of rows; those of weight zero may be impossible.

    >>> from sepset.cpds.table import TableCPD
    >>> coin = TableCPD(Discrete("coin"), [0.0, 1.0])
    >>> weighted(coin, {coin.child: np.array([0, 1])}, np.array([0.0, 2.0]))
    0.0
    """
    logs = cpd.log_probability(columns)
    if weights is None:
        return float(logs.sum())
    counted = weights > 0
    return float(logs[counted] @ weights[counted])


def expected_log(probabilities: Floats, counts: Floats) -> float:
    r"""The expected log-likelihood $\sum_c M[c] \log \theta_c$ of counts; cells without any say nothing.

    >>> expected_log(np.array([0.0, 1.0]), np.array([0.0, 3.0]))
    0.0
    """
    seen = counts > 0
    with np.errstate(divide="ignore"):
        return float(counts[seen] @ np.log(probabilities[seen]))


AnyParameters: TypeAlias = Parameters[Any, Any]
"""The parameters of any CPD."""
