"""Structures: how well a learned graph recovers the true one, and how often features return."""

from sepset.base.namespaces import namespace

__getattr__, __dir__, __all__ = namespace(__name__)
