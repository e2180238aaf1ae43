"""Bayesian averaging over structures: exact sums, trees, chains over orders, partitions and DAGs, bootstrap."""
