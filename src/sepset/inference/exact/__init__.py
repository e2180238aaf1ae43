"""Exact inference over any factors: elimination, message passing on clique trees, enumeration, and conditioning where
memory is short.
"""
