"""Recursive conditioning: sums over cases, with results kept where memory allows."""
