r"""Best assignments under concave functions of many variables, a few of which are summed out and independent of them.

$$\max_{\mathbf m}\; \ell(\mathbf m) + \log \sum_{\mathbf s} w(\mathbf s)\,
e^{\sum_f g_f(\mathbf t_f(\mathbf m) + \mathbf t_f(\mathbf s))}$$

Every case $\mathbf s$ of what is summed out has tangents of its own, under which partial assignments have bounds. The
sum of these over all cases is a bound, and one that the frontier of partial assignments needs (`buckets.frontier`).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.lazy import lazy
from sepset.base.threads import OutOfWork, working
from sepset.factors.decomposition import Concave
from sepset.factors.table import Table
from sepset.inference.buckets.causearrays import fixed_logs
from sepset.inference.buckets.frontier import BEAMS, MOST_NANOSECONDS, STEEPEST, Walk
from sepset.inference.buckets.regrets import Buckets, Logs
from sepset.inference.buckets.relaxed import Ranked
from sepset.variables.variable import Discrete

NUM_POINTS = 16
"""The number of contacts of tangents with each function in each case."""

STEPS = (0, -2, 2)
"""How far the tangents of all functions are turned from the best ones."""

MOST_CASES = 2**10
"""The most joint states of what is summed out."""


class SummedCauses:
    """The search for the best assignment of variables, others summed out that no factor couples with them.

    Args:
        factors: tables over the variables of the assignment.
        functions: the concave functions of both.
        order: the variables of the assignment, in an order of elimination.
        weights: the table of what is summed out.

    Guarantee: exact where proved.
    Tested by: inference/buckets/test_summedcauses.py::test_best_assignments_are_those_of_enumeration
    """

    def __init__(
        self, factors: Sequence[Table], functions: Sequence[Concave], order: Sequence[Discrete], weights: Table
    ) -> None:
        self._functions, self._order = tuple(functions), tuple(order)
        summed = weights.scope
        cards, fixed = [v.num_states for v in summed], fixed_logs(functions)
        codes = dict(zip(summed, np.indices(cards).reshape(len(summed), math.prod(cards)), strict=True))
        logs = sum((fixed[v][codes[v]] for v in fixed if v in codes), np.asarray(weights.log_values).reshape(-1))
        self._codes = {v: column[logs > -np.inf] for v, column in codes.items()}
        self._weights = logs[logs > -np.inf]
        self._starts = [self._start(f) for f in self._functions]
        self._logs = [
            *map(Logs.of, factors),
            *(Logs((v,), row[:, None]) for v, row in fixed.items() if v not in self._codes),
        ]

    def _start(self, function: Concave) -> Floats:
        """The argument of a function without variables of the assignment, in each case."""
        pairs = zip(function.variables, function.terms, strict=True)
        rows = (terms[self._codes[v]] for v, terms in pairs if v in self._codes)
        return np.asarray(sum(rows, np.tile(function.start, (len(self._weights), 1))))

    @lazy
    def _places(self) -> list[slice]:
        ends = np.cumsum([0, *(len(f.start) for f in self._functions)]).tolist()
        return [slice(a, b) for a, b in itertools.pairwise(ends)]

    @lazy
    def _buckets(self) -> Buckets:
        width, terms = self._places[-1].stop, dict[Discrete, Floats]()
        for function, place in zip(self._functions, self._places, strict=True):
            for v, part in zip(function.variables, function.terms, strict=True):
                if v not in self._codes:
                    terms.setdefault(v, np.zeros((v.num_states, width)))[:, place] += part
        return Buckets(self._logs, self._order, terms, width)

    def run(self) -> Ranked:
        """The best assignment, and whether it is proved to be."""
        found, value = Ranked([], [], not len(self._weights)), -math.inf
        if found.is_proved:
            return found
        with working(MOST_NANOSECONDS), suppress(OutOfWork):
            walk = self._walk()
            for width in BEAMS:
                for most in (width, None):
                    more = walk.best(1, value, width=most)
                    if more.assignments:
                        found, value = more._replace(is_proved=False), more.log_values[0]
                if more.is_proved:
                    return found._replace(is_proved=True)
        return found

    def _walk(self) -> Walk:
        """The variables in the order of their assignment, with bounds under tangents of all cases."""
        rows = self._chosen()
        slopes, lines = self._tangents(np.clip(rows[:, None, :] + np.array(STEPS)[:, None], 0, NUM_POINTS - 1))
        found, num = self._buckets.regrets(slopes), len(self._weights)

        def height(bounds: Floats) -> Floats:
            return _log_sum(bounds.reshape(*bounds.shape[:-1], num, -1).min(axis=-1))

        return Walk(found, found.bounds + lines, np.zeros(slopes.shape[1]), self._value, height)

    def _value(self, sums: Floats) -> Floats:
        """The logarithm of the sum over all cases at each row of arguments."""
        total = np.tile(self._weights, (len(sums), 1))
        for function, start, place in zip(self._functions, self._starts, self._places, strict=True):
            total += function.value(sums[:, None, place] + start)
        return _log_sum(total)

    def _chosen(self) -> Ints:
        """For each case the contacts whose tangents bound its best assignment most tightly, `[cases, functions]`."""
        points, cases = np.arange(NUM_POINTS), np.arange(len(self._weights))
        rows = np.tile(points[:, None], (len(cases), 1, len(self._functions)))
        best = rows[cases, self._lowest(rows)]
        for i in range(len(self._functions)):
            rows = np.repeat(best[:, None], NUM_POINTS, axis=1)
            rows[:, :, i] = points
            best = rows[cases, self._lowest(rows)]
        return best

    def _lowest(self, rows: Ints) -> Ints:
        slopes, lines = self._tangents(rows)
        bounds = (self._buckets.bounds(slopes) + lines).reshape(rows.shape[:2])
        return np.asarray(np.where(np.isnan(bounds), np.inf, bounds).argmin(axis=1))

    def _tangents(self, rows: Ints) -> tuple[Floats, Floats]:
        """The slopes of tangents at some contacts, `[cases, tangents, functions]`, and their values without any
        variable of the assignment; one row for each tangent of each case."""
        cases = np.arange(len(rows))[:, None]
        lines, slopes = np.tile(self._weights[:, None], (1, rows.shape[1])), list[Floats]()
        for i, (function, start) in enumerate(zip(self._functions, self._starts, strict=True)):
            at = self._points[i][cases, rows[:, :, i]]
            slope = function.slope(at)
            lines = lines + function.value(at) + ((start[:, None] - at) * slope).sum(axis=2)
            slopes.append(slope)
        return np.concatenate(slopes, axis=2).reshape(lines.size, -1), lines.reshape(-1)

    @lazy
    def _points(self) -> list[Floats]:
        """The contacts of each function in each case, `[cases, points, numbers]`."""
        pairs = zip(self._functions, self._starts, strict=True)
        return [np.stack([self._between(f, row) for row in starts]) for f, starts in pairs]

    def _between(self, function: Concave, start: Floats) -> Floats:
        """Arguments between the smallest and the largest that a function can have in a case."""
        parts = zip(function.variables, function.terms, function.fixed, strict=True)
        rows = [t[a > -np.inf] for v, t, a in parts if v not in self._codes and (a > -np.inf).any()]
        low = sum((row.min(axis=0) for row in rows), start)
        high = sum((row.max(axis=0) for row in rows), start)
        sizes = np.abs(np.concatenate([start, *(row.reshape(-1) for row in rows)]))
        least = sizes[sizes > 0].min(initial=1.0)
        return function.inside(function.between(low, np.where(high == 0, -least / 8, high), NUM_POINTS), STEEPEST)


def _log_sum(logs: Floats) -> Floats:
    """The logarithm of the sum of exponentials along the last axis."""
    top = logs.max(axis=-1)
    shift = np.where(top > -np.inf, top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(shift + np.log(np.exp(logs - shift[..., None]).sum(axis=-1)))
