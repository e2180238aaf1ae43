"""Statistics of rows that stay where they are: lazy frames and files answer group-bys, and only answers travel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np

from sepset.cpds.cpd import CPD
from sepset.cpds.discrete import DiscreteCPD, decode
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.table import TableCPD
from sepset.data.counts import Counts
from sepset.data.moments import Moments
from sepset.data.scatter import Scatters
from sepset.data.sources import Weights
from sepset.factors.algebra import num_entries
from sepset.variables.variable import Real, Vector

LARGEST = 2**20
"""The most joint states of a family that is counted state by state, where its CPD is no table."""

WIDEST = 24
"""The most real columns whose products are asked for together."""

Pack: TypeAlias = tuple[tuple[Vector, ...], list[LinearGaussian]]


def is_countable(cpd: CPD) -> bool:
    """Whether group-bys tell the statistics of a CPD: tables, small discrete families, and lines of real numbers.

    >>> from sepset.variables.variable import Discrete
    >>> is_countable(TableCPD(Discrete("x"), [0.5, 0.5])), is_countable(LinearGaussian(Vector("p", 1), covariance=1.0))
    (True, False)
    """
    if isinstance(cpd, LinearGaussian):
        return all(isinstance(v, Real) for v in (*cpd.given, cpd.child))
    if type(cpd) is TableCPD:
        return True
    return isinstance(cpd, DiscreteCPD) and num_entries(cpd.scope) <= LARGEST


def stored_statistics(cpds: Sequence[CPD], source: object, weights: Weights) -> tuple[dict[CPD, Any], float]:
    """The statistics of each CPD, all of them countable, and the total weight of the rows.

    Discrete families are counted together. Lines with the same discrete parents share their moments: two group-bys for
    up to `WIDEST` columns.

    Args:
        source: a lazy frame, a relation, or the path of a file.
        weights: the name of a column, or None.
    """
    lines = [cpd for cpd in cpds if isinstance(cpd, LinearGaussian)]
    families = [cpd for cpd in cpds if isinstance(cpd, DiscreteCPD)]
    found: dict[CPD, Any] = {}
    total = 0.0
    for reals, members in _packs(lines):
        moments = Moments.of(source, reals, members[0].by, weights)
        found |= {cpd: _scatters(moments, cpd) for cpd in members}
        total = moments.total
    if families or not lines:
        counts = Counts.of(source, families, weights)
        found |= {cpd: _counted(cpd, table) for cpd, table in zip(families, counts.tables, strict=True)}
        total = counts.total
    return found, total


def _packs(lines: Sequence[LinearGaussian]) -> Iterator[Pack]:
    """Lines with the same discrete parents, in groups that have few real columns together."""
    by_context: dict[Any, list[LinearGaussian]] = {}
    for cpd in lines:
        by_context.setdefault(cpd.by, []).append(cpd)
    for members in by_context.values():
        reals: dict[Vector, None] = {}
        pack: list[LinearGaussian] = []
        for cpd in members:
            more = reals | dict.fromkeys((*cpd.given, cpd.child))
            if pack and len(more) > WIDEST:
                yield tuple(reals), pack
                more, pack = dict.fromkeys((*cpd.given, cpd.child)), []
            reals = more
            pack.append(cpd)
        yield tuple(reals), pack


def _scatters(moments: Moments, cpd: LinearGaussian) -> Scatters:
    own = moments.select((*cpd.given, cpd.child))
    size, contexts = len(own.variables), len(cpd.intercept)
    return Scatters(
        own.count.reshape(contexts), own.mean.reshape(contexts, size), own.scatter.reshape(contexts, size, size)
    )


def _counted(cpd: Any, table: Any) -> Any:
    """The CPD's own statistics of the joint states that occur."""
    flat = table.reshape(-1)
    if type(cpd) is TableCPD:
        return flat
    seen = np.flatnonzero(flat)
    return cpd.statistics(decode(seen, cpd.scope), flat[seen])
