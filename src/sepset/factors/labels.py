"""How scopes are written: `grade[3]`, `Table(grade[3], sat[2])`, `Conditional(grade[3] | intelligence[2])`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sepset.variables.variable import Discrete, Vector


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
