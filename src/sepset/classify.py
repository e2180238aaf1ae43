"""Classifiers: naive Bayes and its extensions, discriminant analysis, latent classes, and decisions by cost."""

from sepset.base.namespaces import namespace

__getattr__, __dir__, __all__ = namespace(__name__)
