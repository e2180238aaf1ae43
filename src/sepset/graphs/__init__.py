"""Pure structure, without parameters: graphs, separation, equivalence, elimination orders, triangulation and cluster
graphs.
"""
