"""Ancestral sampling of discrete networks, in columns of codes."""
