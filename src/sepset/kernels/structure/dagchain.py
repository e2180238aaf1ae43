"""Markov chains over DAGs, on a table of candidate parents: single edges, and the edge reversal move.

A state has the edges of a DAG, row by row. See `kernels.structure.chains`.
"""

from __future__ import annotations

import math

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Int32s, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.structure.candidatesums import score_family
from sepset.kernels.structure.reversals import reverse_edge


@kernel
def _reach(graph: Bytes) -> Bytes:
    """Whether there is a directed path from row to column; each column reaches itself."""
    n = graph.shape[0]
    reach = graph.copy()
    for v in range(n):
        reach[v, v] = 1
    for k in range(n):
        for i in range(n):
            if reach[i, k]:
                for j in range(n):
                    reach[i, j] |= reach[k, j]
    return reach


@kernel
def _score_toggles(
    b: int, graph: Bytes, cands: Ints, outs: Ints, scores: Floats, starts: Ints, local: Floats, changes: Floats
) -> None:
    """The score of a column's family, and by how much it changes as each other column joins or leaves the parents."""
    parents = graph[:, b].copy()
    local[b] = score_family(b, parents, cands, outs, scores, starts[b])
    for a in range(graph.shape[0]):
        if a == b:
            changes[b, a] = -np.inf
            continue
        parents[a] ^= 1
        changes[b, a] = score_family(b, parents, cands, outs, scores, starts[b]) - local[b]
        parents[a] ^= 1


@kernel
def _neighbors(graph: Bytes, changes: Floats, gains: Floats, moves: Ints) -> int:
    """The legal additions, deletions and reversals: gains, kinds and edges; returns their number."""
    n = graph.shape[0]
    reach = _reach(graph)
    count = 0
    for b in range(n):
        for a in range(n):
            change = changes[b, a]
            if change == -np.inf or graph[b, a] or (graph[a, b] == 0 and reach[b, a]):
                continue
            gains[count] = change
            moves[count, 0], moves[count, 1], moves[count, 2] = graph[a, b], a, b
            count += 1
            if graph[a, b] and changes[a, b] > -np.inf and not _has_other_path(graph, reach, a, b):
                gains[count] = change + changes[a, b]
                moves[count, 0], moves[count, 1], moves[count, 2] = 2, a, b
                count += 1
    return count


@kernel
def _has_other_path(graph: Bytes, reach: Bytes, a: int, b: int) -> bool:
    for p in range(graph.shape[0]):
        if p != a and graph[p, b] and reach[a, p]:
            return True
    return False


def _structure_steps(state: Ints, cands: Ints, *args: object) -> float:
    return float(len(args[5]) * len(cands) ** 2)  # type: ignore[arg-type]  # uniforms


@kernel(inline=True)
def _undo(graph: Bytes, kind: int, a: int, b: int) -> None:
    """Take a move back: reversals by reversing again, additions by deletions, deletions by additions."""
    if kind == 2:
        _apply(graph, 2, b, a)
    else:
        _apply(graph, 1 - kind, a, b)


@kernel(work=_structure_steps)
def run_structures(
    edges: Ints, cands: Ints, outs: Ints, scores: Floats, sums: Floats, starts: Ints, ranked: Int32s, uniforms: Floats,
    heat: float, reversals: float, cancel: Bytes,
) -> tuple[float, int]:  # fmt: skip
    """Steps over DAGs, one legal move at a time; the score of the last, and how many were accepted.

    The proposal is uniform over the N(G) legal moves: accept with probability min(1, P(G') N(G) / (P(G) N(G'))). At
    temperature one, a share of the steps are edge reversals with new parents for both columns.
    """
    n = cands.shape[0]
    graph = edges.reshape(n, n).astype(np.uint8)
    local, changes = np.empty(n), np.empty((n, n))
    most = 2 * n * n + 1
    gains, moves = np.empty(most), np.empty((most, 3), dtype=np.int64)
    new_gains, new_moves = np.empty(most), np.empty((most, 3), dtype=np.int64)
    for v in range(n):
        _score_toggles(v, graph, cands, outs, scores, starts, local, changes)
    count = _neighbors(graph, changes, gains, moves)
    accepted = 0
    for t in range(len(uniforms)):
        if cancel[0] or count == 0:
            break
        if heat == 1.0 and uniforms[t, 5] < reversals:
            if reverse_edge(graph, cands, outs, scores, sums, starts, ranked, uniforms[t]):
                for v in range(n):
                    _score_toggles(v, graph, cands, outs, scores, starts, local, changes)
                count = _neighbors(graph, changes, gains, moves)
                accepted += 1
            continue
        chosen = int(uniforms[t, 0] * count)
        kind, a, b = moves[chosen, 0], moves[chosen, 1], moves[chosen, 2]
        _apply(graph, kind, a, b)
        old_a, old_b = local[a], local[b]
        changes_a, changes_b = changes[a].copy(), changes[b].copy()
        _score_toggles(b, graph, cands, outs, scores, starts, local, changes)
        if kind == 2:
            _score_toggles(a, graph, cands, outs, scores, starts, local, changes)
        found = _neighbors(graph, changes, new_gains, new_moves)
        if math.log(uniforms[t, 3]) < gains[chosen] * heat + math.log(count / found):
            accepted += 1
            count = found
            gains, new_gains = new_gains, gains
            moves, new_moves = new_moves, moves
        else:
            _undo(graph, kind, a, b)
            local[a], local[b] = old_a, old_b
            _set_rows(changes, a, b, changes_a, changes_b)
    _list_edges(graph, edges)
    return local.sum(), accepted


@kernel(borrows=True)
def _set_rows(changes: Floats, a: int, b: int, row_a: Floats, row_b: Floats) -> None:
    for u in range(row_a.size):
        changes[a, u], changes[b, u] = row_a[u], row_b[u]


@kernel(borrows=True)
def _list_edges(graph: Bytes, edges: Ints) -> None:
    n = graph.shape[0]
    for a in range(n):
        for b in range(n):
            edges[a * n + b] = graph[a, b]


@kernel
def _apply(graph: Bytes, kind: int, a: int, b: int) -> None:
    """Add the edge (kind 0), delete it (1), or reverse it (2)."""
    graph[a, b] = 1 if kind == 0 else 0
    if kind == 2:
        graph[b, a] = 1
