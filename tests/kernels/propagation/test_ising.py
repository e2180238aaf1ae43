"""Ratios of messages: one pair beside its sums."""

import numpy as np
import pytest

from sepset.kernels.propagation.ising import ising_energy, ising_pass, ratio_products


@pytest.mark.parametrize("is_sequential", [True, False])
@pytest.mark.parametrize("gain", [0.01, 1.0, 30.0])
def test_messages_of_a_pair_are_its_sums(gain, is_sequential):
    scope, gains, own, cancel = np.array([0, 1]), np.array([gain]), np.array([0.3, 4.0]), np.zeros(1, np.uint8)
    old, new = np.ones(2), np.empty(2)
    beliefs = own.copy()
    following = beliefs if is_sequential else own.copy()
    change = ising_pass(scope, gains, np.array([0]), 0.0, 1.0, is_sequential, beliefs, following, old, new, cancel)
    expected = [(1.0 + gain * own[j]) / (gain + own[j]) for j in (1, 0)]
    assert new == pytest.approx(expected, rel=1e-14)
    assert change == pytest.approx(np.abs(new - 1.0).max(), rel=1e-14)
    products = np.empty(2)
    ratio_products(scope, own, new, products)
    assert following == pytest.approx(products, rel=1e-14)
    total = sum(own[0] ** x * own[1] ** y * (gain if x == y else 1.0) for x in (0, 1) for y in (0, 1))
    found = np.log1p(following).sum() + ising_energy(scope, gains, following, new, cancel)
    assert found == pytest.approx(np.log(total), rel=1e-13)


def test_damping_keeps_a_part_of_messages_with_a_sum_of_one():
    scope, gains, own, cancel = np.array([0, 1]), np.array([3.0]), np.array([0.3, 4.0]), np.zeros(1, np.uint8)
    old, new = np.array([0.2, 5.0]), np.empty(2)
    ising_pass(scope, gains, np.array([0]), 0.25, 0.75, False, own * old, own.copy(), old, new, cancel)
    for k, j in enumerate((1, 0)):
        fresh = np.array([3.0 + own[j], 1.0 + 3.0 * own[j]])
        mixed = 0.75 * fresh / fresh.sum() + 0.25 * np.array([1.0, old[k]]) / (1.0 + old[k])
        assert new[k] == pytest.approx(mixed[1] / mixed[0], rel=1e-14)
