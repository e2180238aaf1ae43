"""The public questions to a model, each a function that delegates to an engine."""
