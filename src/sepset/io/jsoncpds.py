"""Conditional distributions in our JSON: the kind, the variables and the block, then the form and the arrays.

What form and arrays a CPD has, and the way back, is its own matter: see `sepset.cpds.registry`.
"""

from __future__ import annotations

from typing import Any

from sepset.cpds.cpd import CPD, ParameterBlock
from sepset.cpds.discrete import DiscreteCPD
from sepset.cpds.registry import kinds, tag_of
from sepset.cpds.table import TableCPD
from sepset.errors import FileFormatError
from sepset.factors.algebra import num_entries
from sepset.io.cursor import Cursor
from sepset.io.jsonvariables import (
    Document,
    discrete_all,
    found,
    found_all,
    names,
)
from sepset.io.record import Misses, wrong_sum
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete

HEAD = ("kind", "child", "given", "block")
"""The entries of every CPD."""


def cpd_document(cpd: CPD) -> Document:
    """A CPD of any registered kind as JSON.

    >>> from sepset.cpds.table import TableCPD
    >>> cpd_document(TableCPD(Discrete("coin"), [0.25, 0.75]))
    {'kind': 'table', 'child': 'coin', 'given': [], 'rows': [[0.25, 0.75]]}
    """
    document: Document = {"kind": tag_of(cpd), "child": cpd.child.name, "given": names(cpd.parents)}
    own = cpd.parameters
    document |= own.form | {name: array.tolist() for name, array in own.arrays.items()}
    tied = cpd.block != ParameterBlock.of(None, cpd.child)
    return document | ({"block": cpd.block.name} if tied else {})


def read_cpd(item: Cursor, variables: Universe, misses: Misses) -> CPD:
    """The CPD in an entry; the rows of a table are normalized or kept as the reading says."""
    kind, known = item["kind"].text(), kinds()
    if kind not in known:
        raise item["kind"].error(f"expected one of {', '.join(sorted(known))}")
    block = item["block"].text() if "block" in item else None
    child = found(item["child"], variables)
    is_discrete = isinstance(child, Discrete)
    if issubclass(known[kind], DiscreteCPD) and not is_discrete:
        raise item["child"].error("expected a discrete variable")
    given: Any = (discrete_all if is_discrete else found_all)(item["given"], variables)
    made: CPD
    if known[kind] is TableCPD and isinstance(child, Discrete):
        made = _read_table(item, child, given, block, misses)
    else:
        made = item.made(lambda: known[kind].from_form(child, item, parents=given, block=block))  # type: ignore[assignment]
    item.keys(*HEAD, *made.parameters.form, *made.parameters.arrays)
    return made


def _read_table(
    item: Cursor, child: Discrete, given: tuple[Discrete, ...], block: str | None, misses: Misses
) -> TableCPD:
    """The table of an entry, its rows normalized or as written."""
    rows = item["rows"].reals()
    if rows.ndim != 2 or rows.size != num_entries((*given, child)):
        return item.made(lambda: TableCPD.from_form(child, item, parents=given, block=block))

    def error(row: int, total: float) -> FileFormatError:
        return item["rows"].error(wrong_sum(child.name, given, row, total))

    kept, tolerance = misses.settled(child.name, rows, error)
    return item.made(lambda: TableCPD(child, kept.reshape(-1), given=given, block=block, tolerance=tolerance))
