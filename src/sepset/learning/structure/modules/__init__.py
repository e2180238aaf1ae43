"""Module networks: groups of variables that share their parents and their CPD."""
