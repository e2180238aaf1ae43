"""The most probable assignments: one or the k best, by local moves, graph cuts, dual bounds, beams and branch and
bound. Its rooms hold what relaxes the problem, what proves an optimum, and what chooses among the searches.
"""
