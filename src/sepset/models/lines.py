"""The line of a network: the order in which the chains of its wide CPDs run through their parents."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence

import numpy as np

from sepset.base.arraytypes import Bools, Ints
from sepset.cpds.cpd import CPD
from sepset.cpds.discrete import ChainedCPD
from sepset.cpds.tree import ContextCPD
from sepset.errors import TooLarge
from sepset.factors.algebra import AnyVariable
from sepset.factors.chains import BY_NAME, Line, by_name
from sepset.graphs.csr import pairs_within_rows
from sepset.graphs.graph import UndirectedGraph
from sepset.graphs.lines import line_of
from sepset.graphs.ordering import MinFill, elimination_order
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete

NARROW = 2
"""The number of parents up to which a CPD is a table rather than a chain."""

MOST_COMPARED = 2**13
"""The most contexts of all CPDs whose gates are compared with choices: of more, orders take seconds."""

MOST_JOINED = 32
"""The most variables of one factor that are all joined with each other."""


def line_through(cpds: Sequence[CPD], known: tuple[Universe, Ints] | None = None) -> Line:
    """A line from side to side of a network, with variables that share a factor near each other.

    The parents of a chain are joined with its child alone, those of other CPDs with each other too. Only ties go by
    name: the order in which CPDs and parents are listed makes no difference.

    Args:
        cpds: of the network, parents before children.
        known: the variables, and the positions of all parents, CPD by CPD; looked up if they are not at hand.

    Cost: that of building the network; nothing if no CPD can be a chain.
    Guarantee: heuristic, deterministic.
    Tested by: models/test_lines.py::test_dependent_causes_are_lined_up_whatever_their_names

    >>> from sepset.cpds.noisy import NoisyOr
    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.variables.variable import Discrete
    >>> b, d, c, a = (Discrete(name) for name in "bdca")  # in a chain
    >>> pairs = [TableCPD(v, [[0.9, 0.1], [0.2, 0.8]], given=u) for u, v in ((b, d), (d, c), (c, a))]
    >>> line_through([TableCPD(b, [0.5, 0.5]), *pairs, NoisyOr(Discrete("x"), dict.fromkeys((a, b, c, d), 0.1))]).places
    {'b': 0, 'd': 1, 'c': 2, 'a': 3}
    """
    chained = {kind for kind in set(map(type, cpds)) if issubclass(kind, ChainedCPD)}
    is_wide = [type(cpd) in chained and len(cpd.parents) > NARROW for cpd in cpds] if chained else []
    if not any(is_wide):
        return BY_NAME
    variables, parents = known or _looked_up(cpds)
    start, chains = _chains(cpds, np.array(is_wide), variables, parents)
    names, number = _sorted_names(np.delete(chains, start[1:] - 1), variables)
    others = [cpd for cpd, is_chain in zip(cpds, is_wide, strict=True) if cpd.parents and not is_chain]
    scopes = [scope for cpd in others for scope in _scopes(cpd)]
    pairs, num = _joined(scopes, number, variables)
    ends, members = start.tolist(), number[chains]
    places = line_of(pairs, [members[i:j] for i, j in itertools.pairwise(ends)], num)
    return Line({names[i]: place for place, i in enumerate(np.argsort(places[: len(names)], kind="stable").tolist())})


def choices_of(cpds: Sequence[CPD]) -> frozenset[str]:
    """The children whose contexts are better the choice of one than gates, by the sizes of all cliques of the network.

    The gates of a tree of tests join parents that different branches test. They are compared with choices for all
    CPDs of many contexts, and for those alone that test some parent twice. Those that are choices stay so.

    Cost: three elimination orders if there are such CPDs, else nothing. Gates of too many are not compared.
    Guarantee: heuristic, deterministic.
    Tested by: models/test_lines.py::test_trees_that_test_in_many_orders_are_choices

    >>> choices_of([])
    frozenset()
    """
    known = {kind for kind in set(map(type, cpds)) if issubclass(kind, ContextCPD)}
    found = [cpd for cpd in cpds if type(cpd) in known and isinstance(cpd, ContextCPD)]
    wide = [cpd for cpd in found if not cpd.is_choice and cpd.can_choose]
    kept = frozenset(cpd.child.name for cpd in found if cpd.is_choice)
    if not wide or sum(cpd.partition.num_leaves for cpd in wide) > MOST_COMPARED:
        return kept
    every = kept.union(cpd.child.name for cpd in wide)
    some = kept.union(cpd.child.name for cpd in wide if not cpd.partition.is_read_once)
    return min(dict.fromkeys((kept, some, every)), key=lambda chosen: _total_size(cpds, chosen))


def _total_size(cpds: Sequence[CPD], chosen: frozenset[str]) -> float:
    """The entries of all cliques of a network with these choices; infinite if there are too many members."""
    line, scopes = Line(choices=chosen), list[Sequence[AnyVariable]]()
    for cpd in cpds:
        if isinstance(cpd, ChainedCPD) and len(cpd.parents) > NARROW:
            scopes += [(parent, cpd.child) for parent in cpd.parents]
        else:
            scopes += _scopes(cpd.along(line) if isinstance(cpd, ContextCPD) else cpd)
    states = [[v for v in scope if isinstance(v, Discrete)] for scope in scopes]
    cards = {v.name: v.num_states for scope in states for v in scope}
    pairs = {(a.name, b.name) for scope in states for a, b in _neighbors(scope)}
    try:
        return float(sum(elimination_order(UndirectedGraph(cards, pairs), cards, method=MinFill()).sizes))
    except (TooLarge, OverflowError):
        return math.inf


def _neighbors(scope: Sequence[Discrete]) -> Iterable[tuple[Discrete, Discrete]]:
    """The pairs of a scope, only neighbors of a long one."""
    return itertools.combinations(scope, 2) if len(scope) <= MOST_JOINED else itertools.pairwise(scope)


def _looked_up(cpds: Sequence[CPD]) -> tuple[Universe, Ints]:
    """The variables of some CPDs, and the positions of their parents."""
    variables = Universe({cpd.child.name: cpd.child for cpd in cpds}.values())
    return variables, variables.found_places([v for cpd in cpds for v in cpd.parents])


def _chains(cpds: Sequence[CPD], is_wide: Bools, variables: Universe, parents: Ints) -> tuple[Ints, Ints]:
    """The parents of wide CPDs, each with the child at the end, as compressed rows of positions."""
    num = np.fromiter([len(cpd.parents) for cpd in cpds], np.int64, len(cpds))
    ends = num[is_wide].cumsum()
    children = variables.places([cpd.child for cpd, is_chain in zip(cpds, is_wide.tolist(), strict=True) if is_chain])
    return np.append(0, ends + np.arange(1, len(ends) + 1)), np.insert(parents[np.repeat(is_wide, num)], ends, children)


def _sorted_names(causes: Ints, variables: Universe) -> tuple[list[str], Ints]:
    """The names of the parents of wide CPDs, and a number for each variable: first of these, then of all others."""
    names, is_cause = variables.names, np.zeros(len(variables), bool)
    is_cause[causes] = True
    first = sorted([names[i] for i in np.flatnonzero(is_cause).tolist()], key=by_name)
    rest = sorted([names[i] for i in np.flatnonzero(~is_cause).tolist()])
    order = np.fromiter(map(variables.positions.__getitem__, itertools.chain(first, rest)), np.int64, len(names))
    number = np.empty(len(names), np.int64)
    number[order] = np.arange(len(names))
    return first, number


def _scopes(cpd: CPD) -> Iterable[Sequence[AnyVariable]]:
    """The scopes of the factors of a CPD: all its variables, unless it has auxiliaries."""
    if isinstance(cpd, ContextCPD):
        return cpd.factor_scopes
    if len(cpd.parents) <= NARROW or not cpd.auxiliaries:
        return ((*cpd.parents, cpd.child),)
    return [factor.scope for factor in cpd.factors()]


def _joined(scopes: Sequence[Sequence[AnyVariable]], number: Ints, variables: Universe) -> tuple[Ints, int]:
    """All pairs of members of the same scope, only neighbors of long ones, in numbers; and how many of these there are.

    Auxiliaries have the numbers after all others.
    """
    start = np.fromiter(itertools.accumulate(map(len, scopes), initial=0), np.int64, len(scopes) + 1)
    known = dict(zip(variables.names, number.tolist(), strict=True)) if scopes else {}
    flat = [v.name for scope in scopes for v in scope]
    for name in flat:
        known.setdefault(name, len(known))
    own = np.fromiter(map(known.__getitem__, flat), np.int64, len(flat))
    sizes = np.diff(start)
    in_long = np.repeat(sizes > MOST_JOINED, sizes)
    row, short = np.repeat(np.arange(len(sizes)), sizes), np.append(0, np.cumsum(sizes[sizes <= MOST_JOINED]))
    is_next = in_long[1:] & (row[1:] == row[:-1])
    long = np.stack([own[:-1][is_next], own[1:][is_next]], axis=1)
    pairs = np.concatenate([pairs_within_rows((short, own[~in_long].astype(np.int32))), long])
    return pairs, max(len(known), len(number))
