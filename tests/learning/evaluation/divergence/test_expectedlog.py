"""Expected logarithms of conditionals without a table, against enumeration and against tables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.engine.engine import Engine
from sepset.learning.evaluation.divergence import discrete
from sepset.learning.evaluation.divergence.expectedlog import expected_log, is_same
from support.tolerances import CLOSE

PARENTS = [ss.Discrete(f"p{i}") for i in range(5)]
Y = ss.Discrete("y")


def split(at, place=0):
    if place == len(PARENTS):
        return [1.0 - at[place], at[place]]
    return ss.cpds.Split(PARENTS[place], {0: split(at, place + 1), 1: [1.0 - at[place], at[place]]})


def forms(seed):
    """CPDs of every structured kind, with parents that act alike or not."""
    rng = np.random.default_rng(seed)
    return [
        ss.NoisyOr(Y, {p: float(q) for p, q in zip(PARENTS, rng.uniform(0.2, 0.9, 5), strict=True)}, leak=0.1),
        ss.NoisyOr(Y, dict.fromkeys(PARENTS, 0.4 + 0.1 * seed), leak=0.1),
        ss.LogisticCPD(Y, dict.fromkeys(PARENTS, 0.5 + seed), bias=-1.0),
        ss.TreeCPD(Y, split(rng.uniform(0.1, 0.9, 6)), given=PARENTS),
    ]


def network(cpd, seed=0):
    """Parents in a chain, so that they depend on each other."""
    rng = np.random.default_rng(seed)
    tables = [ss.TableCPD(PARENTS[0], [0.4, 0.6])]
    tables += [ss.TableCPD(b, rng.dirichlet(np.ones(2), 2), given=a) for a, b in itertools.pairwise(PARENTS)]
    return ss.BayesNet(*tables, cpd)


def joint(net):
    cells = np.array(list(itertools.product((0, 1), repeat=6)))
    return cells, np.exp(net.log_probability(ss.Dataset.from_codes(net.variables, cells)))


@pytest.mark.parametrize("which", range(4))
@pytest.mark.parametrize("other", range(4))
def test_expected_logarithms_are_those_of_enumeration(which, other):
    net, cpd = network(forms(0)[which]), forms(1)[other]
    cells, weights = joint(net)
    logs = cpd.log_probability({v: cells[:, i] for i, v in enumerate(net.variables)})
    assert expected_log(Engine(net), cpd) == pytest.approx(weights @ logs, abs=CLOSE)


@pytest.mark.parametrize("which", range(4))
def test_divergences_without_tables_are_those_with_tables(which, monkeypatch):
    p, q = network(forms(0)[which]), network(forms(1)[which], seed=1)
    expected = ss.evaluation.divergence(p, q)
    entropy = discrete.Truth(p).entropy
    monkeypatch.setattr(discrete, "WIDEST", 0)
    p = p.with_parameters(p.cpds)
    found = ss.evaluation.divergence(p, q)
    assert found.total == pytest.approx(expected.total, abs=CLOSE)
    assert dict(found.families) == pytest.approx(dict(expected.families), abs=CLOSE)
    assert discrete.Truth(p).entropy == pytest.approx(entropy, abs=CLOSE)
    _, weights = joint(p)
    _, others = joint(q)
    assert found.total == pytest.approx(weights @ np.log(weights / others), abs=CLOSE)


def test_what_the_other_excludes_is_infinite():
    p, q = network(forms(0)[0]), ss.NoisyOr(Y, dict.fromkeys(PARENTS, 0.5), leak=0.0)
    assert expected_log(Engine(p), q) == -np.inf


def test_wide_noisy_ors_have_divergences():
    """Forty parents, each on with probability 1/2: a family's gap is a sum over the numbers of causes."""
    num = 40
    parents = [ss.Discrete(f"p{i}") for i in range(num)]
    roots = [ss.TableCPD(p, [0.5, 0.5]) for p in parents]
    nets = [ss.BayesNet(*roots, ss.NoisyOr(Y, dict.fromkeys(parents, link), leak=0.1)) for link in (0.02, 0.05)]
    on = np.arange(num + 1)
    ways = np.exp([sum(np.log((num - j) / (j + 1)) for j in range(k)) - num * np.log(2.0) for k in on])
    off, other = (0.9 * (1.0 - link) ** on for link in (0.02, 0.05))
    expected = ways @ (off * np.log(off / other) + (1.0 - off) * np.log((1.0 - off) / (1.0 - other)))
    assert ss.evaluation.divergence(*nets).families["y"] == pytest.approx(expected, abs=CLOSE)


WIDE = [ss.Discrete(f"u{i}") for i in range(40)]


@pytest.mark.parametrize(
    "made",
    [
        lambda order: ss.NoisyOr(Y, {WIDE[i]: 0.02 * (i + 1) for i in order}, leak=0.1),
        lambda order: ss.NoisyMax(Y, {WIDE[i]: [[1, 0], [1 - 0.02 * i, 0.02 * i]] for i in order}),
        lambda order: ss.LogisticCPD(Y, {WIDE[i]: 0.1 * i for i in order}, bias=-1.0),
    ],
)
def test_equal_wide_conditionals_with_parents_in_another_order_add_nothing(made):
    order = np.random.default_rng(0).permutation(40)
    own, other = made(range(40)), made(order)
    assert is_same(own, other)
    assert not is_same(own, made([*range(39)]))
    roots = [ss.TableCPD(u, [0.7, 0.3]) for u in WIDE]
    moved = [ss.TableCPD(WIDE[0], [0.5, 0.5]), *roots[1:]]
    found = ss.evaluation.divergence(ss.BayesNet(own, *roots), ss.BayesNet(*moved, other))
    assert found.families["y"] == 0.0
    assert found.total == pytest.approx(0.7 * np.log(0.7 / 0.5) + 0.3 * np.log(0.3 / 0.5), rel=CLOSE)


def test_equal_parameters():
    for one, other in zip(forms(0), forms(0), strict=True):
        assert is_same(one, other)
    assert not is_same(forms(0)[0], forms(1)[0])
    assert not is_same(forms(0)[0], forms(0)[2])
