"""Factors by the variables that they mention."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import Any, Generic, Protocol, TypeVar

from sepset.base.threads import spend
from sepset.factors.algebra import Factor, num_entries
from sepset.factors.table import Table
from sepset.variables.variable import Discrete

ENTRY_NANOSECONDS = 8.0
"""Time to multiply and to eliminate one entry of a dense table."""


class Scoped(Protocol):
    """An object over some variables."""

    @property
    def scope(self) -> Sequence[Any]:
        """The variables."""


S = TypeVar("S", bound=Scoped)


class Pool(Generic[S]):
    """Factors by the variables that they mention, from which those of one variable are taken at a time.

    >>> a, b = Discrete("a"), Discrete("b")
    >>> pool = Pool([Table(a, [1, 2]), Table((a, b), [[1, 2], [3, 4]]), Table(b, [1, 1])])
    >>> pool.take(a), pool.rest()
    ([Table(a[2]; 1 2), Table(a[2], b[2]; 1 2, 3 4)], [Table(b[2]; 1 1)])
    """

    def __init__(self, factors: Iterable[S]) -> None:
        self._factors: dict[int, S] = {}
        self._touching: dict[Any, dict[int, None]] = {}
        self._count = 0
        for factor in factors:
            self.put(factor)

    def put(self, factor: S) -> None:
        """Add a factor."""
        self._factors[self._count] = factor
        for variable in factor.scope:
            self._touching.setdefault(variable, {})[self._count] = None
        self._count += 1

    def take(self, variable: Discrete) -> list[S]:
        """The factors that mention a variable, removed."""
        numbers = list(self._touching.pop(variable, {}))
        taken = [self._factors.pop(number) for number in numbers]
        for number, factor in zip(numbers, taken, strict=True):
            for other in factor.scope:
                if other in self._touching:
                    self._touching[other].pop(number, None)
        return taken

    def rest(self) -> list[S]:
        """The factors that are left."""
        return list(self._factors.values())


def product(factors: Iterable[Factor]) -> Factor:
    """The product of all factors, small ones first; the empty product is one."""
    one: Factor = Table.ones()
    return reduce(_times, sorted(factors, key=lambda f: f.size), one)


def _times(left: Factor, right: Factor) -> Factor:
    """The product of two factors; the work on dense tables is accounted for (sparse ones account for their rows)."""
    if isinstance(left, Table) and isinstance(right, Table):
        spend(ENTRY_NANOSECONDS * num_entries({*left.scope, *right.scope}))
    return left * right


def summed_out(factors: Iterable[Factor], variables: Iterable[Discrete]) -> list[Factor]:
    """The factors after these variables were summed out one by one.

    >>> a, b = Discrete("a"), Discrete("b")
    >>> [f.values.tolist() for f in summed_out([Table((a, b), [[1, 2], [3, 4]])], [a])]
    [[4.0, 6.0]]
    """
    summed = list(variables)
    if not summed:
        return list(factors)
    pool: Pool[Factor] = Pool(factors)
    for variable in summed:
        taken = pool.take(variable) or [Table.ones(variable)]
        pool.put(product(taken).marginalize([variable]))
    return pool.rest()
