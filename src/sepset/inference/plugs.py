r"""The factors of a discrete problem, reduced by evidence, as flat arrays.

Blocks are flattened as wholes. Factors of one variable are added up, and tables of two that only tell equal from
unequal states become weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import AnyInts, Bools, Bytes, Floats, Ints
from sepset.base.cache import Slot
from sepset.base.frozen import read_only
from sepset.base.logarithms import LN2
from sepset.base.memory import uncollected
from sepset.base.text import listing
from sepset.errors import NotApplicable
from sepset.factors.algebra import Factor, Scope
from sepset.factors.block import FactorBlock, Single
from sepset.factors.potentials import (
    AtLeastOne,
    Cardinality,
    Ising,
    Parity,
    Potential,
    Potts,
    RobustPotts,
    TruncatedLinear,
    TruncatedQuadratic,
)
from sepset.factors.table import Table
from sepset.inference.method import dense
from sepset.kernels.propagation.wires import (
    AT_LEAST_ONE,
    COUNT,
    GROUP,
    LINEAR,
    PARITY,
    POTTS,
    QUADRATIC,
    TABLE,
)
from sepset.problem import Block, Problem
from sepset.variables.evidence import Evidence
from sepset.variables.universe import Universe

CHUNK = 2**14
"""The number of tables that are looked at together."""

Shape = tuple[int, ...]
"""The number of states on each axis of a table."""

NUMBERED = (TABLE, GROUP, COUNT)
"""The kinds with numbers among the tables."""

TABLES = Slot["tuple[tuple[Part, ...], tuple[int, ...]]"]("the log values of single tables")
"""Where a problem keeps its single tables as parts, and the places of its other blocks."""


class Named(NamedTuple):
    """A named potential as the kernels know it: its kind, its weight and limit, and a constant to add."""

    kind: int
    weight: float = 0.0
    limit: float = math.inf
    constant: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Factors of one shape.

    Attributes:
        scopes: the positions of their variables, one row per factor.
        numbers: their numbers in the problem; -1 for evidence.
        logs: log tables `[n or 1, size]`, or the numbers of groups and counts; a constant for other named kinds.
        kind: the kind of the factors.
        weights, limits: one number per factor of a named kind.
    """

    scopes: AnyInts
    numbers: Ints
    logs: Floats
    kind: int = TABLE
    weights: Floats = field(default_factory=lambda: np.zeros(0))
    limits: Floats = field(default_factory=lambda: np.zeros(0))

    def rows(self, chosen: Bools) -> Part:
        """Some of the factors."""
        shared = self.kind not in NUMBERED or len(self.logs) == 1
        return Part(
            self.scopes[chosen],
            self.numbers[chosen],
            self.logs if shared else self.logs[chosen],
            self.kind,
            self.weights if self.kind == TABLE else self.weights[chosen],
            self.limits if self.kind == TABLE else self.limits[chosen],
        )


class Plugs(NamedTuple):
    """The first fields of `Wires`, in one direction: from factors to variables."""

    cards: Ints
    states: Ints
    starts: Ints
    scope: Ints
    kinds: Bytes
    places: Ints
    tables: Floats
    weights: Floats
    limits: Floats


def named_values(kind: int, weight: Any, limit: Any, codes: AnyInts) -> Floats:
    """The log values of a named kind at codes `[arity, ...]`."""
    if kind == POTTS:
        return np.where(codes[0] == codes[1], weight, 0.0)
    if kind in (LINEAR, QUADRATIC):
        distance = np.abs(codes[0] - codes[1]).astype(np.float64)
        return np.asarray(0.0 - weight * np.minimum(distance**2 if kind == QUADRATIC else distance, limit))
    total = codes.sum(axis=0)
    return np.where(total % 2 == weight if kind == PARITY else total > 0, 0.0, -np.inf)


def numbered_values(kind: int, numbers: Floats, weights: Floats, limits: Floats, codes: AnyInts) -> Floats:
    """The log values `[factors, columns]` of groups or counts at codes `[arity, columns]`."""
    if kind == COUNT:
        return numbers[:, codes.sum(axis=0)]
    states = np.arange(numbers.shape[1])
    same = numbers[:, :, None] + (codes[:, None] == states[:, None]).sum(axis=0)
    differ = len(codes) + numbers.sum(axis=1)[:, None] - same.max(axis=1)
    return np.asarray(weights[:, None] * np.maximum(0.0, 1.0 - differ / limits[:, None]))


def require_discrete(problem: Problem, evidence: Evidence) -> None:
    """Raise if a continuous variable is not observed."""
    open_reals = np.flatnonzero(problem.variables.cards == 0)
    names = [problem.variables[int(v)].name for v in open_reals if int(v) not in evidence.reals]
    if names:
        raise NotApplicable(
            "Message passing and search take discrete variables; continuous and not observed: "
            f"{listing(names)}. Use CliqueTree(), or observe them."
        )


def logarithms(values: Floats) -> Floats:
    """The logarithms, -inf for zero."""
    with np.errstate(divide="ignore"):
        return np.log(values)


def parts_of(problem: Problem, evidence: Evidence) -> Iterator[Part]:
    """The factors of all blocks; single tables of one shape are together, as in a block."""
    cards, parts = problem.variables.cards, dict[Shape, list[Part]]()
    with uncollected():
        tables, rest = problem.kept.get(TABLES, lambda: _tables_of(problem))
    for place in rest:
        part = part_of(problem.blocks[place], problem, evidence, int(problem.offsets[place]))
        if part.kind == TABLE and len(part.scopes) == 1:
            parts.setdefault(tuple(cards[part.scopes[0]].tolist()), []).append(part)
        else:
            yield part
    yield from tables
    for alike in parts.values():
        rows = np.concatenate([part.scopes for part in alike])
        yield Part(rows, np.concatenate([p.numbers for p in alike]), np.concatenate([p.logs for p in alike]))


def _tables_of(problem: Problem) -> tuple[tuple[Part, ...], tuple[int, ...]]:
    """The single tables of a problem, those of one shape together, and the places of all other blocks."""
    blocks: Sequence[Any] = problem.blocks
    is_table = np.array([type(block) is Single and type(block.value) is Table for block in blocks], bool)
    singles, rest = np.flatnonzero(is_table).tolist(), np.flatnonzero(~is_table).tolist()
    tables, firsts = dict[Shape, list[Table]](), dict[Shape, list[int]]()
    for place, first, shape, scope in _scopes_of(problem, singles):
        table = blocks[place].value
        if scope != table.scope:
            blocks[place].factor(0, problem.variables)  # which says what differs
        tables.setdefault(shape, []).append(table)
        firsts.setdefault(shape, []).append(first)
    starts, places = problem.scopes
    numbers = {shape: np.array(each) for shape, each in firsts.items()}
    scopes = [places[starts[each][:, None] + np.arange(len(shape))] for shape, each in numbers.items()]
    logs = [read_only(_log_rows(each)) for each in tables.values()]
    return tuple(Part(*part) for part in zip(scopes, numbers.values(), logs, strict=True)), tuple(rest)


def _scopes_of(problem: Problem, singles: Sequence[int]) -> Iterator[tuple[int, int, Shape, Scope]]:
    """Of single factors the place, the number, the numbers of states and the variables: those of no other block."""
    starts, places = problem.scopes
    firsts = problem.offsets[singles]
    begins, sizes = starts[firsts], starts[firsts + 1] - starts[firsts]
    ends = sizes.cumsum()
    members = places[np.arange(sizes.sum()) + np.repeat(begins - ends + sizes, sizes)]
    parts = problem.variables.parts
    variables: Any = parts if len(parts) == len(problem.variables) else problem.variables  # which takes longer
    own, cards = [variables[v] for v in members.tolist()], problem.variables.cards[members].tolist()
    for place, first, begin, end in zip(singles, firsts.tolist(), (ends - sizes).tolist(), ends.tolist(), strict=True):
        yield place, first, tuple(cards[begin:end]), tuple(own[begin:end])


def _log_rows(tables: Sequence[Any]) -> Floats:
    """The logarithms of tables of one size, one row each."""
    rows = np.concatenate([table.flat for table in tables]).reshape(len(tables), -1)
    is_linear = np.array([table.space == "linear" for table in tables])
    exponents = np.array([table.exponent for table in tables])
    rows[is_linear] = logarithms(rows[is_linear]) + (exponents[is_linear] * LN2)[:, None]
    return rows


def part_of(block: Block, problem: Problem, evidence: Evidence, first: int) -> Part:
    """The factors of a block."""
    numbers = np.arange(first, first + len(block))
    if not isinstance(block, FactorBlock):
        return _single(block.factor(0, problem.variables), problem, evidence, numbers)
    if block.potential is None:
        assert block.values is not None  # a block without a potential has values
        return Part(block.scopes, numbers, block.values if block.space == "log" else logarithms(block.values))
    if isinstance(block.potential, Cardinality):
        return Part(block.scopes, numbers, np.array([block.potential.log_numbers]), COUNT, *np.zeros((2, len(block))))
    if isinstance(block.potential, RobustPotts):
        each = np.full(len(block), block.potential.weight), np.full(len(block), block.potential.limit)
        return Part(block.scopes, numbers, np.zeros((1, block.cards[0])), GROUP, *each)
    named = _named(block.potential)
    if named is None:
        return Part(block.scopes, numbers, block.potential.log_table(block.cards).reshape(1, -1))
    each = np.full(len(block), named.weight), np.full(len(block), named.limit)
    return Part(block.scopes, numbers, np.full((1, 1), named.constant), named.kind, *each)


def _single(factor: Factor, problem: Problem, evidence: Evidence, numbers: Ints) -> Part:
    """One factor, at the observed values of its continuous variables."""
    if evidence.reals and any(not v.is_discrete for v in factor.scope):
        at = {v: problem.variables.id(v) for v in factor.scope if not v.is_discrete}
        factor = factor.condition({v: evidence.reals[place] for v, place in at.items()})
    table = dense(factor)
    if not isinstance(table, Table):
        raise NotApplicable(f"Wired models have discrete factors; found {factor!r}. Use CliqueTree().")
    scope = [problem.variables.id(v) for v in table.scope]
    return Part(np.array([scope], np.int64).reshape(1, -1), numbers, np.asarray(table.log_values).reshape(1, -1))


def _named(potential: Potential) -> Named | None:
    """A potential as the kernels know it; None if they need its table."""
    if isinstance(potential, Potts):
        return Named(POTTS, potential.weight)
    if isinstance(potential, Ising):
        return Named(POTTS, 2.0 * potential.weight, constant=-potential.weight)
    if isinstance(potential, TruncatedLinear):
        return Named(LINEAR, potential.weight, potential.limit)
    if isinstance(potential, TruncatedQuadratic):
        return Named(QUADRATIC, potential.weight, potential.limit)
    if isinstance(potential, Parity):
        return Named(PARITY)
    return Named(AT_LEAST_ONE) if isinstance(potential, AtLeastOne) else None


class PlugBuilder:
    """Collects the parts of a wiring."""

    def __init__(self, variables: Universe, evidence: Evidence) -> None:
        cards = variables.cards
        self.cards = cards
        self.known = np.full(len(cards), -1, np.int64)
        self.known[list(evidence.codes)] = list(evidence.codes.values())
        self.is_free = (self.known < 0) & (cards > 0)
        self.all_free = bool(self.is_free.all())
        self.free = np.flatnonzero(self.is_free)
        self.place = np.cumsum(self.is_free) - 1
        self.states = np.concatenate([[0], np.cumsum(cards[self.free])]).astype(np.int64)
        self.unary = np.zeros(int(self.states[-1]))
        self.constant = 0.0
        self.parts: list[Part] = []

    def add(self, part: Part) -> None:
        """Add factors at the observed states of their variables."""
        if part.kind not in NUMBERED and part.logs[0, 0]:
            self.constant += len(part.scopes) * float(part.logs[0, 0])
        if self.all_free:
            self._put(part)
            return
        fixed = ~self.is_free[part.scopes]
        patterns, which = np.unique(fixed, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            chosen = part.rows(which.reshape(-1) == number)
            self._put(self._reduced(chosen, pattern) if pattern.any() else chosen)

    def _reduced(self, part: Part, fixed: Bools) -> Part:
        """Factors at the states of the variables on some of their axes."""
        rest, codes = part.scopes[:, ~fixed], self.known[part.scopes[:, fixed]]
        if part.kind == TABLE:
            shape = self.cards[part.scopes[0]].tolist()
            axes = [*np.flatnonzero(fixed).tolist(), *np.flatnonzero(~fixed).tolist()]
            tables = part.logs.reshape(-1, *shape).transpose(0, *(a + 1 for a in axes))
            rows = np.arange(len(codes)) if len(tables) > 1 else np.zeros(len(codes), np.int64)
            return Part(rest, part.numbers, tables[(rows, *codes.T)].reshape(len(codes), -1))
        if part.kind == PARITY:
            return replace(part, scopes=rest, weights=(part.weights + codes.sum(axis=1)) % 2)
        if part.kind == AT_LEAST_ONE:
            return replace(part, scopes=rest).rows(codes.sum(axis=1) == 0)
        each = np.broadcast_to(part.logs, (len(codes), part.logs.shape[1]))
        if part.kind == COUNT:
            sums = codes.sum(axis=1)[:, None] + np.arange(rest.shape[1] + 1)
            return replace(part, scopes=rest, logs=np.take_along_axis(each, sums, axis=1))
        if part.kind == GROUP:
            return replace(part, scopes=rest, logs=each + (codes[:, :, None] == np.arange(each.shape[1])).sum(axis=1))
        grid = np.arange(int(self.cards[part.scopes[0, 0]])) if rest.shape[1] else np.zeros(1, np.int64)
        first, second = (codes[:, :1], grid[None]) if rest.shape[1] else (codes[:, :1], codes[:, 1:])
        both = np.stack(np.broadcast_arrays(first, second))
        return Part(rest, part.numbers, named_values(part.kind, part.weights[:, None], part.limits[:, None], both))

    def _put(self, part: Part) -> None:
        """Keep factors over unobserved variables: added up if they have at most one."""
        arity = part.scopes.shape[1]
        if not len(part.scopes):
            return
        if part.kind >= PARITY and arity <= 2:
            part = Part(part.scopes, part.numbers, _small(part, self.cards[part.scopes[0]].tolist()))
        if arity > 1:
            parts, constant = _weighted(part, self.cards)
            self.parts += parts
            self.constant += constant
            return
        logs = part.logs
        if not arity:
            self.constant += float(np.broadcast_to(logs, (len(part.scopes), 1)).sum())
            return
        places = self._places(part.scopes[:, 0])
        if len(places) == len(self.free) and logs.shape[1] * len(places) == len(self.unary) and _is_count(places):
            self.unary.reshape(len(places), -1)[:] += logs
            return
        np.add.at(self.unary, self.states[places][:, None] + np.arange(logs.shape[1]), logs)

    def _places(self, positions: AnyInts) -> AnyInts:
        """The numbers of unobserved variables among themselves."""
        return positions if self.all_free else self.place[positions]

    def finish(self) -> tuple[Ints, Ints, Plugs, Floats, float]:
        """The unobserved variables, the numbers of factors, the factors, log values of single variables, a constant."""
        parts, cards = self.parts, self.cards[self.free].astype(np.int64)
        counts = [len(p.scopes) for p in parts]
        lengths = [p.logs.size if p.kind in NUMBERED else 0 for p in parts]
        places = [_places(p, at) for p, at in zip(parts, starts_of(lengths).tolist(), strict=False)]
        plugs = Plugs(
            cards,
            self.states,
            starts_of(np.repeat([p.scopes.shape[1] for p in parts], counts)),
            _joined([self._places(p.scopes).reshape(-1) for p in parts]),
            np.repeat([p.kind for p in parts], counts).astype(np.uint8),
            _joined(places),
            _joined([p.logs.reshape(-1) for p in parts if p.kind in NUMBERED], np.float64),
            _joined([_numbers(p, p.weights) for p in parts], np.float64),
            _joined([_numbers(p, p.limits) for p in parts], np.float64),
        )
        numbers, plugs = _in_order(_joined([p.numbers for p in parts]), plugs)
        for array in plugs:
            read_only(array)
        return self.free, numbers, plugs, read_only(self.unary), self.constant


def _small(part: Part, shape: list[int]) -> Floats:
    """The log tables of factors of a named kind over at most two variables."""
    codes = np.indices(shape).reshape(len(shape), math.prod(shape))
    if part.kind >= GROUP:
        return numbered_values(
            part.kind,
            np.broadcast_to(part.logs, (len(part.scopes), part.logs.shape[1])),
            part.weights,
            part.limits,
            codes,
        )
    return named_values(part.kind, part.weights[:, None], 0.0, codes[:, None])


def _is_count(numbers: AnyInts) -> bool:
    """Whether they are 0, 1, 2, ... in order."""
    return bool((numbers == np.arange(len(numbers))).all())


def _joined(arrays: list[Any], dtype: Any = np.int64) -> Any:
    if len(arrays) == 1:
        return arrays[0].astype(dtype, copy=False)
    return np.concatenate(arrays).astype(dtype, copy=False) if arrays else np.zeros(0, dtype)


def starts_of(sizes: Any) -> Ints:
    """Where each of several pieces starts, and the length of all."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _numbers(part: Part, numbers: Floats) -> Floats:
    return np.zeros(len(part.scopes)) if part.kind == TABLE else numbers


def _places(part: Part, start: int) -> Ints:
    """Where the numbers of each factor start."""
    if part.kind not in NUMBERED:
        return np.full(len(part.scopes), -1)
    step = part.logs.shape[1] if len(part.logs) > 1 else 0
    return start + step * np.arange(len(part.scopes))


def _in_order(numbers: Ints, plugs: Plugs) -> tuple[Ints, Plugs]:
    """The factors in the order of their numbers in the problem, whatever parts they came in."""
    if (numbers[1:] >= numbers[:-1]).all():
        return numbers, plugs
    order = np.argsort(numbers, kind="stable")
    arities = np.diff(plugs.starts)[order]
    starts = starts_of(arities)
    slots = np.repeat(plugs.starts[:-1][order] - starts[:-1], arities) + np.arange(starts[-1])
    each = {name: getattr(plugs, name)[order] for name in ("kinds", "places", "weights", "limits")}
    return numbers[order], plugs._replace(starts=starts, scope=plugs.scope[slots], **each)


def _weighted(part: Part, cards: Ints) -> tuple[list[Part], float]:
    """Those tables of two variables that only tell equal from unequal states as weights and a constant; the rest."""
    shape = cards[part.scopes[0]].tolist()
    if part.kind != TABLE or len(shape) != 2 or shape[0] != shape[1] or shape[0] < 2:
        return [part], 0.0
    is_weight = _tells_equal(part.logs, shape[0])
    if not is_weight.any():
        return [part], 0.0
    if is_weight.all():
        rest, found = [], part
    else:
        rest, found = [part.rows(~is_weight)], part.rows(is_weight)
    num = len(found.scopes)
    each = np.broadcast_to(found.logs[:, :2], (num, 2))
    weights, limits = each[:, 0] - each[:, 1], np.full(num, np.inf)
    made = Part(found.scopes, found.numbers, np.zeros((1, 1)), POTTS, weights, limits)
    return [*rest, made], float(each[:, 1].sum())


def _tells_equal(logs: Floats, states: int) -> Bools:
    """Which tables over two variables have one finite number for equal and one for unequal states."""
    equal = np.eye(states, dtype=bool).reshape(-1)
    found = (logs[:, 0] == logs[:, -1]) & (logs[:, 1] == logs[:, states]) & np.isfinite(logs[:, :2]).all(axis=1)
    places = np.flatnonzero(found)
    for first in range(0, len(places), CHUNK):
        rows = places[first : first + CHUNK]
        some = logs[rows]
        same = (some[:, equal] == some[:, :1]).all(axis=1) & (some[:, ~equal] == some[:, 1:2]).all(axis=1)
        found[rows] = same
    return np.asarray(found)
