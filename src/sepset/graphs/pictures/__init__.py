"""Pictures of graphs and models: a sketch says which boxes and links there are, and is drawn in several formats."""
