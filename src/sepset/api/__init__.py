"""The verbs: the only place where models meet methods."""
