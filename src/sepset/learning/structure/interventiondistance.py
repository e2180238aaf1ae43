r"""The structural intervention distance: how many effects of interventions a learned graph gets wrong.

A graph $\mathcal H$ says that $P(x_j \mid do(x_i))$ is found by adjusting for $\text{Pa}^{\mathcal H}_i$, and that $j$
is not affected if it is a parent. In the true graph $\mathcal G$ adjusting for $Z$ is right, for all its
distributions, if $Z$ has no descendant of a node between $i$ and $j$ on a directed path, and separates $i$ from $j$
once the first edges of these paths are removed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass

from sepset.base.display import Shown
from sepset.base.foreign import translated
from sepset.base.text import listing
from sepset.errors import ModelError, TooLarge
from sepset.graphs.equivalence import is_cpdag, meek_rules
from sepset.graphs.graph import DAG, MixedGraph, ancestors, connected_components, descendants
from sepset.graphs.separation import reachable
from sepset.learning.assessment import Assessment

MOST_MEMBERS = 10_000
"""The most ways to direct a component of a class that are tried."""

MOST_NODES = 5_000
"""The most nodes whose effects on each other are judged."""

Pair = tuple[str, str]


@dataclass(frozen=True, repr=False)
class InterventionDistanceResult(Assessment):
    """How many effects of one variable on another a learned graph gets wrong.

    Attributes:
        lower: of the member of the learned class that gets the fewest wrong; for a DAG, the distance.
        upper: of the member that gets the most wrong.
        wrong: the pairs (cause, effect) that every member gets wrong.
        num_pairs: the number of all pairs.

    >>> intervention_distance(DAG.parse("a -> b"), DAG.parse("b -> a")).wrong
    (('a', 'b'), ('b', 'a'))
    """

    lower: int
    upper: int
    _: KW_ONLY
    wrong: tuple[Pair, ...]
    num_pairs: int

    def __repr__(self) -> str:
        span = str(self.lower) if self.lower == self.upper else f"{self.lower} to {self.upper}"
        return f"InterventionDistanceResult({span} of {self.num_pairs} pairs)"

    def _shown(self) -> Shown:
        span = str(self.lower) if self.lower == self.upper else f"{self.lower} to {self.upper}"
        title = f"structural intervention distance {span} of {self.num_pairs} pairs"
        return Shown(("cause", "effect") if self.wrong else (), list(self.wrong), title, words=2)


@translated
def intervention_distance(truth: DAG, learned: DAG | MixedGraph) -> InterventionDistanceResult:
    """The structural intervention distance of a learned graph, or its bounds over a learned class, from the truth.

    Args:
        truth: the graph that data came from.
        learned: a DAG over the same nodes, or a class PDAG.

    Cost: a search of the true graph for each pair; the members of each component of a class are tried one by one.
    Reference: Peters & Buehlmann (2015), "Structural intervention distance for evaluating causal graphs".
    Guarantee: exact.
    Tested by: learning/structure/test_interventiondistance.py::test_wrong_effects_by_enumeration

    >>> truth = DAG.parse("x -> y; x -> z; y -> z")
    >>> intervention_distance(truth, DAG.parse("y -> x; x -> z; y -> z")).lower
    4
    """
    if set(truth.nodes) != set(learned.nodes):
        differ = sorted(set(truth.nodes) ^ set(learned.nodes))
        raise ModelError(f"Graphs compare over the same nodes; they differ in {listing(differ)}.")
    if not isinstance(truth, DAG) or not (isinstance(learned, DAG) or is_cpdag(learned)):
        other = learned if isinstance(truth, DAG) else truth
        raise ModelError(f"Effects are those of a DAG, compared with a DAG or a class PDAG; found {other!r}.")
    if len(truth.nodes) > MOST_NODES:
        raise TooLarge(
            f"The effects of {len(truth.nodes):,} nodes on all others are searched one by one; at most {MOST_NODES:,} "
            "nodes are taken. compare() counts edges in linear time."
        )
    judge = _Judge(truth)
    if isinstance(learned, DAG):
        wrong = {(i, j) for i in truth.nodes for j in judge.wrong(i, frozenset(learned.parents(i)))}
        return _result(truth, len(wrong), len(wrong), wrong)
    lower = upper = 0
    always: set[Pair] = set()
    for component in _components(learned):
        found = [
            {(i, j) for i in component for j in judge.wrong(i, above[i])} for above in _members(learned, component)
        ]
        sizes = [len(pairs) for pairs in found]
        lower, upper = lower + min(sizes), upper + max(sizes)
        always |= set.intersection(*found)
    return _result(truth, lower, upper, always)


def _result(truth: DAG, lower: int, upper: int, wrong: set[Pair]) -> InterventionDistanceResult:
    n = len(truth.nodes)
    place = truth.index
    ordered = sorted(wrong, key=lambda pair: (place[pair[0]], place[pair[1]]))
    return InterventionDistanceResult(lower, upper, wrong=tuple(ordered), num_pairs=n * (n - 1))


class _Judge:
    """The effects that adjusting for some nodes gets wrong, in a true graph."""

    def __init__(self, truth: DAG) -> None:
        self.truth = truth
        self.below = {i: frozenset(descendants(truth, [i])) | {i} for i in truth.nodes}
        self.above = {i: frozenset(ancestors(truth, [i])) | {i} for i in truth.nodes}
        self._known: dict[tuple[str, frozenset[str]], tuple[str, ...]] = {}
        self._reached: dict[tuple[str, frozenset[str], frozenset[str]], frozenset[str]] = {}

    def wrong(self, i: str, given: frozenset[str]) -> tuple[str, ...]:
        """The nodes on which the effect of a node is wrong if it is found by adjusting for its parents."""
        key = (i, given)
        if key not in self._known:
            self._known[key] = tuple(j for j in self.truth.nodes if j != i and self._is_wrong(i, j, given))
        return self._known[key]

    def _is_wrong(self, i: str, j: str, given: frozenset[str]) -> bool:
        if j in given:
            return j in self.below[i]
        between = self.below[i] & self.above[j] - {i}
        if any(self.below[node] & given for node in between):
            return True
        first = between & frozenset(self.truth.children(i))
        return j in self._reach(i, first, given)

    def _reach(self, i: str, removed: frozenset[str], given: frozenset[str]) -> frozenset[str]:
        """The nodes that a node depends on, without its edges to some children, given others."""
        key = (i, removed, given)
        if key not in self._reached:
            edges = [(a, b) for a, b in self.truth.edges if a != i or b not in removed]
            self._reached[key] = frozenset(reachable(DAG(self.truth.nodes, edges), [i], given=sorted(given)))
        return self._reached[key]


def _components(graph: MixedGraph) -> list[tuple[str, ...]]:
    """The nodes that lines connect."""
    lines = MixedGraph(graph.nodes, [], undirected=graph.undirected)
    return [tuple(part) for part in connected_components(lines)]


def _members(graph: MixedGraph, component: tuple[str, ...]) -> Iterator[dict[str, frozenset[str]]]:
    """The parents of the nodes of a component, for each way to direct it without a cycle or a new immorality."""
    inside = set(component)
    lines = [edge for edge in graph.undirected if edge[0] in inside]
    fixed = {i: frozenset(a for a, b in graph.directed if b == i) for i in component}
    count = 0
    waiting = [MixedGraph(component, [], undirected=lines)]
    while waiting:
        part = waiting.pop()
        if part.undirected:
            (a, b), *rest = part.undirected
            waiting += [
                meek_rules(MixedGraph(component, [*part.directed, edge], undirected=rest)) for edge in ((a, b), (b, a))
            ]
            continue
        count += 1
        if count > MOST_MEMBERS:
            raise TooLarge(
                f"The component {listing(list(component))} of the class can be directed in more than {MOST_MEMBERS:,} "
                "ways. Compare a member: consistent_extension(graph)."
            )
        yield {i: fixed[i] | {a for a, b in part.directed if b == i} for i in component}
