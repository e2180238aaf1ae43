"""Methods: frozen values that answer questions about problems and state what is guaranteed about the answers. The
modules here are shared by all folders: methods, capabilities, plans, results, tuned constants, the driver of iterative
methods and its checkpoints.
"""

from sepset.base.namespaces import namespace

__getattr__, __dir__, __all__ = namespace(__name__)
