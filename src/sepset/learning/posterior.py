"""Distributions over the parameters of a network."""

from __future__ import annotations


class Posterior:
    """A distribution over parameters."""

    shown_evidence: str
