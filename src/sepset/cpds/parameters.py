r"""The operations on the parameters of one CPD that learning needs. Every CPD defines its own, as `cpd.parameters`.

They come in five groups; an operation that a CPD does not define raises an error with its name.

- *values*: arrays and back, exactly; random draws; the parameters of a tied CPD; the form that files store.
- *complete rows*: additive statistics, their likelihood, the estimate with the term of a prior, the posterior.
- *incomplete rows*: the form for the inference engine, expected statistics, their score and the estimate from them.
- *coordinates*: an unconstrained vector and back, the gradient and the curvature of the score.
- *free parameters*: names, values, and the derivative of the conditional distribution by each.

Statistics of incomplete rows are flat arrays $\bar s$ that add up over rows, with a score that is linear in them,
$E[\log P(\mathbf x \mid \mathbf u)] = \bar s \cdot f(\theta)$: expected counts, or expected moments.

Reference: Koller & Friedman, sections 17.2, 17.4 and 19.2.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, Protocol, Self, TypeAlias, TypeVar

import numpy as np

from sepset.base.arraytypes import AnyArray, Bools, Floats, Ints
from sepset.base.checks import one_of
from sepset.cpds.counts import Contexts
from sepset.cpds.priors.weights import WeightPrior
from sepset.errors import ModelError, NotApplicable
from sepset.factors.algebra import AnyVariable, Columns, Scope
from sepset.factors.labels import name_of
from sepset.variables.variable import Discrete

if TYPE_CHECKING:
    from sepset.data.moments import Moments
    from sepset.factors.regression import Regression
    from sepset.factors.table import Table

Parameterization: TypeAlias = Literal["softmax", "theta"]
"""The coordinates in which a mode is taken: unconstrained (logits, log variances), or the parameters themselves."""

ROUNDING = 1e-6
"""The largest difference between one and the sum of a computed row of probabilities."""


class Parametrized(Protocol):
    """The part of a CPD that its parameters need."""

    @property
    def child(self) -> AnyVariable:
        """The child variable."""

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
        columns: the columns of the variables of a block's first CPD.
        weights: one per row.
    """

    columns: Columns
    weights: Floats

    def of(self, cpd: Parametrized) -> Columns:
        """The columns by the variables of a tied CPD."""
        return {v: self.columns[u] for v, u in zip(cpd.scope, self.columns, strict=True)}


@dataclass(frozen=True, slots=True, eq=False)
class PriorTerm:
    r"""The term of a prior in the objective of one block: $\sum_c \alpha_c \log \theta_c$, rows, or a log density.

    Attributes:
        counts: pseudo-counts, shaped like the flat statistics.
        rows: imaginary rows, which are added to those of the data.
        density: a density of the parameters, of a type that the CPD knows.
    """

    counts: Floats | None = None
    rows: ImaginaryRows | None = None
    density: Any = None


class Varied(NamedTuple):
    """Rows of probabilities whose entries can be varied one at a time, the rest of a row in proportion.

    Attributes:
        rows: `[rows, states]`, each sums to one.
        codes: the child's code of each column.
        is_given: whether the factors' entries are these, zeros and ones; none of them is computed.
    """

    rows: Floats
    codes: Ints
    is_given: bool = True


@dataclass(frozen=True, eq=False, repr=False)
class Values(Generic[C]):
    """The values of the parameters of one CPD: arrays and back, random draws, and tied CPDs."""

    cpd: C

    def of(self, cpd: C) -> Self:
        """The same operations on another CPD of the same form; values computed for the form are kept."""
        return replace(self, cpd=cpd)

    def refusal(self, what: str, instead: str) -> NotApplicable:
        """The error for an operation that is not defined: which CPD, which operation, what to use instead."""
        return NotApplicable(f"{name_of(self.cpd)} {what}. {instead}")

    @property
    def form(self) -> dict[str, Any]:
        """The plain values that a file stores in addition to the kind, the variables, the block and the arrays."""
        return {}

    @property
    def arrays(self) -> dict[str, Floats]:
        """The parameters as arrays, by name."""
        raise self.refusal("defines no arrays of parameters", "Convert it to a CPD that does.")

    def with_arrays(self, arrays: Mapping[str, Floats], tolerance: float = ROUNDING) -> C:
        """The CPD of the same form and block with exactly these parameters; raises unless they fit.

        Args:
            arrays: names and shapes as in `arrays`.
            tolerance: the largest difference between one and the sum of a row of probabilities.
        """
        shapes = {name: array.shape for name, array in self.arrays.items()}
        found = {name: np.shape(array) for name, array in arrays.items()}
        if found != shapes:
            raise ModelError(f"{name_of(self.cpd)} takes arrays of the shapes {shapes}; found {found}.")
        made = {name: np.array(array, dtype=np.float64, order="C") for name, array in arrays.items()}
        if not all(np.isfinite(array).all() for array in made.values()):
            raise ModelError(f"{name_of(self.cpd)} takes finite parameters; found others.")
        self.check_arrays(made, tolerance)
        return self.from_arrays(made)

    def check_arrays(self, arrays: Mapping[str, Floats], tolerance: float) -> None:
        """Raise unless the arrays, which are finite and of the right shapes, are parameters of this form."""

    def from_arrays(self, arrays: Mapping[str, Floats]) -> C:
        """The CPD of the same form and block with these arrays, which are not checked."""
        raise self.refusal("cannot be rebuilt from arrays", "Make it with its constructor.")

    def like(self, other: C) -> C:
        """This CPD with the parameters of one it is tied to."""
        return self.from_arrays(self.of(other).arrays)

    @property
    def key(self) -> Hashable:
        """The properties that CPDs of one block have in common."""
        return type(self.cpd), tuple(v.domain if isinstance(v, Discrete) else v.size for v in self.cpd.scope)

    @property
    def is_default(self) -> bool:
        """Whether these are the default parameters of a network built from a graph."""
        return False

    @property
    def is_table(self) -> bool:
        """Whether the parameters are the entries of a table over parents and child."""
        return False

    def random(self, rng: np.random.Generator, *, interior: bool = False) -> C:
        """The CPD with random parameters; if `interior`, probabilities are bounded away from zero and one."""
        raise self.refusal("has no random start", "Give start='model' and its parameters.")

    @property
    def varied(self) -> Varied | None:
        """The rows of probabilities for sensitivity analysis; None if the parameters are of another kind."""
        return None

    def varied_slopes(self, slopes: Sequence[Floats]) -> Floats:
        """The derivatives with respect to the rows of `varied`, given those with respect to the CPD's factors."""
        raise self.refusal("has no rows of probabilities", "Compare `query` at changed parameters.")

    def varied_context(self, row: int) -> dict[str, Any]:
        """The states of the parents that a row of `varied` is for; a tuple of states where it is for several."""
        raise self.refusal("has no rows of probabilities", "Compare `query` at changed parameters.")

    @property
    def weighed(self) -> tuple[tuple[dict[str, Any], Any], ...] | None:
        """For free parameters without limits, as weights are: the parents' states and the child's state of each."""
        return None

    def doubled(self, pair: Discrete) -> C:
        """The CPD of two independent draws of the child, as one variable whose first draw varies slowest."""
        raise self.refusal("has no weights", "Compare `query` at changed parameters.")

    def tells(self, parent: Discrete) -> bool:
        """Whether the child's distribution differs between the states of a parent."""
        return True

    def over(self, scope: Scope) -> C:
        """The same conditional distribution over variables of the same names: parents and states in their order."""
        return self.cpd if tuple(scope) == tuple(self.cpd.scope) else self.reordered(scope)

    def reordered(self, scope: Scope) -> C:
        """The same conditional distribution over a scope that is not its own; see `over`."""
        raise self.refusal("cannot be put into another order", "List its parents and states in one order.")

    def relabels(self, variable: AnyVariable) -> bool:
        """Whether the CPD keeps its form if the states of a variable are permuted."""
        return False

    def relabeled(self, variable: Discrete, order: Ints) -> C:
        """The CPD after the states of a variable are permuted: state `order[i]` is now state `i`."""
        raise self.refusal(f"does not keep its form if the states of {variable.name!r} are permuted", "Use a TableCPD.")


class CompleteRows(Values[C], Generic[C, S]):
    """The parameters and complete rows: additive statistics `S`, and estimates from them."""

    def statistics(self, columns: Columns, weights: Floats | None = None) -> S:
        """The statistics of complete rows; those of two sets of rows add up with `+`."""
        found: S = self.cpd.statistics(columns, weights)
        return found

    @property
    def stored(self) -> Literal["counts", "moments"] | None:
        """The group-by that gives the statistics of rows not in memory: counts of joint states, moments, or None."""
        return None

    def from_counts(self, table: Floats) -> S:
        """The statistics of rows with these counts of joint states, in C order over the scope."""
        raise NotApplicable(f"Counts of joint states say nothing about {name_of(self.cpd)}. Give the rows.")

    def from_moments(self, moments: Moments) -> S:
        """The statistics of rows with these moments of the real variables in each discrete context."""
        raise NotApplicable(f"Moments of real variables say nothing about {name_of(self.cpd)}. Give the rows.")

    def aligned(self, stats: S) -> S:
        """The statistics of a tied CPD as if counted for this one."""
        return stats

    def log_likelihood(self, stats: S, *, has_rows: bool = False) -> float | None:
        """The log-likelihood of the rows with these statistics; None if only the rows determine it.

        Args:
            has_rows: whether the rows can be used instead, if they are more accurate.
        """
        return None

    @property
    def is_exact(self) -> bool:
        """Whether the estimate has a closed form, so that it is a global optimum."""
        return False

    def takes(self, prior: object) -> bool:
        """Whether a prior is for parameters of this kind."""
        return False

    @property
    def sizes(self) -> Floats:
        """The number of joint states of parents and child per cell, if the CPD is made of multinomials."""
        raise self.refusal("is not made of multinomials, which such a prior needs", "Use PosteriorMode with Dirichlet.")

    def prior_term(self, prior: object, cpds: Sequence[C], *, is_theta: bool = False) -> PriorTerm:
        """The term of a prior in the objective; a prior that does not apply raises an error.

        Args:
            prior: one prior.
            cpds: the CPDs of the block, this one first.
            is_theta: whether the mode is that of the parameters themselves.
        """
        raise self.refusal(f"takes no prior; found {prior!r}", "Use MLE.")

    def maximized(
        self, stats: S, prior: PriorTerm | None = None, *, unseen: object = "uniform", cpds: Sequence[C] = ()
    ) -> C:
        """The CPD of maximum likelihood, or with a prior of maximum posterior.

        Args:
            stats: what `statistics` returns.
            unseen: for contexts that neither rows nor prior determine: "raise" an error, "uniform", the child's
                "marginal", "keep" the parameters as they are, or a prior to fill them with.
            cpds: the CPDs of the block, if there are others.
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
        """This estimate at full accuracy and within limits; raises if the likelihood is unbounded there.

        Args:
            stats: the statistics it was estimated from.
            cpds: the CPDs of the block, if there are others.
            rows: the columns and weights of the rows, if available.
            floor: the smallest probability allowed.
            min_variance: the smallest variance allowed.
        """
        return self.cpd

    def facts(self, stats: S, *, has_rows: bool) -> dict[str, object]:
        """Facts for reports about how well the rows determine this estimate."""
        return {}

    @property
    def is_conjugate(self) -> bool:
        """Whether `posterior` has a closed form."""
        return False

    def posterior(self, prior: object, cpds: Sequence[C], stats: S) -> Any:
        """The posterior of the parameters of a block, of which this is the first CPD."""
        raise self.refusal(
            "declares no conjugate prior, so its posterior has no closed form", "Use PosteriorMode, or give it a table."
        )

    def contexts(self, stats: S) -> Contexts | None:
        """The counts of rows in each context, from statistics; None if there are no contexts."""
        return None

    def describe_context(self, context: int) -> str:
        """The text of a context, for messages."""
        raise self.refusal("has no contexts", "Use a CPD that has.")


class IncompleteRows(Values[C]):
    """The parameters and incomplete rows: flat expected statistics, from the marginals of an inference engine."""

    def for_rows(self, columns: Columns) -> Self:
        """The same operations, prepared for incomplete rows: the center of moments, the cell of each joint state.

        Args:
            columns: the rows, with missing codes -1 and missing values NaN; empty if all variables are discrete.
        """
        raise self._no_expectations()

    def including(self, other: Self) -> Self:
        """The same operations, prepared for the rows of a tied CPD too."""
        return self

    def about(self, first: Self) -> Self:
        """The same operations, with the center or the joint states of a tied CPD, so that statistics add up."""
        return self

    @property
    def center(self) -> Floats:
        """The center of moments; empty for counts."""
        return np.zeros(0)

    def recentered(self, stats: Floats, center: Floats) -> Floats:
        """The statistics, converted from moments about another center."""
        return stats

    @property
    def is_counted(self) -> bool:
        """Whether the flat statistics are counts of events, so that the smallest are negligible."""
        return True

    @property
    def zero(self) -> Floats:
        """The flat statistics of no rows."""
        raise self._no_expectations()

    @property
    def engine_form(self) -> Any:
        """The CPD for the inference engine: the marginals of its factors determine the statistics."""
        raise self._no_expectations()

    @property
    def engine_values(self) -> Sequence[Floats | Table | Regression]:
        """The values of the factors of `engine_form`: dense arrays (tables beyond the range of floats), regressions."""
        raise self._no_expectations()

    def expected(self, marginals: Sequence[Floats]) -> Floats:
        """The flat statistics, from the summed marginals over the factors of `engine_form`."""
        raise self._no_expectations()

    def tally(self, columns: Columns, weights: Floats) -> Floats:
        """The flat statistics of complete rows."""
        raise self._no_expectations()

    def score(self, stats: Floats) -> float:
        """The expected log-likelihood of rows with these flat statistics; linear in them."""
        raise self._no_expectations()

    def estimate(self, stats: Floats, prior: PriorTerm | None = None) -> C:
        """The CPD estimated from flat statistics and a prior: its objective is at least that of this one."""
        raise self._no_expectations()

    def check_bounded(self, prior: PriorTerm | None = None) -> None:
        """Raise if the likelihood is unbounded where these parameters are."""

    def expected_contexts(self, stats: Floats) -> Contexts | None:
        """The counts of rows in each context, from flat statistics; None if there are no contexts."""
        return None

    def start(
        self, columns: Columns, weights: Floats | None, rng: np.random.Generator, prior: PriorTerm | None = None
    ) -> C:
        """A rough estimate from the rows that are complete for this family, as the start of an iteration.

        Args:
            columns: the rows, with missing codes -1 and missing values NaN.
            weights: one per row, or None.
            rng: for random perturbations that break ties.
        """
        return self.random(rng)

    def _no_expectations(self) -> NotApplicable:
        what = "is not learned from incomplete rows, since it has no expected statistics"
        return self.refusal(what, "Fit it to complete rows.")

    def joined(self, stats: Floats, prior: PriorTerm | None) -> Floats:
        """The flat statistics plus the pseudo-counts and imaginary rows of a prior."""
        if prior is None:
            return stats
        total = stats if prior.counts is None else stats + prior.counts
        return total if prior.rows is None else total + self.tally(prior.rows.of(self.cpd), prior.rows.weights)


class Coordinates(IncompleteRows[C]):
    """The parameters as an unconstrained vector, and gradients of the expected log-likelihood."""

    @property
    def coordinates(self) -> Floats:
        """The parameters as an unconstrained vector, of the same length for every CPD of the form."""
        raise self.refusal("defines no unconstrained parameters", "Use EM().")

    def at(self, coordinates: Floats) -> C:
        """The CPD of the same form with these coordinates."""
        raise self.refusal("cannot be rebuilt from coordinates", "Use EM().")

    def score_slope(self, stats: Floats) -> Floats:
        """The gradient of `score` with respect to the coordinates."""
        raise self.refusal("defines no gradient of its likelihood", "Use EM().")

    def information(self, stats: Floats) -> Floats:
        """The approximate negative derivative of `score_slope` along each coordinate: the complete-data information."""
        raise self.refusal("defines no curvature of its likelihood", "Use EM().")

    def units(self, stats: Floats) -> Floats:
        """Changes of the coordinates, one per column, that matter about as much to a row: those of one by default."""
        return np.eye(len(self.coordinates))

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
        """The approximate negative derivative of `slope` along each coordinate."""
        return self.information(self.joined(stats, prior))

    def kinks(self, prior: PriorTerm | None) -> Floats:
        r"""The size of the log prior's kink at zero along each coordinate: $1 / s$ under `LaplaceWeights`."""
        sharp = prior is not None and isinstance(prior.density, WeightPrior) and prior.density.rate > 0
        return self.penalized * prior.density.rate if sharp and prior is not None else np.zeros(len(self.coordinates))

    @property
    def written(self) -> Floats:
        """The parameters as the CPD states them, in the shape of reports."""
        return self.coordinates

    @property
    def are_probabilities(self) -> bool:
        """Whether `written` holds probabilities, which lie between zero and one."""
        return False


class FreeParameters(Values[C]):
    """The free parameters, and the derivative of the conditional distribution with respect to each."""

    @property
    def names(self) -> tuple[str, ...]:
        """The name of each free parameter."""
        raise self._no_free_parameters()

    @property
    def values(self) -> Floats:
        """The values of the free parameters."""
        raise self._no_free_parameters()

    def moved(self, step: Floats) -> C | None:
        """The CPD with its free parameters changed by a step; None if a probability would leave [0, 1]."""
        raise self._no_free_parameters()

    def table_slope(self, slope: Floats) -> Floats:
        r"""The gradient by free parameters: $(\partial\theta / \partial\varphi)^\top g$, with $\theta$ the table.

        Args:
            slope: the gradient $g$ by the entries of the table, flat in C order over the scope.
        """
        raise self._no_free_parameters()

    def _no_free_parameters(self) -> NotApplicable:
        return self.refusal(
            "defines no free parameters",
            "Give tables, trees, rules, noisy-or, noisy-max or logistic CPDs; to_table() turns a discrete CPD into a "
            "table, which has parameters of its own.",
        )


class Parameters(CompleteRows[C, S], Coordinates[C], FreeParameters[C]):
    """The parameters of one CPD, with all operations that learning needs.

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
    """Which cells are observed: missing codes are -1, missing values NaN."""
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


AnyParameters: TypeAlias = Parameters[Any, Any]
"""The parameters of any CPD."""
