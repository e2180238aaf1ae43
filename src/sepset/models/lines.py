"""The line of a network: the order in which the chains of its wide CPDs run through their parents."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence

import numpy as np

from sepset.base.arraytypes import Ints
from sepset.cpds.cpd import CPD
from sepset.cpds.discrete import ChainedCPD
from sepset.factors.algebra import AnyVariable
from sepset.factors.chains import BY_NAME, Line, by_name
from sepset.graphs.csr import pairs_within_rows
from sepset.graphs.lines import line_of

NARROW = 2
"""The number of parents up to which a CPD is a table rather than a chain."""

MOST_JOINED = 32
"""The most variables of one factor that are all joined with each other."""


def line_through(cpds: Sequence[CPD]) -> Line:
    """A line from side to side of a network, with variables that share a factor near each other.

    The parents of a chain are joined with its child alone, those of other CPDs with each other too. Only ties go by
    name: the order in which CPDs and parents are listed makes no difference.

    Args:
        cpds: of the network, parents before children.

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
    wide = [cpd for cpd in cpds if type(cpd) in chained and len(cpd.parents) > NARROW] if chained else []
    if not wide:
        return BY_NAME
    names, others = _sorted_names(cpds, wide)
    chains = [(*cpd.parents, cpd.child) for cpd in wide]
    found = {id(cpd) for cpd in wide}
    scopes = [scope for cpd in cpds if id(cpd) not in found for scope in _scopes(cpd)]
    number = dict(zip((*names, *others), itertools.count(), strict=False))
    start, members = _numbered([*chains, *scopes], number)
    ends = start[: len(chains) + 1].tolist()
    pairs = _joined(start[len(chains) :], members)
    places = line_of(pairs, [members[i:j] for i, j in itertools.pairwise(ends)], len(number))
    return Line({names[i]: place for place, i in enumerate(np.argsort(places[: len(names)], kind="stable").tolist())})


def _sorted_names(cpds: Sequence[CPD], wide: Sequence[CPD]) -> tuple[list[str], list[str]]:
    """The names of the parents of wide CPDs, and of all other variables."""
    causes = {p.name for cpd in wide for p in cpd.parents}
    return sorted(causes, key=by_name), sorted({cpd.child.name for cpd in cpds} - causes)


def _scopes(cpd: CPD) -> Iterable[Sequence[AnyVariable]]:
    """The scopes of the factors of a CPD: all its variables, unless it has auxiliaries."""
    if len(cpd.parents) <= NARROW or not cpd.auxiliaries:
        return ((*cpd.parents, cpd.child),)
    return [factor.scope for factor in cpd.factors()]


def _numbered(scopes: Sequence[Sequence[AnyVariable]], number: dict[str, int]) -> tuple[Ints, Ints]:
    """The scopes as compressed rows of numbers; auxiliaries have the numbers after all others."""
    start = np.fromiter(itertools.accumulate(map(len, scopes), initial=0), np.int64, len(scopes) + 1)
    flat = [v.name for scope in scopes for v in scope]
    try:
        return start, np.fromiter(map(number.__getitem__, flat), np.int64, len(flat))
    except KeyError:
        for name in flat:
            number.setdefault(name, len(number))
        return start, np.fromiter(map(number.__getitem__, flat), np.int64, len(flat))


def _joined(start: Ints, members: Ints) -> Ints:
    """All pairs of members of the same row; only neighbors of long ones."""
    sizes = np.diff(start)
    in_long = np.repeat(sizes > MOST_JOINED, sizes)
    row, own = np.repeat(np.arange(len(sizes)), sizes), members[start[0] :]
    short = np.append(0, np.cumsum(sizes[sizes <= MOST_JOINED]))
    is_next = in_long[1:] & (row[1:] == row[:-1])
    long = np.stack([own[:-1][is_next], own[1:][is_next]], axis=1)
    return np.concatenate([pairs_within_rows((short, own[~in_long].astype(np.int32))), long])
