r"""Named potentials: functions of codes that need no table.

A potential is a frozen value that says $\log \phi$ at any codes. Weights are in log space: a larger $\log \phi$ is
more probable, so `Potts(1.5)` with a positive weight favors equal neighbors.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import AnyInts, Bools, Floats
from sepset.base.frozen import fill
from sepset.base.text import brief, rounded
from sepset.errors import ArgumentError, ModelError, StateError, TooLarge
from sepset.factors.algebra import MAX_ENTRIES

CHUNK = 1 << 16


@dataclass(frozen=True, slots=True, eq=False)
class Automaton:
    r"""A function of a sequence of codes, computed from left to right in a few running states.

    $$s_i = \delta(s_{i-1}, x_i), \qquad s_0 = 0, \qquad \log \phi(\mathbf x) = \alpha(s_n)$$

    Attributes:
        ends: $\alpha$, the log value of each final state; for a condition, zero where it holds and else $-\infty$.
        step: $\delta$ at arrays of states and codes; -1 if the condition cannot hold any more.
    """

    ends: Floats
    step: Callable[[AnyInts, AnyInts], AnyInts]

    def moves(self, card: int) -> Floats:
        """The transitions `[state, code, next state]`, one where they are taken."""
        states, codes = np.indices((len(self.ends), card))
        after = np.asarray(self.step(states, codes))
        return np.asarray(after[..., None] == np.arange(len(self.ends)), np.float64)

    def is_symmetric(self, card: int) -> bool:
        r"""Whether the order of the codes makes no difference: $\delta(\delta(s, x), y) = \delta(\delta(s, y), x)$.

        >>> Automaton(np.zeros(2), np.bitwise_xor).is_symmetric(2)
        True
        >>> Automaton(np.zeros(2), lambda states, codes: codes).is_symmetric(2)
        False
        """
        states, codes = np.indices((len(self.ends), card))
        after = np.asarray(self.step(states, codes))
        after = np.where(after < len(self.ends), after, -1)
        twice = np.where(after[..., None] >= 0, after[after], -1)
        return np.array_equal(twice, twice.swapaxes(1, 2))


class Rest(NamedTuple):
    """The part of a potential that evidence leaves.

    Attributes:
        potential: of the other variables together; None where they are free.
        ruled_out: the codes that no other variable can have.
        is_possible: whether the evidence is.
    """

    potential: Potential | None = None
    ruled_out: tuple[int, ...] = ()
    is_possible: bool = True


class Potential(ABC):
    r"""A named function $\log \phi(x_1, \dots, x_k)$ of the codes of its variables."""

    __slots__ = ()

    @abstractmethod
    def check(self, cards: Sequence[int]) -> None:
        """Raise if this potential is not defined for these numbers of states."""

    @abstractmethod
    def log_values(self, codes: AnyInts) -> Floats:
        r"""$\log \phi$ at codes `[..., arity]`, without a table."""

    def automata(self, cards: Sequence[int]) -> tuple[Automaton, ...]:
        """Automata whose product is the potential, so that it needs no table; none if it has no such form."""
        return ()

    def power(self, exponent: float) -> Potential | None:
        r"""The potential $\phi^s$ for $s \ne 0$; None if it has no such form."""
        return None

    def reduced(self, codes: Sequence[int], rest: int) -> Rest | None:
        """The part that is left for `rest` other variables, where some have these codes; None if it has no form."""
        return None

    def log_table(self, cards: Sequence[int]) -> Floats:
        r"""$\log \phi$ at every joint state, of shape `cards`.

        >>> Potts(2.0).log_table((2, 2)).tolist()
        [[2.0, 0.0], [0.0, 2.0]]
        """
        self.check(cards)
        size = math.prod(cards)
        if size > MAX_ENTRIES:
            raise TooLarge(
                f"{self!r} over {len(cards)} variables has a table of {rounded(size)} entries; use log_values."
            )
        logs = np.empty(size)
        for start in range(0, size, CHUNK):
            place = np.arange(start, min(start + CHUNK, size))
            logs[start : start + CHUNK] = self.log_values(np.stack(np.unravel_index(place, tuple(cards)), axis=-1))
        return logs.reshape(tuple(cards))

    def table(self, cards: Sequence[int]) -> Floats:
        r"""$\phi$ at every joint state, of shape `cards`.

        >>> Parity().table((2, 2)).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        return np.exp(self.log_table(cards))


@dataclass(frozen=True, slots=True)
class _Weighted(Potential):
    """A potential whose logarithm is a weight times a function."""

    weight: float

    def __post_init__(self) -> None:
        _finite(self, weight=self.weight)

    def power(self, exponent: float) -> Potential | None:
        """The weight times the exponent."""
        return replace(self, weight=self.weight * exponent)


@dataclass(frozen=True, slots=True)
class _Pairwise(_Weighted):
    """A potential of two variables with the same states."""

    def check(self, cards: Sequence[int]) -> None:
        """Raise unless there are two variables with the same number of states."""
        if len(cards) != 2 or cards[0] != cards[1]:
            raise ModelError(
                f"{self!r} is a function of two variables with equally many states; found {_shape(cards)}."
            )


class _Constraint(Potential):
    """A potential that is one where a condition holds and zero elsewhere."""

    __slots__ = ()

    def check(self, cards: Sequence[int]) -> None:
        """Raise if the scope is empty."""
        if not cards:
            raise ModelError(f"{self!r} needs at least one variable.")

    def power(self, exponent: float) -> Potential | None:
        """The same condition for a positive exponent: powers of zero and one."""
        return self if exponent > 0 else None

    @abstractmethod
    def holds(self, codes: AnyInts) -> Bools:
        """Where the condition holds, at codes `[..., arity]`."""

    def log_values(self, codes: AnyInts) -> Floats:
        r"""$0$ where the condition holds and $-\infty$ elsewhere, at codes `[..., arity]`."""
        found = np.asarray(codes)
        if found.dtype.kind not in "iub" or not found.ndim:
            raise ArgumentError(f"codes= are whole numbers [..., arity]; found {brief(codes)}.")
        return np.where(self.holds(found), 0.0, -np.inf)


class _Binary(_Constraint):
    __slots__ = ()

    def check(self, cards: Sequence[int]) -> None:
        """Raise if the scope is empty or a variable is not binary."""
        super().check(cards)
        if any(card != 2 for card in cards):
            raise ModelError(f"{self!r} is a function of binary variables; found {_shape(cards)}.")


@dataclass(frozen=True, slots=True)
class Potts(_Pairwise):
    r"""$\log \phi(x, y) = w \, 1[x = y]$: a positive weight favors equal states, a negative one unequal.

    Reference: Koller & Friedman, section 4.4.1.1 (there as an energy, with the opposite sign).
    Guarantee: exact.
    Tested by: factors/test_potentials.py::test_tables_and_values_follow_the_formula

    >>> Potts(1.5).log_values(np.array([[0, 0], [0, 2]])).tolist()
    [1.5, 0.0]
    """

    def log_values(self, codes: AnyInts) -> Floats:
        r"""$w \, 1[x = y]$ at codes `[..., 2]`."""
        return np.where(np.equal(*_pair(codes)), self.weight, 0.0)


@dataclass(frozen=True, slots=True)
class Ising(_Pairwise):
    r"""$\log \phi(x, y) = w \, s_x s_y$ with spins $s = 2x - 1$: `Potts(2 w)` up to the constant $-w$.

    Reference: Koller & Friedman, box 4.C.
    Guarantee: exact.
    Tested by: factors/test_potentials.py::test_ising_is_potts_up_to_a_constant

    >>> Ising(0.5).log_table((2, 2)).tolist()
    [[0.5, -0.5], [-0.5, 0.5]]
    """

    def check(self, cards: Sequence[int]) -> None:
        """Raise unless there are two binary variables."""
        if tuple(cards) != (2, 2):
            raise ModelError(f"{self!r} is a function of two binary variables; found {_shape(cards)}.")

    def log_values(self, codes: AnyInts) -> Floats:
        r"""$w \, s_x s_y$ at codes `[..., 2]`."""
        return np.where(np.equal(*_pair(codes)), self.weight, -self.weight)


@dataclass(frozen=True, slots=True)
class TruncatedLinear(_Pairwise):
    r"""$\log \phi(x, y) = -w \min(|x - y|, L)$: a positive weight favors near codes, and jumps cost at most $w L$.

    Reference: Koller & Friedman, box 4.B.
    Guarantee: exact.
    Tested by: factors/test_potentials.py::test_tables_and_values_follow_the_formula

    >>> TruncatedLinear(2.0, limit=2).log_table((4, 4))[0].tolist()
    [0.0, -2.0, -4.0, -4.0]
    """

    limit: float = math.inf

    def __post_init__(self) -> None:
        _Pairwise.__post_init__(self)
        _limit(self, self.limit)

    def log_values(self, codes: AnyInts) -> Floats:
        r"""$-w \min(|x - y|, L)$ at codes `[..., 2]`."""
        return np.asarray(0.0 - self.weight * np.minimum(_distance(codes), self.limit))


@dataclass(frozen=True, slots=True)
class TruncatedQuadratic(_Pairwise):
    r"""$\log \phi(x, y) = -w \min((x - y)^2, L)$: as `TruncatedLinear`, with squared distance.

    Reference: Koller & Friedman 4.4.1.
    Guarantee: exact.
    Tested by: factors/test_potentials.py::test_tables_and_values_follow_the_formula

    >>> TruncatedQuadratic(1.0, limit=5).log_table((4, 4))[0].tolist()
    [0.0, -1.0, -4.0, -5.0]
    """

    limit: float = math.inf

    def __post_init__(self) -> None:
        _Pairwise.__post_init__(self)
        _limit(self, self.limit)

    def log_values(self, codes: AnyInts) -> Floats:
        r"""$-w \min((x - y)^2, L)$ at codes `[..., 2]`."""
        return np.asarray(0.0 - self.weight * np.minimum(_distance(codes) ** 2, self.limit))


@dataclass(frozen=True, slots=True)
class Parity(_Binary):
    r"""$\phi(\mathbf x) = 1[\sum_i x_i \text{ is even}]$ over any number of binary variables: a parity check.

    Reference: Gallager (1963).
    Guarantee: exact, no table.
    Tested by: factors/test_potentials.py::test_large_parity_counts_beyond_small_integers

    >>> Parity().log_values(np.array([[1, 0, 1], [1, 1, 1]])).tolist()
    [0.0, -inf]
    """

    def holds(self, codes: AnyInts) -> Bools:
        """Where the sum of codes `[..., arity]` is even."""
        return np.asarray((codes & 1).sum(axis=-1) % 2 == 0)

    def automata(self, cards: Sequence[int]) -> tuple[Automaton, ...]:
        """The running sum modulo two."""
        return (Automaton(np.array([0.0, -np.inf]), np.bitwise_xor),)

    def reduced(self, codes: Sequence[int], rest: int) -> Rest:
        """The same where the codes have an even sum, else that the others have an odd one.

        >>> Parity().reduced([1, 1], 3).potential, Parity().reduced([1, 0], 3).potential
        (Parity(), Cardinality(log_numbers=(-inf, 0.0, -inf, 0.0)))
        """
        if sum(codes) % 2 == 0:
            return Rest(self)
        return Rest(Cardinality(tuple(0.0 if number % 2 else -np.inf for number in range(rest + 1))))


@dataclass(frozen=True, slots=True)
class AtLeastOne(_Binary):
    r"""$\phi(\mathbf x) = 1[\text{some } x_i = 1]$ over any number of binary variables.

    Guarantee: exact, no table.
    Tested by: factors/test_potentials.py::test_values_need_no_table

    >>> AtLeastOne().table((2, 2)).tolist()
    [[0.0, 1.0], [1.0, 1.0]]
    """

    def holds(self, codes: AnyInts) -> Bools:
        """Where some code of `[..., arity]` is not zero."""
        return np.asarray((codes != 0).any(axis=-1))

    def automata(self, cards: Sequence[int]) -> tuple[Automaton, ...]:
        """Whether a one was seen."""
        return (Automaton(np.array([-np.inf, 0.0]), np.bitwise_or),)

    def reduced(self, codes: Sequence[int], rest: int) -> Rest:
        """Nothing where one code is one, else the same of the others."""
        return Rest() if any(codes) else Rest(self)


@dataclass(frozen=True, slots=True)
class AllDifferent(_Constraint):
    r"""$\phi(\mathbf x) = 1[x_i \ne x_j \text{ for all } i \ne j]$, comparing codes.

    Guarantee: exact, no table.
    Tested by: factors/test_potentials.py::test_values_need_no_table

    >>> AllDifferent().log_values(np.array([[2, 0, 1], [2, 0, 2]])).tolist()
    [0.0, -inf]
    """

    def holds(self, codes: AnyInts) -> Bools:
        """Where the codes `[..., arity]` are all different."""
        ordered = np.sort(codes, axis=-1)
        return np.asarray((ordered[..., 1:] != ordered[..., :-1]).all(axis=-1))

    def automata(self, cards: Sequence[int]) -> tuple[Automaton, ...]:
        """For each code, whether it was seen; a second time is never accepted."""
        return tuple(Automaton(np.zeros(2), partial(_once, code)) for code in range(max(cards)))

    def reduced(self, codes: Sequence[int], rest: int) -> Rest:
        """The same of the others, which have none of these codes."""
        return Rest(self, tuple(codes), is_possible=len(set(codes)) == len(codes))


@dataclass(frozen=True, slots=True)
class RobustPotts(_Weighted):
    r"""$\log \phi(\mathbf x) = w \max(0, 1 - d(\mathbf x) / L)$: a positive weight favors equal states of a group.

    $d$ is the number of variables whose state is not the most frequent one. With $L = 1$, all must be equal: the
    $P^n$ Potts potential, which for pairs is `Potts`. A larger limit forgives some exceptions; it is at most half the
    number of variables, so that no two states are frequent enough at once.

    Reference: Kohli, Ladicky & Torr (2009).
    Guarantee: exact, no table.
    Tested by: factors/test_potentials.py::test_tables_and_values_follow_the_formula

    >>> RobustPotts(3.0, limit=2).log_values(np.array([[1, 1, 1, 1], [1, 0, 1, 1], [0, 0, 1, 1]])).tolist()
    [3.0, 1.5, 0.0]
    """

    limit: float = 1.0

    def __post_init__(self) -> None:
        _Weighted.__post_init__(self)
        if not (math.isfinite(self.limit) and self.limit > 0):
            raise ModelError(f"RobustPotts needs a finite limit > 0; found {self.limit!r}.")

    def check(self, cards: Sequence[int]) -> None:
        """Raise unless there are enough variables for the limit, with the same number of states."""
        if len(cards) < max(2.0, 2.0 * self.limit) or len(set(cards)) != 1:
            raise ModelError(
                f"{self!r} is a function of {math.ceil(max(2.0, 2.0 * self.limit))} or more variables with equally "
                f"many states; found {_shape(cards)}."
            )

    def log_values(self, codes: AnyInts) -> Floats:
        r"""$w \max(0, 1 - d / L)$ at codes `[..., arity]`."""
        ordered = np.sort(codes, axis=-1)
        most, run = np.ones(ordered.shape[:-1]), np.ones(ordered.shape[:-1])
        for i in range(1, ordered.shape[-1]):
            run = np.where(ordered[..., i] == ordered[..., i - 1], run + 1.0, 1.0)
            most = np.maximum(most, run)
        return np.asarray(self.weight * np.maximum(0.0, 1.0 - (ordered.shape[-1] - most) / self.limit))

    def automata(self, cards: Sequence[int]) -> tuple[Automaton, ...]:
        """For each state the number of variables that have another one, up to the limit."""
        most = math.ceil(self.limit)
        ends = self.weight * np.maximum(0.0, 1.0 - np.arange(most + 1) / self.limit)
        return tuple(Automaton(ends, partial(_others, code, most)) for code in range(max(cards)))


def _others(code: int, most: int, seen: AnyInts, codes: AnyInts) -> AnyInts:
    """How many codes are not the given one, up to a number."""
    return np.asarray(np.minimum(seen + (codes != code), most))


@dataclass(frozen=True, slots=True)
class Cardinality(Potential):
    r"""$\log \phi(\mathbf x) = f\bigl(\sum_i x_i\bigr)$ over binary variables: a function of how many are one.

    Args:
        log_numbers: $f(0), \dots, f(n)$, finite or $-\infty$.

    Reference: Gupta, Diwan & Sarawagi (2007).
    Guarantee: exact, no table.
    Tested by: factors/test_potentials.py::test_tables_and_values_follow_the_formula

    >>> Cardinality((0.0, 1.0, 0.5)).log_table((2, 2)).tolist()
    [[0.0, 1.0], [1.0, 0.5]]
    """

    log_numbers: tuple[float, ...]

    def __post_init__(self) -> None:
        found = np.asarray(self.log_numbers, np.float64)
        if found.ndim != 1 or len(found) < 2 or np.isnan(found).any() or (found == np.inf).any():
            raise ModelError(
                f"Cardinality takes two or more log values, none of them NaN or inf; found {self.log_numbers!r}."
            )
        fill(self, log_numbers=tuple(found.tolist()))

    def check(self, cards: Sequence[int]) -> None:
        """Raise unless there is one log value for each number of ones."""
        arity = len(self.log_numbers) - 1
        if any(card != 2 for card in cards) or len(cards) != arity:
            raise ModelError(
                f"Cardinality with {arity + 1} log values is a function of {arity} binary variables; "
                f"found {_shape(cards)}."
            )

    def log_values(self, codes: AnyInts) -> Floats:
        r"""$f$ at the sum of codes `[..., arity]`."""
        return np.asarray(np.array(self.log_numbers)[np.asarray(codes, np.int64).sum(axis=-1)])

    def automata(self, cards: Sequence[int]) -> tuple[Automaton, ...]:
        """The running sum."""
        return (Automaton(np.array(self.log_numbers), partial(_sum, len(self.log_numbers) - 1)),)

    def reduced(self, codes: Sequence[int], rest: int) -> Rest:
        """The function of how many others are one."""
        return Rest(Cardinality(self.log_numbers[sum(codes) : sum(codes) + rest + 1]))

    def power(self, exponent: float) -> Potential | None:
        """The log values times the exponent; None for a negative power of zero."""
        found = np.array(self.log_numbers) * exponent
        return None if (found == np.inf).any() else Cardinality(tuple(found.tolist()))


def _sum(most: int, seen: AnyInts, codes: AnyInts) -> AnyInts:
    """The sum, up to a number."""
    return np.asarray(np.minimum(seen + codes, most))


def _once(code: int, seen: AnyInts, codes: AnyInts) -> AnyInts:
    """Whether a code was seen, from before and now; -1 if twice."""
    here = codes == code
    return np.where(here, np.where(seen > 0, -1, 1), seen)


def _distance(codes: AnyInts) -> Floats:
    first, second = _pair(codes)
    return np.abs(first.astype(np.float64) - second)


def _shape(cards: Sequence[int]) -> str:
    shown = ", ".join(map(str, cards[:6])) + (", ..." if len(cards) > 6 else "")
    return f"{len(cards)} with ({shown}) states"


def _finite(potential: Potential, **numbers: float) -> None:
    for name, number in numbers.items():
        if not math.isfinite(number):
            raise ModelError(f"{type(potential).__name__} needs a finite {name}; found {number!r}.")


def _limit(potential: Potential, limit: float) -> None:
    if not limit >= 0:
        raise ModelError(f"{type(potential).__name__} needs a limit >= 0; found {limit!r}.")


def _pair(codes: AnyInts) -> tuple[AnyInts, AnyInts]:
    """The two columns of codes."""
    if codes.shape[-1] != 2:
        raise StateError(f"Codes of two variables have two columns; found {codes.shape[-1]}.")
    return codes[..., 0], codes[..., 1]
