r"""The error of a procedure: unpredictable noise, bias that more data do not reduce, and variance that they do.

$$E_{\mathcal D}\, L = \text{noise} + \text{bias} + \text{variance}$$
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.checks import generator, one_of, whole
from sepset.base.display import Shown
from sepset.base.foreign import translated
from sepset.base.memory import check_rows_fit
from sepset.base.threads import abandonable
from sepset.data.dataset import Dataset
from sepset.data.sources import as_dataset, bind
from sepset.engine.default import DEFAULT_METHOD
from sepset.engine.engine import Engine
from sepset.engine.kept import engine_for
from sepset.engine.rowquestions import Names
from sepset.engine.rows import refuse_missing, true_codes
from sepset.errors import DataError, ScopeError
from sepset.factors.algebra import AnyVariable
from sepset.inference.method import Method
from sepset.inference.result import Guarantee
from sepset.learning.assessment import Assessment
from sepset.learning.evaluation.validation import Procedure, learned
from sepset.models.bayesnet import BayesNet
from sepset.variables.matching import state_order
from sepset.variables.variable import Discrete, VariableLike, Vector

Parts: TypeAlias = tuple[float, float, float]
"""Noise, bias and variance."""


@dataclass(frozen=True)
class BiasVarianceResult(Assessment):
    """The mean loss over training sets and test rows, in three parts that add up to it.

    Attributes:
        noise: the loss of the true posterior, or of the true mean.
        bias: what the average prediction loses relative to it.
        variance: what single predictions lose relative to their average.

    >>> BiasVarianceResult(0.2, 0.05, variance=0.01).total.__round__(2)
    0.26
    """

    noise: float
    bias: float
    _: KW_ONLY
    variance: float

    @property
    def total(self) -> float:
        """The mean loss."""
        return self.noise + self.bias + self.variance

    def _shown(self) -> Shown:
        parts = (("noise", self.noise), ("bias", self.bias), ("variance", self.variance), ("total", self.total))
        return Shown(("part", "mean loss"), [(name, f"{value:.6g}") for name, value in parts])


@translated
def bias_variance(
    procedure: Procedure,
    data: object,
    *,
    target: VariableLike,
    test: object,
    num_rows: int,
    loss: Literal["brier", "log", "squared"] = "brier",
    given: Names | None = None,
    repeats: int = 20,
    seed: int | np.random.Generator = 0,
    method: Method | None = None,
) -> BiasVarianceResult:
    r"""The noise, bias and variance of a procedure's predictions of a target, over many training sets.

    For the Brier score, with the mean prediction $\bar p$ and the truth $p^*$,

    $$E \|p - y\|^2 = \sum_y p^*(1 - p^*) + \|\bar p - p^*\|^2 + E \|p - \bar p\|^2;$$

    for the log-loss the mean is geometric: $H(p^*) + KL(p^* \| \bar p) + E\, KL(\bar p \| p)$. For the squared error
    of predicted means $m$ of a real target it is $\operatorname{Var}^* y + (\bar m - m^*)^2 + E (m - \bar m)^2$.

    Args:
        procedure: makes a model from a dataset.
        data: rows to resample, whose labels then count as the truth, so that there is no noise; or a network to draw
            training sets from, which also gives the true posteriors.
        target: a discrete variable; a real one for the squared error.
        test: the rows to predict.
        num_rows: the size of each training set.
        loss: "brier", "log" or "squared".
        given: the features; by default all other variables.
        repeats: how many training sets; one alone has no variance.
        seed: a number or a generator.
        method: what answers questions about the rows, as in `evaluate`.

    Reference: Koller & Friedman, section 16.3.1; Geman, Bienenstock & Doursat (1992); Heskes (1998) for the log-loss.
    Guarantee: parts add up exactly.
    Tested by: learning/evaluation/test_biasvariance.py::test_the_parts_add_up_to_the_expected_loss

    >>> from sepset.graphs.graph import DAG
    >>> from sepset.learning.evaluation.validation import Learner
    >>> truth = BayesNet.random(DAG.parse("a -> b"), seed=3)
    >>> parts = bias_variance(Learner(truth), truth, target="b", test=truth.sample(50, seed=1), num_rows=200)
    >>> parts.noise > parts.variance > parts.bias
    True
    """
    one_of("loss", loss, LOSSES)
    whole("repeats", repeats, least=2)
    check_rows_fit(repeats * whole("num_rows", num_rows, least=1), 8)
    rng = generator(seed)
    truth = data if isinstance(data, BayesNet) else None
    source = None if truth is not None else as_dataset(data)
    kind, name = LOSSES[loss], target if isinstance(target, str) else target.name
    kind.check((source if truth is None else truth).variables[name])  # type: ignore[union-attr]  # one of them is given
    engines = []
    for _ in range(repeats):
        rows = truth.sample(num_rows, rng) if truth is not None else _resampled(source, num_rows, rng)
        engines.append(engine_for(learned(procedure, rows), method))
    asked = engines[0].model.variables[name]
    found = [_possible(kind.predicted(engine, test, asked, given)) for engine in engines]
    if truth is None:
        expected = kind.labels(bind(test, (asked,)), asked)
    else:
        expected = _possible(kind.predicted(engine_for(truth, method), test, asked, given))
    chosen = DEFAULT_METHOD if method is None else method
    noise, bias, variance = abandonable(lambda: kind.parts(np.stack(found), expected))
    said = {"parts": Guarantee.ESTIMATE}
    return BiasVarianceResult(noise, bias, variance=variance, method=chosen, guarantees=said)


def _resampled(data: Dataset | None, num_rows: int, rng: np.random.Generator) -> Dataset:
    assert data is not None
    if not data.num_rows:
        raise DataError("Training sets are drawn from rows of data; there are none.")
    return data.take(rng.integers(0, data.num_rows, num_rows))


class Loss(NamedTuple):
    """The predictions that a loss compares.

    Attributes:
        check: raises if the target has none.
        predicted: an engine's predictions for every row of the test data.
        labels: the labels of the rows as predictions that are certain.
        parts: noise, bias and variance from the predictions of all training sets, and the true ones.
    """

    check: Callable[[AnyVariable], None]
    predicted: Callable[[Engine, object, Any, Names | None], Floats]
    labels: Callable[[Dataset, Any], Floats]
    parts: Callable[[Floats, Floats], Parts]


def _discrete(target: AnyVariable) -> None:
    if not target.is_discrete:
        raise ScopeError(
            f"The target of this loss is a discrete variable; {target.name!r} is not. Use loss='squared' for real ones."
        )


def _real(target: AnyVariable) -> None:
    if not isinstance(target, Vector) or target.size != 1:
        raise ScopeError(f"The squared error is that of a real target; {target.name!r} is not. Use loss='brier'.")


def _posteriors(engine: Engine, test: object, target: Discrete, given: Names | None) -> Floats:
    """The posteriors of the target, one column per state in its order, whatever the order of the model's."""
    (found,) = engine.posteriors(test, target.name, features=given)
    return np.asarray(found[:, state_order(engine.model.variables[target.name], target)])


def _moments(engine: Engine, test: object, target: Vector, given: Names | None) -> Floats:
    """The mean and the variance of the target in every row."""
    return np.stack(engine.moments(test, target.name, features=given), axis=1)


def _possible(found: Floats) -> Floats:
    blank = np.isnan(found).any(axis=1)
    if blank.any():
        raise DataError(
            f"The features of row {int(np.flatnonzero(blank)[0])} are impossible under a learned model, so that it "
            "predicts nothing there. Learn with a prior."
        )
    return found


def _states(test: Dataset, target: Discrete) -> Floats:
    """One in the column of each row's label."""
    return np.asarray(np.eye(target.num_states)[true_codes(test, (target,))[:, 0]])


def _values(test: Dataset, target: Vector) -> Floats:
    """The label of each row, without variance."""
    refuse_missing(test, (target,))
    return np.stack([test.values(target), np.zeros(test.num_rows)], axis=1)


def _squared(found: Floats, truth: Floats) -> Parts:
    means, mean = found[:, :, 0], found[:, :, 0].mean(axis=0)
    bias = ((mean - truth[:, 0]) ** 2).mean()
    return (float(truth[:, 1].mean()), float(bias), float(((means - mean) ** 2).mean()))


def _brier(found: Floats, truth: Floats) -> Parts:
    mean = found.mean(axis=0)
    noise = (truth * (1.0 - truth)).sum(axis=1).mean()
    bias = ((mean - truth) ** 2).sum(axis=1).mean()
    return (float(noise), float(bias), float(((found - mean) ** 2).sum(axis=2).mean()))


def _log(found: Floats, truth: Floats) -> Parts:
    with np.errstate(divide="ignore"):
        logs = np.log(found)
    middle = logs.mean(axis=0)
    top = middle.max(axis=1, keepdims=True)
    if (top == -np.inf).any():
        return (float(_cross(truth, truth).mean()), np.inf, np.inf)
    total = np.log(np.exp(middle - top).sum(axis=1)) + top[:, 0]
    mean = np.exp(middle - total[:, None])
    noise = float(_cross(truth, truth).mean())
    return (noise, max(float(_cross(truth, mean).mean()) - noise, 0.0), max(-float(total.mean()), 0.0))


def _cross(weights: Floats, probabilities: Floats) -> Floats:
    r"""$-\sum_y w \log p$ in each row, where $0 \log 0 = 0$."""
    with np.errstate(divide="ignore"):
        logs = np.where(weights > 0, np.log(np.where(weights > 0, probabilities, 1.0)), 0.0)
    return np.asarray(-(weights * logs).sum(axis=1))


LOSSES: dict[str, Loss] = {
    "brier": Loss(_discrete, _posteriors, _states, _brier),
    "log": Loss(_discrete, _posteriors, _states, _log),
    "squared": Loss(_real, _moments, _values, _squared),
}
"""The losses that split into noise, bias and variance."""
