"""The problem of a network: which conditional has which factors, over which variables; those of chains are made later.

A network of ten thousand noisy-ors has half a million links, which a question that is too large never reads.
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, overload

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.frozen import fill, read_only
from sepset.base.lazy import lazy
from sepset.cpds.cpd import CPD
from sepset.cpds.discrete import ChainedCPD, is_discrete
from sepset.cpds.table import is_table
from sepset.factors.block import single_blocks
from sepset.factors.decomposition import Decomposition, DecompositionShape
from sepset.problem import Block, ConditionalGroup, Deferred, Form, Problem, filled_form, places_of_rows
from sepset.variables.universe import ExtendedUniverse, Universe


def network_problem(variables: Universe, cpds: Sequence[CPD], parents: Ints | None = None) -> Problem:
    """The problem of the CPDs of these variables, in their order.

    Args:
        parents: the positions of all parents, CPD by CPD; looked up if they are not at hand.

    Guarantee: exact.
    Tested by: models/test_networkproblem.py::test_problem_is_that_of_factors_made_at_once
    """
    is_made = [is_table(cpd) for cpd in cpds]
    if all(is_made):
        return _of_whole_factors(variables, cpds, [cpd.factors()[0] for cpd in cpds])
    levels = [cpd.num_levels if isinstance(cpd, ChainedCPD) else 0 for cpd in cpds]
    is_late = [made or level > 0 or _is_tabled(c) for c, level, made in zip(cpds, levels, is_made, strict=True)]
    shapes = {i: _shape(cpds[i]) for i, is_known in enumerate(is_late) if not is_known}
    parts: dict[int, Any] = {i: cpds[i].decomposition() for i, shape in shapes.items() if shape is None}
    if len(parts) + sum(is_made) == len(cpds) and all(_is_whole(part, cpds[i]) for i, part in parts.items()):
        made: list[Any] = [parts[i].factors[0] if i in parts else cpd.factors()[0] for i, cpd in enumerate(cpds)]
        return _of_whole_factors(variables, cpds, made)
    if parents is None:
        parents = variables.found_places([v for cpd in cpds for v in cpd.parents])
    return Outline(variables, cpds, np.array(levels, np.int64), parts, shapes, parents).problem()


def _is_tabled(cpd: CPD) -> bool:
    """Whether a CPD is one factor with its scope, as is known before that is made."""
    return is_discrete(cpd) and cpd.is_tabled


def _shape(cpd: CPD) -> DecompositionShape | None:
    """The scopes of the factors of a CPD that may wait; None if these have to be made to be known."""
    return cpd.shape if is_discrete(cpd) else None


def _is_whole(part: Decomposition | None, cpd: CPD) -> bool:
    """Whether the factors of a CPD are one, with its scope."""
    return part is not None and not part.auxiliaries and len(part.factors) == 1 and part.factors[0].scope == cpd.scope


def _of_whole_factors(variables: Universe, cpds: Sequence[CPD], factors: Sequence[Any]) -> Problem:
    """The problem, if each CPD is one factor over its scope."""
    start = np.zeros(len(cpds) + 1, np.int64)
    np.cumsum([len(cpd.scope) for cpd in cpds], out=start[1:])
    members = variables.found_places([v for cpd in cpds for v in cpd.scope])
    return Problem.of_conditionals(variables, factors, scopes=(start, members))


class Outline:
    """The scopes of all factors of a network, and who makes them.

    Args:
        variables: of the network.
        cpds: of these variables.
        levels: the states of the auxiliaries of each chain, whose factors are made later; zero for other CPDs.
        parts: the factors of some others that are not known to be one with their scope, None if they wait for evidence.
        shapes: the scopes of the factors of those that are made later too.
        parents: the positions of all parents, CPD by CPD.
    """

    def __init__(
        self,
        variables: Universe,
        cpds: Sequence[CPD],
        levels: Ints,
        parts: dict[int, Decomposition | None],
        shapes: Mapping[int, DecompositionShape | None],
        parents: Ints,
    ) -> None:
        self.variables, self.cpds, self._levels, self._parents = variables, cpds, levels, parents
        self._deferred = {i for i, part in parts.items() if part is None}
        known = {i: part for i, part in parts.items() if part is not None and not _is_whole(part, cpds[i])}
        made = {i: DecompositionShape.of(part, cpds[i].scope) for i, part in known.items()}
        self._waiting = {i: shape for i, shape in shapes.items() if shape is not None}
        self._shapes = dict(sorted({**self._waiting, **made}.items()))
        self._num_parents = np.fromiter([len(cpd.parents) for cpd in cpds], np.int64, len(cpds))
        self._parts = parts

    def problem(self) -> Problem:
        """The problem, with factors that are made when they are read."""
        chosen = {*np.flatnonzero(self._levels).tolist(), *self._deferred, *self._shapes} - self._waiting.keys()
        forms = [self._form(i) for i in sorted(chosen)]
        made = Problem(
            self._universe(),
            LateBlocks(self),
            conditionals=tuple(self.groups),
            num_visible=len(self.variables),
            functions=LateFunctions(self),
            forms=tuple([form for form in forms if form is not None]),
            is_built=not self._deferred,
        )
        gated = np.array([i for i, shape in self._waiting.items() if shape.is_star], np.int64)
        chains, split = np.flatnonzero(self._levels), np.array([*self._shapes], np.int64)
        return fill(made, offsets=np.arange(self._first_factors[-1] + 1), chains=chains, gated=gated, split=split)

    @lazy
    def groups(self) -> list[ConditionalGroup]:
        """The conditional of each CPD."""
        parents, starts = self._parents.tolist(), _starts(self._num_parents).tolist()
        numbers, hidden = self._first_factors.tolist(), self._first_hidden.tolist()
        rows = zip(*map(itertools.pairwise, (starts, numbers, hidden)), strict=True)
        return [
            ConditionalGroup(child, tuple(parents[i:j]), tuple(range(*of)), tuple(range(*inside)))
            for child, ((i, j), of, inside) in enumerate(rows)
        ]

    @lazy
    def _first_factors(self) -> Ints:
        """The number of the first factor of each CPD, and of all factors."""
        num = np.where(self._levels > 0, self._num_parents, 1)
        for i, shape in self._shapes.items():
            num[i] = shape.num_factors
        return _starts(num)

    @lazy
    def _first_hidden(self) -> Ints:
        """The position of the first auxiliary of each CPD, and the number of all variables."""
        num = np.where(self._levels > 0, self._num_parents - 1, 0)
        for i, shape in self._shapes.items():
            num[i] = len(shape.cards)
        return _starts(num) + len(self.variables)

    def _cards(self) -> list[int]:
        """The numbers of states of the auxiliaries."""
        levels = np.repeat(self._levels, np.diff(self._first_hidden)).tolist()
        for i, shape in self._shapes.items():
            first = int(self._first_hidden[i]) - len(self.variables)
            levels[first : first + len(shape.cards)] = shape.cards
        return levels

    @lazy
    def scopes(self) -> tuple[Ints, Ints]:
        """The scopes of all factors as compressed rows; the line of the network is not looked for before.

        Those of a chain are the first parent and end, then an end, the next parent and the next end.
        """
        is_chain, inside = self._levels > 0, {i: self._inside(i) for i in self._shapes}
        num = np.where(is_chain, 3 * self._num_parents - 1, self._num_parents + 1)
        for i, scopes in inside.items():
            num[i] = sum(map(len, scopes))
        first, sizes = _starts(num), np.full(self._first_factors[-1], 3)
        members = np.empty(first[-1], np.int64)
        whole = np.setdiff1d(np.flatnonzero(~is_chain), [*inside])
        sizes[self._first_factors[whole]] = self._num_parents[whole] + 1
        members[places_of_rows(first[whole], self._num_parents[whole])] = self._parents[self._places_of(whole)]
        members[first[whole] + self._num_parents[whole]] = whole
        if is_chain.any():
            self._link(np.flatnonzero(is_chain), first, sizes, members)
        for i, scopes in inside.items():
            sizes[self._first_factors[i] : self._first_factors[i + 1]] = [*map(len, scopes)]
            members[first[i] : first[i + 1]] = [*itertools.chain.from_iterable(scopes)]
        return _starts(sizes), read_only(members)

    def scopes_of(self, numbers: Sequence[int]) -> list[list[int]]:
        """The scopes of some factors; without the line of the network if none of them is of a chain."""
        owners = np.searchsorted(self._first_factors, numbers, "right") - 1
        if "scopes" in vars(self) or self._levels[owners].any() or not self._shapes.keys().isdisjoint(owners.tolist()):
            start, members = self.scopes
            return [members[start[n] : start[n + 1]].tolist() for n in numbers]
        return [[*self.groups[i].parents, i] for i in owners.tolist()]

    def rows(self, child: int) -> tuple[Ints, Ints]:
        """The scopes of the factors of one CPD, as compressed rows."""
        numbers = self.groups[child].factors
        if "scopes" in vars(self) or self._levels[child] or child in self._shapes:
            start, members = self.scopes
            return start[numbers[0] : numbers[-1] + 2], members
        members = np.array([*self.groups[child].parents, child], np.int64)
        return np.array([0, len(members)]), members

    def _link(self, chains: Ints, first: Ints, sizes: Ints, members: Ints) -> None:
        """Fill in the scopes of chains, whose members begin at `first`."""
        num = self._num_parents[chains]
        sizes[self._first_factors[chains]] = 2
        place = places_of_rows(np.zeros_like(chains), num)
        at, end = np.repeat(first[chains], num) + 3 * place, np.repeat(self._first_hidden[chains], num) + place
        is_last = place == np.repeat(num, num) - 1
        end[is_last] = chains
        members[at], members[at + 1] = self._in_line(chains), end
        members[at[~is_last] + 2] = end[~is_last]

    def _in_line(self, chains: Ints) -> Ints:
        """The parents of chains along their lines, which most chains of a network share."""
        cpds: Any = [self.cpds[i] for i in chains.tolist()]
        num, parents = self._num_parents[chains], self._parents[self._places_of(chains)]
        ranks, starts = np.full(len(parents), -1), _starts(num)
        lines, which = {id(cpd.line): cpd.line for cpd in cpds}, np.array([id(cpd.line) for cpd in cpds])
        for key, line in lines.items():
            known, is_own = line.places, np.repeat(which == key, num)
            places = np.array([known.get(name, -1) for name in self.variables.names], np.int64)
            ranks[is_own] = places[parents[is_own]]
        for i in np.flatnonzero(np.minimum.reduceat(ranks, starts[:-1]) < 0).tolist():  # some have no place in it
            ranks[starts[i] : starts[i + 1]] = np.argsort(cpds[i].line.order(cpds[i].parents), kind="stable")
        return np.asarray(parents[np.lexsort((ranks, np.repeat(np.arange(len(num)), num)))])

    def _places_of(self, which: Ints) -> Ints:
        """The places of the parents of some CPDs among all parents."""
        return places_of_rows(_starts(self._num_parents)[which], self._num_parents[which])

    def _members(self, i: int) -> list[int]:
        """The positions of the parents of a CPD, its child and its auxiliaries."""
        group = self.groups[i]
        return [*group.parents, i, *group.auxiliaries]

    def _inside(self, i: int) -> list[list[int]]:
        """The scopes of factors over the variables of a CPD and auxiliaries."""
        members = self._members(i)
        return [[members[place] for place in places] for places in self._shapes[i].scopes()]

    @property
    def num_functions(self) -> int:
        """How many auxiliaries are functions of other variables."""
        return sum(shape.num_functions for shape in self._shapes.values())

    def functions(self) -> dict[int, tuple[int, ...]]:
        """For each auxiliary that is a function of other variables, those."""
        found: dict[int, tuple[int, ...]] = {}
        for i, shape in self._shapes.items():
            members = self._members(i) if shape.num_functions else []
            found |= {members[a]: tuple([members[v] for v in inputs]) for a, inputs in shape.functions().items()}
        return found

    def _form(self, i: int) -> Form | None:
        """A CPD as a function that chooses its factors, if they depend on the question."""
        part, is_deferred = self._parts.get(i), i in self._deferred
        if part is not None and (part.is_functional or not part.auxiliaries):
            return None
        cpd: Any = self.cpds[i]
        absent = cpd.absent if self._levels[i] else None
        return Form(cpd, self.groups[i].factors, i, is_deferred=is_deferred, absent=absent)

    def part(self, child: int) -> Decomposition | None:
        """The factors of a CPD, made now; None if they wait for evidence."""
        if child not in self._parts:
            self._parts[child] = self.cpds[child].decomposition()
        return self._parts[child]

    def _universe(self) -> Universe:
        """The variables of the network, then the auxiliaries."""
        if cards := self._cards():
            return ExtendedUniverse(self.variables, cards, self._auxiliaries, self._auxiliary)
        return self.variables

    def _auxiliary(self, number: int) -> Any:
        """One of the auxiliaries, for which only the factors of its CPD are made."""
        place = number + len(self.variables)
        child = int(np.searchsorted(self._first_hidden, place, "right")) - 1
        part = self.part(child)
        assert part is not None  # it has auxiliaries
        return part.auxiliaries[place - int(self._first_hidden[child])]

    def _auxiliaries(self) -> Iterator[Any]:
        return (a for i in range(len(self.cpds)) if (part := self.part(i)) is not None for a in part.auxiliaries)


def _starts(sizes: Ints) -> Ints:
    """Where each of some rows of these sizes begins, and where the last ends."""
    return np.append(0, np.cumsum(sizes))


class LateFunctions(Mapping[int, tuple[int, ...]]):
    """For each auxiliary that is a function of other variables, those; found when they are asked for.

    Args:
        outline: what finds them.
    """

    def __init__(self, outline: Outline) -> None:
        self._outline = outline

    @lazy
    def _found(self) -> dict[int, tuple[int, ...]]:
        return self._outline.functions()

    def __len__(self) -> int:
        return self._outline.num_functions

    def __getitem__(self, key: int) -> tuple[int, ...]:
        return self._found[key]

    def __iter__(self) -> Iterator[int]:
        return iter(self._found)

    def __reduce__(self) -> tuple[object, ...]:
        return dict, (self._found,)


class LateBlocks(Sequence[Block]):
    """Blocks of one factor each, those of a CPD made when the first of them is read.

    Args:
        outline: what makes them.
    """

    def __init__(self, outline: Outline) -> None:
        self._outline = outline
        self._first = [group.factors[0] for group in outline.groups]
        self._made: list[Block | None] = [None] * (outline.groups[-1].factors[-1] + 1)

    def all_scopes(self) -> tuple[Ints, Ints]:
        """The scopes of all factors as compressed rows."""
        return self._outline.scopes

    def scopes_of(self, numbers: Sequence[int]) -> list[list[int]]:
        """The scopes of some factors."""
        return self._outline.scopes_of(numbers)

    def _make(self, child: int) -> None:
        """Make those of one CPD."""
        outline, numbers = self._outline, self._outline.groups[child].factors
        (start, members), part = outline.rows(child), outline.part(child)
        if part is None:
            scope = members[None, start[0] : start[1]]
            self._made[numbers[0]] = Deferred(scope, partial(filled_form, outline.cpds[child]))  # type: ignore[arg-type]
        else:
            self._made[numbers[0] : numbers[-1] + 1] = single_blocks(part.factors, start, members)  # type: ignore[arg-type]

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
