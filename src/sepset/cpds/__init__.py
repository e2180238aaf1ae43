"""Conditional probability distributions: they sample, produce factors, and are learned from additive statistics. There
is one file per kind, with all operations that estimation, EM, gradients and files need.
"""
