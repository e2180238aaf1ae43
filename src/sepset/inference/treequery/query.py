r"""Queries that no clique covers, as a problem on scopes only: the cliques needed, and the cost of merging them.

In a calibrated tree any connected part gives the marginal of its own variables,
$P(\mathbf x) = \prod_i \beta_i / \prod_{ij} \mu_{ij}$. So a query keeps the smallest part that covers it, marginalizes
each clique to what the query and the remaining sepsets need, and merges neighbors until one clique is left. The order
of merges determines the cost.

Sets of variables, cliques and edges are bit masks. Variables with one state have no bit, since they cost nothing.

Reference: El-Hay (2001), chapter 4.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import NamedTuple

from sepset.base.foreign import TakesNames, translated
from sepset.base.lazy import lazy
from sepset.base.text import brief, listing, nearest
from sepset.errors import ScopeError
from sepset.graphs.clusters import ClusterTree, scope_of
from sepset.graphs.graph import Nodes

__all__ = ["CliqueSubtree", "Subtree", "bits", "tree_query"]


def bits(mask: int) -> Iterator[int]:
    """The positions of a mask's bits, lowest first.

    >>> list(bits(0b1101))
    [0, 2, 3]
    """
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


class Subtree(NamedTuple):
    r"""A connected part: its nodes, its edges, and the variables $\mathbf C_{T'}$ that remain when it is one clique."""

    nodes: int
    edges: int
    scope: int


@dataclass(frozen=True, eq=False)
class CliqueSubtree(TakesNames):
    r"""The part of a clique tree that a query needs, ready to be merged.

    Attributes:
        names: the variables with several states; position i is bit i of a scope.
        cards: their numbers of states.
        targets: the query $\mathbf U$, as a mask.
        sources: for each node the clique it came from; $-1 - e$ for the sepset of edge e.
        cliques: the scope of each node, as a mask, after marginalizing to the query and the sepsets around it.
        edges: pairs of nodes.
        sepsets: the scope of each edge, as a mask.
        links: for each edge that of the clique tree, or -1 if it joins parts that share no variable.
    """

    names: tuple[str, ...]
    cards: tuple[int, ...]
    _: KW_ONLY
    targets: int
    sources: tuple[int, ...]
    cliques: tuple[int, ...]
    edges: tuple[tuple[int, int], ...]
    sepsets: tuple[int, ...]
    links: tuple[int, ...]
    _sizes: dict[int, int] = field(default_factory=dict, init=False, repr=False)

    def size(self, scope: int) -> int:
        r"""The number of table entries over a scope, $\prod_{X \in \mathbf C} |\mathrm{Val}(X)|$."""
        found = self._sizes.get(scope)
        if found is None:
            found, rest = 1, self._within(scope)
            while rest:  # as `bits` does, without its calls
                low = rest & -rest
                found *= self.cards[low.bit_length() - 1]
                rest ^= low
            self._sizes[scope] = found
        return found

    def scope_names(self, scope: int) -> tuple[str, ...]:
        """The names in a scope."""
        return tuple(self.names[i] for i in bits(self._within(scope)))

    def _within(self, scope: int) -> int:
        """The scope, after checking that it is a mask of the names."""
        if 0 <= scope < 1 << len(self.names):
            return scope
        raise ScopeError(f"A scope is a mask of {len(self.names)} variables; found {brief(scope)}.")

    def _check_edge(self, edge: int) -> None:
        if not 0 <= edge < len(self.edges):
            raise ScopeError(f"The tree has {len(self.edges)} edges, from 0 on; there is no edge {brief(edge)}.")

    @property
    def whole(self) -> Subtree:
        """The whole tree; merged, it contains the query."""
        return Subtree((1 << len(self.cliques)) - 1, (1 << len(self.edges)) - 1, self.targets)

    @lazy
    def incident(self) -> tuple[tuple[int, ...], ...]:
        """The edges at each node."""
        rows: list[list[int]] = [[] for _ in self.cliques]
        for e, (a, b) in enumerate(self.edges):
            rows[a].append(e)
            rows[b].append(e)
        return tuple(map(tuple, rows))

    @lazy
    def sides(self) -> tuple[tuple[Subtree, Subtree], ...]:
        """For each edge the two parts it separates, with every variable of theirs as scope."""
        return tuple((self._side(e, a), self._side(e, b)) for e, (a, b) in enumerate(self.edges))

    def _side(self, cut: int, start: int) -> Subtree:
        nodes, edges, scope, stack = 0, 0, 0, [start]
        while stack:
            node = stack.pop()
            nodes |= 1 << node
            scope |= self.cliques[node]
            for e in self.incident[node]:
                if e != cut and not edges >> e & 1:
                    edges |= 1 << e
                    a, b = self.edges[e]
                    stack.append(b if a == node else a)
        return Subtree(nodes, edges, scope)

    def split(self, part: Subtree, edge: int) -> tuple[Subtree, Subtree]:
        r"""The two parts that merging `edge` last would join.

        $$\mathbf C_{T_1} = (\mathbf C_{T'} \cup \mathbf S_e) \cap \mathbf X_{T_1}$$

        By running intersection, nothing else of $T_1$ is needed outside.
        """
        self._check_edge(edge)
        near, far = self.sides[edge]
        scope = part.scope | self.sepsets[edge]
        return (
            Subtree(part.nodes & near.nodes, part.edges & near.edges, scope & near.scope),
            Subtree(part.nodes & far.nodes, part.edges & far.edges, scope & far.scope),
        )

    def price(self, left: int, right: int, *, edge: int, absorb: bool = True) -> int:
        r"""The multiplications of merging two neighbors, $|\mathrm{Val}(\mathbf C_1 \cup \mathbf C_2)|$.

        A clique that equals its sepset adds nothing, and with `absorb` costs nothing.
        """
        self._check_edge(edge)
        first, second, shared = self.size(left), self.size(right), self.size(self.sepsets[edge])
        return 0 if absorb and shared in (first, second) else first * second // shared

    @lazy
    def num_subtrees(self) -> int:
        r"""The number of connected parts: $\sum_v f(v)$ with $f(v) = \prod_{c \text{ below } v} (1 + f(c))$."""
        count = [1] * len(self.cliques)
        for node, parent in reversed(self._rooted):
            if parent >= 0:
                count[parent] *= 1 + count[node]
        return sum(count)

    @lazy
    def _rooted(self) -> list[tuple[int, int]]:
        """Each node with its parent, parents first, from node 0."""
        reached = [(0, -1)] if self.cliques else []
        for node, parent in reached:
            ends = (self.edges[e] for e in self.incident[node])
            reached.extend((b if a == node else a, node) for a, b in ends if parent not in (a, b))
        return reached

    def contracted(self, parts: Iterable[Subtree], scope: int) -> tuple[CliqueSubtree, list[int]]:
        """The query for `scope` on a tree whose nodes are these parts, and the numbers of the remaining edges."""
        pieces = list(parts)
        home = {node: k for k, part in enumerate(pieces) for node in bits(part.nodes)}
        ends = [(home.get(a, -1), home.get(b, -1)) for a, b in self.edges]
        left = [e for e, (a, b) in enumerate(ends) if a != b and min(a, b) >= 0]
        smaller = CliqueSubtree(
            names=self.names,
            cards=self.cards,
            targets=scope,
            sources=tuple(range(len(pieces))),
            cliques=tuple(part.scope for part in pieces),
            edges=tuple(ends[e] for e in left),
            sepsets=tuple(self.sepsets[e] for e in left),
            links=tuple(left),
        )
        return smaller, left

    def with_hubs(self) -> CliqueSubtree:
        r"""The same query where cliques around a common sepset can merge before the clique they surround.

        If several edges of a node have the same sepset $\mathbf S$, a node $\mathbf S$ is inserted, which is absorbed
        at no cost and at which the small cliques can merge first.
        """
        sources, cliques = list(self.sources), list(self.cliques)
        edges, sepsets, links = list(self.edges), list(self.sepsets), list(self.links)
        for node in range(len(self.cliques)):
            groups: dict[int, list[int]] = {}
            for e in self.incident[node]:
                groups.setdefault(self.sepsets[e], []).append(e)
            for sepset, group in groups.items():
                if len(group) < 2 or sepset == self.cliques[node] or self.links[group[0]] < 0:
                    continue
                hub = len(cliques)
                sources.append(-1 - self.links[group[0]])
                cliques.append(sepset)
                for e in group:
                    a, b = edges[e]
                    edges[e] = (hub, b) if a == node else (a, hub)
                edges.append((node, hub))
                sepsets.append(sepset)
                links.append(self.links[group[0]])
        return CliqueSubtree(
            self.names,
            self.cards,
            targets=self.targets,
            sources=tuple(sources),
            cliques=tuple(cliques),
            edges=tuple(edges),
            sepsets=tuple(sepsets),
            links=tuple(links),
        )

    def __repr__(self) -> str:
        return f"CliqueSubtree({', '.join(self.scope_names(self.targets))}; {len(self.cliques)} cliques)"


@translated
def tree_query(tree: ClusterTree, targets: Nodes, *, cards: Mapping[str, int]) -> CliqueSubtree:
    r"""The smallest part of a clique tree that covers `targets`, each clique marginalized to what is still needed.

    A leaf is removed while its targets are all in its sepset, so each remaining leaf has a target of its own and there
    are at most $|\mathbf U|$. Of clique i remains $(\mathbf U \cup \bigcup_j \mathbf S_{ij}) \cap \mathbf C_i$.
    Parts of a forest are joined by empty sepsets.

    Args:
        tree: a clique tree or forest.
        targets: the query $\mathbf U$.
        cards: the number of states by name.

    Cost: linear in the size of the tree.
    Reference: El-Hay (2001), section 4.1.1.
    Guarantee: smallest.
    Tested by: inference/treequery/test_query.py::test_the_part_is_the_smallest_that_covers_the_query

    >>> tree = ClusterTree([("A", "B"), ("B", "C"), ("C", "D"), ("D", "E")], [(0, 1), (1, 2), (2, 3)])
    >>> query = tree_query(tree, ["A", "D"], cards={name: 2 for name in "ABCDE"})
    >>> query.sources, [query.scope_names(c) for c in query.cliques]
    ((0, 1, 2), [('A', 'B'), ('B', 'C'), ('C', 'D')])
    """
    wanted = scope_of(targets)
    known = set(tree.variables)
    for name in wanted:
        if name not in known:
            raise ScopeError(f"No clique contains {name!r}.{nearest(name, tree.variables)}")
    unknown = [name for name in tree.variables if name not in cards]
    if unknown:
        raise ScopeError(f"cards= has the number of states of each variable; there is none for {listing(unknown)}.")
    query = frozenset(name for name in wanted if cards[name] > 1)
    sets = [frozenset(name for name in cluster if cards[name] > 1) for cluster in tree.clusters]
    kept, edges = _trimmed(tree, sets, query)
    return _masked(tree, sets, query, kept, edges, cards)


def _trimmed(
    tree: ClusterTree, sets: list[frozenset[str]], query: frozenset[str]
) -> tuple[list[int], list[tuple[int, int, int]]]:
    """The cliques of the smallest subforest, and its edges (number, end, end), parts joined with number -1."""
    alive = _leafless(tree, sets, query)
    edges = [(e, a, b) for e, (a, b) in enumerate(tree.edges) if a in alive and b in alive]
    label = {node: node for node in alive}
    for _, a, b in edges:
        old, new = label[b], label[a]
        label = {node: new if mark == old else mark for node, mark in label.items()}
    parts: dict[int, list[int]] = {}
    for node in sorted(alive):
        parts.setdefault(label[node], []).append(node)
    chosen = [_smallest(tree, sets, query, part) if len(part) == 1 else part for part in parts.values()]
    joints = [(-1, a[0], b[0]) for a, b in itertools.pairwise(chosen)]
    return [node for part in chosen for node in part], edges + joints


def _leafless(tree: ClusterTree, sets: list[frozenset[str]], query: frozenset[str]) -> set[int]:
    """The cliques that remain when leaves whose targets are in their sepset are removed one by one."""
    around: list[dict[int, int]] = [{} for _ in sets]
    for e, (a, b) in enumerate(tree.edges):
        around[a][b] = e
        around[b][a] = e
    alive = set(range(len(sets)))
    stack = sorted(alive, reverse=True)
    while stack:
        node = stack.pop()
        inside = sets[node] & query
        if node not in alive or len(around[node]) > 1:
            continue
        sepset = set(tree.sepsets[next(iter(around[node].values()))]) if around[node] else set()
        if inside <= sepset:
            alive.discard(node)
            for other in around[node]:
                del around[other][node]
                stack.append(other)
    return alive


def _smallest(tree: ClusterTree, sets: list[frozenset[str]], query: frozenset[str], part: list[int]) -> list[int]:
    """The smallest clique that covers as much of the query as the single clique of `part`."""
    inside = sets[part[0]] & query
    holders = [i for i, clique in enumerate(sets) if inside <= clique]
    return [min(holders, key=lambda i: (len(tree.clusters[i]), i))]


def _masked(
    tree: ClusterTree,
    sets: list[frozenset[str]],
    query: frozenset[str],
    kept: list[int],
    edges: list[tuple[int, int, int]],
    cards: Mapping[str, int],
) -> CliqueSubtree:
    """The trimmed tree in bit masks, each clique marginalized."""
    place = {node: k for k, node in enumerate(kept)}
    shared = [frozenset(tree.sepsets[e]) & sets[a] if e >= 0 else frozenset() for e, a, _ in edges]
    needed: list[set[str]] = [set(query) for _ in kept]
    for (_, a, b), sepset in zip(edges, shared, strict=True):
        needed[place[a]] |= sepset
        needed[place[b]] |= sepset
    scopes = [sets[node] & needed[place[node]] for node in kept]
    order = {name: i for i, name in enumerate(tree.variables)}
    names = sorted(frozenset().union(*scopes), key=order.__getitem__)
    bit = {name: 1 << i for i, name in enumerate(names)}
    return CliqueSubtree(
        names=tuple(names),
        cards=tuple(cards[name] for name in names),
        targets=sum(bit[name] for name in query),
        sources=tuple(kept),
        cliques=tuple(sum(bit[name] for name in scope) for scope in scopes),
        edges=tuple((place[a], place[b]) for _, a, b in edges),
        sepsets=tuple(sum(bit[name] for name in scope) for scope in shared),
        links=tuple(e for e, _, _ in edges),
    )
