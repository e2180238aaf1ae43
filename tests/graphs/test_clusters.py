from __future__ import annotations

import itertools

import networkx as nx
import pytest
from hypothesis import given, settings, strategies as st

from sepset.errors import ModelError, ScopeError
from sepset.graphs.clusters import ClusterGraph, ClusterTree, strong_order, strong_root, tree_decomposition
from sepset.graphs.elimination import eliminate_graph
from sepset.graphs.graph import DAG, UndirectedGraph, moralize
from support import plain_elimination as plain
from support.small_graphs import dags, undirected


def has_running_intersection(clusters, edges, sepsets):
    """By definition: the clusters of each name, with the edges whose sepset holds it, are a tree."""
    for name in set().union(*clusters):
        part = nx.Graph()
        part.add_nodes_from(i for i, cluster in enumerate(clusters) if name in cluster)
        part.add_edges_from(edge for edge, sepset in zip(edges, sepsets, strict=True) if name in sepset)
        if not nx.is_tree(part):
            return False
    return True


@given(undirected(), st.data())
def test_clique_trees_of_any_order(drawn, data):
    nodes, edges = drawn
    order = data.draw(st.permutations(nodes))
    joined = data.draw(st.booleans())
    tree = tree_decomposition(UndirectedGraph(nodes, edges), order, joined=joined)
    assert {frozenset(c) for c in tree.clusters} == plain.maximal(plain.eliminate(nodes, edges, order)[0])
    assert len(set(tree.clusters)) == len(tree)
    assert has_running_intersection(tree.clusters, tree.edges, tree.sepsets) or not nodes
    for (a, b), sepset in zip(tree.edges, tree.sepsets, strict=True):
        assert set(sepset) == set(tree.clusters[a]) & set(tree.clusters[b])
    assert tree.is_forest
    assert all(a < b for a, b in tree.edges)
    graph = nx.Graph(edges)
    graph.add_nodes_from(nodes)
    parts = nx.number_connected_components(graph) if nodes else 0
    assert len(tree.edges) == len(tree) - (min(parts, 1) if joined else parts)
    assert tree.is_connected == (parts <= 1 or joined)


@given(undirected(), st.data())
def test_clique_trees_are_maximum_spanning_trees(drawn, data):
    nodes, edges = drawn
    tree = tree_decomposition(UndirectedGraph(nodes, edges), data.draw(st.permutations(nodes)))
    complete = nx.Graph()
    complete.add_nodes_from(range(len(tree)))
    for a, b in itertools.combinations(range(len(tree)), 2):
        shared = set(tree.clusters[a]) & set(tree.clusters[b])
        complete.add_edge(a, b, weight=len(shared))
    heaviest = nx.maximum_spanning_tree(complete).size(weight="weight")
    assert sum(map(len, tree.sepsets)) == heaviest


def test_the_elimination_of_another_graph_stands_for_its_order():
    star = eliminate_graph(UndirectedGraph.parse("A - B; A - C; A - D"), "BCDA")
    ring = UndirectedGraph.parse("D - C - B - A - D")
    assert tree_decomposition(ring, star) == tree_decomposition(ring, "BCDA")


@given(undirected(), st.data())
def test_separators_separate(drawn, data):
    nodes, edges = drawn
    tree = tree_decomposition(UndirectedGraph(nodes, edges), data.draw(st.permutations(nodes)))
    graph = nx.Graph(edges)
    graph.add_nodes_from(nodes)
    for i, separator in enumerate(tree.separators):
        cut = nx.Graph()
        cut.add_nodes_from(range(len(tree)))
        cut.add_edges_from(edge for k, edge in enumerate(tree.edges) if k != i)
        a, b = tree.edges[i]
        left, right = (
            {name for c in nx.node_connected_component(cut, end) for name in tree.clusters[c]} - set(separator)
            for end in (a, b)
        )
        rest = graph.subgraph(set(nodes) - set(separator))
        assert not any(nx.has_path(rest, x, y) for x in left for y in right)


@given(undirected(), st.data())
def test_schedules_collect(drawn, data):
    nodes, edges = drawn
    tree = tree_decomposition(UndirectedGraph(nodes, edges), data.draw(st.permutations(nodes)))
    root = data.draw(st.sampled_from(range(len(tree)))) if len(tree) else None
    messages = tree.schedule(root)
    assert len(messages) == len(tree.edges)
    sent = set()
    for message in messages:
        assert message.source not in sent
        assert message.target not in sent
        sent.add(message.source)
        assert set(message.sepset) == set(tree.clusters[message.source]) & set(tree.clusters[message.target])
    assert set(range(len(tree))) - sent == set(tree.roots(root))
    assert root is None or root in tree.roots(root)


@given(dags())
def test_every_family_has_a_clique(drawn):
    dag = DAG(*drawn)
    tree = tree_decomposition(moralize(dag))
    scopes = [(node, *dag.parents(node)) for node in dag.nodes]
    for scope, home in zip(scopes, tree.families(scopes), strict=True):
        assert set(scope) <= set(tree.clusters[home])
        assert len(tree.clusters[home]) == min(len(c) for c in tree.clusters if set(scope) <= set(c))


def test_a_network_of_six():
    """P(x1) P(x2) P(x3|x1,x2) P(x4|x1,x2) P(x5|x3,x4) P(x6|x3): X3 and X4 separate X1, X2 from X5, X6."""
    dag = DAG.parse("X1 -> X3 <- X2; X1 -> X4 <- X2; X3 -> X5 <- X4; X3 -> X6")
    tree = tree_decomposition(moralize(dag))
    assert {"X3", "X4"} in [set(separator) for separator in tree.separators]
    assert {frozenset(c) for c in tree.clusters} == {
        frozenset({"X1", "X2", "X3", "X4"}),
        frozenset({"X3", "X4", "X5"}),
        frozenset({"X3", "X6"}),
    }


def test_running_intersection_names_the_variable():
    clusters = [("A", "B"), ("A", "C"), ("A", "D")]
    around = ClusterGraph(clusters, [(0, 1), (1, 2), (2, 0)])
    assert not around.has_running_intersection
    with pytest.raises(ModelError, match=r"fails for 'A': the edge between clusters 2 and 0 closes a loop"):
        around.check_running_intersection()
    with pytest.raises(ModelError, match=r"fails for 'A': no path of sepsets with it joins clusters 0, 1, 2"):
        ClusterGraph(clusters, [(0, 1)]).check_running_intersection()
    ClusterGraph(clusters, [(0, 1), (1, 2), (2, 0)], sepsets=["A", "A", ()]).check_running_intersection()


@given(st.lists(st.sets(st.sampled_from("ABCD"), min_size=1), min_size=1, max_size=5), st.data())
def test_running_intersection_by_definition(sets, data):
    clusters = [sorted(s) for s in sets]
    pairs = list(itertools.combinations(range(len(clusters)), 2))
    edges = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    shared = [sorted(sets[a] & sets[b]) for a, b in edges]
    sepsets = [data.draw(st.lists(st.sampled_from(s), unique=True)) if s else [] for s in shared]
    graph = ClusterGraph(clusters, edges, sepsets=sepsets)
    assert graph.has_running_intersection == has_running_intersection(clusters, edges, sepsets)


@pytest.mark.parametrize(
    ("clusters", "edges", "sepsets", "message"),
    [
        ([("A",), ("A",)], [(0, 2)], None, r"The edge \(0, 2\) needs clusters from 0 to 1"),
        ([("A",), ("A",)], [(0, 0)], None, r"Cluster 0 has an edge to itself"),
        ([("A",), ("A",)], [(0, 1), (1, 0)], None, r"Two edges join clusters 1 and 0"),
        ([("A", "B"), ("A",)], [(0, 1)], [("B",)], r"contains 'B', which they do not share; they share 'A'"),
        ([("A",), ("B",)], [(0, 1)], [("B",)], r"they share nothing"),
        ([("A",), ("A",)], [(0, 1)], [], r"1 edges need as many sepsets; found 0"),
        ([("A", "A")], [], None, r"names a variable twice"),
    ],
)
def test_malformed_cluster_graphs(clusters, edges, sepsets, message):
    with pytest.raises((ModelError, ScopeError), match=message):
        ClusterGraph(clusters, edges, sepsets=sepsets)


def test_clique_trees_are_checked():
    triangle = [("A", "B"), ("B", "C"), ("C", "A")]
    with pytest.raises(ModelError, match="no loops"):
        ClusterTree(triangle, [(0, 1), (1, 2), (2, 0)])
    with pytest.raises(ModelError, match="Running intersection fails for 'A'"):
        ClusterTree(triangle, [(0, 1), (1, 2)])
    with pytest.raises(ModelError, match="no cluster 5"):
        ClusterTree([("A",)]).schedule(5)
    with pytest.raises(ScopeError, match="No cluster contains 'A', 'C'"):
        ClusterTree([("A", "B"), ("B", "C")], [(0, 1)]).family(["A", "C"])


def test_empty_tree():
    tree = tree_decomposition(UndirectedGraph())
    assert (len(tree), tree.schedule(), tree.roots(), tree.variables) == (0, (), (), ())
    assert strong_root(tree, "X") is None


def test_cluster_graphs_are_values():
    one, two = (tree_decomposition(UndirectedGraph.parse("A - B - C"), "ABC") for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    assert repr(one) == "ClusterTree(2 clusters of up to 2, 1 edge)"
    assert one.neighbors == ((1,), (0,))
    assert one.root == 1


# A -> X; X, B -> Y; A -> C; A, C, Y -> Z, with X, Y and Z continuous.
HYBRID = DAG.parse("A -> X; X -> Y <- B; A -> C; A -> Z; C -> Z; Y -> Z")
CONTINUOUS = ("X", "Y", "Z")


def tree_of(*clusters: str) -> ClusterTree:
    return ClusterTree([tuple(c) for c in clusters], itertools.pairwise(range(len(clusters))))


def test_strong_roots_of_three_trees():
    assert strong_root(tree_of("BXY", "AXY", "ACYZ"), CONTINUOUS) is None
    assert strong_root(tree_of("ABXY", "ABCY", "ACYZ"), CONTINUOUS) == 1
    assert strong_root(tree_of("ABXY", "ACYZ"), CONTINUOUS) is None


def test_the_hybrid_moral_graph_is_chordal():
    cliques = {frozenset(c) for c in tree_decomposition(moralize(HYBRID)).clusters}
    assert cliques == {frozenset("AXY"), frozenset("BXY"), frozenset("ACYZ")}


def test_strong_triangulation_of_the_hybrid_network():
    order = strong_order(moralize(HYBRID), CONTINUOUS)
    assert set(order.order[:3]) == set(CONTINUOUS)
    tree = tree_decomposition(moralize(HYBRID), order)
    root = strong_root(tree, CONTINUOUS)
    assert root is not None
    assert {"A", "B", "C"} <= set(tree.clusters[root])


def rooted_strongly(tree, root, gamma):
    """Every clique but the root loses only continuous names upwards, or sends up only discrete ones."""
    for message in tree.schedule(root):
        below, above = set(tree.clusters[message.source]), set(tree.clusters[message.target])
        if not (below - above <= gamma or not (below & above) & gamma):
            return False
    return True


@settings(max_examples=60)
@given(undirected(), st.data())
def test_strong_orders_give_strong_roots(drawn, data):
    nodes, edges = drawn
    graph = UndirectedGraph(nodes, edges)
    gamma = {node for node in nodes if data.draw(st.booleans())}
    tree = tree_decomposition(graph, strong_order(graph, gamma, cards=3), joined=True)
    root = strong_root(tree, gamma)
    assert root is not None or not nodes
    assert all(rooted_strongly(tree, top, gamma) for top in tree.roots())
    anything = tree_decomposition(graph, data.draw(st.permutations(nodes)), joined=True)
    found = strong_root(anything, gamma)
    strong = [i for i in range(len(anything)) if rooted_strongly(anything, i, gamma)]
    assert found == (strong[0] if strong else None)


def test_strong_sizes_count_discrete_states_only():
    graph = UndirectedGraph.parse("A - X - B")
    assert strong_order(graph, "X", cards={"A": 3, "B": 5}).total_size == 15
    with pytest.raises(ScopeError, match="No number of states for 'B'"):
        strong_order(graph, "X", cards={"A": 3})


def test_long_trees_are_printed_in_part():
    chain = UndirectedGraph([], itertools.pairwise(map(str, range(100))))
    lines = str(tree_decomposition(chain)).splitlines()
    assert len(lines) == 82
    assert lines[40] == "... (99 clusters in all)"
    assert lines[-1] == "... (98 edges in all)"


def test_a_forest_has_no_single_strong_root():
    with pytest.raises(ModelError, match="joined=True"):
        strong_root(tree_decomposition(UndirectedGraph("AB"), "AB"), "A")


def test_a_clique_tree_from_a_finished_order():
    graph = UndirectedGraph.parse("A - B - C - D - A")
    assert tree_decomposition(graph, eliminate_graph(graph, "ABCD")) == tree_decomposition(graph, "ABCD")
