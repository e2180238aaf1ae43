"""Scores of structures that are sums over families: penalized likelihoods, normalized ones, and those of real columns.

The evidence under a parameter prior is a score too: the priors `BDeu`, `K2` and `BDe` are used as they are.
"""
