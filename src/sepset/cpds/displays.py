"""How CPDs with local structure are shown: trees as trees, rules as rules, effects and weights as terms."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.display import Shown
from sepset.base.text import joined
from sepset.cpds.contexts import Node
from sepset.cpds.counts import decode
from sepset.factors.labels import MOST_SHOWN, cut, one_line
from sepset.variables.variable import Discrete, State

FORK, LAST, ALONG, BELOW = "├─ ", "└─ ", "│  ", "   "
"""The marks before a branch, before the last branch, and before what is below each of them."""

FEW_CONTEXTS = 3
"""The largest number of contexts that are listed for one part."""


def setting(variable: Discrete, states: Sequence[State]) -> str:
    """A variable at one of some states.

    >>> setting(Discrete("b", 3), (1,)), setting(Discrete("b", 3), (1, 2))
    ('b=1', 'b in {1, 2}')
    """
    shown = [one_line(state) for state in states]
    return f"{variable.name}={shown[0]}" if len(shown) == 1 else f"{variable.name} in {{{joined(shown)}}}"


def numbers(values: Iterable[float]) -> list[str]:
    """The cells of some numbers."""
    return [f"{value:.6g}" for value in values]


def titles(child: Discrete) -> list[str]:
    """The columns of a child's states."""
    return [f"{child.name}={one_line(state)}" for state in child.states]


def tree(label: str, child: Discrete, parents: Sequence[Discrete], root: Node, rows: Floats) -> Shown:
    """The tests of a decision tree, indented, with the distributions at its leaves.

    >>> from sepset.base.display import text_table
    >>> a, b, x = Discrete("a"), Discrete("b", 3), Discrete("x")
    >>> root = Node(0, (0, 1), (0, Node(1, (0, 1, 1), (1, 2))))
    >>> print(text_table(tree("tree", x, (a, b), root, np.array([[0.8, 0.2], [0.9, 0.1], [0.4, 0.6]]))))
    tree
      context            x=0  x=1
      ├─ a=0             0.8  0.2
      └─ a=1
         ├─ b=0          0.9  0.1
         └─ b in {1, 2}  0.4  0.6
    """
    lines = list(itertools.islice(_branches(root, parents, ""), MOST_SHOWN))
    blank = [""] * child.num_states
    cells = [(text, *(blank if leaf is None else numbers(rows[leaf]))) for text, leaf in lines]
    total = _num_lines(root)
    more = f"{cut(total, 'branches')}; {len(rows):,} leaves" if total > MOST_SHOWN else ""
    return Shown(("context", *titles(child)), cells, label, more)


def _branches(node: Node, parents: Sequence[Discrete], indent: str) -> Iterator[tuple[str, int | None]]:
    """Each branch as text, with the leaf that it ends in, depth first."""
    variable = parents[node.axis]
    for place, branch in enumerate(node.branches):
        is_last = place == len(node.branches) - 1
        states = [state for state, route in zip(variable.states, node.route, strict=True) if route == place]
        text = indent + (LAST if is_last else FORK) + setting(variable, states)
        if not isinstance(branch, Node):
            yield text, branch
        else:
            yield text, None
            yield from _branches(branch, parents, indent + (BELOW if is_last else ALONG))


def _num_lines(node: Node) -> int:
    return len(node.branches) + sum(_num_lines(branch) for branch in node.branches if isinstance(branch, Node))


def rules(label: str, contexts: Iterable[str], probabilities: Floats) -> Shown:
    """One rule per row: its context and its probability.

    >>> rules("rules", ["a=0, x=1"], np.array([0.25])).rows
    [('a=0, x=1', '0.25')]
    """
    few = probabilities[:MOST_SHOWN].tolist()
    cells = list(zip(itertools.islice(contexts, MOST_SHOWN), numbers(few), strict=True))
    return Shown(("rule", "probability"), cells, label, cut(len(probabilities), "rules"), bars=few)


def parts(label: str, child: Discrete, parents: tuple[Discrete, ...], part_of: Ints, rows: Floats) -> Shown:
    """One part per row: its first contexts and its distribution.

    >>> a, x = Discrete("a", 3), Discrete("x")
    >>> parts("parts", x, (a,), np.array([0, 1, 0]), np.array([[0.5, 0.5], [0.9, 0.1]])).rows
    [('0', 'a=0; a=2', '0.5', '0.5'), ('1', 'a=1', '0.9', '0.1')]
    """
    shown = enumerate(rows[:MOST_SHOWN])
    cells = [(str(part), _contexts(parents, np.flatnonzero(part_of == part)), *numbers(row)) for part, row in shown]
    return Shown(("part", "contexts", *titles(child)), cells, label, cut(len(rows), "parts"), words=2)


def _contexts(parents: tuple[Discrete, ...], places: Ints) -> str:
    codes = decode(places[:FEW_CONTEXTS], parents)
    num = min(len(places), FEW_CONTEXTS)
    texts = (", ".join(setting(p, [p.states[int(codes[p][row])]]) for p in parents) for row in range(num))
    more = [f"... ({len(places):,} in all)"] if len(places) > FEW_CONTEXTS else []
    return "; ".join([*texts, *more])


def function(label: str, child: Discrete, parents: tuple[Discrete, ...], codes: Ints) -> Shown:
    """One row per joint state of the parents, with the child's state.

    >>> a, x = Discrete("a"), Discrete("x", ("even", "odd"))
    >>> function("function", x, (a,), np.array([0, 1])).rows
    [('0', 'even'), ('1', 'odd')]
    """
    num = min(len(codes), MOST_SHOWN)
    found = decode(np.arange(num), parents)
    pairs = [*((p, found[p]) for p in parents), (child, codes[:num])]
    columns = ([one_line(v.states[code]) for code in column.tolist()] for v, column in pairs)
    cells = list(zip(*columns, strict=True))
    head = tuple(v.name for v in (*parents, child))
    return Shown(head, cells, label, cut(len(codes), "rows"), words=len(head))


def terms(label: str, head: Sequence[str], named: Sequence[tuple[str, Sequence[float]]], told: str) -> Shown:
    """One term per row, and below them how they are combined.

    >>> terms("sum", ["log-odds"], [("bias", [-1.0]), ("a=1", [2.0])], "added").rows
    [('bias', '-1'), ('a=1', '2')]
    """
    cells = [(name, *numbers(values)) for name, values in named[:MOST_SHOWN]]
    return Shown(("term", *head), cells, label, "; ".join(filter(None, (cut(len(named), "terms"), told))))


def by_state(parents: Sequence[Discrete], effects: Sequence[Floats], none: Floats) -> list[tuple[str, list[float]]]:
    """The effects `[states, ...]` of each parent that are not none; of a parent without any, one without its state.

    >>> by_state([Discrete("a"), Discrete("b")], [np.array([[0.0], [2.0]]), np.zeros((2, 1))], np.zeros(1))
    [('a=1', [2.0]), ('b', [0.0])]
    """
    found: list[tuple[str, list[float]]] = []
    for parent, effect in zip(parents, effects, strict=True):
        codes = np.flatnonzero((effect != none).any(axis=1)).tolist()
        states = [(setting(parent, [parent.states[code]]), effect[code].tolist()) for code in codes]
        found += states or [(parent.name, np.broadcast_to(none, effect[0].shape).tolist())]
    return found


def causes(label: str, on: str, parents: Sequence[Discrete], chances: Sequence[Floats], leak: float) -> Shown:
    """The probability that each cause alone turns a child on.

    >>> causes("or", "x=1", [Discrete("a")], [np.array([0.0, 0.8])], 0.1).rows
    [('leak', '0.1'), ('a=1', '0.8')]
    """
    named = [("leak", [leak]), *by_state(parents, [chance[:, None] for chance in chances], np.zeros(1))]
    told = f"{on} unless each of them fails: 1 - P({on}) is the product of 1 - p"
    page = terms(label, (f"P({on})",), named, told)
    return page._replace(bars=[values[0] for _, values in named[: len(page.rows)]])
