"""Kernels of `inference/hybrid`: missing values of rows given observed ones."""
