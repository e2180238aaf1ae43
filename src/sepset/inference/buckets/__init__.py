"""Elimination of plain factors, below all methods: factors at the evidence, pools of them, and searches for the best
assignment under concave functions of many variables.
"""
