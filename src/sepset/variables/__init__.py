"""Names and domains: variables, lazy arrays of them, the ordered variables of a model, and evidence about them,
resolved to codes and weights.
"""

from sepset.base.namespaces import namespace

__getattr__, __dir__, __all__ = namespace(__name__)
