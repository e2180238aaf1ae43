r"""Functions of many variables as products of small factors over their own variables and auxiliary ones.

$$\phi(\mathbf x) = \sum_{\mathbf a} \prod_i f_i(\mathbf x, \mathbf a)$$

If each auxiliary is a function of the others, at most one term of the sum is not zero. Then the sum is a maximum too,
so that the same factors serve marginals and most probable assignments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats
from sepset.factors.algebra import AnyVariable, Columns, Factor
from sepset.semiring import Semiring
from sepset.variables.variable import Discrete

NO_FUNCTIONS: Mapping[Discrete, tuple[AnyVariable, ...]] = MappingProxyType({})
"""The functions of a decomposition without auxiliaries."""


@dataclass(frozen=True, slots=True, eq=False)
class Unfilled:
    """A table that is filled when its entries are read: a question that is too large never reads them.

    Attributes:
        scope: its variables.
        filled: computes the entries.
    """

    scope: tuple[AnyVariable, ...]
    filled: Callable[[], Factor]


class Decomposition(NamedTuple):
    """Factors whose product, summed over the auxiliaries, is a function.

    Attributes:
        factors: the factors; large tables are not filled yet.
        functions: for each auxiliary that is a function of others, those others; none of them comes later.
    """

    factors: tuple[Factor | Unfilled, ...]
    auxiliaries: tuple[Discrete, ...] = ()
    functions: Mapping[Discrete, tuple[AnyVariable, ...]] = NO_FUNCTIONS

    @property
    def filled(self) -> tuple[Factor, ...]:
        """The factors, all of them with their entries."""
        return tuple(f.filled() if isinstance(f, Unfilled) else f for f in self.factors)

    @property
    def is_filled(self) -> bool:
        """Whether all factors have their entries."""
        return not any(isinstance(f, Unfilled) for f in self.factors)

    @property
    def is_linear(self) -> bool:
        """Whether all factors have their entries, none of them as logarithms of numbers that are too small."""
        return self.is_filled and not any(getattr(f, "space", "") == "log" for f in self.factors)

    @property
    def is_functional(self) -> bool:
        """Whether every auxiliary is a function of other variables, so that sums over them are maxima too."""
        return all(a in self.functions for a in self.auxiliaries)


Places: TypeAlias = tuple[int, ...]
"""Variables by their places among those of a conditional, the child last, and then its auxiliaries."""


@dataclass(frozen=True, slots=True, eq=False)
class DecompositionShape:
    """The scopes of the factors of a decomposition, which are known before these are made.

    Attributes:
        num_factors: the number of factors.
        cards: the number of states of each auxiliary.
        num_functions: how many auxiliaries are functions of others.
        scopes: finds the scopes.
        functions: finds, for each of these auxiliaries, what it is a function of.
        is_star: whether the auxiliaries join the child with every other variable: contracted, they are a star.
    """

    num_factors: int
    cards: tuple[int, ...]
    num_functions: int
    scopes: Callable[[], list[Places]]
    functions: Callable[[], dict[int, Places]]
    is_star: bool = False

    @classmethod
    def of(cls, made: Decomposition, scope: Sequence[AnyVariable]) -> DecompositionShape:
        """The shape of a decomposition of a conditional over some variables, the child last."""

        def place() -> dict[AnyVariable, int]:
            return {v: i for i, v in enumerate((*scope, *made.auxiliaries))}

        def scopes() -> list[Places]:
            known = place()
            return [tuple([known[v] for v in factor.scope]) for factor in made.factors]

        def functions() -> dict[int, Places]:
            known = place()
            return {known[a]: tuple([known[v] for v in inputs]) for a, inputs in made.functions.items()}

        cards = tuple([a.num_states for a in made.auxiliaries])
        return cls(len(made.factors), cards, len(made.functions), scopes, functions)

    @classmethod
    def functional(
        cls,
        num_factors: int,
        cards: tuple[int, ...],
        scopes: Callable[[], list[Places]],
        *,
        num_members: int,
        is_star: bool = False,
    ) -> DecompositionShape:
        """The shape of factors over some members that define each auxiliary, as the last in their scopes.

        >>> shape = DecompositionShape.functional(3, (2,), lambda: [(0, 2), (0, 3), (3, 1, 2)], num_members=3)
        >>> shape.functions()
        {3: (0,)}
        """

        def functions() -> dict[int, Places]:
            found: dict[int, dict[int, None]] = {}
            for places in scopes():
                if places and places[-1] >= num_members:
                    found.setdefault(places[-1], {}).update(dict.fromkeys(places[:-1]))
            return {a: tuple(found[a]) for a in range(num_members, num_members + len(cards))}

        return cls(num_factors, cards, len(cards), scopes, functions, is_star)


@dataclass(frozen=True, slots=True, eq=False)
class Concave:
    r"""A function of many variables whose logarithm is linear plus concave, $\sum_i a_i(u_i) + g(\mathbf s)$.

    $g$ falls, or stays, where any number of its argument rises.

    Attributes:
        variables: the variables.
        fixed: $a_i$, one row of numbers per variable, -inf for states that are impossible.
        terms: the part of each variable's states in the sum $\mathbf s$, `[states, numbers]`.
        start: the sum without any variable.
        value: $g$, of each row of arguments.
        slope: its gradient.
        between: from two arguments and a number to so many arguments between them, at which gradients differ.
        limit: from the steepest gradient allowed to the largest argument that has it.
        kind: the number of $g$ among the functions of `kernels.buckets.causes`, -1 if it is not among them.
    """

    variables: tuple[Discrete, ...]
    fixed: tuple[Floats, ...]
    terms: tuple[Floats, ...]
    start: Floats
    value: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    between: Callable[[Floats, Floats, int], Floats]
    limit: Callable[[float], float] = lambda steepest: math.inf
    kind: int = -1

    def inside(self, sums: Floats, steepest: float = 1e9) -> Floats:
        """The argument, moved to where the gradient is not too steep."""
        return np.asarray(np.minimum(sums, self.limit(steepest)))


class Decomposable(Protocol):
    """A conditional of discrete variables, the child last; it chooses factors for what is observed and asked."""

    @property
    def scope(self) -> tuple[AnyVariable, ...]:
        """The variables."""

    def decomposed(self, given: Mapping[AnyVariable, Any], semiring: Semiring) -> Decomposition:
        """Factors that equal the conditional wherever the variables in `given` have these codes, or values if real.

        Raises `TooLarge` if none are small enough. With the semiring `MAX` all auxiliaries are functions.
        """

    def concave(self, given: Mapping[AnyVariable, Any]) -> Concave | None:
        """The function of the parents that are not in `given`, which has the child's code; None if not concave."""

    def is_whole(self, given: Mapping[AnyVariable, Any]) -> bool:
        """Whether its factor for maxima is known to be one table of all variables that are not in `given`."""

    def probabilities(self, rows: Columns, num_rows: int) -> Floats:
        """The distribution of the child for each row of its parents, `[rows, states]`."""

    def log_probabilities(self, rows: Columns, num_rows: int) -> Floats:
        """The logarithms of the same, of numbers however small."""

    def sample(self, rows: Columns, num_rows: int, rng: np.random.Generator) -> AnyArray:
        """A draw of the child for each row of its parents."""


def defined_last(factors: Sequence[Factor], auxiliaries: Sequence[Discrete]) -> dict[Discrete, tuple[AnyVariable, ...]]:
    """The inputs of each auxiliary, which is defined by the factors that have it last: the others in their scopes.

    >>> from sepset.factors.table import Table
    >>> a, b, both = (Discrete(name) for name in ("a", "b", "both"))
    >>> defined_last([Table((a, b, both), np.eye(2)[[[0, 0], [0, 1]]])], [both])[both] == (a, b)
    True
    """
    homes: dict[AnyVariable, dict[AnyVariable, None]] = {}
    for factor in factors:
        if factor.scope:
            homes.setdefault(factor.scope[-1], {}).update(dict.fromkeys(factor.scope[:-1]))
    return {auxiliary: tuple(homes[auxiliary]) for auxiliary in auxiliaries if auxiliary in homes}
