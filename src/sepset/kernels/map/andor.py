r"""Depth-first branch and bound over the AND/OR tree of a model, with the values of contexts cached.

Variables are the nodes of a pseudo tree, numbered from the root on, subtrees without gaps. Given the states of the
nodes above, the subtrees of a node's children $c$ have nothing in common, so that the best value below a node is

$$v_d = \max_x \Bigl[ \theta_d(x) + \sum_c v_c \Bigr],$$

where $\theta_d$ are the functions whose last variable is $d$. It depends on the context of $d$ alone: the nodes above
that share a function with its subtree. A node must exceed what is needed to matter; sums of mini-bucket messages bound
what it can reach, and it closes with its value, or with an upper bound.

Reference: Marinescu & Dechter (2009), AND/OR branch-and-bound search for combinatorial optimization in graphical
models; Memory intensive AND/OR search for combinatorial optimization in graphical models.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sepset.base.arraytypes import Bytes, Floats, Int32s, Ints
from sepset.kernels.kernel import kernel

AT, NODES, HITS, MOVES = range(4)
"""The counters of a search: the present node, -1 at the end; the nodes opened; those that caches answered; moves."""


class Tree(NamedTuple):
    """A pseudo tree with its functions. Node 0 is a root of one state, above the roots of all components.

    Attributes:
        cards: the number of states of each node.
        states: where the states of each node start among all.
        parents: the node above each node, -1 for the root.
        firsts, kids: where the children of each node start, and the children.
        bounds: where the bounds of each node start, one number per state of its parent.
        groups: where the functions of each group start: those of each node, then the bounds below each node's parent.
        terms: where the earlier variables of each function start.
        depths, steps: the earlier variables of each function, and their steps in its table.
        own: the step of the last variable in the table of each function.
        places: where the table of each function starts.
        tables: log values.
        context_starts, contexts, context_steps: the nodes of each context, and their steps in its cache.
        caches: where the cache of each node starts, -1 if it has none.
        cached_states: where the states that it stores start.
        kept, sizes: where the best states of each node and of the nodes below without a cache start, and their number.
    """

    cards: Ints
    states: Ints
    parents: Ints
    firsts: Ints
    kids: Ints
    bounds: Ints
    groups: Ints
    terms: Ints
    depths: Ints
    steps: Ints
    own: Ints
    places: Ints
    tables: Floats
    context_starts: Ints
    contexts: Ints
    context_steps: Ints
    caches: Ints
    cached_states: Ints
    kept: Ints
    sizes: Ints


class Frames(NamedTuple):
    """All that changes in a search; each node is open at most once at a time.

    Attributes:
        codes: the state of each open node.
        kid: the place of the child that is searched; -1 if the next state is to be chosen.
        needed: what each open node must exceed.
        best: the best value so far.
        upper: the largest bound of the states that are done.
        solved, solved_upper: the value and the bound of the children that are done, with the node's own functions.
        own: the values of each node's functions, per state.
        bounds: the bounds of each node, per state of its parent.
        open: the bounds of the states to come; -inf for those that were taken.
        kept: the best states; see `Tree`.
        values, uppers: the cached values, -inf where unknown, and bounds.
        stored: the best states of the cached values.
        counters: see `AT`.
    """

    codes: Ints
    kid: Ints
    needed: Floats
    best: Floats
    upper: Floats
    solved: Floats
    solved_upper: Floats
    own: Floats
    bounds: Floats
    open: Floats
    kept: Int32s
    values: Floats
    uppers: Floats
    stored: Int32s
    counters: Ints


@kernel(borrows=True)
def evaluate(tree: Tree, codes: Ints, group: int, d: int, out: Floats, start: int) -> None:
    """The sum of the functions of a group at each state of node `d`, the nodes above as in `codes`."""
    for x in range(tree.cards[d]):
        out[start + x] = 0.0
    for g in range(tree.groups[group], tree.groups[group + 1]):
        at = tree.places[g]
        for t in range(tree.terms[g], tree.terms[g + 1]):
            at += tree.steps[t] * codes[tree.depths[t]]
        for x in range(tree.cards[d]):
            out[start + x] += tree.tables[at + x * tree.own[g]]


@kernel(borrows=True)
def context(tree: Tree, codes: Ints, d: int) -> int:
    """The place of a node's present context in its cache."""
    at = 0
    for t in range(tree.context_starts[d], tree.context_starts[d + 1]):
        at += tree.context_steps[t] * codes[tree.contexts[t]]
    return at


@kernel(borrows=True)
def later(tree: Tree, frames: Frames, d: int, kid: int) -> float:
    """The bounds of a node's children from one on, at its present state."""
    total = 0.0
    for k in range(kid, tree.firsts[d + 1]):
        total += frames.bounds[tree.bounds[tree.kids[k]] + frames.codes[d]]
    return total


@kernel(borrows=True)
def enter(tree: Tree, frames: Frames, d: int, needed: float) -> None:
    """Open a node: the bounds of its states."""
    n, first = len(tree.cards), tree.states[d]
    evaluate(tree, frames.codes, d, d, frames.own, first)
    for x in range(tree.cards[d]):
        frames.open[first + x] = frames.own[first + x]
    for k in range(tree.firsts[d], tree.firsts[d + 1]):
        c = tree.kids[k]
        evaluate(tree, frames.codes, n + c, d, frames.bounds, tree.bounds[c])
        for x in range(tree.cards[d]):
            frames.open[first + x] += frames.bounds[tree.bounds[c] + x]
    frames.needed[d], frames.best[d], frames.upper[d], frames.kid[d] = needed, -np.inf, -np.inf, -1
    frames.counters[NODES] += 1


@kernel(inner=True, borrows=True)
def receive(tree: Tree, frames: Frames, d: int, value: float, upper: float) -> None:
    """Let a node know the value and the bound of the child that was searched; -inf if it does not matter."""
    kid = frames.kid[d]
    if value > -np.inf:
        frames.solved[d] += value
        frames.solved_upper[d] += upper
        frames.kid[d] = kid + 1
    else:
        frames.upper[d] = max(frames.upper[d], frames.solved_upper[d] + upper + later(tree, frames, d, kid + 1))
        frames.kid[d] = -1


@kernel(inner=True, borrows=True)
def keep(tree: Tree, frames: Frames, d: int) -> None:
    """Keep the present state of a node and the best ones of its children without caches."""
    at = tree.kept[d]
    frames.kept[at] = frames.codes[d]
    at += 1
    for k in range(tree.firsts[d], tree.firsts[d + 1]):
        c = tree.kids[k]
        if tree.caches[c] < 0:
            for place in range(tree.sizes[c]):
                frames.kept[at + place] = frames.kept[tree.kept[c] + place]
            at += tree.sizes[c]


@kernel(inner=True, borrows=True)
def leave(tree: Tree, frames: Frames, d: int) -> int:
    """Close a node: its value or bound is stored and sent up; returns the node above."""
    value, upper = frames.best[d], frames.upper[d]
    for place in range(tree.states[d], tree.states[d + 1]):
        upper = max(upper, frames.open[place])
        frames.open[place] = -np.inf
    frames.upper[d] = upper
    if tree.caches[d] >= 0:
        at = context(tree, frames.codes, d)
        frames.values[tree.caches[d] + at] = value
        frames.uppers[tree.caches[d] + at] = min(upper, frames.uppers[tree.caches[d] + at])
        if value > -np.inf:
            start = tree.cached_states[d] + at * tree.sizes[d]
            for place in range(tree.sizes[d]):
                frames.stored[start + place] = frames.kept[tree.kept[d] + place]
    if d > 0:
        receive(tree, frames, tree.parents[d], value, upper)
    return int(tree.parents[d])


@kernel(inner=True, borrows=True)
def descend(tree: Tree, frames: Frames, d: int, slack: float) -> int:
    """Search the next child of a node, or take its value from its cache; returns the node to go on with."""
    c = tree.kids[frames.kid[d]]
    least = max(frames.needed[d], frames.best[d])
    needed = least - frames.solved[d] - later(tree, frames, d, frames.kid[d] + 1)
    if tree.caches[c] >= 0:
        at = tree.caches[c] + context(tree, frames.codes, c)
        matters = frames.uppers[at] > needed + slack
        if frames.values[at] > -np.inf or not matters:
            frames.counters[HITS] += 1
            receive(tree, frames, d, frames.values[at] if matters else -np.inf, frames.uppers[at])
            return d
    enter(tree, frames, c, needed)
    return int(c)


@kernel(inner=True, borrows=True)
def advance(tree: Tree, frames: Frames, d: int, slack: float) -> int:
    """One move at the present node; returns the node to go on with."""
    if frames.kid[d] < 0:
        least, chosen = max(frames.needed[d], frames.best[d]) + slack, -1
        for place in range(tree.states[d], tree.states[d + 1]):
            if frames.open[place] > least:
                least, chosen = frames.open[place], place
        if chosen < 0:
            return leave(tree, frames, d)
        frames.open[chosen] = -np.inf
        frames.codes[d], frames.kid[d] = chosen - tree.states[d], tree.firsts[d]
        frames.solved[d] = frames.own[chosen]
        frames.solved_upper[d] = frames.own[chosen]
        return d
    if frames.kid[d] < tree.firsts[d + 1]:
        return descend(tree, frames, d, slack)
    if frames.solved[d] > max(frames.needed[d], frames.best[d]):
        frames.best[d] = frames.solved[d]
        keep(tree, frames, d)
    frames.upper[d] = max(frames.upper[d], frames.solved_upper[d])
    frames.kid[d] = -1
    return d


def _search_work(tree: Tree, frames: Frames, moves: int, *_: object) -> float:
    return moves * 4.0 * (2.0 + len(tree.depths)) / len(tree.cards)


@kernel(work=_search_work, borrows=True)
def and_or(tree: Tree, frames: Frames, moves: int, slack: float, cancel: Bytes) -> None:
    """Search on for some more moves.

    Args:
        slack: a state must be better by this much: less is rounding.
    """
    d = frames.counters[AT]
    for move in range(moves):
        if d < 0 or (move % 256 == 0 and cancel[0]):
            break
        d = advance(tree, frames, d, slack)
        frames.counters[MOVES] += 1
    frames.counters[AT] = d
