"""Sketches in characters: boxes and lines in layers, or a list of nodes where that would be too wide."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from sepset.base.text import num_columns, padded
from sepset.errors import TooLarge
from sepset.graphs.layered.layout import Spacing, components, layered
from sepset.graphs.layered.routes import Curve, sampled
from sepset.graphs.pictures.sketch import Box, Link, Sketch
from sepset.graphs.pictures.textsize import cut, percent

UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8
LINES = " ╵╷│╴┘┐┤╶└┌├─┴┬┼"
"""The character with strokes in each set of directions."""
PLAIN, DOUBLE = "┌─┐│└┘", "╔═╗║╚╝"
TAKEN = "\0"
"""The second column of a wide character."""
BAR = 10
MOST_BOXES = 200
"""The number of boxes above which a list is shown; so many do not fit a terminal."""
SPACING = Spacing(across=2.0, bend=2.0, down=2.0, most_down=2.0, port=2.0)


def terminal(sketch: Sketch, width: int) -> str:
    """The sketch in lines of at most `width` characters if it fits, connected parts below each other.

    >>> print(terminal(Sketch.of(["rain", "wet"], [("rain", "->", "wet")]), 40))
    ┌──────┐
    │ rain │
    └───┬──┘
        ▼
    ┌───┴─┐
    │ wet │
    └─────┘
    """
    lines = _drawn(sketch, width) or list(_listed(sketch))
    cases = [f"{' and '.join(sketch.cases)}, in this order"] if sketch.cases else []
    return "\n".join([*lines, *cases, *filter(None, [sketch.caption])])


def _drawn(sketch: Sketch, width: int) -> list[str]:
    """The lines of the picture; none if it is too wide or too dense."""
    if len(sketch.boxes) > MOST_BOXES:
        return []
    try:
        parts = [_Drawn(_part(sketch, members)) for members in components(len(sketch.boxes), _pairs(sketch))]
    except TooLarge:
        return []
    fits = all(part.width <= width for part in parts)
    return list(_side_by_side([part.lines() for part in parts], width)) if fits else []


def _pairs(sketch: Sketch) -> list[tuple[int, int]]:
    return [(link.source, link.target) for link in sketch.links]


def _part(sketch: Sketch, members: Sequence[int]) -> Sketch:
    """The sketch of some boxes and all links between them."""
    place = {node: k for k, node in enumerate(members)}
    links = [link for link in sketch.links if link.source in place]
    moved = tuple(Link(place[link.source], place[link.target], link.tail, link.head) for link in links)
    return Sketch(tuple(sketch.boxes[node] for node in members), moved)


def _side_by_side(parts: Sequence[list[str]], width: int) -> Iterator[str]:
    """The parts in rows, as many next to each other as fit."""
    row: list[list[str]] = []
    for part in parts:
        if row and sum(_wide(lines) + 3 for lines in row) + _wide(part) > width:
            yield from _joined(row)
            row = []
        row.append(part)
    yield from _joined(row)


def _wide(lines: Sequence[str]) -> int:
    return max(map(num_columns, lines), default=0)


def _joined(row: Sequence[list[str]]) -> Iterator[str]:
    for k in range(max(map(len, row), default=0)):
        yield "   ".join(padded(part[k] if k < len(part) else "", _wide(part)) for part in row).rstrip()


def _listed(sketch: Sketch) -> Iterator[str]:
    """A line for each node with the nodes that point to it or are joined to it, and its rows below."""
    names = [box.name for box in sketch.boxes]
    for node, box in enumerate(sketch.boxes):
        near = [
            f"{link.notation(turned=not link.points_back)} {cut(names[_first(link)])}"
            for link in sketch.links
            if node == (link.source if link.points_back else link.target)
        ]
        yield " ".join([cut(box.name), *(["(observed)"] if box.observed else []), ", ".join(near)]).rstrip()
        yield from (f"    {line}" for line in _rows(box))


def _first(link: Link) -> int:
    """The box that an edge comes from."""
    return link.target if link.points_back else link.source


def _rows(box: Box) -> list[str]:
    """The rows of a box: a label, a bar and a number for each state."""
    wide = max((num_columns(cut(row.label, 14)) for row in box.rows if row.shares), default=0)
    found = []
    for row in box.rows:
        if not row.shares:
            found.append(cut(row.label, 30))
            continue
        bar = "█" * round(BAR * min(1.0, max(0.0, row.shares[-1])))
        numbers = " ".join(f"{percent(share):>6}" for share in row.shares)
        found.append(f"{padded(cut(row.label, 14), wide)} {bar:<{BAR}} {numbers}")
    return found


def _most_ends(sketch: Sketch) -> list[int]:
    """At most so many edges meet the upper or the lower side of each box."""
    into, out = [0] * len(sketch.boxes), [0] * len(sketch.boxes)
    for link in sketch.links:
        out[_first(link)] += 1
        into[link.source + link.target - _first(link)] += 1
    directed = any(link.head or link.tail for link in sketch.links)
    return [max(a, b) if directed else a + b for a, b in zip(into, out, strict=True)]


class _Drawn:
    """A connected part on a grid of characters."""

    def __init__(self, sketch: Sketch) -> None:
        self.sketch = sketch
        self.texts = [_rows(box) for box in sketch.boxes]
        names = [cut(box.name) for box in sketch.boxes]
        ends = _most_ends(sketch)
        widths = [max(num_columns(x) + 4 for x in [name, *rows]) for name, rows in zip(names, self.texts, strict=True)]
        widths = [max(width, 3 * most) for width, most in zip(widths, ends, strict=True)]
        self.sizes = [(float(w), float(3 + len(rows))) for w, rows in zip(widths, self.texts, strict=True)]
        flip = [link.points_back for link in sketch.links]
        pairs = [p[::-1] if turned else p for p, turned in zip(_pairs(sketch), flip, strict=True)]
        has = [link.head == "arrow" != link.tail or turned for link, turned in zip(sketch.links, flip, strict=True)]
        arrows = [k for k, is_arrow in enumerate(has) if is_arrow]
        lines = [k for k, is_arrow in enumerate(has) if not is_arrow]
        found = layered(self.sizes, [pairs[k] for k in arrows], lines=[pairs[k] for k in lines], spacing=SPACING)
        levels = sorted({y for _, y in found.centers})
        self.level = [levels.index(y) for _, y in found.centers]
        self.left = [round(x - size[0] / 2.0) for (x, _), size in zip(found.centers, self.sizes, strict=True)]
        self.routes = [
            (k, turned, [round(x) for x in _columns(points, levels)])
            for (k, turned), points in zip(((k, flip[k]) for k in (*arrows, *lines)), found.curves, strict=True)
        ]
        ends = [column for _, _, columns in self.routes for column in columns]
        rights = [left + int(size[0]) for left, size in zip(self.left, self.sizes, strict=True)]
        self.width = max([*rights, *(column + 1 for column in ends)], default=0)

    def lines(self) -> list[str]:
        """The characters."""
        chains = [self._downward(route) for route in self.routes]
        count = max(self.level, default=-1) + 1
        heights = [
            max(int(self.sizes[n][1]) for n in range(len(self.sizes)) if self.level[n] == k) for k in range(count)
        ]
        gaps = [
            _tracked([(c[2][k - c[1]], c[2][k - c[1] + 1]) for c in chains if c[1] <= k < c[1] + len(c[2]) - 1])
            for k in range(count - 1)
        ]
        tops = [0]
        for height, gap in zip(heights, gaps, strict=False):
            tops.append(tops[-1] + height + max(gap.values(), default=0) + 1)
        grid = _Grid(self.width, tops[count - 1] + heights[-1] if count else 0)
        for _, first, columns in chains:
            for k, (a, b) in enumerate(itertools.pairwise(columns), first):
                grid.go(a, tops[k], b, tops[k + 1], tops[k] + heights[k] + gaps[k].get((a, b), 1) - 1)
        for node in range(len(self.sizes)):
            top = tops[self.level[node]] + (heights[self.level[node]] - int(self.sizes[node][1])) // 2
            self._box(grid, node, top)
            self._ends(grid, node, chains, (top, top + int(self.sizes[node][1]) - 1))
        return grid.lines()

    def _downward(self, route: tuple[int, bool, list[int]]) -> tuple[Link, int, list[int]]:
        """An edge, its first layer, and its columns from the top down."""
        k, turned, columns = route
        link = self.sketch.links[k]
        a, b = (link.target, link.source) if turned else (link.source, link.target)
        if self.level[a] > self.level[b]:
            a, b, columns = b, a, columns[::-1]
        return link, self.level[a], columns

    def _box(self, grid: _Grid, node: int, top: int) -> None:
        box, left = self.sketch.boxes[node], self.left[node]
        wide = int(self.sizes[node][0]) - 2
        corner = DOUBLE if box.observed else PLAIN
        grid.write(left, top, corner[0] + corner[1] * wide + corner[2])
        name = cut(box.name)
        free = wide - num_columns(name)
        middle = " " * ((free + free * wide % 2) // 2) + name
        for k, text in enumerate([middle, *(f" {row}" for row in self.texts[node])], 1):
            grid.write(left, top + k, f"{corner[3]}{padded(text, wide)}{corner[3]}")
        grid.write(left, top + 1 + len(self.texts[node]) + 1, corner[4] + corner[1] * wide + corner[5])

    def _ends(
        self,
        grid: _Grid,
        node: int,
        chains: Sequence[tuple[Link, int, list[int]]],
        rows: tuple[int, int],
    ) -> None:
        """The marks of edges at a box, above and below it."""
        for link, first, columns in chains:
            if node not in (link.source, link.target):
                continue
            mark = {"": "", "arrow": "a", "circle": "o"}[link.head if link.target == node else link.tail]
            is_top = self.level[node] == first
            column, row = (columns[0], rows[1]) if is_top else (columns[-1], rows[0])
            double = self.sketch.boxes[node].observed
            grid.write(column, row, ("╤" if is_top else "╧") if double else ("┬" if is_top else "┴"))
            if mark:
                grid.write(column, row + (1 if is_top else -1), "o" if mark == "o" else "▲" if is_top else "▼")


def _columns(points: Curve, levels: Sequence[float]) -> list[float]:
    """The place of a curve in each layer from its first to its last."""
    path = sampled(points, 8)
    (x, y), (u, v) = path[0], path[-1]
    inner = [level for level in levels if min(y, v) < level < max(y, v)]
    found = []
    for level in inner if y < v else reversed(inner):
        found.append(min(path, key=lambda p: abs(p[1] - level))[0])
    return [x, *found, u]


def _tracked(pieces: Sequence[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """The row, from 1, of each horizontal piece between two layers, so that none overlap."""
    taken: list[list[tuple[int, int]]] = []
    found: dict[tuple[int, int], int] = {}
    for a, b in sorted(set(pieces), key=lambda p: (p[0] >= p[1], p[0] if p[0] >= p[1] else -p[0], p[1])):
        low, high = min(a, b), max(a, b)
        if a == b:
            continue
        row = next((k for k, used in enumerate(taken) if all(high < s or e < low for s, e in used)), len(taken))
        if row == len(taken):
            taken.append([])
        taken[row].append((low, high))
        found[a, b] = row + 2
    return found


class _Grid:
    """Characters, and the strokes of lines below them."""

    def __init__(self, width: int, height: int) -> None:
        self.strokes = [[0] * width for _ in range(height)]
        self.texts = [[""] * width for _ in range(height)]

    def go(self, a: int, top: int, b: int, bottom: int, turn: int) -> None:
        """A line down from one column, across in the row `turn`, and down in another."""
        for row in range(top, bottom):
            column = a if row < turn else b
            self.strokes[row][column] |= (UP | DOWN) if row != turn or a == b else 0
        if a != b:
            self.strokes[turn][a] |= UP | (RIGHT if b > a else LEFT)
            self.strokes[turn][b] |= DOWN | (LEFT if b > a else RIGHT)
            for column in range(min(a, b) + 1, max(a, b)):
                self.strokes[turn][column] |= LEFT | RIGHT

    def write(self, column: int, row: int, text: str) -> None:
        """Characters in place of lines; a wide one also takes the next column, an accent that of its letter."""
        for character in text:
            size = num_columns(character)
            if not size and 0 < column <= len(self.texts[row]):
                self.texts[row][column - 1] += character
            for k in range(column, min(column + size, len(self.texts[row]))):
                self.texts[row][k] = character if k == column else TAKEN
            column += size

    def lines(self) -> list[str]:
        """The rows, without spaces at their ends."""
        rows = zip(self.texts, self.strokes, strict=True)
        lines = ("".join(map(_character, texts, strokes)) for texts, strokes in rows)
        return [line.replace(TAKEN, "").rstrip() for line in lines]


def _character(text: str, stroke: int) -> str:
    return text or LINES[stroke]
