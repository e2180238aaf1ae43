"""Probabilistic graphical models: fast, exact where possible, and every answer with its guarantee."""

from sepset.base.namespaces import namespace as _namespace

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = _namespace(__name__)
