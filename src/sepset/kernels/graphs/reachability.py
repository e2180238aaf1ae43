"""Reachability in directed graphs as compressed rows: ancestors, active trails (Bayes ball), components."""

from __future__ import annotations

import numpy as np

from sepset.base.arraytypes import Bools, Bytes, Int32s, Ints
from sepset.kernels.kernel import kernel, sizes


@kernel(work=sizes)
def mark_ancestors(parent_indptr: Ints, parent_indices: Int32s, starts: Ints) -> Bytes:
    """1 for `starts` and all their ancestors, 0 otherwise."""
    marks = np.zeros(parent_indptr.size - 1, dtype=np.uint8)
    stack = np.empty(marks.size, dtype=np.int64)
    height = 0
    for i in starts:
        if marks[i] == 0:
            marks[i] = 1
            stack[height] = i
            height += 1
    while height > 0:
        height -= 1
        i = stack[height]
        for k in range(parent_indptr[i], parent_indptr[i + 1]):
            j = parent_indices[k]
            if marks[j] == 0:
                marks[j] = 1
                stack[height] = j
                height += 1
    return marks


@kernel(work=sizes)
def active_states(
    parent_indptr: Ints,
    parent_indices: Int32s,
    child_indptr: Ints,
    child_indices: Int32s,
    starts: Ints,
    observed: Bytes,
    opened: Bytes,
) -> Ints:
    """The state before each state on a shortest active trail from `starts`; itself at a start, -1 if there is none.

    State `2 i` is node `i` entered from a child (or as a start), `2 i + 1` entered from a parent. A trail passes a
    collider that is `opened` (observed nodes and their ancestors), and any other node that is not `observed`.
    """
    before = np.full(2 * observed.size, -1, dtype=np.int64)
    queue = np.empty(before.size, dtype=np.int64)
    head = tail = 0
    for i in starts:
        if before[2 * i] < 0:
            before[2 * i] = 2 * i
            queue[tail] = 2 * i
            tail += 1
    while head < tail:
        state = queue[head]
        head += 1
        i = state >> 1
        from_parent = state & 1
        if (from_parent == 0 and observed[i] == 0) or (from_parent == 1 and opened[i] == 1):
            for k in range(parent_indptr[i], parent_indptr[i + 1]):
                j = 2 * np.int64(parent_indices[k])
                if before[j] < 0:
                    before[j] = state
                    queue[tail] = j
                    tail += 1
        if observed[i] == 0:
            for k in range(child_indptr[i], child_indptr[i + 1]):
                j = 2 * np.int64(child_indices[k]) + 1
                if before[j] < 0:
                    before[j] = state
                    queue[tail] = j
                    tail += 1
    return before


@kernel(work=sizes)
def mark_connected(
    start: Ints,
    members: Ints,
    home_start: Ints,
    homes: Ints,
    kept: Bools,
    open_variable: Bools,
    targets: Ints,
) -> Bools:
    """Which of the kept factors share a path of open variables with a target.

    Args:
        start, members: the variables of each factor, as compressed rows.
        home_start, homes: the factors of each variable, as compressed rows.
    """
    found = np.zeros(len(kept), np.bool_)
    waits = open_variable.copy()
    stack = np.empty(len(open_variable), np.int64)
    top = 0
    for v in targets:
        if waits[v]:
            waits[v] = False
            stack[top] = v
            top += 1
    while top > 0:
        top -= 1
        v = stack[top]
        for k in range(home_start[v], home_start[v + 1]):
            f = homes[k]
            if not kept[f] or found[f]:
                continue
            found[f] = True
            for j in range(start[f], start[f + 1]):
                u = members[j]
                if waits[u]:
                    waits[u] = False
                    stack[top] = u
                    top += 1
    return found


@kernel(work=sizes)
def relevant_parts(
    start: Ints,
    members: Ints,
    home_start: Ints,
    homes: Ints,
    family_start: Ints,
    families: Int32s,
    child: Ints,
    seeds: Ints,
    targets: Ints,
    observed: Ints,
    alone: Ints,
    constants: bool,
) -> tuple[Ints, Ints]:
    """The factors that a question needs, and the unobserved variables in their scopes; both ascending.

    Args:
        start, members: the variables of each factor, as compressed rows.
        home_start, homes: the factors of each variable, as compressed rows; they are read without `constants` only.
        family_start, families: for each variable the members of its conditional, as compressed rows.
        child: for each factor the child of its conditional, or -1 if it belongs to none.
        seeds: variables, besides targets and observed ones, of which a conditional is not barren.
        alone: variables that are needed although no factor has them in scope.
        constants: keep the parts that observed variables separate from every target.
    """
    num = len(family_start) - 1
    needed = mark_ancestors(family_start, families, np.concatenate((targets, observed, seeds)))
    kept = np.zeros(len(child), np.bool_)
    for f in range(len(child)):
        kept[f] = child[f] < 0 or needed[child[f]] > 0
    is_open = np.ones(num, np.bool_)
    for v in observed:
        is_open[v] = False
    if not constants:
        kept &= mark_connected(start, members, home_start, homes, kept, is_open, targets)
    used = np.zeros(num, np.bool_)
    for f in range(len(child)):
        if kept[f]:
            for k in range(start[f], start[f + 1]):
                used[members[k]] = True
    for v in targets:
        used[v] = True
    for v in alone:
        used[v] = True
    return np.flatnonzero(kept), np.flatnonzero(used & is_open)
