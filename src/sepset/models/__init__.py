"""Models: Bayesian networks, Markov networks, factor graphs and chain graphs, each a set of factors over variables;
conversions between them, interventions and reductions to evidence.
"""
