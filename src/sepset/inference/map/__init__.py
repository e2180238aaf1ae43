"""The most probable assignments."""
