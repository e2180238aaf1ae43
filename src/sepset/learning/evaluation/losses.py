r"""Losses of a model on rows, and their means: the empirical risk.

$$\frac1M \sum_m L(\xi[m] : \tilde P)$$

Where a row's features are impossible under the model there is no prediction, and none counts as wrong: the 0/1 loss is
one, the Hamming loss the number of targets, the Brier score two, and log-losses are infinite.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

import numpy as np

from sepset.base.arraytypes import AnyInts, Floats
from sepset.base.checks import one_of
from sepset.base.display import Shown, Tabulated
from sepset.base.frozen import read_only
from sepset.base.progress import Bar
from sepset.base.text import nearest
from sepset.data.dataset import Dataset
from sepset.errors import ArgumentError, DataError, ScopeError
from sepset.inference.result import Answers
from sepset.learning.evaluation.resampling import Bootstrap, bootstrap_mean
from sepset.learning.predictor import Names, Predictor, most_probable, refuse_missing, true_codes
from sepset.models.model import Model
from sepset.variables.variable import Discrete, listed


@runtime_checkable
class Loss(Protocol):
    """A number for every row that says how badly a model did there; any frozen value with a name and `rows`."""

    @property
    def name(self) -> str:
        """What the loss is called in tables."""

    def rows(self, predictor: Predictor, data: Dataset) -> Floats:
        """The loss of every row."""


@dataclass(frozen=True, slots=True)
class LogLoss:
    r"""$-\log P(\xi[m])$ in nats, missing cells summed out; infinite where the model excludes the row.

    Its expectation under the truth is $H(P^*) + KL(P^* \| \tilde P)$, so that it ranks models as the divergence does.

    Reference: Koller & Friedman, section 16.2.1.

    >>> LogLoss().name
    'log-loss'
    """

    @property
    def name(self) -> str:
        """`log-loss`."""
        return "log-loss"

    def rows(self, predictor: Predictor, data: Dataset) -> Floats:
        """The loss of every row."""
        return 0.0 - predictor.log_probability(data)


@dataclass(frozen=True, slots=True)
class ConditionalLogLoss:
    r"""$-\log P(\mathbf y[m] \mid \mathbf x[m])$ in nats, jointly over the targets, which may be continuous.

    Args:
        targets: the variables $\mathbf Y$.
        given: the variables $\mathbf X$; by default all others. Missing features are summed out.

    Reference: Koller & Friedman, section 16.2.2.

    >>> ConditionalLogLoss("grade", given=["sat"]).name
    'conditional log-loss of grade given sat'
    """

    targets: Names
    given: Names | None = None

    @property
    def name(self) -> str:
        """`conditional log-loss of ...`."""
        return f"conditional log-loss of {_listed(self.targets)}{_condition(self.given)}"

    def rows(self, predictor: Predictor, data: Dataset) -> Floats:
        """The loss of every row."""
        targets = predictor.variables(self.targets)
        refuse_missing(data, targets)
        if len(targets) == 1 and isinstance(targets[0], Discrete) and self.given is None:
            logs = predictor.log_posterior(data, targets[0])
            return _infinite(0.0 - logs[np.arange(len(logs)), data.codes(targets[0])])
        features = predictor.features(targets, self.given)
        joint = predictor.log_probability(data, (*targets, *features))
        alone = predictor.log_probability(data, features) if features else np.zeros(len(joint))
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

    >>> ZeroOne(["a", "b"]).name
    '0/1 loss of a, b'
    """

    targets: Names
    given: Names | None = None

    @property
    def name(self) -> str:
        """`0/1 loss of ...`."""
        return f"0/1 loss of {_listed(self.targets)}{_condition(self.given)}"

    def rows(self, predictor: Predictor, data: Dataset) -> Floats:
        """The loss of every row."""
        targets = predictor.discrete(self.targets)
        truth = true_codes(data, targets)
        wrong = predictor.modes(data, targets, self.given) != truth
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

    >>> Hamming(["a", "b"]).name
    'Hamming loss of a, b'
    """

    targets: Names
    given: Names | None = None
    predictor: Literal["marginals", "joint"] = "marginals"

    def __post_init__(self) -> None:
        one_of("predictor", self.predictor, ("marginals", "joint"))

    @property
    def name(self) -> str:
        """`Hamming loss of ...`."""
        return f"Hamming loss of {_listed(self.targets)}{_condition(self.given)}"

    def rows(self, predictor: Predictor, data: Dataset) -> Floats:
        """The loss of every row."""
        targets = predictor.discrete(self.targets)
        truth = true_codes(data, targets)
        if self.predictor == "joint":
            found = predictor.modes(data, targets, self.given)
        else:
            posteriors = predictor.probabilities(data, targets, self.given)
            found = np.stack([most_probable(p) for p in posteriors], axis=1)
        return np.asarray((found != truth).sum(axis=1), np.float64)


@dataclass(frozen=True, slots=True)
class Brier:
    r"""$\sum_y (P(y \mid \mathbf x[m]) - 1\{y = y[m]\})^2$: between zero and two, the least at the true posterior.

    Args:
        target: a discrete variable.
        given: the features; by default all other variables.

    Reference: Brier (1950), Verification of forecasts expressed in terms of probability.

    >>> Brier("grade").name
    'Brier score of grade'
    """

    target: str | Discrete
    given: Names | None = None

    @property
    def name(self) -> str:
        """`Brier score of ...`."""
        return f"Brier score of {_listed(self.target)}{_condition(self.given)}"

    def rows(self, predictor: Predictor, data: Dataset) -> Floats:
        """The loss of every row."""
        targets = predictor.discrete(self.target)
        truth = true_codes(data, targets)[:, 0]
        return brier_scores(predictor.probabilities(data, targets, self.given)[0], truth)


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

    >>> suite = QuerySuite([("grade", ["intelligence"]), (["sat", "letter"], [])], weights=[3, 1])
    >>> [loss.name for loss in suite.losses][1]
    'conditional log-loss of sat, letter given nothing'
    """

    queries: Sequence[tuple[Names, Names]]
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        weights = self.weights
        if not self.queries or (weights is not None and len(weights) != len(self.queries)):
            raise ArgumentError("A suite needs at least one query, and one weight per query where weights are given.")
        if weights is not None and not (min(weights) >= 0 and sum(weights) > 0):
            raise ArgumentError(f"Weights of queries are non-negative and not all zero; found {list(weights)!r}.")

    @property
    def name(self) -> str:
        """`... queries`."""
        return f"{len(self.queries)} queries"

    @property
    def losses(self) -> tuple[ConditionalLogLoss, ...]:
        """The loss of each query by itself, for a table of them with `evaluate`."""
        return tuple(ConditionalLogLoss(targets, given) for targets, given in self.queries)

    def rows(self, predictor: Predictor, data: Dataset) -> Floats:
        """The loss of every row."""
        shares = np.ones(len(self.queries)) if self.weights is None else np.asarray(self.weights, np.float64)
        parts = [loss.rows(predictor, data) * s for loss, s in zip(self.losses, shares, strict=True) if s > 0]
        return np.asarray(sum(parts) / shares.sum())


@dataclass(frozen=True, slots=True, eq=False)
class Risk:
    r"""The empirical risk $\sum_m w[m] L[m] / \sum_m w[m]$ with the loss of every row.

    Attributes:
        name: the loss.
        rows: its value in every row.
        weights: one a row; all one where the dataset has none.

    >>> risk = Risk("0/1", np.array([1.0, 0.0, 0.0, 1.0]), np.ones(4))
    >>> float(risk), round(risk.standard_error, 4)
    (0.5, 0.2887)
    """

    name: str
    rows: Floats = field(repr=False)
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

    def bootstrap(self, num_draws: int = 2000, *, seed: int | np.random.Generator = 0) -> Bootstrap:
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


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation(Answers[str, Risk], Tabulated):
    """The risk of one model under several losses, by name.

    >>> Evaluation({"0/1": Risk("0/1", np.array([1.0, 0.0]), np.ones(2))})["0/1"].mean
    0.5
    """

    risks: Mapping[str, Risk]

    def __getitem__(self, name: str) -> Risk:
        try:
            return self.risks[name]
        except KeyError:
            raise ScopeError(f"No loss is called {name!r}.{nearest(name, self.risks)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.risks)

    def __len__(self) -> int:
        return len(self.risks)

    def _shown(self) -> Shown:
        rows = [(n, f"{r.mean:.6g}", f"{r.standard_error:.2g}", f"{len(r.rows):,}") for n, r in self.risks.items()]
        return Shown(("loss", "mean", "standard error", "rows"), rows)


def evaluate(model: Model | Predictor, data: object, *losses: Loss, progress: bool | None = False) -> Evaluation:
    r"""The empirical risk of a model on rows under each loss; the log-loss where none is named.

    $$\hat R = \frac1M \sum_m L(\xi[m] : \tilde P)$$

    Args:
        model: a fitted model.
        data: a dataset, whose row weights count, or any frame.
        losses: `LogLoss()`, `ConditionalLogLoss(...)`, `ZeroOne(...)`, `Hamming(...)`, `Brier(...)`, `QuerySuite(...)`,
            or any value with a name and `rows(predictor, data)`.
        progress: True shows a bar, False never, None in a terminal when the work is long.

    Reference: Koller & Friedman, section 16.2 and equation 16.1.

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.models.bayesnet import BayesNet
    >>> coin = BayesNet(TableCPD(Discrete("coin", ("head", "tail")), [0.25, 0.75]))
    >>> evaluate(coin, {"coin": ["head", "tail", "tail"]}, ZeroOne("coin"))["0/1 loss of coin"].mean.__round__(3)
    0.333
    """
    predictor = Predictor.of(model)
    rows = predictor.dataset(data)
    if not rows.num_rows:
        raise DataError("Evaluation needs rows; there are none.")
    found: dict[str, Risk] = {}
    with Bar(progress) as bar:
        for loss in losses or (LogLoss(),):
            _check_loss(loss, found)
            values = np.asarray(loss.rows(predictor.reporting(bar.report), rows), np.float64)
            found[loss.name] = Risk(loss.name, read_only(values), weights_of(rows))
    return Evaluation(found)


def _check_loss(loss: Loss, known: Mapping[str, Risk]) -> None:
    if isinstance(loss, type) or not isinstance(loss, Loss):
        raise ArgumentError(f"A loss is a value such as LogLoss() or ZeroOne('target'); found {loss!r}.")
    if loss.name in known:
        raise ScopeError(f"Two losses are called {loss.name!r}. Evaluate each once.")


def weights_of(data: Dataset) -> Floats:
    """The dataset's row weights, or ones."""
    return np.ones(data.num_rows) if data.weights is None else data.weights


def _infinite(losses: Floats) -> Floats:
    return np.where(np.isnan(losses), np.inf, np.maximum(losses, 0.0))


def _listed(names: Names) -> str:
    return ", ".join(v if isinstance(v, str) else v.name for v in listed(names))


def _condition(given: Names | None) -> str:
    return "" if given is None else f" given {_listed(given) or 'nothing'}"
