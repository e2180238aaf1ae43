"""Merge orders carried out on calibrated beliefs equal enumeration, and form tables of exactly the size they say."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sepset as ss
from sepset.factors.table import Table
from sepset.graphs.clusters import ClusterTree
from sepset.inference.exact.messages import calibrate
from sepset.inference.treequery.merge import merged
from sepset.inference.treequery.orders import MergeOrder
from sepset.inference.treequery.query import tree_query
from sepset.inference.treequery.search import choose_merge_order
from support.blocks import in_blocks
from support.random_trees import calibrated, random_order
from support.tolerances import CLOSE


def answer(order, result, names):
    found = merged(order, result.beliefs, result.sepset_beliefs, result.semiring)
    for name in names:
        if name not in {v.name for v in found.scope}:
            found = found * Table.ones(ss.Discrete(name, 1))
    return found.normalize().align(names).values


@in_blocks("seed", range(40))
def test_every_order_gives_the_joint_of_enumeration(seed):
    rng = np.random.default_rng([seed, 19])
    case = calibrated(rng)
    if case is None:
        return
    hidden = list(case.result.tree.variables)
    for _ in range(4):
        names = [hidden[i] for i in rng.permutation(len(hidden))[: int(rng.integers(0, 6))]]
        query = tree_query(case.result.tree, names, cards=case.cards)
        hubs = query.with_hubs()
        orders = [
            choose_merge_order(query),
            *(random_order(q, rng, absorb=a) for q in (query, hubs) for a in (False, True)),
        ]
        for order in orders:
            np.testing.assert_allclose(
                answer(order, case.result, names), case.marginal(names), rtol=0, atol=CLOSE, err_msg=repr(order)
            )


@pytest.mark.parametrize("seed", range(20))
def test_the_products_formed_are_as_large_as_the_order_says(seed, monkeypatch):
    rng = np.random.default_rng([seed, 23])
    case = calibrated(rng, observed=0.0)
    hidden = list(case.result.tree.variables)
    names = [hidden[i] for i in rng.permutation(len(hidden))[:4]]
    order = random_order(tree_query(case.result.tree, names, cards=case.cards), rng, absorb=bool(seed % 2))
    sizes, plain = [], Table.__mul__

    def counted(self, other):
        product = plain(self, other)
        sizes.append(product.size)
        return product

    monkeypatch.setattr(Table, "__mul__", counted)
    merged(order, case.result.beliefs, case.result.sepset_beliefs)
    assert sizes == [step.cost for step in order.steps if step.cost]
    assert sum(sizes) == order.cost


def test_max_marginals_merge_too():
    rng = np.random.default_rng(5)
    a, b, c, d = (ss.Discrete(n, 3) for n in "abcd")
    factors = [ss.Table.random(pair, rng, zeros=0.2) for pair in ((a, b), (b, c), (c, d))]
    tree = ClusterTree([("a", "b"), ("b", "c"), ("c", "d")], [(0, 1), (1, 2)])
    result = calibrate(tree, factors, ss.factors.MAX)
    joint = math.prod(factors[1:], start=factors[0]).align(list("abcd")).values
    query = tree_query(tree, ["a", "d"], cards=dict.fromkeys("abcd", 3))
    for edges in itertools.permutations(range(2)):
        found = merged(MergeOrder(query, edges), result.beliefs, result.sepset_beliefs, ss.factors.MAX)
        np.testing.assert_allclose(found.align(["a", "d"]).values, joint.max(axis=(1, 2)), rtol=CLOSE)
