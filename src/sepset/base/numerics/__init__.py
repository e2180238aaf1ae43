"""Numerical methods that do not depend on probability theory: least squares, optimizers, and large matrices in parts
between which Ctrl-C is heard.
"""
