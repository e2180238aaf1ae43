"""The tolerances of the whole suite, so that each has one reason and one place."""

from __future__ import annotations

import numpy as np
from scipy import stats

EXACT = 1e-12  # the same sums in another order
CLOSE = 1e-9  # through matrix inverses, divisions or long chains of messages
TIE = 1e-9  # log values nearer than this count as equal
STANDARD_ERRORS = 5.0  # estimates at a fixed seed
SURPRISE = 1e-10  # the binomial tail of one count, among the thousands that random models give


def printed(digits: int) -> float:
    """Half a unit in the last place of a figure published to `digits` decimals."""
    return 0.5000001 * 10.0**-digits


def assert_counts(counts, probabilities, total):
    """Each count is one the binomial law allows: counts of rare cells are far from normal."""
    p = np.clip(probabilities, 0.0, 1.0)
    tails = np.minimum(stats.binom.cdf(counts, total, p), stats.binom.sf(counts - 1, total, p))
    assert tails.min(initial=1.0) >= SURPRISE
