"""Pure structure: graphs, separation, equivalence, triangulation and cluster graphs. No numbers live here."""
