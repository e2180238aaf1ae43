"""Recursive conditioning."""
