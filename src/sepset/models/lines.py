"""The line of a network: the order in which the chains of its wide CPDs run through their parents."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.cpds.chained import ChainedCPD
from sepset.cpds.cpd import CPD
from sepset.factors.algebra import AnyVariable
from sepset.factors.lines import BY_NAME, Line, by_name
from sepset.graphs.csr import pairs_within_rows
from sepset.graphs.lines import line_of

NARROW = 2
"""The number of parents up to which a CPD is a table rather than a chain."""

MOST_JOINED = 32
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
    {'a': 0, 'b': 3, 'c': 1, 'd': 2}
    """
    wide = [cpd for cpd in cpds if isinstance(cpd, ChainedCPD) and len(cpd.parents) > NARROW]
    if not wide:
        return BY_NAME
    causes = sorted({p.name for cpd in wide for p in cpd.parents}, key=by_name)
    number = {name: i for i, name in enumerate(causes)}
    for name in sorted({cpd.child.name for cpd in cpds}.difference(causes)):
        number[name] = len(number)
    chains = [[number[v.name] for v in cpd.scope] for cpd in wide]
    scopes = [scope for cpd in cpds if not isinstance(cpd, ChainedCPD) for scope in _scopes(cpd)]
    scopes += [cpd.scope for cpd in cpds if isinstance(cpd, ChainedCPD) and len(cpd.parents) <= NARROW]
    rows = [[number.setdefault(v.name, len(number)) for v in scope] for scope in scopes]
    places = line_of(_joined(rows), chains, len(number))
    return Line(dict(zip(causes, places.tolist(), strict=False)))


def _scopes(cpd: CPD) -> Iterable[Sequence[AnyVariable]]:
    """The scopes of the factors of a CPD: all its variables, unless it has auxiliaries."""
    if len(cpd.parents) <= NARROW or not cpd.auxiliaries:
        return [(*cpd.parents, cpd.child)]
    return [factor.scope for factor in cpd.factors()]


def _joined(rows: Sequence[Sequence[int]]) -> Ints:
    """All pairs of members of the same row; only neighbors of long ones."""
    short = [row for row in rows if len(row) <= MOST_JOINED]
    start, members = np.cumsum([0, *map(len, short)]), np.fromiter(itertools.chain(*short), np.int32)
    long = [pair for row in rows if len(row) > MOST_JOINED for pair in itertools.pairwise(row)]
    return np.concatenate([pairs_within_rows((start, members)), np.array(long, np.int64).reshape(-1, 2)])
