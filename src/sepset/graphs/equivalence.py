"""I-equivalence: which DAGs state the same independences, and the graph that stands for all of them."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.base.foreign import translated
from sepset.base.text import listing
from sepset.errors import ModelError, TooLarge
from sepset.graphs.base import name_of
from sepset.graphs.csr import CSR, pairs_within_rows, parts_of_pairs
from sepset.graphs.elimination import eliminate_graph
from sepset.graphs.graph import DAG, Graph, MixedGraph, Node, skeleton
from sepset.graphs.kinds import directed, mixed, undirected

__all__ = [
    "consistent_extension",
    "covered_edges",
    "cpdag",
    "directed_imap",
    "i_equivalent",
    "immoralities",
    "immorality_ids",
    "is_cpdag",
    "meek_rules",
]


@translated
def immoralities(graph: Graph) -> tuple[tuple[str, str, str], ...]:
    r"""The immoralities $X \to Z \leftarrow Y$ with $X$ and $Y$ not adjacent, as triples $(X, Z, Y)$ in node order.

    Reference: Koller & Friedman, section 3.3.4.
    Guarantee: exact.
    Tested by: graphs/test_equivalence.py::test_dags_of_different_classes_are_not_equivalent

    >>> immoralities(DAG.parse("A -> B <- C; B -> D"))
    (('A', 'B', 'C'),)
    """
    graph = mixed(graph)
    names = graph.nodes
    return tuple((names[x], names[z], names[y]) for x, z, y in immorality_ids(graph).tolist())


MOST_IMMORALITIES = 2**24
"""The most immoralities that are listed: each is a triple of names."""


def immorality_ids(graph: Graph) -> Ints:
    """The immoralities as rows of node numbers `(x, z, y)`, by z, then x, then y; raises before if there are too many.

    Cost: linear in the pairs of parents; an edge can join one pair of a node's parents, all others are immoralities.

    >>> immorality_ids(DAG.parse("A -> B <- C; B -> D")).tolist()
    [[0, 1, 2]]
    """
    num, parents = len(graph), graph.parent_csr
    count = np.diff(parents[0])
    least = int(np.maximum(count * (count - 1) // 2 - graph.num_edges, 0).sum())
    if least > MOST_IMMORALITIES:
        raise TooLarge(
            f"The graph has at least {least:,} immoralities, where at most {MOST_IMMORALITIES:,} are listed: one node "
            f"has {int(count.max()):,} parents."
        )
    joined = np.sort(np.concatenate([graph._directed, graph._undirected]), axis=1)
    adjacent = np.append(np.unique(joined[:, 0] * num + joined[:, 1]), -1)
    found = [np.zeros((0, 3), np.int64)]
    for first, rows in parts_of_pairs(parents):
        x, y = pairs_within_rows(rows).T
        size = np.diff(rows[0])
        z = np.repeat(np.arange(first, first + len(size)), size * (size - 1) // 2)
        key = x * num + y
        is_immoral = adjacent[np.searchsorted(adjacent[:-1], key)] != key
        found.append(np.stack([x, z, y], axis=1)[is_immoral])
    return np.concatenate(found)


@translated
def i_equivalent(first: Graph, second: Graph) -> bool:
    """Whether two DAGs state the same independences: they have the same skeleton and the same immoralities.

    Reference: Koller & Friedman, section 3.3.4; Verma & Pearl (1990).
    Guarantee: exact.
    Tested by: graphs/test_equivalence.py::test_counts_of_small_dags_and_classes

    >>> i_equivalent(DAG.parse("A -> B -> C"), DAG.parse("A <- B <- C"))
    True
    """
    first, second = directed(first, "i_equivalent"), directed(second, "i_equivalent")
    if skeleton(first) != skeleton(second):
        return False
    if first.nodes == second.nodes:
        return np.array_equal(immorality_ids(first), immorality_ids(second))
    return _unordered(immoralities(first)) == _unordered(immoralities(second))


@translated
def covered_edges(dag: Graph) -> tuple[tuple[str, str], ...]:
    r"""The covered edges $X \to Y$, $\mathrm{Pa}_Y = \mathrm{Pa}_X \cup \{X\}$: reversing one keeps I-equivalence.

    Reference: Koller & Friedman, section 3.3.4; Chickering (1995).
    Guarantee: exact.
    Tested by: graphs/test_equivalence.py::test_covered_edges_are_those_whose_reversal_stays_in_the_class

    >>> covered_edges(DAG.parse("A -> B -> C"))
    (('A', 'B'),)
    """
    dag = directed(dag, "covered_edges")
    parents = _Edges(dag).parents
    covered = [(x, y) for y in range(len(dag)) for x in sorted(parents[y]) if parents[y] == parents[x] | {x}]
    return tuple((dag.nodes[x], dag.nodes[y]) for x, y in sorted(covered))


@translated
def cpdag(dag: Graph) -> MixedGraph:
    """The class PDAG: an edge is directed if all I-equivalent DAGs direct it the same way, and undirected otherwise.

    Reference: Koller & Friedman, section 3.4.3 and algorithm 3.5.
    Guarantee: exact.
    Tested by: graphs/test_equivalence.py::test_a_class_has_one_cpdag_and_its_edges_are_what_all_members_share

    >>> cpdag(DAG.parse("A -> B <- C; B -> D; D -> E; A -> F"))
    MixedGraph(A -> B; B -> D; C -> B; D -> E; A - F)
    """
    dag = directed(dag, "cpdag")
    x, z, y = immorality_ids(dag).T
    sources, targets = dag._directed.T
    fixed = np.isin(sources * len(dag) + targets, np.concatenate([x, y]) * len(dag) + np.tile(z, 2))
    start = MixedGraph._of(dag.nodes, dag._directed[fixed], dag._directed[~fixed])
    return meek_rules(start)


@translated
def meek_rules(pdag: Graph) -> MixedGraph:
    r"""The PDAG after applying Meek's four rules for directing undirected edges until none applies.

    An edge $X - Y$ becomes $X \to Y$ if one of these holds:

    1. $Z \to X$, and $Z, Y$ are not adjacent;
    2. $X \to Z \to Y$;
    3. $X - Z \to Y$ and $X - W \to Y$, and $Z, W$ are not adjacent;
    4. $X - Z \to W \to Y$, and $X, W$ are adjacent but $Z, Y$ are not.

    The first three suffice if the arrows are the immoralities; the fourth is for background knowledge.

    Reference: Meek (1995); Koller & Friedman, section 3.4.3.
    Guarantee: complete.
    Tested by: graphs/test_equivalence.py::test_meek_rules_find_all_that_background_knowledge_implies

    >>> meek_rules(MixedGraph.parse("A -> B - C"))
    MixedGraph(A -> B; B -> C)
    """
    pdag = mixed(pdag)
    edges = _Edges(pdag)
    pending = deque(edges.undirected())
    while pending:
        x, y = pending.popleft()
        if y not in edges.neighbors[x]:
            continue
        for tail, head in ((x, y), (y, x)):
            if edges.compelled(tail, head):
                edges.direct(tail, head)
                pending.extend(edges.affected(tail, head))
                break
    return edges.graph(pdag.nodes)


@translated
def consistent_extension(pdag: Graph) -> DAG:
    r"""A DAG with the skeleton, the arrows and the immoralities of `pdag`, and no others; raises if there is none.

    A node without children, each of whose neighbors is adjacent to all its other adjacent nodes, can be the last node:
    direct its undirected edges into it, remove it, and continue.

    Reference: Dor & Tarsi (1992).
    Guarantee: found whenever there is one.
    Tested by: graphs/test_equivalence.py::test_small_pdags_extend_exactly_when_some_dag_does

    >>> consistent_extension(MixedGraph.parse("A - B - C"))
    DAG(B -> A; C -> B)
    >>> consistent_extension(MixedGraph.parse("A -> B <- C; B -> D"))
    DAG(A -> B; B -> D; C -> B)
    """
    pdag = mixed(pdag)
    edges = _Edges(pdag)
    directed: list[tuple[int, int]] = []
    left = dict.fromkeys(range(len(pdag)))
    pending = deque(left)
    while pending:
        x = pending.popleft()
        if x in left and edges.can_be_last(x):
            del left[x]
            around = sorted(edges.adjacent(x))
            directed += [(y, x) for y in around]
            edges.remove(x)
            pending.extend(around)
    if left:
        stuck = listing(pdag.nodes[i] for i in left)
        raise ModelError(
            f"The PDAG has no consistent extension: among {stuck} every choice of a last node closes a cycle "
            "or adds an immorality. Check the directions of the edges between them."
        )
    return DAG.from_arrays(pdag.nodes, sources=_column(directed, 0), targets=_column(directed, 1))


@translated
def is_cpdag(graph: Graph) -> bool:
    """Whether the graph is the class PDAG of some DAG.

    Reference: Koller & Friedman, section 3.4.3.
    Guarantee: exact.
    Tested by: graphs/test_equivalence.py::test_what_has_no_extension_is_refused_and_is_no_cpdag

    >>> is_cpdag(MixedGraph.parse("A - B - C")), is_cpdag(MixedGraph.parse("A -> B"))
    (True, False)
    """
    graph = mixed(graph)
    try:
        member = consistent_extension(graph)
    except ModelError:
        return False
    return cpdag(member) == graph


@translated
def directed_imap(graph: Graph, order: Iterable[Node] | None = None) -> DAG:
    """A DAG that is a minimal I-map of an undirected graph; its skeleton is chordal.

    The parents of a node are its neighbors when the nodes are eliminated in the reverse of `order`.

    Args:
        graph: the undirected graph.
        order: the order of the DAG, parents first; by default the reverse of a min-fill elimination order.

    Reference: Koller & Friedman, section 4.5.2.
    Guarantee: minimal I-map; I-map.
    Tested by: graphs/test_equivalence.py::test_markov_to_bayes_is_a_minimal_imap,
        models/test_conversions.py::test_the_directed_structure_of_a_markov_net_is_an_i_map

    >>> from sepset.graphs.graph import UndirectedGraph
    >>> directed_imap(UndirectedGraph.parse("A - B - C - D - A"), order="ABCD")
    DAG(A -> B; A -> C; A -> D; B -> C; C -> D)
    """
    graph = undirected(graph)
    if order is None:
        from sepset.graphs.triangulation import MinFill, elimination_order

        eliminated = elimination_order(graph, method=MinFill())
    else:
        eliminated = eliminate_graph(graph, [name_of(node) for node in order][::-1])
    return DAG(graph.nodes, [(parent, clique[0]) for clique in eliminated.cliques for parent in clique[1:]])


def _unordered(triples: Iterable[tuple[str, str, str]]) -> set[tuple[frozenset[str], str]]:
    return {(frozenset((x, y)), z) for x, z, y in triples}


def _column(pairs: list[tuple[int, int]], k: int) -> list[int]:
    return [pair[k] for pair in pairs]


def _row_sets(csr: CSR) -> list[set[int]]:
    indptr, indices = (array.tolist() for array in csr)
    return [set(indices[start:stop]) for start, stop in itertools.pairwise(indptr)]


class _Edges:
    """A mutable graph to work on: the parents, children and neighbors of each node id."""

    def __init__(self, graph: DAG | MixedGraph) -> None:
        self.parents = _row_sets(graph.parent_csr)
        self.children = _row_sets(graph.child_csr)
        self.neighbors = _row_sets(graph.neighbor_csr)

    def adjacent(self, x: int) -> set[int]:
        return self.parents[x] | self.children[x] | self.neighbors[x]

    def are_adjacent(self, x: int, y: int) -> bool:
        return y in self.parents[x] or y in self.children[x] or y in self.neighbors[x]

    def undirected(self) -> list[tuple[int, int]]:
        return [(x, y) for x, others in enumerate(self.neighbors) for y in sorted(others) if x < y]

    def compelled(self, x: int, y: int) -> bool:
        """Whether one of Meek's rules directs x -> y."""
        if self.children[x] & self.parents[y] or any(not self.are_adjacent(z, y) for z in self.parents[x]):
            return True
        between = sorted(self.neighbors[x] & self.parents[y])
        if any(not self.are_adjacent(z, w) for z, w in itertools.combinations(between, 2)):
            return True
        near = [w for w in self.parents[y] if self.are_adjacent(x, w)]
        far = (z for w in near for z in self.neighbors[x] & self.parents[w])
        return any(z != y and not self.are_adjacent(z, y) for z in far)

    def affected(self, x: int, y: int) -> list[tuple[int, int]]:
        """The undirected edges that x -> y may cause to be directed: at y, and from its children to x (rule 2) or to
        neighbors of x (rule 4)."""
        around = self.neighbors[x] | {x} if self.children[y] else set()
        ends = [(z, self.neighbors[z] & around) for z in sorted(self.children[y])]
        return [(z, w) for z, others in [(y, self.neighbors[y]), *ends] for w in sorted(others)]

    def direct(self, x: int, y: int) -> None:
        self.neighbors[x].remove(y)
        self.neighbors[y].remove(x)
        self.children[x].add(y)
        self.parents[y].add(x)

    def can_be_last(self, x: int) -> bool:
        if self.children[x]:
            return False
        around = self.adjacent(x)
        return all(z == y or self.are_adjacent(y, z) for y in self.neighbors[x] for z in around)

    def remove(self, x: int) -> None:
        for y in self.parents[x]:
            self.children[y].discard(x)
        for y in self.neighbors[x]:
            self.neighbors[y].discard(x)
        self.parents[x], self.neighbors[x] = set(), set()

    def graph(self, nodes: tuple[str, ...]) -> MixedGraph:
        directed = [(x, y) for x, children in enumerate(self.children) for y in children]
        joined = self.undirected()
        columns = [_column(pairs, k) for pairs in (directed, joined) for k in (0, 1)]
        return MixedGraph.from_arrays(
            nodes, sources=columns[0], targets=columns[1], lefts=columns[2], rights=columns[3]
        )
