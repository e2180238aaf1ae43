"""How discrete CPDs look: a grid with the parents' states on rows and the child's states as columns."""

from __future__ import annotations

import html as html_escape
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from sepset.cpds.counts import decode
from sepset.factors.algebra import check_size, num_entries
from sepset.factors.presentation import conditional, frame
from sepset.variables.variable import State

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from sepset.cpds.discrete import DiscreteCPD

MAX_ROWS = 20


def short(cpd: DiscreteCPD) -> str:
    """`TableCPD(grade[3] | intelligence[2], difficulty[2])`."""
    return conditional((cpd.child,), cpd.parents, type(cpd).__name__)


def head(cpd: DiscreteCPD) -> list[str]:
    """The column titles: the parents, then the child's states."""
    return [*(p.name for p in cpd.parents), *(f"{cpd.child.name}={state}" for state in cpd.child.states)]


def grid(cpd: DiscreteCPD, limit: int) -> Iterator[tuple[tuple[State, ...], list[float]]]:
    """The first rows as (parents' states, probabilities); never a whole table."""
    num_rows = min(num_entries(cpd.parents), limit)
    codes = decode(np.arange(num_rows), cpd.parents)
    values = cpd.probabilities(codes, num_rows).tolist()
    for i in range(num_rows):
        yield tuple(p.states[int(codes[p][i])] for p in cpd.parents), values[i]


def _note(cpd: DiscreteCPD) -> str:
    total = num_entries(cpd.parents)
    return f"first {MAX_ROWS} of {total} rows" if total > MAX_ROWS else ""


def rich_table(cpd: DiscreteCPD) -> RichTable:
    """The first rows as a Rich table."""
    from rich.markup import escape
    from rich.table import Table as RichTable

    result = RichTable(title=escape(short(cpd)), title_justify="left", caption=_note(cpd) or None)
    for place, title in enumerate(head(cpd)):
        result.add_column(escape(title), justify="left" if place < len(cpd.parents) else "right")
    for states, values in grid(cpd, MAX_ROWS):
        result.add_row(*(escape(str(state)) for state in states), *(f"{value:.6g}" for value in values))
    return result


def html(cpd: DiscreteCPD) -> str:
    """The first rows as an HTML table."""
    escape = html_escape.escape
    titles = "".join(f"<th>{escape(title)}</th>" for title in head(cpd))
    body = "".join(
        "<tr>"
        + "".join(f"<th>{escape(str(state))}</th>" for state in states)
        + "".join(f"<td>{value:.6g}</td>" for value in values)
        + "</tr>"
        for states, values in grid(cpd, MAX_ROWS)
    )
    caption = f"<caption>{escape(short(cpd))} {_note(cpd)}</caption>"
    return f"<table>{caption}<thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>"


def to_frame(cpd: DiscreteCPD, kind: str) -> Any:
    """One row a joint state of the parents, one column a parent, then one a state of the child."""
    check_size(cpd.scope)
    entries = list(grid(cpd, num_entries(cpd.parents)))
    columns: dict[str, list[Any]] = {p.name: [s[i] for s, _ in entries] for i, p in enumerate(cpd.parents)}
    for k, title in enumerate(head(cpd)[len(cpd.parents) :]):
        columns[title] = [values[k] for _, values in entries]
    return frame(columns, kind)
