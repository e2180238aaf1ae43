"""Dependency networks: one conditional distribution per variable, learned on its own, and pseudo-Gibbs sampling."""
