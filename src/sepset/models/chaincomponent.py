r"""One chain component: variables joined by undirected edges, given their parents.

$$P(\mathbf k \mid \mathbf u) = \frac1{Z(\mathbf u)} \prod_i \phi_i(\mathbf k_i, \mathbf u_i), \qquad
  Z(\mathbf u) = \sum_{\mathbf k} \prod_i \phi_i(\mathbf k_i, \mathbf u_i)$$
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.base.checks import whole
from sepset.base.frozen import Frozen, fill
from sepset.base.lazy import lazy
from sepset.base.text import listing
from sepset.cpds.cpd import CPD
from sepset.errors import DataError, ModelError, ScopeError
from sepset.factors.algebra import (
    MAX_ENTRIES,
    Columns,
    Conditional,
    Factor,
    check_scope,
    check_size,
    num_entries,
    union_of,
)
from sepset.factors.labels import name_of
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.graphs.graph import UndirectedGraph, connected_components
from sepset.graphs.ordering import OrderingTask, refuse_hopeless
from sepset.variables.variable import Discrete, listed

AnyTable = Table | SparseTable

LARGE = 2**14
"""The number of variables of a component from which parts of it are ordered first."""


class ChainComponent(Frozen):
    r"""A conditional Gibbs distribution $P(\mathbf K \mid \mathbf U) \propto \prod_i \phi_i$ of one chain component.

    Args:
        variables: the component $\mathbf K$, connected by its factors.
        factors: tables over the component and its parents; each has a variable of the component.
        given: the parents in the order they will have; those of the factors follow.

    Reference: Koller & Friedman, definition 4.20.

    >>> a, b, u = Discrete("a"), Discrete("b"), Discrete("u")
    >>> ChainComponent((a, b), Table((u, a), [[1, 2], [3, 4]]), Table((a, b), [[5, 1], [1, 5]]))
    ChainComponent(a, b | u)
    """

    variables: tuple[Discrete, ...]
    parents: tuple[Discrete, ...]
    factors: tuple[AnyTable, ...]
    is_normalized: bool

    def __init__(
        self, variables: Iterable[Discrete] | Discrete, *factors: Factor, given: Iterable[Discrete] | Discrete = ()
    ) -> None:
        own = check_scope(listed(variables))
        first = check_scope(listed(given))
        for factor in factors:
            if not isinstance(factor, Table | SparseTable):
                raise ModelError(f"A chain component is made of tables; found {factor!r} of {type(factor).__name__}.")
        scope: tuple[Any, ...] = union_of([own, first, *(f.scope for f in factors)])
        parents = scope[len(own) :]
        fill(self, variables=own, parents=parents, factors=factors, is_normalized=False)
        self._check()

    @classmethod
    def of_cpd(cls, cpd: CPD) -> ChainComponent:
        """The component of one variable with this CPD, which is already normalized."""
        if not isinstance(cpd.child, Discrete) or not all(isinstance(p, Discrete) for p in cpd.parents):
            raise ModelError(f"Chain graphs here are discrete; {name_of(cpd)} is not.")
        factors = (cpd.to_factor(),) if cpd.auxiliaries else cpd.factors()  # type: ignore[attr-defined]
        return fill(cls(cpd.child, *factors, given=cpd.parents), is_normalized=True)  # type: ignore[arg-type]

    def _check(self) -> None:
        if not self.variables:
            raise ModelError("A chain component needs at least one variable.")
        for factor in self.factors:
            if factor.scope and self.members.isdisjoint(factor.scope):
                raise ScopeError(
                    f"{factor!r} has no variable of the component {self!r}; it would cancel out. "
                    "Put it in the component of its own variables."
                )
        groups = connected_components(self.graph) if len(self.variables) > 1 else ()
        if len(groups) > 1:
            shown = " and ".join(f"({', '.join(g)})" for g in groups[:2])
            raise ModelError(f"{self!r} is not connected by its factors: {shown}. Make each part a component.")

    @lazy
    def members(self) -> frozenset[Discrete]:
        """The variables of the component, to look them up."""
        return frozenset(self.variables)

    @lazy
    def graph(self) -> UndirectedGraph:
        """The undirected graph inside the component."""
        own = {v.name for v in self.variables}
        scopes = [[v.name for v in f.scope if v.name in own] for f in self.factors]
        edges = [pair for scope in scopes for pair in itertools.combinations(scope, 2)]
        return UndirectedGraph(self.variables, edges)

    @property
    def _order(self) -> list[Discrete]:
        """The variables, always next the one whose elimination makes the smallest table; raises if that is too large.

        Cost: scopes alone; no table is made.
        """
        self._refuse_parts()
        near: dict[Any, set[Any]] = {v: {v} for v in self.variables}
        for factor in self.factors:
            for v in self.members.intersection(factor.scope):
                near[v].update(factor.scope)
        place = {v: i for i, v in enumerate(self.variables)}
        size = {v: num_entries(scope) for v, scope in near.items()}
        heap = [(size[v], i) for v, i in place.items()]
        heapify(heap)
        order = []
        while heap:
            entries, i = heappop(heap)
            best = self.variables[i]
            if best not in near or entries != size[best]:
                continue  # changed in the meantime
            scope = near.pop(best)
            check_size(tuple(scope))
            order.append(best)
            for v in scope & near.keys():
                near[v] = (near[v] | scope) - {best}
                size[v] = num_entries(near[v])
                heappush(heap, (size[v], place[v]))
        return order

    def _refuse_parts(self) -> None:
        """Raise if a part of a large component is far too wide already."""
        num = len(self.variables)
        if num >= LARGE:
            start, others = self.graph.neighbor_csr
            cards, none = np.array([v.num_states for v in self.variables], np.float64), np.zeros(num, np.int64)
            limit = math.log2(MAX_ENTRIES)
            refuse_hopeless(OrderingTask(self.graph.nodes, start.copy(), others.copy(), cards, none, limit))

    @lazy
    def _eliminated(self) -> tuple[tuple[Conditional, ...], Table]:
        """The conditionals from eliminating the component, in elimination order, and $Z(\\mathbf u)$."""
        order = self._order
        factors: dict[int, Any] = dict(enumerate(self.factors))
        touching: dict[Any, list[int]] = {v: [] for v in self.variables}
        for number, factor in factors.items():
            _note(touching, number, factor)
        conditionals = []
        for number, best in enumerate(order, len(factors)):
            own = [factors.pop(i) for i in touching.pop(best) if i in factors]
            conditional, factors[number] = functools.reduce(operator.mul, own, Table.ones(best)).eliminate([best])
            _note(touching, number, factors[number])
            conditionals.append(conditional)
        total: Any = functools.reduce(operator.mul, factors.values(), Table.ones(()))
        return tuple(conditionals), total if isinstance(total, Table) else total.to_table()

    @property
    def conditionals(self) -> tuple[Conditional, ...]:
        """One conditional per variable of the component, each given later ones and the parents."""
        return self._eliminated[0]

    @lazy
    def normalizer(self) -> Table:
        r"""$1 / Z(\mathbf u)$ as a table over the parents it depends on; raises if $Z(\mathbf u) = 0$.

        Cost: that of eliminating the component.
        """
        total = self._eliminated[1]
        logs = total.log_values.reshape(-1)
        if (logs == -np.inf).any():
            place = np.unravel_index(int(np.flatnonzero(logs == -np.inf)[0]), total.shape or (1,))
            where = ", ".join(f"{v.name}={v.states[int(c)]!r}" for v, c in zip(total.scope, place, strict=False))
            raise ModelError(f"{self!r} has no positive value given ({where}): its factors conflict there.")
        return Table.from_log(total.scope, -logs)

    def all_factors(self) -> tuple[AnyTable, ...]:
        r"""The factors and $1 / Z(\mathbf u)$: their product is $P(\mathbf k \mid \mathbf u)$."""
        return self.factors if self.is_normalized else (*self.factors, self.normalizer)

    def log_probability(self, columns: Columns, num_rows: int) -> Floats:
        r"""$\log P(\mathbf k \mid \mathbf u)$ for each row of codes."""
        total = np.zeros(whole("num_rows", num_rows))
        for factor in self.all_factors():
            absent = [v.name for v in factor.scope if v not in columns]
            if absent:
                raise DataError(f"{self!r} needs a column for {listing(absent)}.")
            codes = [np.asarray(columns[v], np.int64) for v in factor.scope]
            if any(column.shape != (num_rows,) for column in codes):
                found = listing([column.shape for column in codes])
                raise DataError(f"{self!r} needs columns of {num_rows} codes, as num_rows= says; found shapes {found}.")
            total += factor.log_at(np.stack(codes, axis=1) if codes else np.zeros((num_rows, 0), np.int64))
        return total

    def sample(self, rows: Columns, num_rows: int, rng: np.random.Generator) -> Columns:
        """Exact draws of the component for each row of parent codes: elimination, then back-substitution."""
        self.all_factors()
        whole("num_rows", num_rows)
        known = dict(rows)
        for parent in self.parents:
            if parent not in known or np.shape(known[parent]) != (num_rows,):
                found = "none" if parent not in known else f"the shape {np.shape(known[parent])}"
                raise DataError(f"{self!r} needs a column of {num_rows} codes of {parent.name!r}; found {found}.")
        for conditional in reversed(self.conditionals):
            known.update(conditional.sample({v: known[v] for v in conditional.parents}, num_rows, rng))
        return {v: known[v] for v in self.variables}

    def __repr__(self) -> str:
        names = ", ".join(v.name for v in self.variables)
        given = ", ".join(v.name for v in self.parents)
        return f"ChainComponent({names} | {given})" if given else f"ChainComponent({names})"


def _note(touching: dict[Any, list[int]], number: int, factor: Any) -> None:
    """Add the number of a factor to those of its variables that are still to be eliminated."""
    for v in factor.scope:
        if v in touching:
            touching[v].append(number)


def owners(components: Iterable[ChainComponent]) -> dict[str, ChainComponent]:
    """The component of each variable; raises if a variable is in two."""
    found: dict[str, ChainComponent] = {}
    for component in components:
        for variable in component.variables:
            known = found.setdefault(variable.name, component)
            if known is not component:
                raise ModelError(f"{variable.name!r} is in two chain components, {known!r} and {component!r}.")
    return found


def check_parents(component: ChainComponent, owner: dict[str, ChainComponent]) -> None:
    """Raise if a parent is in no component, or has other states there."""
    for parent in component.parents:
        source = owner.get(parent.name)
        if source is None:
            raise ModelError(
                f"{component!r} has the parent {parent.name!r}, which is in no component; "
                f"the variables are {listing(owner)}."
            )
        if parent not in source.members:
            raise ModelError(f"{component!r} has the parent {parent!r}; {source!r} has it with other states.")
