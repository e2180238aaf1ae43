"""Named potentials (Potts, Ising, truncated distances, parity) and blocks of factors over arrays of variables."""

from sepset.base.namespaces import namespace

__getattr__, __dir__, __all__ = namespace(__name__)
