"""Search over equivalence classes of DAGs: greedy equivalence search and its relatives."""
