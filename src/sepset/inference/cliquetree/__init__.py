"""The default method: compiled programs, rows and clique trees in one prepared method."""
