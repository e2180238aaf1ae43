"""A start at which all states of a hidden variable have the same parameters is a saddle: leave it, or report it.

Every step treats equal states the same, so their parameters stay equal. The fit has then "converged" to the model
in which what is observed is independent, whatever the data say. Both ends are known in closed form.
"""

from __future__ import annotations

import re
import warnings

import numpy as np
import pytest

import sepset as ss

TABLE = np.array([[40, 10], [10, 40]])  # how often (a, b) occurs; h is never seen
ROWS = {
    "a": [a for a in (0, 1) for b in (0, 1) for _ in range(TABLE[a, b])],
    "b": [b for a in (0, 1) for b in (0, 1) for _ in range(TABLE[a, b])],
}
H, A, B = (ss.Discrete(name) for name in "hab")


def symmetric(p_h):
    """Children that do not tell the states of h apart."""
    return ss.BayesNet(
        ss.TableCPD(H, [1.0 - p_h, p_h]),
        ss.TableCPD(A, [[0.6, 0.4], [0.6, 0.4]], given=H),
        ss.TableCPD(B, [[0.3, 0.7], [0.3, 0.7]], given=H),
    )


def at_the_saddle():
    """The log-likelihood of independent columns, the best that equal states can reach."""
    return sum(m @ np.log(m / m.sum()) for m in (TABLE.sum(axis=1), TABLE.sum(axis=0)))


def at_the_top():
    """The log-likelihood of the observed shares, which two states can reach."""
    return float((TABLE * np.log(TABLE / TABLE.sum())).sum())


def fitted(method):
    """A fit, and everything it says."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = ss.fit(symmetric(0.4), ROWS, method, seed=0)
    words = [str(found), repr(found), *map(str, found.info.items()), *found.model.notes]
    return found, " ".join([*words, *(str(w.message) for w in caught)])


METHODS = {"EM": ss.EM, "IncrementalEM": ss.learning.IncrementalEM, "StepwiseEM": ss.StepwiseEM}


@pytest.mark.parametrize("start", ["model", symmetric(0.7)], ids=["the model's own", "a network"])
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
def test_a_symmetric_start_is_left_or_reported(method, start):
    found, words = fitted(method(start=start))
    left = found.log_likelihood > at_the_saddle() + 1.0
    assert left or re.search(r"symmetr|saddle", words, re.IGNORECASE)


@pytest.mark.parametrize("start", ["auto", "data", "random"])
def test_other_starts_climb_to_the_observed_shares(start):
    found, _ = fitted(ss.EM(start=start))
    assert found.log_likelihood == pytest.approx(at_the_top(), abs=0.01)
