"""The verbs, one line each: a model, a question, an answer."""
