"""All completions of rows, against enumeration of states and dense Gaussians."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import sepset as ss
from sepset.errors import NotApplicable
from sepset.inference.capabilities import list_rows
from sepset.inference.evidencerows import EvidenceRows, Workers
from sepset.inference.hybrid.listing import completions

A, B, X, Y = ss.Discrete("a", 2), ss.Discrete("b", 3), ss.Real("x"), ss.Real("y")
P_A, P_B = np.array([0.3, 0.7]), np.array([[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]])
STARTS, NOISE = np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.25, 2.0])
SLOPES, LEVELS = np.array([0.5, -1.5]), np.array([0.0, 1.0])
NET = ss.BayesNet(
    ss.TableCPD(A, P_A),
    ss.TableCPD(B, P_B, given=A),
    ss.LinearGaussian(X, STARTS, covariance=NOISE, by=B),
    ss.LinearGaussian(Y, LEVELS, coefficients={X: SLOPES}, covariance=[0.5, 0.5], given=X, by=A),
)
CODES = np.array([[-1, -1], [0, -1], [-1, 2], [1, 1], [-1, -1]], np.int32)
NUMBERS = np.array([[0.3, np.nan], [np.nan, 1.0], [np.nan, np.nan], [0.1, 0.2], [np.nan, -2.0]])


def joint(a: int, b: int) -> tuple[np.ndarray, np.ndarray]:
    """The mean and covariance of (x, y) in a joint state, by hand."""
    mean = np.array([STARTS[b], LEVELS[a] + SLOPES[a] * STARTS[b]])
    across = SLOPES[a] * NOISE[b]
    return mean, np.array([[NOISE[b], across], [across, SLOPES[a] * across + 0.5]])


def by_hand(codes: np.ndarray, numbers: np.ndarray):
    """The states, weight, expected numbers and their covariance of every completion of a row."""
    states = [range(card) if code < 0 else [code] for code, card in zip(codes.tolist(), (2, 3), strict=True)]
    seen, hidden = np.flatnonzero(~np.isnan(numbers)), np.flatnonzero(np.isnan(numbers))
    for a, b in itertools.product(*states):
        mean, covariance = joint(a, b)
        weight, filled, left = P_A[a] * P_B[a, b], numbers.copy(), np.zeros((2, 2))
        gain = covariance[np.ix_(hidden, seen)] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
        if len(seen):
            weight *= multivariate_normal.pdf(numbers[seen], mean[seen], covariance[np.ix_(seen, seen)])
        filled[hidden] = mean[hidden] + gain @ (numbers[seen] - mean[seen])
        left[np.ix_(hidden, hidden)] = covariance[np.ix_(hidden, hidden)] - gain @ covariance[np.ix_(seen, hidden)]
        yield (a, b), weight, filled, left


def test_every_completion_by_hand():
    found = list_rows(ss.prepare(NET).prepared, EvidenceRows((0, 1), CODES, (2, 3), NUMBERS), 6, Workers(1))
    expected = [(row, *one) for row in range(5) for one in by_hand(CODES[row], NUMBERS[row])]
    weights = np.array([weight for _, _, weight, _, _ in expected])
    owner = np.array([row for row, *_ in expected])
    assert found.owner.tolist() == owner.tolist()
    assert found.rows.codes.tolist() == [list(states) for _, states, *_ in expected]
    np.testing.assert_allclose(found.chances, weights / np.bincount(owner, weights)[owner], rtol=1e-12)
    np.testing.assert_allclose(found.rows.reals, [filled for *_, filled, _ in expected], rtol=1e-12, atol=1e-12)
    for kind, (*_, left) in zip(found.kinds.tolist(), expected, strict=True):
        made = found.covariances[kind] if kind >= 0 else np.zeros((2, 2))
        np.testing.assert_allclose(made, left, rtol=1e-12, atol=1e-12)


def test_too_many_completions_are_refused():
    with pytest.raises(NotApplicable, match="Row 0 misses 2 states, which have 6 joint values"):
        completions(CODES, (2, 3), 5)


def test_numbers_that_follow_from_others_have_no_density():
    copy = ss.LinearGaussian(Y, 0.0, coefficients={X: [[2.0]]}, covariance=0.0, given=X)
    prepared = ss.prepare(ss.BayesNet(ss.LinearGaussian(X, 0.0, covariance=1.0), copy)).prepared
    one = EvidenceRows((), np.zeros((1, 0), np.int32), (0, 1), np.array([[1.0, np.nan]]))
    assert list_rows(prepared, one, 1, Workers(1)).rows.reals.tolist() == [[1.0, 2.0]]
    both = EvidenceRows((), np.zeros((1, 0), np.int32), (0, 1), np.array([[1.0, 2.0]]))
    with pytest.raises(NotApplicable, match="'x', 'y' have no joint density"):
        list_rows(prepared, both, 1, Workers(1))
