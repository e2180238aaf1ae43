"""The best assignment of some variables with all others summed out: exact, by local search, by branch and bound."""
