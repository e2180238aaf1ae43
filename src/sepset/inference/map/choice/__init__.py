"""The choice among the methods for assignments."""
