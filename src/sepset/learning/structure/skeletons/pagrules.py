r"""Zhang's ten orientation rules for partial ancestral graphs.

`marks[x, y]` is the mark at the end at `y` of the edge between `x` and `y`. Rules 1 to 4 give arrowheads, 5 to 7 the
lines of selected rows, and 8 to 10 tails; together they are complete. In the comments `*` is any mark.

Reference: Zhang (2008), On the completeness of orientation rules for causal discovery in the presence of latent
confounders and selection bias.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import numpy as np

from sepset.base.arraytypes import Bools, Bytes
from sepset.graphs.pag import ARROW, CIRCLE, TAIL
from sepset.learning.structure.skeletons.skeleton import Skeleton

Path = list[int]
Decide = Callable[[Bytes, Path], bool]


def apply_all_rules(marks: Bytes, decide: Decide) -> None:
    """Orient circles by all ten rules until none applies.

    Args:
        marks: changed in place.
        decide: orients the end of a discriminating path, and says whether it changed something.
    """
    while rule1(marks) or rule2(marks) or rule3(marks) or rule4(marks, decide):
        pass
    rule5(marks)
    while rule6(marks) or rule7(marks):
        pass
    while rule8(marks) or rule9(marks) or rule10(marks):
        pass


def by_separating_sets(found: Skeleton) -> Decide:
    """Rule 4 with the sets that separated the ends of a discriminating path."""

    def decide(marks: Bytes, path: Path) -> bool:
        first, a, b, c = path[0], *path[-3:]
        given = found.separator(first, c)
        if given is None:
            return False
        orient_end(marks, a, b, c, is_collider=b not in given)
        return True

    return decide


def orient_end(marks: Bytes, a: int, b: int, c: int, *, is_collider: bool) -> None:
    """Orient the end `a, b, c` of a discriminating path: `a <-> b <-> c`, or `b -> c`."""
    if is_collider:
        marks[a, b] = marks[b, a] = marks[b, c] = marks[c, b] = ARROW
    else:
        marks[c, b], marks[b, c] = TAIL, ARROW


def _edges(marks: Bytes, at_left: int, at_right: int | None = None) -> Iterator[tuple[int, int]]:
    """The ordered pairs `(x, y)` whose edge has a mark at `x`, and one at `y` unless any will do."""
    right = marks > 0 if at_right is None else marks == at_right
    yield from zip(*(ends.tolist() for ends in np.nonzero((at_left == marks.T) & right)), strict=True)


def rule1(marks: Bytes) -> bool:
    """`a *-> b o-* c`, `a` and `c` not joined: `b -> c`."""
    changed = False
    for b, c in _edges(marks, CIRCLE):
        if marks[c, b] == CIRCLE and ((marks[:, b] == ARROW) & (marks[:, c] == 0))[np.arange(len(marks)) != c].any():
            marks[c, b], marks[b, c] = TAIL, ARROW
            changed = True
    return changed


def rule2(marks: Bytes) -> bool:
    """`a -> b *-> c` or `a *-> b -> c`, and `a *-o c`: `a *-> c`."""
    changed = False
    for c, a in _edges(marks, CIRCLE):
        both = (marks[a] == ARROW) & (marks[:, c] == ARROW)
        if (both & ((marks[:, a] == TAIL) | (marks[c] == TAIL))).any():
            marks[a, c] = ARROW
            changed = True
    return changed


def rule3(marks: Bytes) -> bool:
    """`a *-> b <-* c`, `a *-o d o-* c`, `a` and `c` not joined, `d *-o b`: `d *-> b`."""
    changed = False
    for b, d in _edges(marks, CIRCLE):
        ends = np.flatnonzero((marks[:, b] == ARROW) & (marks[:, d] == CIRCLE))
        if (marks[np.ix_(ends, ends)] == 0).sum() > len(ends):
            marks[d, b] = ARROW
            changed = True
    return changed


def rule4(marks: Bytes, decide: Decide) -> bool:
    """A discriminating path `d, ..., a, b, c` with `b o-* c`: its end is oriented by what separates `d` and `c`."""
    for b, c in _edges(marks, CIRCLE):
        path = discriminating_path(marks, b, c)
        if path is not None and decide(marks, path):
            return True
    return False


def discriminating_path(marks: Bytes, b: int, c: int) -> Path | None:
    """A shortest discriminating path `d, ..., a, b, c`; None if there is none.

    All nodes between `d` and `b` are colliders on it and parents of `c`, and `d` is not joined to `c`.
    """
    parents = (marks[:, c] == ARROW) & (marks[c] == TAIL)
    starts = np.flatnonzero(parents & (marks[b] == ARROW)).tolist()
    after = dict.fromkeys(starts, b)
    waiting = deque(starts)
    while waiting:
        a = waiting.popleft()
        for d in np.flatnonzero(marks[:, a] == ARROW).tolist():
            if d in (b, c) or d in after:
                continue
            after[d] = a
            if marks[d, c] == 0:
                return _followed(after, d, b, c)
            if parents[d] and marks[a, d] == ARROW:
                waiting.append(d)
            else:
                del after[d]
    return None


def _followed(after: dict[int, int], d: int, b: int, c: int) -> Path:
    path = [d]
    while path[-1] != b:
        path.append(after[path[-1]])
    return [*path, c]


def rule5(marks: Bytes) -> None:
    """`a o-o b` and an uncovered path of `o-o` edges `a, c, ..., d, b`, `a, d` and `b, c` not joined: all are lines."""
    circles = (marks == CIRCLE) & (marks.T == CIRCLE)
    for a, b in np.argwhere(np.triu(circles)).tolist():
        firsts = [c for c in np.flatnonzero(circles[a] & (marks[b] == 0)).tolist() if c != b]
        for path in _uncovered(marks, circles, [[a, c] for c in firsts], b):
            if marks[a, path[-2]] == 0:
                for x, y in zip((a, *path[:-1]), (b, *path[1:]), strict=True):
                    marks[x, y] = marks[y, x] = TAIL
                break


def rule6(marks: Bytes) -> bool:
    """`a - b o-* c`: `b -* c`."""
    changed = False
    lines = ((marks == TAIL) & (marks.T == TAIL)).any(axis=0)
    for b, c in _edges(marks, CIRCLE):
        if lines[b]:
            marks[c, b] = TAIL
            changed = True
    return changed


def rule7(marks: Bytes) -> bool:
    """`a -o b o-* c`, `a` and `c` not joined: `b -* c`."""
    changed = False
    for b, c in _edges(marks, CIRCLE):
        near = (marks[b] == TAIL) & (marks[:, b] == CIRCLE) & (marks[c] == 0)
        near[c] = False
        if near.any():
            marks[c, b] = TAIL
            changed = True
    return changed


def rule8(marks: Bytes) -> bool:
    """`a -> b -> c` or `a -o b -> c`, and `a o-> c`: `a -> c`."""
    changed = False
    for a, c in _edges(marks, CIRCLE, ARROW):
        first = (marks[:, a] == TAIL) & ((marks[a] == ARROW) | (marks[a] == CIRCLE))
        if (first & (marks[:, c] == ARROW) & (marks[c] == TAIL)).any():
            marks[c, a] = TAIL
            changed = True
    return changed


def rule9(marks: Bytes) -> bool:
    """`a o-> c` and an uncovered potentially directed path `a, b, ..., c`, `b` and `c` not joined: `a -> c`."""
    changed = False
    for a, c in _edges(marks, CIRCLE, ARROW):
        onward = potentially_directed(marks)
        firsts = [b for b in np.flatnonzero(onward[a] & (marks[c] == 0)).tolist() if b != c]
        if next(_uncovered(marks, onward, [[a, b] for b in firsts], c), None) is not None:
            marks[c, a] = TAIL
            changed = True
    return changed


def rule10(marks: Bytes) -> bool:
    """`a o-> c`, `b -> c <- d`, and paths as in rule 9 from `a` to `b` and to `d` that begin apart: `a -> c`."""
    changed = False
    for a, c in _edges(marks, CIRCLE, ARROW):
        onward = potentially_directed(marks)
        parents = np.flatnonzero((marks[:, c] == ARROW) & (marks[c] == TAIL)).tolist()
        begins = {b: _first_steps(marks, onward, a, b) for b in parents if b != a}
        pairs = [(b, d) for b in begins for d in begins if b != d]
        if any(x != y and marks[x, y] == 0 for b, d in pairs for x in begins[b] for y in begins[d]):
            marks[c, a] = TAIL
            changed = True
    return changed


def potentially_directed(marks: Bytes) -> Bools:
    """Which steps `x, y` may be on a directed path: no arrowhead at `x`, and no tail at `y`."""
    steps: Bools = (marks > 0) & (marks.T != ARROW) & (marks != TAIL)
    return steps


def _first_steps(marks: Bytes, onward: Bools, a: int, b: int) -> list[int]:
    """The second nodes of uncovered paths from `a` to `b`."""
    firsts = np.flatnonzero(onward[a]).tolist()
    return [x for x in firsts if x == b or next(_uncovered(marks, onward, [[a, x]], b), None) is not None]


def _uncovered(marks: Bytes, onward: Bools, begun: list[Path], end: int) -> Iterator[Path]:
    """The paths to `end` that begin in one of some ways, along allowed steps, with no triple's ends joined."""
    waiting = list(begun)
    while waiting:
        path = waiting.pop()
        for y in np.flatnonzero(onward[path[-1]] & (marks[path[-2]] == 0)).tolist():
            if y not in path:
                if y == end:
                    yield [*path, y]
                else:
                    waiting.append([*path, y])
