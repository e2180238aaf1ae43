"""Factors: the algebra over scopes on which every exact method stands. Tables (dense, sparse, in blocks, by named
potential), Gaussians in canonical and in moment form, hybrids of both, and the distributions that answers are made of.
"""

from sepset.base.namespaces import namespace

__getattr__, __dir__, __all__ = namespace(__name__)
