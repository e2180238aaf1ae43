"""Many rows of evidence at once: rows as codes, equal rows answered once, blocks of rows as the innermost axis of one
program.
"""
