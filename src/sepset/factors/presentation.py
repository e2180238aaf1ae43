"""How tables look: short reprs, Rich tables, HTML, frames and pictures."""

from __future__ import annotations

import html as html_escape
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sepset.errors import ScopeError, require
from sepset.variables import Discrete, State, Vector

if TYPE_CHECKING:
    from rich.table import Table as RichTable

    from sepset.factors.table import Table

MAX_ROWS = 20


def label(variable: Discrete | Vector) -> str:
    """A variable with its number of states, as in `grade[3]`."""
    return f"{variable.name}[{variable.num_states}]" if isinstance(variable, Discrete) else variable.name


def _labels(scope: Sequence[Discrete | Vector], limit: int = 8) -> str:
    shown = ", ".join(label(v) for v in scope[:limit])
    return f"{shown}, ... {len(scope)} variables" if len(scope) > limit else shown


def short(table: Any) -> str:
    """`Table(grade[3], sat[2])`."""
    return f"{type(table).__name__}({_labels(table.scope)})"


def conditional(
    frontal: Sequence[Discrete | Vector], parents: Sequence[Discrete | Vector], kind: str = "Conditional"
) -> str:
    """`Conditional(grade[3] | intelligence[2])`."""
    bar = f" | {_labels(parents)}" if parents else ""
    return f"{kind}({_labels(frontal)}{bar})"


def rows(table: Table, limit: int | None = None) -> Iterator[tuple[tuple[State, ...], float]]:
    """The entries in C order as (states, value)."""
    values = table.values.reshape(-1)
    states = itertools.product(*(v.states for v in table.scope))
    return itertools.islice(zip(states, values.tolist(), strict=True), limit)


def rich_table(table: Table) -> RichTable:
    """The first entries as a Rich table, with bars for one variable."""
    from rich.table import Table as RichTable

    result = RichTable(title=short(table), title_justify="left")
    for variable in table.scope:
        result.add_column(variable.name)
    result.add_column("value", justify="right")
    top = max(float(table.values.max(initial=0.0)), 1e-300)
    if len(table.scope) == 1:
        result.add_column("")
    for states, value in rows(table, MAX_ROWS):
        bar = ["█" * round(20 * value / top)] if len(table.scope) == 1 else []
        result.add_row(*map(str, states), f"{value:.6g}", *bar)
    if table.size > MAX_ROWS:
        result.caption = f"first {MAX_ROWS} of {table.size} entries"
    return result


def html(table: Table) -> str:
    """The first entries as an HTML table."""
    escape = html_escape.escape
    head = "".join(f"<th>{escape(v.name)}</th>" for v in table.scope)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(str(s))}</td>" for s in states) + f"<td>{value:.6g}</td></tr>"
        for states, value in rows(table, MAX_ROWS)
    )
    note = f"<caption>first {MAX_ROWS} of {table.size} entries</caption>" if table.size > MAX_ROWS else ""
    return f"<table>{note}<thead><tr>{head}<th>value</th></tr></thead><tbody>{body}</tbody></table>"


def to_frame(table: Table, kind: str) -> Any:
    """One row an entry: a column a variable, and `value`."""
    codes = (
        np.indices([v.num_states for v in table.scope if v.num_states > 1]).reshape(-1, table.size)
        if table.size
        else []
    )
    wide = iter(codes)
    columns: dict[str, list[Any]] = {}
    for variable in table.scope:
        code = next(wide) if variable.num_states > 1 else np.zeros(table.size, np.int64)
        columns[variable.name] = [variable.states[c] for c in code]
    columns["value"] = table.values.reshape(-1).tolist()
    return frame(columns, kind)


def frame(columns: dict[str, list[Any]], kind: str) -> Any:
    """A data frame of the asked kind from columns."""
    makers = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}
    if kind not in makers:
        raise ScopeError(f"Unknown frame kind {kind!r}; use 'pandas', 'polars' or 'pyarrow'.")
    return getattr(require(kind, "pandas" if kind == "pyarrow" else kind, f"A {kind} frame"), makers[kind])(columns)


def plot(table: Table, ax: Any = None) -> Any:
    """A bar chart of one variable or a heat map of two."""
    if len(table.scope) not in (1, 2):
        raise ScopeError(f"Only tables of one or two variables have a picture; {short(table)} has {len(table.scope)}.")
    axes = require("matplotlib.pyplot", "plot", "Plotting").gca() if ax is None else ax
    last = table.scope[-1]
    axes.set_xlabel(last.name)
    axes.set_xticks(range(last.num_states), [str(s) for s in last.states])
    if len(table.scope) == 1:
        axes.bar(range(last.num_states), table.values)
        axes.set_ylabel("value")
        return axes
    first = table.scope[0]
    image = axes.imshow(table.values, aspect="auto")
    axes.set_yticks(range(first.num_states), [str(s) for s in first.states])
    axes.set_ylabel(first.name)
    axes.figure.colorbar(image, ax=axes)
    return axes
