"""Files: one codec a format, and reading and writing by suffix."""
