r"""Chains of auxiliary variables: running sums of terms, and running states of potentials.

$$a_i = f_i(a_{i-1}, x_i)$$

Each auxiliary is a function of the one before and of one variable, so that functions of hundreds of variables need only
factors of three.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.lazy import lazy
from sepset.factors.algebra import Factor
from sepset.factors.block import FactorBlock
from sepset.factors.decomposition import Decomposition, defined_last
from sepset.factors.potentials import Automaton
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.variables.variable import Discrete

PRICE = 4
"""The factor by which a chain must be smaller than a table to be chosen, since it adds auxiliary variables."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of variables; those that have no place in it come last, by name.

    Chains of different functions along one line run side by side through the variables that they share, so that
    eliminating these in this order keeps one auxiliary of each chain open, whatever the number of variables.

    Attributes:
        places: of the variables, each a different one.
        choices: the children whose contexts become the choice of one rather than gates.

    >>> causes = [Discrete("cause 10"), Discrete("cause 9"), Discrete("age")]
    >>> Line().order(causes), Line({"cause 9": 0, "age": 1}).order(causes)
    ([2, 1, 0], [1, 2, 0])
    """

    places: Mapping[str, int] = field(default_factory=dict)
    choices: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.places) or bool(self.choices)

    def order(self, variables: Sequence[Discrete]) -> list[int]:
        """The positions of some variables along the line."""
        names = [v.name for v in variables]
        keys: list[Any] = [self.places.get(name, -1) for name in names]
        if -1 in keys:
            last = len(self.places)
            keys = [(last if place < 0 else place, by_name(name)) for place, name in zip(keys, names, strict=True)]
        return sorted(range(len(keys)), key=keys.__getitem__)


class LatePlaces(Mapping[str, int]):
    """Places of variables in a line that is looked for when one of them is read.

    Args:
        find: finds them; there are some.
    """

    def __init__(self, find: Callable[[], Mapping[str, int]]) -> None:
        self._find = find

    @lazy
    def _found(self) -> Mapping[str, int]:
        return self._find()

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, name: str) -> int:
        return self._found[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The place of a name."""
        return self._found.get(name, default)

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def __reduce__(self) -> tuple[object, ...]:
        return dict, (dict(self._found),)


BY_NAME = Line()
"""The line of functions that belong to no model: by name, numbers in it by size."""


@functools.lru_cache(maxsize=2**16)  # a name is in many chains
def by_name(name: str) -> str:
    """The key that sorts names: texts and numbers in turn, numbers by their length first, however long.

    It is one text, which sorts faster than tuples. A number begins with the character 0 and one for its length; the
    name itself follows after two of them, and another one in a text is marked so that it is larger than both.

    >>> sorted(["cause 10", "cause 9", "age"], key=by_name)
    ['age', 'cause 9', 'cause 10']
    """
    head = name.rstrip("0123456789")
    if head.isalpha() and len(head) < len(name):  # as most are
        tail = name[len(head) :].lstrip("0")
        return f"{head}\0{chr(len(tail) + 1)}{tail}\0\0{name}"
    parts = [
        _as_number(part) if i % 2 else part.replace("\0", "\0\U0010ffff") for i, part in enumerate(_DIGITS.split(name))
    ]
    return "".join((*parts, "\0\0", name))


def _as_number(digits: str) -> str:
    significant = digits.lstrip("0")
    return f"\0{chr(len(significant) + 1)}{significant}"


_DIGITS = re.compile(r"([0-9]+)")


@dataclass(frozen=True, slots=True, eq=False)
class RunningSums:
    r"""The distinct partial sums $s_i = s_{i-1} + t_i(u_i)$ of terms that each depend on one variable.

    Sums repeat where terms do: $n$ binary variables with equal terms have $n + 1$ of them.

    Attributes:
        levels: for each variable but the last the distinct sums up to it, one row each.
        steps: which of them each pair of an earlier sum and a state leads to, in C order.

    >>> sums = RunningSums.of(np.zeros(1), [np.array([[0.0], [0.5]])] * 3, most=100)
    >>> [len(levels) for levels in sums.levels]
    [2, 3]
    """

    levels: tuple[Floats, ...]
    steps: tuple[Ints, ...]

    @classmethod
    def of(cls, start: Floats, terms: Sequence[Floats], *, most: int, is_relative: bool = False) -> RunningSums | None:
        """The partial sums of terms `[states, numbers]`; None if some place has more than `most` of them.

        Sums that differ by less than 1e-12 are equal up to rounding; for terms of one sign, relative to sums below one.
        """
        levels, found, steps = start[None, :], [], []
        for term in terms[:-1]:
            joint = (levels[:, None, :] + term[None]).reshape(len(levels) * len(term), -1)
            keys = (_rounded(joint) if is_relative else np.round(joint, 12)) + 0.0
            # Single numbers sort faster than rows.
            flat, axis = (keys[:, 0], None) if keys.shape[1] == 1 else (keys, 0)
            _, first, which = np.unique(flat, axis=axis, return_index=True, return_inverse=True)
            if len(first) > most:
                return None
            levels = joint[first]
            found.append(levels)
            steps.append(which.reshape(-1))
        return cls(tuple(found), tuple(steps))

    def chain(
        self,
        child: Discrete,
        parents: Sequence[Discrete],
        last: Callable[[Floats], Floats],
        *,
        is_log: bool = False,
    ) -> Decomposition:
        """The sums as auxiliaries of a child, each a function of the one before and a parent.

        Args:
            parents: one for each term.
            last: from sums before the last parent to the values `[sums, states of the last parent, child's states]`.
            is_log: whether these are logarithms.
        """
        ends = tuple(child.hidden(f"sum {i + 1}", len(levels)) for i, levels in enumerate(self.levels))
        factors: list[Factor] = []
        for i, (end, step) in enumerate(zip(ends, self.steps, strict=True)):
            before = () if i == 0 else (ends[i - 1],)
            codes = np.indices([v.num_states for v in (*before, parents[i])]).reshape(len(before) + 1, -1).T
            rows = np.column_stack([codes, step])
            factors.append(SparseTable((*before, parents[i], end), rows, values=np.ones(len(rows))))
        functions = defined_last(factors, ends)
        scope, values = (ends[-1], parents[-1], child), last(self.levels[-1])
        final = Table.from_log(scope, values) if is_log else Table(scope, values)
        return Decomposition((*factors, final), ends, functions)

    def entries(self, parents: Sequence[Discrete]) -> int:
        """The entries of the chain's tables but the last."""
        counts = [1, *map(len, self.levels)]
        return sum(a * p.num_states * b for a, p, b in zip(counts, parents, counts[1:], strict=False))


def have_many_sums(terms: Sequence[Floats], most: int) -> bool:
    """Whether there are certainly more than `most` partial sums of single numbers, in whatever order they are added.

    >>> have_many_sums([np.array([[0.0], [2.0**i]]) for i in range(5)], 8)
    True
    """
    sums, most = np.zeros(1), most * max((len(term) for term in terms), default=1)  # the last term is in no partial sum
    for term in terms if terms and terms[0].shape[1] == 1 else ():
        sums = (sums[:, None] + term[:, 0]).reshape(-1)
        if len(sums) > most:
            known = np.sort(sums[np.isfinite(sums)])
            return bool((np.diff(known) > 1e-10 * (1.0 + np.abs(known[1:]))).sum() >= most)
    return False


def _rounded(sums: Floats) -> Floats:
    """Numbers with twelve digits after the point, or as many that are not zero."""
    mantissa, exponent = np.frexp(np.where(np.isfinite(sums), sums, 0.0))
    return np.where(np.abs(sums) < 1.0, np.ldexp(np.round(mantissa, 12), exponent), np.round(sums, 12))


@dataclass(frozen=True, slots=True, eq=False)
class Chains:
    """A block of equal potentials as chains of running states: blocks of three variables instead of one of many.

    Attributes:
        blocks: the factors, with positions of auxiliaries after all others.
        auxiliaries: the running states.
        functions: the positions that each auxiliary's position is a function of.
    """

    blocks: tuple[FactorBlock, ...]
    auxiliaries: tuple[Discrete, ...]
    functions: Mapping[int, tuple[int, ...]]


def is_chained(block: FactorBlock) -> bool:
    """Whether chains of running states are much smaller than the tables of a block.

    >>> from sepset.factors.potentials import Parity
    >>> [is_chained(FactorBlock([range(n)], (2,) * n, values=Parity())) for n in (4, 8)]
    [False, True]
    """
    if block.potential is None or not len(block) or block.arity < 3:
        return False
    automata = block.potential.automata(block.cards)
    if not automata:
        return False
    states = math.prod(len(automaton.ends) for automaton in automata)
    return PRICE * 2 * states * len(automata) * sum(block.cards) <= math.prod(block.cards)


def _along(line: Ints, block: FactorBlock, automata: Sequence[Automaton]) -> Ints:
    """The scopes of a block, each along the line if the order of its variables makes no difference."""
    scopes, card = np.asarray(block.scopes, np.int64), block.cards[0]
    if set(block.cards) != {card} or not all(automaton.is_symmetric(card) for automaton in automata):
        return scopes
    return np.take_along_axis(scopes, np.argsort(line[scopes], axis=1, kind="stable"), axis=1)


def chained(
    block: FactorBlock, number: int, owners: Sequence[Discrete], first: int, line: Ints | None = None
) -> Chains:
    """The chains of a block.

    Args:
        block: of a potential that has automata.
        number: the block's number among those of its model, for the names of auxiliaries.
        owners: the first variable of each factor, which its auxiliaries are named after.
        first: the position of the first auxiliary.
        line: the place of each variable in a line, along which chains run; by default as the scopes are written.
    """
    assert block.potential is not None  # it has automata
    automata = block.potential.automata(block.cards)
    scopes = np.asarray(block.scopes, np.int64) if line is None else _along(line, block, automata)
    places = itertools.count(first)
    blocks: list[FactorBlock] = []
    hidden: list[Discrete] = []
    functions: dict[int, tuple[int, ...]] = {}
    for which, automaton in enumerate(automata):
        states: list[list[int]] = []
        for row, owner in enumerate(owners):
            names = (f"state {number}.{row}.{which}.{i}" for i in range(1, block.arity - 1))
            made = [owner.hidden(name, len(automaton.ends)) for name in names]
            hidden += made
            states.append([next(places) for _ in made])
        ends = np.array(states, np.int64).reshape(len(scopes), -1)
        blocks += _links(automaton, scopes, ends, block.cards)
        functions.update(_inputs(scopes, ends))
    return Chains(tuple(blocks), tuple(hidden), functions)


def _links(automaton: Automaton, scopes: Ints, ends: Ints, cards: Sequence[int]) -> Iterator[FactorBlock]:
    """The factors (first two variables, state), then (state, variable, next state), then (state, last variable)."""
    count = len(automaton.ends)
    start = automaton.moves(cards[0])
    first = np.einsum("xs,syt->xyt", start[0], automaton.moves(cards[1]))
    yield FactorBlock(np.column_stack([scopes[:, :2], ends[:, :1]]), (cards[0], cards[1], count), values=first)
    for i in range(2, len(cards) - 1):
        links = np.column_stack([ends[:, i - 2], scopes[:, i], ends[:, i - 1]])
        yield FactorBlock(links, (count, cards[i], count), values=automaton.moves(cards[i]))
    last = np.where(automaton.moves(cards[-1]) > 0.0, automaton.ends, -np.inf).max(axis=-1)
    yield FactorBlock(np.column_stack([ends[:, -1], scopes[:, -1]]), (count, cards[-1]), values=last, space="log")


def _inputs(scopes: Ints, ends: Ints) -> Iterator[tuple[int, tuple[int, ...]]]:
    for scope, states in zip(scopes.tolist(), ends.tolist(), strict=True):
        yield states[0], (scope[0], scope[1])
        for i in range(1, len(states)):
            yield states[i], (states[i - 1], scope[i + 1])
