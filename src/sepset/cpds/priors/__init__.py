"""Prior distributions over the parameters of CPDs: Dirichlet and its kin for multinomials, normal-gamma and Wishart
families for regressions, penalties for weights.
"""
