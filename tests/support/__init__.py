"""Helpers of the suite: random models and rows, contracts, networks, tolerances."""
