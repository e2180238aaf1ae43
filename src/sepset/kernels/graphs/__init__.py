"""Elimination orders, treewidth and reachability."""
