"""Regions: joint intersections, clusters, and values that stay."""

import numpy as np

import sepset as ss
from sepset.inference.map.relaxation.regions import Regions, with_pairs
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks
from support.wired import random_problem


def _same(a, b):
    return a == b or abs(a - b) < 1e-9


@in_blocks("seed", range(60))
def test_values_are_those_of_the_model(seed):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_problem(rng))
    n = wiring.num_variables
    clusters = np.array([sorted(rng.permutation(n)[:3].tolist()) for _ in range(2 if n > 2 else 0)], np.int64)
    regions = Regions.of(wiring, clusters.reshape(-1, 3))
    moved = regions.moved(rng.normal(size=int(regions.moves[-1])))
    paired = with_pairs(wiring, clusters.reshape(-1, 3)).wiring
    for _ in range(10):
        codes = (rng.random(n) * wiring.plugs.cards).astype(int)
        expected = wiring.log_value(codes)
        assert _same(regions.wiring.log_value(codes), expected)
        assert _same(moved.log_value(codes), expected)
        assert _same(paired.log_value(codes), expected)


def test_factors_share_joint_intersections():
    a, b, c, d = (ss.Discrete(n) for n in "abcd")
    rng = np.random.default_rng(0)
    parts = [ss.Table(s, rng.gamma(1.0, size=(2,) * len(s))) for s in ((a, b, c), (b, c, d), (c, b), (a, b))]
    net = ss.MarkovNet(*parts)
    regions = Regions.of(Wiring.of(net.as_written()))
    names = [tuple(regions.wiring.name(i) for i in regions.wiring.scope(r)) for r in range(regions.wiring.num_factors)]
    assert sorted(map("".join, names)) == ["ab", "abc", "bc", "bcd"]
    held = sorted("".join(names[each.outer]) + ">" + "".join(names[each.inner]) for each in regions.inside)
    assert held == ["abc>ab", "abc>bc", "bcd>bc"]
    assert [regions.loose[names.index(tuple(s))] for s in ("bcd", "abc", "ab")] == [(2,), (), (0, 1)]


def test_models_whose_factors_share_single_variables_are_their_own_regions():
    net = ss.MarkovNet.potts(ss.Discrete.array("pixel", (3, 3)), 0.5)
    wiring = Wiring.of(net.as_written())
    assert Regions.of(wiring).wiring is wiring
    clustered = Regions.of(wiring, np.array([[0, 1, 4]]))
    assert (clustered.num_base, clustered.wiring.num_factors) == (13, 14)
    assert clustered.base.num_factors == 13
