"""Priors of parameters: Dirichlet, normal, gamma and Wishart families, weights of regressions, priors from networks."""

from sepset.base.namespaces import namespace

__getattr__, __dir__, __all__ = namespace(__name__)
