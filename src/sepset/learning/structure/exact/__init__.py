"""Exact structure learning: score tables, trees, known orders, dynamic programming, A*, integer programs, k best."""
