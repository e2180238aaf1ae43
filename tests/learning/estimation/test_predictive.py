"""Pólya's urn against the product of one-step predictions and against quadrature."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import integrate

from sepset.errors import ModelError
from sepset.learning.estimation.predictive import log_evidence, log_polya, log_urn
from support.tolerances import CLOSE

alphas = st.lists(st.floats(0.05, 20.0), min_size=1, max_size=4)


@given(alphas, st.lists(st.integers(0, 3), min_size=0, max_size=8))
@settings(max_examples=60)
def test_a_sequence_is_a_product_of_predictions(alpha, draws):
    outcomes = [d % len(alpha) for d in draws]
    urn, expected = list(alpha), 0.0
    for outcome in outcomes:
        expected += math.log(urn[outcome] / sum(urn))
        urn[outcome] += 1
    counts = [outcomes.count(k) for k in range(len(alpha))]
    assert log_polya(alpha, counts) == pytest.approx(expected, abs=CLOSE)


@pytest.mark.parametrize(("alpha", "counts"), [((0.5, 2.0), (3, 1)), ((4.0, 1.5), (0, 2)), ((1.0, 1.0), (9, 1))])
def test_evidence_by_quadrature(alpha, counts):
    a, b = alpha
    const = math.gamma(a + b) / math.gamma(a) / math.gamma(b)

    def integrand(t):
        return const * t ** (a - 1 + counts[0]) * (1 - t) ** (b - 1 + counts[1])

    value, _ = integrate.quad(integrand, 0, 1, epsabs=1e-12, epsrel=1e-11)
    assert math.exp(log_polya(alpha, counts)) == pytest.approx(value, rel=1e-8)


def test_bad_arguments_are_refused():
    for alpha, counts in (([0.0, 1.0], [1, 1]), ([1.0], [1, 1]), ([1.0, 1.0], [-1, 1])):
        with pytest.raises(ModelError, match="log_polya needs"):
            log_polya(alpha, counts)


def test_large_pseudo_counts_do_not_overflow():
    assert log_polya([5000, 5000], [9, 1]) == pytest.approx(math.log(0.00093024 / 0.95), abs=1e-4)


@given(st.integers(0, 10_000))
@settings(max_examples=40)
def test_rows_with_repeated_use(seed):
    """Every row against the plain urn, group by group and component by component."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(int(rng.integers(1, 4))), int(rng.integers(1, 4)))
    num, parts, occurrences = len(groups), int(rng.integers(1, 4)), int(rng.integers(1, 5))
    alpha = rng.uniform(0.1, 5, size=(parts, num))
    weights = rng.dirichlet(np.ones(parts), size=groups.max() + 1)
    uses = rng.integers(num, size=(6, occurrences))
    found = log_urn(alpha, np.log(weights), groups, uses)
    for row, value in zip(uses, found, strict=True):
        expected = 1.0
        for group in set(groups[row].tolist()):
            mixed = 0.0
            for i in range(parts):
                urn, share = alpha[i].copy(), weights[group, i]
                for cell in row[groups[row] == group]:
                    share *= urn[cell] / urn[groups == group].sum()
                    urn[cell] += 1
                mixed += share
            expected *= mixed
        assert value == pytest.approx(math.log(expected), abs=CLOSE)


def test_rows_sum_to_one_and_are_exchangeable():
    groups = np.array([0, 0, 0])
    uses = np.array(list(itertools.product(range(3), repeat=3)))
    found = np.exp(log_urn(np.array([[0.5, 2.0, 1.0]]), np.zeros((1, 1)), groups, uses))
    assert found.sum() == pytest.approx(1.0)
    by_use = {tuple(u): p for u, p in zip(uses.tolist(), found, strict=True)}
    for use, p in by_use.items():
        assert p == pytest.approx(by_use[tuple(sorted(use))])


def test_evidence_of_nothing():
    np.testing.assert_array_equal(log_evidence(np.ones((1, 2)), np.zeros(2), np.array([0, 1])), [[0.0], [0.0]])
