"""Whether predicted probabilities mean what they say: of all rows given probability p, do a share p come true?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats, Ints
from sepset.base.axes import axes_of
from sepset.base.checks import one_axis, one_of, row_weights, whole
from sepset.base.display import Shown
from sepset.base.foreign import translated
from sepset.engine.engine import Engine
from sepset.engine.kept import engine_for
from sepset.engine.rowquestions import Names
from sepset.engine.rows import most_probable, true_codes
from sepset.errors import DataError
from sepset.inference.method import Method
from sepset.learning.assessment import Assessment, computed
from sepset.learning.evaluation.losses import weights_of
from sepset.models.model import Model
from sepset.variables.variable import Discrete, State

Bins: TypeAlias = Literal["uniform", "quantile"]


@dataclass(frozen=True, eq=False)
class CalibrationResult(Assessment):
    r"""Predicted probabilities in bins, compared with how often they came true.

    Attributes:
        predicted: the mean predicted probability of each bin that has rows.
        observed: the share of its rows that came true.
        weights: how many rows (or what weight) each bin has.
        what: the event predicted.
        left_out: how many rows had impossible features, so that nothing was predicted there.

    >>> found = reliability_curve([0.1, 0.1, 0.9, 0.9], [False, False, True, False])
    >>> found.observed.tolist(), round(found.expected_error, 3)
    ([0.0, 0.5], 0.25)
    """

    predicted: Floats
    observed: Floats
    _: KW_ONLY
    weights: Floats
    what: str = ""
    left_out: int = 0

    def __repr__(self) -> str:
        what = f"{self.what}; " if self.what else ""
        return f"CalibrationResult({what}{len(self.predicted)} bins, expected error {self.expected_error:.4f})"

    @property
    def expected_error(self) -> float:
        r"""The expected calibration error $\sum_b \frac{M_b}{M} |\bar p_b - \bar y_b|$; NaN without rows."""
        total = self.weights.sum()
        return float(np.abs(self.gaps) @ self.weights / total) if total > 0 else float("nan")

    @property
    def largest_error(self) -> float:
        """The largest gap of any bin; NaN without rows."""
        return float(np.abs(self.gaps).max()) if len(self.gaps) else float("nan")

    @property
    def gaps(self) -> Floats:
        """Observed minus predicted: negative where the model is overconfident."""
        return np.asarray(self.observed - self.predicted)

    def plot(self, ax: Any = None, *, label: str | None = None) -> Any:
        """The calibration curve on matplotlib axes, with the diagonal of perfect calibration.

        Args:
            ax: the axes to draw on; the current ones by default.
            label: what the legend calls it.
        """
        axes = axes_of(ax)
        axes.plot([0.0, 1.0], [0.0, 1.0], color="0.7", linestyle="--")
        axes.plot(self.predicted, self.observed, marker="o", label=label)
        axes.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), xlabel="predicted probability", ylabel="share that came true")
        axes.set_title(f"{self.what}: expected calibration error {self.expected_error:.3f}".lstrip(": "))
        if label is not None:
            axes.legend()
        return axes

    def _shown(self) -> Shown:
        bins = zip(self.predicted, self.observed, self.weights, strict=True)
        rows = [(f"{p:.4f}", f"{y:.4f}", f"{w:g}") for p, y, w in bins]
        left_out = f"; {self.left_out} rows with impossible features are left out" if self.left_out else ""
        caption = f"expected calibration error {self.expected_error:.4f}{left_out}"
        return Shown(("predicted", "observed", "rows"), rows, self.what, caption)


@translated
def reliability_curve(
    probabilities: ArrayLike,
    outcomes: ArrayLike,
    *,
    bins: int = 10,
    strategy: Bins = "uniform",
    weights: ArrayLike | None = None,
    what: str = "",
) -> CalibrationResult:
    r"""The calibration curve of predicted probabilities of an event.

    $$\bar p_b = \frac{1}{M_b} \sum_{m \in b} p[m], \qquad \bar y_b = \frac{1}{M_b} \sum_{m \in b} y[m]$$

    Args:
        probabilities: one per row.
        outcomes: whether the event came, one per row.
        bins: how many.
        strategy: "uniform" bins have one width, with their lower end inside; "quantile" bins about as many rows.
        weights: one per row.
        what: the name of the event.

    Reference: DeGroot & Fienberg (1983); Naeini, Cooper & Hauskrecht (2015) for the expected error.
    Guarantee: exact.
    Tested by: learning/evaluation/test_calibration.py::test_bins_by_hand

    >>> reliability_curve([0.2, 0.2, 0.2, 0.2, 0.2], [1, 0, 0, 0, 0]).expected_error
    0.0
    """
    p, y = one_axis("probabilities", probabilities), one_axis("outcomes", outcomes)
    w = np.ones(len(p)) if weights is None else row_weights(weights, len(p))
    whole("bins", bins, least=1)
    if p.shape != y.shape or not ((p >= 0) & (p <= 1)).all():
        raise DataError("Calibration needs one probability between 0 and 1 and one outcome per row.")
    which = _BINNING[one_of("strategy", strategy, _BINNING)](p, int(bins))
    total, predicted, observed = _binned(which, int(bins), w, w * p, w * y)
    used = total > 0
    means = [part[used] / total[used] for part in (predicted, observed)]
    return CalibrationResult(means[0], means[1], weights=total[used], what=what)


def _binned(which: Ints, bins: int, *columns: Floats) -> list[Floats]:
    """The sums of columns in each bin, in pairs of halves: millions of rows of mixed weights keep their digits."""
    order = np.argsort(which, kind="stable")
    ends = np.searchsorted(which[order], np.arange(1, bins))
    return [np.array([part.sum() for part in np.split(column[order], ends)]) for column in columns]


def _uniform(p: Floats, bins: int) -> Ints:
    return np.minimum((p * bins).astype(np.int64), bins - 1)


def _quantile(p: Floats, bins: int) -> Ints:
    """Bins of about equal numbers of rows; equal probabilities share one."""
    inner = np.quantile(p, np.arange(1, bins) / bins) if len(p) else np.zeros(bins - 1)
    return np.searchsorted(inner, p, side="right").astype(np.int64)


_BINNING: dict[str, Callable[[Floats, int], Ints]] = {"uniform": _uniform, "quantile": _quantile}


@translated
def calibration_curve(
    model: Model | Engine,
    data: object,
    *,
    target: str | Discrete,
    state: State | None = None,
    given: Names | None = None,
    bins: int = 10,
    strategy: Bins = "uniform",
    method: Method | None = None,
) -> CalibrationResult:
    r"""How well a model's posteriors of a target are calibrated on rows.

    Args:
        model: a fitted model, or an engine.
        data: a dataset or any frame.
        target: a discrete variable.
        state: the state whose probability is looked at; by default the most probable one of each row, whose
            probability is the model's confidence in its prediction.
        given: the features; by default all other variables.
        bins: how many.
        strategy: "uniform" or "quantile", as in `reliability_curve`.
        method: what answers questions about the rows; exact by default. With an approximate one the curve is an
            estimate.

    Reference: Guo, Pleiss, Sun & Weinberger (2017), On calibration of modern neural networks, for confidences.
    Guarantee: exact.
    Tested by: learning/evaluation/test_calibration.py::test_curves_agree_with_scikit_learn

    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.models.bayesnet import BayesNet
    >>> coin = BayesNet(TableCPD(Discrete("coin", ("head", "tail")), [0.25, 0.75]))
    >>> round(calibration_curve(coin, {"coin": ["head", "tail", "tail", "tail"]}, target="coin").expected_error, 9)
    0.0
    """
    engine = engine_for(model, method)
    rows = engine.rows(data)
    (variable,) = engine.discrete(target)
    truth = true_codes(rows, (variable,))[:, 0]
    found = engine.posteriors(rows, variable, features=given)[0]
    chosen = most_probable(found) if state is None else np.full(len(truth), variable.code(state))
    kept = ~np.isnan(found).any(axis=1)
    p = np.clip(found[np.arange(len(truth)), chosen][kept], 0.0, 1.0)
    came, weights = (chosen == truth)[kept], weights_of(rows)[kept]
    what = f"confidence in {variable.name}" if state is None else f"P({variable.name}={state})"
    made = reliability_curve(p, came, bins=bins, strategy=strategy, weights=weights, what=what)
    guarantees = {"curve": computed(engine)}
    return replace(made, left_out=int((~kept).sum()), method=engine.method, guarantees=guarantees)
