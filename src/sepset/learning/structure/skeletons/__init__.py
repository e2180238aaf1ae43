"""Structures from independences: PC and its relatives, Markov blankets, and FCI for unobserved common causes."""
