"""The method behind every question by default: compiled programs, rows and trees put together."""
