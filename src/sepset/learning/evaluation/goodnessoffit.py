r"""Whether data could have come from a model: a statistic of the data compared with that of simulated data.

Under the model the log-loss of $M$ rows has the mean $H(P)$ and the variance $\mathrm{Var}[\log P] / M$, which are
computed exactly for discrete networks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.axes import axes_of
from sepset.base.checks import generator, whole
from sepset.base.display import Shown
from sepset.data.dataset import Dataset
from sepset.engine.kept import engine_for
from sepset.errors import DataError, TooLarge
from sepset.factors.algebra import Factor
from sepset.inference.method import Method, dense, elimination_settings
from sepset.inference.result import Guarantee
from sepset.inference.rewriting import functional
from sepset.learning.assessment import Assessment, computed
from sepset.learning.evaluation.losses import LogLoss, evaluate, weights_of
from sepset.learning.evaluation.validation import Procedure, learned
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete

Statistic: TypeAlias = Callable[[Any, Dataset], float]
"""A number from a model and rows."""


@dataclass(frozen=True, eq=False)
class GoodnessOfFitResult(Assessment):
    """A statistic of the data, and the same statistic on datasets that the model drew.

    Attributes:
        statistic: on the data.
        draws: on each simulated dataset.
        expected: the exact mean under the model, where it is known; else NaN.
        deviation: the exact standard deviation under the model, where it is known; else NaN.
        what: the name of the statistic.

    >>> GoodnessOfFitResult(2.0, np.array([1.0, 2.5, 3.0])).p_value
    1.0
    """

    statistic: float
    draws: Floats = field(repr=False)
    expected: float = float("nan")
    deviation: float = float("nan")
    what: str = "statistic"

    @property
    def p_value(self) -> float:
        """Twice the smaller tail, the data itself counted, and at most one: small where the model does not fit."""
        total = len(self.draws) + 1
        above = 1 + int((self.draws >= self.statistic).sum())
        below = 1 + int((self.draws <= self.statistic).sum())
        return min(1.0, 2.0 * min(above, below) / total)

    @property
    def z_score(self) -> float:
        """How many exact standard deviations the statistic lies above its exact mean; NaN where they are unknown."""
        return (self.statistic - self.expected) / self.deviation if self.deviation else float("nan")

    def plot(self, ax: Any = None) -> Any:
        """The simulated statistics as a histogram, and that of the data as a line, on matplotlib axes."""
        axes = axes_of(ax)
        axes.hist(self.draws, bins="auto", color="0.8", label="simulated")
        axes.axvline(self.statistic, color="C3", label=f"data (p = {self.p_value:.3g})")
        axes.set(xlabel=self.what, ylabel="datasets")
        axes.legend()
        return axes

    def _shown(self) -> Shown:
        low, high = np.quantile(self.draws, [0.025, 0.975]).tolist()
        rows = [
            (self.what, f"{self.statistic:.6g}"),
            ("simulated, middle 95%", f"{low:.6g} to {high:.6g}"),
            ("two-sided p-value", f"{self.p_value:.4g}"),
        ]
        return Shown(("statistic", "value"), rows, "Goodness of fit")


def goodness_of_fit(
    model: BayesNet,
    data: object,
    *,
    statistic: Statistic | None = None,
    num_draws: int = 999,
    seed: int | np.random.Generator = 0,
    refit: Procedure | None = None,
    method: Method | None = None,
) -> GoodnessOfFitResult:
    r"""Whether data could have come from a model, by simulating datasets of its size: the parametric bootstrap.

    $$p = 2 \min\{P(f(\mathcal D^*) \ge f(\mathcal D)),\ P(f(\mathcal D^*) \le f(\mathcal D))\},
    \qquad \mathcal D^* \sim \tilde P^M$$

    Where the same data were used to fit the model its log-loss is too low, and the p-value too large; then say how it
    was fitted with `refit`, and each simulated dataset is fitted too before its statistic is computed.

    Args:
        model: a Bayesian network.
        data: a dataset or any frame; where cells are missing, the same ones are in simulated data.
        statistic: a number from a model and a dataset; the mean log-loss by default.
        num_draws: how many datasets to simulate.
        seed: a number or a generator.
        refit: the procedure that made the model of the data.
        method: what answers questions about the rows for the default statistic; exact by default.

    Reference: Koller & Friedman, box 16.A.
    Guarantee: p-values uniform under the truth.
    Tested by: learning/evaluation/test_goodnessoffit.py::test_p_values_are_uniform_under_the_truth

    >>> from sepset.cpds.table import TableCPD
    >>> coin = BayesNet(TableCPD(Discrete("coin"), [0.9, 0.1]))
    >>> goodness_of_fit(coin, {"coin": [1] * 20}, num_draws=99).p_value
    0.02
    """
    whole("num_draws", num_draws, least=1)
    rng = generator(seed)
    engine = engine_for(model, method)
    rows = engine.rows(data)
    if not weights_of(rows).sum() > 0:
        raise DataError("Goodness of fit needs rows that count; there are none.")
    measured = partial(mean_log_loss, method=method) if statistic is None else statistic
    draws = np.empty(num_draws)
    for place in range(num_draws):
        drawn = _masked_like(model.sample(rows.num_rows, rng), rows)
        draws[place] = measured(model if refit is None else learned(refit, drawn), drawn)
    exact = statistic is None and refit is None and rows.is_complete and rows.weights is None
    moments = _moments(model) if exact and _is_discrete(model) else LogMoments(math.nan, math.nan)
    deviation = math.sqrt(moments.variance / max(rows.num_rows, 1))
    what = "mean log-loss (nats)" if statistic is None else getattr(statistic, "__name__", "statistic")
    guarantees = {"statistic": computed(engine), "p_value": Guarantee.ESTIMATE}
    value = float(measured(model, rows))
    return GoodnessOfFitResult(
        value, draws, 0.0 - moments.mean, deviation, what, method=engine.method, guarantees=guarantees
    )


def mean_log_loss(model: Any, data: Dataset, *, method: Method | None = None) -> float:
    """The mean log-loss of a model on rows.

    >>> from sepset.cpds.table import TableCPD
    >>> round(mean_log_loss(BayesNet(TableCPD(Discrete("coin"), [0.5, 0.5])), Dataset({"coin": [0, 1]})), 4)
    0.6931
    """
    return evaluate(model, data, LogLoss(), method=method)[LogLoss()].mean


def _masked_like(drawn: Dataset, rows: Dataset) -> Dataset:
    """The drawn rows with the weights of `rows`, missing where those are."""
    if rows.is_complete:
        return drawn if rows.weights is None else drawn.with_weights(rows.weights)
    columns = {}
    for v in drawn.variables:
        blank = -1 if isinstance(v, Discrete) else np.nan
        columns[v.name] = np.where(rows.is_missing(v), blank, drawn.column(v))
    return Dataset.from_codes(drawn.variables, columns, weights=rows.weights)


def _is_discrete(model: BayesNet) -> bool:
    return all(isinstance(v, Discrete) for v in model.variables)


class LogMoments(NamedTuple):
    """Mean and variance of a log probability."""

    mean: float
    variance: float


def _moments(model: BayesNet) -> LogMoments:
    """The exact moments; NaN if they would take too much memory."""
    try:
        return log_probability_moments(model)
    except TooLarge:
        return LogMoments(math.nan, math.nan)


def log_probability_moments(model: BayesNet) -> LogMoments:
    r"""The exact mean $-H(P)$ and variance of $\log P(\mathbf x)$ under a discrete network, in nats.

    Elimination of $\theta\, e^{t \log \theta} = \theta + t\, \theta \log \theta + \tfrac{t^2}{2} \theta \log^2 \theta$,
    kept to second order: products and sums give the first two moments of $\sum_i \log \theta_i$.

    Args:
        model: a discrete network.

    Cost: a few times that of one elimination.
    Reference: Koller & Friedman, box 16.A; Li & Eisner (2009) for expectations of second order.
    Guarantee: exact.
    Tested by: learning/evaluation/test_goodnessoffit.py::test_moments_are_those_of_the_joint

    >>> from sepset.cpds.table import TableCPD
    >>> found = log_probability_moments(BayesNet(TableCPD(Discrete("x", 3), [0.5, 0.3, 0.2])))
    >>> round(found.mean, 6), round(found.variance, 6)
    (-1.029653, 0.132964)
    """
    engine = engine_for(model)
    problem = functional(engine.prepared.problem)
    plan = engine.method.prepare(problem).plan((), ())
    plan.check(elimination_settings(engine.method)[1])
    items = [_Polynomial.of(factor) for factor in problem.factors()]
    for name in plan.order:
        held = [item for item in items if name in item.scope]
        items = [item for item in items if name not in item.scope]
        product = held[0]
        for other in held[1:]:
            product = product.times(other)
        items.append(product.without(name))
    total = _Polynomial((), (np.ones(()), np.zeros(()), np.zeros(())))
    for item in items:
        total = total.times(item)
    mean = float(total.parts[1])
    return LogMoments(mean, max(float(total.parts[2]) - mean**2, 0.0))


class _Polynomial(NamedTuple):
    """Weights, and their first and second moments of the sum of logarithms, over a scope of names."""

    scope: tuple[str, ...]
    parts: tuple[Floats, Floats, Floats]

    @classmethod
    def of(cls, factor: Factor) -> _Polynomial:
        theta = dense(factor).values
        log = np.log(theta, out=np.zeros_like(theta), where=theta > 0)
        return cls(tuple(v.name for v in factor.scope), (theta, theta * log, theta * log**2))

    def times(self, other: _Polynomial) -> _Polynomial:
        scope = (*self.scope, *(name for name in other.scope if name not in self.scope))
        p, s, q = self._over(scope)
        a, b, c = other._over(scope)
        return _Polynomial(scope, (p * a, s * a + p * b, q * a + 2.0 * s * b + p * c))

    def without(self, name: str) -> _Polynomial:
        axis = self.scope.index(name)
        p, s, q = (part.sum(axis=axis) for part in self.parts)
        return _Polynomial((*self.scope[:axis], *self.scope[axis + 1 :]), (p, s, q))

    def _over(self, scope: Sequence[str]) -> tuple[Floats, ...]:
        """The parts with an axis for each name of `scope`, of length one where they do not depend on it."""
        order = [self.scope.index(name) for name in scope if name in self.scope]
        shape = iter(np.array(self.parts[0].shape, np.int64)[order].tolist())
        full = [next(shape) if name in self.scope else 1 for name in scope]
        return tuple(part.transpose(order).reshape(full) for part in self.parts)
