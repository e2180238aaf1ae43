"""Search over graphs and over orders: hill climbing by single edges, with tabu lists, restarts, perturbations and
larger moves, and orders of columns whose best graphs are found by growing and shrinking.
"""
