"""Files: one codec per format, and reading and writing by suffix."""
