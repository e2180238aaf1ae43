"""From scopes to cliques, contractions, instructions and numbers; in logarithms and over supports too."""
