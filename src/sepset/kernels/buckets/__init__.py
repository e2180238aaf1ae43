"""The compiled part of searches for the best assignment under concave functions of many variables."""
