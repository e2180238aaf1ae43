"""Learning from data: parameters from complete and incomplete rows, comparison of structures, and how good the result
is. The modules here are shared by all rooms: a learning task, its result, statistics of rows and blocks of shared
parameters.
"""

from sepset.base.namespaces import namespace

__getattr__, __dir__, __all__ = namespace(__name__)
