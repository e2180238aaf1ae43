r"""Wiring: a discrete problem, reduced by evidence, as flat index arrays for compiled passes over all of its factors.

$$\log \tilde P(\mathbf x, \mathbf e) = c + \sum_i \theta_i(x_i) + \sum_f \theta_f(\mathbf x_f)$$

Blocks are flattened as wholes: a grid of a million variables takes a few array operations and no Python objects.
Factors of one variable are added up, and tables of two that only tell equal from unequal states become weights.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Int32s, Ints
from sepset.base.frozen import fixed, read_only
from sepset.base.lazy import lazy
from sepset.base.text import listing
from sepset.base.threads import interruptible
from sepset.errors import NotApplicable, TooLarge
from sepset.factors.algebra import MAX_ENTRIES
from sepset.inference.plugs import (
    Part,
    PlugBuilder,
    Plugs,
    logarithms,
    named_values,
    numbered_values,
    parts_of,
    require_discrete,
    starts_of,
)
from sepset.kernels.map.consistency import prune
from sepset.kernels.propagation.traversal import traverse
from sepset.kernels.propagation.wires import (
    AT_LEAST_ONE,
    GROUP,
    PARITY,
    TABLE,
    Wires,
    first_modes,
    log_value,
    sort_slots,
)
from sepset.problem import Problem
from sepset.variables.evidence import Evidence
from sepset.variables.universe import Universe

LARGEST = 1e100
"""The largest size of a log value: sums of many, and products with numbers of states, are numbers as well."""

MOST_TABLED = 2**16
"""The most entries of a table that a group or a count is made into."""


class Traversal(NamedTuple):
    """The factors breadth first.

    Attributes:
        order: the factors in this order.
        up: for each slot, whether the factor was reached from its variable.
        is_forest: whether the graph of variables and factors has no cycle.
    """

    order: Ints
    up: Bytes
    is_forest: bool

    @classmethod
    def of(cls, wires: Wires, factors: Ints, left_out: Bytes) -> Traversal:
        """The traversal from the first variable of each component.

        Args:
            factors: the factor of each slot.
            left_out: one for each factor that does not count.
        """
        n, left = len(wires.cards), left_out == 0
        num, slots = int(left.sum()), int(left[factors].sum())
        order, up, queue = np.zeros(num, np.int64), np.zeros(len(factors), np.uint8), np.zeros(max(n, 1), np.int64)
        components = int(traverse(wires, factors, np.zeros(n, np.uint8), left_out.copy(), queue, order, up))
        return cls(order, up, n + num - slots == components)


@dataclass(frozen=True, eq=False)
class Wiring:
    """The unobserved discrete variables of a problem with their factors, as flat arrays.

    Attributes:
        free: the position of each variable in the problem.
        numbers: the number in the problem of each factor over two and more variables.
        plugs: these factors, without their places among the factors of each variable.
        unary: the log values of single variables, all states of the first one first.
        constant: the log value of the factors without variables.
        variables: those of the problem, for messages.

    Guarantee: exact.
    Tested by: inference/test_wiring.py::test_values_are_those_of_the_problem

    >>> from sepset.factors.block import FactorBlock
    >>> from sepset.factors.potentials import Potts
    >>> from sepset.variables.variable import Discrete
    >>> chain = FactorBlock([[0, 1], [1, 2]], (2, 2), values=Potts(1.0))
    >>> wiring = Wiring.of(Problem(Universe([Discrete(n) for n in "abc"]), (chain,)), Evidence({2: 1}))
    >>> wiring.free.tolist(), wiring.unary.tolist(), wiring.log_value([1, 1])
    ([0, 1], [0.0, 0.0, 0.0, 1.0], 2.0)
    """

    free: Ints
    numbers: Ints
    plugs: Plugs
    unary: Floats
    constant: float
    variables: Universe

    @lazy
    def wires(self) -> Wires:
        """The factors as the kernels take them."""
        plugs, n = self.plugs, len(self.free)
        degrees, slots = np.zeros(n + 1, np.int64), np.empty(len(plugs.scope), np.int64)
        sort_slots(plugs.scope, degrees, slots)
        messages = starts_of(plugs.cards[plugs.scope])
        first = plugs.cards, plugs.states, plugs.starts, plugs.scope, degrees, slots, messages
        rest = plugs.kinds, plugs.places, plugs.tables, plugs.weights, plugs.limits
        made = Wires._make([fixed(array) for array in (*first, *rest)])
        return made._replace(tables=plugs.tables)  # which triplets change in place

    @classmethod
    def of(cls, problem: Problem, evidence: Evidence | None = None) -> Wiring:
        """The wiring of a problem at some evidence, by which continuous variables must be observed.

        Cost: a pass over the tables.
        """
        found = Evidence() if evidence is None else evidence
        if found.soft:
            names = listing([problem.variables[v].name for v in sorted(found.soft)])
            raise NotApplicable(f"Soft findings are fitted before a model is wired; found {names}. Use marginals().")
        require_discrete(problem, found)
        builder = PlugBuilder(problem.variables, found)
        for part in parts_of(problem, found):
            builder.add(part)
        for position, weights in sorted(found.weights.items()):
            logs = logarithms(np.asarray(weights, np.float64)).reshape(1, -1)
            builder.add(Part(np.array([[position]]), np.array([-1]), logs))
        made = cls(*builder.finish(), problem.variables)
        made._require_range()
        return made

    @property
    def num_variables(self) -> int:
        """The number of variables."""
        return len(self.free)

    @property
    def num_factors(self) -> int:
        """The number of factors over two and more variables."""
        return len(self.plugs.kinds)

    @lazy
    def factors(self) -> Ints:
        """The factor of each slot."""
        return read_only(np.repeat(np.arange(self.num_factors), np.diff(self.plugs.starts)))

    @lazy
    def is_pairwise(self) -> bool:
        """Whether no factor has more than two variables."""
        return bool((np.diff(self.plugs.starts) == 2).all())

    @lazy
    def pair_factors(self) -> Ints:
        """The factors of two variables."""
        return read_only(np.flatnonzero(np.diff(self.plugs.starts) == 2))

    @lazy
    def pair_plugs(self) -> Plugs:
        """The factors of two variables alone."""
        plugs, chosen = self.plugs, self.pair_factors
        if self.is_pairwise:
            return plugs
        scope = plugs.scope[plugs.starts[chosen][:, None] + np.arange(2)].reshape(-1)
        each = {name: getattr(plugs, name)[chosen] for name in ("kinds", "places", "weights", "limits")}
        made = plugs._replace(starts=2 * np.arange(len(chosen) + 1), scope=scope, **each)
        for array in made:
            read_only(array)
        return made

    @lazy
    def pairs(self) -> Int32s:
        """The two variables of each factor of two, `[m, 2]`."""
        return read_only(self.pair_plugs.scope.astype(np.int32).reshape(-1, 2))

    @lazy
    def modes(self) -> Ints:
        """The best state of each variable alone."""
        found = np.empty(self.num_variables, np.int64)
        first_modes(self.plugs.states, self.unary, found)
        return read_only(found)

    @lazy
    def chain_weights(self) -> Floats:
        """For models in pairs, one over the larger of the numbers of earlier and later neighbors of each variable."""
        pairs, n = self.plugs.scope.reshape(-1, 2), self.num_variables
        low, high = np.minimum(pairs[:, 0], pairs[:, 1]), np.maximum(pairs[:, 0], pairs[:, 1])
        most = np.maximum(np.bincount(low, minlength=n), np.bincount(high, minlength=n))
        return read_only(np.asarray(1.0 / np.maximum(most, 1)))

    @lazy
    def largest_size(self) -> float:
        """The largest size of a log value other than -inf, of a variable alone or of a factor."""
        return max(_largest_size(array) for array in (self.unary, self.plugs.tables, self.plugs.weights))

    def _require_range(self) -> None:
        """Raise if log values are so large that sums of them are not numbers."""
        if self.largest_size <= LARGEST:
            return
        for f in range(self.num_factors):
            if max(_largest_size(np.atleast_1d(self.plugs.weights[f])), self._table_size(f)) > LARGEST:
                where = f"those of factor {self.numbers[f]}"
                break
        else:
            i = int(np.searchsorted(self.plugs.states, int(np.argmax(_sizes(self.unary))), "right")) - 1
            where = f"those of {self.name(i)!r} alone"
        raise NotApplicable(
            f"Message passing and search take log values up to {LARGEST:g} in size; {where} are larger "
            f"({self.largest_size:.3g}). Subtract a constant from them, scale them down, or use -inf for what is "
            "impossible."
        )

    def _table_size(self, f: int) -> float:
        """The largest size of a log value in the table of a factor; zero if it has none."""
        if self.plugs.kinds[f] != TABLE:
            return 0.0
        size = int(np.prod(self.plugs.cards[self.scope(f)]))
        return _largest_size(self.plugs.tables[self.plugs.places[f] : self.plugs.places[f] + size])

    @lazy
    def degrees(self) -> Ints:
        """The number of factors of each variable."""
        return read_only(np.bincount(self.plugs.scope, minlength=self.num_variables))

    @lazy
    def is_forest(self) -> bool:
        """Whether the graph of variables and factors has no cycle, for which it must have few enough slots."""
        return len(self.plugs.scope) <= self.num_variables + self.num_factors and self.traversal.is_forest

    @lazy
    def traversal(self) -> Traversal:
        """The factors breadth first, from the first variable of each component."""
        return self.traversal_of(np.zeros(self.num_factors, np.uint8))

    def traversal_of(self, left_out: Bytes) -> Traversal:
        """The traversal of the factors that are not marked."""
        return Traversal.of(self.wires, self.factors, left_out)

    @lazy
    def widest(self) -> int:
        """The largest number of states of all variables of one factor."""
        return int(np.diff(self.wires.messages[self.plugs.starts]).max(initial=1))

    @lazy
    def consistent(self) -> Wiring:
        """The same values for messages: -inf for states that arc consistency rules out, no groups and no counts."""
        tabled, unary = self.tabled, self._supported
        return tabled if unary is self.unary else replace(tabled, unary=unary)

    @lazy
    def _supported(self) -> Floats:
        """The log values of single variables, -inf for the states that arc consistency rules out."""
        live, kinds = (self.unary > -np.inf).astype(np.uint8), self.plugs.kinds
        if (
            live.all()
            and np.isfinite(self.plugs.tables).all()
            and not ((kinds == PARITY) | (kinds == AT_LEAST_ONE)).any()
        ):
            return self.unary
        wires = self.wires
        found = np.empty(int(wires.messages[-1]), np.uint8)
        room = np.empty(int(np.diff(wires.starts).max(initial=1)), np.int64)
        while interruptible(lambda cancel: prune(wires, live, found, room, cancel), is_partial=True):
            pass  # what is ruled out when the time ends is ruled out rightly
        return read_only(np.where(live > 0, self.unary, -np.inf))

    @lazy
    def tabled(self) -> Wiring:
        """The same values, with tables for groups and counts; raises if one is too large."""
        plugs, chosen = self.plugs, np.flatnonzero(self.plugs.kinds >= GROUP)
        if not len(chosen):
            return self
        sizes = self._table_sizes
        if not self.has_tables:
            f = int(chosen[np.argmax(sizes)])
            raise NotApplicable(
                f"Messages and bounds need a table of factor {self.numbers[f]}, which has {sizes.max():.3g} entries "
                f"over {len(self.scope(f))} variables. Use AlphaExpansion(), QPBO() or CliqueTree()."
            )
        tables = [self.table(f).reshape(-1) for f in chosen.tolist()]
        kinds, places = plugs.kinds.copy(), plugs.places.copy()
        kinds[chosen], places[chosen] = TABLE, len(plugs.tables) + starts_of(sizes)[:-1]
        made = plugs._replace(kinds=kinds, places=places, tables=np.concatenate([plugs.tables, *tables]))
        for array in made:
            read_only(array)
        return replace(self, plugs=made)

    @lazy
    def _table_sizes(self) -> Floats:
        """The number of entries of the table of each group and count."""
        chosen = np.flatnonzero(self.plugs.kinds >= GROUP).tolist()
        return np.array([np.prod(self.plugs.cards[self.scope(f)], dtype=np.float64) for f in chosen])

    @property
    def has_tables(self) -> bool:
        """Whether every group and count can become a table, for messages and bounds."""
        return bool((self._table_sizes <= MOST_TABLED).all())

    @property
    def is_possible(self) -> bool:
        """Whether arc consistency leaves a state to every variable; without, no assignment has a positive value."""
        starts, live = self.plugs.states, self._supported > -np.inf
        return self.constant > -np.inf and bool(np.logical_or.reduceat(live, starts[:-1]).all() if len(live) else True)

    def require_pairs(self, method: object) -> None:
        """Raise if a factor has more than two variables, for methods that take no larger ones."""
        arities = np.diff(self.plugs.starts)
        if (arities > 2).any():
            f = int(np.argmax(arities > 2))
            raise NotApplicable(
                f"{type(method).__name__} takes factors of at most two variables; factor {self.numbers[f]} has "
                f"{arities[f]}: {listing([self.name(i) for i in self.scope(f).tolist()])}. Use MPLP() or CliqueTree()."
            )

    def require_tables(self, method: object) -> None:
        """Raise if a factor is too large for a table."""
        for f in np.flatnonzero(np.diff(self.plugs.starts) > 24).tolist():
            raise NotApplicable(
                f"{type(method).__name__} takes factors whose tables fit; factor {self.numbers[f]} has "
                f"{len(self.scope(f))} variables. Use MPLP()."
            )

    def name(self, i: int) -> str:
        """The name of a variable."""
        return self.variables[int(self.free[i])].name

    def log_value(self, codes: Sequence[int] | Ints) -> float:
        """The log value of an assignment, one code per variable, evidence and constants included."""
        own = np.array(codes, np.int64)  # a kernel is compiled once more for arrays that are read-only
        if self._steps is None:
            return self.constant + float(log_value(self.wires, self.unary, own))
        plugs = self.plugs
        at = plugs.places + np.add.reduceat(self._steps * own[plugs.scope], plugs.starts[:-1])
        return self.constant + float(self.unary[plugs.states[:-1] + own].sum() + plugs.tables[at].sum())

    @lazy
    def _steps(self) -> Ints | None:
        """The step of each slot in the table of its factor; None if some factor has no table."""
        plugs = self.plugs
        if not len(plugs.kinds) or (plugs.kinds != TABLE).any():
            return None
        cards, last = plugs.cards[plugs.scope], np.repeat(plugs.starts[1:], np.diff(plugs.starts))
        steps, widest = np.ones(len(cards), np.int64), int(np.diff(plugs.starts).max())
        for ahead in range(1, widest):
            after = np.arange(len(cards)) + ahead
            steps *= np.where(after < last, cards[np.minimum(after, len(cards) - 1)], 1)
        return steps

    def logs(self, i: int) -> Floats:
        """The log values of one variable alone."""
        return self.unary[self.plugs.states[i] : self.plugs.states[i + 1]]

    def home(self, places: Sequence[int]) -> int | None:
        """The smallest factor that covers some variables; None if there is none."""
        inside = np.isin(self.plugs.scope, list(places))
        counts = np.bincount(self.factors, inside, minlength=self.num_factors)
        covering = np.flatnonzero(counts == len(places))
        arities = np.diff(self.plugs.starts)
        return int(covering[np.argmin(arities[covering])]) if len(covering) else None

    def scope(self, f: int) -> Ints:
        """The variables of one factor."""
        return self.plugs.scope[self.plugs.starts[f] : self.plugs.starts[f + 1]]

    def table(self, f: int) -> Floats:
        """The log values of one factor, with an axis per variable of its scope; its size is checked first."""
        plugs, shape = self.plugs, tuple(self.plugs.cards[self.scope(f)].tolist())
        if plugs.kinds[f] == TABLE:
            return plugs.tables[plugs.places[f] : plugs.places[f] + math.prod(shape)].reshape(shape)
        if math.prod(shape) > MAX_ENTRIES:
            raise TooLarge(f"A factor over {len(shape)} variables has a table of {math.prod(shape):.3g} entries.")
        kind, codes = int(plugs.kinds[f]), np.indices(shape)
        if kind < GROUP:
            return named_values(kind, float(plugs.weights[f]), float(plugs.limits[f]), codes)
        size = shape[0] if kind == GROUP else len(shape) + 1
        numbers = plugs.tables[plugs.places[f] : plugs.places[f] + size][None]
        chosen = plugs.weights[f : f + 1], plugs.limits[f : f + 1]
        return numbered_values(kind, numbers, *chosen, codes.reshape(len(shape), -1)).reshape(shape)

    def tables(self, factors: Ints) -> Floats:
        """The log values of factors over two variables and of one shape, `[factors, states, states]`."""
        plugs, shape = self.plugs, tuple(self.plugs.cards[self.scope(int(factors[0]))].tolist())
        found, kinds = np.empty((len(factors), *shape)), plugs.kinds[factors]
        for kind in np.unique(kinds).tolist():
            chosen = factors[kinds == kind]
            if kind == TABLE:
                entries = plugs.tables[plugs.places[chosen][:, None] + np.arange(math.prod(shape))]
                found[kinds == kind] = entries.reshape(-1, *shape)
            else:
                weights, limits = (each[chosen][:, None, None] for each in (plugs.weights, plugs.limits))
                found[kinds == kind] = named_values(kind, weights, limits, np.indices(shape))
        return found

    def __repr__(self) -> str:
        return f"Wiring({self.num_variables} variables, {self.num_factors} factors)"


def _sizes(logs: Floats) -> Floats:
    """The size of each log value, zero for -inf."""
    return np.where(logs > -np.inf, np.abs(logs), 0.0)


def _largest_size(logs: Floats) -> float:
    """The largest size of log values other than -inf; infinite if one is not a number."""
    if not len(logs):
        return 0.0
    low, high = float(logs.min()), float(logs.max())
    found = max(-low, high) if low > -np.inf else float(_sizes(logs).max())
    return np.inf if np.isnan(found) else found
