"""Structures: how graphs compare, edge by edge and as equivalence classes."""
