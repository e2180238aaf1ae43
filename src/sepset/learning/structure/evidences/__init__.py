"""The log evidence of structures given incomplete rows: exact, a lower bound, and asymptotic estimates."""
