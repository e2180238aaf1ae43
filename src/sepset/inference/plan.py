"""Plans: what an elimination will cost, known before anything is allocated."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Generic, TypeVar

import numpy as np

from sepset.errors import TooLarge
from sepset.graphs.elimination import EliminationOrder
from sepset.graphs.graph import UndirectedGraph
from sepset.graphs.ordering import GivenOrder, OrderingMethod, elimination_order
from sepset.problem import Problem, Relevant
from sepset.variables import Discrete

BYTES = 8


@dataclass(frozen=True)
class Plan:
    """What a question needs: the relevant part, an elimination order, and its cost in entries and bytes.

    Attributes:
        relevant: the factors and variables that remain after pruning.
        elimination: the order with its cliques and sizes.
        num_variables: how many variables the model has.
        cost: multiplications of variable elimination.
    """

    relevant: Relevant = field(repr=False)
    elimination: EliminationOrder = field(repr=False)
    num_variables: int
    cost: int
    targets: tuple[str, ...] = ()
    observed: tuple[str, ...] = ()

    @property
    def order(self) -> tuple[str, ...]:
        """The variables in elimination order."""
        return self.elimination.order

    @property
    def width(self) -> int:
        """The induced width."""
        return self.elimination.width

    @property
    def largest(self) -> int:
        """The entries of the largest table."""
        return self.elimination.largest

    @property
    def total_size(self) -> int:
        """The entries of all clique tables together."""
        return self.elimination.total_size

    @property
    def memory(self) -> int:
        """Bytes for all clique tables together."""
        return BYTES * self.total_size

    def check(self, limit: int, need: int | None = None) -> None:
        """Refuse a plan that would need more than `limit` bytes; by default its largest step is what counts."""
        need = 3 * BYTES * self.largest if need is None else need
        if need > limit:
            raise TooLarge(
                f"The largest of the plan's tables has {_figure(self.largest)} entries (width {self.width}), about "
                f"{_figure(need / 2**30)} GiB with all it needs; the limit is {limit / 2**30:.3g} GiB. Observe more "
                "variables, ask for fewer targets, raise `memory=` on the method, or use RecursiveConditioning."
            )

    def __str__(self) -> str:
        kept = len(self.relevant.variables)
        lines = [
            f"Plan: {kept} of {self.num_variables} variables and {len(self.relevant.factors)} factors are relevant",
            f"  targets       {_shown(self.targets) or 'every variable'}",
            f"  observed      {_shown(self.observed) or 'none'}",
            f"  order         {_shown(self.order, 12)}",
            f"  width         {self.width}",
            f"  largest table {self.largest:,} entries",
            f"  total         {self.total_size:,} entries, {readable(self.memory)}",
            f"  cost          {self.cost:,} multiplications",
        ]
        return "\n".join(lines)

    def __rich__(self) -> str:
        return str(self)


def _figure(number: float) -> str:
    """A number for people, however large."""
    return f"{number:.3g}" if number < 1e300 else f"10^{len(str(int(number))) - 1}"


def _shown(names: Sequence[str], limit: int = 8) -> str:
    return ", ".join(names[:limit]) + (f", ... ({len(names)} in all)" if len(names) > limit else "")


def readable(size: float) -> str:
    """A number of bytes for people.

    >>> readable(3_400_000)
    '3.2 MiB'
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024 or unit == "GiB":
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    raise AssertionError


def interaction_graph(problem: Problem, relevant: Relevant, extra: Iterable[Sequence[int]] = ()) -> UndirectedGraph:
    """The graph that joins the unobserved variables of each relevant factor, and of each `extra` scope."""
    place = {v: i for i, v in enumerate(relevant.variables)}
    pairs: set[tuple[int, int]] = set()
    for scope in (*map(problem.scope, relevant.factors), *extra):
        ids = sorted(place[v] for v in scope if v in place)
        pairs.update((a, b) for i, a in enumerate(ids) for b in ids[i + 1 :])
    ends = np.array(sorted(pairs), dtype=np.int64).reshape(-1, 2)
    names = [problem.variables[v].name for v in relevant.variables]
    return UndirectedGraph.from_arrays(names, ends[:, 0], ends[:, 1])


def make_plan(
    problem: Problem,
    relevant: Relevant,
    *,
    method: OrderingMethod,
    targets: Sequence[int] = (),
    observed: Sequence[int] = (),
    last: Sequence[int] = (),
    joint: bool = True,
) -> Plan:
    """The plan that eliminates all but `last` first, then `last`; in both, continuous variables before discrete ones.

    Args:
        last: the variables that are eliminated last, or kept.
        joint: whether `last` stays together to the end, as one table.
    """
    variables = problem.variables
    graph = interaction_graph(problem, relevant, [last] if joint else ())
    name = {v: variables[v].name for v in relevant.variables}
    later = set(last)
    parts: dict[tuple[bool, bool], list[str]] = {}
    for v in relevant.variables:
        parts.setdefault((v in later, variables[v].is_discrete), []).append(name[v])
    groups = [parts[key] for key in sorted(parts)]
    if isinstance(method, GivenOrder):
        method = _within(method, problem, groups)
    cards = {name[v]: _card(variables[v]) for v in relevant.variables}
    elimination = elimination_order(graph, cards, method=method, groups=groups)
    scopes = [[name[v] for v in problem.scope(i) if v in name] for i in relevant.factors]
    return Plan(
        relevant=relevant,
        elimination=elimination,
        num_variables=problem.num_visible,
        cost=elimination.cost(scopes),
        targets=tuple(variables[v].name for v in targets),
        observed=tuple(variables[v].name for v in observed),
    )


def _within(given: GivenOrder, problem: Problem, groups: Sequence[Sequence[str]]) -> GivenOrder:
    """The given order as far as a question allows: group by group, and only what is relevant to it."""
    rank = {problem.variables[name].name: i for i, name in enumerate(given.order)}
    return GivenOrder(n for group in groups for n in sorted(group, key=lambda n: rank.get(n, len(rank))))


def _card(variable: object) -> int:
    return variable.num_states if isinstance(variable, Discrete) else 1


Kept = TypeVar("Kept")


class PlanCache(Generic[Kept]):
    """The plans of one engine under the questions they answer: bounded, least recently used, locked."""

    def __init__(self, size: int = 256) -> None:
        self._size = size
        self._plans: OrderedDict[Hashable, Kept] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], Kept]) -> Kept:
        """The plan under `key`, made when it is not there."""
        with self._lock:
            if key in self._plans:
                self._plans.move_to_end(key)
                return self._plans[key]
        plan = make()
        with self._lock:
            self._plans[key] = plan
            while len(self._plans) > self._size:
                self._plans.popitem(last=False)
        return plan
