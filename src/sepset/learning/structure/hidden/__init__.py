"""Structures with missing cells and hidden variables: evidences, structural EM, cardinalities, latent trees."""
