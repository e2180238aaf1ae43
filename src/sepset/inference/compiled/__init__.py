"""Exact inference in discrete problems by compiled programs: a question is planned, contracted, laid out as integers
and run, with dense tables, in logarithms, or over the entries that can be positive.
"""
