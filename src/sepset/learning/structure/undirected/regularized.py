r"""Methods with a penalty, along a path of penalties from the largest, which gives no edges, to smaller ones."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.base.checks import fraction, is_number, number, whole
from sepset.base.progress import Bar
from sepset.errors import ArgumentError, NotApplicable
from sepset.graphs.graph import UndirectedGraph
from sepset.inference.iterate import Interrupted, Until, as_until, was_interrupted
from sepset.inference.result import Status
from sepset.learning.evaluation.splits import Splitter
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.undirected.correlations import check_distinct
from sepset.learning.structure.undirected.penaltychoice import (
    EXTENDED_BIC,
    ExtendedBIC,
    HeldOut,
    PathPoint,
    PenaltyChoice,
)

NO_LIMIT = Until(steps=None, tolerance=None, seconds=math.inf)

Penalty = float | PenaltyChoice | Splitter
"""A penalty, or how it is chosen."""


class Walked(NamedTuple):
    """A path of penalties, the place of the chosen one on it, and how the walk ended."""

    path: tuple[PathPoint, ...]
    place: int
    status: Status


@dataclass(frozen=True)
class PenalizedMethod:
    """The settings and the path of a method with a penalty.

    Args:
        penalty: a positive number, or how it is chosen: `ExtendedBIC()`, `StARS()`, or a splitter such as `KFold(5)`
            for cross-validation.
        num_penalties: how many are tried at most, evenly on the scale of logarithms.
        smallest: the smallest of them, as a share of the largest, with which no edge is found.
    """

    keeps_checkpoint: ClassVar[bool] = False
    uses_score: ClassVar[bool] = False

    penalty: Penalty = EXTENDED_BIC
    num_penalties: int = field(default=40, kw_only=True)
    smallest: float = field(default=0.01, kw_only=True)

    def __post_init__(self) -> None:
        if is_number(self.penalty):
            number("penalty", self.penalty, above=0.0)
        elif isinstance(self.penalty, type) or not (
            isinstance(self.penalty, Splitter) or callable(getattr(self.penalty, "judge", None))
        ):
            raise ArgumentError(
                "penalty= is a positive number, ExtendedBIC(), StARS() or a splitter such as KFold(5); "
                f"found {self.penalty!r}."
            )
        whole("num_penalties", self.num_penalties, least=1)
        fraction("smallest", self.smallest)

    takes_collinear = True
    """It does: the penalty keeps the estimate finite."""

    def penalties(self, columns: Columns) -> Floats:
        """The penalties to try, from the largest."""
        if is_number(self.penalty):
            return np.array([self.penalty], np.float64)
        largest = self.largest(columns)
        if not largest > 0.0:
            return np.ones(1)
        return np.asarray(np.geomspace(largest, self.smallest * largest, self.num_penalties))

    def largest(self, columns: Columns) -> float:
        """The smallest penalty with which no edge is found."""
        raise NotImplementedError

    def path(self, columns: Columns, penalties: Floats) -> Iterator[PathPoint]:
        """The estimate with each penalty, from the largest, each started from the one before.

        Ctrl-C may come as `Interrupted` with what was found at the present penalty.
        """
        raise NotImplementedError

    def refitted(self, point: PathPoint, columns: Columns) -> float:
        """The largest log-likelihood of the same rows with the same edges; minus infinity where there is none."""
        raise NotImplementedError

    def held_out(self, point: PathPoint, columns: Columns) -> float:
        """The log-likelihood of other rows under the estimate, per row."""
        raise NotImplementedError

    def walked(self, task: StructureTask) -> Walked:
        """The path until the budget is spent or smaller penalties need not be tried, and the chosen place."""
        self._check(task)
        choice: Any = HeldOut(self.penalty) if isinstance(self.penalty, Splitter) else self.penalty
        penalties = self.penalties(task.columns)
        walk = _Walk(task, None if len(penalties) == 1 else choice)
        with Bar(task.progress, "penalties") as bar:
            status = walk.through(self, penalties, bar)
        place = 0 if walk.choice is None else choice.chosen(walk.criteria)
        return Walked(tuple(walk.points), place, status)

    def _check(self, task: StructureTask) -> None:
        name, columns = type(self).__name__, task.columns
        if columns.intervened is not None:
            raise NotApplicable(f"{name} learns from rows without interventions. Leave those rows out.")
        if columns.has_missing:
            raise NotApplicable(f"{name} needs complete rows; some cells are missing. Drop those rows, or impute.")
        if task.start is not None:
            raise NotApplicable(f"{name} finds its optimum from any start. Leave start= out.")
        if not task.allowed.is_free:
            raise NotApplicable(f"{name} learns edges without a direction and takes no constraints. Leave them out.")
        if isinstance(self.penalty, ExtendedBIC):
            check_distinct(columns)


class _Walk:
    """A walk along the path; points and their criteria are added."""

    def __init__(self, task: StructureTask, choice: PenaltyChoice | None) -> None:
        self.task, self.choice = task, choice
        self.points: list[PathPoint] = []
        self.criteria: list[float] = []
        self.amid: PathPoint | None = None

    def through(self, method: PenalizedMethod, penalties: Floats, bar: Bar) -> Status:
        """Walk until the end, and return how it ended; an interruption before anything was estimated is raised."""
        try:
            return self._steps(method, penalties, bar)
        except (KeyboardInterrupt, SystemError) as error:
            found = error.state if isinstance(error, Interrupted) else None
            first = found if isinstance(found, PathPoint) else self.amid
            if not was_interrupted(error) or first is None:
                raise
            if not self.points:
                self.points, self.criteria = [first], [math.nan]
            return Status.INTERRUPTED

    def _steps(self, method: PenalizedMethod, penalties: Floats, bar: Bar) -> Status:
        task, choice = self.task, self.choice
        until, began = as_until(task.until, NO_LIMIT), time.monotonic()
        judge = None if choice is None else choice.judge(method, task, penalties)
        for done, point in enumerate(method.path(task.columns, penalties), 1):
            self.amid = point
            criterion = math.nan if judge is None else judge(point)
            self.criteria.append(criterion)
            self.points.append(replace(point, criterion=criterion))
            bar.report(done, len(penalties))
            if choice is not None and choice.is_past(self.criteria):
                break
            status = until.status(done, time.monotonic() - began, None)
            if status is not None and done < len(penalties):
                return status
        return Status.COMPLETED


def graph_of(columns: Columns, support: Bools) -> UndirectedGraph:
    """The graph with an edge where the support is true."""
    sources, targets = np.nonzero(np.triu(support, 1))
    return UndirectedGraph.from_arrays(columns.names, sources=sources, targets=targets)
