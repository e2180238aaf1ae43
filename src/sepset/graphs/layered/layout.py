"""The layout of a graph of boxes: where each box is, and the curve of each edge.

Connected parts are laid out by themselves in layers, and packed side by side. The same graph always has the same
layout.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.errors import TooLarge
from sepset.graphs.layered.crossings import ordered
from sepset.graphs.layered.layers import Pair, downward, layers, neighbors
from sepset.graphs.layered.packing import packed
from sepset.graphs.layered.places import places
from sepset.graphs.layered.routes import Band, Curve, Point, curve, ports
from sepset.graphs.layered.squeezing import squeezed
from sepset.graphs.layered.straightening import straightened

WIDE, LONG = 2500.0, 5.0
"""The width, and its ratio to the height, from which on wide layers are dealt to several."""

MOST_POINTS = 20_000
"""The most passages of edges between the nodes of a layer."""


class Spacing(NamedTuple):
    """The distances of a layout.

    Attributes:
        across: between neighbors in a layer.
        bend: between a long edge and its neighbors in a layer it passes.
        down: the least between layers.
        most_down: the largest between layers, where edges go far to the side.
        port: the usual distance of two ends of edges on a box.
    """

    across: float = 18.0
    bend: float = 14.0
    down: float = 38.0
    most_down: float = 110.0
    port: float = 13.0


class Layout(NamedTuple):
    """Where a graph is drawn; y grows downward.

    Attributes:
        centers: of the boxes.
        curves: of the edges, arrows first, each from its first to its second node.
        width, height: of all together, from 0.
    """

    centers: list[Point]
    curves: list[Curve]
    width: float
    height: float


def layered(
    sizes: Sequence[tuple[float, float]],
    arrows: Sequence[Pair],
    *,
    lines: Sequence[Pair] = (),
    spacing: Spacing = Spacing(),  # noqa: B008  # an immutable value
) -> Layout:
    """The layout of boxes joined by edges: arrows go down, lines from layer to layer.

    Args:
        sizes: the width and height of each box.
        arrows: pairs of numbers of boxes; several may join the same two, none joins a box to itself.
        lines: pairs without a direction.
        spacing: the distances.

    >>> found = layered([(20, 10), (20, 10)], [(0, 1)])
    >>> found.centers, found.curves[0][0], found.curves[0][-1]
    ([(10.0, 5.0), (10.0, 53.0)], (10.0, 10.0), (10.0, 48.0))
    """
    edges = [*arrows, *lines]
    down = downward(len(sizes), arrows, lines)
    parts = []
    for members in components(len(sizes), edges):
        inside = set(members)
        which = [e for e, (a, _) in enumerate(edges) if a in inside]
        local = {node: k for k, node in enumerate(members)}
        pairs = [(local[down[e][0]], local[down[e][1]]) for e in which]
        found = _laid_out([sizes[node] for node in members], pairs, spacing)
        parts.append((members, which, found))
    shifts, width, height = packed([(part.width, part.height) for _, _, part in parts], spacing.across * 1.5)
    centers: list[Point] = [(0.0, 0.0)] * len(sizes)
    curves: list[Curve] = [[]] * len(edges)
    for (members, which, part), (dx, dy) in zip(parts, shifts, strict=True):
        for node, (x, y) in zip(members, part.centers, strict=True):
            centers[node] = (x + dx, y + dy)
        for e, points in zip(which, part.curves, strict=True):
            moved = [(x + dx, y + dy) for x, y in points]
            curves[e] = moved if down[e] == edges[e] else moved[::-1]
    return Layout(centers, curves, width, height)


def components(count: int, edges: Sequence[Pair]) -> list[list[int]]:
    """The nodes of each connected part, in order.

    >>> components(4, [(0, 2)])
    [[0, 2], [1], [3]]
    """
    joined, seen, found = neighbors(count, edges), [False] * count, list[list[int]]()
    for node in range(count):
        if seen[node]:
            continue
        seen[node], part = True, [node]
        for one in part:
            for other in joined[one]:
                if not seen[other]:
                    seen[other] = True
                    part.append(other)
        found.append(sorted(part))
    return found


def _require_sparse(count: int, edges: Sequence[Pair], layer: Sequence[int]) -> None:
    """Raise if the long edges of a graph would fill the picture."""
    points = sum(layer[b] - layer[a] - 1 for a, b in edges)
    if points > MOST_POINTS:
        raise TooLarge(
            f"A picture of {count:,} nodes and {len(edges):,} edges is too dense to read: its edges pass "
            f"{points:,} times between nodes, and at most {MOST_POINTS:,} are drawn. Draw a part of it."
        )


def _laid_out(sizes: Sequence[tuple[float, float]], edges: Sequence[Pair], spacing: Spacing) -> Layout:
    """The layout of a connected part; if it is a long strip, wide layers are dealt to several, and squeezed."""
    part = _Part(sizes, edges, spacing, layers(len(sizes), edges))
    found = part.layout()
    if found.width <= max(WIDE, LONG * found.height):
        return found
    again = _Part(sizes, edges, spacing, part.dealt(found), before=part).layout(is_narrow=True)
    return again if again.width < 0.8 * found.width else found


class _Part:
    """The layout of a connected part: its boxes, then the points of long edges, are its items.

    Args:
        sizes: the width and height of each box.
        edges: from layer to layer downward.
        spacing: the distances.
        layer: of each box.
        before: the same part in fewer layers, each of which became several: orders begin with those of its layout.
    """

    def __init__(
        self,
        sizes: Sequence[tuple[float, float]],
        edges: Sequence[Pair],
        spacing: Spacing,
        layer: Sequence[int],
        before: _Part | None = None,
    ) -> None:
        self.sizes, self.edges, self.spacing, self.before = sizes, edges, spacing, before
        self.layer = list(layer)
        _require_sparse(len(sizes), edges, self.layer)
        self.chains: list[list[int]] = []
        for a, b in edges:
            inner = range(self.layer[a] + 1, self.layer[b])
            first = len(self.layer)
            self.layer += inner
            self.chains.append([a, *range(first, first + len(inner)), b])
        count = len(self.layer)
        self.bends = [item >= len(sizes) for item in range(count)]
        self.above: list[list[int]] = [[] for _ in range(count)]
        self.below: list[list[int]] = [[] for _ in range(count)]
        for chain in self.chains:
            for a, b in itertools.pairwise(chain):
                self.below[a].append(b)
                self.above[b].append(a)
        self.rows = self._rows()

    def layout(self, *, is_narrow: bool = False) -> Layout:
        """The layout, whose borders are at 0; a narrow one has edges that are less straight."""
        rows = self.rows
        xs = places(rows, self.above, self.below, bends=self.bends, separation=self._separation)
        pieces = [pair for chain in self.chains for pair in itertools.pairwise(chain)]
        xs = straightened(rows, pieces, xs, bends=self.bends, separation=self._separation)
        if is_narrow:
            xs = squeezed(rows, xs, separation=self._separation)
        left = min(xs[node] - size[0] / 2.0 for node, size in enumerate(self.sizes))
        left = min([left, *(xs[item] - 6.0 for item in range(len(self.sizes), len(xs)))])
        xs = [x - left for x in xs]
        self.xs = xs
        ends = self._ends(xs)
        bands = self._bands(rows, xs)
        centers = [
            (xs[n], (bands[self.layer[n]].top + bands[self.layer[n]].bottom) / 2.0) for n in range(len(self.sizes))
        ]
        curves = [self._curve(e, xs, bands, ends) for e in range(len(self.edges))]
        right = max(xs[node] + size[0] / 2.0 for node, size in enumerate(self.sizes))
        right = max([right, *(xs[item] + 6.0 for item in range(len(self.sizes), len(xs)))])
        return Layout(centers, curves, right, bands[-1].bottom)

    def dealt(self, found: Layout) -> list[int]:
        """Other layers: the nodes of a wide layer in turn to the first, second, ... of several below each other."""
        most = min(6, math.ceil(math.sqrt(found.width / (2.0 * found.height))))
        level, first = [0] * len(self.sizes), 0
        for row in self.rows:
            nodes = [item for item in row if not self.bends[item]]
            wide = sum(self.sizes[node][0] + self.spacing.across for node in nodes)
            count = max(1, min(most, len(nodes), round(4.0 * most * wide / found.width)))
            for place, node in enumerate(nodes):
                level[node] = first + place % count
            first += count
        return level

    def _separation(self, a: int, b: int) -> float:
        gap = self.spacing.bend if self.bends[a] or self.bends[b] else self.spacing.across
        return self._half(a) + self._half(b) + gap

    def _half(self, item: int) -> float:
        return 0.0 if self.bends[item] else self.sizes[item][0] / 2.0

    def _rows(self) -> list[list[int]]:
        """The items of each layer, in an order with few crossings."""
        count = max(self.layer) + 1
        rows: list[list[int]] = [[] for _ in range(count)]
        for item, level in enumerate(self.layer):
            rows[level].append(item)
        place = [0] * len(self.layer)
        for row in rows:
            for k, item in enumerate(row):
                place[item] = k
        joins = [np.zeros((len(a), len(b))) for a, b in itertools.pairwise(rows)]
        for item, others in enumerate(self.below):
            for other in others:
                joins[self.layer[item]][place[item], place[other]] += 1.0
        found = ordered(joins, self._starts(rows, place) if self.before is None else [self._kept(rows, self.before)])
        return [[row[k] for k in order.tolist()] for row, order in zip(rows, found, strict=True)]

    def _kept(self, rows: Sequence[Sequence[int]], before: _Part) -> list[Ints]:
        """The orders of the layout in fewer layers: points of long edges are where they were in the layer above."""
        xs = [*before.xs[: len(self.sizes)], *[0.0] * (len(self.layer) - len(self.sizes))]
        was = {self.layer[node]: before.layer[node] for node in range(len(self.sizes))}
        for chain, old in zip(self.chains, before.chains, strict=True):
            for item in chain[1:-1]:
                xs[item] = before.xs[old[was[self.layer[item]] - before.layer[old[0]]]]
        return [np.array(sorted(range(len(row)), key=lambda k: xs[row[k]])) for row in rows]

    def _starts(self, rows: Sequence[Sequence[int]], place: Sequence[int]) -> list[list[Ints]]:
        """Orders to begin with: as reached along edges from the top, from the bottom, and at random."""

        def reached(toward: Sequence[Sequence[int]], first: Sequence[Sequence[int]]) -> list[Ints]:
            seen: dict[int, None] = {}
            for row in first:
                stack = list(reversed(row))
                while stack:
                    item = stack.pop()
                    if item not in seen:
                        seen[item] = None
                        stack += [other for other in reversed(toward[item]) if other not in seen]
            order: list[list[int]] = [[] for _ in rows]
            for item in seen:
                order[self.layer[item]].append(place[item])
            return [np.array(row) for row in order]

        rng = np.random.default_rng(1)
        starts = [reached(self.below, rows), reached(self.above, list(reversed(rows)))]
        joined = [[*a, *b] for a, b in zip(self.above, self.below, strict=True)]
        starts.append(reached(joined, rows))
        return [*starts, *([rng.permutation(len(row)) for row in rows] for _ in range(3))]

    def _ends(self, xs: Sequence[float]) -> list[list[float]]:
        """The place of each edge in each layer of its chain: at its ends on the boxes, side by side."""
        at = [[xs[item] for item in chain] for chain in self.chains]
        for end, nearest in ((0, 1), (-1, -2)):
            users: dict[int, list[int]] = {}
            for e, chain in enumerate(self.chains):
                users.setdefault(chain[end], []).append(e)
            for node, edges in users.items():
                edges.sort(key=lambda e: (xs[self.chains[e][nearest]], e))
                for e, offset in zip(edges, ports(self.sizes[node][0], len(edges), self.spacing.port), strict=True):
                    at[e][end] += offset
        return at

    def _bands(self, rows: Sequence[Sequence[int]], xs: Sequence[float]) -> list[Band]:
        """The extents of the layers; further apart where edges go far to the side."""
        bands: list[Band] = []
        top = 0.0
        for row in rows:
            height = max((self.sizes[item][1] for item in row if not self.bends[item]), default=0.0)
            bands.append(Band(top, top + height))
            far = max((abs(xs[item] - xs[other]) for item in row for other in self.below[item]), default=0.0)
            top += height + min(self.spacing.most_down, max(self.spacing.down, 0.16 * far))
        return bands

    def _curve(self, e: int, xs: Sequence[float], bands: Sequence[Band], ends: Sequence[Sequence[float]]) -> Curve:
        chain = self.chains[e]
        passed = [bands[self.layer[item]] for item in chain]
        first, last = (self.sizes[node][1] / 2.0 for node in (chain[0], chain[-1]))
        begin = (passed[0].top + passed[0].bottom) / 2.0 + first
        return curve(ends[e], passed, (begin, (passed[-1].top + passed[-1].bottom) / 2.0 - last))
