r"""Upper bounds on the best score by elimination in any order: sums and maxima exchanged.

$$\max_{\mathbf y} \sum_{\mathbf w} f(\mathbf y, \mathbf w)
\le \sum_{\mathbf w} \max_{\mathbf y} f(\mathbf y, \mathbf w)$$

So variables to maximize may be eliminated before others are summed out, where the other way needs larger tables. The
bound is exact if no maximum comes before a sum that it depends on.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.threads import require_time
from sepset.errors import TooLarge
from sepset.inference.buckets.evidencefactors import reduced_factors
from sepset.inference.method import dense
from sepset.problem import Problem
from sepset.variables.evidence import Evidence

MOST_ENTRIES = 2**26
"""The most entries of a table of the bound."""


@dataclass(frozen=True, eq=False)
class LogFactor:
    """A function of some variables, by position, as an array of log values with an axis for each."""

    scope: tuple[int, ...]
    logs: Floats

    def at(self, codes: Mapping[int, int]) -> LogFactor:
        """The function at known states of some of its variables."""
        if not any(v in codes for v in self.scope):
            return self
        index = tuple(codes.get(v, slice(None)) for v in self.scope)
        return LogFactor(tuple(v for v in self.scope if v not in codes), np.asarray(self.logs[index]))


@dataclass(frozen=True, eq=False)
class MixedElimination:
    """The factors of a problem at some evidence, with variables to maximize and others to sum out.

    Attributes:
        factors: over unobserved variables.
        free: the unobserved variables.
        cards: the number of states of every variable of the problem.
        over: the variables to maximize.
        entries: the most entries of a table that a sum makes while maxima are left.

    Reference: Koller & Friedman, exercises 13.19 and 13.20; Park & Darwiche (2003).
    Guarantee: an upper bound.
    Tested by: inference/map/marginal/test_bounds.py::test_bounds_are_never_below_the_best_score
    """

    factors: tuple[LogFactor, ...]
    free: tuple[int, ...]
    cards: tuple[int, ...]
    over: frozenset[int]
    entries: int

    @classmethod
    def of(cls, problem: Problem, evidence: Evidence, over: Iterable[int], entries: int) -> MixedElimination:
        """The factors at the evidence."""
        place = {variable: i for i, variable in enumerate(problem.variables)}
        tables = [dense(factor) for factor in reduced_factors(problem, evidence)]
        factors = tuple(LogFactor(tuple(place[v] for v in t.scope), np.asarray(t.log_values)) for t in tables)
        known = {*evidence.codes, *evidence.reals}
        free = tuple(v for v in range(len(problem.variables)) if v not in known)
        return cls(factors, free, tuple(problem.variables.cards.tolist()), frozenset(over), entries)

    def order(self, known: Collection[int], last: int | None = None) -> list[int]:
        """An order of elimination of all unknown variables but one.

        A sum of the smallest table comes next while it has few enough entries, else whatever has the smallest table.
        """
        scopes = [frozenset(f.scope).difference(known) for f in self.factors]
        left, found = {v for v in self.free if v not in known and v != last}, []
        while left:
            size = {v: self._size(scopes, v) for v in left}
            sums = [v for v in left if v not in self.over and size[v] <= self.entries]
            v = min(sums or left, key=lambda each: (size[each], each))
            if size[v] > MOST_ENTRIES:
                raise TooLarge(f"A bound by elimination needs a table of {size[v]:.3g} entries. Use search='local'.")
            joined = frozenset({v}).union(*(s for s in scopes if v in s)) - {v}
            scopes = [s for s in scopes if v not in s] + [joined]
            left.discard(v)
            found.append(v)
        return found

    def _size(self, scopes: Sequence[frozenset[int]], v: int) -> float:
        require_time()
        joined = frozenset({v}).union(*(s for s in scopes if v in s))
        return math.prod(float(self.cards[u]) for u in joined)

    def bound(self, codes: Mapping[int, int], order: Sequence[int], last: int | None = None) -> Floats:
        """The upper bound at known states; with a last variable, one for each of its states.

        Args:
            codes: states of some variables to maximize.
            order: the other unknown variables, as `order` gives them.
        """
        factors = [f.at(codes) for f in self.factors]
        for v in order:
            require_time()
            touched = [f for f in factors if v in f.scope]
            factors = [f for f in factors if v not in f.scope] + [self._eliminated(touched, v)]
        total = np.zeros(() if last is None else self.cards[last])
        for factor in factors:
            total = total + factor.logs
        return np.asarray(total)

    def _eliminated(self, factors: Sequence[LogFactor], v: int) -> LogFactor:
        scope = (*dict.fromkeys(u for f in factors for u in f.scope if u != v), v)
        total = np.zeros([self.cards[u] for u in scope])
        for f in factors:
            places = [scope.index(u) for u in f.scope]
            shape = [self.cards[u] if i in places else 1 for i, u in enumerate(scope)]
            total = total + f.logs.transpose(np.argsort(places, kind="stable")).reshape(shape)
        return LogFactor(scope[:-1], _most(total) if v in self.over else _log_sum(total))


def _most(logs: Floats) -> Floats:
    return np.asarray(logs.max(axis=-1))


def _log_sum(logs: Floats) -> Floats:
    top = logs.max(axis=-1)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray(shift + np.log(np.exp(logs - shift[..., None]).sum(axis=-1)))
