"""Recommendation: baskets, networks over items, rankings and tests of them."""

from sepset.base.namespaces import namespace

__getattr__, __dir__, __all__ = namespace(__name__)
