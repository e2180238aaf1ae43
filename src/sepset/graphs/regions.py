"""Cluster graphs for approximate inference: the Bethe graph, join graphs, and region graphs with counting numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass

from sepset.base.display import Report, Shown
from sepset.base.foreign import translated
from sepset.base.text import counted, joined, listing, nearest
from sepset.base.threads import require_time
from sepset.errors import ModelError, ScopeError
from sepset.graphs.base import Graph
from sepset.graphs.clusters import ClusterGraph, scope_of
from sepset.graphs.graph import Node, Nodes

__all__ = ["RegionGraph", "bethe_graph", "cluster_variation_graph", "join_graph"]

Scope = tuple[str, ...]

FIRST = 50
"""The number of regions that are shown."""


@translated
def bethe_graph(scopes: Iterable[Nodes], variables: Iterable[Node] | None = None) -> ClusterGraph:
    """The Bethe cluster graph: a cluster per scope, then one per variable, linked to the scopes that contain it.

    Args:
        scopes: the factors' scopes, one cluster each, even if two are equal.
        variables: every name, in the order of their clusters; by default those of the scopes, as they appear.

    Reference: Koller & Friedman, section 11.3.5.2.
    Guarantee: running intersection.
    Tested by: graphs/test_regions.py::test_bethe_graphs

    >>> print(bethe_graph([("A", "B")]))
    0: A, B
    1: A
    2: B
    0 - 1: A
    0 - 2: B
    """
    large = _scopes(scopes)
    names = _names(large, variables)
    number = {name: len(large) + i for i, name in enumerate(names)}
    links = [(i, number[name], (name,)) for i, scope in enumerate(large) for name in scope]
    clusters = [*large, *((name,) for name in names)]
    return ClusterGraph(clusters, [(a, b) for a, b, _ in links], sepsets=[sepset for *_, sepset in links])


@translated
def join_graph(scopes: Iterable[Nodes], order: Iterable[Node], *, bound: int) -> ClusterGraph:
    """A cluster graph with running intersection whose clusters contain at most `bound` names.

    The scopes go through the buckets of an elimination order; a bucket is split into mini-buckets of at most `bound`
    names, which are linked by their variable, and each sends its remaining scope to a later bucket. With a bound above
    the width of the order nothing is split and the graph is a tree.

    Args:
        scopes: the factors' scopes.
        order: every name once, first eliminated first.
        bound: the largest number of names in a cluster; at least that of the largest scope.

    Reference: Koller & Friedman, section 11.3.5; Mateescu, Kask, Gogate & Dechter (2010), join-graph structuring.
    Guarantee: running intersection.
    Tested by: graphs/test_regions.py::test_join_graphs

    >>> square = [("A", "B"), ("B", "C"), ("C", "D"), ("D", "A")]
    >>> join_graph(square, "ABCD", bound=3).is_forest, join_graph(square, "ABCD", bound=2).is_forest
    (True, False)
    """
    names = list(scope_of(list(order)))
    large = _scopes(scopes)
    position = {name: i for i, name in enumerate(_names(large, names))}
    widest = max(large, key=len, default=())
    if bound < max(1, len(widest)):
        raise ModelError(
            f"A bound of {bound} is too small for the scope {listing(widest)}; use at least {max(1, len(widest))}."
        )
    return _mini_buckets(large, names, position, bound)


def _mini_buckets(scopes: list[Scope], names: list[str], position: dict[str, int], bound: int) -> ClusterGraph:
    buckets: list[list[tuple[Scope, int]]] = [[((name,), -1)] for name in names]
    for scope in scopes:
        if scope:
            buckets[min(position[name] for name in scope)].append((scope, -1))
    clusters: list[Scope] = []
    edges: list[tuple[int, int]] = []
    sepsets: list[Scope] = []
    for i, name in enumerate(names):
        require_time()
        first = len(clusters)
        for union, senders in _packed(buckets[i], bound):
            here = len(clusters)
            clusters.append(tuple(sorted(union, key=position.__getitem__)))
            edges += [(sender, here) for _, sender in senders]
            sepsets += [scope for scope, _ in senders]
            rest = tuple(sorted(union - {name}, key=position.__getitem__))
            if rest:
                buckets[position[rest[0]]].append((rest, here))
        chain = list(itertools.pairwise(range(first, len(clusters))))
        edges += chain
        sepsets += [(name,)] * len(chain)
    return ClusterGraph(clusters, edges, sepsets=sepsets)


def _packed(items: list[tuple[Scope, int]], bound: int) -> list[tuple[set[str], list[tuple[Scope, int]]]]:
    """Mini-buckets, each with its names and the messages it receives: widest scope first, first fit."""
    packed: list[tuple[set[str], list[tuple[Scope, int]]]] = []
    for scope, sender in sorted(items, key=lambda item: -len(item[0])):
        roomy = (i for i, (union, _) in enumerate(packed) if len(union.union(scope)) <= bound)
        place = next(roomy, len(packed))
        if place == len(packed):
            packed.append((set(), []))
        union, senders = packed[place]
        union.update(scope)
        if sender >= 0:
            senders.append((scope, sender))
    return packed


@dataclass(frozen=True, slots=True)
class RegionGraph(Report):
    r"""Regions ordered by inclusion, with counting numbers.

    Attributes:
        regions: the scopes, larger before smaller.
        edges: pairs (parent, child) of region numbers: the child is a subset of the parent, with no region in between.
        counting: $\kappa_r$; an approximate entropy is $\sum_r \kappa_r H_r$.

    Reference: Koller & Friedman, section 11.3.7.

    >>> cluster_variation_graph([("A", "B"), ("B", "C")]).counting
    (1, 1, -1)
    """

    regions: tuple[Scope, ...]
    edges: tuple[tuple[int, int], ...]
    _: KW_ONLY
    counting: tuple[int, ...]

    def __repr__(self) -> str:
        return f"RegionGraph({counted(len(self.regions), 'region')}, {counted(len(self.edges), 'edge')})"

    def _shown(self) -> Shown:
        """Each region with the numbers of those that it is a part of, and its counting number."""
        above = [[str(parent) for parent, child in self.edges if child == k] for k in range(min(FIRST, len(self)))]
        rows = [
            (str(k), joined(self.regions[k]), joined(parents), str(self.counting[k])) for k, parents in enumerate(above)
        ]
        more = f"first {FIRST} of {len(self)} regions" if len(self) > FIRST else ""
        return Shown(("region", "variables", "part of", "counted"), rows, repr(self), more, words=3)

    def check_counting(self) -> None:
        r"""Raise `ModelError` unless each variable is counted once: $\sum_{r \ni X} \kappa_r = 1$.

        >>> cluster_variation_graph([("A", "B"), ("B", "C")]).check_counting()
        """
        totals: dict[str, int] = {}
        for region, count in zip(self.regions, self.counting, strict=True):
            for name in region:
                totals[name] = totals.get(name, 0) + count
        wrong = [name for name, total in totals.items() if total != 1]
        if wrong:
            raise ModelError(
                f"The counting numbers of the regions with {wrong[0]!r} sum to {totals[wrong[0]]}; they must sum to 1."
            )

    def __len__(self) -> int:
        return len(self.regions)


@translated
def cluster_variation_graph(scopes: Iterable[Nodes], variables: Iterable[Node] | None = None) -> RegionGraph:
    r"""The region graph of the cluster variation method: the largest scopes and all their intersections.

    $$\kappa_r = 1 - \sum_{s \supset r} \kappa_s$$

    Args:
        scopes: the factors' scopes, or larger clusters (such as cycles of a grid); those inside another are dropped.
        variables: every name; one that is in no scope becomes a region of its own.

    Cost: a step for each pair of regions with a variable in common; there can be exponentially many regions for
    scopes that overlap in many ways.
    Reference: Koller & Friedman, section 11.3.7; Yedidia, Freeman & Weiss (2005).
    Guarantee: each variable counted once.
    Tested by: graphs/test_regions.py::test_region_graphs_count_each_variable_once

    >>> print(*cluster_variation_graph([("A", "B", "C"), ("B", "C", "D")]).regions)
    ('A', 'B', 'C') ('B', 'C', 'D') ('B', 'C')
    """
    given = _scopes(scopes)
    names = _names(given, variables)
    covered = {name for scope in given for name in scope}
    sets = [frozenset(scope) for scope in given if scope] + [frozenset((n,)) for n in names if n not in covered]
    position = {name: i for i, name in enumerate(names)}
    closed = _closed_under_intersection(sets)
    ordered = sorted(closed, key=lambda region: (-len(region), sorted(position[name] for name in region)))
    holders = _holders(ordered)
    above = [[s for s in _fewest(holders, region) if region < ordered[s]] for region in ordered]
    counting: list[int] = []
    for supersets in above:
        counting.append(1 - sum(counting[s] for s in supersets))
    beyond = [{s for t in supersets for s in above[t]} for supersets in above]
    edges = [(s, r) for r, supersets in enumerate(above) for s in supersets if s not in beyond[r]]
    regions = tuple(tuple(sorted(region, key=position.__getitem__)) for region in ordered)
    return RegionGraph(regions, tuple(sorted(edges)), counting=tuple(counting))


def _closed_under_intersection(sets: list[frozenset[str]]) -> list[frozenset[str]]:
    distinct = list(dict.fromkeys(sets))
    holders = _holders(distinct)
    maximal = [s for s in distinct if not any(s < distinct[i] for i in _fewest(holders, s))]
    found = dict.fromkeys(maximal)
    holders = _holders(maximal)
    fresh = maximal
    while fresh:
        meets = dict.fromkeys(a & maximal[i] for a in fresh for i in {i for name in a for i in holders[name]})
        fresh = [region for region in meets if region not in found]
        found.update(dict.fromkeys(fresh))
    return list(found)


def _holders(sets: Sequence[frozenset[str]]) -> dict[str, list[int]]:
    """The positions of the sets that have each name."""
    found: dict[str, list[int]] = {}
    for position, names in enumerate(sets):
        for name in names:
            found.setdefault(name, []).append(position)
    return found


def _fewest(holders: Mapping[str, list[int]], names: frozenset[str]) -> list[int]:
    """The shortest list of positions among which all sets are that contain these names."""
    return min((holders[name] for name in names), key=len)


def _scopes(scopes: Iterable[Nodes]) -> list[Scope]:
    """The scopes as names; a model is refused, whose variables are not its scopes."""
    if isinstance(scopes, Graph | str) or type(scopes).__module__.partition(".")[0] == "networkx":
        raise ScopeError(
            f"Region graphs are made of scopes; found a {type(scopes).__name__}. Give tuples of names, such as the "
            "edges of an undirected graph or the families of a DAG."
        )
    if hasattr(scopes, "problem"):
        raise ScopeError(
            f"Region graphs are made of scopes; found a {type(scopes).__name__}. Give those of its factors, such as "
            "[cpd.scope for cpd in model.cpds]."
        )
    return [scope_of(scope) for scope in scopes]


def _names(scopes: list[Scope], variables: Iterable[Node] | None) -> Scope:
    """The variables, checked against the scopes; by default those of the scopes, in order of appearance."""
    appearing = dict.fromkeys(name for scope in scopes for name in scope)
    if variables is None:
        return tuple(appearing)
    names = scope_of(list(variables))
    if len(set(names)) != len(names):
        raise ScopeError(f"The variables {listing(names)} contain a duplicate; name each once.")
    known = set(names)
    for name in appearing:
        if name not in known:
            raise ScopeError(f"A scope contains {name!r}, which is not among the variables.{nearest(name, names)}")
    return names
