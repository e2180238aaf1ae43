"""Decisions from probabilities: actions of least expected cost."""
