"""Learning undirected models: the parameters of factors by likelihood, pseudo-likelihood and moment matching."""
