"""How data spread over the contexts of a network."""

from __future__ import annotations


class Fragmentation:
    """How many rows each context has."""

    headline: str
