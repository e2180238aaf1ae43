"""The method that answers where none is named."""

from __future__ import annotations

from sepset.inference.cliquetree.method import CliqueTree
from sepset.inference.method import Method

DEFAULT_METHOD: Method = CliqueTree()
"""Compiled clique trees: they answer every kind of question, about every kind of model."""
