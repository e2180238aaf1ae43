"""Exact inference in whole numbers times powers of two: differences of sums of products of floats without rounding."""
