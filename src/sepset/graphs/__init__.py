"""Pure structure, without parameters: graphs, separation, equivalence, elimination orders, triangulation and cluster
graphs.
"""

from sepset.base.namespaces import namespace

__getattr__, __dir__, __all__ = namespace(__name__)
