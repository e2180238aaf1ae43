"""Missing cells: mechanisms, tests, imputation, weights, and what remains identifiable."""

from sepset.base.namespaces import namespace

__getattr__, __dir__, __all__ = namespace(__name__)
