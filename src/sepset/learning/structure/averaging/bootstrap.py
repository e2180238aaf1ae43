r"""Bootstrap confidence of edges: how often a method finds them on resampled rows."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from sepset.base.arraytypes import Bytes, Floats
from sepset.base.checks import whole
from sepset.errors import ModelError, NotApplicable
from sepset.graphs.base import Graph
from sepset.graphs.equivalence import cpdag
from sepset.graphs.graph import DAG, MixedGraph
from sepset.graphs.kinds import mixed
from sepset.inference.iterate import Info, Until
from sepset.inference.result import Guarantee, Status
from sepset.learning.structure.averaging.chains import appended
from sepset.learning.structure.averaging.posterior import StructurePosteriorResult
from sepset.learning.structure.classes.essential import EssentialGraph
from sepset.learning.structure.classes.knowledge import constrained_graph
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.learned import Learned, StructureMethod, StructureTask, iterated, part
from sepset.learning.structure.unused import check_kind, uses_score


@dataclass(frozen=True)
class Replicates:
    """The sums of edges and the graphs of so many replicates."""

    count: int
    edges: Floats
    graphs: Bytes


class ReplicatesCodec:
    """Replicates as plain values."""

    def pack(self, state: Replicates) -> Any:
        """The arrays by name."""
        return {**vars(state), "graphs": state.graphs[:, : state.count]}

    def unpack(self, packed: Any) -> Replicates:
        """The replicates from their arrays."""
        return Replicates(int(packed["count"]), np.array(packed["edges"]), np.array(packed["graphs"]))


@dataclass(frozen=True, slots=True)
class BootstrapStructures:
    r"""The share of resampled data sets on which a method finds each edge.

    $$\hat p(f) = \frac{1}{B} \sum_{b=1}^B f(\hat{\mathcal G}(\mathcal D_b))$$

    The probabilities of the result are these shares: confidence, not posterior probabilities. `consensus()` reads its
    threshold from them.

    Args:
        method: any method that learns a structure from rows. If tests contradict each other so that its graph has no
            member, `graphs` has a DAG with the same adjacencies.
        num_replicates: $B$.
        is_class: whether edges whose direction the class and the constraints leave open count half in each direction.

    Reference: Friedman, Goldszmidt & Wyner (1999); Scutari & Nagarajan (2013).
    Guarantee: an estimate.
    Tested by: learning/structure/averaging/test_bootstrap.py::test_strong_and_weak_edges
    """

    method: StructureMethod[Any]
    num_replicates: int = 200
    _: KW_ONLY
    is_class: bool = True

    def __post_init__(self) -> None:
        check_kind(self.method, "learn")
        whole("BootstrapStructures(num_replicates=)", self.num_replicates, least=1)

    @property
    def uses_score(self) -> bool:
        """Whether the method does."""
        return uses_score(self.method)

    def average(self, task: StructureTask) -> StructurePosteriorResult:
        """The confidence in every edge; of the replicates so far, where `until` or Ctrl-C ends them."""
        until = Until(steps=self.num_replicates, tolerance=None)
        found = iterated(self, task, ReplicatesCodec(), until=until).result(self, task)
        status = Status.COMPLETED if found.status is Status.STEP_LIMIT and task.until is None else found.status
        return replace(found, status=status)

    def init(self, task: StructureTask, rng: np.random.Generator) -> Replicates:
        """No replicates."""
        n = len(task.columns)
        return Replicates(0, np.zeros((n, n)), np.zeros((1, 0, n, n), np.uint8))

    def step(self, task: StructureTask, state: Replicates, rng: np.random.Generator) -> tuple[Replicates, Info]:
        """One replicate."""
        again = replace(
            task, columns=resampled(task.columns, rng), rng=rng, until=None, progress=False, checkpoint=None
        )
        learned = part(self.method.learn(again))
        dag, names = member(learned), task.columns.names
        graphs = appended(state.graphs, state.count, _matrix(dag.edges, names)[None, None])
        moved = Replicates(state.count + 1, state.edges + self._edges(learned.graph, dag, task), graphs)
        return moved, Info(0.0 if np.isnan(learned.score) else learned.score, np.inf)  # a test gives no score

    def read(self, task: StructureTask, state: Replicates) -> StructurePosteriorResult:
        """The shares of the replicates."""
        if not state.count:
            raise NotApplicable(f"{self!r} was ended in its first replicate. Give it more time.")
        return StructurePosteriorResult(
            task.columns,
            state.edges / state.count,
            parents=state.graphs[0, : state.count],
            weights=np.full(state.count, 1 / state.count),
            method=self,
            task=task,
            guarantees={"edges": Guarantee.ESTIMATE, "paths": Guarantee.ESTIMATE},
        )

    def _edges(self, graph: Graph, dag: DAG, task: StructureTask) -> Floats:
        names = task.columns.names
        if not self.is_class:
            return _matrix(dag.edges, names)
        found = _class(dag, task) if isinstance(graph, DAG) else mixed(graph)
        both = _matrix(found.undirected, names)
        return _matrix(found.directed, names) + 0.5 * (both + both.T)


def _class(dag: DAG, task: StructureTask) -> MixedGraph:
    """The class of a DAG, with the directions that the constraints leave."""
    names = task.columns.names
    if task.allowed.is_free or set(dag.nodes) != set(names):
        return cpdag(dag)
    place = {name: k for k, name in enumerate(names)}
    arcs = EssentialGraph([[place[p] for p in dag.parents(name)] for name in names]).arcs
    return constrained_graph(arcs, task.allowed, names)


def member(learned: Learned[Any]) -> DAG:
    """A DAG of the learned graph; where tests contradict each other and there is none, one with the same adjacencies.

    >>> from sepset.graphs.graph import UndirectedGraph
    >>> member(Learned(UndirectedGraph.parse("a - b - c - d - a"), columns=None, method=None))
    DAG(a -> b; a -> d; b -> c; c -> d)
    """
    try:
        return learned.dag
    except ModelError:
        return _ordered(mixed(learned.graph))


def _ordered(graph: MixedGraph) -> DAG:
    """A DAG with the adjacencies of a graph, and its arrows but for those that close cycles."""
    after: dict[str, set[str]] = {name: set() for name in graph.nodes}
    for a, b in graph.directed:
        after[a].add(b)
    left, rank = list(graph.nodes), dict[str, int]()
    while left:
        last = min(reversed(left), key=lambda name: len(after[name].intersection(left)))
        rank[last] = len(left)
        left.remove(last)
    pairs = (*graph.directed, *graph.undirected)
    return DAG(graph.nodes, [(a, b) if rank[a] < rank[b] else (b, a) for a, b in pairs])


def _matrix(edges: Any, names: tuple[str, ...]) -> Floats:
    place = {name: i for i, name in enumerate(names)}
    found = np.zeros((len(names), len(names)))
    for a, b in edges:
        found[place[a], place[b]] = 1.0
    return found


def resampled(columns: Columns, rng: np.random.Generator) -> Columns:
    """As many rows, drawn with replacement."""
    weights = columns.cases.weights
    return columns.redrawn(rng.multinomial(round(columns.total), weights / weights.sum()))
