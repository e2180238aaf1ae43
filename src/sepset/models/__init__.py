"""Models: Bayesian networks, Markov networks, factor graphs and chain graphs, each a set of factors over variables."""
