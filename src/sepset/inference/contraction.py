r"""Clique trees as contractions: every message is a chain of binary sums of products, and so is every gradient.

A clique never becomes a table. Its message $\sum_{C - S} \prod_i \phi_i$ is contracted pairwise, small results first.
The reverse sweep follows each step $d = \sum a b$ with $\bar a = \sum \bar d\, b$ and $\bar b = \sum \bar d\, a$; then
$t \bar t / Z$ is the marginal over the scope of any tensor $t$, and no division by a message ever happens.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sepset.graphs.elimination import EliminationOrder

Ranks = tuple[int, ...]
"""Variables by their place in the elimination order, ascending: also the axis order of every tensor."""

ONE = 0
"""The tensor that is the number one."""


@dataclass(frozen=True, slots=True)
class Groups:
    """The cliques of a tree in collect order: which one eliminates each variable, and what each passes on.

    Attributes:
        group: for each rank the clique that eliminates it; -1 for kept variables.
        sepsets: for each clique the ranks of its message.
    """

    group: tuple[int, ...]
    sepsets: tuple[Ranks, ...]


def tree_groups(elimination: EliminationOrder, kept: int = 0, *, merge: bool = True) -> Groups:
    """The maximal cliques of an order, children before parents.

    Args:
        kept: how many variables at the end of the order stay.
        merge: False gives every variable a clique of its own, as orders with several semirings need.
    """
    rank = {name: i for i, name in enumerate(elimination.order)}
    num = len(rank) - kept
    keeper = [elimination.absorbed[i] if merge else i for i in range(num)]
    members: dict[int, list[int]] = {}
    for i, k in enumerate(keeper):
        members.setdefault(k, []).append(i)
    sepsets = {k: tuple(sorted({rank[n] for n in elimination.cliques[k]} - set(own))) for k, own in members.items()}
    order = _children_first({k: keeper[s[0]] if s and s[0] < num else -1 for k, s in sepsets.items()})
    number = {k: i for i, k in enumerate(order)}
    return Groups(tuple(number[k] for k in keeper) + (-1,) * kept, tuple(sepsets[k] for k in order))


def _children_first(parent: dict[int, int]) -> list[int]:
    waiting = dict.fromkeys(parent, 0)
    for p in parent.values():
        if p >= 0:
            waiting[p] += 1
    ready = [k for k, count in waiting.items() if count == 0]
    order: list[int] = []
    while ready:
        k = ready.pop()
        order.append(k)
        if parent[k] >= 0:
            waiting[parent[k]] -= 1
            if waiting[parent[k]] == 0:
                ready.append(parent[k])
    return order


@dataclass(slots=True)
class Contraction:
    """Tensors and the binary steps between them; built once, then read.

    Attributes:
        cards: the number of states by rank.
        scopes: the scope of each tensor; the first is the number one, then come the inputs.
        steps: (result, first, second); a second of `ONE` only sums.
        num_inputs: how many tensors are given.
        roots: tensors whose product is the answer of the forward sweep.
        inboxes: for each clique the tensors it multiplies.
    """

    cards: Sequence[int]
    scopes: list[Ranks]
    num_inputs: int = 0
    steps: list[tuple[int, int, int]] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)
    inboxes: list[list[int]] = field(default_factory=list)
    adjoints: dict[int, int] = field(default_factory=dict)
    _known: dict[tuple[int, int, Ranks], int] = field(default_factory=dict)

    def size(self, scope: Iterable[int]) -> int:
        """The number of joint states of a scope."""
        return math.prod(self.cards[r] for r in scope)

    def step(self, first: int, second: int, scope: Ranks) -> int:
        """The tensor over `scope` that sums the product of two; an identical step is made once."""
        if second == ONE and self.scopes[first] == scope:
            return first
        if first == ONE and self.scopes[second] == scope:
            return second
        key = (min(first, second), max(first, second), scope)
        if key not in self._known:
            self.scopes.append(scope)
            self._known[key] = len(self.scopes) - 1
            a, b = (second, first) if first == ONE else (first, second)
            self.steps.append((len(self.scopes) - 1, a, b))
        return self._known[key]

    @property
    def work(self) -> int:
        """Multiplications of all steps."""
        return sum(self.size({*self.scopes[a], *self.scopes[b]}) for _, a, b in self.steps)

    @property
    def entries(self) -> int:
        """Numbers that all tensors hold together."""
        return sum(self.size(scope) for scope in self.scopes)


def contract(inputs: Sequence[Ranks], cards: Sequence[int], groups: Groups, kept: Ranks = ()) -> Contraction:
    """The forward sweep: cliques in collect order, each contracted to its sepset; what is left covers `kept`.

    Reference: Koller & Friedman, algorithm 10.1; the pairwise order is greedy on the size of results.
    """
    made = Contraction(cards, [(), *inputs], len(inputs))
    inboxes: list[list[int]] = [[] for _ in groups.sepsets]
    rest: list[int] = []

    def send(tensor: int) -> None:
        scope = made.scopes[tensor]
        home = groups.group[scope[0]] if scope else -1
        (inboxes[home] if home >= 0 else rest).append(tensor)

    for tensor in range(1, len(inputs) + 1):
        send(tensor)
    for inbox, sepset in zip(inboxes, groups.sepsets, strict=True):
        send(_combined(made, inbox, frozenset(sepset)))
    made.inboxes = inboxes
    made.roots = rest if not kept else [_combined(made, rest, frozenset(kept))]
    return made


def _combined(made: Contraction, inbox: Sequence[int], out: frozenset[int]) -> int:
    """One tensor over `out` from several, pair by pair."""
    work = [_private_summed(made, t, [u for u in inbox if u != t], out) for t in inbox]
    while len(work) > 1:
        counts: dict[int, int] = {}
        for tensor in work:
            for r in made.scopes[tensor]:
                counts[r] = counts.get(r, 0) + 1
        i, j, scope = _best_pair(made, work, counts, out)
        result = made.step(work[i], work[j], scope)
        work = [t for place, t in enumerate(work) if place not in (i, j)] + [result]
    if not work:
        return ONE
    return made.step(work[0], ONE, tuple(r for r in made.scopes[work[0]] if r in out))


def _private_summed(made: Contraction, tensor: int, others: Sequence[int], out: frozenset[int]) -> int:
    """The tensor without the variables that neither the others nor the result mention."""
    if not others:
        return tensor
    mentioned = out.union(*(made.scopes[t] for t in others))
    return made.step(tensor, ONE, tuple(r for r in made.scopes[tensor] if r in mentioned))


def _best_pair(
    made: Contraction, work: Sequence[int], counts: dict[int, int], out: frozenset[int]
) -> tuple[int, int, Ranks]:
    """The pair whose product grows least over its operands; less work breaks ties."""
    if len(work) == 2:
        return 0, 1, _result(made.scopes[work[0]], made.scopes[work[1]], counts, out)
    sizes = [made.size(made.scopes[t]) for t in work]
    best: tuple[tuple[int, int], int, int, Ranks] | None = None
    for i, first in enumerate(work):
        for j in range(i + 1, len(work)):
            a, b = made.scopes[first], made.scopes[work[j]]
            scope = _result(a, b, counts, out)
            key = (made.size(scope) - sizes[i] - sizes[j], made.size({*a, *b}))
            if best is None or key < best[0]:
                best = (key, i, j, scope)
    assert best is not None
    return best[1], best[2], best[3]


def _result(a: Ranks, b: Ranks, counts: dict[int, int], out: frozenset[int]) -> Ranks:
    """The scope of a pair's product once variables that nothing else needs are summed out."""
    both = set(a) & set(b)
    return tuple(sorted(r for r in {*a, *b} if r in out or counts[r] > 1 + (r in both)))


def differentiate(made: Contraction, wanted: Iterable[int]) -> None:
    r"""Append the reverse sweep: after it `adjoints[t]` holds $\partial Z / \partial t$ for every wanted tensor.

    An adjoint leaves out the variables it does not depend on.
    """
    needed = _with_results(made.steps, set(wanted))
    for root in made.roots:
        made.adjoints[root] = ONE
    for result, first, second in reversed(list(made.steps)):
        if result not in made.adjoints:
            continue
        upper = made.adjoints[result]
        for tensor, other in ((first, second), (second, first)):
            if tensor in needed and tensor != ONE:
                mentioned = {*made.scopes[upper], *made.scopes[other]}
                scope = tuple(r for r in made.scopes[tensor] if r in mentioned)
                made.adjoints[tensor] = made.step(upper, other, scope)


def _with_results(steps: Sequence[tuple[int, int, int]], wanted: set[int]) -> set[int]:
    """The wanted tensors and everything computed from them."""
    needed = set(wanted)
    for result, first, second in steps:
        if first in needed or second in needed:
            needed.add(result)
    return needed


def cheapest_homes(made: Contraction, targets: Iterable[int]) -> dict[int, int]:
    """For each variable the smallest tensor of the forward sweep that mentions it."""
    sizes = [made.size(scope) for scope in made.scopes]
    homes: dict[int, int] = {}
    for tensor, scope in enumerate(made.scopes):
        for r in scope:
            if r not in homes or sizes[tensor] < sizes[homes[r]]:
                homes[r] = tensor
    return {r: homes[r] for r in targets}
