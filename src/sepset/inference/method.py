"""The shape of direct methods: prepare once, ask many times. Variables travel as positions.

`Prepared` is what every method answers. What some can do beyond that is a named capability: `ReadsAll`, `TakesValues`,
`AnswersRows`, `CountsRows`, `CompletesRows`, `FindsMoments` and `Calibrates`. Callers ask by `can(prepared,
capability)`, or use the functions of `inference.capabilities` and `inference.completion`, which do the same by plain
questions where a method lacks it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeGuard, TypeVar, runtime_checkable

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats
from sepset.base.checks import number
from sepset.errors import ArgumentError
from sepset.factors.algebra import Factor
from sepset.factors.discrete import DiscreteFactor
from sepset.factors.table import Table
from sepset.graphs.clusters import CliqueTree
from sepset.graphs.ordering import DEFAULT_ORDER, OrderingMethod
from sepset.inference.evidencerows import EvidenceRows, RowAnswers, RowCounts, RowValues, Workers
from sepset.inference.plan import JointPlan, Plan
from sepset.inference.result import Answers, Guarantee, Guarantees
from sepset.inference.values import Values
from sepset.problem import Problem
from sepset.semiring import SUM, Semiring
from sepset.variables.evidence import Evidence

C = TypeVar("C")

DEFAULT_MEMORY = 8 * 2**30
"""The most bytes one step may need, where a method does not say."""


def check_settings(order: object, memory: object) -> None:
    """Raise unless these are a way to choose an order, and a number of bytes.

    >>> from sepset.graphs.ordering import MinFill
    >>> check_settings(MinFill(), 4 * 2**30)
    """
    if isinstance(order, type) or not hasattr(order, "arrange"):
        raise ArgumentError(
            f"order= says how elimination orders are chosen, as MinFill() or GivenOrder([...]) do; found {order!r}."
        )
    number("memory= (bytes)", memory, least=0, finite=False)


class Answer(NamedTuple):
    """A normalized distribution over the targets, the logarithm of the evidence's probability, and how good both are.

    Without a guarantee of its own, the answer has the one its method promises.
    """

    distribution: Any
    log_partition: float
    guarantee: Guarantee | None = None


def dense(distribution: Any) -> Any:
    """The answer with discrete ones as tables, so that `values` has one axis a target whatever the factors were."""
    if type(distribution) is Table:
        return distribution
    is_sparse = isinstance(distribution, DiscreteFactor) and not isinstance(distribution, Table)
    return distribution.to_table() if is_sparse else distribution


class Best(NamedTuple):
    """An assignment from position to code (or value), and the logarithm of its unnormalized value."""

    values: Mapping[int, Any]
    log_value: float


class ContextMoments(NamedTuple):
    """Of real variables in each context: its probability, the mean and the covariance."""

    weights: Floats
    mean: Floats
    covariance: Floats


class AnswersQueries(Protocol):
    """What is bound to a problem and answers single questions about it: enough for the rest to be derived."""

    @property
    def problem(self) -> Problem:
        """The problem it answers questions about."""

    def query(self, targets: Sequence[int], evidence: Evidence) -> Answer:
        """The joint of `targets` given the evidence; the log partition is -inf where that is impossible."""

    def marginals(self, evidence: Evidence) -> tuple[Callable[[int], Any], float]:
        """A reader of single marginals, and the log partition."""

    def log_partition(self, evidence: Evidence) -> float:
        """The logarithm of the total weight consistent with the evidence."""


class Maximizes(Protocol):
    """What is bound to a problem and finds most probable values."""

    @property
    def problem(self) -> Problem:
        """The problem it answers questions about."""

    def best(self, evidence: Evidence, over: Sequence[int]) -> Best:
        """The most probable values of `over`, all other variables summed out."""


@runtime_checkable
class Prepared(AnswersQueries, Maximizes, Protocol):
    """A method bound to a problem."""

    @property
    def method(self) -> Method:
        """The settings it was made with."""

    def sample(self, num_rows: int, evidence: Evidence, rng: np.random.Generator) -> dict[int, AnyArray]:
        """Independent draws of every unobserved variable."""

    def plan(self, targets: Sequence[int], observed: Sequence[int]) -> Plan:
        """What a question would cost."""


@runtime_checkable
class Method(Protocol):
    """A frozen value of settings."""

    def prepare(self, problem: Problem) -> Prepared:
        """The method bound to a problem."""

    def promises(self, problem: Problem) -> Guarantees:
        """What its answers about this problem guarantee."""


def can(prepared: object, capability: Callable[..., C]) -> TypeGuard[C]:
    """Whether a prepared method has a capability: what `isinstance` says, remembered for each class.

    >>> from sepset.inference.exact.elimination import VariableElimination
    >>> from sepset.variables.universe import Variables
    >>> can(VariableElimination().prepare(Problem(Variables([]), ())), TakesValues)
    False
    """
    return issubclass(type(prepared), capability)  # type: ignore[arg-type]  # a class, as it makes a C


@runtime_checkable
class ReadsAll(Protocol):
    """A prepared method whose marginals cover observed variables, too, all of them as tables."""

    def all_marginals(self, evidence: Evidence) -> tuple[Callable[[int], Table], float]:
        """A reader of the marginal of every variable, observed ones as point masses, and the log partition."""


@runtime_checkable
class EliminationMethod(Method, Protocol):
    """A method that eliminates variables in an order, within a limit of memory."""

    @property
    def order(self) -> OrderingMethod:
        """How elimination orders are chosen."""

    @property
    def memory(self) -> int:
        """The most bytes one step may need."""


def elimination_settings(method: Method) -> tuple[OrderingMethod, int]:
    """How a method chooses orders and how much memory it may take; the defaults where it has no say in that."""
    if isinstance(method, EliminationMethod):
        return method.order, method.memory
    return DEFAULT_ORDER, DEFAULT_MEMORY


@runtime_checkable
class TakesValues(Protocol):
    """A prepared method that keeps its plans when only the numbers of the factors change: EM, gradients."""

    def with_values(self, values: Values) -> Prepared:
        """The same method prepared for the same structure with new numbers; this one stays as it is.

        Conditionals must stay conditionals, since plans leave out what sums to one; others are refused, and so are
        arrays that do not fit. What the new one answers is what a method prepared for the new problem would.

        Args:
            values: one array per factor over its scope, for a regression another one over the same variables; a
                mapping from factor number keeps the factors it leaves out.
        """


@runtime_checkable
class AnswersRows(Protocol):
    """A prepared method that takes many rows of evidence at once: prediction, imputation, evaluation."""

    def answer_rows(self, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowAnswers:
        """The log partition of every row, and in each the posterior of every target.

        What each row gets is what `log_partition` and `query` answer for its evidence, up to rounding; it depends
        neither on the other rows nor on the number of threads. Impossible rows have -inf, and NaN for posteriors.

        Args:
            rows: the evidence; rows may repeat.
            targets: discrete or real variables; a row may observe them. Of real ones it finds mean and variance.
        """


@runtime_checkable
class CompletesRows(Protocol):
    """A prepared method that fills in what rows miss, many of them at once: imputation, hard-assignment EM.

    A row's values depend neither on the other rows nor on the number of threads. Impossible rows have -inf, and their
    cells stay missing.
    """

    def mode_rows(self, rows: EvidenceRows, targets: Sequence[int], workers: Workers) -> RowValues:
        """The targets with the most probable value of each by itself where a row misses it; log partitions."""

    def complete_rows(self, rows: EvidenceRows, workers: Workers) -> RowValues:
        r"""Every variable of the model, missing ones at $\arg\max_{\mathbf h} P(\mathbf h, \mathbf o)$; these maxima.

        Variables that the problem has beyond the model's own are summed out, not maximized. Ties are broken by the
        elimination order, in which the first state of the variable eliminated last wins.
        """

    def draw_rows(
        self, rows: EvidenceRows, targets: Sequence[int], rng: np.random.Generator, workers: Workers
    ) -> RowValues:
        """The targets, missing ones drawn together, independently between rows; log partitions."""


@runtime_checkable
class CountsRows(Protocol):
    r"""A prepared method that knows the marginal over each factor's scope: expected counts, and the gradient

    $$\frac{\partial \log Z}{\partial \log \phi(\mathbf u)} = P(\mathbf u \mid \mathbf e).$$
    """

    def factor_marginals(self, evidence: Evidence) -> tuple[Floats, ...]:
        """One array per factor with an axis per variable of its scope, observed variables as point masses.

        For a regression they are the expected products of (1, real parents, child), one matrix per joint state of its
        discrete parents. Impossible evidence raises `ImpossibleEvidence`.
        """

    def summed_marginals(self, rows: EvidenceRows, weights: Floats, workers: Workers) -> RowCounts:
        """The weighted sum over the rows of their factor marginals, and the log partition of every row.

        Impossible rows have -inf and count nothing. The sums do not depend on the number of threads. Rows that repeat
        are answered again: make them distinct once, where many sets of numbers meet the same rows.

        Args:
            weights: one per row.
        """


@runtime_checkable
class FindsMoments(Protocol):
    """A prepared method that knows means and covariances of real variables, in many contexts at once: divergences."""

    def moments(self, reals: Sequence[int], by: Sequence[int]) -> ContextMoments:
        """The moments of the real variables `reals` in each joint state of the discrete variables `by`, in C order.

        A context of probability zero has zeros.
        """


class Calibrated(Protocol):
    r"""A calibrated tree: $\prod_i \beta_i / \prod_{ij} \mu_{ij}$ is the distribution it started from."""

    @property
    def tree(self) -> CliqueTree:
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
        """What sums meant."""

    def marginal(self, names: Sequence[str]) -> Any:
        """The normalized marginal over names that one clique covers; None where no clique does."""


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
        """What `query` answers, from the tree calibrated for this evidence or by an elimination, the cheaper way."""

    def joint_plan(self, targets: Sequence[int], evidence: Evidence, calibration: Calibrated) -> JointPlan:
        """Which way `joint` takes, and what it costs."""
