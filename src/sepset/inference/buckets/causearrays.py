"""The arrays of independent variables under concave functions, as `kernels.buckets.causes` reads them.

Variables that other factors couple are one variable of their joint states.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np

from sepset.base.arraytypes import Floats, Ints
from sepset.base.logarithms import LN2
from sepset.factors.decomposition import Concave
from sepset.factors.table import Table
from sepset.inference.buckets.regrets import Logs
from sepset.kernels.buckets.causes import REST, Causes
from sepset.problem import places_of_rows
from sepset.variables.variable import Discrete

NEAR = 1e-3
"""The largest contact of a tangent, in parts of the smallest term."""


def coupled(factors: Sequence[Table], order: Sequence[Discrete]) -> list[tuple[Discrete, ...]]:
    """The variables by those that factors couple, directly or through others."""
    home = {v: [v] for v in order}
    for factor in factors:
        for v in factor.scope[1:]:
            first, other = home[factor.scope[0]], home[v]
            if first is not other:
                first += other
                for one in other:
                    home[one] = first
    return [tuple(group) for v, group in home.items() if group[0] == v]


def causes_of(
    groups: Sequence[Sequence[Discrete]], tables: Sequence[Sequence[Table]], functions: Sequence[Concave]
) -> Causes:
    """The arrays of some groups of variables under functions, each with the tables over its variables.

    Guarantee: exact.
    Tested by: inference/buckets/test_causearrays.py::test_values_are_those_of_tables_and_functions
    """
    fixed, terms, logs = fixed_logs(functions), _terms(functions), iter(_logs([t for part in tables for t in part]))
    own = [
        _joint_logs(group, part, [*itertools.islice(logs, len(part))], fixed)
        for group, part in zip(groups, tables, strict=True)
    ]
    joint = [_joint_terms(group, terms) for group in groups]
    numbers, parts = [one for one, _ in joint], [rows.reshape(-1) for _, rows in joint]
    states, starts, places = _starts(own), _starts(numbers), _starts([f.start for f in functions])
    which, flat = np.concatenate([places[:0], *numbers]), np.concatenate([np.zeros(0), *parts])
    home = np.repeat(np.arange(len(functions)), np.diff(places))
    kinds, sums = (
        np.array([f.kind for f in functions], np.int64),
        np.concatenate([np.zeros(0), *(f.start for f in functions)]),
    )
    rows = places_of_rows(np.repeat(starts[:-1], np.diff(states)), np.repeat(np.diff(starts), np.diff(states)))
    least, is_term = np.where(sums != 0, np.abs(sums), np.inf), flat != 0
    np.minimum.at(least, which[rows][is_term], np.abs(flat[is_term]))
    return Causes(
        states,
        np.concatenate([np.zeros(0), *own]),
        starts,
        which,
        _starts(parts),
        flat,
        sums,
        home,
        places,
        kinds,
        np.where(kinds[home] == REST, -np.clip(NEAR * least, 1e-289, 1.0), np.inf),
    )


def fixed_logs(functions: Sequence[Concave]) -> dict[Discrete, Floats]:
    """The log values of the states of each variable in the linear parts of all functions."""
    found: dict[Discrete, Floats] = {}
    for variable, row in (pair for f in functions for pair in zip(f.variables, f.fixed, strict=True)):
        found[variable] = found[variable] + row if variable in found else row
    return found


def _logs(tables: Sequence[Table]) -> list[Floats]:
    """The logarithms of all values of each table."""
    if not tables:
        return []
    sizes = [t.size for t in tables]
    numbers, is_linear = np.concatenate([t.flat for t in tables]), np.repeat([t.space != "log" for t in tables], sizes)
    with np.errstate(divide="ignore"):
        np.log(numbers, out=numbers, where=is_linear)
    numbers += np.repeat([t.exponent * LN2 for t in tables], sizes)
    return [numbers[i:j] for i, j in itertools.pairwise(itertools.accumulate(sizes, initial=0))]


def _joint_logs(
    group: Sequence[Discrete], tables: Sequence[Table], logs: Sequence[Floats], fixed: Mapping[Discrete, Floats]
) -> Floats:
    """The log value of each joint state under some tables with these logarithms, and the linear parts of functions."""
    if len(group) == 1:
        return sum([*logs, fixed[group[0]]] if group[0] in fixed else logs, start=np.zeros(group[0].num_states))
    total = np.zeros([v.num_states for v in group])
    for table, log in zip(tables, logs, strict=True):
        shaped = log.reshape([*(v.num_states for v in table.scope), 1])
        total = total + Logs(table.scope, shaped).over(group)[..., 0]
    for axis, v in enumerate(group):
        if v in fixed:
            total = total + fixed[v].reshape([-1 if i == axis else 1 for i in range(len(group))])
    return total.reshape(-1)


def _terms(functions: Sequence[Concave]) -> dict[Discrete, tuple[Ints, Floats]]:
    """For each variable the arguments of functions that it adds to, and what its states add, `[states, arguments]`."""
    pairs = [(v, terms) for f in functions for v, terms in zip(f.variables, f.terms, strict=True)]
    place = {v: i for i, v in enumerate(dict.fromkeys([v for v, _ in pairs]))}
    firsts = _first(np.array([len(f.start) for f in functions], np.int64)).repeat([len(f.terms) for f in functions])
    heights, widths = np.array([terms.shape for _, terms in pairs], np.int64).reshape(-1, 2).T
    which = np.repeat(np.array([place[v] for v, _ in pairs], np.int64), widths)
    columns = np.concatenate([np.zeros(0), *(terms.T.reshape(-1) for _, terms in pairs)])
    order = _used(columns, heights := np.repeat(heights, widths))
    order = order[np.argsort(which[order], kind="stable")]
    columns = columns[places_of_rows(_first(heights)[order], heights[order])]
    rows, starts = _side_by_side(columns, heights[order], which[order], len(place))
    numbers, states = places_of_rows(firsts, widths)[order], [v.num_states for v in place]
    ends = [*itertools.accumulate((n * s for n, s in zip(np.diff(starts).tolist(), states, strict=True)), initial=0)]
    spans = zip(itertools.pairwise(starts.tolist()), itertools.pairwise(ends), states, strict=True)
    return {v: (numbers[i:j], rows[a:b].reshape(s, -1)) for v, ((i, j), (a, b), s) in zip(place, spans, strict=True)}


def _used(columns: Floats, heights: Ints) -> Ints:
    """Which of some columns, one after the other, are not zero."""
    return np.flatnonzero(np.logical_or.reduceat(columns != 0.0, _first(heights))) if len(heights) else heights


def _side_by_side(columns: Floats, heights: Ints, which: Ints, num: int) -> tuple[Floats, Ints]:
    """Matrices, row by row, from their columns, and where the columns of each start.

    Args:
        which: the matrix of each column, in order.
        num: of matrices, some of which may have no columns.
    """
    counts = np.bincount(which, minlength=num)
    starts, firsts = np.append(0, counts.cumsum()), _first(heights)
    first = firsts[starts[:-1][counts > 0]]  # of the columns of each matrix, where its numbers begin
    blocks = np.zeros(num, np.int64)
    blocks[counts > 0] = first
    rank = np.arange(len(which)) - starts[which]
    step = places_of_rows(np.zeros_like(heights), heights) * np.repeat(counts[which], heights)
    rows = np.empty(len(columns))
    rows[np.repeat(blocks[which] + rank, heights) + step] = columns
    return rows, starts


def _joint_terms(group: Sequence[Discrete], terms: Mapping[Discrete, tuple[Ints, Floats]]) -> tuple[Ints, Floats]:
    """The arguments that some variables have a part in, and the terms of each joint state in these."""
    none = np.zeros(0, np.int64)
    if len(group) == 1:
        return terms.get(group[0], (none, np.zeros((group[0].num_states, 0))))
    parts = [(axis, *terms[v]) for axis, v in enumerate(group) if v in terms]
    numbers = np.unique(np.concatenate([none, *(one for _, one, _ in parts)]))
    total = np.zeros((*(v.num_states for v in group), len(numbers)))
    for axis, one, rows in parts:
        shape = [1] * len(group)
        shape[axis] = len(rows)
        total[..., np.searchsorted(numbers, one)] += rows.reshape(*shape, -1)
    joint = total.reshape(math.prod(v.num_states for v in group), len(numbers))
    used = np.flatnonzero(joint.any(axis=0))
    return numbers[used], joint[:, used]


def _first(sizes: Ints) -> Ints:
    """Where each of some rows of these sizes begins."""
    return np.asarray(sizes.cumsum() - sizes)


def _starts(parts: Sequence[Floats | Ints]) -> Ints:
    """Where each of some arrays starts among all, and where the last ends."""
    return np.array(list(itertools.accumulate(map(len, parts), initial=0)), np.int64)
