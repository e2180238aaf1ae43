"""Structures: comparing graphs."""
