"""Probabilistic graphical models: fast, exact where possible, and every answer with its guarantee."""
