"""Evidence examined: soft evidence fitted, findings retracted."""
