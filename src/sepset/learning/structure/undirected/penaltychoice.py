r"""How a penalty is chosen along a path of penalties: by the extended BIC, by stability, by rows held out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Protocol

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.checks import fraction, number, whole
from sepset.base.display import Plain, Worded
from sepset.data.dataset import Dataset
from sepset.errors import DataError
from sepset.learning.evaluation.splits import Splitter
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.learned import StructureTask

MOST_UNITS = 10_000_000
"""The largest total of whole weights whose rows are repeated."""

PATIENCE = 8
"""How many penalties in a row may be worse than the best before the path ends."""


@dataclass(frozen=True, slots=True, eq=False)
class PathPoint(Worded, Plain):
    """The estimate of a method with one penalty.

    Attributes:
        penalty: the penalty.
        support: which pairs of columns are joined.
        selected: for each column, which others it was found to depend on; the support, where that is symmetric.
        num_parameters: how many parameters are not zero, beyond those of the empty graph.
        num_choices: how many of them were chosen among the columns, for the extended BIC.
        gap: how far the estimate is from the optimum at its penalty, in units of the method's objective.
        estimate: the method's own.
        criterion: by which penalties are compared; NaN where the penalty was given.
    """

    penalty: float
    support: Bools = field(repr=False)
    _: KW_ONLY
    selected: Bools = field(repr=False)
    num_parameters: int
    num_choices: int
    gap: float
    estimate: Any = field(repr=False)
    criterion: float = math.nan

    @property
    def num_edges(self) -> int:
        """The number of edges."""
        return int(np.triu(self.support, 1).sum())


class Regularized(Protocol):
    """A method with a penalty, as a choice of the penalty needs it."""

    def path(self, columns: Columns, penalties: Floats) -> Iterator[PathPoint]:
        """The estimate with each penalty, from the largest, each started from the one before."""

    def refitted(self, point: PathPoint, columns: Columns) -> float:
        """The largest log-likelihood of the same rows with the same edges; minus infinity where there is none."""

    def held_out(self, point: PathPoint, columns: Columns) -> float:
        """The log-likelihood of other rows under the estimate, per row."""


Judge = Callable[[PathPoint], float]
"""The criterion of a point of the path."""


class PenaltyChoice(Protocol):
    """A frozen value that compares penalties along a path, from the largest."""

    def judge(self, method: Regularized, task: StructureTask, penalties: Floats) -> Judge:
        """A function that is asked about the points of the path in order."""

    def is_past(self, criteria: Sequence[float]) -> bool:
        """Whether smaller penalties need not be tried."""

    def chosen(self, criteria: Sequence[float]) -> int:
        """The place of the best."""


class _Smallest:
    """Choices of the smallest criterion, with the largest penalty among equals."""

    __slots__ = ()

    def is_past(self, criteria: Sequence[float]) -> bool:
        """Whether so many penalties in a row were worse than the best."""
        return len(criteria) - 1 - self.chosen(criteria) >= PATIENCE

    def chosen(self, criteria: Sequence[float]) -> int:
        """The place of the smallest."""
        return int(np.argmin(criteria))


@dataclass(frozen=True, slots=True)
class ExtendedBIC(_Smallest):
    r"""The penalty of smallest extended BIC.

    $$-2 \ell + k \log M + 2 \gamma\, c \log n$$

    with $\ell$ the largest log-likelihood with the edges found, and $k$ parameters that were chosen among $n$ columns
    $c$ times: an edge of a Gaussian network is one parameter, chosen at both its ends. With $\gamma = 0$ it is the BIC.
    The path ends when 8 penalties in a row were worse than the best.

    Args:
        gamma: $\gamma$, from 0 to 1; larger ones give fewer edges.

    Reference: Foygel & Drton (2010); Chen & Chen (2008).
    Guarantee: deterministic.
    Tested by: learning/structure/undirected/test_penaltychoice.py::test_the_extended_bic_by_hand

    >>> ExtendedBIC()
    ExtendedBIC(gamma=0.5)
    """

    gamma: float = 0.5

    def __post_init__(self) -> None:
        fraction("ExtendedBIC(gamma=)", self.gamma, ends=True)

    def judge(self, method: Regularized, task: StructureTask, penalties: Floats) -> Judge:
        """The extended BIC; the same edges are fitted once."""
        columns = task.columns
        per_parameter, per_choice = math.log(columns.total), 2.0 * self.gamma * math.log(len(columns))
        known: dict[bytes, float] = {}

        def judge(point: PathPoint) -> float:
            key = point.selected.tobytes()
            if key not in known:
                known[key] = method.refitted(point, columns)
            return -2.0 * known[key] + point.num_parameters * per_parameter + point.num_choices * per_choice

        return judge


@dataclass(frozen=True, slots=True)
class StARS:
    r"""The smallest penalty whose edges are stable: mostly the same on random parts of the rows.

    $$D(\lambda) = \operatorname{mean}_{i<j} 2 \theta_{ij} (1 - \theta_{ij}), \qquad
    \max_{\lambda' \ge \lambda} D(\lambda') \le \beta$$

    where $\theta_{ij}$ is the share of the parts on which the edge is found. Of few columns a single unstable pair is
    already a large share; there `ExtendedBIC` is the better choice.

    Args:
        instability: $\beta$, the largest that is accepted.
        num_draws: how many parts are drawn.
        share: of the rows in each part; $10 / \sqrt M$ by default, at most 0.8.

    Reference: Liu, Roeder & Wasserman (2010).
    Guarantee: an estimate, the same for the same seed.
    Tested by: learning/structure/undirected/test_penaltychoice.py::test_stars_by_its_definition

    >>> StARS(0.1)
    StARS(instability=0.1, num_draws=20, share=None)
    """

    instability: float = 0.05
    num_draws: int = 20
    _: KW_ONLY
    share: float | None = None

    def __post_init__(self) -> None:
        number("StARS(instability=)", self.instability, above=0.0)
        whole("StARS(num_draws=)", self.num_draws, least=2)
        if self.share is not None:
            fraction("StARS(share=)", self.share)

    def judge(self, method: Regularized, task: StructureTask, penalties: Floats) -> Judge:
        """The instability, from paths on all parts of the rows side by side."""
        rows = units(task.columns)
        size = self._size(rows.num_rows)
        drawn = [np.sort(task.rng.choice(rows.num_rows, size, replace=False)) for _ in range(self.num_draws)]
        paths = [method.path(Columns(rows.take(part)), penalties) for part in drawn]

        def judge(point: PathPoint) -> float:
            shares = np.mean([next(path).support for path in paths], axis=0)
            pairs = np.triu_indices(len(shares), 1)
            return float((2.0 * shares * (1.0 - shares))[pairs].mean()) if len(pairs[0]) else 0.0

        return judge

    def is_past(self, criteria: Sequence[float]) -> bool:
        """Whether the last penalty is not stable."""
        return criteria[-1] > self.instability

    def chosen(self, criteria: Sequence[float]) -> int:
        """The place of the last before the first that is not stable."""
        unstable = np.flatnonzero(np.asarray(criteria) > self.instability)
        return max(0, int(unstable[0]) - 1) if len(unstable) else len(criteria) - 1

    def _size(self, num_rows: int) -> int:
        share = min(0.8, 10.0 / math.sqrt(num_rows)) if self.share is None else self.share
        size = int(share * num_rows)
        if size < 2:
            raise DataError(f"StARS draws parts of the rows; {num_rows} rows are too few. Give a penalty.")
        return size


@dataclass(frozen=True, slots=True)
class HeldOut(_Smallest):
    """The penalty of largest likelihood on rows that were set aside.

    Args:
        splitter: which rows are tested in each round, such as `KFold(5)`.
    """

    splitter: Splitter

    def judge(self, method: Regularized, task: StructureTask, penalties: Floats) -> Judge:
        """Minus the log-likelihood per tested row, the mean over rounds; their paths go side by side."""
        rows = units(task.columns)
        masks = list(self.splitter.rounds(rows, task.rng))
        paths = [method.path(Columns(rows.take(~tested)), penalties) for tested in masks]
        apart = [Columns(rows.take(tested)) for tested in masks]

        def judge(point: PathPoint) -> float:
            found = [method.held_out(next(path), part) for path, part in zip(paths, apart, strict=True)]
            return -float(np.mean(found))

        return judge


def units(columns: Columns) -> Dataset:
    """The rows one by one: those with a whole weight as often as it says.

    >>> units(Columns.of({"a": [0, 1]}, weights=[2, 1])).num_rows
    3
    """
    if columns.weights.dtype.kind != "i" or columns.total > MOST_UNITS:
        return columns.dataset
    if columns.is_unit:
        return columns.dataset.with_weights(None)
    repeated: Ints = np.repeat(np.arange(columns.num_rows), columns.weights)
    return columns.dataset.with_weights(None).take(repeated)


EXTENDED_BIC = ExtendedBIC()
"""The choice by default."""
