"""Relaxations of the search for the best assignment: linear programs over pseudo-marginals, and their duals."""
