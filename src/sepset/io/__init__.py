"""Files: one codec per format, and reading and writing by suffix."""

from sepset.base.namespaces import namespace

__getattr__, __dir__, __all__ = namespace(__name__)
