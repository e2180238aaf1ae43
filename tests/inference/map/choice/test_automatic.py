"""Without a method, models that are too wide for clique trees are searched, and the result says how."""

import numpy as np
import pytest

import sepset as ss
from sepset.inference.map.choice import automatic
from sepset.inference.map.dual import assigned
from support.cost_networks import every, random_wiring, ranked
from support.wired import task_of


def test_the_choice_follows_the_factors():
    rng = np.random.default_rng(0)
    pixel = ss.Discrete.array("pixel", (5, 5), states=3)
    coin = ss.Discrete.array("coin", (4, 4))
    a, b, c = (ss.Discrete(n) for n in "abc")
    nets = {
        "MinCut": ss.MarkovNet.potts(coin, 0.7, log_values=rng.normal(size=(4, 4, 2))),
        "TRWS": ss.MarkovNet.potts(pixel, 0.3, log_values=rng.normal(size=(5, 5, 3))),
        "MPLP": ss.MarkovNet(ss.Table((a, b, c), rng.random((2, 2, 2)))),
    }
    for name, net in nets.items():
        found, exact = ss.map_assignment(net, method=ss.inference.AutomaticSearch()), ss.map_assignment(net)
        assert name in found.info["search"]
        assert found.log_value == pytest.approx(exact.log_value)


def test_small_models_are_proved():
    rng = np.random.default_rng(2)
    for size, kind in ((3, "MPLP"), (2, "TRWS")):
        scopes = np.stack([rng.permutation(14)[:size] for _ in range(30)])
        logs = rng.normal(size=(30, *[3] * size))
        block = ss.factors.FactorBlock(scopes, (3,) * size, values=logs, space="log")
        net = ss.MarkovNet(block, variables=[ss.Discrete.array("x", (14,), states=3)])
        found = ss.map_assignment(net, method=ss.inference.AutomaticSearch())
        assert found.log_value == pytest.approx(ss.map_assignment(net).log_value)
        assert found.guarantees["assignment"] is ss.Guarantee.EXACT
        assert str(found.info["search"]).startswith(kind)
        assert found.certificate.check()


def test_models_with_zeros_are_searched_first():
    rng = np.random.default_rng(4)
    for size in (2, 3):
        scopes = np.stack([rng.permutation(14)[:size] for _ in range(30)])
        values = rng.random((30, *[3] * size)) * (rng.random((30, *[3] * size)) > 0.1)
        block = ss.factors.FactorBlock(scopes, (3,) * size, values=values)
        net = ss.MarkovNet(block, variables=[ss.Discrete.array("x", (14,), states=3)])
        found = ss.map_assignment(net, method=ss.inference.AutomaticSearch())
        assert found.log_value == pytest.approx(ss.map_assignment(net).log_value)
        assert found.guarantees["assignment"] is ss.Guarantee.EXACT
        assert found.info["search"] == "HybridBestFirst"
        stopped = ss.map_assignment(net, method=ss.inference.AutomaticSearch(), until=0)
        assert stopped.log_value <= found.log_value + 1e-9 <= stopped.bound + 2e-9


def test_what_is_too_wide_is_searched_and_says_so():
    rng = np.random.default_rng(1)
    pixel = ss.Discrete.array("pixel", (40, 40))
    net = ss.MarkovNet.potts(pixel, 0.8, log_values=rng.normal(size=(40, 40, 2)))
    found = ss.map_assignment(net)
    assert (found.info["search"], found.gap) == ("MinCut", 0.0)
    assert "entries" in str(found.info["why"]) or "memory" in str(found.info["why"])
    shade = ss.Discrete.array("shade", (30, 30), states=5)
    smooth = ss.MarkovNet.potts(shade, 0.8, log_values=rng.normal(size=(30, 30, 5)))
    found = ss.map_assignment(smooth, given={shade[0, 0]: 2}, until=ss.Until(steps=100))
    assert found.bound >= found.log_value
    assert found.gap <= 0.01 * abs(found.log_value)
    assert found.certificate.check()


def test_some_variables_are_refused_as_before():
    pixel = ss.Discrete.array("pixel", (40, 40))
    net = ss.MarkovNet.potts(pixel, 0.8)
    with pytest.raises(ss.TooLarge):
        ss.map_assignment(net, k=2, over=[pixel[0, 0]])
    with pytest.raises(ss.TooLarge):
        ss.map_assignment(net, over=[pixel[0, 0]])
    with pytest.raises(ss.TooLarge):
        ss.map_assignment(net, method=ss.CliqueTree())


def test_a_search_of_several_methods_takes_a_checkpoint(tmp_path):
    rng = np.random.default_rng(3)
    shade = ss.Discrete.array("shade", (12, 12), states=4)
    net = ss.MarkovNet.potts(shade, 0.9, log_values=rng.normal(size=(12, 12, 4)))
    how = {"method": ss.inference.AutomaticSearch(), "checkpoint": tmp_path / "c"}
    first = ss.map_assignment(net, until=ss.Until(steps=2, tolerance=None), **how)
    rest = ss.map_assignment(net, until=ss.Until(steps=40, tolerance=None), **how)
    assert rest.bound <= first.bound
    assert rest.log_value >= first.log_value - 1e-9


def test_groups_and_questions_for_some_variables_have_searches_of_their_own():
    rng = np.random.default_rng(8)
    item = ss.Discrete.array("item", (40,), states=3)
    groups = ss.factors.FactorBlock([range(20), range(20, 40)], (3,) * 20, values=ss.potentials.RobustPotts(4.0, 3))
    alone = ss.factors.FactorBlock(np.arange(40)[:, None], (3,), values=rng.normal(size=(40, 3)), space="log")
    net = ss.MarkovNet(alone, groups, variables=[item])
    found = ss.map_assignment(net, method=ss.inference.AutomaticSearch())
    assert found.info["search"] == "AlphaExpansion"
    bits = ss.Discrete.array("bit", (12,))
    friends = ss.factors.FactorBlock([range(12)], (2,) * 12, values=ss.potentials.RobustPotts(2.0, 3))
    own = ss.factors.FactorBlock(np.arange(12)[:, None], (2,), values=rng.normal(size=(12, 2)), space="log")
    cut = ss.map_assignment(ss.MarkovNet(own, friends, variables=[bits]), method=ss.inference.AutomaticSearch())
    assert cut.info["search"] == "MinCut"
    assert cut.log_value == pytest.approx(ss.map_assignment(ss.MarkovNet(own, friends, variables=[bits])).log_value)
    some = ss.map_assignment(ss.datasets.load("asia"), over=["smoke"], method=ss.inference.AutomaticSearch())
    assert dict(some.assignment) == dict(ss.map_assignment(ss.datasets.load("asia"), over=["smoke"]).assignment)


def test_frustrated_grids_are_proved_by_triplets():
    rng = np.random.default_rng(9)
    spin = ss.Discrete.array("spin", (9, 9), states=(-1, 1))
    net = ss.MarkovNet.ising(spin, rng.normal(size=len(spin.grid_edges())), field=0.2 * rng.normal(size=(9, 9)))
    found = ss.map_assignment(net, method=ss.inference.AutomaticSearch())
    assert found.log_value == pytest.approx(ss.map_assignment(net, method=ss.CliqueTree()).log_value, abs=1e-9)
    assert found.guarantees["assignment"] is ss.Guarantee.EXACT
    assert found.certificate.check()


@pytest.mark.parametrize("fits", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_the_k_best_by_enumeration(seed, fits, monkeypatch):
    """Ties, zeros, one-state and loose variables; where no search for a proof fits, what is listed is different."""
    if not fits:
        monkeypatch.setattr(automatic, "SMALL", -1)
    for each in range(10):
        rng = np.random.default_rng([seed, each])
        wiring, k = random_wiring(rng, most=6), int(rng.integers(2, 9))
        values = [v for v in ranked(wiring) if v > -np.inf]
        if not values:
            continue
        found = assigned(automatic.AutomaticSearch(), task_of(wiring, k=k, until=20))
        assert len({tuple(codes) for codes in found.codes.tolist()}) == len(found.codes) <= k
        assert list(found.log_values) == sorted(found.log_values, reverse=True)
        if fits or found.guarantee is ss.Guarantee.EXACT:
            np.testing.assert_allclose(found.log_values, values[:k], atol=1e-8)
            assert found.guarantee is ss.Guarantee.EXACT
        assert found.log_values[0] <= values[0] + 1e-9 <= found.bound + 2e-9
        listed = {tuple(codes) for codes in found.codes.tolist()}
        rest = [wiring.log_value(codes) for codes in every(wiring) if tuple(codes) not in listed]
        assert max(rest, default=-np.inf) <= found.info["others"] + 1e-9


def test_the_k_best_where_clique_trees_are_too_wide():
    """Pairs of all of many variables, of little weight: the best two differ in the least certain variable."""
    rng = np.random.default_rng(5)
    coin, certain = ss.Discrete.array("coin", (45,)), rng.permutation(45) / 2.0 + 1.0
    pairs = np.stack(np.triu_indices(45, 1), axis=1)
    weak = ss.factors.FactorBlock(pairs, (2, 2), values=1e-4 * rng.normal(size=(len(pairs), 2, 2)), space="log")
    alone = np.stack([np.zeros(45), certain], axis=1)
    net = ss.MarkovNet(
        ss.factors.FactorBlock(np.arange(45)[:, None], (2,), values=alone, space="log"), weak, variables=[coin]
    )
    found = ss.map_assignment(net, k=3)
    assert found.guarantees["assignment"] is ss.Guarantee.EXACT
    assert "HybridBestFirst" in found.info["search"]
    best, *others = (each.codes for each in found.assignments)
    assert best.all()
    assert [certain[other == 0].tolist() for other in others] == [[1.0], [1.5]]
    with pytest.raises(ss.errors.NotApplicable, match=r"Use HybridBestFirst\(\)"):
        ss.map_assignment(net, k=3, method=ss.inference.AndOrSearch())
