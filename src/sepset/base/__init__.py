"""The common floor, which knows nothing about probability: array types, argument checks, displays for terminals and
notebooks, axes, lazy attributes, progress, threads and numerical optimizers.
"""
