r"""Whether data could have come from a model: a statistic of the data compared with that of simulated data.

Under the model the log-loss of $M$ rows has the mean $H(P)$ and the variance $\mathrm{Var}[\log P] / M$
(`logmoments`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.axes import axes_of
from sepset.base.checks import generator, whole
from sepset.base.display import Shown
from sepset.base.foreign import translated
from sepset.base.memory import check_rows_fit
from sepset.data.dataset import Dataset
from sepset.engine.kept import engine_for
from sepset.errors import DataError, NotApplicable, TooLarge
from sepset.inference.method import Method
from sepset.inference.result import Guarantee
from sepset.learning.assessment import Assessment, computed
from sepset.learning.evaluation.logmoments import LogMoments, log_probability_moments
from sepset.learning.evaluation.losses import LogLoss, evaluate, weights_of
from sepset.learning.evaluation.validation import Procedure, learned
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete

Statistic: TypeAlias = Callable[[Any, Dataset], float]
"""A number from a model and rows."""


@dataclass(frozen=True, eq=False, repr=False)
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
    _: KW_ONLY
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

    def __repr__(self) -> str:
        return f"GoodnessOfFitResult({self.what} {self.statistic:.6g}; p = {self.p_value:.3g})"

    def _shown(self) -> Shown:
        low, high = np.quantile(self.draws, [0.025, 0.975]).tolist()
        rows = [
            (self.what, f"{self.statistic:.6g}"),
            ("simulated, middle 95%", f"{low:.6g} to {high:.6g}"),
            ("two-sided p-value", f"{self.p_value:.4g}"),
        ]
        return Shown(("statistic", "value"), rows, "Goodness of fit")


@translated
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
    check_rows_fit(num_draws, 8)
    rng = generator(seed)
    engine = engine_for(model, method)
    rows = engine.rows(data)
    if not weights_of(rows).sum() > 0:
        raise DataError("Goodness of fit needs rows that count; there are none.")
    measured = partial(mean_log_loss, method=method) if statistic is None else statistic
    value = float(measured(model, rows))
    draws = np.empty(num_draws)
    for place in range(num_draws):
        drawn = _masked_like(model.sample(rows.num_rows, rng), rows)
        draws[place] = measured(model if refit is None else learned(refit, drawn), drawn)
    exact = statistic is None and refit is None and rows.is_complete and rows.weights is None
    moments = _moments(model) if exact else LogMoments(math.nan, math.nan)
    deviation = math.sqrt(moments.variance / max(rows.num_rows, 1))
    what = "mean log-loss (nats)" if statistic is None else getattr(statistic, "__name__", "statistic")
    guarantees = {"statistic": computed(engine), "p_value": Guarantee.ESTIMATE}
    return GoodnessOfFitResult(
        value,
        draws,
        expected=0.0 - moments.mean,
        deviation=deviation,
        what=what,
        method=engine.method,
        guarantees=guarantees,
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


def _moments(model: BayesNet) -> LogMoments:
    """The exact moments; NaN if they are unknown or would take too much memory."""
    try:
        return log_probability_moments(model)
    except (TooLarge, NotApplicable):
        return LogMoments(math.nan, math.nan)
