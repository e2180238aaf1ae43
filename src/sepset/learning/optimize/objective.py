"""The objective of incomplete rows as a hill over parameters without constraints: slopes, edges, and climbs."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.learning.incomplete.run import FAILURES, Ascent, Point
from sepset.learning.optimize.directions import steepest, stopped
from sepset.learning.optimize.linesearch import line_search
from sepset.learning.optimize.unconstrained import Unconstrained


@dataclass(frozen=True, slots=True, eq=False)
class Hill:
    """The objective of a task over parameters without constraints.

    Attributes:
        task: what is climbed.
        vector: its parameters.
        edges: how sharp a Laplace prior is along each of them.
    """

    task: Ascent
    vector: Unconstrained = field(repr=False)
    edges: Floats = field(repr=False)

    @classmethod
    def of(cls, task: Ascent) -> Hill:
        """The hill of a task."""
        vector = Unconstrained.of(task.expectation.blocks)
        return cls(task, vector, vector.edges(task.alphas))

    def slope(self, point: Point) -> Floats:
        """The slope of all that is smooth."""
        return self.vector.slope(point.model, point.statistics, self.task.alphas)

    def steepest(self, point: Point) -> Floats:
        """The slope, as far as it is steeper than edges."""
        return steepest(self.vector.pack(point.model), self.slope(point), self.edges)

    def scale(self, point: Point) -> Floats:
        """A diagonal guess of the inverse curvature: the information of completed rows, and one row more."""
        return np.asarray(1.0 / (self.vector.curvature(point.model, point.statistics, self.task.alphas) + 1.0))

    def promise(self, point: Point) -> float:
        """About how much a step straight up would still rise, relative to the objective: a small step is not an end."""
        rise = 0.5 * float(self.scale(point) @ self.steepest(point) ** 2)
        return rise / max(abs(point.objective), 1e-300)

    def pair(self, start: Point, end: Point) -> tuple[Floats, Floats]:
        """The step between two points, and how much the smooth slope fell by it."""
        return self.vector.pack(end.model) - self.vector.pack(start.model), self.slope(start) - self.slope(end)

    def climb(self, start: Point, slope: Floats, direction: Floats, flattening: float) -> Point | None:
        """The point where a line search along a direction ends; None where nothing rises.

        Where the path is stopped by an edge it bends, and any step that rises enough will do.
        """
        tried: dict[float, Point] = {}
        x = self.vector.pack(start.model)

        def trial(t: float) -> tuple[float, Floats]:
            straight = x + t * direction
            ahead = stopped(x, slope, self.edges, straight)
            try:
                tried[t] = self.task.point(self.vector.unpack(ahead))
            except FAILURES:
                return -np.inf, slope
            bends = (ahead != straight).any()
            return tried[t].objective, np.zeros(len(x)) if bends else self.steepest(tried[t])

        t = line_search(start.objective, slope, direction, trial, flattening)
        return None if t is None else tried[t]
