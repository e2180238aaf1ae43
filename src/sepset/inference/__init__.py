"""Methods: frozen values that answer questions about problems and say how far the answers can be trusted."""
