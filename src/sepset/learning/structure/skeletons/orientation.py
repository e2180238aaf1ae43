r"""Directions of a skeleton's edges: immoralities from separating sets, then all that follows from them.

For $X - Z - Y$ with $X, Y$ not joined: $X \to Z \leftarrow Y$ if and only if $Z$ is not in the set that separates $X$
and $Y$. Wrong tests contradict each other; what is done about it is the `conflicts` setting, and the result names them.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from sepset.base.arraytypes import Bools
from sepset.graphs.graph import MixedGraph
from sepset.learning.structure.independence.boundtest import Group, Queries
from sepset.learning.structure.skeletons.skeleton import Knowledge, Skeleton

Conflicts: TypeAlias = Literal["bidirected", "first", "majority", "conservative"]
CONFLICTS = ("bidirected", "first", "majority", "conservative")
Triple: TypeAlias = tuple[int, int, int]


class Conflict(NamedTuple):
    """An edge that tests direct both ways, or a triple whose separating sets disagree about its middle.

    Attributes:
        edge: the two variables; for a triple all three.
        reason: in words.
    """

    edge: tuple[str, ...]
    reason: str


@dataclass
class Directions:
    """The directions of a skeleton in progress.

    Attributes:
        adjacent: who is joined to whom.
        heads: `heads[x, y]` is whether the edge between `x` and `y` has an arrowhead at `y`; in a conflict both are.
        conflicts: what contradicted each other, by column numbers.
    """

    adjacent: Bools
    heads: Bools
    conflicts: list[tuple[tuple[int, ...], str]] = field(default_factory=list)

    def is_arrow(self, x: int, y: int) -> bool:
        """Whether the edge is `x -> y`."""
        return bool(self.heads[x, y] and not self.heads[y, x])

    def is_line(self, x: int, y: int) -> bool:
        """Whether the edge has no direction yet."""
        return bool(self.adjacent[x, y] and not self.heads[x, y] and not self.heads[y, x])

    def graph(self, names: Sequence[str]) -> MixedGraph:
        """The graph; an edge with two heads is a line."""
        arrows = self.heads & ~self.heads.T
        lines = np.triu(self.adjacent & ~arrows & ~arrows.T)
        (sources, targets), (lefts, rights) = np.nonzero(arrows), np.nonzero(lines)
        return MixedGraph.from_arrays(names, sources=sources, targets=targets, lefts=lefts, rights=rights)

    def named_conflicts(self, names: Sequence[str]) -> tuple[Conflict, ...]:
        """The conflicts by name."""
        return tuple(Conflict(tuple(names[i] for i in edge), reason) for edge, reason in self.conflicts)


def directed(
    found: Skeleton, knowledge: Knowledge, *, conflicts: Conflicts = "bidirected", queries: Queries | None = None
) -> Directions:
    """The directions that knowledge, immoralities and Meek's rules give a skeleton.

    Args:
        conflicts: "bidirected" gives an edge that is directed both ways no direction, and names it; "first" keeps the
            first direction, in column order; "majority" takes a triple as an immorality if fewer than half of the
            separating sets among the neighbors contain its middle, "conservative" if none does, both leave it open if
            sets disagree, and treat remaining conflicts as "bidirected".
        queries: asked for more separating sets by the last two.
    """
    made = Directions(found.adjacent, _known_heads(found.adjacent, knowledge))
    fixed = made.heads.copy()
    triples = found.unshielded()
    open_triples: set[Triple] = set()
    for triple in triples:
        verdict = _is_collider(found, triple, conflicts, queries)
        if verdict is None:
            open_triples.add(triple)
            made.conflicts.append((triple, "separating sets disagree about the middle variable"))
        elif verdict:
            _collide(made, triple, fixed, first=conflicts == "first")
    for x, y in np.argwhere(np.triu(made.heads & made.heads.T)).tolist():
        made.conflicts.append(((x, y), "immoralities direct the edge both ways"))
    apply_rules(made, open_triples)
    return made


def _known_heads(adjacent: Bools, knowledge: Knowledge) -> Bools:
    """The arrowheads of edges that may be directed one way only."""
    required, forbidden = knowledge
    heads: Bools = adjacent & (required | forbidden.T) & ~(required.T | forbidden)
    return heads


def _is_collider(found: Skeleton, triple: Triple, conflicts: Conflicts, queries: Queries | None) -> bool | None:
    """Whether a triple is an immorality; None if separating sets disagree."""
    x, z, y = triple
    sets = found.every.get((min(x, y), max(x, y)))
    if sets is None and conflicts in ("majority", "conservative") and queries is not None:
        sets = _separators(found, queries, x, y)
    if not sets:
        given = found.separator(x, y)
        return given is not None and z not in given
    share = sum(z in given for given in sets) / len(sets)
    if conflicts == "majority":
        return None if share == 0.5 else share < 0.5
    if conflicts == "conservative":
        return True if share == 0 else False if share == 1 else None
    return share == 0


def _separators(found: Skeleton, queries: Queries, x: int, y: int) -> list[Group]:
    """All sets of neighbors of one or the other that separate them."""
    sets = {
        given
        for one in (x, y)
        for size in range(int(found.adjacent[one].sum()) + 1)
        for given in itertools.combinations(queries.eligible(x, y, found.neighbors(one)), size)
    }
    return [given for given in sorted(sets) if queries.independent(x, y, given)]


def _collide(made: Directions, triple: Triple, fixed: Bools, *, first: bool) -> None:
    """Direct both edges of a triple into its middle, as far as what is known and the policy allow."""
    x, z, y = triple
    against = [w for w in (x, y) if fixed[z, w] or (first and made.heads[z, w])]
    if against:
        why = "knowledge" if any(fixed[z, w] for w in against) else "an earlier immorality"
        made.conflicts.append((triple, f"tests see an immorality that {why} contradicts"))
        return
    made.heads[x, z] = made.heads[y, z] = True


def apply_rules(made: Directions, open_triples: set[Triple] | None = None) -> None:
    r"""Direct lines by Meek's four rules until none applies; see `graphs.meek_rules`.

    Triples whose middle is open give no direction by the first rule. Edges with two heads are neither arrows nor lines.

    Reference: Meek (1995).
    """
    unsure = {(min(x, y), z, max(x, y)) for x, z, y in open_triples or ()}
    arrows = made.heads & ~made.heads.T
    near: Bools = np.any(arrows | arrows.T, axis=1)  # every rule needs an arrow at one end of the line
    lines = np.argwhere(np.triu(made.adjacent & ~made.heads & ~made.heads.T) & (near[:, None] | near)).tolist()
    pending = deque((int(x), int(y)) for x, y in lines)
    while pending:
        x, y = pending.popleft()
        for tail, head in ((x, y), (y, x)):
            if made.is_line(x, y) and _is_compelled(made, tail, head, unsure):
                made.heads[tail, head] = True
                touched = {tail, head, *np.flatnonzero(made.heads[head]).tolist()}
                around = [(z, w) for z in sorted(touched) for w in np.flatnonzero(made.adjacent[z]).tolist()]
                pending.extend((z, w) for z, w in around if made.is_line(z, w))


def _is_compelled(made: Directions, x: int, y: int, unsure: set[Triple]) -> bool:
    """Whether one of Meek's rules directs `x -> y`."""
    adjacent, heads = made.adjacent, made.heads
    out, into = heads[x] & ~heads[:, x], heads[:, x] & ~heads[x]
    into_y = heads[:, y] & ~heads[y]
    lines = adjacent[x] & ~heads[x] & ~heads[:, x]
    apart = np.flatnonzero(into & ~adjacent[y]).tolist()
    if any((min(z, y), x, max(z, y)) not in unsure for z in apart) or (out & into_y).any():
        return True
    between = np.flatnonzero(lines & into_y).tolist()
    if any(not adjacent[z, w] for z, w in itertools.combinations(between, 2)):
        return True
    far = [z for z in np.flatnonzero(lines & ~adjacent[y]).tolist() if z != y]
    return any((heads[z] & ~heads[:, z] & into_y & adjacent[x]).any() for z in far)
