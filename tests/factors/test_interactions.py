"""Submodular, semimetric and metric costs of pairs, by their definitions over all states."""

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.potentials import Potts, TruncatedLinear, TruncatedQuadratic, is_metric, is_semimetric, is_submodular


def random_costs(rng):
    k = int(rng.integers(1, 5))
    costs = rng.integers(0, 4, (k, k)).astype(float)
    if rng.random() < 0.7:
        costs = costs + costs.T
    if rng.random() < 0.7:
        np.fill_diagonal(costs, costs[0, 0])
    if rng.random() < 0.5:
        costs += 1.0 * (~np.eye(k, dtype=bool))
    return np.where(rng.random((k, k)) < 0.05, np.inf, costs)


def test_every_quadruple_and_triple():
    rng, seen = np.random.default_rng(0), {"submodular": set(), "metric": set(), "semimetric": set()}
    for _ in range(600):
        e = random_costs(rng)
        states = range(len(e))
        submodular = all(
            e[a, b] + e[c, d] <= e[a, d] + e[c, b]
            for a, c in itertools.combinations(states, 2)
            for b, d in itertools.combinations(states, 2)
        )
        pairs = list(itertools.product(states, repeat=2))
        zero = e[0, 0]
        semimetric = np.isfinite(np.diag(e)).all() and all(
            (e[a, b] == zero if a == b else e[a, b] > zero) and e[a, b] == e[b, a] for a, b in pairs
        )
        metric = semimetric and all(
            e[a, b] - zero <= (e[a, c] - zero) + (e[c, b] - zero) for a, b in pairs for c in states
        )
        assert is_submodular(e) == submodular
        assert is_semimetric(e) == semimetric
        assert is_metric(e) == metric
        for name, value in (("submodular", submodular), ("metric", metric), ("semimetric", semimetric)):
            seen[name].add(bool(value))
    assert all(values == {True, False} for values in seen.values())


def test_named_potentials():
    def costs(potential):
        return -potential.log_table((5, 5))

    assert is_metric(costs(Potts(0.7)))
    assert is_metric(costs(TruncatedLinear(0.5, 1.5)))
    assert is_metric(costs(TruncatedLinear(0.5)))
    assert is_semimetric(costs(TruncatedQuadratic(0.5)))
    assert not is_metric(costs(TruncatedQuadratic(0.5)))
    assert is_submodular(costs(TruncatedQuadratic(0.5)))
    assert is_submodular(costs(TruncatedLinear(0.5)))
    assert not is_submodular(costs(TruncatedLinear(0.5, 1.5)))
    assert not is_submodular(costs(Potts(0.7)))
    assert not is_semimetric(costs(Potts(-0.7)))


def test_what_they_promise():
    """A submodular model has an exact cut; others are refused."""
    rng = np.random.default_rng(1)
    for _ in range(30):
        e = rng.normal(size=(3, 3))
        a, b = ss.Discrete("a", 3), ss.Discrete("b", 3)
        net = ss.MarkovNet(ss.Table.from_energy((a, b), e))
        if is_submodular(e) or is_submodular(e[:, ::-1]):
            assert ss.map_assignment(net, method=ss.MinCut()).log_value == pytest.approx(-e.min())
        else:
            with pytest.raises(ss.errors.NotApplicable, match="submodular"):
                ss.map_assignment(net, method=ss.MinCut())


@pytest.mark.parametrize("ask", [is_submodular, is_semimetric, is_metric])
def test_costs_have_two_axes_and_are_numbers(ask):
    with pytest.raises(ss.errors.ModelError, match="shape"):
        ask([0.0, 1.0])
    with pytest.raises(ss.errors.ModelError, match="NaN"):
        ask([[0.0, np.nan], [1.0, 0.0]])
    assert ask(np.zeros((0, 0)))
    assert ask([[0.0]])
