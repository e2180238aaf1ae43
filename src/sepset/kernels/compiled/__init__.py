"""Kernels of exact inference: cliques, contractions, instructions and runs; also in log space and over supports."""
