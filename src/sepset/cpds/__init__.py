"""Conditional probability distributions: they sample, produce factors, and are learned from additive statistics. There
is one file per kind, with all operations that estimation, EM, gradients and files need.
"""

from sepset.base.namespaces import namespace

__getattr__, __dir__, __all__ = namespace(__name__)
