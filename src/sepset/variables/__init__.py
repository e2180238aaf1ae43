"""Names and domains: variables, lazy arrays of them, the ordered variables of a model, and evidence about them,
resolved to codes and weights.
"""
