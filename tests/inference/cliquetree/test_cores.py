"""Refusals by the graph alone: a part in which every variable has many neighbors is in no small tables."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.errors import TooLarge
from sepset.inference import costs
from sepset.inference.cliquetree import cores
from sepset.inference.cliquetree.cores import core, refuse_cores


def pairwise(pairs, num, states=2, rng=None):
    """A Markov network with a table for each pair."""
    v = [ss.Discrete(f"v{i}", states) for i in range(num)]
    rng = rng or np.random.default_rng(0)
    return ss.MarkovNet(
        *(ss.Table((v[i], v[j]), rng.uniform(0.5, 2.0, (states, states))) for i, j in pairs), variables=v
    )


def smallest_width(pairs, num):
    """The treewidth, by all orders of elimination."""
    best = num
    for order in itertools.permutations(range(num)):
        near = {i: {b for a, b in (*pairs, *((b, a) for a, b in pairs)) if a == i} for i in range(num)}
        width = 0
        for i in order:
            width = max(width, len(near[i]))
            for a in near[i]:
                near[a] |= near[i] - {a}
                near[a].discard(i)
            del near[i]
        best = min(best, width)
    return best


@pytest.mark.parametrize("seed", range(6))
def test_what_is_refused_has_no_smaller_order(seed, monkeypatch):
    monkeypatch.setattr(costs, "HOPELESS_FACTOR", 1)
    rng = np.random.default_rng(seed)
    pairs = [p for p in itertools.combinations(range(6), 2) if rng.random() < 0.6]
    width = smallest_width(pairs, 6)
    net = pairwise(pairs, 6)
    for least in range(1, 6):
        try:
            refuse_cores(net.problem(), (), 8 * 2**least)
        except TooLarge:
            assert width >= least
    with pytest.raises(TooLarge, match="Every elimination order"):
        refuse_cores(pairwise(itertools.combinations(range(6), 2), 6).problem(), (), 8 * 2**5)


def test_cores_are_those_of_removing_one_node_after_the_other():
    rng = np.random.default_rng(3)
    for _ in range(30):
        pairs = np.array([p for p in itertools.combinations(range(9), 2) if rng.random() < 0.4]).reshape(-1, 2)
        for least in range(1, 5):
            left = {tuple(p) for p in pairs.tolist()}
            while drop := [v for v in range(9) if 0 < sum(v in p for p in left) < least]:
                left = {p for p in left if drop[0] not in p}
            assert {tuple(p) for p in core(pairs, least).tolist()} == left


SMALL = ss.CliqueTree(memory=2**16)
"""A method that takes no tables of 2^23 entries."""


def test_a_complete_graph_is_refused_without_a_plan(monkeypatch):
    net = pairwise(itertools.combinations(range(26), 2), 26)
    for name in ("plan.make_plan", "compiled.planner.make_plan", "compiled.compiler.answer_greedily"):
        monkeypatch.setattr(f"sepset.inference.{name}", None)
    engine = ss.prepare(net, method=SMALL)
    for ask in (engine.marginals, engine.log_partition):
        with pytest.raises(TooLarge, match="26 variables have 23 neighbors or more"):
            ask()
    with pytest.raises(TooLarge, match="25 variables have"):
        engine.query("v3", given={"v4": 1})


def test_observed_variables_and_zeros_and_states_count():
    net = pairwise(itertools.combinations(range(26), 2), 26)
    engine, given = ss.prepare(net, method=SMALL), {f"v{i}": i % 2 for i in range(18)}
    rest, joint = engine.marginals(given=given), engine.query(["v20", "v25"], given=given)
    assert np.allclose(joint.values.sum(axis=1), rest["v20"].values)
    v = [ss.Discrete(f"v{i}", 3) for i in range(26)]
    equal = ss.MarkovNet(*(ss.Table((a, b), np.eye(3)) for a, b in itertools.combinations(v, 2)))
    assert np.allclose(ss.prepare(equal, method=SMALL).marginals(given={"v0": 1})["v25"].values, [0, 1, 0])
    single = pairwise(itertools.combinations(range(26), 2), 26, states=1)
    assert ss.prepare(single, method=SMALL).marginals()["v7"].values.tolist() == [1.0]


def test_other_values_and_directed_models_are_left_to_plans(monkeypatch):
    looked_at = []
    monkeypatch.setattr(cores, "pairs_within_rows", lambda rows: looked_at.append(rows) or np.zeros((0, 2), np.int64))
    net = ss.BayesNet.random(ss.DAG([f"v{i}" for i in range(50)], [(f"v{i}", f"v{i + 1}") for i in range(49)]))
    refuse_cores(net.problem(), (), 2**20)
    assert not looked_at
    refuse_cores(pairwise([(i, i + 1) for i in range(49)], 50).problem(), (), 2**20)
    assert len(looked_at) == 1
