r"""Mini-buckets: bounds of partial assignments by an elimination whose tables are kept small.

The functions of a variable are partitioned so that the sum of each part has a table of limited size, and

$$\max_x \sum_j g_j(x, \mathbf s) \le \sum_{\text{parts}} \max_x \sum_{j \in \text{part}} g_j(x, \mathbf s)$$

is sent on in place of the maximum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sepset.base.arraytypes import AnyArray, Floats, Ints
from sepset.base.threads import require_time
from sepset.errors import TooLarge
from sepset.graphs.csr import pairs_within_rows
from sepset.graphs.graph import UndirectedGraph
from sepset.graphs.ordering import MinFill, elimination_order
from sepset.inference.wiring import Wiring
from sepset.kernels.map.branching import Buckets

MAX_TABLES = 2**25
"""The largest number of entries of all tables together."""


class Function(NamedTuple):
    """Log values over variables, which are numbered by their place in the search, in increasing order."""

    scope: tuple[int, ...]
    values: Floats


@dataclass(frozen=True, eq=False)
class MiniBuckets:
    """The bounds of partial assignments of a wired model.

    Attributes:
        order: the variables in the order of the search.
        root: the bound of the empty assignment.
        buckets: the functions of each variable's bucket, as kernels take them.
        is_exact: whether no bucket was partitioned: the bounds are then the best values.

    Reference: Dechter & Rish (2003), Mini-buckets: a general scheme for bounded inference.
    Guarantee: upper bound.
    Tested by: inference/map/test_minibuckets.py::test_bounds_of_partial_assignments_by_enumeration
    """

    order: Ints
    root: float
    buckets: Buckets
    is_exact: bool

    @classmethod
    def of(cls, wiring: Wiring, messages: Floats, *, entries: int) -> MiniBuckets:
        """The mini-buckets of the model after its factors and variables exchanged messages.

        Args:
            messages: one number per state of every slot; any leave the values as they are, good ones give good bounds.
            entries: the most entries of a part's table, unless one function has more; fewer if all tables together
                would be too large.
        """
        order = search_order(wiring)
        functions = functions_of(wiring, messages, order)
        while True:
            try:
                return cls._of(wiring, order, functions, entries)
            except TooLarge:
                if entries == 1:
                    raise
                entries = max(1, entries // 8)

    @classmethod
    def _of(cls, wiring: Wiring, order: Ints, functions: Sequence[Function], entries: int) -> MiniBuckets:
        """The mini-buckets of functions, if they fit."""
        waiting: list[list[Function]] = [[] for _ in order]
        for function in functions:
            waiting[function.scope[-1]].append(function)
        root, signed, is_exact = wiring.constant, _Tables(), True
        for d in range(len(order) - 1, -1, -1):
            require_time()
            parts = partition(waiting[d], wiring.plugs.cards[order], entries)
            is_exact = is_exact and len(parts) <= 1
            sent = [maximum_of(part) for part in parts]
            for message in sent:
                if message.scope:
                    waiting[message.scope[-1]].append(message)
                else:
                    root += float(message.values)
            signed.put(waiting[d], sent)
        return cls(order, root, signed.finish(wiring.plugs.cards[order]), is_exact)


def search_order(wiring: Wiring) -> Ints:
    """The variables in the order of a search: the last one to be eliminated first."""
    ends = pairs_within_rows((wiring.plugs.starts, wiring.plugs.scope.astype(np.int32)))
    names = [str(i) for i in range(wiring.num_variables)]
    graph = UndirectedGraph.from_arrays(names, sources=ends[:, 0], targets=ends[:, 1])
    cards = dict(zip(names, wiring.plugs.cards.tolist(), strict=True))
    found = elimination_order(graph, cards, method=MinFill()).order
    return np.array([int(name) for name in reversed(found)], np.int64)


def functions_of(wiring: Wiring, messages: Floats, order: Ints) -> list[Function]:
    """The factors and the values of single variables after exchanging messages, their axes in search order."""
    depth, wires = np.argsort(order, kind="stable"), wiring.wires
    beliefs, found = wiring.unary.copy(), []
    for f in range(wiring.num_factors):
        require_time()
        table, scope = wiring.table(f).copy(), depth[wiring.scope(f)]
        for axis, s in enumerate(range(wires.starts[f], wires.starts[f + 1])):
            given = messages[wires.messages[s] : wires.messages[s + 1]]
            own = int(wires.states[wires.scope[s]])
            beliefs[own : own + len(given)] += given
            table -= given.reshape([-1 if a == axis else 1 for a in range(table.ndim)])
        axes = np.argsort(scope, kind="stable")
        found.append(Function(tuple(scope[axes].tolist()), table.transpose(axes)))
    for d, i in enumerate(order.tolist()):
        found.append(Function((d,), beliefs[wires.states[i] : wires.states[i + 1]]))
    return found


def partition(functions: Sequence[Function], cards: Ints, entries: int) -> list[list[Function]]:
    """A partition into parts of limited tables: each function, large ones first, joins the first part that has room."""
    parts: list[tuple[set[int], list[Function]]] = []
    for function in sorted(functions, key=lambda g: -g.values.size):
        for scope, members in parts:
            wide = scope | set(function.scope)
            if wide == scope or math.prod(int(cards[v]) for v in wide) <= entries:
                scope |= wide
                members.append(function)
                break
        else:
            parts.append((set(function.scope), [function]))
    return [members for _, members in parts]


def maximum_of(part: Sequence[Function]) -> Function:
    """The maximum of a sum over the last variable."""
    wide = sorted({v for function in part for v in function.scope})
    total: Any = 0.0
    for scope, values in part:
        size = dict(zip(scope, values.shape, strict=True))
        total = total + values.reshape([size.get(v, 1) for v in wide])
    return Function(tuple(wide[:-1]), np.asarray(total.max(axis=-1)))


class _Tables:
    """Collects the functions of buckets, from the last one to the first."""

    def __init__(self) -> None:
        self.rows: list[list[tuple[Function, float]]] = []
        self.size = 0

    def put(self, functions: Sequence[Function], sent: Sequence[Function]) -> None:
        """Add a bucket."""
        self.rows.append([*((g, 1.0) for g in functions), *((g, -1.0) for g in sent)])
        self.size += sum(g.values.size for g, _ in self.rows[-1])
        if self.size > MAX_TABLES:
            raise TooLarge(
                f"The tables of mini-buckets have more than {MAX_TABLES:.3g} entries. Use fewer entries= or MPLP()."
            )

    def finish(self, cards: Ints) -> Buckets:
        """The arrays of all buckets."""
        rows = self.rows[::-1]
        listed = [(d, g, sign) for d, row in enumerate(rows) for g, sign in row]
        earlier = [[v for v in g.scope if v < d] for d, g, _ in listed]
        return Buckets(
            cards.astype(np.int64),
            _starts(cards),
            _starts([len(row) for row in rows]),
            _starts([len(scope) for scope in earlier]),
            np.array([v for scope in earlier for v in scope], np.int64),
            np.array([s for d, g, _ in listed for v, s in steps_of(g) if v < d], np.int64),
            np.array([dict(steps_of(g)).get(d, 0) for d, g, _ in listed], np.int64),
            np.array([sign for _, _, sign in listed]),
            _starts([g.values.size for _, g, _ in listed])[:-1],
            np.concatenate([np.zeros(0), *(g.values.reshape(-1) for _, g, _ in listed)]),
        )


def steps_of(function: Function) -> list[tuple[int, int]]:
    """Each variable of a function with its step in the flat table."""
    shape = function.values.shape
    return [(v, math.prod(shape[at + 1 :])) for at, v in enumerate(function.scope)]


def _starts(sizes: AnyArray | Sequence[int]) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
