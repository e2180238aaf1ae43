"""Learning from data: parameters, missing cells, and how good the result is."""
