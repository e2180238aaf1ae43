"""How tables look: short reprs, Rich tables, HTML, frames and pictures."""

from __future__ import annotations

import html as html_escape
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sepset.base.extras import require
from sepset.errors import ScopeError
from sepset.variables.variable import Discrete, State, Vector

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from sepset.factors.discrete import DiscreteFactor

MAX_ROWS = 20


def label(variable: Discrete | Vector) -> str:
    """A variable with its number of states, as in `grade[3]`.

    >>> label(Discrete("grade", "ABC"))
    'grade[3]'
    """
    return f"{variable.name}[{variable.num_states}]" if isinstance(variable, Discrete) else variable.name


def _labels(scope: Sequence[Discrete | Vector], limit: int = 8) -> str:
    shown = ", ".join(label(v) for v in scope[:limit])
    return f"{shown}, ... {len(scope)} variables" if len(scope) > limit else shown


def short(factor: Any) -> str:
    """`Table(grade[3], sat[2])`, after the class and scope of any factor."""
    return f"{type(factor).__name__}({_labels(factor.scope)})"


def conditional(
    frontal: Sequence[Discrete | Vector], parents: Sequence[Discrete | Vector], kind: str = "Conditional"
) -> str:
    """`Conditional(grade[3] | intelligence[2])`.

    >>> conditional((Discrete("grade", "ABC"),), (Discrete("sat"),))
    'Conditional(grade[3] | sat[2])'
    """
    bar = f" | {_labels(parents)}" if parents else ""
    return f"{kind}({_labels(frontal)}{bar})"


def rows(table: DiscreteFactor, limit: int | None = None) -> Iterator[tuple[tuple[State, ...], float]]:
    """The stored entries in C order as (states, value)."""
    codes, values = table.cells(limit)
    for row, value in zip(codes.tolist(), values.tolist(), strict=True):
        yield tuple(v.states[code] for v, code in zip(table.scope, row, strict=True)), value


def _note(table: DiscreteFactor) -> str | None:
    return f"first {MAX_ROWS} of {table.size} entries" if table.size > MAX_ROWS else None


def rich_table(table: DiscreteFactor) -> RichTable:
    """The first entries as a Rich table, with bars for one variable."""
    from rich.markup import escape
    from rich.table import Table as RichTable

    result = RichTable(title=escape(short(table)), title_justify="left", caption=_note(table))
    for variable in table.scope:
        result.add_column(escape(variable.name))
    result.add_column("value", justify="right")
    bars = len(table.scope) == 1
    if bars:
        result.add_column("")
    top = float(table.values.max(initial=0.0))
    for states, value in rows(table, MAX_ROWS):
        bar = ["█" * _length(value, top)] if bars else []
        result.add_row(*(escape(str(s)) for s in states), f"{value:.6g}", *bar)
    return result


def _length(value: float, top: float) -> int:
    share = value / top if 0.0 < top < np.inf else float(value == top > 0.0)
    return round(20 * share)


def html(table: DiscreteFactor) -> str:
    """The first entries as an HTML table."""
    escape = html_escape.escape
    head = "".join(f"<th>{escape(v.name)}</th>" for v in table.scope)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(s))}</td>" for s in states) + f"<td>{value:.6g}</td></tr>"
        for states, value in rows(table, MAX_ROWS)
    )
    note = _note(table)
    caption = f"<caption>{note}</caption>" if note else ""
    return f"<table>{caption}<thead><tr>{head}<th>value</th></tr></thead><tbody>{body}</tbody></table>"


def to_frame(table: DiscreteFactor, kind: str) -> Any:
    """One row a stored entry: a column a variable, and `value` (`value_` where a variable has that name)."""
    codes, values = table.cells()
    columns: dict[str, list[Any]] = {
        v.name: [v.states[code] for code in codes[:, axis].tolist()] for axis, v in enumerate(table.scope)
    }
    name = "value"
    while name in columns:
        name += "_"
    columns[name] = values.tolist()
    return frame(columns, kind)


def frame(columns: dict[str, list[Any]], kind: str) -> Any:
    """A data frame of the asked kind from columns."""
    makers = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}
    if kind not in makers:
        raise ScopeError(f"Unknown frame kind {kind!r}; use 'pandas', 'polars' or 'pyarrow'.")
    return getattr(require(kind, "pandas" if kind == "pyarrow" else kind, f"A {kind} frame"), makers[kind])(columns)


def plot(table: DiscreteFactor, ax: Any = None) -> Any:
    """A bar chart of one variable or a heat map of two."""
    if len(table.scope) not in (1, 2):
        raise ScopeError(f"Only tables of one or two variables have a picture; {short(table)} has {len(table.scope)}.")
    axes = require("matplotlib.pyplot", "plot", "Plotting").gca() if ax is None else ax
    dense = np.zeros(table.shape)
    codes, values = table.cells()
    dense[tuple(codes.T)] = values
    last = table.scope[-1]
    axes.set_xlabel(last.name)
    axes.set_xticks(range(last.num_states), [str(s) for s in last.states])
    if len(table.scope) == 1:
        axes.bar(range(last.num_states), dense)
        axes.set_ylabel("value")
        return axes
    first = table.scope[0]
    image = axes.imshow(dense, aspect="auto")
    axes.set_yticks(range(first.num_states), [str(s) for s in first.states])
    axes.set_ylabel(first.name)
    axes.figure.colorbar(image, ax=axes)
    return axes
