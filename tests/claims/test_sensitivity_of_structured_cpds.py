"""What a posterior depends on are the parameters that a model has: links and leaks, rows of leaves, entries of factors.

A noisy-or of two parents has three parameters, not four rows of a table, and one of forty has forty-one. The posterior
is a ratio of two lines in each of them, so it is known everywhere from two points. Expected values come from the forms
written out: products for noisy-or, paths for trees.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from support.tolerances import CLOSE

NUM = 40
THETAS = [0.0, 0.15, 0.5, 0.95, 1.0]


def parents(number):
    return [ss.Discrete(f"p{i}") for i in range(number)]


def of_child(found, child="y", state=1):
    """The parameters of one CPD for one state of its child, by their present values."""
    return {round(p.value, 9): p for p in found.of(child) if p.state == state}


def posterior(priors, links, leak):
    """P(p0 = 1 | y = 1) under a noisy-or: what is off is a product over the parents."""
    off = (1.0 - leak) * np.prod(1.0 - priors[1:] * links[1:])
    on, both = 1.0 - off * (1.0 - links[0]), 1.0 - off * (1.0 - priors[0] * links[0])
    return priors[0] * on / both


def noisy_or(priors, links, leak, make):
    ps = parents(len(priors))
    y = ss.Discrete("y")
    roots = [ss.TableCPD(p, [1.0 - q, q]) for p, q in zip(ps, priors, strict=True)]
    return ss.BayesNet(*roots, make(y, dict(zip(ps, links.tolist(), strict=True)), leak))


def as_noisy_max(y, links, leak):
    return ss.NoisyMax(y, {p: [[1.0, 0.0], [1.0 - q, q]] for p, q in links.items()}, leak=[1.0 - leak, leak])


def as_noisy_or(y, links, leak):
    return ss.NoisyOr(y, links, leak=leak)


def numbers(number):
    """Priors, links that all differ, and a leak."""
    rng = np.random.default_rng(number)
    return rng.uniform(0.1, 0.6, number), np.linspace(0.2, 0.9, number).round(6), 0.05


def check_noisy_or(number, make):
    priors, links, leak = numbers(number)
    found = ss.sensitivity(noisy_or(priors, links, leak, make), "p0", state=1, given={"y": 1})
    assert found.left_out == ()
    assert found.probability == pytest.approx(posterior(priors, links, leak), abs=CLOSE)
    parameters = of_child(found)
    assert set(parameters) == {*links.tolist(), leak}
    for theta in THETAS:
        assert parameters[leak].probability(theta) == pytest.approx(posterior(priors, links, theta), abs=CLOSE)
        for place in {0, 1, number - 1}:
            changed = links.copy()
            changed[place] = theta
            expected = posterior(priors, changed, leak)
            assert parameters[links[place]].probability(theta) == pytest.approx(expected, abs=CLOSE)


@pytest.mark.parametrize("make", [as_noisy_or, as_noisy_max], ids=["noisy-or", "noisy-max"])
def test_a_small_noisy_or_is_varied_by_its_links_and_its_leak(make):
    check_noisy_or(3, make)


@pytest.mark.parametrize("make", [as_noisy_or, as_noisy_max], ids=["noisy-or", "noisy-max"])
def test_a_wide_noisy_or_is_varied_by_its_links_and_its_leak(make):
    check_noisy_or(NUM, make)


def leaves(number):
    """P(y = 1) at each leaf of a comb: the first parent that is on says which, the last leaf has none on."""
    return np.linspace(0.1, 0.9, number + 1).round(6)


def comb(ps, at, place=0):
    if place == len(ps):
        return [1.0 - at[place], at[place]]
    return ss.cpds.Split(ps[place], {0: comb(ps, at, place + 1), 1: [1.0 - at[place], at[place]]})


def tree_posterior(priors, at):
    """P(p0 = 1 | y = 1): the first parent on decides."""
    reach = np.append(priors, 1.0) * np.append(1.0, np.cumprod(1.0 - priors))
    return reach[0] * at[0] / (reach @ at)


def check_tree(number):
    rng = np.random.default_rng(number)
    priors, at, ps = rng.uniform(0.02, 0.3, number), leaves(number), parents(number)
    roots = [ss.TableCPD(p, [1.0 - q, q]) for p, q in zip(ps, priors, strict=True)]
    net = ss.BayesNet(*roots, ss.TreeCPD(ss.Discrete("y"), comb(ps, at), given=ps))
    found = ss.sensitivity(net, "p0", state=1, given={"y": 1})
    assert found.left_out == ()
    parameters = of_child(found)
    assert sum(p.state == 1 for p in found.of("y")) == len(at)
    assert set(parameters) == set(at.tolist())
    for theta, place in itertools.product(THETAS, {0, 1, number - 1, number}):
        changed = at.copy()
        changed[place] = theta
        expected = tree_posterior(priors, changed)
        assert parameters[at[place]].probability(theta) == pytest.approx(expected, abs=CLOSE)


def test_a_small_tree_is_varied_by_its_leaves():
    check_tree(3)


def test_a_wide_tree_is_varied_by_its_leaves():
    check_tree(NUM)


@pytest.mark.parametrize("number", [3, NUM])
def test_priors_above_structured_cpds_are_varied_as_they_are(number):
    priors, links, leak = numbers(number)
    found = of_child(
        ss.sensitivity(noisy_or(priors, links, leak, as_noisy_or), "p0", state=1, given={"y": 1}), child="p1"
    )
    (parameter,) = found.values()
    for theta in THETAS:
        changed = priors.copy()
        changed[1] = theta
        assert parameter.probability(theta) == pytest.approx(posterior(changed, links, leak), abs=CLOSE)


def test_undirected_models_are_varied_by_the_entries_of_their_factors():
    """The slope of P(a = 1 | c = 0) in every entry of both factors of a chain a - b - c."""
    a, b, c = (ss.Discrete(name) for name in "abc")
    first, second = np.array([[3.0, 1.0], [2.0, 5.0]]), np.array([[1.0, 4.0], [6.0, 2.0]])

    def share(f, g):
        weights = f @ g[:, 0]
        return weights[1] / weights.sum()

    slopes = []
    for which, cell in itertools.product((0, 1), itertools.product((0, 1), (0, 1))):
        ends = []
        for step in (-1e-6, 1e-6):
            changed = [first.copy(), second.copy()]
            changed[which][cell] += step
            ends.append(share(*changed))
        slopes.append((ends[1] - ends[0]) / 2e-6)
    net = ss.MarkovNet(ss.Table((a, b), first), ss.Table((b, c), second))
    found = ss.sensitivity(net, "a", state=1, given={"c": 0})
    assert found.probability == pytest.approx(share(first, second), abs=CLOSE)
    every = (p for name in "abc" for p in found.of(name))
    assert sorted(p.derivative for p in every) == pytest.approx(sorted(slopes), abs=1e-7)
