"""Shared parts of CPDs over discrete variables: sampling, scoring, tables and displays from rows of probabilities."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, TypeGuard, cast

import numpy as np
from numpy.typing import ArrayLike

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import below, one_of, whole
from sepset.base.display import Shown, Tabulated
from sepset.base.extras import frame
from sepset.base.foreign import often
from sepset.base.frozen import Frozen, changed, fill
from sepset.base.text import brief, joined, rounded
from sepset.cpds.counts import column, decode, num_rows_of
from sepset.cpds.cpd import ContextIndependence, ParameterBlock
from sepset.cpds.parameters import AnyParameters
from sepset.errors import ModelError, ScopeError, StateError, TooLarge
from sepset.factors.algebra import Columns, Factor, Scope, check_scope, check_size, find, num_entries
from sepset.factors.chains import BY_NAME, Line
from sepset.factors.decomposition import Concave, Decomposition, DecompositionShape, Unfilled, defined_last
from sepset.factors.labels import MOST_SHOWN, conditional, cut, name_of
from sepset.semiring import SUM, Semiring
from sepset.variables.variable import Discrete, State, Vector

if TYPE_CHECKING:
    from sepset.cpds.table import TableCPD
    from sepset.factors.table import Table


CHUNK = 65_536
"""The number of rows processed at a time, which bounds temporary memory."""

MOST_ENTRIES = 2**20
"""The largest factors that are built before it is known what is observed."""

MOST_TABLED = 2**26
"""The largest factors that are built with evidence."""

FILLED_AT_ONCE = 2**16
"""The largest tables that are filled before the plan of a question is known."""

TOLERANCE = 1e-9
"""The largest difference between one and the sum of a row of probabilities."""

Unseen: TypeAlias = Literal["uniform", "raise"]
"""The result for rows that neither data nor prior determine: the uniform distribution, or an error."""


class DiscreteCPD(Frozen, Tabulated):
    r"""A conditional distribution $P(X \mid \mathbf U)$ over discrete variables.

    A subclass defines `_select`: its distributions, and which of them each row of parents has.
    """

    __slots__ = ("__weakref__", "block", "child", "parents", "scope")
    child: Discrete
    parents: tuple[Discrete, ...]
    scope: tuple[Discrete, ...]
    """The parents, then the child."""
    block: ParameterBlock

    def _init(self, child: Discrete, given: object, block: ParameterBlock | str | None) -> None:
        parents = parent_tuple(child, given)
        fill(self, child=child, parents=parents, scope=(*parents, child), block=ParameterBlock.of(block, child))

    def _with(self, **fields: object) -> Self:
        """The same CPD with other values of these fields, which are not checked."""
        return changed(self, **fields)

    def _over(self, parents: tuple[Discrete, ...], **fields: object) -> Self:
        """The same kind of CPD over other parents, with these values of its fields, which are not checked."""
        return changed(self, parents=parents, scope=(*parents, self.child), **fields)

    def _named(self, scope: tuple[Discrete, ...], **fields: object) -> Self:
        """The same kind of CPD over another scope, with these values of its fields, which are not checked."""
        return changed(self, child=scope[-1], parents=scope[:-1], scope=scope, **fields)

    @abstractmethod
    def _select(self, rows: Columns, num_rows: int) -> tuple[Floats, Ints]:
        """Distributions of the child `[contexts, states]`, and which of them each row of parents has."""

    @property
    @abstractmethod
    def num_parameters(self) -> int:
        """The number of free parameters."""

    @property
    @abstractmethod
    def parameters(self) -> AnyParameters:
        """The parameters, with all operations that learning needs."""

    @property
    def auxiliaries(self) -> tuple[Discrete, ...]:
        """The hidden variables that `factors` introduces, to be summed out."""
        return ()

    @often
    def factors(self) -> tuple[Factor, ...]:
        """Factors whose product, summed over `auxiliaries`, is the conditional distribution."""
        return (self.to_factor(),)

    def to_factor(self) -> Table:
        """The conditional distribution as one factor, in logarithms where some probability may leave float64."""
        return self.to_table().table

    @property
    def size(self) -> int:
        """The number of entries of all factors together."""
        return num_entries(self.scope)

    @property
    def is_tabled(self) -> bool:
        """Whether its one factor has its scope, as is known before that is made."""
        return False

    @property
    def shape(self) -> DecompositionShape | None:
        """The scopes of its factors, if all of their auxiliaries are functions of others and these may wait."""
        return None

    @property
    def _has_table(self) -> bool:
        """Whether its table is small enough to be made whatever is observed."""
        return num_entries(self.scope) <= MOST_ENTRIES

    @often
    def decomposition(self) -> Decomposition | None:
        """The factors, with what their auxiliaries are functions of; None beyond `MOST_ENTRIES`."""
        return None if self.size > MOST_ENTRIES else self._parts()

    def _parts(self) -> Decomposition:
        factors, auxiliaries = self.factors(), self.auxiliaries
        return Decomposition(factors, auxiliaries, defined_last(factors, auxiliaries))

    def decomposed(self, given: Mapping[Any, int], semiring: Semiring = SUM) -> Decomposition:
        """The factors in a context: those of the CPD over the parents that are not observed.

        Args:
            given: the codes of observed variables; the child's may let the factors be smaller still.
            semiring: with `MAX` all auxiliaries are functions of other variables.
        """
        rest = self.conditioned(given)
        self._check_tabled(rest.size, len(rest.parents), rest._advice())
        return rest._parts() if rest.size < num_entries(rest.scope) else rest._whole()

    def _whole(self) -> Decomposition:
        """The table; a large one is filled when its entries are read."""
        if num_entries(self.scope) <= FILLED_AT_ONCE:
            return Decomposition((self.to_factor(),))
        return Decomposition((Unfilled(self.scope, partial(_table, self)),))

    def _check_tabled(self, entries: int, hidden: int, advice: str) -> None:
        """Raise if the factors over some hidden parents have too many entries."""
        if entries > MOST_TABLED:
            seen = len(self.parents) - hidden
            raise TooLarge(
                f"{self.label} with {seen} of {len(self.parents)} parents observed needs {rounded(entries)} entries; "
                f"the limit is {MOST_TABLED:.3g}. {advice}"
            )

    def _advice(self) -> str:
        """The end of a refusal: how to go on where the factors are too large."""
        return "Observe more of its parents, or count in draws of the whole network (ss.sample without given=)."

    @often
    def concave(self, given: Mapping[Any, int]) -> Concave | None:
        """The logarithm at the child's code as a concave function of the other parents; None if it is not concave."""
        return None

    def is_whole(self, given: Mapping[Any, int]) -> bool:
        """Whether its factor for maxima is known to be one table of all variables that are not in `given` (codes)."""
        return False

    def conditioned(self, given: Mapping[Any, int]) -> DiscreteCPD:
        r"""The CPD $P(X \mid \mathbf u, \mathbf U')$ over the parents $\mathbf U'$ that are not in `given` (codes)."""
        free = tuple(p for p in self.parents if p not in given)
        if len(free) == len(self.parents):
            return self
        self._known(given)
        self._check_tabled(num_entries((*free, self.child)), len(free), self._advice())
        return self._tabled(free, given)

    def _known(self, given: Mapping[Any, int]) -> dict[int, int]:
        """The codes of the parents that are given, by place, after checking that the parents have them."""
        known = {i: given[p] for i, p in enumerate(self.parents) if p in given}
        for i, code in known.items():
            if not 0 <= code < self.parents[i].num_states:
                parent = self.parents[i]
                raise StateError(f"{parent.name} has codes 0 to {parent.num_states - 1}; found {brief(code)}.")
        return known

    def _tabled(self, free: tuple[Discrete, ...], given: Mapping[Any, int]) -> TableCPD:
        """The table over some parents, the others at these codes."""
        from sepset.cpds.table import TableCPD

        check_size((*free, self.child))
        total = num_entries(free)
        values = np.empty((total, self.child.num_states))
        for part in chunks(total):
            places = np.arange(part.start, part.stop)
            fixed: Columns = {p: np.full(len(places), given[p]) for p in self.parents if p not in free}
            values[part] = self.probabilities(decode(places, free) | fixed, len(places))
        return TableCPD(self.child, values.reshape(-1), given=free, block=self.block)

    def probabilities(self, rows: Columns, num_rows: int) -> Floats:
        r"""The distribution of the child for each row of parent codes, `[num_rows, states]`."""
        distributions, which = self._select(rows, num_rows)
        return np.asarray(distributions[which])

    def log_probabilities(self, rows: Columns, num_rows: int) -> Floats:
        r"""The logarithms of the child's distribution for each row of parent codes, `[num_rows, states]`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.probabilities(rows, num_rows)))

    def sample(self, rows: Columns, num_rows: int, rng: np.random.Generator) -> Ints:
        """A draw of the child's code for each row of parent codes."""
        uniform = rng.random(whole("num_rows", num_rows))
        drawn = np.empty(num_rows, np.int64)
        for part in chunks(num_rows):
            distributions, which = self._select(self._cut(rows, part), part.stop - part.start)
            drawn[part] = draw(distributions, which, uniform[part])
        return drawn

    def log_probability(self, rows: Columns) -> Floats:
        """The log probability of the child's code given its parents' codes, one per row; -inf for probability zero."""
        num_rows = num_rows_of(rows, self.child, self)
        codes = column(rows, self.child, num_rows, self)
        chosen = np.empty(num_rows)
        for part in chunks(num_rows):
            distributions, which = self._select(self._cut(rows, part), part.stop - part.start)
            chosen[part] = distributions[which, codes[part]]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(chosen))

    def _cut(self, rows: Columns, part: slice) -> Columns:
        return {v: rows[v][part] for v in self.parents if v in rows}

    def to_table(self) -> TableCPD:
        """The same distribution as a dense table; one that is too large raises an error with its size.

        Cost: one row per joint state of the parents.
        """
        return self._tabled(self.parents, {})

    @abstractmethod
    def irrelevant(self, context: Mapping[Any, Any]) -> tuple[Discrete, ...]:
        r"""The parents outside `context` on which the child does not depend in that context.

        Variables of the context that are not parents are ignored.

        Reference: Koller & Friedman, section 5.3.
        """

    def contexts(self) -> tuple[ContextIndependence, ...]:
        """The context-specific independences in the empty context and in each context of one parent."""
        singles = ({parent.name: state} for parent in self.parents for state in parent.states)
        found = [ContextIndependence(context, self.irrelevant(context)) for context in ({}, *singles)]
        always = set(found[0].irrelevant)
        return tuple(c for c in found if (set(c.irrelevant) - always if c.context else c.irrelevant))

    def statistics(self, codes: Columns, weights: ArrayLike | None = None) -> Any:
        """The (weighted) counts of complete rows, from which the CPD is estimated; those of two sets of rows add up.

        Args:
            codes: a column of codes for each variable of the scope.
            weights: one per row.
        """
        return self.parameters.statistics(codes, cast("Floats | None", weights))

    def from_statistics(self, stats: Any, prior: object = None, *, unseen: Unseen = "uniform") -> Self:
        """The CPD of the same form and block, estimated from statistics and a prior.

        Args:
            stats: what `statistics` returns, or sums of those.
            prior: pseudo-counts such as `Dirichlet(1)`, or for CPDs with weights a prior such as `NormalWeights(1)`;
            None for
                maximum likelihood.
            unseen: contexts that neither rows nor prior determine become "uniform", or "raise" an error.

        Reference: Koller & Friedman, sections 17.2.3, 17.4.2 and 17.5.2.
        Guarantee: exact; maximum likelihood; local optimum.
        Tested by: cpds/test_multinomials.py::test_estimates_are_ratios_of_counts,
            cpds/test_rules.py::test_overlapping_rows_reach_the_constrained_optimum,
            cpds/test_noisy.py::test_estimates_recover_a_noisy_or
        """
        one_of("unseen", unseen, ("uniform", "raise"))
        own = self.parameters
        term = None if prior is None else own.prior_term(prior, [self])
        return cast(Self, own.maximized(stats, term, unseen=unseen))

    def fixed(self, context: Mapping[Any, Any]) -> dict[Discrete, int]:
        """The codes of the parents in `context`."""
        codes: dict[Discrete, int] = {}
        for key, state in context.items():
            axis = find(self.parents, key)
            if axis >= 0:
                codes[self.parents[axis]] = self.parents[axis].code(state)
        return codes

    def describe(self, place: int) -> str:
        """The parents' states at a flat position, for messages."""
        codes = decode(np.array([below("place", place, num_entries(self.parents))]), self.parents)
        states = joined((f"{v.name}={v.states[int(codes[v][0])]!r}" for v in self.parents), limit=6)
        return f"({states})"

    def to_frame(self, kind: str = "pandas") -> Any:
        """One row per joint state of the parents: a column per parent, then one per state of the child."""
        check_size(self.scope)
        rows = list(self._grid(num_entries(self.parents)))
        columns: dict[str, list[Any]] = {p.name: [states[i] for states, _ in rows] for i, p in enumerate(self.parents)}
        for k, title in enumerate(self._titles()[len(self.parents) :]):
            columns[title] = [values[k] for _, values in rows]
        return frame(columns, kind)

    def _titles(self) -> list[str]:
        """The columns of a grid: the parents, then the child's states."""
        return [*(p.name for p in self.parents), *(f"{self.child.name}={state}" for state in self.child.states)]

    def _grid(self, limit: int) -> Iterator[tuple[tuple[State, ...], list[float]]]:
        """The first rows as (parents' states, probabilities); the whole table is not built."""
        num_rows = min(num_entries(self.parents), limit)
        codes = decode(np.arange(num_rows), self.parents)
        values = self.probabilities(codes, num_rows).tolist()
        for i in range(num_rows):
            yield tuple(p.states[int(codes[p][i])] for p in self.parents), values[i]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """The probabilities, with axes `(*parents, child)`."""
        return np.array(self.to_table().values, dtype=dtype)

    def _shown(self) -> Shown:
        """One row per joint state of the parents; without parents one per state, with its bar."""
        if not self.parents:
            return self.to_table().table._shown()._replace(title=self.label, head=(self.child.name, "probability"))
        cells = [(*map(str, states), *(f"{v:.6g}" for v in values)) for states, values in self._grid(MOST_SHOWN)]
        more = cut(num_entries(self.parents), "rows")
        return Shown(self._titles(), cells, self.label, more, words=len(self.parents))

    @property
    def label(self) -> str:
        """The kind of CPD with its child and parents, as in `TableCPD(grade[3] | sat[2])`; errors name it so."""
        return conditional((self.child,), self.parents, type(self).__name__)

    def __repr__(self) -> str:
        return self.label


class ChainedCPD(DiscreteCPD):
    """A CPD of many parents that is a chain of small factors: shared parts of noisy and logistic CPDs.

    A network gives all its chains one line, which depends on the other CPDs. Whoever counts along the factors of a CPD
    asks the same CPD for its order: another of equal parameters may have another one.
    """

    __slots__ = ("line",)
    line: Line
    """Along which the chain runs; by name if the CPD belongs to no network."""

    def _init(self, child: Discrete, given: object, block: ParameterBlock | str | None) -> None:
        super()._init(child, given, block)
        fill(self, line=BY_NAME)

    def along(self, line: Line) -> Self:
        """The same CPD with its chain along a line; one that has a line keeps it."""
        return self if self.line else self._with(line=line)

    @property
    def num_levels(self) -> int:
        """The states of each auxiliary if the factors are links through all parents, which may wait; zero otherwise."""
        return self._num_levels(MOST_ENTRIES)

    def _num_levels(self, most: int) -> int:
        """The same, where the factors have at most so many entries."""
        return 0

    @property
    def is_tabled(self) -> bool:
        """Whether a table is smaller than the links, and made whatever is observed."""
        return self._has_table and not self.num_levels

    @property
    def absent(self) -> int | None:
        """The child's state in which every auxiliary is in its first one, whatever the parents; None without such."""
        return None

    @property
    def _order(self) -> Sequence[int]:
        """The places of the parents along the chain."""
        return self.line.order(self.parents)


def _table(cpd: DiscreteCPD) -> Factor:
    """The factor of a CPD's table."""
    return cpd.to_factor()


def is_discrete(cpd: object) -> TypeGuard[DiscreteCPD]:
    """Whether a CPD is over discrete variables only, so that it has `to_table`.

    >>> from sepset.cpds.table import TableCPD
    >>> is_discrete(TableCPD(Discrete("coin"), [0.5, 0.5]))
    True
    """
    return isinstance(cpd, DiscreteCPD)


def parent_tuple(child: Discrete, given: object) -> tuple[Discrete, ...]:
    """The parents as a tuple; repeated or non-discrete variables raise an error."""
    single = isinstance(given, Discrete | Vector | str)
    parents: tuple[Discrete, ...] = (given,) if single else tuple(given)  # type: ignore[arg-type, assignment]
    for variable in (child, *parents):
        if not isinstance(variable, Discrete):
            raise ScopeError(f"A discrete CPD is over Discrete variables; found {variable!r}.")
    check_scope((*parents, child))
    return parents


def discrete_scope(scope: Scope) -> tuple[Discrete, ...]:
    """The scope as discrete variables, after checking that they are."""
    *parents, child = scope
    return (*parent_tuple(child, parents), child)  # type: ignore[arg-type]  # checked there


def chunks(num_rows: int) -> Iterator[slice]:
    """Consecutive ranges of at most `CHUNK` rows."""
    return (slice(start, min(start + CHUNK, num_rows)) for start in range(0, num_rows, CHUNK))


def draw(distributions: Floats, which: Ints, uniform: Floats) -> Ints:
    """The states at which the cumulative rows first exceed `uniform`; a state of probability zero is never drawn.

    >>> draw(np.array([[0.2, 0.0, 0.8]]), np.array([0, 0]), np.array([0.1, 0.2])).tolist()
    [0, 2]
    """
    if len(distributions) > len(which):
        distributions, which = distributions[which], np.arange(len(which))
    cumulative = np.cumsum(distributions, axis=1)
    positive = distributions > 0
    last = distributions.shape[1] - 1 - positive[:, ::-1].argmax(axis=1)
    cumulative[np.arange(distributions.shape[1]) >= last[:, None]] = 1.0
    return np.asarray((cumulative[which] <= uniform[:, None]).sum(axis=1))


def check_rows(rows: Floats, owner: object, where: Any, tolerance: float = TOLERANCE) -> None:
    """Raise unless the rows are distributions; the error names the CPD, the first invalid row, and its entry or sum."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums = rows.sum(axis=1)
    if (rows >= 0).all() and (np.abs(sums - 1.0) <= tolerance).all():
        return
    good = (rows >= 0).all(axis=1) & (np.abs(sums - 1.0) <= tolerance)
    first = int(np.flatnonzero(~good)[0])
    row = rows[first]
    if not np.isfinite(row).all() or (row < 0).any():
        bad = row[~(np.isfinite(row) & (row >= 0))][0]
        raise ModelError(
            f"{name_of(owner)}: the row {where(first)} has the entry {bad}. Probabilities are finite and >= 0, and a "
            "row of them sums to one."
        )
    raise ModelError(
        f"{name_of(owner)}: the row {where(first)} sums to {sums[first]:.12g}, off by {sums[first] - 1.0:.3g}. "
        "Rows sum to one; TableCPD.normalized divides by the sums."
    )
