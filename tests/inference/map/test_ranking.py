"""Ranked assignments of a max-elimination."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.inference.map.buckets import log_factor, max_buckets
from sepset.inference.map.ranking import Ranked, Ranking
from support.blocks import in_blocks
from support.random_models import markov_net
from support.tolerances import CLOSE


def ranking(model, order=None):
    variables = list(model.variables) if order is None else order
    return Ranking(max_buckets(map(log_factor, model.factors), variables))


@in_blocks("seed", range(20))
def test_the_order_is_that_of_all_assignments(seed):
    """In any elimination order, with ties and zeros: every possible assignment once, values exact."""
    rng = np.random.default_rng([seed, 4])
    case = markov_net(rng, ties=bool(seed % 2))
    names = case.model.variables.names
    order = [case.model.variables[int(i)] for i in rng.permutation(len(names))]
    found = ranking(case.model, order).best(10**6)
    expected = oracle.k_best(case.factors, case.cards, 10**6)
    np.testing.assert_allclose([value for value, _ in found], [value for _, value in expected], atol=CLOSE)
    assert [value for value, _ in found] == sorted((value for value, _ in found), reverse=True)
    cells = [tuple(codes[case.model.variables[name]] for name in names) for _, codes in found]
    assert len(set(cells)) == len(cells)
    assert set(cells) == {tuple(one.values()) for one, _ in expected}


def test_more_are_ranked_later():
    model = ss.MarkovNet(ss.Table(ss.Discrete("a", 4), [3, 1, 4, 2]))
    ranked = ranking(model)
    assert [codes[model["a"]] for _, codes in ranked.best(2)] == [2, 0]
    assert [codes[model["a"]] for _, codes in ranked.best(9)] == [2, 0, 3, 1]
    assert len(ranked.best(1)) == 1


def test_a_tree_deeper_than_the_stack_of_python():
    """A chain of 3,000 that prefers equal neighbors: the best two are constant, then one border."""
    xs = [ss.Discrete(f"x{i}") for i in range(3000)]
    pairs = [ss.Table(pair, [[3.0, 1.0], [1.0, 3.0]]) for pair in itertools.pairwise(xs)]
    found = ranking(ss.MarkovNet(*pairs)).best(5)
    most = 2999 * math.log(3.0)
    assert [value for value, _ in found] == pytest.approx([most, most, *[most - math.log(3.0)] * 3])
    assert sorted(len(set(codes.values())) for _, codes in found) == [1, 1, 2, 2, 2]


@pytest.mark.parametrize("shape", ["alone", "star"])
def test_many_parts_below_one_bucket(shape):
    """200 coins, alone or under one more: the best, then each single change, by its loss."""
    hub, coins = ss.Discrete("hub", 1), [ss.Discrete(f"c{i}") for i in range(200)]
    odds = np.linspace(0.51, 0.7, 200)
    tables = [
        ss.Table(coin, [p, 1 - p]) if shape == "alone" else ss.Table((hub, coin), [[p, 1 - p]])
        for coin, p in zip(coins, odds, strict=True)
    ]
    model = ss.MarkovNet(*tables)
    order = [*coins, hub] if shape == "star" else coins
    found = ranking(model, order).best(3)
    losses = np.log(odds / (1 - odds))
    best = np.log(odds).sum()
    assert [value for value, _ in found] == pytest.approx([best, best - losses[0], best - losses[1]], abs=CLOSE)


def test_a_further_assignment_takes_few_steps(monkeypatch):
    """Steps of all buckets together, for 200 assignments of ALARM with 37 variables."""
    steps = []
    advance = Ranked.advance

    def counted(self):
        steps.append(self)
        return advance(self)

    monkeypatch.setattr(Ranked, "advance", counted)
    assert len(ss.map_assignment(ss.datasets.load("alarm"), k=200).assignments) == 200
    assert len(steps) <= 20 * 200


def test_impossible_and_empty():
    a = ss.Discrete("a")
    assert ranking(ss.MarkovNet(ss.Table(a, [0, 0]))).best(3) == []
    assert Ranking(max_buckets([], [])).best(3) == [(0.0, {})]
