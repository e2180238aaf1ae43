"""Decisions from probabilities: actions of smallest expected cost."""
