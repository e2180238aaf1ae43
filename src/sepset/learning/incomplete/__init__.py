"""Parameters from incomplete data: EM and its relatives, gradient ascent, starting points, standard errors and
checkpoints.
"""
