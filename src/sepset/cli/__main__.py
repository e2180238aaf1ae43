"""Entry point: `python -m sepset.cli` runs the command `sepset`."""

from sepset.cli import main

main()
