"""Exact inference in discrete problems by compiled programs: a question is planned, contracted, laid out as integers
and run, with dense tables, in log space, or over supports.
"""
