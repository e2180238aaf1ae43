"""Classifiers and latent classes: naive Bayes, trees of features, discriminants, text, and clusters of rows."""
