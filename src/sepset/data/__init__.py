"""Rows over variables, and their sufficient statistics: datasets from frames and files, counts and moments in memory or
where the rows are stored, and which cells are missing.
"""

from sepset.base.namespaces import namespace

__getattr__, __dir__, __all__ = namespace(__name__)
