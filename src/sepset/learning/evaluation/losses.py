r"""Losses of a model on rows, and their means: the empirical risk.

$$\frac1M \sum_m L(\xi[m] : \tilde P)$$

Where a row's features are impossible under the model there is no prediction, and none counts as wrong: the 0/1 loss is
one, the Hamming loss the number of targets, the Brier score two, and log-losses are infinite.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Literal, Protocol, TypeVar, runtime_checkable

import numpy as np

from sepset.base.arraytypes import AnyInts, Floats
from sepset.base.checks import one_of
from sepset.base.display import Plain, Shown, Worded
from sepset.base.entries import Answers
from sepset.base.foreign import translated
from sepset.base.frozen import fill, read_only
from sepset.base.progress import Bar
from sepset.base.text import brief, nearest
from sepset.data.dataset import Dataset
from sepset.engine.engine import Engine
from sepset.engine.kept import engine_for
from sepset.engine.rowquestions import Names
from sepset.engine.rows import most_probable, refuse_missing, true_codes
from sepset.errors import ArgumentError, DataError, ScopeError
from sepset.inference.method import Method
from sepset.learning.assessment import Assessment, computed
from sepset.learning.evaluation.resampling import BootstrapResult, bootstrap_mean
from sepset.models.model import Model
from sepset.variables.variable import Discrete, Vector, listed

R = TypeVar("R")


@runtime_checkable
class Loss(Protocol):
    """A number for every row that says how badly a model did there; any frozen value with a name and `rows`."""

    @property
    def name(self) -> str:
        """The name of the loss in tables."""

    def rows(self, engine: Engine, data: Dataset) -> Floats:
        """The loss of every row."""


@dataclass(frozen=True, slots=True)
class LogLoss:
    r"""$-\log P(\xi[m])$ in nats, missing cells summed out; infinite where the model excludes the row.

    Its expectation under the truth is $H(P^*) + KL(P^* \| \tilde P)$, so that it ranks models as the divergence does.

    Reference: Koller & Friedman, section 16.2.1.
    Guarantee: exact.
    Tested by: learning/evaluation/test_losses.py::test_log_loss_is_infinite_where_the_model_says_never

    >>> LogLoss().name
    'log-loss'
    """

    @property
    def name(self) -> str:
        """`log-loss`."""
        return "log-loss"

    def rows(self, engine: Engine, data: Dataset) -> Floats:
        """The loss of every row."""
        return 0.0 - engine.log_probabilities(data)


@dataclass(frozen=True, slots=True)
class ConditionalLogLoss:
    r"""$-\log P(\mathbf y[m] \mid \mathbf x[m])$ in nats, jointly over the targets, which may be continuous.

    Args:
        targets: the variables $\mathbf Y$.
        given: the variables $\mathbf X$; by default all others. Missing features are summed out.

    Reference: Koller & Friedman, section 16.2.2.
    Guarantee: exact.
    Tested by: learning/evaluation/test_losses.py::test_conditional_losses_against_the_joint

    >>> ConditionalLogLoss("grade", given=["sat"]).name
    'conditional log-loss of grade given sat'
    """

    targets: Names
    given: Names | None = None

    def __post_init__(self) -> None:
        hold_names(self)

    @property
    def name(self) -> str:
        """`conditional log-loss of ...`."""
        return f"conditional log-loss of {_listed(self.targets)}{_condition(self.given)}"

    def rows(self, engine: Engine, data: Dataset) -> Floats:
        """The loss of every row."""
        targets, data = engine.variables(self.targets), engine.rows(data)
        refuse_missing(data, targets)
        if len(targets) == 1 and isinstance(targets[0], Discrete) and self.given is None:
            logs = engine.log_posterior(data, targets[0])
            return _infinite(0.0 - logs[np.arange(len(logs)), data.codes(targets[0])])
        features = engine.features(targets, self.given)
        joint = engine.log_probabilities(data, over=(*targets, *features))
        alone = engine.log_probabilities(data, over=features) if features else np.zeros(len(joint))
        with np.errstate(invalid="ignore"):
            losses = np.where(joint == -np.inf, np.inf, alone - joint)
        return np.maximum(losses, 0.0) if all(v.is_discrete for v in targets) else losses


@dataclass(frozen=True, slots=True)
class ZeroOne:
    r"""$1\{\mathbf y[m] \neq \arg\max_{\mathbf y} P(\mathbf y \mid \mathbf x[m])\}$: whether the joint prediction errs.

    Ties go to the first state in the order of the variables.

    Args:
        targets: discrete variables.
        given: the features; by default all other variables.

    Reference: Koller & Friedman, section 16.2.2, with the risk taken over the true distribution.
    Guarantee: exact.
    Tested by: learning/evaluation/test_losses.py::test_joint_and_marginal_predictions_can_differ

    >>> ZeroOne(["a", "b"]).name
    '0/1 loss of a, b'
    """

    targets: Names
    given: Names | None = None

    def __post_init__(self) -> None:
        hold_names(self)

    @property
    def name(self) -> str:
        """`0/1 loss of ...`."""
        return f"0/1 loss of {_listed(self.targets)}{_condition(self.given)}"

    def rows(self, engine: Engine, data: Dataset) -> Floats:
        """The loss of every row."""
        targets, data = engine.discrete(self.targets), engine.rows(data)
        truth = true_codes(data, targets)
        wrong = engine.modes(data, targets, features=self.given) != truth
        return np.asarray(wrong.any(axis=1), np.float64)


@dataclass(frozen=True, slots=True)
class Hamming:
    r"""The number of targets whose predicted state is wrong.

    Args:
        targets: discrete variables.
        given: the features; by default all other variables.
        predictor: "marginals" predicts each target by its own posterior, which has the least expected Hamming loss;
            "joint" by the most probable joint assignment.

    Reference: Koller & Friedman, section 16.2.2.
    Guarantee: exact.
    Tested by: learning/evaluation/test_losses.py::test_one_target_has_equal_hamming_and_zero_one_loss

    >>> Hamming(["a", "b"]).name
    'Hamming loss of a, b'
    """

    targets: Names
    given: Names | None = None
    _: KW_ONLY
    predictor: Literal["marginals", "joint"] = "marginals"

    def __post_init__(self) -> None:
        hold_names(self)
        one_of("predictor", self.predictor, ("marginals", "joint"))

    @property
    def name(self) -> str:
        """`Hamming loss of ...`."""
        return f"Hamming loss of {_listed(self.targets)}{_condition(self.given)}"

    def rows(self, engine: Engine, data: Dataset) -> Floats:
        """The loss of every row."""
        targets, data = engine.discrete(self.targets), engine.rows(data)
        truth = true_codes(data, targets)
        if self.predictor == "joint":
            found = engine.modes(data, targets, features=self.given)
        else:
            posteriors = engine.posteriors(data, targets, features=self.given)
            found = np.stack([most_probable(p) for p in posteriors], axis=1)
        return np.asarray((found != truth).sum(axis=1), np.float64)


@dataclass(frozen=True, slots=True)
class Brier:
    r"""$\sum_y (P(y \mid \mathbf x[m]) - 1\{y = y[m]\})^2$: between zero and two, the least at the true posterior.

    Args:
        target: a discrete variable.
        given: the features; by default all other variables.

    Reference: Brier (1950), Verification of forecasts expressed in terms of probability.
    Guarantee: exact.
    Tested by: learning/evaluation/test_losses.py::test_losses_on_random_networks

    >>> Brier("grade").name
    'Brier score of grade'
    """

    target: str | Discrete
    given: Names | None = None

    def __post_init__(self) -> None:
        targets = listed(self.target)
        if len(targets) != 1:
            raise ArgumentError(
                f"A Brier score is of one target; found {len(targets)}. Evaluate several, such as "
                "*(Brier(t) for t in targets)."
            )
        fill(self, target=targets[0])
        hold_names(self)

    @property
    def name(self) -> str:
        """`Brier score of ...`."""
        return f"Brier score of {_listed(self.target)}{_condition(self.given)}"

    def rows(self, engine: Engine, data: Dataset) -> Floats:
        """The loss of every row."""
        targets, data = engine.discrete(self.target), engine.rows(data)
        truth = true_codes(data, targets)[:, 0]
        return brier_scores(engine.posteriors(data, targets, features=self.given)[0], truth)


def brier_scores(probabilities: Floats, codes: AnyInts) -> Floats:
    """The Brier score of every row: the squared distance from the predicted probabilities to the state that came.

    >>> brier_scores(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([0, 1])).tolist()
    [0.5, 2.0]
    """
    came = np.zeros(probabilities.shape)
    came[np.arange(len(codes)), codes] = 1.0
    scores = ((probabilities - came) ** 2).sum(axis=1)
    return np.where(np.isnan(scores), 2.0, scores)


@dataclass(frozen=True, slots=True)
class QuerySuite:
    r"""The mean conditional log-loss over a list of queries $P(\mathbf Y \mid \mathbf X)$ that matter to the user.

    Args:
        queries: pairs of targets and what is given with them.
        weights: how often each query is asked, relative to the others; equal by default.

    Reference: Koller & Friedman, section 16.2.2.
    Guarantee: exact.
    Tested by: learning/evaluation/test_losses.py::test_a_suite_is_the_weighted_mean_of_its_queries

    >>> suite = QuerySuite([("grade", ["intelligence"]), (["sat", "letter"], [])], weights=[3, 1])
    >>> [loss.name for loss in suite.losses][1]
    'conditional log-loss of sat, letter given nothing'
    """

    queries: Sequence[tuple[Names, Names]]
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        queries, weights = tuple(self.queries), None if self.weights is None else tuple(self.weights)
        if not queries or (weights is not None and len(weights) != len(queries)):
            raise ArgumentError("A suite needs at least one query, and one weight per query where weights are given.")
        if weights is not None and not (min(weights) >= 0 and sum(weights) > 0):
            raise ArgumentError(f"Weights of queries are non-negative and not all zero; found {list(weights)!r}.")
        fill(self, queries=tuple((held(targets), held(given)) for targets, given in queries), weights=weights)

    @property
    def name(self) -> str:
        """`... queries`."""
        return f"{len(self.queries)} queries"

    @property
    def losses(self) -> tuple[ConditionalLogLoss, ...]:
        """The loss of each query by itself, for a table of them with `evaluate`."""
        return tuple(ConditionalLogLoss(targets, given) for targets, given in self.queries)

    def rows(self, engine: Engine, data: Dataset) -> Floats:
        """The loss of every row."""
        shares = np.ones(len(self.queries)) if self.weights is None else np.asarray(self.weights, np.float64)
        parts = [loss.rows(engine, data) * s for loss, s in zip(self.losses, shares, strict=True) if s > 0]
        return np.asarray(sum(parts) / shares.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Risk(Worded, Plain):
    r"""The empirical risk $\sum_m w[m] L[m] / \sum_m w[m]$ with the loss of every row.

    Attributes:
        name: the loss.
        rows: its value in every row.
        weights: one per row; all one where the dataset has none.

    >>> risk = Risk("0/1", np.array([1.0, 0.0, 0.0, 1.0]), weights=np.ones(4))
    >>> float(risk), round(risk.standard_error, 4)
    (0.5, 0.2887)
    """

    name: str
    rows: Floats = field(repr=False)
    _: KW_ONLY
    weights: Floats = field(repr=False)

    @property
    def mean(self) -> float:
        """The risk; NaN without rows."""
        return weighted_mean(self.rows, self.weights)

    @property
    def standard_error(self) -> float:
        r"""$s / \sqrt M$; with weights, by the effective number of rows $(\sum w)^2 / \sum w^2$."""
        counted = self.weights > 0
        rows, weights = self.rows[counted], self.weights[counted]
        if len(rows) < 2 or not np.isfinite(rows).all():
            return float("nan")
        effective = weights.sum() ** 2 / (weights**2).sum()
        variance = weighted_mean((rows - self.mean) ** 2, weights)
        return float(np.sqrt(variance / (effective - 1.0)))

    def bootstrap(self, num_draws: int = 2000, *, seed: int | np.random.Generator = 0) -> BootstrapResult:
        """The risk on resampled rows; `.interval()` is its confidence interval."""
        return bootstrap_mean(self.rows, self.weights, num_draws=num_draws, seed=seed)

    def __float__(self) -> float:
        return self.mean

    def __repr__(self) -> str:
        return f"Risk({self.name}: {self.mean:.6g} ± {self.standard_error:.2g}, {len(self.rows)} rows)"


def weighted_mean(values: Floats, weights: Floats) -> float:
    """The mean under weights; rows of weight zero do not count, even where infinite. NaN without weight."""
    counted = weights > 0
    total = weights.sum()
    return float(values[counted] @ weights[counted] / total) if total > 0 else float("nan")


class Risks(Answers[Loss, R]):
    """Risks by loss.

    Attributes:
        risks: by loss.
    """

    risks: Mapping[Loss, R]

    def __getitem__(self, loss: Loss) -> R:
        return of_loss(self.risks, loss)

    def __iter__(self) -> Iterator[Loss]:
        return iter(self.risks)

    def __len__(self) -> int:
        return len(self.risks)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.risks.values()))})"


@dataclass(frozen=True, eq=False, repr=False)
class EvaluationResult(Risks[Risk], Assessment):
    """The risk of one model under several losses, by loss.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.models.bayesnet import BayesNet
    >>> coin = BayesNet(TableCPD(Discrete("coin"), [0.5, 0.5]))
    >>> found = evaluate(coin, {"coin": [0, 1, 1]}, ZeroOne("coin"), LogLoss())
    >>> round(found[ZeroOne("coin")].mean, 3), found.guarantees
    (0.667, {'risk': EXACT})
    """

    risks: Mapping[Loss, Risk]

    def _shown(self) -> Shown:
        rows = [(r.name, f"{r.mean:.6g}", f"{r.standard_error:.2g}", f"{len(r.rows):,}") for r in self.risks.values()]
        return Shown(("loss", "mean", "standard error", "rows"), rows)


def of_loss(risks: Mapping[Loss, R], loss: Loss) -> R:
    """The risk under a loss: under that value, or under the one of the same name, such as `ZeroOne(variable)`."""
    if isinstance(loss, type) or not isinstance(loss, Loss):
        shown = ", ".join(map(repr, risks))
        raise ScopeError(f"A risk is looked up by its loss, a value; found {loss!r}. There are {shown}.")
    if isinstance(loss, Hashable) and loss in risks:
        return risks[loss]
    for known, risk in risks.items():
        if known.name == loss.name:
            return risk
    raise ScopeError(f"No loss is called {loss.name!r}.{nearest(loss.name, [known.name for known in risks])}")


@translated
def evaluate(
    model: Model | Engine,
    data: object,
    *losses: Loss,
    method: Method | None = None,
    progress: bool | None = False,
) -> EvaluationResult:
    r"""The empirical risk of a model on rows under each loss; the log-loss where none is named.

    $$\hat R = \frac1M \sum_m L(\xi[m] : \tilde P)$$

    Args:
        model: a fitted model, or an engine.
        data: a dataset, whose row weights count, any frame, or the path of a file.
        losses: `LogLoss()`, `ConditionalLogLoss(...)`, `ZeroOne(...)`, `Hamming(...)`, `Brier(...)`, `QuerySuite(...)`,
            or any frozen value with a name and `rows(engine, data)`.
        method: what answers questions about the rows; exact by default. With an approximate one risks are estimates.
        progress: True shows a bar, False never, None in a terminal when the work is long.

    Reference: Koller & Friedman, section 16.2 and equation 16.1.
    Guarantee: exact; infinite for impossible rows.
    Tested by: learning/evaluation/test_losses.py::test_losses_on_random_networks

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.models.bayesnet import BayesNet
    >>> coin = BayesNet(TableCPD(Discrete("coin", ("head", "tail")), [0.25, 0.75]))
    >>> evaluate(coin, {"coin": ["head", "tail", "tail"]}, ZeroOne("coin"))[ZeroOne("coin")].mean.__round__(3)
    0.333
    """
    engine = engine_for(model, method)
    rows = engine.rows(data)
    if not rows.num_rows:
        raise DataError("Evaluation needs rows; there are none.")
    found: dict[Loss, Risk] = {}
    with Bar(progress) as bar:
        for loss in losses or (LogLoss(),):
            _check_loss(loss, found)
            values = np.asarray(loss.rows(engine.reporting(bar.report), rows), np.float64)
            found[loss] = Risk(loss.name, read_only(values), weights=weights_of(rows))
    return EvaluationResult(found, method=engine.method, guarantees={"risk": computed(engine)})


def _check_loss(loss: Loss, known: Iterable[Loss]) -> None:
    if isinstance(loss, type) or not isinstance(loss, Loss) or not isinstance(loss, Hashable):
        raise ArgumentError(f"A loss is a frozen value such as LogLoss() or ZeroOne('target'); found {loss!r}.")
    if loss.name in [other.name for other in known]:
        raise ScopeError(f"Two losses are called {loss.name!r}. Evaluate each once.")


def weights_of(data: Dataset) -> Floats:
    """The dataset's row weights, or ones."""
    return np.ones(data.num_rows) if data.weights is None else data.weights


def hold_names(loss: Any) -> None:
    """Keep the variables that a loss names as tuples, so that it is a value: equal losses are one key."""
    for part in ("targets", "given"):
        if getattr(loss, part, None) is not None:
            fill(loss, **{part: held(getattr(loss, part))})


def held(names: Names) -> Names:
    """One variable as it is, several as a tuple."""
    several = tuple(listed(names))
    wrong = [name for name in several if not isinstance(name, str | Discrete | Vector)]
    if wrong:
        raise ScopeError(f"A loss names its variables; found {brief(wrong[0])}.")
    return several[0] if len(several) == 1 else several


def _infinite(losses: Floats) -> Floats:
    return np.where(np.isnan(losses), np.inf, np.maximum(losses, 0.0))


def _listed(names: Names) -> str:
    return ", ".join(v if isinstance(v, str) else v.name for v in listed(names))


def _condition(given: Names | None) -> str:
    return "" if given is None else f" given {_listed(given) or 'nothing'}"
