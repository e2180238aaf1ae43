"""Conditional probability distributions: they sample, produce factors, and are learned from additive statistics. One
file per kind, with what estimation, EM, gradients and files need to know about it.
"""

from sepset.base.lazy import namespace

__getattr__, __dir__, __all__ = namespace(__name__)
