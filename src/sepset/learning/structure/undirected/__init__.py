"""Undirected structures: sparse concentration matrices, neighborhoods by penalized regressions, forests."""
