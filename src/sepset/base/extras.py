"""Optional libraries, imported when they are used, and their data frames."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any, Literal, TypeAlias

from sepset.base.checks import one_of
from sepset.errors import MissingExtra

FrameKind: TypeAlias = Literal["pandas", "polars", "pyarrow"]
"""The libraries with data frames."""

MAKERS = {"pandas": "DataFrame", "polars": "DataFrame", "pyarrow": "table"}
"""The name of the frame type in each library."""


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """The optional module, or an error that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"{purpose} needs {module!r}, which is not installed. Install it with: pip install 'sepset[{extra}]'"
        ) from error


def library_name(value: object) -> str:
    """The name of the library that defines the type of a value.

    >>> library_name(1)
    'builtins'
    """
    return type(value).__module__.partition(".")[0]


def frame(columns: Mapping[str, list[Any]], kind: str) -> Any:
    """A data frame of the given kind, from columns.

    >>> frame({"coin": ["head", "tail"]}, "polars").shape
    (2, 1)
    """
    one_of("kind", kind, MAKERS)
    return getattr(require(kind, "pandas" if kind == "pyarrow" else kind, f"A {kind} frame"), MAKERS[kind])(columns)
