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

DEEPEST = 200
"""The largest number of tests on the way to a leaf."""

SHARE, LEAF, BEST = range(3)
"""A node's share of the joint states, its score as a leaf, and that of the best of leaf and subtree."""


@kernel
def count_rows(codes: AnyInts, child: AnyInts, weights: Floats, rows: Ints, r: int, table: Floats) -> None:
    """The counts of some rows by a column's state and the child's."""
    table[:] = 0.0
    for i in range(len(rows)):
        row = rows[i]
        table[np.int64(codes[row]) * r + child[row]] += weights[row]


@kernel(borrows=True)
def num_true(marks: Bools) -> int:
    """How many are true."""
    count = 0
    for mark in marks:
        count += int(mark)
    return count


@kernel
def score_split(
    table: Floats, totals: Floats, possible: Bools, share: float, r: int, kind: int, terms: Floats, by_value: bool,
    logs: Floats, out: Floats,
) -> None:  # fmt: skip
    """The scores of the leaves that splits by one column make, each value apart first, then each against the rest.

    Args:
        table: the counts by the column's state and the child's; they are overwritten.
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
    card, count = len(possible), num_true(possible)
    if count < 2:
        return
    none = logs[:0]
    each = share / count
    out[0] = table_score(table, card, r, kind, terms[0] + terms[1] * each, logs, none) - count * terms[2]
    if not by_value or count == 2:
        return
    for v in range(card):
        if possible[v]:
            own = table[v * r : (v + 1) * r]
            one = table_score(own, 1, r, kind, terms[0] + terms[1] * each, logs, none)
            for k in range(r):
                own[k] = totals[k] - own[k]
            rest = table_score(own, 1, r, kind, terms[0] + terms[1] * (share - each), logs, none)
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
    totals, room = np.empty(r), np.empty(possible.shape[1] * r)
    count_states(child, weights, rows, totals)
    for x in range(len(codes)):
        if cancel[0]:
            return
        out[x] = -np.inf
        card = cards[x]
        if num_true(possible[x, :card]) > 1:
            table = room[: card * r]
            count_rows(codes[x], child, weights, rows, r, table)
            score_split(
                table, totals, possible[x, :card], share, r, kind, terms, by_value, logs, out[x, : 1 + card]
            )  # fmt: skip


@kernel
def leave_possible(nodes: Ints, node: int, cards: Ints, possible: Bools) -> int:
    """Which states of each column the tests above a node leave, and how many tests there are."""
    for x in range(len(cards)):
        possible[x, : cards[x]] = True
    below, depth = node, 0
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
        depth += 1
    return depth


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
    room: Floats, found: Floats, out: Ints,
) -> None:  # fmt: skip
    """The column and value of the split with the best leaves, also where they are worse than the one leaf."""
    best = -np.inf
    out[0], out[1] = -1, -1
    for x in range(len(codes)):
        card = cards[x]
        if not usable[x] or num_true(possible[x, :card]) < 2:
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
    count = num_true(possible)
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
    codes: AnyInts, child: AnyInts, weights: Floats, cards: Ints, most: int, r: int, kind: int, terms: Floats,
    by_value: bool, tolerance: float, logs: Floats, cancel: Bytes, order: Ints, spare: Ints, possible: Bools,
    usable: Bools, used: Bools, room: Floats, ends: Ints, nodes: Ints, values: Floats, done: int, size: int,
) -> tuple[int, int]:  # fmt: skip
    """Grow a tree by the best split of each leaf, even where that lowers the score, as long as nodes have room.

    Args:
        codes: the candidates, one row each.
        child: its states.
        weights: one per row, positive.
        cards: the number of states of each candidate.
        most: how many candidates may be used.
        r: the number of states of the child.
        kind: `LIKELIHOOD` or `EVIDENCE`.
        terms: `fixed`, `shared` and `per_leaf`.
        by_value: whether values are tested against the rest too.
        tolerance: by how much a split must be better than another.
        logs: of small whole numbers.
        cancel: set where the work is to be ended.
        order: the rows, in the order of the nodes that they reach.
        spare: room for rows; `possible`, `usable`, `room` and `ends` are room too.
        used: the candidates that are used so far.
        nodes: their numbers (see the module's head; a leaf's column is -1).
        values: their shares and scores.
        done: how many nodes have been looked at.
        size: how many nodes there are.

    Returns:
        The new `done` and `size`.
    """
    widest, totals, none = possible.shape[1], room[:r], logs[:0]
    table, found = room[r : r + widest * r], room[r + widest * r :]
    while done < size and size + widest <= len(nodes) and not cancel[0]:
        rows = order[nodes[done, START] : nodes[done, END]]
        num_states, share = count_states(child, weights, rows, totals), values[done, SHARE]
        values[done, LEAF] = table_score(totals, 1, r, kind, terms[0] + terms[1] * share, logs, none) - terms[2]
        is_pure = num_states < 2 and terms[2] >= 0.0 and (kind == LIKELIHOOD or terms[1] == 0.0)
        ends[0] = -1
        if len(rows) > 0 and not is_pure:
            is_open = num_true(used) < most
            is_deep = leave_possible(nodes, done, cards, possible) >= DEEPEST
            for x in range(len(codes)):
                usable[x] = (is_open or used[x]) and not is_deep
            best_split(
                codes, child, weights, rows, cards, possible, usable, share, r, kind, terms, by_value, tolerance, logs,
                totals, table, found, ends,
            )  # fmt: skip
        if ends[0] >= 0:
            x, value = ends[0], ends[1]
            used[x] = True
            branches = ends[2 : 2 + cards[x]] if value < 0 else ends[2:4]
            sort_rows(codes[x], value, rows, spare, branches)
            add_branches(nodes, values, size, done, ends, possible[x, : cards[x]], branches)
            size += nodes[done, COUNT]
        done += 1
    return done, size


@kernel(borrows=True)
def count_states(child: AnyInts, weights: Floats, rows: Ints, totals: Floats) -> int:
    """The counts of some rows by the child's state, and how many states occur."""
    for k in range(len(totals)):
        totals[k] = 0.0
    for i in range(len(rows)):
        totals[child[rows[i]]] += weights[rows[i]]
    count = 0
    for total in totals:
        count += int(total > 0.0)
    return count


def _node_work(nodes: Ints, values: Floats, size: int, tolerance: float) -> float:
    return 4.0 * size


@kernel(work=_node_work)
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
