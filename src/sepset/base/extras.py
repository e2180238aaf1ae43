"""Optional libraries: imported when they are used."""

from __future__ import annotations

import importlib
from types import ModuleType

from sepset.errors import MissingExtra


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """The optional module, or an error that says how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"{purpose} needs {module!r}, which is not installed. Install it with: pip install 'sepset[{extra}]'"
        ) from error
