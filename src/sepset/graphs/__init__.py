"""Pure structure: graphs, separation, equivalence, elimination orders, triangulation and cluster graphs. No numbers
live here.
"""
