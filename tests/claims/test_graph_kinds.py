"""A graph function that is given another kind of graph, or a model, answers for it or refuses it: never wrongly.

The graph is a -> b -> d, a -> c -> e, d -> f <- e. Its moral graph joins d and e, which leaves the cycle a b d e c
without a chord: it is not chordal, its treewidth is two, and two more edges triangulate it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import sepset as ss

NODES = "abcdef"
GRAPH = ss.DAG.parse("a -> b -> d; a -> c -> e; d -> f <- e")
MORAL = {"ab", "ac", "bd", "ce", "de", "df", "ef"}
DIRECTED = {"ab", "bd", "ac", "ce", "df", "ef"}
REFUSED = "refused"


def model() -> ss.BayesNet:
    variables = {name: ss.Discrete(name, 2) for name in NODES}
    parents = {name: [variables[p] for p in GRAPH.parents(name)] for name in NODES}
    tables = {0: [0.5, 0.5], 1: [[0.5, 0.5]] * 2, 2: [[[0.5, 0.5]] * 2] * 2}
    return ss.BayesNet(*(ss.TableCPD(v, tables[len(parents[n])], given=parents[n]) for n, v in variables.items()))


def answer(question: Callable[[Any], object], graph: object) -> object:
    try:
        return question(graph)
    except ss.SepsetError:
        return REFUSED


def pairs(edges) -> set[str]:
    return {"".join(sorted(edge)) for edge in edges}


def triangulated(graph: ss.UndirectedGraph) -> bool:
    """Seven edges and two more."""
    return pairs(graph.edges) > MORAL and graph.num_edges == 9


def of_triangles(tree: ss.graphs.ClusterGraph) -> bool:
    return len(tree.clusters) == 4 and all(len(cluster) == 3 for cluster in tree.clusters)


UNDIRECTED: dict[str, tuple[Callable[[Any], object], Callable[[Any], bool]]] = {
    "treewidth": (ss.graphs.treewidth, lambda found: found == 2),
    "treewidth_bounds": (ss.graphs.treewidth_bounds, lambda found: found[0] <= 2 <= found[1]),
    "clique_tree": (ss.graphs.tree_decomposition, of_triangles),
    "elimination_order": (ss.graphs.elimination_order, lambda found: found.width == 2),
    "induced_width": (lambda graph: ss.graphs.induced_width(graph, list("fbcdea")), lambda found: found == 2),
    "is_chordal": (ss.graphs.is_chordal, lambda found: found is False),
    "triangulate": (ss.graphs.triangulate, triangulated),
    "maximal_cliques": (ss.graphs.maximal_cliques, lambda found: False),  # of a chordal graph only
    "perfect_elimination_order": (ss.graphs.perfect_elimination_order, lambda found: False),
    "separated": (lambda graph: ss.graphs.separated(graph, "a", "f"), lambda found: found is False),
}
OF_DIRECTED: dict[str, tuple[Callable[[Any], object], Callable[[Any], bool]]] = {
    "d_separated": (lambda graph: ss.d_separated(graph, "a", "f"), lambda found: found is False),
    "active_trail": (
        lambda graph: ss.graphs.active_trail(graph, "a", "f"),
        lambda found: found.nodes[0::3] == ("a", "f"),
    ),
    "moralize": (ss.graphs.moralize, lambda found: pairs(found.edges) == MORAL),
    "cpdag": (ss.graphs.cpdag, lambda found: pairs(found.directed) == {"df", "ef"} and found.num_edges == 6),
    "markov_blanket": (lambda graph: ss.graphs.markov_blanket(graph, "d"), lambda found: set(found) == set("bef")),
    "independences": (
        ss.graphs.independences,
        lambda found: {("b", "c", ("a",)), ("d", "e", ("a",))} <= {(i.x, i.y, tuple(i.given)) for i in found},
    ),
    "ancestors": (lambda graph: ss.graphs.ancestors(graph, "f"), lambda found: set(found) == set("abcde")),
    "descendants": (lambda graph: ss.graphs.descendants(graph, "b"), lambda found: set(found) == set("df")),
    "skeleton": (ss.graphs.skeleton, lambda found: pairs(found.edges) == DIRECTED),
}


def each(
    questions: dict[str, tuple[Callable[[Any], object], Callable[[Any], bool]]], *marks: pytest.MarkDecorator
) -> pytest.MarkDecorator:
    return pytest.mark.parametrize(
        ("question", "is_right"), [pytest.param(*case, id=name, marks=marks) for name, case in questions.items()]
    )


def test_the_moral_graph_is_what_it_is_said_to_be():
    moral = ss.UndirectedGraph.parse("; ".join(f"{a} - {b}" for a, b in sorted(MORAL)))
    for question, is_right in UNDIRECTED.values():
        found = answer(question, moral)
        assert found == REFUSED or is_right(found)


@each(OF_DIRECTED)
def test_questions_about_directed_graphs(question, is_right):
    assert is_right(question(GRAPH))


@each(UNDIRECTED)
def test_questions_about_undirected_graphs_of_a_directed_one(question, is_right):
    found = answer(question, GRAPH)
    assert found == REFUSED or is_right(found)


def test_d_separation_in_an_undirected_graph():
    moral = ss.UndirectedGraph.parse("; ".join(f"{a} - {b}" for a, b in sorted(MORAL)))
    assert answer(lambda graph: ss.d_separated(graph, "a", "f"), moral) in (REFUSED, False)


@each(UNDIRECTED | OF_DIRECTED)
def test_questions_about_the_graph_of_a_model(question, is_right):
    found = answer(question, model())
    assert found == REFUSED or is_right(found)


def test_chain_components_of_a_directed_graph():
    found = answer(ss.graphs.chain_components, GRAPH)
    assert found == REFUSED or {tuple(component) for component in found} == {(name,) for name in NODES}


@pytest.mark.parametrize(
    "drawn",
    [
        pytest.param(lambda: ss.graphs.moralize(GRAPH), id="undirected graph"),
        pytest.param(lambda: ss.graphs.cpdag(GRAPH), id="CPDAG"),
        pytest.param(lambda: ss.datasets.load("misconception"), id="Markov network"),
        pytest.param(lambda: ss.graphs.tree_decomposition(ss.graphs.moralize(GRAPH)), id="clique tree"),
    ],
)
def test_pictures_of_other_graphs(drawn):
    pytest.importorskip("matplotlib").use("agg")
    plotting = pytest.importorskip("sepset.plotting")
    assert answer(plotting.graph, drawn()) is not None


# The law for every function of the library that is given a graph first.

FIRST = ("graph", "dag", "pdag", "first")
OTHERS = {
    "xs": "a",
    "ys": "f",
    "x": "a",
    "y": "f",
    "node": "d",
    "nodes": "d",
    "targets": "f",
    "continuous": (),
    "order": list("fbcdea"),
    "context": {},
    "irrelevant": {},
    "independent": lambda x, y, z: True,
}


def of_graphs() -> dict[str, Callable[[Any], object]]:
    """Every public function whose first argument is a graph, as a function of that graph alone."""
    found = {}
    for name in ss.graphs.__all__:
        function = getattr(ss.graphs, name)
        if inspect.isfunction(function) and function.__module__.startswith("sepset.graphs."):
            first, *rest = inspect.signature(function).parameters.values()
            if first.name in FIRST:
                wanted = [p.name for p in rest if p.default is p.empty]
                found[name] = partial(asked, function, wanted)
    return found


def asked(function: Callable[..., object], names: list[str], graph: object) -> object:
    return function(graph, **{name: graph if name == "second" else OTHERS[name] for name in names})


each_function = pytest.mark.parametrize("question", of_graphs().values(), ids=of_graphs())


def test_the_functions_are_found():
    assert {"treewidth", "separated", "cpdag", "chain_components", "is_imap", "directed_imap"} <= set(of_graphs())


@each_function
def test_what_is_no_graph_is_refused_in_words(question):
    for value in (model(), ss.datasets.load("misconception"), "a -> b", None, 3, {"a": ["b"]}):
        with pytest.raises(ss.errors.ModelError, match="graph"):
            question(value)


@each_function
@pytest.mark.parametrize("kind", [ss.DAG, ss.UndirectedGraph, ss.MixedGraph])
def test_no_graph_is_taken_for_one_without_its_edges(question, kind):
    """What is answered for all edges, or refused, is not what is answered where edges of that kind are unheard of."""
    text = str(GRAPH) if kind is not ss.UndirectedGraph else "; ".join(f"{a} - {b}" for a, b in sorted(MORAL))
    found = answer(question, kind.parse(text))
    if found != REFUSED and question.args[0] is not ss.graphs.immoralities:  # an undirected graph has none
        without = [answer(question, other(NODES)) for other in (ss.DAG, ss.UndirectedGraph, ss.MixedGraph)]
        assert question.args[0].__name__ in ALIKE or found not in [one for one in without if one != REFUSED]


ALIKE = {
    "is_imap",  # of a distribution without dependences every graph is one
    "is_cpdag",  # a truth value can be the same by chance
    "is_chordal",
    "is_perfect_map",
    "i_equivalent",
    "d_separated",
    "csi_separated",
    "separated",
    "chain_separated",
    "perfect_elimination_order",
    "eliminate_graph",
    "reachable",
    "barren_nodes",
    "requisite_nodes",
    "covered_edges",
    "chain_components",
    "induced_width",
    "fill_in",
}


ELIMINATION = "treewidth treewidth_bounds elimination_order triangulate is_chordal tree_decomposition strong_order"


@pytest.mark.parametrize("name", [*ELIMINATION.split(), "induced_width", "fill_in", "eliminate_graph"])
def test_elimination_is_asked_of_the_moral_graph(name):
    question = of_graphs()[name]
    assert repr(question(GRAPH)) == repr(question(ss.graphs.moralize(GRAPH)))
    assert repr(question(ss.MixedGraph(GRAPH.nodes, GRAPH.directed))) == repr(question(ss.graphs.moralize(GRAPH)))


@pytest.mark.parametrize("given", ["", "d", "bc", "f"])
def test_chain_separation_of_a_directed_graph_is_d_separation(given):
    moral = ss.graphs.moralize(GRAPH)
    for x, y in (("a", "f"), ("d", "e"), ("b", "c")):
        if not {x, y} & set(given):
            assert ss.graphs.chain_separated(GRAPH, x, y, given=list(given)) == ss.d_separated(
                GRAPH, x, y, given=list(given)
            )
            assert ss.graphs.chain_separated(moral, x, y, given=list(given)) == ss.graphs.separated(
                moral, x, y, given=list(given)
            )
