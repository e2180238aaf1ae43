"""Message passing and local search on models flattened into index arrays: one pass over all factors is one call."""
