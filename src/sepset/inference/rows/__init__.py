"""Batches of evidence rows: equal rows are answered once, and blocks of rows are the innermost axis of a program."""
