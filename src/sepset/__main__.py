"""Entry point: `python -m sepset` runs the command `sepset`."""

from sepset.cli import main

main()
