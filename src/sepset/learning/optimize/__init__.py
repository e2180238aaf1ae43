"""Maximizing a smooth objective of many parameters: ascent directions, line searches, stochastic steps, and the vector
of a network's parameters.
"""
