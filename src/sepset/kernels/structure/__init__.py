"""Loops of structure learning: counts of all sets of columns, subsets, orders, heuristic search and chains."""
