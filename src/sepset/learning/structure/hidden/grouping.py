r"""Latent trees from distances that add up along their paths.

A minimum spanning tree of the observed nodes groups every hidden node with the observed node nearest to it. The hidden
nodes of the group of $v$ lie between $v$ and its neighbors in the spanning tree; neighbor joining of those distances
finds them. The groups are joined along the edges of the spanning tree. Hidden nodes at distance zero from $v$, or from
each other, are the same node.

Reference: Choi, Tan, Anandkumar & Willsky (2011), Learning latent tree graphical models; Saitou & Nei (1987), neighbor
joining.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bools, Floats
from sepset.learning.structure.exact.spanning import spanning_tree


class Link(NamedTuple):
    """An edge of an undirected tree and its length."""

    first: int
    second: int
    length: float


@dataclass(frozen=True)
class LatentLinks:
    """A tree (or forest) over observed nodes, which come first, and hidden ones, and the lengths of its edges.

    Attributes:
        num_observed: how many nodes are observed.
        num_nodes: how many nodes there are.
        links: the edges.
        spanning: the edges of the spanning tree of the observed nodes.
    """

    num_observed: int
    num_nodes: int
    links: tuple[Link, ...]
    spanning: tuple[tuple[int, int], ...]

    @property
    def inner(self) -> list[Link]:
        """The edges with a hidden end, shortest first."""
        return sorted((k for k in self.links if max(k[:2]) >= self.num_observed), key=lambda k: (k.length, *k[:2]))

    def contracted(self, threshold: float) -> tuple[int, list[tuple[int, int]]]:
        """The number of nodes and the edges after edges up to a length are contracted, but no two observed nodes."""
        same = list(range(self.num_nodes))
        for link in self.inner:
            first, second = sorted((_root(same, link.first), _root(same, link.second)))
            if link.length <= threshold and second >= self.num_observed:
                same[second] = first
        roots = sorted({_root(same, node) for node in range(self.num_nodes)})
        name = {root: number for number, root in enumerate(roots)}
        pairs = {tuple(sorted(name[_root(same, node)] for node in link[:2])) for link in self.links}
        return len(roots), sorted((a, b) for a, b in pairs if a != b)


def latent_links(distances: Floats, linked: Bools | None = None) -> LatentLinks:
    """The tree that distances suggest, every hidden node with three neighbors, before any edge is contracted.

    Long distances, which rows determine badly, play no part; but hidden nodes that are about as far from several
    observed ones are easily missed, which `joined_links` finds.

    Args:
        distances: between observed nodes.
        linked: the pairs that may be neighbors in the spanning tree; all at finite distances by default.
    """
    n = number = len(distances)
    spanning = _spanning(distances, linked)
    links: list[Link] = []
    ports: dict[tuple[int, int], tuple[int, float]] = {}
    for center in range(n):
        around = sorted({*chain.from_iterable(pair for pair in spanning if center in pair)} - {center})
        number = _place(distances, (center, *around), number, links, ports)
    for first, second in spanning:
        (here, left), (there, right) = ports[first, second], ports[second, first]
        length = left + right - float(distances[first, second])
        links.append(Link(*_pair(here, there), length))
    return LatentLinks(n, number, tuple(links), spanning)


def joined_links(distances: Floats, linked: Bools | None = None) -> LatentLinks:
    """The tree of neighbor joining of all observed nodes of a component at once; arguments as in `latent_links`."""
    n = number = len(distances)
    spanning = _spanning(distances, linked)
    links: list[Link] = []
    for members in _components(n, spanning):
        own = distances[np.ix_(members, members)]
        far = own[np.isfinite(own)].max(initial=0.0)
        size, first = len(members), number
        names = [*members, *range(first, first + max(size - 2, 0))]
        found = neighbor_joining(np.where(np.isinf(own), 2.0 * far, own))
        links += [Link(*_pair(names[a], names[b]), length) for a, b, length in found]
        number += max(size - 2, 0)
    return LatentLinks(n, number, tuple(links), spanning)


def _spanning(distances: Floats, linked: Bools | None) -> tuple[tuple[int, int], ...]:
    """The edges of the minimum spanning tree."""
    gains = -distances if linked is None else np.where(linked, -distances, -np.inf)
    parents = spanning_tree(gains, [True] * len(distances), above=-np.inf)
    return tuple(sorted(_pair(child, parent) for child, parent in enumerate(parents) if parent >= 0))


def _components(size: int, edges: Iterable[tuple[int, int]]) -> list[list[int]]:
    """The nodes of each tree of a forest."""
    same = list(range(size))
    for first, second in edges:
        one, other = sorted((_root(same, first), _root(same, second)))
        same[other] = one
    found: dict[int, list[int]] = {}
    for node in range(size):
        found.setdefault(_root(same, node), []).append(node)
    return list(found.values())


def _place(
    distances: Floats,
    members: tuple[int, ...],
    number: int,
    links: list[Link],
    ports: dict[tuple[int, int], tuple[int, float]],
) -> int:
    """Add the hidden nodes around a center, and note where each neighbor is attached and how far from it.

    Args:
        distances: between observed nodes.
        members: the center and its neighbors in the spanning tree.
        number: the number of the first new node; the next free one is returned.
        links: the edges so far.
        ports: for a center and a neighbor, the node to which the neighbor is attached, and their distance.
    """
    own = distances[np.ix_(members, members)]
    own = np.where(np.isinf(own), own[0][:, None] + own[0], own)
    size = len(members)

    def name(node: int) -> int:
        return members[0] if node == 0 else number + node - size

    found = neighbor_joining(own)
    for link in found:
        if 1 <= link.first < size:
            ports[members[0], members[link.first]] = name(link.second), link.length
        elif 1 <= link.second < size:
            ports[members[0], members[link.second]] = name(link.first), link.length
        else:
            links.append(Link(*_pair(name(link.first), name(link.second)), link.length))
    return number + max(size - 2, 0)


def neighbor_joining(distances: Floats) -> list[Link]:
    """The edges of the tree of some leaves, in which every other node, numbered after them, has three neighbors.

    >>> [tuple(link[:2]) for link in neighbor_joining(np.array([[0.0, 2.0], [2.0, 0.0]]))]
    [(0, 1)]
    """
    if len(distances) < 2:
        return []
    links: list[Link] = []
    nodes, d = list(range(len(distances))), np.array(distances)
    number = len(nodes)
    while len(nodes) > 2:
        i, j, to_first, to_second = _closest(d)
        links += [Link(nodes[i], number, to_first), Link(nodes[j], number, to_second)]
        others = [k for k in range(len(nodes)) if k not in (i, j)]
        row = 0.5 * (d[i, others] + d[j, others] - d[i, j])
        d = np.block([[d[np.ix_(others, others)], row[:, None]], [row[None], np.zeros((1, 1))]])
        nodes = [*(nodes[k] for k in others), number]
        number += 1
    first, second = sorted(nodes)
    return [*links, Link(first, second, float(d[0, 1]))]


def _closest(d: Floats) -> tuple[int, int, float, float]:
    """The pair of neighbors, and their distances from the node between them."""
    size = len(d)
    total = d.sum(axis=1)
    gain = (size - 2) * d - total[:, None] - total
    np.fill_diagonal(gain, np.inf)
    i, j = sorted(divmod(int(np.argmin(gain)), size))
    half = 0.5 * d[i, j] + (0.5 * (total[i] - total[j]) / (size - 2))
    return i, j, float(half), float(d[i, j] - half)


def _root(same: list[int], node: int) -> int:
    while same[node] != node:
        node = same[node]
    return node


def _pair(first: int, second: int) -> tuple[int, int]:
    return (first, second) if first < second else (second, first)
