"""Measured comparisons with other libraries: `python -m benchmarks [suite ...]`."""
