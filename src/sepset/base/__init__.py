"""Utilities that do not depend on probability theory: array types, argument checks, texts of messages, displays for
terminals and notebooks, frames, axes, immutable values, lazy attributes, logarithms, optional libraries, progress bars
and threads.
"""
