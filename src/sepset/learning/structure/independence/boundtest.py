"""Tests of independence bound to columns, and the questions that a method asks them: each once, and counted."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from sepset.base.arraytypes import Bools, Floats, Ints
from sepset.base.checks import fraction
from sepset.errors import ArgumentError

Group = tuple[int, ...]
"""Columns by number."""


class Outcome(NamedTuple):
    """The answer to one question.

    Attributes:
        statistic: how far the rows are from independence.
        degrees: the degrees of freedom of its distribution; NaN where there is none.
        p_value: the probability under independence of a statistic at least as large.
        num_rows: the (weighted) rows that were used.
        warnings: what makes the p-value doubtful.
        is_exact: whether the p-value is neither asymptotic nor from draws.
    """

    statistic: float
    degrees: float
    p_value: float
    num_rows: float = float("nan")
    warnings: tuple[str, ...] = ()
    is_exact: bool = False


class Outcomes(NamedTuple):
    """The answers to several questions with the same first variable and conditioning set."""

    statistics: Floats
    degrees: Floats
    p_values: Floats


class Separations:
    """The state of a search for sets that separate one variable from others.

    Attributes:
        done: which others need no test: they are separated, not joined, or known to be joined.
        best: the largest p-value of a test with each other variable.
        given: the set of that test.
    """

    def __init__(self, done: Bools, best: Floats | None = None, given: list[Group] | None = None) -> None:
        self.done = done
        self.best: Floats = np.full(len(done), -1.0) if best is None else best
        self.given: list[Group] = [()] * len(done) if given is None else given


class BoundTest(ABC):
    """A test bound to columns: it is asked by column numbers."""

    @abstractmethod
    def outcome(self, xs: Group, ys: Group, given: Group) -> Outcome:
        """The answer to whether the variables `xs` and `ys` are independent given `given`."""

    def outcomes(self, x: int, ys: Sequence[int], given: Group) -> Outcomes:
        """The answers for `x` and each of `ys` given the same set."""
        found = np.array([self.outcome((x,), (y,), given)[:3] for y in ys], dtype=np.float64).reshape(-1, 3)
        return Outcomes(*np.ascontiguousarray(found.T))

    def separate(self, adjacent: Bools, x: int, size: int, level: float, known: Separations) -> int:
        """Look for sets of `size` neighbors of `x` that separate it from another neighbor; the number of tests.

        A set that was a set of neighbors of an earlier variable `y` was asked about in the turn of `y`.
        """
        num_tests = 0
        for given in itertools.combinations(np.flatnonzero(adjacent[x]).tolist(), size):
            ys = [
                y
                for y in np.flatnonzero(adjacent[x] & ~known.done).tolist()
                if y not in given and not (y < x and adjacent[y, list(given)].all())
            ]
            if ys:
                num_tests += len(ys)
                _note(known, ys, given, self.outcomes(x, ys, given).p_values, level)
        return num_tests


def _note(known: Separations, ys: Sequence[int], given: Group, p_values: Floats, level: float) -> None:
    for y, p in zip(ys, p_values.tolist(), strict=True):
        if p > known.best[y]:
            known.best[y], known.given[y] = p, given
        known.done[y] |= p > level


class AnyTest(Protocol):
    """The settings of a test of independence, such as `G()` or `FisherZ()`.

    Attributes:
        needs_rows: whether it is a test of rows; others are asked by names alone.
    """

    needs_rows: ClassVar[bool]

    def bind(self, columns: Any) -> BoundTest:
        """The test on these columns; columns of a kind that it does not take are refused by name."""
        ...


def check_test(test: object) -> None:
    """Raise unless this is a test of independence."""
    if isinstance(test, type) or not (hasattr(test, "needs_rows") and callable(getattr(test, "bind", None))):
        raise ArgumentError(
            f"test= takes a test of independence such as G() or FisherZ(); found {test!r}. See sepset.structure."
        )


class Names(NamedTuple):
    """The names of columns without rows, for tests that need none."""

    names: tuple[str, ...]


class Queries:
    """The questions that a method asks: symmetric in the two variables, each asked once, and counted.

    Args:
        test: the test bound to columns.
        names: of the columns.
        level: pairs with a larger p-value count as independent.
        tiers: the number of each column's tier, -1 for none: no question about two columns is given one of a tier
            later than both, which is an ancestor of neither.
        watch: called with the number of questions after each few; it may raise to stop.

    Attributes:
        num_tests: how many different questions were asked.
    """

    def __init__(
        self,
        test: BoundTest,
        names: Sequence[str],
        level: float,
        *,
        tiers: Ints | None = None,
        watch: Callable[[int], None] = lambda num_tests: None,
    ) -> None:
        self.tiers = None if tiers is None else tiers.tolist()
        self.test, self.names, self.level = test, tuple(names), fraction("level", level)
        self.num_tests, self._watch = 0, watch
        self._answers: dict[tuple[int, int, Group], tuple[float, float]] = {}

    def __len__(self) -> int:
        return len(self.names)

    def independent(self, x: int, y: int, given: Sequence[int] = ()) -> bool:
        """Whether the test takes `x` and `y` as independent given a set."""
        return self.p_value(x, y, given) > self.level

    def p_value(self, x: int, y: int, given: Sequence[int] = ()) -> float:
        """The p-value of one question."""
        return float(self.answers(x, [y], given)[0, 0])

    def eligible(self, x: int, y: int, pool: Iterable[int]) -> Group:
        """The members of a pool, in order, that may be in a set that separates two variables.

        They are those of tiers not later than both. If `x` and `y` are not joined, ancestors of theirs separate them.
        """
        members, tiers = sorted(pool), self.tiers
        if tiers is None or min(tiers[x], tiers[y]) < 0:
            return tuple(members)
        latest = max(tiers[x], tiers[y])
        return tuple(z for z in members if tiers[z] <= latest)

    def answers(self, x: int, ys: Sequence[int], given: Sequence[int] = ()) -> Floats:
        """The p-value and the statistic for `x` and each of `ys` given the same set, as far as it is eligible."""
        if self.tiers is None or not given:
            return self._asked(x, ys, given)
        return np.concatenate([np.zeros((0, 2)), *(self._asked(x, [y], self.eligible(x, y, given)) for y in ys)])

    def _asked(self, x: int, ys: Sequence[int], given: Sequence[int]) -> Floats:
        fixed = tuple(sorted(given))
        keys = [(min(x, y), max(x, y), fixed) for y in ys]
        fresh = [(y, key) for y, key in zip(ys, keys, strict=True) if key not in self._answers]
        if fresh:
            found = self.test.outcomes(x, [y for y, _ in fresh], fixed)
            for (_, key), p, statistic in zip(fresh, found.p_values.tolist(), found.statistics.tolist(), strict=True):
                self._answers[key] = (p, statistic)
            self.num_tests += len(fresh)
            self._watch(self.num_tests)
        return np.array([self._answers[key] for key in keys], dtype=np.float64).reshape(-1, 2)

    def separate(self, adjacent: Bools, x: int, size: int, known: Separations) -> None:
        """See `BoundTest.separate`; the questions are counted, and sets are eligible ones."""
        for pool, ys in self._pools(adjacent, x):
            done = known.done if ys is None else known.done | ~ys
            part = Separations(done, known.best, known.given)
            self.num_tests += self.test.separate(pool, x, size, self.level, part)
            if ys is not None:
                known.done |= part.done & ys
            self._watch(self.num_tests)

    def _pools(self, adjacent: Bools, x: int) -> Iterator[tuple[Bools, Bools | None]]:
        """The neighbors that sets are of, and for which other variables: by the later tier of the two."""
        if self.tiers is None or self.tiers[x] < 0:
            yield adjacent, None
            return
        tiers = np.array(self.tiers)
        later = np.where(tiers < 0, tiers.max() + 1, np.maximum(tiers, tiers[x]))
        for latest in np.unique(later[adjacent[x]]).tolist():
            yield adjacent & (tiers <= latest), later == latest


def strongest_first(answers: Floats) -> Ints:
    """The order of answers from the strongest association to the weakest: by p-value, then by statistic, then place.

    >>> strongest_first(np.array([[0.5, 1.0], [0.0, 90.0], [0.0, 95.0]])).tolist()
    [2, 1, 0]
    """
    return np.lexsort((-answers[:, 1], answers[:, 0]))
