r"""The normal form every model produces: variables, blocks of factors, and which factors are conditionals.

$$\tilde P(\mathbf x) = \prod_i \phi_i(\mathbf x_{D_i})$$

A method depends on problems, never on model classes. Factors are numbered consecutively through the blocks; variables
are identified by position.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import numpy as np

from sepset.base.arraytypes import AnyInts, Bools, Int32s, Ints
from sepset.base.cache import Kept
from sepset.base.frozen import fill
from sepset.base.lazy import carry_over, lazy
from sepset.base.memory import uncollected
from sepset.base.text import counted
from sepset.factors.algebra import Factor
from sepset.factors.block import single_blocks
from sepset.variables.universe import Universe

if TYPE_CHECKING:
    from scipy import sparse

    from sepset.factors.decomposition import Decomposable
    from sepset.factors.regression import Regression


NONE = np.zeros(0, np.int64)
"""No positions."""


class Block(Protocol):
    """Several factors of one shape: `FactorBlock`, or `Single` for one factor of any family."""

    @property
    def scopes(self) -> AnyInts:
        """Variable positions, one row per factor."""

    def __len__(self) -> int: ...

    def factor(self, i: int, variables: Universe) -> Factor:
        """Factor `i` of the block."""


@runtime_checkable
class Scoped(Protocol):
    """Blocks that know the scopes of their factors before these are made."""

    def all_scopes(self) -> tuple[Ints, Ints]:
        """Where each scope starts, and variable positions in axis order."""

    def scopes_of(self, numbers: Sequence[int]) -> list[list[int]]:
        """The variable positions of some factors."""


class ConditionalGroup(NamedTuple):
    r"""Factors whose product, summed over `child` and `auxiliaries`, is one for every state of `parents`."""

    child: int
    parents: tuple[int, ...]
    factors: tuple[int, ...]
    auxiliaries: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """A function of many variables that chooses its factors for what is observed and asked.

    Attributes:
        source: the function.
        factors: the numbers of the factors that stand for it if nothing is observed.
        group: the number of its conditional.
        is_deferred: whether these factors are too large to be built.
        is_functional: whether they serve maxima too.
        absent: the child's state in which every auxiliary is in its first one; None if there is none.
    """

    source: Decomposable
    factors: tuple[int, ...]
    group: int
    is_deferred: bool = False
    is_functional: bool = False
    absent: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Deferred:
    """A factor that is built when its entries are read, which a question that is too large never does.

    Attributes:
        scopes: the positions of its variables.
        filled: builds it.
    """

    scopes: AnyInts
    filled: Callable[[], Factor]

    def __len__(self) -> int:
        return 1

    def factor(self, i: int, variables: Universe) -> Factor:
        """The factor; raises `TooLarge` with its size if it does not fit."""
        return self.filled()


class Relevant:
    """The parts of a problem that a question needs: factor numbers, and the unobserved variables in scope, sorted.

    Attributes:
        numbers, places: the same as arrays.
    """

    def __init__(self, factors: Sequence[int] | Ints, variables: Sequence[int] | Ints) -> None:
        self.numbers: Ints = np.asarray(factors, dtype=np.int64)
        self.places: Ints = np.asarray(variables, dtype=np.int64)

    @lazy
    def factors(self) -> tuple[int, ...]:
        """The factor numbers."""
        return tuple(self.numbers.tolist())

    @lazy
    def variables(self) -> tuple[int, ...]:
        """The positions of the variables."""
        return tuple(self.places.tolist())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Relevant):
            return NotImplemented
        return self.factors == other.factors and self.variables == other.variables

    def __hash__(self) -> int:
        return hash((self.factors, self.variables))

    def __repr__(self) -> str:
        return f"Relevant({self.factors}, {self.variables})"


@dataclass(frozen=True, eq=False)
class Problem:
    """Variables, blocks of factors, and conditionals; without evidence and unpruned.

    Args:
        variables: the model's own variables first, then auxiliaries.
        blocks: the factors.
        conditionals: which factors jointly sum to one over which variable; empty for undirected models.
        num_visible: the number of variables that are the model's own.
        functions: for each auxiliary that is a function of other variables, those; none of them comes later.
        forms: the functions whose factors depend on the question: those with too large a table, and those with
            auxiliaries that only sums allow.
        is_built: whether all factors are there; otherwise some are built when their entries are read.
    """

    variables: Universe
    blocks: Sequence[Block]
    _: KW_ONLY
    conditionals: tuple[ConditionalGroup, ...] = ()
    num_visible: int = -1
    functions: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    forms: tuple[Form, ...] = ()
    is_built: bool = True

    _is_in_order: ClassVar[bool] = False
    """Whether each variable has a conditional that is one factor, in order, over the parents and then itself."""

    chains: ClassVar[Ints] = NONE
    """The children of the conditionals that are known to be chains: a path of auxiliaries past each parent."""

    gated: ClassVar[Ints] = NONE
    """The children of the conditionals whose auxiliaries are functions that join them with all parents."""

    split: ClassVar[Ints] = NONE
    """The children of the conditionals that are known to be something else than one factor over all their variables."""

    def __post_init__(self) -> None:
        if self.num_visible < 0:
            fill(self, num_visible=len(self.variables))

    @classmethod
    def of_factors(
        cls,
        variables: Universe,
        factors: Sequence[Factor],
        *,
        scopes: Sequence[Sequence[int]],
        conditionals: Sequence[ConditionalGroup] = (),
        num_visible: int = -1,
    ) -> Problem:
        """The problem of single factors, each with the positions of its scope, which are known to fit."""
        start = np.fromiter(itertools.accumulate(map(len, scopes), initial=0), np.int64, len(scopes) + 1)
        members = np.fromiter(itertools.chain.from_iterable(scopes), np.int64, int(start[-1]))
        made = cls(
            variables, single_blocks(factors, start, members), conditionals=tuple(conditionals), num_visible=num_visible
        )
        return fill(made, scopes=(start, members), offsets=np.arange(len(start)))

    @classmethod
    def of_conditionals(cls, variables: Universe, factors: Sequence[Factor], *, scopes: tuple[Ints, Ints]) -> Problem:
        """The problem of one conditional for each variable, in order: a factor over the parents and then itself.

        Args:
            scopes: compressed rows of positions (starts and members), which are known to fit.

        >>> from sepset.factors.table import Table
        >>> from sepset.variables.variable import Discrete
        >>> a, b = Discrete("a"), Discrete("b")
        >>> tables = [Table([a], [0.5, 0.5]), Table([a, b], [[0.5, 0.5], [0.5, 0.5]])]
        >>> scopes = np.array([0, 1, 3]), np.array([0, 0, 1])
        >>> Problem.of_conditionals(Universe([a, b]), tables, scopes=scopes).conditionals[1].parents
        (0,)
        """
        start, members = scopes
        flat, bounds = members.tolist(), start.tolist()
        rows = zip(range(len(factors)), bounds, bounds[1:], strict=False)
        groups = [ConditionalGroup(child, tuple(flat[i : j - 1]), (child,)) for child, i, j in rows]
        made = cls(variables, single_blocks(factors, start, members), conditionals=tuple(groups))
        return fill(made, scopes=scopes, offsets=np.arange(len(start)), _is_in_order=True)

    @lazy
    def kept(self) -> Kept:
        """The cache of everything prepared for this problem; it is not copied or pickled with it."""
        return Kept()

    def determined(self, known: Iterable[int]) -> tuple[int, ...]:
        """The auxiliaries that are functions of known variables: whoever maximizes over those can over these too."""
        found = set(known)
        for auxiliary, inputs in self.functions.items():
            if found.issuperset(inputs):
                found.add(auxiliary)
        return tuple(auxiliary for auxiliary in self.functions if auxiliary in found)

    def quiet(self, codes: Mapping[int, int]) -> dict[int, int]:
        """The auxiliaries that these findings determine: in the first state, if the child of the function is absent."""
        known = self._silent
        told = [form for child, code in codes.items() if (form := known.get(child)) is not None and form.absent == code]
        hidden = itertools.chain.from_iterable(self.conditionals[form.group].auxiliaries for form in told)
        return dict.fromkeys(hidden, 0)

    @lazy
    def _silent(self) -> dict[int, Form]:
        """The functions that determine auxiliaries in one state of their child, by child."""
        groups = self.conditionals
        return {groups[form.group].child: form for form in self.forms if form.absent is not None}

    def with_determined(
        self, over: Iterable[int], observed: Iterable[int], *, touched: Iterable[int] = ()
    ) -> tuple[int, ...]:
        """The variables to maximize over, and the auxiliaries that they determine, but for barren ones."""
        asked, seen = tuple(over), tuple(observed)
        known = self.determined((*asked, *seen))
        if not known:
            return asked
        soft = sorted(set(touched).difference(asked))
        inside = set(self.relevant(asked, seen, touched=soft, constants=True).variables)
        return (*asked, *(v for v in known if v in inside))

    def with_forms(self, functions: Mapping[int, tuple[int, ...]], forms: Iterable[Form]) -> Problem:
        """The problem with these functions and forms; the factors of those that are deferred are not built."""
        listed = tuple(forms)
        late = {form.factors[0]: partial(filled_form, form.source) for form in listed if form.is_deferred}
        made = replace(self, functions=functions, forms=listed)
        carry_over(self, made, "scopes", "offsets")
        return made.with_deferred(late) if late else made

    def with_deferred(self, late: Mapping[int, Callable[[], Factor]]) -> Problem:
        """The problem, of single factors, in which those with these numbers are built when their entries are read."""
        blocks = list(self.blocks)
        for number, filled in late.items():
            blocks[number] = Deferred(self.blocks[number].scopes, filled)
        made = replace(self, blocks=tuple(blocks), is_built=False)
        carry_over(self, made, "scopes", "offsets")
        return made

    def with_blocks(self, blocks: Iterable[Block]) -> Problem:
        """The problem with other factors of the same numbers and scopes, which are not read again.

        Their zeros may be others: no finding determines auxiliaries.
        """
        made = replace(self, blocks=tuple(blocks))
        if self.forms:
            made = replace(made, forms=tuple([replace(form, absent=None) for form in self.forms]))
        carry_over(self, made, "scopes", "shapes", "single_conditionals")
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {f.name: self.__dict__[f.name] for f in fields(self)}

    @lazy
    def offsets(self) -> Ints:
        """The number of each block's first factor; the last entry is the number of factors."""
        return np.append(0, np.fromiter(map(len, self.blocks), np.int64, len(self.blocks)).cumsum())

    @lazy
    def is_normalized(self) -> bool:
        """Whether every factor belongs to a conditional and every variable to one, so that the total is one."""
        return sum(len(group.factors) for group in self.conditionals) == self.num_factors and not len(self._isolated)

    @property
    def num_factors(self) -> int:
        """The number of factors in all blocks."""
        return int(self.offsets[-1])

    def factor(self, number: int) -> Factor:
        """The factor with this number, as a single factor."""
        block, place = self._home(number)
        return self.blocks[block].factor(place, self.variables)

    def _home(self, number: int) -> tuple[int, int]:
        """The block of a factor, and its place there."""
        if self._is_one_each and number >= 0:
            return number, 0
        block = int(np.searchsorted(self.offsets, number, "right")) - 1
        return block, number - int(self.offsets[block])

    @lazy
    def _is_one_each(self) -> bool:
        """Whether every block has one factor."""
        return bool((np.diff(self.offsets) == 1).all())

    def factors(self, numbers: Iterable[int] | None = None) -> Iterator[Factor]:
        """The factors with these numbers, or all."""
        return (self.factor(i) for i in (range(self.num_factors) if numbers is None else numbers))

    @lazy
    def regressions(self) -> Mapping[int, Regression]:
        """The regression of each real variable whose conditional is one factor in moment form, by its position.

        >>> from sepset.factors.block import Single
        >>> from sepset.variables.variable import Real
        >>> from sepset.factors.regression import Regression
        >>> noise = Regression(Real("x"), 1.0, None, 4.0)
        >>> x, one = Universe([Real("x")]), ConditionalGroup(0, (), (0,))
        >>> Problem(x, (Single(noise, [0]),), conditionals=(one,)).regressions
        {0: Regression(x)}
        """
        from sepset.factors.regression import Regression

        is_real = (self.variables.cards == 0).tolist()
        single = [g for g in self.conditionals if len(g.factors) == 1 and is_real[g.child]]
        with uncollected():
            stated = [(group.child, self.factor(group.factors[0])) for group in single]
        return {child: factor for child, factor in stated if isinstance(factor, Regression)}

    @lazy
    def incidence(self) -> sparse.csr_array:
        """The factors by variables 0/1 matrix."""
        from scipy import sparse

        rows = [
            np.repeat(np.arange(len(b)) + o, b.scopes.shape[1]) for b, o in zip(self.blocks, self.offsets, strict=False)
        ]
        columns = [b.scopes.reshape(-1) for b in self.blocks]
        row = np.concatenate(rows) if rows else np.zeros(0, np.int64)
        column = np.concatenate(columns) if columns else np.zeros(0, np.int64)
        ones = np.ones(len(row), np.int8)
        return sparse.csr_array((ones, (row, column)), shape=(self.num_factors, len(self.variables)))

    @lazy
    def scopes(self) -> tuple[Ints, Ints]:
        """The scopes of all factors as compressed rows: where each starts, and variable positions in axis order."""
        if self._outline is not None:
            return self._outline.all_scopes()
        with uncollected():
            shapes = itertools.chain.from_iterable([b.scopes.shape for b in self.blocks])
            counts = np.fromiter(shapes, np.int64, 2 * len(self.blocks)).reshape(-1, 2)
        start = np.append(0, np.repeat(counts[:, 1], counts[:, 0])).cumsum()
        members = [b.scopes.reshape(-1) for b in self.blocks]
        return start, np.concatenate(members).astype(np.int64) if members else np.zeros(0, np.int64)

    @lazy
    def _outline(self) -> Scoped | None:
        """The blocks, if they know their scopes before they are made."""
        return self.blocks if isinstance(self.blocks, Scoped) else None

    @lazy
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """For each factor the number of states of each variable of its scope; 0 for continuous ones."""
        start, members = self.scopes
        cards = self.variables.cards[members].tolist()
        return tuple([tuple(cards[i:j]) for i, j in itertools.pairwise(start.tolist())])

    @lazy
    def single_conditionals(self) -> tuple[tuple[int, int, int], ...]:
        """The conditionals that are one factor: its number, the child, and the axis of the child."""
        start, members = (part.tolist() for part in self.scopes)
        single = [group for group in self.conditionals if len(group.factors) == 1 and not group.auxiliaries]
        rows = [(group.child, group.factors[0]) for group in single]
        return tuple([(i, child, members[start[i] : start[i + 1]].index(child)) for child, i in rows])

    def scope(self, number: int) -> tuple[int, ...]:
        """The variable positions of one factor."""
        if self._outline is not None and number >= 0:
            return tuple(self._outline.scopes_of([number])[0])
        block, place = self._home(number)
        return tuple(self.blocks[block].scopes[place].tolist())

    def scopes_of(self, numbers: Sequence[int]) -> list[list[int]]:
        """The variable positions of some factors."""
        if self._outline is not None:
            return self._outline.scopes_of(numbers)
        start, members = self.scopes[0].tolist(), self.scopes[1].tolist()
        return [members[start[n] : start[n + 1]] for n in numbers]

    def relevant(
        self,
        targets: Iterable[int],
        observed: Iterable[int] = (),
        *,
        touched: Iterable[int] = (),
        constants: bool = False,
        prune: bool = True,
    ) -> Relevant:
        """The factors and variables that a question about `targets` given `observed` needs.

        Barren conditionals sum to one and are dropped. Parts separated from every target by the observed variables
        only scale the answer and are dropped too, unless `constants` asks for them (the probability of evidence does).

        Args:
            targets: positions of the query variables.
            observed: positions with one known value; they are removed from the graph.
            touched: positions with likelihood evidence; they stay, and are not barren.
            constants: keep separated parts, whose product is a constant, and variables without factors.
            prune: False keeps everything, for comparison in tests.

        Reference: Shachter (1986, 1998); El-Hay (2001).
        Guarantee: answers unchanged.
        Tested by: test_problem.py::test_pruned_posterior_is_the_unpruned_one
        """
        from sepset.kernels.graphs.reachability import relevant_parts

        asked, found = np.array([*targets], np.int64), np.array([*observed], np.int64)
        soft = np.array([*touched], np.int64)
        if not prune:
            used = np.zeros(len(self.variables), bool)
            for part in (self.scopes[1], asked, self._isolated):
                used[part] = True
            used[found] = False
            return Relevant(np.arange(self.num_factors), np.flatnonzero(used))
        alone, homes = (self._isolated, (NONE, NONE)) if constants else (NONE, self._homes)
        seeds = np.concatenate([soft, self._ungrouped_variables])
        rows, members, child = self.families
        scopes = *self.scopes, *homes, rows
        return Relevant(*relevant_parts(*scopes, members, child, seeds, asked, found, alone, constants))

    def ancestral(self, asked: Iterable[int]) -> tuple[Bools, Ints]:
        """Which variables are asked for or ancestors of them, and the factors of their conditionals.

        Whatever belongs to no conditional, as in undirected models, is asked for too.
        """
        from scipy import sparse
        from scipy.sparse.csgraph import breadth_first_order

        rows, members, child = self.families
        first, num = np.concatenate([[*asked], self._ungrouped_variables]), len(self.variables)
        near, start = np.append(members, first), np.append(rows, rows[-1] + len(first))  # of one more node
        graph = sparse.csr_array((np.ones(len(near), np.int8), near, start), shape=(num + 1, num + 1))
        found = np.zeros(num + 1, bool)
        found[breadth_first_order(graph, num, True, False)] = True
        return found[:-1], np.flatnonzero(found[child])

    @lazy
    def _isolated(self) -> Ints:
        """The variables in no factor and no conditional: uniform, and each multiplies the total."""
        if np.diff(self.families[0]).all():  # known before the scopes of chains and gates are
            return NONE
        alone = np.ones(len(self.variables), bool)
        alone[self.scopes[1]] = False
        return np.flatnonzero(alone & (np.diff(self.families[0]) == 0)) if alone.any() else NONE

    @lazy
    def families(self) -> tuple[Ints, Int32s, Ints]:
        """For each variable the members of its conditional, as compressed rows; and for each factor its child or -1.

        An auxiliary has its child alone, whose row has the others: rows of all would be quadratic in their number.
        """
        if self._is_in_order:
            return _child_first(*self.scopes)
        own = np.array([group.child for group in self.conditionals], np.int64)
        parents, num_parents = _flat([group.parents for group in self.conditionals])
        hidden, num_hidden = _flat([group.auxiliaries for group in self.conditionals])
        factors, num_factors = _flat([group.factors for group in self.conditionals])
        sizes = np.zeros(len(self.variables), np.int64)
        sizes[own], sizes[hidden] = 1 + num_parents + num_hidden, 1
        start = np.append(0, sizes.cumsum())
        members = np.empty(start[-1], np.int32)
        members[start[own]], members[start[hidden]] = own, np.repeat(own, num_hidden)
        members[places_of_rows(start[own] + 1, num_parents)] = parents
        members[places_of_rows(start[own] + 1 + num_parents, num_hidden)] = hidden
        child = np.full(self.num_factors, -1)
        child[factors] = np.repeat(own, num_factors)
        return start, members, child

    @lazy
    def _ungrouped_variables(self) -> Ints:
        """The variables of factors that belong to no conditional: their parts are never barren."""
        if (self.families[2] >= 0).all():
            return NONE
        return np.flatnonzero(np.bincount(self.scopes[1][np.repeat(self.families[2] < 0, np.diff(self.scopes[0]))]))

    @lazy
    def _homes(self) -> tuple[Ints, Ints]:
        """For each variable the factors with it in scope, as compressed rows."""
        from sepset.kernels.compiled.planning import transposed

        return transposed(*self.scopes, len(self.variables))

    def __repr__(self) -> str:
        factors = f"{counted(self.num_factors, 'factor')} in {counted(len(self.blocks), 'block')}"
        return f"Problem({counted(len(self.variables), 'variable')}, {factors})"


def _flat(rows: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """The numbers of all rows one after the other, and the length of each."""
    sizes = np.fromiter(map(len, rows), np.int64, len(rows))
    return np.fromiter(itertools.chain.from_iterable(rows), np.int64, int(sizes.sum())), sizes


def filled_form(source: Decomposable) -> Factor:
    """The one factor of a conditional that nothing is observed about, if it fits after all."""
    from sepset.errors import TooLarge
    from sepset.semiring import SUM

    made = source.decomposed({}, SUM)
    if len(made.factors) > 1:
        raise TooLarge(f"{source!r} has factors only with evidence. Ask a question of it.")
    return made.filled[0]


def _child_first(start: Ints, members: Ints) -> tuple[Ints, Int32s, Ints]:
    """Rows of parents and child, one for each child in order, with the child first; and the children."""
    own, first = np.arange(len(start) - 1), np.ones(len(members), bool)
    last, found = first.copy(), np.empty(len(members), np.int32)
    first[start[:-1]], last[start[1:] - 1] = False, False
    found[start[:-1]], found[first] = own, members[last]
    return start, found, own


def places_of_rows(starts: Ints, sizes: Ints) -> Ints:
    """The places of rows of these sizes, one row after the other, each from its start on.

    >>> places_of_rows(np.array([7, 2]), np.array([2, 3])).tolist()
    [7, 8, 2, 3, 4]
    """
    return np.asarray(np.arange(sizes.sum()) + np.repeat(starts - sizes.cumsum() + sizes, sizes))
