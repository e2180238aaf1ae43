"""Small random and enumerated graphs, and plain slow answers about them: pairs of names, sets, and recursion."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from hypothesis import strategies as st

Edges = list[tuple[str, str]]


def names(count: int) -> list[str]:
    return [f"N{i}" for i in range(count)]


def some(pairs: Edges) -> st.SearchStrategy[Edges]:
    """A subset of the pairs, each in or out."""
    chosen = st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs))
    return chosen.map(lambda kept: list(itertools.compress(pairs, kept)))


@st.composite
def dags(draw: st.DrawFn, max_nodes: int = 7) -> tuple[list[str], Edges]:
    """Nodes in an order unlike the topological one, and acyclic edges; often disconnected, sometimes empty."""
    nodes = names(draw(st.integers(0, max_nodes)))
    order = draw(st.permutations(nodes))
    return nodes, draw(some(list(itertools.combinations(order, 2))))


@st.composite
def undirected(draw: st.DrawFn, max_nodes: int = 7) -> tuple[list[str], Edges]:
    nodes = names(draw(st.integers(0, max_nodes)))
    return nodes, draw(some(list(itertools.combinations(nodes, 2))))


@st.composite
def chain_graphs(draw: st.DrawFn, max_nodes: int = 6) -> tuple[list[str], Edges, Edges]:
    """Nodes in blocks: undirected edges within a block, directed ones from earlier blocks to later ones."""
    nodes = names(draw(st.integers(1, max_nodes)))
    block = {node: draw(st.integers(0, 3)) for node in nodes}
    directed, joined = [], []
    for a, b in itertools.combinations(nodes, 2):
        if draw(st.booleans()):
            if block[a] == block[b]:
                joined.append((a, b))
            else:
                directed.append((a, b) if block[a] < block[b] else (b, a))
    return nodes, directed, joined


def is_acyclic(nodes: list[str], edges: Edges) -> bool:
    left, rest = list(nodes), list(edges)
    while left:
        sources = [n for n in left if all(b != n for _, b in rest)]
        if not sources:
            return False
        left = [n for n in left if n not in sources]
        rest = [(a, b) for a, b in rest if a not in sources]
    return True


def all_dags(nodes: list[str]) -> Iterator[Edges]:
    """Every DAG over `nodes`: each pair has no edge, or one either way."""
    pairs = list(itertools.combinations(nodes, 2))
    for kinds in itertools.product((0, 1, 2), repeat=len(pairs)):
        edges = [(a, b) if k == 1 else (b, a) for (a, b), k in zip(pairs, kinds, strict=True) if k]
        if is_acyclic(nodes, edges):
            yield edges


def descendants_of(node: str, edges: Edges) -> set[str]:
    found = {node}
    while True:
        more = {b for a, b in edges if a in found} - found
        if not more:
            return found
        found |= more


def simple_paths(
    x: str, y: str, adjacent: dict[str, set[str]], path: tuple[str, ...] = ()
) -> Iterator[tuple[str, ...]]:
    path = (*path, x)
    if x == y:
        yield path
        return
    for z in adjacent[x]:
        if z not in path:
            yield from simple_paths(z, y, adjacent, path)


def is_active(path: tuple[str, ...], edges: Edges, given: set[str]) -> bool:
    """The definition: every collider has an observed descendant (itself included); no other inner node is observed."""
    arrows = set(edges)
    for a, b, c in zip(path, path[1:], path[2:], strict=False):
        if (a, b) in arrows and (c, b) in arrows:
            if not descendants_of(b, edges) & given:
                return False
        elif b in given:
            return False
    return True


def d_separated_by_paths(nodes: list[str], edges: Edges, x: str, y: str, given: set[str]) -> bool:
    adjacent = {n: {b for a, b in edges if a == n} | {a for a, b in edges if b == n} for n in nodes}
    return not any(is_active(path, edges, given) for path in simple_paths(x, y, adjacent))


def chain_separated_by_definition(directed: Edges, joined: Edges, x: str, y: str, given: set[str]) -> bool:
    """Close {x, y} and `given` under parents and neighbors, marry each component's parents, look for a path."""
    inside = {x, y} | given
    while more := {a for a, b in [*directed, *joined, *((b, a) for a, b in joined)] if b in inside} - inside:
        inside |= more
    near = {n: {m for a, b in joined for m in (a, b) if n in (a, b)} & inside | {n} for n in inside}
    block = {n: {n} for n in inside}
    for _ in inside:
        block = {n: set().union(*(near[m] for m in block[n])) for n in inside}
    parents = {n: {a for a, b in directed if b in block[n]} for n in inside}
    links = {frozenset(e) for e in [*directed, *joined] if set(e) <= inside}
    links |= {frozenset(p) for n in inside for p in itertools.combinations(parents[n], 2)}
    found = {x}
    while more := {n for n in inside - found - given if any(frozenset((n, m)) in links for m in found)}:
        found |= more
    return y not in found


def pairs_and_sets(nodes: list[str]) -> Iterator[tuple[str, str, set[str]]]:
    for x, y in itertools.combinations(nodes, 2):
        rest = [z for z in nodes if z not in (x, y)]
        for size in range(len(rest) + 1):
            for given in itertools.combinations(rest, size):
                yield x, y, set(given)
