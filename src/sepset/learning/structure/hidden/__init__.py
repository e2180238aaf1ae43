"""Structures with missing cells and hidden variables: structural EM, cardinalities, near-cliques, latent trees."""
