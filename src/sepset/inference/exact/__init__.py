"""Exact inference over any factors: elimination, message passing on clique trees, enumeration, and conditioning within
a memory budget.
"""
