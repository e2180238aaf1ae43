"""Cost function networks: their reduction, soft local consistency, and searches that prove an assignment optimal."""
