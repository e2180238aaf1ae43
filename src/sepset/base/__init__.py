"""The common floor, which knows nothing about probability: array types, argument checks, words in messages, displays
for terminals and notebooks, frames, axes, frozen values, lazy attributes, logarithms, optional libraries, progress,
threads and numerical optimizers.
"""
