"""The protocols of direct methods: prepared once, for many questions. Variables are given by position.

`Prepared` is the protocol of every method. What some can do beyond it is a named capability: `ReadsAll`, `TakesValues`,
`AnswersRows`, `CountsRows`, `CompletesRows`, `ListsRows`, `FindsMoments`, `MeasuresResiduals` and `Calibrates`. Callers
test `can(prepared, capability)`, or use the functions of `inference.capabilities` and `inference.completion`, which
fall back on plain questions if a method lacks it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeGuard, TypeVar, runtime_checkable

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats, Ints
from sepset.base.checks import number
from sepset.base.entries import Answers
from sepset.errors import ArgumentError
from sepset.factors.algebra import Factor
from sepset.factors.discrete import DiscreteFactor
from sepset.factors.table import Table
from sepset.graphs.ordering import DEFAULT_ORDER, OrderingMethod
from sepset.inference.plan import EliminationPlan, JointPlan
from sepset.inference.result import Guarantee, Guarantees, Status
from sepset.problem import Problem
from sepset.semiring import SUM, Semiring
from sepset.variables.evidence import Evidence

if TYPE_CHECKING:
    from sepset.graphs.clusters import ClusterTree
    from sepset.inference.evidencerows import EvidenceRows, ListedRows, RowAnswers, RowCounts, RowValues, Workers
    from sepset.inference.values import Values

C = TypeVar("C")

DEFAULT_MEMORY = 8 * 2**30
"""The default for the largest number of bytes of one step."""


def check_settings(order: object, memory: object) -> None:
    """Raise unless these are an ordering method and a number of bytes.

    >>> from sepset.graphs.ordering import MinFill
    >>> check_settings(MinFill(), 4 * 2**30)
    """
    if isinstance(order, type) or not can(order, OrderingMethod):
        raise ArgumentError(
            f"order= says how elimination orders are chosen, as MinFill() or GivenOrder([...]) do; found {order!r}."
        )
    number("memory= (bytes)", memory, least=0, finite=False)


class Answer(NamedTuple):
    """A normalized distribution over the targets, the log probability of the evidence, and a guarantee.

    An answer without a guarantee of its own has that of its method.
    """

    distribution: Any
    log_partition: float
    guarantee: Guarantee | None = None


def dense(distribution: Any) -> Any:
    """The distribution, as a table if it is discrete: `values` then has one axis per target for any kind of factors."""
    if type(distribution) is Table:
        return distribution
    is_sparse = isinstance(distribution, DiscreteFactor) and not isinstance(distribution, Table)
    return distribution.to_table() if is_sparse else distribution


class Best(NamedTuple):
    """An assignment from position to code (or value), and the logarithm of its unnormalized value."""

    values: Mapping[int, Any]
    log_value: float


class BestStates(NamedTuple):
    """A maximization over discrete and real variables as one over the discrete ones.

    Attributes:
        prepared: the discrete part, with the largest densities of the numbers as weights; None if there is none.
        evidence: evidence about it.
        over: the positions in it of the variables to be maximized.
        log_total: the logarithm of the total weight.
        complete: from its best states to those of all variables.
    """

    prepared: Prepared | None
    evidence: Evidence
    over: Sequence[int]
    log_total: float
    complete: Callable[[Best], Best]


class ContextMoments(NamedTuple):
    r"""For each context its probability, the mean of real variables, and a root of their covariance.

    A root has the weights of independent noises of unit variance (rows) in each coordinate (columns):
    $\Sigma = R^\top R$. Differences of numbers that are nearly equal keep digits in it that a covariance lost.
    """

    weights: Floats
    mean: Floats
    root: Floats

    @property
    def covariance(self) -> Floats:
        """The covariance in each context."""
        return np.asarray(self.root.swapaxes(1, 2) @ self.root)


class AnswersQueries(Protocol):
    """A method bound to a problem that answers single questions, from which all else can be derived."""

    @property
    def problem(self) -> Problem:
        """The problem of the questions."""

    def query(self, targets: Sequence[int], evidence: Evidence) -> Answer:
        """The joint of `targets` given the evidence; the log partition is -inf if that is impossible."""

    def marginals(self, evidence: Evidence) -> tuple[Callable[[int], Any], float]:
        """A reader of single marginals, and the log partition."""

    def log_partition(self, evidence: Evidence) -> float:
        """The logarithm of the total weight consistent with the evidence."""


class Maximizes(Protocol):
    """A method bound to a problem that finds most probable values."""

    @property
    def problem(self) -> Problem:
        """The problem of the questions."""

    def best(self, evidence: Evidence, over: Sequence[int]) -> Best:
        """The most probable values of `over`, all other variables summed out."""


@runtime_checkable
class Prepared(AnswersQueries, Maximizes, Protocol):
    """A method bound to a problem."""

    @property
    def method(self) -> Method:
        """The method with its settings."""

    def sample(self, num_rows: int, evidence: Evidence, rng: np.random.Generator) -> dict[int, AnyArray]:
        """Independent draws of every unobserved variable."""

    def plan(self, targets: Sequence[int], observed: Sequence[int]) -> EliminationPlan:
        """The plan of a question, with its cost."""

    def best_plan(self, over: Sequence[int], observed: Sequence[int]) -> EliminationPlan:
        """The plan of `best`, with its cost: maxima over `over`, after sums over the rest."""


@runtime_checkable
class Method(Protocol):
    """A frozen value of settings."""

    def prepare(self, problem: Problem) -> Prepared:
        """The method bound to a problem."""

    def promises(self, problem: Problem) -> Guarantees:
        """The guarantees of its answers about this problem."""


def prepare(method: Method, problem: Problem) -> Prepared:
    """The method bound to a problem, which is rewritten for each question if it has forms."""
    if not problem.forms:
        return method.prepare(problem)
    from sepset.inference.forms import PreparedForms

    return PreparedForms(problem, method)


def can(prepared: object, capability: Callable[..., C]) -> TypeGuard[C]:
    """Whether a prepared method has a capability: `isinstance`, cached by class.

    >>> from sepset.inference.exact.elimination import VariableElimination
    >>> from sepset.variables.universe import Universe
    >>> can(VariableElimination().prepare(Problem(Universe([]), ())), TakesValues)
    False
    """
    return _is_subclass(type(prepared), capability)  # type: ignore[arg-type]  # a class, as it makes a C


_is_subclass = cache(issubclass)


@runtime_checkable
class Portable(Protocol):
    """A prepared method that another process can use: it is pickled with its plans and programs."""

    def portable(self) -> Prepared:
        """The method as it is sent: plans, programs and values, without workspaces and locks."""


@runtime_checkable
class ReadsAll(Protocol):
    """A prepared method that also returns the marginals of observed variables, all as tables."""

    def all_marginals(self, evidence: Evidence) -> tuple[Callable[[int], Table], float]:
        """A reader of the marginal of every variable, observed ones as point masses, and the log partition."""


@runtime_checkable
class ReadsArrays(Protocol):
    """A prepared method that reads the marginals of many variables at once."""

    def marginal_rows(self, evidence: Evidence, positions: Ints) -> Floats:
        """The marginals of variables with the same states, one row each, observed ones as point masses."""


@runtime_checkable
class SendsMaxima(Protocol):
    """A prepared method of message passing that also finds beliefs by maxima."""

    def max_beliefs(self, evidence: Evidence) -> Any:
        """The beliefs of max-product messages at some evidence."""


@runtime_checkable
class MeasuresResiduals(Protocol):
    """A prepared method that measures how well its answers about real variables solve their equations."""

    def residual(self, targets: Sequence[int], evidence: Evidence) -> float | None:
        """The largest relative residual of the answer about `targets`; None if it was not measured."""


class RunReport(NamedTuple):
    """How the run behind an answer ended: its guarantees, its status, and further information."""

    guarantees: Guarantees
    status: Status
    info: Mapping[str, object]


@runtime_checkable
class ReportsRuns(Protocol):
    """A prepared method whose answers come from a run that may not converge."""

    def report(self, evidence: Evidence) -> RunReport:
        """How the run at some evidence ended."""


@runtime_checkable
class TakesWholeFactors(Protocol):
    """A method that takes wide constraints as they were written: it needs no chains of auxiliaries for them."""

    def propagate(self, wiring: Any) -> Any:
        """The beliefs of a wired model."""


class FindsBestStates(Protocol):
    """Questions in moment form, whose maxima over real variables are those of their means."""

    def best_states(self, evidence: Evidence, over: Sequence[int]) -> BestStates:
        """The maximization over `over` as one over its discrete variables."""


@runtime_checkable
class AnswersByMoments(Protocol):
    """A prepared method that may answer about real variables in moment form."""

    def by_moments(self, targets: Sequence[int], evidence: Evidence) -> FindsBestStates | None:
        """The questions in moment form, or None if this one is not answered by them."""


LARGEST_RESIDUAL = 1e-6
"""The residual above which an answer about real variables is an estimate."""


@runtime_checkable
class EliminationMethod(Method, Protocol):
    """A method that eliminates variables in an order, within a limit of memory."""

    @property
    def order(self) -> OrderingMethod:
        """How elimination orders are chosen."""

    @property
    def memory(self) -> int:
        """The largest number of bytes held at once."""


def elimination_settings(method: Method) -> tuple[OrderingMethod, int]:
    """The order and memory settings of a method; the defaults if it has none."""
    if isinstance(method, EliminationMethod):
        return method.order, method.memory
    return DEFAULT_ORDER, DEFAULT_MEMORY


@runtime_checkable
class ForeseesSums(Protocol):
    """A prepared method that knows from the graph alone that maxima, or the sums before them, are hopeless."""

    def refuse_sums(self, over: Sequence[int], observed: Sequence[int], apart: Collection[int] = ()) -> None:
        """Raise if the sums over all variables but `over` and the observed ones need far more than the memory.

        Args:
            apart: the children of conditionals that may have other factors than those of the problem.
        """

    def refuse_maxima(
        self, over: Sequence[int], observed: Sequence[int], apart: Collection[int] = (), joined: Ints | None = None
    ) -> None:
        """The same for these sums and the maxima after them; chains may be tables.

        Args:
            joined: pairs of variables that are known to be in one table, which the problem does not have.
        """


@runtime_checkable
class TakesValues(Protocol):
    """A prepared method that reuses its plans if only the values of the factors change: EM, gradients."""

    def with_values(self, values: Values) -> Prepared:
        """The same method prepared for the same structure with new values; this one is unchanged.

        Conditionals must remain conditionals, since plans leave out factors that sum to one; raises otherwise, and for
        arrays of another shape. The answers equal those of the method prepared for the new problem.

        Args:
            values: one array per factor over its scope, for a regression another one over the same variables; factors
                that a mapping by number leaves out keep theirs.
        """


@runtime_checkable
class AnswersRows(Protocol):
    """A prepared method that answers many rows of evidence at once: prediction, imputation, evaluation."""

    def answer_rows(self, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowAnswers:
        """The log partition of every row, and in each the posterior of every target.

        The answer of each row equals that of `log_partition` and `query` for its evidence, up to rounding; it depends
        neither on the other rows nor on the number of threads. Impossible rows have -inf, and NaN for posteriors.

        Args:
            rows: the evidence; rows may repeat.
            targets: discrete or real variables, which a row may observe; for real ones, mean and variance are found.
        """


@runtime_checkable
class CompletesRows(Protocol):
    """A prepared method that fills in the missing cells of many rows at once: imputation, hard-assignment EM.

    A row's values depend neither on the other rows nor on the number of threads. Impossible rows have -inf, and their
    cells stay missing.
    """

    def mode_rows(self, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowValues:
        """The targets, each missing cell at its own most probable value; the log partitions."""

    def complete_rows(self, rows: EvidenceRows, workers: Workers) -> RowValues:
        r"""Every variable of the model, missing cells at $\arg\max_{\mathbf h} P(\mathbf h, \mathbf o)$; log maxima.

        Auxiliary variables of the problem are summed out, not maximized. Ties are broken by the elimination order: the
        variable eliminated last takes its first state.
        """

    def draw_rows(
        self, rows: EvidenceRows, targets: Sequence[int], rng: np.random.Generator, workers: Workers
    ) -> RowValues:
        """The targets, missing cells drawn jointly, independently between rows; the log partitions."""


@runtime_checkable
class PlansRows(Protocol):
    """A prepared method that plans a batch of rows before it runs."""

    def plan_rows(self, rows: EvidenceRows) -> None:
        """Plan the sums of factor marginals over these rows, which later runs use; raises if a row is too large."""


@runtime_checkable
class CountsRows(Protocol):
    r"""A prepared method that computes the marginal over each factor's scope: expected counts, and the gradient

    $$\frac{\partial \log Z}{\partial \log \phi(\mathbf u)} = P(\mathbf u \mid \mathbf e).$$
    """

    def factor_marginals(self, evidence: Evidence) -> tuple[Floats, ...]:
        """One array per factor with an axis per variable of its scope, observed variables as point masses.

        For a regression they are the expected products of (1, real parents, child), one matrix per joint state of its
        discrete parents. Impossible evidence raises `ImpossibleEvidence`.
        """

    def summed_marginals(self, rows: EvidenceRows, weights: Floats, workers: Workers) -> RowCounts:
        """The weighted sum over the rows of their factor marginals, and the log partition of every row.

        Impossible rows have -inf and contribute nothing. The sums do not depend on the number of threads. Repeated rows
        are answered again: make them distinct once, if many sets of values are used with the same rows.

        Args:
            weights: one per row.
        """


@runtime_checkable
class ListsRows(Protocol):
    """A prepared method that lists every completion of the missing states of rows: expected rows of structural EM."""

    def list_rows(self, rows: EvidenceRows, most: int, workers: Workers) -> ListedRows:
        """All completions, with their probabilities, and the moments of missing numbers given them.

        Raises `NotApplicable` where a row has more than `most`, or where observed numbers have no joint density;
        impossible rows have NaN.
        """


@runtime_checkable
class FindsMoments(Protocol):
    """A prepared method that computes means and covariances of real variables in many contexts at once: divergences."""

    def moments(self, reals: Sequence[int], by: Sequence[int]) -> ContextMoments:
        """The moments of the real variables `reals` in each joint state of the discrete variables `by`, in C order.

        A context of probability zero has zeros.
        """


@runtime_checkable
class Rewrites(Protocol):
    """A prepared method that rewrites its problem for each question, since factors depend on what is asked."""

    def for_best(self, evidence: Evidence, over: Sequence[int]) -> Prepared:
        """The method prepared for the best values of `over`."""

    def for_sums(self, evidence: Evidence, targets: Sequence[int]) -> Prepared:
        """The method prepared for a query of `targets`."""

    def has_maxima(self, evidence: Evidence, over: Sequence[int], most: float) -> bool:
        """Whether there are factors for the best values of `over`, in which no auxiliary is to be summed out.

        Args:
            most: the most entries of large tables among them.
        """

    def k_best(self, evidence: Evidence, over: Sequence[int], k: int) -> list[Best] | None:
        """Up to k assignments, best first, where no factors fit; None if it is not certain which they are."""


@runtime_checkable
class TimesBest(Protocol):
    """A prepared method that can tell how long the best assignment takes."""

    def best_seconds(self, evidence: Evidence) -> float:
        """The estimated seconds of the best assignment of all unobserved variables, after planning."""


class Calibrated(Protocol):
    r"""A calibrated tree: $\prod_i \beta_i / \prod_{ij} \mu_{ij}$ is the distribution it started from."""

    @property
    def tree(self) -> ClusterTree:
        """The cliques and their sepsets."""

    @property
    def beliefs(self) -> Sequence[Factor]:
        """One factor per clique, proportional to its marginal."""

    @property
    def sepset_beliefs(self) -> Sequence[Factor]:
        """One factor per edge, in the order of `tree.edges`."""

    @property
    def log_partition(self) -> float:
        """The logarithm of the total."""

    @property
    def semiring(self) -> Semiring:
        """The semiring of the messages."""

    def marginal(self, names: Sequence[str]) -> Any:
        """The normalized marginal over names that one clique covers; None if no clique does."""


@runtime_checkable
class Calibrates(Protocol):
    """A prepared method with a clique tree over every unobserved variable, which is calibrated once and then read."""

    def calibrate(self, evidence: Evidence, semiring: Semiring = SUM) -> Calibrated:
        """The calibrated tree; `MAX` gives max-marginals."""

    def pairwise_marginals(self, evidence: Evidence) -> Answers[tuple[str, str], Table]:
        """The joint of every pair of unobserved variables, all of them discrete, in one sweep over the tree.

        Impossible evidence raises `ImpossibleEvidence`.
        """

    def joint(self, targets: Sequence[int], evidence: Evidence, calibration: Calibrated) -> Answer:
        """The answer of `query`, from the tree calibrated for this evidence or by a cheaper elimination."""

    def joint_plan(self, targets: Sequence[int], evidence: Evidence, calibration: Calibrated) -> JointPlan:
        """The plan of `joint`, with its cost."""
