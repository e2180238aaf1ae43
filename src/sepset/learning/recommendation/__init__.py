"""Recommendation: baskets of items, networks over items learned from them, rankings, and how good these are."""
