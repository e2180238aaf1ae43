"""Learning undirected models: exponential families by moment matching."""
