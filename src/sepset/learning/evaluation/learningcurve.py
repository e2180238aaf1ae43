"""Learning curves: how the quality of what is learned grows with the number of rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeAlias

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.base.axes import axes_of, mark_sizes
from sepset.base.checks import generator, whole
from sepset.base.display import Shown
from sepset.base.foreign import translated
from sepset.base.progress import Bar
from sepset.base.text import joined, nearest
from sepset.data.dataset import Dataset
from sepset.data.sources import as_dataset
from sepset.engine.default import DEFAULT_METHOD
from sepset.errors import ArgumentError, DataError, ScopeError
from sepset.inference.method import Method
from sepset.inference.result import Guarantee
from sepset.learning.assessment import Assessment
from sepset.learning.evaluation.divergence.relativeentropy import divergence
from sepset.learning.evaluation.losses import LogLoss, Loss, evaluate
from sepset.learning.evaluation.splits import Holdout
from sepset.learning.evaluation.validation import Procedure, learned, named
from sepset.models.bayesnet import BayesNet

Measure: TypeAlias = Callable[[Any], float]
"""A number from a model: the smaller, the better."""


WIDE = 5.0
"""Means whose largest is this many times the smallest are drawn on a logarithmic scale."""


@dataclass(frozen=True, eq=False, repr=False)
class LearningCurveResult(Assessment):
    """A measure of what each procedure learned, for each number of rows and each repeat.

    Attributes:
        sizes: the numbers of rows.
        values: an array `[repeats, sizes]` for each procedure.
        measure: what was measured.

    >>> curve = LearningCurveResult((10, 100), {"a": np.array([[1.0, 0.1], [3.0, 0.3]])}, measure="KL")
    >>> curve.mean("a").tolist(), round(curve.slope("a"), 3)
    ([2.0, 0.2], -1.0)
    """

    sizes: tuple[int, ...]
    values: Mapping[str, Floats] = field(repr=False)
    _: KW_ONLY
    measure: str = ""

    def mean(self, name: str) -> Floats:
        """The mean over repeats at each size; infinite where one repeat was."""
        return np.asarray(self._of(name).mean(axis=0))

    def spread(self, name: str) -> Floats:
        """The standard deviation over repeats at each size; NaN where it is not finite or of one repeat."""
        values = self._of(name)
        finite = np.isfinite(values).all(axis=0) & (len(values) > 1)
        found = np.full(len(self.sizes), np.nan)
        found[finite] = values[:, finite].std(axis=0, ddof=1) if len(values) > 1 else np.nan
        return found

    def slope(self, name: str) -> float:
        """The slope of the mean against the number of rows, both in logarithms; about -1 for consistent estimates."""
        mean = self.mean(name)
        used = np.isfinite(mean) & (mean > 0)
        if used.sum() < 2:
            return float("nan")
        return float(np.polyfit(np.log(np.array(self.sizes)[used]), np.log(mean[used]), 1)[0])

    def _of(self, name: str) -> Floats:
        if not isinstance(name, str) or name not in self.values:
            raise ScopeError(f"No procedure is called {name!r}.{nearest(name, self.values)}")
        return self.values[name]

    def plot(self, ax: Any = None) -> Any:
        """The mean of each procedure on matplotlib axes, with one standard deviation either side.

        Numbers of rows are on a logarithmic scale; so are means that are positive and span a factor of five. Sizes at
        which a mean is infinite have no point; a curve without any point says so in the legend.

        Args:
            ax: the axes to draw on; the current ones by default.
        """
        axes = axes_of(ax)
        sizes = np.array(self.sizes)
        seen = np.concatenate([mean[np.isfinite(mean)] for mean in map(self.mean, self.values)])
        is_wide = bool(len(seen) and seen.min() > 0 and seen.max() > WIDE * seen.min())
        for name in self.values:
            mean, spread = self.mean(name), np.nan_to_num(self.spread(name))
            finite = np.isfinite(mean)
            label = name if finite.any() else f"{name} (infinite)"
            (line,) = axes.plot(sizes[finite], mean[finite], marker="o", label=label)
            low = np.maximum(mean - spread, mean / 10) if is_wide else mean - spread
            band = low[finite], (mean + spread)[finite]
            axes.fill_between(sizes[finite], *band, color=line.get_color(), alpha=0.15)
        axes.set(yscale="log" if is_wide else "linear", xlabel="rows", ylabel=self.measure)
        mark_sizes(axes, self.sizes)
        axes.legend()
        return axes

    def __repr__(self) -> str:
        last = [f"{name} {self.mean(name)[-1]:.4g}" for name in self.values] if self.sizes else []
        of = f" at {self.sizes[-1]:,} rows: {joined(last, 4)}" if last else ""
        return f"LearningCurveResult({self.measure}{of})"

    def _shown(self) -> Shown:
        """The means, with one standard deviation where there are several repeats."""
        cells = [[*map(_told, self.mean(name), self.spread(name))] for name in self.values]
        rows = [(f"{size:,}", *(column[k] for column in cells)) for k, size in enumerate(self.sizes)]
        return Shown(("rows", *self.values), rows, self.measure)


def _told(mean: float, spread: float) -> str:
    return f"{mean:.4g} ± {spread:.2g}" if spread == spread else f"{mean:.4g}"


@translated
def learning_curve(
    procedures: Mapping[str, Procedure],
    data: object,
    *,
    sizes: Sequence[int],
    measure: Loss | Measure | None = None,
    repeats: int = 10,
    test: float = 0.25,
    seed: int | np.random.Generator = 0,
    method: Method | None = None,
    progress: bool | None = None,
) -> LearningCurveResult:
    r"""How good what each procedure learns is, as the number of rows grows.

    In each repeat all procedures are given the same rows, and a smaller number of rows is the start of a larger one.

    Args:
        procedures: by name; each makes a model from a dataset, as `Learner(dag, method)` does.
        data: rows, of which random ones are used, or a network to draw rows from.
        sizes: the numbers of rows.
        measure: a loss on rows set aside, or a function of the model. By default $KL(P \| \tilde P)$ to the network,
            or the log-loss on the rows set aside.
        repeats: how often rows are drawn.
        test: the share of data set aside in each repeat; where rows are drawn from a network, that share of the
            largest size is drawn in addition, for a loss.
        seed: a number or a generator.
        method: what answers questions about models and rows, for a loss or the divergence; exact by default.
        progress: True shows a bar, False never, None in a terminal when the work is long.

    Reference: Koller & Friedman, box 17.C.
    Guarantee: deterministic.
    Tested by: claims/test_alarm_curves.py::test_published_columns

    >>> from sepset.graphs.graph import DAG
    >>> from sepset.learning.evaluation.validation import Learner
    >>> truth = BayesNet.random(DAG.parse("a -> b"), seed=1)
    >>> curve = learning_curve({"MLE": Learner(truth)}, truth, sizes=[100, 1000], repeats=3)
    >>> bool(curve.mean("MLE")[1] < curve.mean("MLE")[0] < 0.1)
    True
    """
    wanted = _checked_sizes(sizes)
    named(procedures)
    whole("repeats", repeats, least=1)
    values = {name: np.empty((repeats, len(wanted))) for name in procedures}
    rng = generator(seed)
    with Bar(progress, "sizes") as bar:
        for repeat in range(repeats):
            rows, judge, what = _draw(data, measure, wanted[-1], test, rng, method)
            for place, size in enumerate(wanted):
                part = rows[:size]
                for name, procedure in procedures.items():
                    values[name][repeat, place] = judge(learned(procedure, part))
                bar.report(repeat * len(wanted) + place + 1, repeats * len(wanted))
    chosen = DEFAULT_METHOD if method is None else method
    return LearningCurveResult(wanted, values, measure=what, method=chosen, guarantees={"values": Guarantee.ESTIMATE})


def _checked_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    found = tuple(sorted({whole("sizes", size, least=1) for size in sizes}))
    if not found:
        raise ArgumentError("sizes= are numbers of rows; found none.")
    return found


def _draw(
    data: object,
    measure: Loss | Measure | None,
    largest: int,
    share: float,
    rng: np.random.Generator,
    method: Method | None,
) -> tuple[Dataset, Measure, str]:
    """Rows to learn from, and how models of them are judged."""
    if isinstance(data, BayesNet):
        truth = data
        rows = truth.sample(largest, rng)
        if measure is None:
            return rows, lambda model: divergence(truth, model, method=method).total, "KL from the true network (nats)"
        held = truth.sample(max(1, round(share * largest)), rng) if isinstance(measure, Loss) else rows[:0]
    else:
        known = as_dataset(data)
        mask = next(_holdout(known, share, rng))
        order = rng.permutation(np.flatnonzero(~mask))
        if len(order) < largest:
            raise DataError(
                f"{largest} rows to learn from were asked for; {len(order)} of {known.num_rows} are left once a share "
                f"of {share} is set aside. Ask for fewer, or set less aside."
            )
        rows, held = known.take(order[:largest]), known.take(mask)
        measure = LogLoss() if measure is None else measure
    if not isinstance(measure, Loss):
        return rows, measure, getattr(measure, "__name__", "measure")
    loss: Loss = measure
    return rows, lambda model: evaluate(model, held, loss, method=method)[loss].mean, loss.name


def _holdout(data: Dataset, share: float, rng: np.random.Generator) -> Iterator[Bools]:
    return Holdout(share).rounds(data, rng)
