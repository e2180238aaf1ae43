"""Conditional probability distributions: they sample, produce factors, and are learned from additive statistics."""
