"""The tolerances of the whole suite, so that each has one reason and one place."""

from __future__ import annotations

EXACT = 1e-12  # the same sums in another order
CLOSE = 1e-9  # through matrix inverses, divisions or long chains of messages
TIE = 1e-9  # log values nearer than this count as equal
STANDARD_ERRORS = 5.0  # estimates at a fixed seed


def printed(digits: int) -> float:
    """Half a unit in the last place of a figure published to `digits` decimals."""
    return 0.5000001 * 10.0**-digits
