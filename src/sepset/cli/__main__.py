"""`python -m sepset.cli` is the command `sepset`."""

from sepset.cli import main

main()
