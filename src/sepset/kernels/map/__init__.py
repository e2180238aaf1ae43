"""Searches for the most probable assignment of a wired model."""
