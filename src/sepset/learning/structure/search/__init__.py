"""Search over graphs: hill climbing by single edges, with tabu lists, restarts and perturbations."""
