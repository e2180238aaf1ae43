"""Parameters from complete data: maximum likelihood, posteriors and their predictions, posterior modes, and how the
rows cover the contexts.
"""
