"""Expansions, swaps and fusions: each the best of all its choices, and never worse."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

import sepset as ss
from sepset.factors.potentials import TruncatedQuadratic
from sepset.inference.map import moves
from sepset.inference.map.moves import fused, move_energy, truncated
from support.wired import METRICS, random_pairs


def choices(wiring, keep, take):
    for chosen in itertools.product([False, True], repeat=wiring.num_variables):
        yield np.where(chosen, take, keep)


@pytest.mark.parametrize("seed", range(120))
def test_moves_are_best_by_enumeration(seed):
    rng = np.random.default_rng(seed)
    wiring = random_pairs(rng)
    states = int(wiring.plugs.cards[0])
    codes = rng.integers(states, size=wiring.num_variables)
    for alpha in range(states):
        offer = ss.AlphaExpansion().offered(codes, (-1, alpha), cards=wiring.plugs.cards)
        assert move_energy(wiring, codes, offer).is_submodular
        best = max(wiring.log_value(c) for c in choices(wiring, codes, offer))
        assert wiring.log_value(fused(wiring, codes, offer)) == pytest.approx(best, abs=1e-9)
    for move in itertools.combinations(range(states), 2):
        offer = ss.AlphaBetaSwap().offered(codes, move, cards=wiring.plugs.cards)
        best = max(wiring.log_value(c) for c in choices(wiring, codes, offer))
        assert wiring.log_value(fused(wiring, codes, offer)) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(80))
def test_energies_of_choices_and_fusions_that_never_hurt(seed):
    rng = np.random.default_rng(seed)
    wiring = random_pairs(rng, tables=True, zeros=0.15 * (seed % 2))
    cards = wiring.plugs.cards
    keep, take = (np.array([rng.integers(c) for c in cards], np.int64) for _ in range(2))
    energy = move_energy(wiring, keep, take)
    for chosen in itertools.product([0, 1], repeat=len(cards)):
        t = np.array(chosen, np.int64)
        if not (t[keep == take]).any():
            assert energy.value(t) == pytest.approx(-wiring.log_value(np.where(t, take, keep)), abs=1e-9)
    found = fused(wiring, keep, take)
    assert wiring.log_value(found) >= wiring.log_value(keep)


def test_truncated_energies_never_hurt():
    """The decrease of a truncated energy is never more than that of the energy, whatever is chosen."""
    frustrated = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        wiring = random_pairs(rng, tables=True, zeros=0.15 * (seed % 2))
        keep, take = (np.array([rng.integers(c) for c in wiring.plugs.cards], np.int64) for _ in range(2))
        energy = move_energy(wiring, keep, take)
        smaller, none = truncated(energy), np.zeros(len(keep), np.int64)
        assert smaller.is_submodular
        frustrated += not energy.is_submodular
        if not np.isfinite(energy.value(none)):
            continue
        for chosen in itertools.product([0, 1], repeat=len(keep)):
            t = np.array(chosen, np.int64)
            assert smaller.value(t) - smaller.value(none) >= energy.value(t) - energy.value(none) - 1e-9
    assert frustrated > 10


def test_a_frustrated_triangle_is_solved_from_equal_states():
    a, b, c = (ss.Discrete(n) for n in "abc")
    net = ss.MarkovNet(*(ss.Table(pair, [[1, 2], [2, 1]]) for pair in [(a, b), (b, c), (a, c)]))
    for method in (ss.AlphaExpansion(), ss.AlphaBetaSwap()):
        found = ss.map_assignment(net, method=method, start={"a": 0, "b": 0, "c": 0})
        assert found.log_value == pytest.approx(np.log(4.0))


@pytest.mark.parametrize("seed", range(40))
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
            offer = method.offered(codes, move, cards=wiring.plugs.cards)
            if move_energy(wiring, codes, offer).is_submodular:
                assert max(wiring.log_value(c) for c in choices(wiring, codes, offer)) <= found.log_values[0] + 1e-9
        assert found.log_values[0] <= best + 1e-9
        assert (np.diff(found.trace) >= 0.0).all()
        assert found.guarantee is ss.Guarantee.LOCAL_OPTIMUM


@pytest.mark.parametrize("seed", range(30))
def test_potts_expansions_are_within_twice_the_smallest_energy(seed):
    rng = np.random.default_rng(seed)
    n, states = 5, 3
    variables = [ss.Discrete(f"v{i}", states) for i in range(n)]
    nodes = {v: rng.random(states) * 3 for v in variables}
    edges = {pair: rng.random() * 2 * (1 - np.eye(states)) for pair in itertools.combinations(variables, 2)}
    net = ss.MarkovNet.pairwise_energies(nodes, edges)
    smallest = -ss.map_assignment(net).log_value
    assert -ss.map_assignment(net, method=ss.AlphaExpansion()).log_value <= 2.0 * smallest + 1e-9


def test_wide_factors_are_refused_by_number_and_runs_resume(tmp_path):
    a, b, c = (ss.Discrete(n) for n in "abc")
    with pytest.raises(ss.errors.NotApplicable, match="AlphaExpansion takes larger factors that become pairs"):
        ss.map_assignment(ss.MarkovNet(ss.Table((a, b, c), np.arange(8.0))), method=ss.AlphaExpansion())
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
    offers, clock, offered = [], iter(range(1000)), ss.AlphaBetaSwap.offered

    def counted(self, codes, move, *, cards):
        offers.append(move)
        return offered(self, codes, move, cards=cards)

    monkeypatch.setattr(moves, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(moves, "deadline", lambda until: 3.0)
    monkeypatch.setattr(ss.AlphaBetaSwap, "offered", counted)
    found = ss.map_assignment(net, method=ss.AlphaBetaSwap(), until=1)
    assert offers == [(0, 1), (0, 2), (0, 3)]
    assert found.guarantees["assignment"] is ss.Guarantee.HEURISTIC
