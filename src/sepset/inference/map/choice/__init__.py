"""The choice of a search for the best assignment, by what the model allows."""
