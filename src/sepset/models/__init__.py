"""Models: Bayesian networks, Markov networks, factor graphs and chain graphs, each a set of factors over variables;
conversions between them, interventions and reductions to evidence.
"""

from sepset.base.namespaces import namespace

__getattr__, __dir__, __all__ = namespace(__name__)
