"""Joint queries across the cliques of a calibrated tree: which beliefs to merge, in which order, and every pair of
variables in one sweep.
"""
