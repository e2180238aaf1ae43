"""Counting, grouping and moments of rows."""
