"""The effects of parameters on a posterior: derivatives, functions and ranges of each, from two calibrations."""
