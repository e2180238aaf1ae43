"""Ancestral sampling."""
