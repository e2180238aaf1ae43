r"""Decision trees over columns: the scores of all splits of one leaf, and a tree grown split by split.

A leaf's score is that of one context (see `familyscores.table_score`) less `per_leaf`. Its cells have the pseudo-count
`fixed + shared * share`, where the share is that of the joint states of all columns that reach it.
"""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import AnyInts, Bools, Bytes, Floats, Ints
from sepset.kernels.kernel import kernel
from sepset.kernels.structure.familyscores import LIKELIHOOD, table_score

AXIS, VALUE, FIRST, COUNT, START, END, ABOVE, STATE = range(8)
"""A node's tested column, the value tested against the rest (-1 if each has a branch), its first branch and their
number, its rows in order, the node above, and the state that leads to it."""

SHARE, LEAF, BEST = range(3)
"""A node's share of the joint states, its score as a leaf, and that of the best of leaf and subtree."""


@kernel
def count_rows(codes: AnyInts, child: AnyInts, weights: Floats, rows: Ints, r: int, table: Floats) -> None:
    """The counts of some rows by a column's state and the child's."""
    table[:] = 0.0
    for i in range(len(rows)):
        row = rows[i]
        table[np.int64(codes[row]) * r + child[row]] += weights[row]


@kernel
def score_split(
    table: Floats, totals: Floats, possible: Bools, share: float, r: int, kind: int, terms: Floats, by_value: bool,
    logs: Floats, out: Floats,
) -> None:  # fmt: skip
    """The scores of the leaves that splits by one column make, each value apart first, then each against the rest.

    Args:
        table: the counts by the column's state and the child's.
        totals: the counts by the child's state.
        possible: which states the tests above leave.
        share: of the joint states that reach the leaf.
        kind: `LIKELIHOOD` or `EVIDENCE`.
        terms: `fixed`, `shared` and `per_leaf`.
        by_value: whether values are tested against the rest too.
        logs: of small whole numbers.
        out: the scores; minus infinity where a split is not possible.
    """
    out[:] = -np.inf
    card, count = len(possible), int(np.sum(possible))
    if count < 2:
        return
    none = np.empty(0, np.float64)
    each = share / count
    out[0] = table_score(table, card, r, kind, terms[0] + terms[1] * each, logs, none) - count * terms[2]
    if not by_value or count == 2:
        return
    for v in range(card):
        if possible[v]:
            own = table[v * r : (v + 1) * r]
            one = table_score(own, 1, r, kind, terms[0] + terms[1] * each, logs, none)
            rest = table_score(totals - own, 1, r, kind, terms[0] + terms[1] * (share - each), logs, none)
            out[1 + v] = one + rest - 2.0 * terms[2]


def _leaf_work(codes: AnyInts, child: AnyInts, weights: Floats, rows: Ints, *_: object) -> float:
    return float(len(codes) * (len(rows) + 10))


@kernel(work=_leaf_work)
def score_splits(
    codes: AnyInts, child: AnyInts, weights: Floats, rows: Ints, cards: Ints, possible: Bools, share: float, r: int,
    kind: int, terms: Floats, by_value: bool, logs: Floats, cancel: Bytes, out: Floats,
) -> None:  # fmt: skip
    """The scores of all splits of one leaf by every column; see `score_split`.

    Args:
        rows: the leaf's.
        possible: for each column its states that the tests above leave; empty unless it is a candidate.
        out: one row per column.
    """
    totals = np.zeros(r)
    for i in range(len(rows)):
        totals[child[rows[i]]] += weights[rows[i]]
    room = np.empty(int(np.max(cards)) * r)
    for x in range(len(codes)):
        if cancel[0]:
            return
        out[x] = -np.inf
        card = cards[x]
        if np.sum(possible[x, :card]) > 1:
            table = room[: card * r]
            count_rows(codes[x], child, weights, rows, r, table)
            score_split(
                table, totals, possible[x, :card], share, r, kind, terms, by_value, logs, out[x, : 1 + card]
            )  # fmt: skip


@kernel
def leave_possible(nodes: Ints, node: int, cards: Ints, possible: Bools) -> None:
    """Which states of each column the tests above a node leave."""
    for x in range(len(cards)):
        possible[x, : cards[x]] = True
    below = node
    while nodes[below, ABOVE] >= 0:
        above = int(nodes[below, ABOVE])
        x, v, state = nodes[above, AXIS], nodes[above, VALUE], nodes[below, STATE]
        if state >= 0:
            was = possible[x, state]
            possible[x, : cards[x]] = False
            possible[x, state] = was
        else:
            possible[x, v] = False
        below = above


@kernel
def sort_rows(codes: AnyInts, value: int, order: Ints, room: Ints, ends: Ints) -> None:
    """Put rows in the order of their states, or those of one value before the rest; `ends` of each branch."""
    ends[:] = 0
    for i in range(len(order)):
        code = np.int64(codes[order[i]])
        ends[code if value < 0 else np.int64(code != value)] += 1
    for b in range(1, len(ends)):
        ends[b] += ends[b - 1]
    for i in range(len(order) - 1, -1, -1):
        code = np.int64(codes[order[i]])
        branch = code if value < 0 else np.int64(code != value)
        ends[branch] -= 1
        room[ends[branch]] = order[i]
    for i in range(len(order)):
        order[i] = room[i]
    for b in range(len(ends) - 1):
        ends[b] = ends[b + 1]
    ends[len(ends) - 1] = len(order)


@kernel
def best_split(
    codes: AnyInts, child: AnyInts, weights: Floats, rows: Ints, cards: Ints, possible: Bools, usable: Bools,
    share: float, r: int, kind: int, terms: Floats, by_value: bool, tolerance: float, logs: Floats, totals: Floats,
    room: Floats, out: Ints,
) -> None:  # fmt: skip
    """The column and value of the split with the best leaves, also where they are worse than the one leaf."""
    best, found = -np.inf, np.empty(1 + int(np.max(cards)))
    out[0], out[1] = -1, -1
    for x in range(len(codes)):
        card = cards[x]
        if not usable[x] or np.sum(possible[x, :card]) < 2:
            continue
        table = room[: card * r]
        count_rows(codes[x], child, weights, rows, r, table)
        score_split(table, totals, possible[x, :card], share, r, kind, terms, by_value, logs, found[: 1 + card])
        for k in range(1 + card):
            if found[k] > best + tolerance or out[0] < 0:
                best = found[k]
                out[0], out[1] = x, k - 1


@kernel
def add_branches(
    nodes: Ints, values: Floats, size: int, node: int, chosen: Ints, possible: Bools, ends: Ints
) -> None:  # fmt: skip
    """The branches of a node whose rows are sorted: each state that is possible, or one value and the rest."""
    x, value = chosen[0], chosen[1]
    count = int(np.sum(possible))
    nodes[node, AXIS], nodes[node, VALUE], nodes[node, FIRST] = x, value, size
    before, start = 0, nodes[node, START]
    for b in range(len(ends)):
        if value >= 0 or possible[b]:
            nodes[size] = -1
            nodes[size, COUNT], nodes[size, ABOVE] = 0, node
            nodes[size, START], nodes[size, END] = start + before, start + ends[b]
            nodes[size, STATE] = b if value < 0 else (value if b == 0 else -1)
            states = count - 1 if value >= 0 and b == 1 else 1
            values[size, SHARE] = values[node, SHARE] * states / count
            nodes[node, COUNT] += 1
            size += 1
        before = ends[b]


def _tree_work(codes: AnyInts, *_: object) -> float:
    return float(codes.size * (1 + len(codes)))


@kernel(work=_tree_work)
def grow(
    codes: AnyInts, child: AnyInts, weights: Floats, cards: Ints, required: Bools, most: int, r: int, kind: int,
    terms: Floats, by_value: bool, tolerance: float, logs: Floats, cancel: Bytes,
) -> tuple[Ints, Floats]:  # fmt: skip
    """A tree grown by the best split of each leaf even where that lowers the score, and pruned from its leaves.

    Args:
        codes: the candidates, one row each.
        child: its states.
        weights: one per row, positive.
        cards: the number of states of each candidate.
        required: candidates that count as used from the start.
        most: how many candidates may be used.
        r: the number of states of the child.
        kind: `LIKELIHOOD` or `EVIDENCE`.
        terms: `fixed`, `shared` and `per_leaf`.
        by_value: whether values are tested against the rest too.
        tolerance: by how much a split must be better than another, and a subtree than a leaf.
        logs: of small whole numbers.
        cancel: set where the work is to be ended.

    Returns:
        The nodes with their numbers (see the module's head; a leaf's column is -1), and their shares and scores.
    """
    m, widest = len(child), int(np.max(cards))
    order, spare, none = np.arange(m), np.empty(m, np.int64), np.empty(0, np.float64)
    possible, usable = np.zeros((len(codes), widest), np.bool_), np.ones(len(codes), np.bool_)
    used = required.copy()
    totals, room, ends, chosen = np.zeros(r), np.empty(widest * r), np.empty(widest, np.int64), np.empty(2, np.int64)
    nodes, values = np.full((64, 8), -1, np.int64), np.ones((64, 3))
    nodes[0, START], nodes[0, END], nodes[0, COUNT] = 0, m, 0
    node, size = 0, 1
    while node < size and not cancel[0]:
        rows = order[nodes[node, START] : nodes[node, END]]
        totals[:] = 0.0
        for i in range(len(rows)):
            totals[child[rows[i]]] += weights[rows[i]]
        share = values[node, SHARE]
        values[node, LEAF] = table_score(totals, 1, r, kind, terms[0] + terms[1] * share, logs, none) - terms[2]
        is_pure = np.sum(totals > 0.0) < 2 and terms[2] >= 0.0 and (kind == LIKELIHOOD or terms[1] == 0.0)
        chosen[0] = -1
        if len(rows) > 0 and not is_pure:
            leave_possible(nodes, node, cards, possible)
            usable[:] = used
            if np.sum(used) < most:
                usable[:] = True
            best_split(
                codes, child, weights, rows, cards, possible, usable, share, r, kind, terms, by_value, tolerance, logs,
                totals, room, chosen,
            )  # fmt: skip
        if chosen[0] >= 0:
            x = chosen[0]
            used[x] = True
            if size + widest > len(nodes):
                nodes = np.concatenate((nodes, np.empty((len(nodes) + widest, 8), np.int64)))
                values = np.concatenate((values, np.empty((len(values) + widest, 3))))
            branches = ends[: cards[x]] if chosen[1] < 0 else ends[:2]
            sort_rows(codes[x], chosen[1], rows, spare, branches)
            add_branches(nodes, values, size, node, chosen, possible[x, : cards[x]], branches)
            size += nodes[node, COUNT]
        node += 1
    prune(nodes, values, size, tolerance)
    return nodes[:size].copy(), values[:size].copy()


@kernel
def prune(nodes: Ints, values: Floats, size: int, tolerance: float) -> None:
    """Turn every node whose subtree is not better than itself as a leaf into a leaf, the last nodes first."""
    for node in range(size - 1, -1, -1):
        values[node, BEST] = values[node, LEAF]
        if nodes[node, AXIS] >= 0:
            below = 0.0
            for b in range(nodes[node, FIRST], nodes[node, FIRST] + nodes[node, COUNT]):
                below += values[b, BEST]
            if below > values[node, LEAF] + tolerance:
                values[node, BEST] = below
            else:
                nodes[node, AXIS] = -1
