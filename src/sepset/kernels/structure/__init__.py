"""Learning of structures: counting and scoring families, moves over graphs."""
