"""Marginal maxima of wide conditionals with a few parents summed out, compared with enumeration of counts."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sepset as ss
from sepset.inference import cases

CHILD = ss.Discrete("c")
SIZES = {"a": 22, "b": 8, "s": 2}
CHANCES = {"a": 0.45, "b": 0.3, "s": 0.6}
PARENTS = {v: name for name, size in SIZES.items() for v in (ss.Discrete(f"{name}{i}") for i in range(size))}


def logistic(parts):
    """No two weights are equal, so that parents cannot be counted."""
    weights = {v: parts[name] * (1.0 + 1e-12 * i) for i, (v, name) in enumerate(PARENTS.items())}
    return ss.LogisticCPD(CHILD, weights, bias=-4.0)


def noisy_or(parts):
    return ss.NoisyOr(CHILD, {v: parts[name] for v, name in PARENTS.items()}, leak=0.01)


def is_on(make, parts, counts):
    """P(c = 1) where some parents of each group are on."""
    if make is logistic:
        return 1.0 / (1.0 + math.exp(4.0 - sum(parts[name] * count for name, count in counts.items())))
    return 1.0 - 0.99 * math.prod((1.0 - parts[name]) ** count for name, count in counts.items())


def enumerated(make, parts, child):
    """The largest log weight over the numbers of parents of a and b that are on, those of s summed out."""
    best = -math.inf
    for a, b in itertools.product(range(SIZES["a"] + 1), range(SIZES["b"] + 1)):
        prior = math.prod(
            CHANCES[name] ** count * (1 - CHANCES[name]) ** (SIZES[name] - count)
            for name, count in (("a", a), ("b", b))
        )
        total = 0.0
        for states in itertools.product((0, 1), repeat=SIZES["s"]):
            chance = math.prod(CHANCES["s"] if on else 1 - CHANCES["s"] for on in states)
            on = is_on(make, parts, {"a": a, "b": b, "s": sum(states)})
            total += chance * (on if child else 1.0 - on)
        best = max(best, math.log(prior * total))
    return best


CASES = [
    (logistic, {"a": 0.3, "b": 1.2, "s": 2.0}, 0),
    (logistic, {"a": 0.5, "b": -0.7, "s": -3.0}, 0),
    (noisy_or, {"a": 0.05, "b": 0.3, "s": 0.6}, 0),
    (noisy_or, {"a": 0.05, "b": 0.3, "s": 0.6}, 1),
]


@pytest.mark.parametrize(("make", "parts", "child"), CASES)
def test_few_summed_parents_are_enumeration(make, parts, child):
    order = np.random.default_rng(child).permutation(len(PARENTS))
    roots = [ss.TableCPD(v, [1 - CHANCES[name], CHANCES[name]]) for v, name in PARENTS.items()]
    net = ss.BayesNet(*(roots[i] for i in order), make(parts))
    over = [v.name for v, name in PARENTS.items() if name != "s"]
    found = ss.map_assignment(net, given={"c": child}, over=over)
    assert found.log_value == pytest.approx(enumerated(make, parts, child), abs=1e-9)
    assert set(found.assignment) == set(over)
    check = ss.log_probability(net, given={**found.assignment, "c": child})
    assert float(check) == pytest.approx(found.log_value, abs=1e-9)


def test_a_likelihood_counts_and_too_many_cases_are_refused(monkeypatch):
    make, parts, _ = CASES[0]
    roots = [ss.TableCPD(v, [1 - CHANCES[name], CHANCES[name]]) for v, name in PARENTS.items()]
    net = ss.BayesNet(*roots, make(parts))
    over = [v.name for v, name in PARENTS.items() if name != "s"]
    chances = np.array([0.55, 0.45]) * [0.2, 0.9]
    changed = net.with_cpds(ss.TableCPD(net["a0"], chances / chances.sum()))
    found = ss.map_assignment(net, given={"c": 0, "a0": ss.Likelihood([0.2, 0.9])}, over=over)
    expected = ss.map_assignment(changed, given={"c": 0}, over=over)
    assert found.log_value == pytest.approx(expected.log_value + math.log(chances.sum()), abs=1e-9)
    with pytest.raises(ss.TooLarge, match="parents observed"):
        ss.map_assignment(net, given={"c": 0}, over=over[:10])
    monkeypatch.setattr(cases, "MOST_MAXIMA", -1)
    monkeypatch.setattr("sepset.inference.maxima.MOST_CASES", 0)
    with pytest.raises(ss.TooLarge, match="not certain"):
        ss.map_assignment(ss.BayesNet(*roots, make({**parts, "s": -9.0})), given={"c": 0}, over=over)
