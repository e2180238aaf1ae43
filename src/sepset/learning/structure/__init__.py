"""Structure learning: rows as columns that are counted once, scores of families kept while a search runs, priors and
constraints on structures, the task and what is learned from it, and how two graphs compare. The rooms below search.
"""
