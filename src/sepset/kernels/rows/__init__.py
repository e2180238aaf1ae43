"""Programs over blocks of rows."""
