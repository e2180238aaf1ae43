"""The method that answers where none is named."""

from __future__ import annotations

from sepset.inference.cliquetree.method import CliqueTree

DEFAULT_METHOD = CliqueTree()
"""Compiled clique trees: they answer every kind of question, about every kind of model."""
