"""The line of a network: the order in which the chains of its wide CPDs run through their parents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.cpds.chained import ChainedCPD
from sepset.cpds.cpd import CPD
from sepset.factors.lines import BY_NAME, Line, by_name
from sepset.graphs.csr import NO_PAIRS, pairs_within_rows
from sepset.graphs.sweeps import placed_by_pairs

NARROW = 2
"""The number of parents up to which a CPD is a table rather than a chain."""

MOST_JOINED = 16
"""The most variables of one factor that are all joined with each other."""


def line_through(cpds: Sequence[CPD]) -> Line:
    """A line from side to side of a network, with variables that share a factor near each other.

    The parents of a chain are joined with its child alone, those of other CPDs with each other too. A child of a chain
    comes after its parents. Only ties go by name: the order in which CPDs and parents are listed makes no difference.

    Args:
        cpds: of the network, parents before children.

    Cost: that of building the network; nothing if no CPD can be a chain.
    Reference: King (1970), for the order from side to side.
    Guarantee: heuristic, deterministic.
    Tested by: models/test_lines.py::test_the_line_of_dependent_causes_is_that_of_their_chain

    >>> from sepset.cpds.noisy import NoisyOr
    >>> from sepset.cpds.table import TableCPD
    >>> from sepset.variables.variable import Discrete
    >>> b, d, c, a = (Discrete(name) for name in "bdca")  # in a chain
    >>> pairs = [TableCPD(v, [[0.9, 0.1], [0.2, 0.8]], given=u) for u, v in ((b, d), (d, c), (c, a))]
    >>> line_through([TableCPD(b, [0.5, 0.5]), *pairs, NoisyOr(Discrete("x"), dict.fromkeys((a, b, c, d), 0.1))]).places
    {'a': 0.0, 'b': 3.0, 'c': 1.0, 'd': 2.0}
    """
    wide = [cpd for cpd in cpds if isinstance(cpd, ChainedCPD) and len(cpd.parents) > NARROW]
    if not wide:
        return BY_NAME
    causes = sorted({p.name for cpd in wide for p in cpd.parents}, key=by_name)
    number = {name: i for i, name in enumerate(causes)}
    for name in sorted({cpd.child.name for cpd in cpds}.difference(causes)):
        number[name] = len(number)
    pairs = np.concatenate([NO_PAIRS, *_joined(cpds, {id(cpd) for cpd in wide}, number)])
    return Line(_after_parents(dict(zip(causes, placed_by_pairs(pairs, 1 + int(pairs.max(initial=len(number)))).astype(float).tolist(), strict=False)), wide))


def _joined(cpds: Sequence[CPD], wide: set[int], number: dict[str, int]) -> Iterator[Ints]:
    """The pairs of numbers of variables that are joined; auxiliaries have the numbers after all others."""
    scopes: list[list[int]] = []
    for cpd in cpds:
        members = [number[v.name] for v in (*cpd.parents, cpd.child)]
        if id(cpd) in wide or len(members) > MOST_JOINED:
            yield np.column_stack([members[:-1], np.full(len(members) - 1, members[-1])])
        else:
            scopes.append(members)
    start = np.cumsum([0, *map(len, scopes)])
    yield pairs_within_rows((start, np.array([v for scope in scopes for v in scope], np.int32)))


def _after_parents(places: dict[str, float], wide: Sequence[ChainedCPD]) -> dict[str, float]:
    """The places of causes, with those that are children of a chain after all its parents."""
    for cpd in wide:
        if cpd.child.name in places:
            last = max(places[p.name] for p in cpd.parents)
            places[cpd.child.name] = max(places[cpd.child.name], last + 0.5)
    return places
