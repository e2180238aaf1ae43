r"""Best assignments under concave functions of many variables, by branch and bound over their tangents.

The logarithm of a noisy-or, of a noisy-max at one level and of a logistic function is linear plus concave,

$$\log \phi(\mathbf u) = \sum_i a_i(u_i) + g(\mathbf s), \qquad \mathbf s = \mathbf s_0 + \sum_i \mathbf t_i(u_i),$$

so that each tangent of $g$ bounds it from above by factors of one variable each, and any method maximizes the bound:

$$\max_{\mathbf u} \log f(\mathbf u) + g(\mathbf s(\mathbf u)) \;\le\;
\max_{\mathbf u} \log f(\mathbf u) + g(\mathbf r) + \nabla g(\mathbf r) \cdot (\mathbf s(\mathbf u) - \mathbf r).$$

The point of contact with the lowest bound is that of the best mixture of assignments, which is improved by the maximum
of each bound (Frank-Wolfe). If the mixture is one assignment, that is the best; otherwise its variables are fixed one
after the other, best bound first.

Reference: Frank & Wolfe (1956); Land & Doig (1960); Jaakkola & Jordan (1999) for tangents of the noisy-or.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.text import in_digits, listing
from sepset.base.threads import OutOfWork, has_end, spend
from sepset.errors import TooLarge
from sepset.factors.decomposition import Decomposition
from sepset.inference.buckets.bounded import SLACK, Bounded, Maximum
from sepset.variables.evidence import Evidence
from sepset.variables.variable import Discrete

MOST_MAXIMA = 1000
"""The largest number of maximizations of bounds."""

MOST_AFTER_SEARCH = 100
"""The same for many functions, if another search has found a good assignment, but no proof."""

MOST_SURE = 8
"""The most functions for which the larger number is tried after that."""

MOST_POINTS = 40
"""The most assignments in the mixture of one part of the search."""

PLACE_NANOSECONDS, CALL_NANOSECONDS, MIXTURE_NANOSECONDS = 60_000.0, 1_000_000.0, 200_000.0
"""Time to make the factors of one variable of a bound, to maximize it apart from long steps, and to weigh the pairs of
assignments in a mixture."""

MOST_BRANCHES = 64
"""The largest number of joint states of hidden children."""


@dataclass(frozen=True, eq=False)
class Point:
    """An assignment: its logarithm without the concave parts, and the arguments of these."""

    best: Maximum
    linear: float
    sums: tuple[Floats, ...]


@dataclass(order=True)
class Cell:
    """A part of the assignments, with the highest value that its bound allows; cells are ordered by it.

    Attributes:
        rank: minus the bound, then the number of the cell.
        masks: the allowed states of some variables.
        points: assignments of the cell.
        weights: those of the points in the best mixture.
    """

    rank: tuple[float, int]
    masks: dict[int, Floats] = field(compare=False)
    points: list[Point] = field(compare=False)
    weights: Floats = field(compare=False)


class TangentSearch:
    """The search for the best assignment under some functions with observed children.

    Args:
        bounded: the functions.
        maximizer: the best assignment given evidence, with these factors for each function.
        evidence: the findings.
        most: the largest number of maximizations; `MOST_MAXIMA` by default.

    Guarantee: exact, or given up after `MOST_MAXIMA` bounds or the work that is allowed.
    Tested by: inference/buckets/test_tangents.py::test_noisy_or_with_coupled_causes_is_enumeration
    """

    def __init__(
        self,
        bounded: Sequence[Bounded],
        maximizer: Callable[[Sequence[Decomposition], Evidence], Maximum],
        evidence: Evidence,
        most: int | None = None,
    ) -> None:
        self._bounded, self._maximizer = tuple(bounded), maximizer
        self._evidence = evidence
        self._left = math.inf if has_end() else MOST_MAXIMA if most is None else most
        self._numbers = itertools.count()
        self.found = Maximum({}, -math.inf)
        self.bound = math.inf

    def run(self, above: float = -math.inf) -> Maximum:
        """The best assignment; one of value minus infinity if none is above a value that is known to be reached.

        Raises `OutOfWork` if it is not certain when the work is done; `found` and `bound` hold then.
        """
        self.found, self.bound = Maximum({}, above), math.inf
        heap = list(self._cells({}, []))
        while heap and not self._is_reached(-heap[0].rank[0]):
            cell = heapq.heappop(heap)
            self.bound = -cell.rank[0]
            for masks in self._halves(cell):
                kept = [p for p in cell.points if all(mask[p.best.values[v]] > 0 for v, mask in masks.items())]
                for made in self._cells(masks, kept):
                    heapq.heappush(heap, made)
        return self.found if self.found.values else Maximum({}, -math.inf)

    def _is_reached(self, bound: float) -> bool:
        return bound <= self.found.log_value + SLACK * max(1.0, abs(bound))

    def _cells(self, masks: dict[int, Floats], points: list[Point]) -> Iterator[Cell]:
        """The cell with its lowest bound; nothing if the best assignment found is as good."""
        points, lowest, weights = list(points), math.inf, np.zeros(0)
        while True:
            weights = self._mixture(points)
            new, bound = self._maximum(masks, self._contact(points, weights))
            lowest = min(lowest, bound)
            if not masks:
                self.bound = lowest
            if new is None or self._is_reached(lowest):
                return
            if any(_is_same(new, old) for old in points) or len(points) == MOST_POINTS:
                break
            points.append(new)
        yield Cell((-lowest, next(self._numbers)), masks, points, weights)

    def _contact(self, points: Sequence[Point], weights: Floats) -> list[Floats]:
        """The arguments of each function where its tangent touches: those of the mixture."""
        if not points:
            return [one.middle for one in self._bounded]
        return [
            np.asarray(sum(w * p.sums[i] for w, p in zip(weights, points, strict=True)))
            for i in range(len(self._bounded))
        ]

    def _maximum(self, masks: Mapping[int, Floats], contact: Sequence[Floats]) -> tuple[Point | None, float]:
        """The best assignment under the tangents, and the value of this bound."""
        if self._left <= 0:
            raise OutOfWork
        self._left -= 1
        spend(PLACE_NANOSECONDS * sum(len(one.places) for one in self._bounded) + CALL_NANOSECONDS)
        contact = [one.inside(at, masks) for one, at in zip(self._bounded, contact, strict=True)]
        tangents = [one.tangent(at, masks) for one, at in zip(self._bounded, contact, strict=True)]
        parts, scales = zip(*tangents, strict=True)
        best = self._maximizer(parts, masked(self._evidence, masks))
        bound = best.log_value + sum(scales)
        if bound == -math.inf:
            return None, bound
        sums = tuple(one.sums(best.values) for one in self._bounded)
        triples = list(zip(self._bounded, sums, contact, strict=True))
        value = bound - sum(one.above(s, at) for one, s, at in triples)
        if value > self.found.log_value:
            self.found = Maximum(best.values, value)
        line = sum(float(one.function.value(at)) + float(one.function.slope(at) @ (s - at)) for one, s, at in triples)
        return Point(best, bound - line, sums), bound

    def _mixture(self, points: Sequence[Point]) -> Floats:
        """The weights of the mixture with the largest linear part plus concave parts."""
        if len(points) < 2:
            return np.ones(len(points))
        spend(MIXTURE_NANOSECONDS * len(points) ** 2)
        from scipy import optimize

        minimize: Any = optimize.minimize
        linear = np.array([p.linear for p in points])
        sums = [np.stack([p.sums[i] for p in points]) for i in range(len(self._bounded))]

        def loss(weights: Floats) -> tuple[float, Floats]:
            value, slope = float(weights @ linear), linear.copy()
            for one, rows in zip(self._bounded, sums, strict=True):
                at = one.function.inside(weights @ rows)
                value += float(one.function.value(at))
                slope += rows @ one.function.slope(at)
            return -value, -slope

        # Minus infinity in the linear part never occurs: points have positive values.
        start = np.full(len(points), 1.0 / len(points))
        found: Any = minimize(
            loss,
            start,
            jac=True,
            method="SLSQP",
            bounds=[(0.0, 1.0)] * len(points),
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1.0, "jac": np.ones_like},
            options={"ftol": 1e-14, "maxiter": 200},
        )
        weights = np.clip(found.x if np.isfinite(found.x).all() else start, 0.0, None)
        return np.asarray(weights / weights.sum())

    def _halves(self, cell: Cell) -> Iterator[dict[int, Floats]]:
        """The cell split by the states of the variable on which its mixture is least decided."""
        places = sorted({place for one in self._bounded for place in one.places})
        shares = {place: self._shares(cell, place) for place in places}
        free = [place for place in places if (self._allowed(cell, place) > 0).sum() > 1]
        if not free:
            return
        chosen = min(free, key=lambda place: float(shares[place].max()))
        allowed, top = self._allowed(cell, chosen), int(shares[chosen].argmax())
        here = (np.arange(len(allowed)) == top).astype(np.float64)
        for mask in (allowed * here, allowed * (1.0 - here)):
            if mask.any():
                yield {**cell.masks, chosen: mask}

    def _shares(self, cell: Cell, place: int) -> Floats:
        """The probability of each state of a variable in the mixture."""
        size = len(self._allowed(cell, place))
        codes = [p.best.values[place] for p in cell.points]
        weights = np.zeros(len(codes))
        weights[: len(cell.weights)] = cell.weights
        return np.asarray(np.bincount(codes, weights, size), np.float64) if codes else np.zeros(size)

    def _allowed(self, cell: Cell, place: int) -> Floats:
        for one in self._bounded:
            if place in one.places:
                size = one.function.variables[one.places.index(place)].num_states
                return cell.masks.get(place, np.ones(size))
        raise AssertionError(f"{place} is the place of a variable of some function")


def _is_same(one: Point, other: Point) -> bool:
    return one.best.values == other.best.values


def masked(evidence: Evidence, masks: Mapping[int, Floats]) -> Evidence:
    """The evidence with the states of some variables restricted to those that masks allow."""
    weights = {v: np.asarray(evidence.weights.get(v, 1.0) * mask) for v, mask in masks.items()}
    return Evidence(evidence.codes, {**evidence.weights, **weights}, reals=evidence.reals)


def branches(evidence: Evidence, children: Mapping[int, Discrete]) -> Iterator[tuple[Evidence, dict[int, int], float]]:
    """The evidence with each joint state of some variables, these, and the log weight that a likelihood gives them."""
    size = math.prod(v.num_states for v in children.values())
    if size > MOST_BRANCHES:
        names = listing(v.name for v in children.values())
        raise TooLarge(
            f"The best states of the parents of {names} are found for each of their {in_digits(size)} joint states; at "
            f"most {MOST_BRANCHES} are allowed. Observe some of them."
        )
    for codes in itertools.product(*(range(v.num_states) for v in children.values())):
        known = dict(zip(children, codes, strict=True))
        told, log_weight = evidence.with_codes(known)
        if log_weight > -math.inf:
            yield told, known, log_weight
