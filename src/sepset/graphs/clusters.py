"""Cluster graphs and clique trees: clusters of names, edges with sepsets, and the running intersection property."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sepset.base.display import html_text, rich_text
from sepset.base.foreign import translated
from sepset.base.frozen import fill
from sepset.base.membership import without
from sepset.base.text import counted, listing
from sepset.errors import ModelError, ScopeError
from sepset.graphs.base import each, name_of
from sepset.graphs.elimination import Cards, GraphElimination
from sepset.graphs.graph import Graph, Node, Nodes
from sepset.graphs.kinds import undirected
from sepset.graphs.ordering import OrderingMethod, elimination_order
from sepset.graphs.pictures.sketch import Box, Link, Sketch, Sketched
from sepset.graphs.triangulation import resolve

if TYPE_CHECKING:
    from rich.text import Text as RichText

__all__ = ["ClusterGraph", "ClusterTree", "Message", "strong_order", "strong_root", "tree_decomposition"]

Scope = tuple[str, ...]

_SHOWN = 40


@dataclass(frozen=True, slots=True)
class Message:
    """One step of a schedule: the cluster `source` sends to `target` over their `sepset`."""

    source: int
    target: int
    sepset: Scope


@dataclass(frozen=True, slots=True, init=False, repr=False)
class ClusterGraph(Sketched):
    """Clusters of names, and edges between clusters that carry sepsets.

    Args:
        clusters: the scope of each cluster.
        edges: pairs of cluster numbers.
        sepsets: the scope of each edge, a subset of both its clusters; by default their intersection.

    Reference: Koller & Friedman, definitions 10.1 and 11.1.

    >>> graph = ClusterGraph([("A", "B"), ("B", "C"), ("C", "A")], [(0, 1), (1, 2), (2, 0)])
    >>> graph.sepsets
    (('B',), ('C',), ('A',))
    >>> graph.check_running_intersection()
    """

    clusters: tuple[Scope, ...]
    edges: tuple[tuple[int, int], ...]
    sepsets: tuple[Scope, ...]

    def __init__(
        self,
        clusters: Iterable[Nodes],
        edges: Iterable[tuple[int, int]] = (),
        *,
        sepsets: Iterable[Nodes] | None = None,
    ) -> None:
        scopes = tuple(map(scope_of, clusters))
        pairs = tuple((int(a), int(b)) for a, b in edges)
        _check_edges(pairs, len(scopes))
        shared = (_shared(scopes[a], scopes[b]) for a, b in pairs) if sepsets is None else map(scope_of, sepsets)
        fill(self, clusters=scopes, edges=pairs, sepsets=tuple(shared))
        self._check()

    def _check(self) -> None:
        for scope in self.clusters:
            if len(set(scope)) != len(scope):
                raise ScopeError(f"The cluster {listing(scope)} names a variable twice.")
        if len(self.sepsets) != len(self.edges):
            raise ModelError(f"{len(self.edges)} edges need as many sepsets; found {len(self.sepsets)}.")
        for (a, b), sepset in zip(self.edges, self.sepsets, strict=True):
            outside = set(sepset) - set(_shared(self.clusters[a], self.clusters[b]))
            if outside:
                raise ModelError(
                    f"The sepset of clusters {a} and {b} contains {listing(sorted(outside))}, which they do not share; "
                    f"they share {listing(_shared(self.clusters[a], self.clusters[b])) or 'nothing'}."
                )

    @property
    def variables(self) -> Scope:
        """Every name, in order of first appearance."""
        return tuple(dict.fromkeys(name for cluster in self.clusters for name in cluster))

    @property
    def neighbors(self) -> tuple[tuple[int, ...], ...]:
        """For each cluster the adjacent clusters, in the order of the edges."""
        rows: list[list[int]] = [[] for _ in self.clusters]
        for a, b in self.edges:
            rows[a].append(b)
            rows[b].append(a)
        return tuple(map(tuple, rows))

    @property
    def is_forest(self) -> bool:
        """Whether the edges form no loop."""
        return _loop(len(self.clusters), self.edges) is None

    @property
    def is_connected(self) -> bool:
        """Whether there is a path between any two clusters."""
        return _num_parts(len(self.clusters), self.edges) <= 1

    @property
    def has_running_intersection(self) -> bool:
        """Whether each variable's clusters are joined by exactly one path of sepsets that contain it."""
        return self._violation() is None

    def check_running_intersection(self) -> None:
        """Raise `ModelError`, naming the variable, if the running intersection property fails.

        Whenever X is in two clusters there is exactly one path between them whose sepsets all contain X.

        Reference: Koller & Friedman, definitions 10.2 and 11.2.
        Guarantee: exact.
        Tested by: graphs/test_clusters.py::test_running_intersection_by_definition

        >>> ClusterGraph([("A", "B"), ("B", "C"), ("B",)], [(0, 1)]).check_running_intersection()
        Traceback (most recent call last):
            ...
        sepset.errors.ModelError: Running intersection fails for 'B': no path of sepsets with it joins clusters 0, 1, 2.
        """
        violation = self._violation()
        if violation:
            raise ModelError(f"Running intersection fails for {violation}")

    def _violation(self) -> str | None:
        homes: dict[str, list[int]] = {name: [] for name in self.variables}
        for i, cluster in enumerate(self.clusters):
            for name in cluster:
                homes[name].append(i)
        links: dict[str, list[tuple[int, int]]] = {name: [] for name in homes}
        for edge, sepset in zip(self.edges, self.sepsets, strict=True):
            for name in sepset:
                links[name].append(edge)
        for name, members in homes.items():
            number = {cluster: i for i, cluster in enumerate(members)}
            pairs = [(number[a], number[b]) for a, b in links[name]]
            loop = _loop(len(members), pairs)
            if loop is not None:
                a, b = (members[i] for i in loop)
                return f"{name!r}: the edge between clusters {a} and {b} closes a loop of sepsets with it."
            if len(pairs) < len(members) - 1:
                return f"{name!r}: no path of sepsets with it joins clusters {listing(members)}."
        return None

    def family(self, scope: Nodes) -> int:
        """The number of the smallest cluster that contains `scope`: where a factor of that scope is assigned.

        >>> ClusterGraph([("A", "B", "C"), ("B", "C")]).family("C")
        1
        """
        return self.families([scope])[0]

    def families(self, scopes: Iterable[Nodes]) -> tuple[int, ...]:
        r"""For each scope the smallest cluster that contains it, by number: the family preserving map $\alpha(\phi)$.

        Reference: Koller & Friedman, definition 10.1.

        >>> ClusterGraph([("A", "B"), ("B", "C")]).families([("C",), ("B", "A"), ()])
        (1, 0, 0)
        """
        homes: dict[str, set[int]] = {}
        for i, cluster in enumerate(self.clusters):
            for name in cluster:
                homes.setdefault(name, set()).add(i)
        return tuple(self._family(scope_of(scope), homes) for scope in scopes)

    def _family(self, scope: Scope, homes: dict[str, set[int]]) -> int:
        rows = [homes.get(name, set()) for name in scope]
        holders = set.intersection(*rows) if rows else set(range(len(self.clusters)))
        if not holders:
            raise ScopeError(
                f"No cluster contains {listing(scope)}; in a family preserving cluster graph each factor's scope "
                "is contained in a cluster."
            )
        return min(holders, key=lambda i: (len(self.clusters[i]), i))

    def __len__(self) -> int:
        return len(self.clusters)

    def __str__(self) -> str:
        joined = zip(self.edges[:_SHOWN], self.sepsets, strict=False)
        return "\n".join(
            [f"{i}: {', '.join(cluster)}" for i, cluster in enumerate(self.clusters[:_SHOWN])]
            + [f"... ({len(self.clusters)} clusters in all)"] * (len(self.clusters) > _SHOWN)
            + [f"{a} - {b}: {', '.join(sepset) or 'nothing'}" for (a, b), sepset in joined]
            + [f"... ({len(self.edges)} edges in all)"] * (len(self.edges) > _SHOWN)
        )

    def __repr__(self) -> str:
        largest = max(map(len, self.clusters), default=0)
        sizes = f"{counted(len(self), 'cluster')} of up to {largest}, {counted(len(self.edges), 'edge')}"
        return f"{type(self).__name__}({sizes})"

    def _sketch(self) -> Sketch:
        """Clusters, and their sepsets on the edges between them."""
        boxes = [Box(", ".join(cluster) or "nothing", "cluster") for cluster in self.clusters]
        links = []
        for (a, b), sepset in zip(self.edges, self.sepsets, strict=True):
            links += [Link(a, len(boxes)), Link(len(boxes), b)]
            boxes.append(Box(", ".join(sepset) or "nothing", "sepset"))
        return Sketch(tuple(boxes), tuple(links))

    def __rich__(self) -> RichText:
        return rich_text(str(self))

    def _repr_html_(self) -> str:
        from sepset.graphs.pictures.picture import with_picture

        return with_picture(html_text(repr(self)), len(self), self)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class ClusterTree(ClusterGraph):
    """A cluster graph without loops, with running intersection: a tree, or one tree per connected component.

    Reference: Koller & Friedman, definition 10.3.

    >>> tree = ClusterTree([("A", "B"), ("B", "C")], [(0, 1)])
    >>> tree.schedule(root=0)
    (Message(source=1, target=0, sepset=('B',)),)
    """

    def _check(self) -> None:
        ClusterGraph._check(self)
        loop = _loop(len(self.clusters), self.edges)
        if loop is not None:
            raise ModelError(
                f"A clique tree has no loops; the edge between clusters {loop[0]} and {loop[1]} closes one."
            )
        self.check_running_intersection()

    @property
    def separators(self) -> tuple[Scope, ...]:
        """The sepsets; each separates, in the graph the tree was built from, the names on its two sides."""
        return self.sepsets

    @property
    def root(self) -> int:
        """The default root of the first connected component: its last cluster."""
        return self.roots()[0] if self.clusters else -1

    def roots(self, root: int | None = None) -> tuple[int, ...]:
        """One cluster per connected component: `root` for its own, the last cluster for the others."""
        part = _parts(len(self.clusters), self.edges)
        last = {label: i for i, label in enumerate(part)}
        if root is not None:
            if not 0 <= root < len(self):
                raise ModelError(f"There is no cluster {root} to be the root; clusters run from 0 to {len(self) - 1}.")
            last[part[root]] = root
        return tuple(last[label] for label in dict.fromkeys(part))

    def schedule(self, root: int | None = None) -> tuple[Message, ...]:
        """The collect pass: each cluster's message toward the root, after all those it receives.

        The distribute pass is the same in reverse, with source and target exchanged.

        Reference: Koller & Friedman, algorithm 10.1.

        >>> ClusterTree([("A",), ("A", "B"), ("B",)], [(0, 1), (1, 2)]).schedule(1)[0].source
        2
        """
        rows: list[list[tuple[int, Scope]]] = [[] for _ in self.clusters]
        for (a, b), sepset in zip(self.edges, self.sepsets, strict=True):
            rows[a].append((b, sepset))
            rows[b].append((a, sepset))
        messages: list[Message] = []
        reached = [(top, -1) for top in self.roots(root)]
        for i, parent in reached:
            for j, sepset in rows[i]:
                if j != parent:
                    messages.append(Message(j, i, sepset))
                    reached.append((j, i))
        return tuple(reversed(messages))


@translated
def tree_decomposition(
    graph: Graph, order: GraphElimination | Iterable[Node] | None = None, *, joined: bool = False
) -> ClusterTree:
    """The clique tree of the chordal graph that an elimination order induces: its maximal cliques.

    Each maximal clique is linked to the one that receives its message; this is a maximum spanning tree of the cliques
    weighted by the size of their intersections. Clusters are numbered as elimination finishes them, so that each sends
    to a later one, and the last of a connected component, where its last name is eliminated, is the default root.

    Args:
        graph: an undirected graph, such as a moral graph.
        order: names, or the result of `elimination_order`, which is also the default.
        joined: link the connected components by empty sepsets, so that the forest is one tree.

    Cost: linear in the total size of the cliques, after the order.
    Reference: Koller & Friedman, sections 10.4.1 and 10.4.2.
    Guarantee: running intersection, checked.
    Tested by: graphs/test_clusters.py::test_clique_trees_of_any_order

    >>> from sepset.graphs.graph import UndirectedGraph
    >>> print(tree_decomposition(UndirectedGraph.parse("A - B - C; C - D"), "ABCD"))
    0: A, B
    1: B, C
    2: C, D
    0 - 1: B
    1 - 2: C
    """
    graph = undirected(graph)
    found = resolve(graph, order)
    finished = {keeper: i for i, keeper in enumerate(found.absorbed)}
    maximal = sorted(finished, key=finished.__getitem__)
    number = {i: k for k, i in enumerate(maximal)}
    home = [number[keeper] for keeper in found.absorbed]
    clusters = [sorted(found.cliques[i], key=graph.index.__getitem__) for i in maximal]
    edges: list[tuple[int, int]] = []
    sepsets: list[Scope] = []
    for i, parent in enumerate(found.parents):
        if parent >= 0 and home[i] != home[parent]:
            edges.append((home[i], home[parent]))
            sepsets.append(found.cliques[i][1:])
    if joined:
        last = {label: k for k, label in enumerate(_parts(len(clusters), edges))}
        links = list(itertools.pairwise(sorted(last.values())))
        edges += links
        sepsets += [()] * len(links)
    return ClusterTree(clusters, edges, sepsets=sepsets)


@translated
def strong_root(tree: ClusterTree, continuous: Nodes) -> int | None:
    r"""The first cluster that is a strong root of the tree, or None if there is none.

    Toward a strong root discrete variables are summed out only where no continuous ones are left: for each clique
    $\mathbf C_1$ with upward neighbor $\mathbf C_2$,

    $$\mathbf C_1 - \mathbf C_2 \subseteq \Gamma \quad\text{or}\quad \mathbf C_1 \cap \mathbf C_2 \subseteq \Delta$$

    Args:
        tree: a connected clique tree.
        continuous: the names in $\Gamma$; all others are discrete, $\Delta$.

    Reference: Koller & Friedman, definition 14.4, with the direction of the difference corrected.
    Guarantee: exact.
    Tested by: graphs/test_clusters.py::test_strong_roots_of_three_trees

    >>> strong_root(ClusterTree([("A", "X"), ("X", "Y")], [(0, 1)]), ["X", "Y"])
    0
    """
    if not tree.clusters:
        return None
    if not tree.is_connected:
        raise ModelError(
            "A strong root needs a single tree; join the parts first: tree_decomposition(graph, joined=True)."
        )
    gamma = frozenset(scope_of(continuous))
    sets = [frozenset(cluster) for cluster in tree.clusters]

    def weak(lower: int, upper: int) -> bool:
        return not (sets[lower] - sets[upper] <= gamma or gamma.isdisjoint(sets[lower] & sets[upper]))

    messages = tree.schedule(0)
    violations = {0: sum(weak(m.source, m.target) for m in messages)}
    for m in reversed(messages):
        violations[m.source] = violations[m.target] - weak(m.source, m.target) + weak(m.target, m.source)
    return min((i for i, count in violations.items() if not count), default=None)


@translated
def strong_order(
    graph: Graph,
    continuous: Nodes,
    *,
    cards: Cards = None,
    method: OrderingMethod | None = None,
) -> GraphElimination:
    """An elimination order with every continuous node before every discrete one: its clique tree has a strong root.

    Args:
        graph: a moral graph.
        continuous: the continuous nodes; they count as one state in table sizes.
        cards: the number of states of the discrete nodes, by name or one number for all; two each by default.
        method: the heuristic; `Portfolio()` by default.

    Reference: Koller & Friedman, section 14.3.4.3.
    Guarantee: its tree has a strong root.
    Tested by: graphs/test_clusters.py::test_strong_orders_give_strong_roots

    >>> from sepset.graphs.graph import UndirectedGraph
    >>> strong_order(UndirectedGraph.parse("A - X - B"), "X").order[0]
    'X'
    """
    graph = undirected(graph)
    gamma = [graph.nodes[i] for i in graph.ids(continuous)]
    delta = without(graph.nodes, gamma)
    states = {name: 2 if cards is None else cards if isinstance(cards, int) else cards.get(name) for name in delta}
    known = {name: card for name, card in states.items() if card is not None}
    return elimination_order(graph, {**known, **dict.fromkeys(gamma, 1)}, method=method, groups=[gamma, delta])


def scope_of(nodes: Nodes) -> Scope:
    """The names of one node or of several.

    >>> scope_of("rain"), scope_of(["rain", "wind"])
    (('rain',), ('rain', 'wind'))
    """
    return tuple(map(name_of, each(nodes)))


def _shared(a: Scope, b: Scope) -> Scope:
    inside = set(b)
    return tuple(name for name in a if name in inside)


def _check_edges(edges: Sequence[tuple[int, int]], count: int) -> None:
    seen = set()
    for a, b in edges:
        if not (0 <= a < count and 0 <= b < count):
            raise ModelError(f"The edge ({a}, {b}) needs clusters from 0 to {count - 1}.")
        if a == b:
            raise ModelError(f"Cluster {a} has an edge to itself; remove it.")
        if (min(a, b), max(a, b)) in seen:
            raise ModelError(f"Two edges join clusters {a} and {b}; keep one.")
        seen.add((min(a, b), max(a, b)))


def _merge(count: int, edges: Iterable[tuple[int, int]]) -> tuple[list[int], tuple[int, int] | None]:
    """A label for each node, equal within connected components, and the first edge that closes a loop."""
    label = list(range(count))

    def find(i: int) -> int:
        while label[i] != i:
            label[i] = label[label[i]]
            i = label[i]
        return i

    loop = None
    for a, b in edges:
        x, y = find(a), find(b)
        if x == y:
            loop = loop or (a, b)
        label[max(x, y)] = min(x, y)
    return [find(i) for i in range(count)], loop


def _parts(count: int, edges: Iterable[tuple[int, int]]) -> list[int]:
    return _merge(count, edges)[0]


def _loop(count: int, edges: Iterable[tuple[int, int]]) -> tuple[int, int] | None:
    return _merge(count, edges)[1]


def _num_parts(count: int, edges: Iterable[tuple[int, int]]) -> int:
    return len(set(_parts(count, edges)))
