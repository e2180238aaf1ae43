"""Prior distributions over the parameters of CPDs: Dirichlet families for multinomials, normal-gamma and Wishart
families for regressions, penalties for weights.
"""
