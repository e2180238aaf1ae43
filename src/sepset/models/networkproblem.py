"""The problem of a network: which conditional has which factors, over which variables; those of chains are made later.

A network of ten thousand noisy-ors has half a million links, which a question that is too large never reads.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, overload

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.frozen import fill, read_only
from sepset.cpds.cpd import CPD
from sepset.cpds.discrete import ChainedCPD
from sepset.factors.block import single_blocks
from sepset.factors.decomposition import Decomposition
from sepset.problem import Block, ConditionalGroup, Deferred, Form, Problem, filled_form
from sepset.variables.universe import ExtendedUniverse, Universe


def network_problem(variables: Universe, cpds: Sequence[CPD]) -> Problem:
    """The problem of the CPDs of these variables, in their order.

    Guarantee: exact.
    Tested by: models/test_networkproblem.py::test_problem_is_that_of_factors_made_at_once
    """
    levels = [cpd.num_levels if isinstance(cpd, ChainedCPD) else 0 for cpd in cpds]
    parts = [None if level else cpd.decomposition() for cpd, level in zip(cpds, levels, strict=True)]
    is_whole = [_is_whole(part, cpd) for cpd, part in zip(cpds, parts, strict=True)]
    if all(is_whole):
        return _of_whole_factors(variables, cpds, [part.factors[0] for part in parts if part is not None])
    outline, parents = Outline(variables, cpds), _parents(variables, cpds)
    for child, (cpd, part, level) in enumerate(zip(cpds, parts, levels, strict=True)):
        if level:
            outline.add_chain(cpd, parents[child], level)
        elif part is None or is_whole[child]:
            outline.add_whole(cpd, part, parents[child])
        else:
            outline.add_part(cpd, part, parents[child])
    return outline.problem()


def _is_whole(part: Decomposition | None, cpd: CPD) -> bool:
    """Whether the factors of a CPD are one, with its scope."""
    return part is not None and not part.auxiliaries and len(part.factors) == 1 and part.factors[0].scope == cpd.scope


def _of_whole_factors(variables: Universe, cpds: Sequence[CPD], factors: Sequence[Any]) -> Problem:
    """The problem, if each CPD is one factor over its scope."""
    start = np.zeros(len(cpds) + 1, np.int64)
    np.cumsum([len(cpd.scope) for cpd in cpds], out=start[1:])
    members = variables.found_places([v for cpd in cpds for v in cpd.scope])
    return Problem.of_conditionals(variables, factors, scopes=(start, members))


def _parents(variables: Universe, cpds: Sequence[CPD]) -> list[tuple[int, ...]]:
    """The positions of the parents of each CPD."""
    flat = variables.found_places([v for cpd in cpds for v in cpd.parents]).tolist()
    ends = itertools.accumulate((len(cpd.parents) for cpd in cpds), initial=0)
    return [tuple(flat[i:j]) for i, j in itertools.pairwise(ends)]


@dataclass(eq=False)
class Outline:
    """The scopes of all factors of a network, and who makes them; CPDs are added one after the other.

    Attributes:
        variables: of the network.
        cpds: of these variables.
        factors: for each CPD so far its factors, None if they wait for evidence, or who makes them.
        cards: the numbers of states of the auxiliaries.
        sizes: the number of variables of each factor.
        members: their positions, one factor after the other.
        ranks: the place of each variable in the lines of chains, -1 if it has none.
    """

    variables: Universe
    cpds: Sequence[CPD]
    factors: list[Decomposition | CPD | None] = field(default_factory=list)
    cards: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    members: list[int] = field(default_factory=list)
    groups: list[ConditionalGroup] = field(default_factory=list)
    forms: list[Form] = field(default_factory=list)
    functions: dict[int, tuple[int, ...]] = field(default_factory=dict)
    ranks: dict[int, list[int]] = field(default_factory=dict)

    @property
    def _num_variables(self) -> int:
        """Those so far."""
        return len(self.variables) + len(self.cards)

    def add_whole(self, cpd: CPD, part: Decomposition | None, parents: tuple[int, ...]) -> None:
        """Add a CPD that is one factor over its scope; None if that waits for evidence."""
        child = len(self.groups)
        self.members += (*parents, child)
        self.groups.append(ConditionalGroup(child, parents, (len(self.sizes),), ()))
        self.sizes.append(len(parents) + 1)
        self.factors.append(part)
        if part is None:
            self.forms.append(Form(cpd, self.groups[-1].factors, child, is_deferred=True))  # type: ignore[arg-type]

    def add_part(self, cpd: CPD, part: Decomposition, parents: tuple[int, ...]) -> None:
        """Add factors over the variables of a CPD and auxiliaries."""
        num, child = self._num_variables, len(self.groups)
        place = dict(zip(cpd.parents, parents, strict=True)) | {cpd.child: child}
        place |= {a: num + i for i, a in enumerate(part.auxiliaries)}
        self.members += [place[v] for factor in part.factors for v in factor.scope]
        self.sizes += [len(factor.scope) for factor in part.factors]
        self.functions |= {place[a]: tuple([place[v] for v in f]) for a, f in part.functions.items()}
        self._add_group(part, parents, len(part.factors), len(part.auxiliaries))
        self.cards += [a.num_states for a in part.auxiliaries]
        if part.auxiliaries and not part.is_functional:
            self.forms.append(Form(cpd, self.groups[-1].factors, child))  # type: ignore[arg-type]

    def add_chain(self, cpd: CPD, parents: tuple[int, ...], levels: int) -> None:
        """Add links that are made later: the first parent and end, then an end, the next parent and the next end."""
        num, child, order = self._num_variables, len(self.groups), self._in_line(cpd, parents)
        ends = (*range(num, num + len(parents) - 1), child)
        self.members += (order[0], ends[0])
        self.members += itertools.chain.from_iterable(zip(ends, order[1:], ends[1:], strict=False))
        self.sizes += (2, *itertools.repeat(3, len(order) - 1))
        self._add_group(cpd, parents, len(order), len(order) - 1)
        self.cards += itertools.repeat(levels, len(order) - 1)
        self.forms.append(Form(cpd, self.groups[-1].factors, child))  # type: ignore[arg-type]

    def _add_group(
        self, made: Decomposition | CPD | None, parents: tuple[int, ...], num_factors: int, num_hidden: int
    ) -> None:
        """Add a conditional, whose factors were added before, and whose auxiliaries will be."""
        last, num = len(self.sizes), self._num_variables
        numbers, hidden = tuple(range(last - num_factors, last)), tuple(range(num, num + num_hidden))
        self.groups.append(ConditionalGroup(len(self.groups), parents, numbers, hidden))
        self.factors.append(made)

    def _in_line(self, cpd: CPD, parents: tuple[int, ...]) -> list[int]:
        """The parents of a chain along its line, which the chains of a network share."""
        assert isinstance(cpd, ChainedCPD)  # as all that have levels
        places = self.ranks.get(id(cpd.line))
        if places is None:
            names = self.variables.names
            places = self.ranks[id(cpd.line)] = [cpd.line.places.get(name, -1) for name in names]
        found = sorted(parents, key=places.__getitem__)
        return found if places[found[0]] >= 0 else [parents[i] for i in cpd.line.order(cpd.parents)]

    def problem(self) -> Problem:
        """The problem, with factors that are made when they are read."""
        start = np.append(0, np.array(self.sizes, np.int64).cumsum())
        members = np.array(self.members, np.int64)
        self.members, self.sizes = [], []
        made = Problem(
            ExtendedUniverse(self.variables, self.cards, self._auxiliaries) if self.cards else self.variables,
            LateBlocks(self, start, read_only(members)),
            conditionals=tuple(self.groups),
            num_visible=len(self.variables),
            functions=self.functions,
            forms=tuple(self.forms),
            is_built=not any(form.is_deferred for form in self.forms),
        )
        return fill(made, scopes=(start, members), offsets=np.arange(len(start)))

    def part(self, child: int) -> Decomposition | None:
        """The factors of a CPD, made now; None if they wait for evidence."""
        part = self.factors[child]
        if part is not None and not isinstance(part, Decomposition):
            part = self.factors[child] = part.decomposition()
        return part

    def _auxiliaries(self) -> Iterator[Any]:
        return (a for i in range(len(self.groups)) if (part := self.part(i)) is not None for a in part.auxiliaries)


class LateBlocks(Sequence[Block]):
    """Blocks of one factor each, those of a CPD made when the first of them is read.

    Args:
        outline: what makes them.
        start, members: the scopes of all factors as compressed rows.
    """

    def __init__(self, outline: Outline, start: Ints, members: Ints) -> None:
        self._outline, self._start, self._members = outline, start, members
        self._made: list[Block | None] = [None] * (len(start) - 1)
        self._first = [group.factors[0] for group in outline.groups]

    def _make(self, child: int) -> None:
        """Make those of one CPD."""
        outline, numbers = self._outline, self._outline.groups[child].factors
        start, part = self._start[numbers[0] : numbers[-1] + 2], outline.part(child)
        if part is None:
            scope = self._members[None, start[0] : start[1]]
            self._made[numbers[0]] = Deferred(scope, partial(filled_form, outline.cpds[child]))  # type: ignore[arg-type]
        else:
            self._made[numbers[0] : numbers[-1] + 1] = single_blocks(part.factors, start, self._members)  # type: ignore[arg-type]

    def __len__(self) -> int:
        return len(self._made)

    @overload
    def __getitem__(self, key: int) -> Block: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Block, ...]: ...
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return tuple(self)[key]
        if (found := self._made[key]) is None:
            self._make(bisect_right(self._first, range(len(self))[key]) - 1)
            found = self._made[key]
        return found

    def __iter__(self) -> Iterator[Block]:
        return (self[i] for i in range(len(self)))

    def __reduce__(self) -> tuple[object, ...]:
        return tuple, (tuple(self),)
