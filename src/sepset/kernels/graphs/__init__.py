"""Orders, widths and reachability in integers."""
