"""Missing cells: mechanisms and tests of them, what can be identified, weighting, available cases, imputation and the
pooling of its copies.
"""
