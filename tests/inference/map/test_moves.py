"""Expansions and swaps: each the best of all its choices, and never worse."""

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.base.threads import OutOfTime
from sepset.factors.potentials import TruncatedQuadratic
from sepset.inference.map import moves
from sepset.inference.map.fusion import fused, move_energy
from support.blocks import in_blocks
from support.wired import METRICS, random_pairs, task_of


def choices(wiring, keep, take):
    for chosen in itertools.product([False, True], repeat=wiring.num_variables):
        yield np.where(chosen, take, keep)


@in_blocks("seed", range(120))
def test_moves_are_best_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    wiring = random_pairs(rng)
    states = int(wiring.plugs.cards[0])
    codes = rng.integers(states, size=wiring.num_variables)
    for method in (ss.AlphaExpansion(), ss.AlphaBetaSwap()):
        for move in method.proposals(states):
            keep, take = method.options(codes, move, cards=wiring.plugs.cards)
            assert ((codes == keep) | (codes == take)).all()
            assert move_energy(wiring, keep, take, method).is_submodular
            best = max(wiring.log_value(c) for c in choices(wiring, keep, take))
            assert wiring.log_value(fused(wiring, keep, take, method)) == pytest.approx(best, abs=1e-9)


def test_moves_are_offered_to_variables_that_have_the_states():
    codes, cards = np.array([0, 1, 2, 0, 1]), np.array([3, 3, 3, 1, 2])
    keep, take = ss.AlphaExpansion().options(codes, (-1, 2), cards=cards)
    assert (keep.tolist(), take.tolist()) == (codes.tolist(), [2, 2, 2, 0, 1])
    keep, take = ss.AlphaBetaSwap().options(codes, (1, 2), cards=cards)
    assert (keep.tolist(), take.tolist()) == ([0, 1, 1, 0, 1], [0, 2, 2, 0, 1])


def test_a_frustrated_triangle_is_solved_from_equal_states():
    a, b, c = (ss.Discrete(n) for n in "abc")
    net = ss.MarkovNet(*(ss.Table(pair, [[1, 2], [2, 1]]) for pair in [(a, b), (b, c), (a, c)]))
    for method in (ss.AlphaExpansion(), ss.AlphaBetaSwap()):
        found = ss.map_assignment(net, method=method, start={"a": 0, "b": 0, "c": 0})
        assert found.log_value == pytest.approx(np.log(4.0))


@in_blocks("seed", range(40))
def test_no_move_of_the_result_is_better(seed):
    rng = np.random.default_rng(seed)
    wiring = random_pairs(rng, potentials=[*METRICS, TruncatedQuadratic(0.4)])
    task = ss.inference.AssignmentTask(None, None)
    task.__dict__["wiring"] = wiring
    best = max(wiring.log_value(c) for c in itertools.product(*(range(int(c)) for c in wiring.plugs.cards)))
    for method in (ss.AlphaExpansion(), ss.AlphaBetaSwap()):
        found = method.assign(task)
        codes = found.codes[0]
        for move in method.proposals(int(wiring.plugs.cards[0])):
            keep, take = method.options(codes, move, cards=wiring.plugs.cards)
            if move_energy(wiring, keep, take, method).is_submodular:
                assert max(wiring.log_value(c) for c in choices(wiring, keep, take)) <= found.log_values[0] + 1e-9
        assert found.log_values[0] <= best + 1e-9
        assert (np.diff(found.trace) >= 0.0).all()
        assert found.guarantee is ss.Guarantee.LOCAL_OPTIMUM


@in_blocks("seed", range(30))
def test_potts_expansions_are_within_twice_the_smallest_energy(seed):
    rng = np.random.default_rng(seed)
    n, states = 5, 3
    variables = [ss.Discrete(f"v{i}", states) for i in range(n)]
    nodes = {v: rng.random(states) * 3 for v in variables}
    edges = {pair: rng.random() * 2 * (1 - np.eye(states)) for pair in itertools.combinations(variables, 2)}
    net = ss.MarkovNet.pairwise_energies(nodes, edges)
    smallest = -ss.map_assignment(net).log_value
    assert -ss.map_assignment(net, method=ss.AlphaExpansion()).log_value <= 2.0 * smallest + 1e-9


@in_blocks("seed", range(60))
def test_local_optima_have_no_better_single_change(seed):
    """Also where moves are not submodular, and cuts leave some of their choices open."""
    rng = np.random.default_rng([seed, 2])
    wiring = random_pairs(rng, tables=True, zeros=0.1 * (seed % 2))
    task = task_of(wiring)
    for method in (ss.AlphaExpansion(), ss.AlphaBetaSwap()):
        found = method.assign(task)
        if found.log_values[0] == -np.inf:
            continue
        assert found.guarantee is ss.Guarantee.LOCAL_OPTIMUM
        codes = found.codes[0]
        for i, card in enumerate(wiring.plugs.cards.tolist()):
            for state in range(card):
                changed = np.where(np.arange(len(codes)) == i, state, codes)
                assert wiring.log_value(changed) <= found.log_values[0] + 1e-9
        for move in method.proposals(int(wiring.plugs.cards.max())) if not found.info["open_moves"] else ():
            options = method.options(codes, move, cards=wiring.plugs.cards)
            assert max(wiring.log_value(c) for c in choices(wiring, *options)) <= found.log_values[0] + 1e-9


def test_flows_of_earlier_moves_change_nothing_but_the_work(monkeypatch):
    rng = np.random.default_rng(4)
    pixel = ss.Discrete.array("pixel", (12, 12), states=5)
    net = ss.MarkovNet.potts(pixel, 0.9, log_values=rng.normal(size=(12, 12, 5)))
    kept = ss.map_assignment(net, method=ss.AlphaExpansion())
    monkeypatch.setattr(moves, "MOST_KEPT", 0)
    fresh = ss.map_assignment(net, method=ss.AlphaExpansion())
    np.testing.assert_array_equal(kept[pixel], fresh[pixel])
    np.testing.assert_array_equal(kept.trace, fresh.trace)
    assert kept.info["open_moves"] == 0
    assert kept.info["moves"] > 2


def test_wide_factors_are_refused_by_number_and_runs_resume(tmp_path):
    a, b, c = (ss.Discrete(n) for n in "abc")
    for method in (ss.AlphaExpansion(), ss.AlphaBetaSwap()):
        with pytest.raises(ss.errors.NotApplicable, match=f"{type(method).__name__} takes larger factors that become"):
            ss.map_assignment(ss.MarkovNet(ss.Table((a, b, c), np.arange(8.0))), method=method)
    rng = np.random.default_rng(0)
    pixel = ss.Discrete.array("pixel", (8, 8), states=4)
    net = ss.MarkovNet.potts(pixel, 0.7, log_values=rng.normal(size=(8, 8, 4)))
    whole = ss.map_assignment(net, method=ss.AlphaExpansion())
    ss.map_assignment(net, method=ss.AlphaExpansion(), until=1, checkpoint=tmp_path / "c")
    rest = ss.map_assignment(net, method=ss.AlphaExpansion(), checkpoint=tmp_path / "c")
    np.testing.assert_array_equal(rest[pixel], whole[pixel])
    np.testing.assert_array_equal(rest.trace, whole.trace)


def test_rounds_end_within_the_time(monkeypatch):
    rng = np.random.default_rng(1)
    pixel = ss.Discrete.array("pixel", (4, 4), states=5)
    net = ss.MarkovNet.potts(pixel, 0.5, log_values=rng.normal(size=(4, 4, 5)))
    offers, options = [], ss.AlphaBetaSwap.options

    def counted(self, codes, move, *, cards):
        offers.append(move)
        return options(self, codes, move, cards=cards)

    def ends():
        if len(offers) == 3:
            raise OutOfTime

    monkeypatch.setattr(moves, "require_time", ends)
    monkeypatch.setattr(ss.AlphaBetaSwap, "options", counted)
    found = ss.map_assignment(net, method=ss.AlphaBetaSwap(), until=1)
    assert offers == [(0, 1), (0, 2), (0, 3)]
    assert found.guarantees["assignment"] is ss.Guarantee.HEURISTIC
