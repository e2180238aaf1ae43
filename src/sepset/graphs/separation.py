"""The independences that a graph states: d-separation, separation, chain and context-specific separation.

Every question about a DAG is one run of the Bayes-ball algorithm, linear in the size of the graph.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import NamedTuple, TypeAlias, TypeVar, overload

import numpy as np

from sepset.base.arraytypes import Bools, Bytes, Ints
from sepset.base.display import Plain, Worded
from sepset.base.foreign import translated
from sepset.base.text import listing
from sepset.errors import ModelError, ScopeError
from sepset.graphs.base import name_of, required_graph
from sepset.graphs.csr import reached, row
from sepset.graphs.graph import DAG, Graph, Node, Nodes, anterior, moralize
from sepset.graphs.kinds import directed, mixed, without_directions
from sepset.graphs.notation import quoted

__all__ = [
    "Requisite",
    "Trail",
    "active_trail",
    "barren_nodes",
    "chain_separated",
    "csi_separated",
    "d_separated",
    "markov_blanket",
    "reachable",
    "requisite_nodes",
    "separated",
]

N = TypeVar("N", bound=Node)
Context: TypeAlias = Mapping[str, object]
Irrelevant: TypeAlias = Mapping[str, Iterable[Node]] | Callable[[str, Context], Iterable[Node]]


@dataclass(frozen=True, slots=True)
class Trail(Sequence[str], Worded, Plain):
    """An active trail: its nodes in order, and what makes it active. It prints with its arrows.

    Args:
        nodes: the nodes from one end to the other.
        arrows: `->` or `<-` between each two consecutive nodes.
        opened: each collider of the trail with the observed node, itself or a descendant, that activates it.
    """

    nodes: tuple[str, ...]
    arrows: tuple[str, ...]
    _: KW_ONLY
    opened: tuple[tuple[str, str], ...] = ()

    @overload
    def __getitem__(self, position: int) -> str: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[str, ...]: ...
    def __getitem__(self, position: int | slice) -> str | tuple[str, ...]:
        return self.nodes[position]

    def __len__(self) -> int:
        return len(self.nodes)

    def __str__(self) -> str:
        steps = itertools.chain.from_iterable(zip(self.arrows, map(quoted, self.nodes[1:]), strict=True))
        return " ".join([quoted(self.nodes[0]), *steps])

    def __repr__(self) -> str:
        return f"Trail({self})"

    @property
    def explanation(self) -> str:
        """The trail, and why each of its colliders lets influence through.

        >>> active_trail(DAG.parse("A -> B <- C; B -> D"), "A", "C", given="D").explanation
        'A -> B <- C, where B is open because its descendant D is observed'
        """
        reasons = [
            f"{quoted(c)} is observed"
            if c == o
            else f"{quoted(c)} is open because its descendant {quoted(o)} is observed"
            for c, o in self.opened
        ]
        return f"{self}, where {' and '.join(reasons)}" if reasons else str(self)


@dataclass(frozen=True, slots=True)
class Requisite:
    """The nodes that a query needs: those whose CPDs it needs, and the observed ones whose values it needs."""

    probabilities: tuple[str, ...]
    observations: tuple[str, ...]


@translated
def d_separated(dag: Graph, xs: Nodes, ys: Nodes, *, given: Nodes = ()) -> bool:
    r"""Whether `given` d-separates every node of `xs` from every node of `ys`.

    $$\mathrm{dsep}(\mathbf X; \mathbf Y \mid \mathbf Z) \iff \text{no trail between them is active given } \mathbf Z$$

    Cost: linear in the graph. Reference: Koller & Friedman, section 3.3 and algorithm 3.1; Shachter (1998).
    Reference: Koller & Friedman 3.3.3; Shachter (1998).
    Guarantee: exact.
    Tested by: graphs/test_separation.py::test_d_separation_is_the_absence_of_active_paths

    >>> dag = DAG.parse("A -> B <- C")
    >>> d_separated(dag, "A", "C"), d_separated(dag, "A", "C", given="B")
    (True, False)
    """
    dag = directed(dag, "d_separated")
    sources, targets, observed = _disjoint(dag, xs, ys, given)
    before = _bayes_ball(dag, sources, observed).before
    return bool((before.reshape(-1, 2)[targets] < 0).all())


@translated
def reachable(dag: Graph, xs: Nodes, *, given: Nodes = ()) -> tuple[str, ...]:
    """The unobserved nodes that an active trail joins to `xs`, `xs` included, in node order.

    Reference: Koller & Friedman, algorithm 3.1.
    Guarantee: exact.
    Tested by: graphs/test_separation.py::test_d_separation_is_the_absence_of_active_paths

    >>> reachable(DAG.parse("A -> B <- C; B -> D"), "A")
    ('A', 'B', 'D')
    """
    dag = directed(dag, "reachable")
    sources, _, observed = _disjoint(dag, xs, (), given)
    ball = _bayes_ball(dag, sources, observed)
    found = ball.from_child | ball.from_parent
    return tuple(itertools.compress(dag.nodes, found & (ball.observed == 0)))


@translated
def active_trail(dag: Graph, x: Nodes, y: Nodes, *, given: Nodes = ()) -> Trail | None:
    """A shortest active trail from `x` to `y`, or None if `given` d-separates them.

    Reference: Koller & Friedman, section 3.3.1.
    Guarantee: exact.
    Tested by: graphs/test_separation.py::test_explanations

    >>> print(active_trail(DAG.parse("A -> B <- C; B -> D"), "A", "C", given="D"))
    A -> B <- C
    """
    dag = directed(dag, "active_trail")
    sources, targets, observed = _disjoint(dag, x, y, given)
    before = _bayes_ball(dag, sources, observed).before
    trails = [_walk_back(before, state) for t in targets for state in (2 * t, 2 * t + 1) if before[state] >= 0]
    if not trails:
        return None
    states = min(trails, key=len)
    arrows = tuple("->" if state % 2 else "<-" for state in states[1:])
    ids = [state // 2 for state in states]
    colliders = [ids[k + 1] for k, pair in enumerate(itertools.pairwise(arrows)) if pair == ("->", "<-")]
    opened = tuple((dag.nodes[c], dag.nodes[_nearest_observed(dag, c, observed)]) for c in colliders)
    return Trail(tuple(dag.nodes[i] for i in ids), arrows, opened=opened)


@translated
def separated(graph: Graph, xs: Nodes, ys: Nodes, *, given: Nodes = ()) -> bool:
    """Whether every path between `xs` and `ys` passes through `given`.

    Reference: Koller & Friedman, section 4.3.1.
    Guarantee: exact.
    Tested by: graphs/test_separation.py::test_separation_is_the_absence_of_open_paths

    >>> from sepset.graphs.graph import UndirectedGraph
    >>> separated(UndirectedGraph.parse("A - B - C"), "A", "C", given="B")
    True
    """
    graph = without_directions(graph, "separated")
    sources, targets, blocked = _disjoint(graph, xs, ys, given)
    found = reached((graph.neighbor_csr,), sources, len(graph), blocked)
    return not any(found[t] for t in targets)


@translated
def chain_separated(graph: Graph, xs: Nodes, ys: Nodes, *, given: Nodes = ()) -> bool:
    r"""Whether `given` separates `xs` from `ys` in a chain graph (the Lauritzen-Wermuth-Frydenberg reading).

    $$\mathrm{sep}_{\mathcal M[\mathcal K[\mathrm{An}(\mathbf X \cup \mathbf Y \cup \mathbf Z)]]}
      (\mathbf X; \mathbf Y \mid \mathbf Z)$$

    where the set is closed under boundaries: parents and neighbors.

    Reference: Koller & Friedman, section 4.6.2; Lauritzen (1996), section 3.2.3.
    Guarantee: exact.
    Tested by: graphs/test_separation.py::test_chain_separation_by_definition

    >>> from sepset.graphs.graph import MixedGraph
    >>> chain = MixedGraph.parse("A -> C - D <- B")
    >>> chain_separated(chain, "A", "B"), chain_separated(chain, "A", "B", given=["C", "D"])
    (True, False)
    """
    graph = mixed(graph)
    if not graph.is_chain_graph:
        raise ModelError("chain_separated needs a chain graph; here a cycle follows a directed edge. Break that cycle.")
    involved = [graph.nodes[i] for part in _disjoint(graph, xs, ys, given) for i in part]
    return separated(moralize(graph.subgraph(anterior(graph, involved))), xs, ys, given=given)


@translated
def csi_separated(
    dag: Graph, xs: Nodes, ys: Nodes, *, given: Nodes = (), context: Mapping[N, object], irrelevant: Irrelevant
) -> bool:
    r"""Whether `xs` and `ys` are separated given `given` in a context, where some parents no longer matter.

    The edges from parents that are irrelevant in context $\mathbf c$ are removed; then
    $\mathrm{dsep}(\mathbf X; \mathbf Y \mid \mathbf Z, \mathbf C)$ is asked in what remains.

    Args:
        dag: the graph.
        xs, ys, given: as in `d_separated`.
        context: the values of the context's variables, which count as observed.
        irrelevant: for each child the parents that drop out: a mapping, or a function of (child, context).

    Reference: Koller & Friedman, algorithm 5.2.
    Guarantee: sound.
    Tested by: graphs/test_separation.py::test_context_specific_separation

    >>> dag = DAG.parse("A -> C <- S -> D; B -> C; A -> B")
    >>> csi_separated(dag, "C", "A", given="B", context={"S": 0}, irrelevant={"C": ["A"]})
    True
    """
    dag = directed(dag, "csi_separated")
    values = {dag.nodes[dag.id(node)]: value for node, value in context.items()}
    spurious = set(_spurious_edges(dag, values, irrelevant))
    kept = DAG(dag.nodes, [edge for edge in dag.edges if edge not in spurious])
    observed = [dag.nodes[i] for i in dag.ids(given)]
    return d_separated(kept, xs, ys, given=[*observed, *values])


@translated
def markov_blanket(graph: Graph, node: Node) -> tuple[str, ...]:
    r"""The nodes that make `node` independent of all others: its neighbors in the moral graph.

    In a DAG: parents, children and the children's other parents. In an undirected graph: the neighbors.

    Reference: Koller & Friedman, sections 4.3.2 and 4.5.1.
    Guarantee: smallest separating set.
    Tested by: graphs/test_separation.py::test_the_blanket_is_the_smallest_separating_set

    >>> markov_blanket(DAG.parse("A -> B <- C; B -> D"), "A")
    ('B', 'C')
    """
    required_graph(graph)
    if not isinstance(graph, DAG):
        return moralize(graph).neighbors(node)
    i = graph.id(node)
    children = row(graph.child_csr, i)
    members = {*row(graph.parent_csr, i), *children}.union(*(row(graph.parent_csr, c) for c in children))
    return tuple(graph.nodes[j] for j in sorted(members - {i}))


@translated
def barren_nodes(dag: Graph, targets: Nodes, *, observed: Nodes = ()) -> tuple[str, ...]:
    """The nodes that are not targets or observed, nor ancestors of such nodes: their CPDs sum to one and drop out.

    Reference: Shachter (1986), barren nodes.
    Guarantee: exact.
    Tested by: graphs/test_separation.py::test_barren_nodes_are_those_removed_leaf_by_leaf

    >>> barren_nodes(DAG.parse("A -> B -> C"), "A", observed="B")
    ('C',)
    """
    dag = directed(dag, "barren_nodes")
    needed = set(anterior(dag, [dag.nodes[i] for part in (targets, observed) for i in dag.ids(part)]))
    return tuple(node for node in dag.nodes if node not in needed)


@translated
def requisite_nodes(dag: Graph, targets: Nodes, *, observed: Nodes = ()) -> Requisite:
    r"""The CPDs and the observations that $P(\text{targets} \mid \text{observed})$ may depend on.

    Cost: linear in the graph. Reference: Shachter (1998), Bayes-Ball; Koller & Friedman, section 3.3.3.
    Reference: Shachter (1998).
    Guarantee: exact.
    Tested by: graphs/test_separation.py::test_requisite_nodes_by_an_added_parent

    >>> requisite_nodes(DAG.parse("A -> B -> C; B -> D"), "C", observed="B")
    Requisite(probabilities=('C',), observations=('B',))
    """
    dag = directed(dag, "requisite_nodes")
    ball = _bayes_ball(dag, dag.ids(targets), dag.ids(observed))
    known = ball.observed == 1
    needed = (ball.from_child & ~known) | (ball.from_parent & (ball.opened == 1))
    visited = (ball.from_child | ball.from_parent) & known
    return Requisite(tuple(itertools.compress(dag.nodes, needed)), tuple(itertools.compress(dag.nodes, visited)))


class _Ball(NamedTuple):
    """The states that the Bayes ball visited, as `kernels.graphs.reachability` numbers them."""

    before: Ints
    observed: Bytes
    opened: Bytes

    @property
    def from_child(self) -> Bools:
        return self.before[0::2] >= 0

    @property
    def from_parent(self) -> Bools:
        return self.before[1::2] >= 0


def _bayes_ball(dag: DAG, sources: list[int], observed: list[int]) -> _Ball:
    from sepset.kernels.graphs import reachability

    seen = np.zeros(len(dag), dtype=np.uint8)
    seen[observed] = 1
    opened = reachability.mark_ancestors(*dag.parent_csr, np.array(observed, dtype=np.int64))
    starts = np.array(sources, dtype=np.int64)
    before = reachability.active_states(*dag.parent_csr, *dag.child_csr, starts, seen, opened)
    return _Ball(before, seen, opened)


def _walk_back(before: Ints, state: int) -> list[int]:
    states = [state]
    while before[states[-1]] != states[-1]:
        states.append(int(before[states[-1]]))
    return states[::-1]


def _nearest_observed(dag: DAG, collider: int, observed: list[int]) -> int:
    wanted, queue, seen = set(observed), [collider], {collider}
    for i in queue:
        if i in wanted:
            return i
        fresh = [j for j in row(dag.child_csr, i) if j not in seen]
        seen.update(fresh)
        queue.extend(fresh)
    raise AssertionError("an open collider has an observed descendant")


def _spurious_edges(dag: DAG, context: Context, irrelevant: Irrelevant) -> Iterator[tuple[str, str]]:
    if isinstance(irrelevant, Mapping):
        dropped = {dag.nodes[dag.id(child)]: parents for child, parents in irrelevant.items()}
    else:
        dropped = {child: irrelevant(child, context) for child in dag.nodes}
    for child, parents in dropped.items():
        for parent in parents:
            if not dag.has_edge(parent, child):
                raise ScopeError(
                    f"{name_of(parent)!r} cannot drop out for {child!r}: its parents are {listing(dag.parents(child))}."
                )
            yield name_of(parent), child


def _disjoint(graph: Graph, *groups: Nodes) -> list[list[int]]:
    """The ids of each group; raises if a node is in two groups."""
    parts = [graph.ids(group) for group in groups]
    for first, second in itertools.combinations(parts, 2):
        both = set(first) & set(second)
        if both:
            names = listing(graph.nodes[i] for i in sorted(both))
            raise ScopeError(f"The sets of a separation must be disjoint; {names} is in two of them.")
    return parts
