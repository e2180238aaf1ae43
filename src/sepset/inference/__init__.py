"""Methods: frozen values that answer questions about problems and say how far the answers can be trusted. The modules
here are the contracts that all rooms share: methods, plans, results, the driver of iterative methods and its
checkpoints.
"""

from sepset.base.lazy import namespace

__getattr__, __dir__, __all__ = namespace(__name__)
