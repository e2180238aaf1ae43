r"""CPDs without free parameters: functions of the parents, and multiplexers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.checks import check_takes
from sepset.base.display import Shown
from sepset.base.frozen import fill
from sepset.cpds.contexts import Node, Partition, shown_function
from sepset.cpds.counts import checked_weights, column, count, decode, joint_codes, num_rows_of
from sepset.cpds.cpd import ParameterBlock
from sepset.cpds.discrete import DiscreteCPD, discrete_scope
from sepset.cpds.jointstates import D, DiscreteParameters, EngineValues, dense_values
from sepset.cpds.parameters import PriorTerm, Varied
from sepset.cpds.registry import Fields, registered
from sepset.errors import ModelError, ScopeError, TooLarge
from sepset.factors.algebra import Columns, Factor, Scope, check_size, num_entries
from sepset.factors.decomposition import Decomposition
from sepset.factors.labels import MOST_SHOWN, cut, name_of, one_line
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.variables.matching import Match, state_codes, state_order
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete, State

MOST_CALLS = 10_000_000
"""The most joint states of the parents that a function is called with."""


@registered("deterministic")
class DeterministicCPD(DiscreteCPD):
    r"""The child is a function of its parents: $P(x \mid \mathbf u) = 1[x = f(\mathbf u)]$.

    Args:
        child: the variable $X$.
        function: called with one state per parent and returning a state of the child; or a mapping from the parents'
            states (a tuple, or one bare state for one parent) to the child's.
        given: the parents, a variable or a sequence of them.
        block: the parameters it uses (it has none that are free).

    Cost: one call per joint state of the parents, once.
    Reference: Koller & Friedman, section 5.2.
    Guarantee: exact, sparse.
    Tested by: cpds/test_deterministic.py::test_a_sum_is_sparse

    >>> a, b, total = Discrete("a", 3), Discrete("b", 3), Discrete("total", 5)
    >>> cpd = DeterministicCPD(total, lambda x, y: x + y, given=(a, b))
    >>> cpd, cpd({"a": 1, "b": 2}), cpd.num_parameters
    (DeterministicCPD(total[5] | a[3], b[3]), 3, 0)
    """

    __slots__ = ("codes",)
    codes: Ints

    def __init__(
        self,
        child: Discrete,
        function: Callable[..., State] | Mapping[Any, State],
        *,
        given: Discrete | Iterable[Discrete] = (),
        block: ParameterBlock | str | None = None,
    ) -> None:
        self._init(child, given, block)
        check_size(self.parents)
        _check_calls(self)
        states = itertools.product(*(parent.states for parent in self.parents))
        if not isinstance(function, Mapping):
            check_takes(function, len(self.parents), "parents")
        apply = _lookup(self, function) if isinstance(function, Mapping) else function
        codes = (child.code(apply(*joint)) for joint in states)
        fill(self, codes=np.fromiter(codes, np.int64, num_entries(self.parents)))

    def __call__(self, assignment: Mapping[Any, Any]) -> State:
        """The child's state at an assignment of all parents."""
        fixed = self.fixed(assignment)
        rows: Columns = {v: np.array([code]) for v, code in fixed.items()}
        return self.child.states[int(self.codes[joint_codes(rows, self.parents, 1, self)][0])]

    @property
    def num_parameters(self) -> int:
        """Zero: there are no free parameters."""
        return 0

    def _select(self, rows: Columns, num_rows: int) -> tuple[Floats, Ints]:
        return np.eye(self.child.num_states), self.codes[joint_codes(rows, self.parents, num_rows, self)]

    def _shown(self) -> Shown:
        """The function's values."""
        return shown_function(self.label, self.child, self.parents, self.codes)

    @property
    def is_tabled(self) -> bool:
        """Always: one table, dense or sparse."""
        return True

    def decomposition(self) -> Decomposition:
        """Its one table, which is no larger than the function's own values."""
        return self._parts()

    def factors(self) -> tuple[Factor, ...]:
        """A sparse table of the rows that occur, or a dense one if that stores fewer values."""
        if self.child.num_states <= len(self.scope) + 1:
            return super().factors()
        columns = decode(np.arange(len(self.codes)), self.parents)
        rows = np.column_stack([*columns.values(), self.codes])
        return (SparseTable(self.scope, rows, values=np.ones(len(rows))),)

    def irrelevant(self, context: Mapping[Any, Any]) -> tuple[Discrete, ...]:
        """The parents outside `context` that do not change the function's value in it."""
        fixed = self.fixed(context)
        wide = [p for p in self.parents if p.num_states > 1]
        cells = self.codes.reshape([p.num_states for p in wide])[tuple(fixed.get(p, slice(None)) for p in wide)]
        free = [p for p in wide if p not in fixed]
        matters = {p for axis, p in enumerate(free) if (cells != cells.take([0], axis)).any()}
        return tuple(p for p in self.parents if p not in fixed and p not in matters)

    @classmethod
    def from_form(cls, child: Discrete, fields: Fields, *, parents: tuple[Discrete, ...], block: str | None) -> Self:
        """The CPD described by a file."""
        codes, size = fields["codes"].wholes(0, child.num_states - 1), num_entries(parents)
        if codes.size != size:
            raise fields["codes"].error(f"found {codes.size} codes; the parents have {size} joint states")
        results = iter([child.states[code] for code in codes.tolist()])
        return cls(child, lambda *_: next(results), given=parents, block=block)

    @property
    def parameters(self) -> FunctionParameters:
        """The parameters of a function, of which none are free."""
        return FunctionParameters(self)


@registered("multiplexer")
class MultiplexerCPD(DiscreteCPD):
    r"""The child copies the input that a selector picks: $P(x \mid a, \mathbf z) = 1[x = z_a]$.

    Args:
        child: the variable $X$.
        selector: the variable $A$.
        inputs: for each state of the selector, in order (or by state), a variable with the child's states.
        block: the parameters it uses (it has none that are free).

    Reference: Koller & Friedman, section 5.3.1.
    Guarantee: exact, one factor per input.
    Tested by: cpds/test_deterministic.py::test_a_multiplexer_is_one_factor_an_input

    >>> which, left, right = Discrete("which", ("l", "r")), Discrete("left", 3), Discrete("right", 3)
    >>> cpd = MultiplexerCPD(Discrete("seen", 3), which, inputs=(left, right))
    >>> cpd, cpd.irrelevant({"which": "l"})
    (MultiplexerCPD(seen[3] | which[2], left[3], right[3]), (Discrete('right', (0, 1, 2)),))
    """

    __slots__ = ("inputs", "partition", "selector")
    selector: Discrete
    inputs: tuple[Discrete, ...]
    partition: Partition

    def __init__(
        self,
        child: Discrete,
        selector: Discrete,
        *,
        inputs: Sequence[Discrete] | Mapping[State, Discrete],
        block: ParameterBlock | str | None = None,
    ) -> None:
        chosen = _inputs(child, selector, inputs)
        self._init(child, (selector, *dict.fromkeys(chosen)), block)
        fill(self, selector=selector, inputs=chosen)
        fill(self, partition=Partition(self.parents, self._tree()))

    def _tree(self) -> Node:
        k = self.child.num_states
        places = tuple(range(k))
        tests = tuple(
            Node(self.parents.index(source), places, tuple(range(pick * k, pick * k + k)))
            for pick, source in enumerate(self.inputs)
        )
        return Node(self.parents.index(self.selector), tuple(range(len(tests))), tests)

    @property
    def num_parameters(self) -> int:
        """Zero: there are no free parameters."""
        return 0

    def _select(self, rows: Columns, num_rows: int) -> tuple[Floats, Ints]:
        k = self.child.num_states
        return np.eye(k), self.partition.locate(rows, num_rows, self) % k

    def _shown(self) -> Shown:
        """The input for each state of the selector."""
        names = [v.name for v in self.inputs[:MOST_SHOWN]]
        cells = list(zip(map(one_line, self.selector.states), names, strict=False))
        more = cut(len(self.inputs), "inputs")
        return Shown((self.selector.name, f"{self.child.name} is"), cells, self.label, more, words=2)

    def factors(self) -> tuple[Factor, ...]:
        """One factor (selector, input, child) per state of the selector, if that is smaller than the table."""
        if self.size == num_entries(self.scope):
            return super().factors()
        return tuple(self._input_factor(pick, source) for pick, source in enumerate(self.inputs))

    @property
    def size(self) -> int:
        """The entries of one factor per input, or of the table if that is smaller."""
        return min((len(self.inputs) * self.child.num_states) ** 2, num_entries(self.scope))

    def _input_factor(self, pick: int, source: Discrete) -> Table:
        k = self.child.num_states
        values = np.ones((len(self.inputs), k, k))
        values[pick] = np.eye(k)
        return Table((self.selector, source, self.child), values)

    def irrelevant(self, context: Mapping[Any, Any]) -> tuple[Discrete, ...]:
        """The parents outside `context` that drop out in it: all inputs but the selected one, perhaps others."""
        distributions = np.tile(np.eye(self.child.num_states), (len(self.inputs), 1))
        return self.partition.irrelevant(distributions, self.fixed(context))

    @classmethod
    def from_form(cls, child: Discrete, fields: Fields, *, parents: tuple[Discrete, ...], block: str | None) -> Self:
        """The CPD described by a file."""
        known = Universe(parents)
        selector, *inputs = (known[item.text()] for item in (fields["selector"], *fields["inputs"]))
        return cls(child, cast(Discrete, selector), inputs=cast("list[Discrete]", inputs), block=block)

    @property
    def parameters(self) -> MultiplexerParameters:
        """The parameters of a multiplexer, of which none are free."""
        return MultiplexerParameters(self)


@dataclass(frozen=True, eq=False, repr=False)
class NoParameters(DiscreteParameters[D, Floats]):
    """The parameters of a CPD without any: rows satisfy the CPD, or have probability zero."""

    @property
    def arrays(self) -> dict[str, Floats]:
        """An empty dictionary: there are no parameters."""
        return {}

    def from_arrays(self, arrays: Mapping[str, Floats]) -> D:
        """The CPD itself."""
        return self.cpd

    def random(self, rng: np.random.Generator, *, interior: bool = False) -> D:
        """The CPD itself."""
        return self.cpd

    def statistics(self, columns: Columns, weights: Floats | None = None) -> Floats:
        """The number (or total weight) of rows that satisfy the CPD, and of those that do not; additive."""
        num_rows = num_rows_of(columns, self.cpd.child, self.cpd)
        _, expected = self.cpd._select(columns, num_rows)  # its distributions are point masses, in order of states
        broken = (column(columns, self.cpd.child, num_rows, self.cpd) != expected).astype(np.int64)
        return count(broken, 2, checked_weights(weights, num_rows, self.cpd))

    def log_likelihood(self, stats: Floats, *, has_rows: bool = False) -> float:
        """Zero if all rows satisfy the CPD, else minus infinity."""
        return -math.inf if stats[1] > 0 else 0.0

    @property
    def is_exact(self) -> bool:
        """True: there is nothing to estimate."""
        return True

    def prior_term(self, prior: object, cpds: Sequence[D], *, is_theta: bool = False) -> PriorTerm:
        """An empty term: there are no parameters."""
        return PriorTerm()

    def maximized(
        self, stats: Floats, prior: PriorTerm | None = None, *, unseen: object = "uniform", cpds: Sequence[D] = ()
    ) -> D:
        """The CPD itself."""
        return self.cpd

    def for_rows(self, columns: Columns) -> Self:
        """The same parameters: nothing is counted, whatever the number of joint states."""
        return self

    @property
    def zero(self) -> Floats:
        """An empty array: there are no statistics."""
        return np.zeros(0)

    @property
    def engine_form(self) -> D:
        """The CPD itself, with factors that may be smaller than its table."""
        return self.cpd

    @property
    def engine_values(self) -> EngineValues:
        """The values of its factors."""
        return dense_values(self.cpd)

    def expected(self, marginals: Sequence[Floats]) -> Floats:
        """An empty array: there are no statistics."""
        return np.zeros(0)

    def tally(self, columns: Columns, weights: Floats) -> Floats:
        """An empty array: there are no statistics."""
        return np.zeros(0)

    def score(self, stats: Floats) -> float:
        """Zero: completed rows satisfy the CPD."""
        return 0.0

    def estimate(self, stats: Floats, prior: PriorTerm | None = None) -> D:
        """The CPD itself."""
        return self.cpd

    @property
    def varied(self) -> Varied:
        """No rows: there are no parameters."""
        k = self.cpd.child.num_states
        return Varied(np.zeros((0, k)), np.arange(k))

    def varied_slopes(self, slopes: Sequence[Floats]) -> Floats:
        """No rows."""
        return self.varied.rows

    @property
    def coordinates(self) -> Floats:
        """An empty array: there are no coordinates."""
        return np.zeros(0)

    def at(self, coordinates: Floats) -> D:
        """The CPD itself."""
        return self.cpd

    def score_slope(self, stats: Floats) -> Floats:
        """An empty array: there are no coordinates."""
        return np.zeros(0)

    def information(self, stats: Floats) -> Floats:
        """An empty array: there are no coordinates."""
        return np.zeros(0)

    @property
    def names(self) -> tuple[str, ...]:
        """An empty tuple: there are no free parameters."""
        return ()

    @property
    def values(self) -> Floats:
        """An empty array: there are no free parameters."""
        return np.zeros(0)

    def moved(self, step: Floats) -> D:
        """The CPD itself."""
        return self.cpd

    def table_slope(self, slope: Floats) -> Floats:
        """An empty array: there are no free parameters."""
        return np.zeros(0)


class FunctionParameters(NoParameters[DeterministicCPD]):
    """The parameters of a function of the parents, which files store by its values."""

    @property
    def form(self) -> dict[str, Any]:
        """The child's code for each joint state of the parents."""
        return {"codes": self.cpd.codes.tolist()}

    def reordered(self, scope: Scope) -> DeterministicCPD:
        """The same function, with parents and states in another order."""
        *parents, child = discrete_scope(scope)
        codes = self.cpd.codes[Match.of(self.cpd.parents, parents).entries]
        return self.cpd._named((*parents, child), codes=state_codes(self.cpd.child, child)[codes])


class MultiplexerParameters(NoParameters[MultiplexerCPD]):
    """The parameters of a multiplexer, which files store by its selector and its inputs."""

    @property
    def form(self) -> dict[str, Any]:
        """The names of the selector and of the inputs."""
        return {"selector": self.cpd.selector.name, "inputs": [source.name for source in self.cpd.inputs]}

    def reordered(self, scope: Scope) -> MultiplexerCPD:
        """The same choice, with parents and states in another order, which stays that of the child in all inputs."""
        *parents, child = discrete_scope(scope)
        Match.of(self.cpd.parents, parents)
        known = {v.name: v for v in parents}
        selector = known[self.cpd.selector.name]
        order = state_order(self.cpd.selector, selector).tolist()
        inputs = _inputs(child, selector, [known[self.cpd.inputs[code].name] for code in order])
        made = self.cpd._named((*parents, child), selector=selector, inputs=inputs)
        return fill(made, partition=Partition(made.parents, made._tree()))


def _check_calls(cpd: DeterministicCPD) -> None:
    """Raise if the function would be called for too long."""
    number = num_entries(cpd.parents)
    if number > MOST_CALLS:
        raise TooLarge(
            f"{name_of(cpd)} calls its function once for each of {number:,} joint states of the parents; the limit is "
            f"{MOST_CALLS:,}. Write it as a chain of functions of few parents, or as a TreeCPD, RuleCPD or NoisyOr."
        )


def _lookup(cpd: DeterministicCPD, mapping: Mapping[Any, State]) -> Callable[..., State]:
    total = num_entries(cpd.parents)

    def value(*states: State) -> State:
        key = states[0] if len(states) == 1 and states not in mapping else states
        if key not in mapping:
            raise ModelError(f"{name_of(cpd)} was given {len(mapping)} of {total} values; {key!r} is missing.")
        return mapping[key]

    if len(mapping) > total:
        raise ModelError(f"{name_of(cpd)} was given {len(mapping)} values; its parents have {total} joint states.")
    return value


def _inputs(
    child: Discrete, selector: Discrete, inputs: Sequence[Discrete] | Mapping[State, Discrete]
) -> tuple[Discrete, ...]:
    if isinstance(inputs, Mapping):
        by_code = {selector.code(state): source for state, source in inputs.items()}
        listed = tuple(by_code[code] for code in sorted(by_code))
    else:
        listed = tuple(inputs)
    if len(listed) != selector.num_states:
        raise ModelError(
            f"The multiplexer {child.name} has {len(listed)} inputs; its selector {selector.name} has "
            f"{selector.num_states} states. Give one input per state."
        )
    for source in listed:
        if not isinstance(source, Discrete) or source.domain != child.domain:
            raise ModelError(f"The multiplexer {child!r} copies its inputs; {source!r} does not have its states.")
        if source in (child, selector):
            raise ScopeError(f"The multiplexer {child.name} cannot take {source.name} as an input too.")
    return listed
