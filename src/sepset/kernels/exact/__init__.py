"""Recursive conditioning: sums over cases, with results kept as memory allows."""
