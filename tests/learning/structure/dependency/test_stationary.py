"""Stationary distributions against the matrix of a sweep, and consistency of conditionals."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from learning.structure.dependency.test_gibbs import clashing
from learning.structure.dependency.test_network import inconsistent, random_net
from sepset.learning.structure.dependency.network import DependencyNet


def matrix_of_a_sweep(net: DependencyNet) -> np.ndarray:
    """The transition matrix, state by state."""
    cards = [int(c) for c in net.variables.cards]
    states = list(itertools.product(*(range(c) for c in cards)))
    place = {s: k for k, s in enumerate(states)}
    total = np.eye(len(states))
    for v, cpd in enumerate(net.cpds):
        step = np.zeros_like(total)
        for s in states:
            rows = {p: np.array([s[net.variables.id(p)]]) for p in cpd.parents}
            for x, probability in enumerate(cpd.probabilities(rows, 1)[0]):
                step[place[s], place[(*s[:v], x, *s[v + 1 :])]] += probability
        total = total @ step
    return total


@pytest.mark.parametrize("seed", range(3))
def test_the_fixed_point_of_the_matrix(seed: int) -> None:
    net = clashing(seed)
    found = np.asarray(net.stationary().values).reshape(-1)
    np.testing.assert_allclose(found @ matrix_of_a_sweep(net), found, atol=1e-12)
    assert found.sum() == pytest.approx(1.0)


def test_conditionals_of_a_joint_are_consistent() -> None:
    assert DependencyNet.of(random_net(1, 3)).consistency().is_consistent


@pytest.mark.parametrize("net", [inconsistent(), clashing(0), clashing(1)], ids=["pair", "0", "1"])
def test_clashes_are_detected(net: DependencyNet) -> None:
    found = net.consistency()
    assert not found.is_consistent
    assert found.largest[1] > 1e-4
    assert "not consistent" in repr(found)
    assert f"{found.largest[1]:.6g}" in str(found)


def test_the_divergence_of_a_pair() -> None:
    """a copies b with noise, b is a coin of 0.3: after b is drawn last, the two are independent."""
    found = inconsistent().consistency()
    share = 0.9 * 0.3 + 0.1 * 0.7
    rows = np.array([[0.9, 0.1], [0.1, 0.9]])
    expected = sum(
        weight * float((row * np.log(row / [share, 1 - share])).sum())
        for weight, row in zip((0.3, 0.7), rows, strict=True)
    )
    assert found.divergences["a"] == pytest.approx(expected)
    assert found.divergences["b"] == pytest.approx(0.0, abs=1e-12)


def test_too_many_states() -> None:
    many = DependencyNet(*(ss.TableCPD(ss.Discrete(f"x{k}"), [0.5, 0.5]) for k in range(21)))
    with pytest.raises(ss.TooLarge, match="2,097,152 joint states"):
        many.stationary()
