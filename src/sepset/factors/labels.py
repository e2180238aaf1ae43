"""How scopes are written: `grade[3]`, `Table(grade[3], sat[2])`, `Conditional(grade[3] | intelligence[2])`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from sepset.base.arraytypes import Floats
from sepset.variables.variable import Discrete, Vector


def label(variable: Discrete | Vector) -> str:
    """A variable with its number of states, as in `grade[3]`.

    >>> label(Discrete("grade", "ABC"))
    'grade[3]'
    """
    name = one_line(variable.name)
    return f"{name}[{variable.num_states}]" if isinstance(variable, Discrete) else name


def _labels(scope: Sequence[Discrete | Vector], limit: int = 8) -> str:
    shown = ", ".join(label(v) for v in scope[:limit])
    return f"{shown}, ... {len(scope)} variables" if len(scope) > limit else shown


def short(factor: Any) -> str:
    """`Table(grade[3], sat[2])`, after the class and scope of any factor."""
    return f"{type(factor).__name__}({_labels(factor.scope)})"


FEW = 6
"""The largest number of values in a line."""


MOST_SHOWN = 20
"""The largest number of rows in a table."""


def cut(total: int, things: str) -> str:
    """The caption of a table that shows the first rows only.

    >>> cut(50, "entries"), cut(3, "entries")
    ('first 20 of 50 entries', '')
    """
    return f"first {MOST_SHOWN} of {total} {things}" if total > MOST_SHOWN else ""


def moment_names(names: Sequence[str]) -> list[str]:
    """The titles of the means and deviations of coordinates.

    >>> moment_names(["x", "y"])
    ['x mean', 'x deviation', 'y mean', 'y deviation']
    """
    return [f"{name} {moment}" for name in names for moment in ("mean", "deviation")]


def moment_numbers(means: Floats, covariances: Floats) -> list[list[float]]:
    """The mean and the deviation of every coordinate in turn, one row per Gaussian."""
    deviations = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    return np.stack([means, deviations], axis=2).reshape(len(means), -1).tolist()


def one_line(state: object) -> str:
    r"""A state as text without line breaks.

    >>> one_line("two\nlines"), one_line(3)
    ("'two\\nlines'", '3')
    """
    text = str(state)
    return text if text.isprintable() else repr(text)


@runtime_checkable
class Labeled(Protocol):
    """A factor or CPD that has a name without numbers, for errors."""

    @property
    def label(self) -> str:
        """The kind and the scope, as in `TableCPD(grade[3] | sat[2])`."""


def name_of(owner: object) -> str:
    """The name of a CPD in errors: its label if it has one, else its representation."""
    return owner.label if isinstance(owner, Labeled) else repr(owner)


def in_rows(values: Sequence[float], size: int, width: int) -> str:
    """The first values of an array in one line, a row of `width` after the other.

    >>> in_rows([0.3, 0.7, 0.6, 0.4], 4, 2), in_rows(range(6), 24, 3)
    ('0.3 0.7, 0.6 0.4', '0 1 2, 3 4 5, ...')
    """
    shown = [f"{value:.4g}" for value in values[:FEW]]
    rows = [" ".join(shown[start : start + width]) for start in range(0, len(shown), max(width, 1))]
    return ", ".join([*rows, *(["..."] if size > FEW else [])])


def with_numbers(scope: str, numbers: str) -> str:
    """The text of `short` or `conditional` with numbers before the closing parenthesis.

    >>> with_numbers("Table(sat[2])", "low 0.25, high 0.75")
    'Table(sat[2]; low 0.25, high 0.75)'
    """
    return f"{scope.removesuffix(')')}; {numbers})" if numbers else scope


def conditional(
    frontal: Sequence[Discrete | Vector], parents: Sequence[Discrete | Vector], kind: str = "Conditional"
) -> str:
    """`Conditional(grade[3] | intelligence[2])`.

    >>> conditional((Discrete("grade", "ABC"),), (Discrete("sat"),))
    'Conditional(grade[3] | sat[2])'
    """
    bar = f" | {_labels(parents)}" if parents else ""
    return f"{kind}({_labels(frontal)}{bar})"
