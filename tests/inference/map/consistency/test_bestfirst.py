"""Hybrid best-first search finds the best assignments, and its bound holds wherever it stops."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

import sepset as ss
from sepset.base.threads import NEVER
from sepset.factors.block import FactorBlock
from sepset.inference.map import branching
from sepset.inference.map.consistency import bestfirst, part
from sepset.inference.map.dual import assigned
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks
from support.cost_networks import every, random_wiring, ranked
from support.wired import random_problem, task_of


def solved(wiring, rng, k):
    entries, sweeps, virtual = int(rng.integers(1, 17)), int(rng.integers(0, 4)), int(rng.choice([0, 20]))
    method = ss.inference.HybridBestFirst(entries, sweeps, virtual=virtual, persistency=k == 1 and rng.random() < 0.3)
    start = np.array([rng.integers(c) for c in wiring.plugs.cards], np.int64) if rng.random() < 0.5 else None
    task, values = task_of(wiring, k=k, start=start), ranked(wiring)
    if values[0] == -np.inf:
        with pytest.raises(ss.ImpossibleEvidence):
            assigned(method, task)
        return
    found = assigned(method, task)
    possible = [v for v in values[:k] if v > -np.inf]
    np.testing.assert_allclose(found.log_values, possible, atol=1e-8)
    assert len({tuple(codes) for codes in found.codes.tolist()}) == len(possible)
    assert found.guarantee is ss.Guarantee.EXACT
    if rng.random() < 0.1:
        assert found.certificate.check()


@in_blocks("seed", range(30))
def test_the_best_assignments_by_enumeration(seed):
    for each in range(12):
        rng = np.random.default_rng([seed, each])
        solved(random_wiring(rng), rng, int(rng.integers(1, 5)) if each % 3 == 0 else 1)


@in_blocks("seed", range(10))
def test_named_potentials_and_shared_tables_by_enumeration(seed):
    for each in range(6):
        rng = np.random.default_rng([7, seed, each])
        solved(Wiring.of(random_problem(rng)), rng, int(rng.integers(1, 3)))


@pytest.mark.parametrize("seed", range(8))
def test_bounds_hold_wherever_a_search_stops(seed, monkeypatch):
    monkeypatch.setattr(bestfirst, "LEAST", 1)
    monkeypatch.setattr(bestfirst, "MOST", 1)
    monkeypatch.setattr(part, "SHORT", 1)
    rng = np.random.default_rng(seed)
    variables = [ss.Discrete(f"v{i}", 3) for i in range(7)]
    scopes = [[variables[i] for i in rng.permutation(7)[:3]] for _ in range(12)]
    whole_numbers = rng.integers(0 if seed % 2 else 1, 4, (12, 3, 3, 3)).astype(float)  # ties and zeros
    net = ss.MarkovNet(*(ss.Table(s, t) for s, t in zip(scopes, whole_numbers, strict=True)), variables=variables)
    wiring = Wiring.of(net.problem())
    best = ranked(wiring)[0]
    if best == -np.inf:
        return
    method, bounds = ss.inference.HybridBestFirst(entries=1, sweeps=0), []
    for steps in range(0, 20, 2):
        found = assigned(method, task_of(wiring, until=ss.Until(steps=steps, tolerance=None)))
        assert found.log_values[0] <= best + 1e-9 <= found.bound + 2e-9
        assert found.certificate.check()
        bounds.append(found.bound)
    assert (np.diff(bounds) <= 1e-9).all()
    assert assigned(method, task_of(wiring)).log_values[0] == pytest.approx(best)


@pytest.mark.parametrize("method", [ss.inference.HybridBestFirst(sweeps=0), ss.BranchAndBound(entries=2, rounds=1)])
def test_what_is_known_of_several_holds_wherever_a_search_stops(method, monkeypatch):
    """Several assignments are exact only if nothing that is left could be among them."""
    for module, names in (
        (bestfirst, ("LEAST", "MOST")),
        (part, ("SHORT",)),
        (branching, ("LEAST_NODES", "MOST_NODES")),
    ):
        for name in names:
            monkeypatch.setattr(module, name, 1)
    open_ones = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, 11])
        wiring, k = random_wiring(rng, most=6), int(rng.integers(2, 7))
        values = ranked(wiring)
        for steps in (0, 1, 3, 9, 30, 90) if values[0] > -np.inf else ():
            found = assigned(method, task_of(wiring, k=k, until=ss.Until(steps=steps, tolerance=None)))
            listed = {tuple(codes) for codes in found.codes.tolist()}
            rest = [wiring.log_value(codes) for codes in every(wiring) if tuple(codes) not in listed]
            assert max(rest, default=-np.inf) <= found.info["others"] + 1e-9
            assert values[0] <= found.bound + 1e-9
            if found.guarantee is ss.Guarantee.EXACT:
                possible = [v for v in values[:k] if v > -np.inf]
                np.testing.assert_allclose(found.log_values, possible, atol=1e-8)
            else:
                assert len(listed) < k or max(found.info["others"], found.bound) > found.log_values[-1]
                open_ones += 1
            assert found.certificate.check()
    assert open_ones > 10


@in_blocks("seed", range(6))
def test_the_order_of_factors_and_variables_does_not_matter(seed):
    rng = np.random.default_rng([2, seed])
    names = [f"v{i}" for i in range(8)]
    tables = [(rng.permutation(8)[:3], rng.integers(0, 4, (2, 2, 2)).astype(float) + 0.1) for _ in range(10)]
    values = []
    for _ in range(3):
        order, place = rng.permutation(8), rng.permutation(10)
        variables = {int(i): ss.Discrete(names[i]) for i in order}
        factors = [ss.Table([variables[int(i)] for i in tables[f][0]], tables[f][1]) for f in place]
        net = ss.MarkovNet(*factors, variables=list(variables.values()))
        values.append(ss.map_assignment(net, method=ss.inference.HybridBestFirst()).log_value)
    assert values == pytest.approx([values[0]] * 3)
    assert values[0] == pytest.approx(ss.map_assignment(net).log_value)


def test_wide_factors_of_variables_with_forbidden_states():
    rng = np.random.default_rng(8)
    x = ss.Discrete.array("x", (12,), states=3)
    scopes = np.stack([rng.permutation(12)[:9] for _ in range(2)])
    wide = ss.factors.FactorBlock(scopes, (3,) * 9, values=rng.integers(0, 3, (2, *[3] * 9)).astype(float), space="log")
    alone = ss.factors.FactorBlock(np.arange(12)[:, None], (3,), values=np.tile([0.0, 0.5, 1.0], (12, 1)))
    net = ss.MarkovNet(wide, alone, variables=[x])
    for sweeps in (0, 5):
        found = ss.map_assignment(net, method=ss.inference.HybridBestFirst(entries=1, sweeps=sweeps))
        assert found.log_value == pytest.approx(ss.map_assignment(net).log_value)
        assert found.guarantees["assignment"] is ss.Guarantee.EXACT


def test_runs_resume_and_bad_questions_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(bestfirst, "LEAST", 1)
    monkeypatch.setattr(bestfirst, "MOST", 1)
    monkeypatch.setattr(part, "SHORT", 1)
    rng = np.random.default_rng(0)
    spin = ss.Discrete.array("spin", (7, 7), states=(-1, 1))
    glass = ss.MarkovNet.ising(spin, rng.normal(size=len(spin.grid_edges())))
    method, path = ss.inference.HybridBestFirst(entries=1, sweeps=0), tmp_path / "c"
    whole = ss.map_assignment(glass, method=method)
    assert len(whole.trace) > 3
    ss.map_assignment(glass, method=method, until=ss.Until(steps=2, tolerance=None), checkpoint=path)
    rest = ss.map_assignment(glass, method=method, checkpoint=path)
    np.testing.assert_array_equal(rest.trace, whole.trace)
    assert whole.log_value == pytest.approx(ss.map_assignment(glass).log_value)
    assert whole.guarantees["assignment"] is ss.Guarantee.EXACT
    with pytest.raises(ss.errors.NotApplicable, match="HybridBestFirst maximizes over all"):
        ss.map_assignment(glass, over=[spin[0, 0]], method=method)
    with pytest.raises(ss.errors.ArgumentError, match="entries"):
        ss.inference.HybridBestFirst(entries=0)
    bit = ss.Discrete.array("bit", (30,))
    parity = ss.factors.FactorBlock([list(range(30))], (2,) * 30, values=ss.potentials.Parity())
    with pytest.raises(ss.errors.NotApplicable, match="factor 0 has 30 variables"):
        ss.map_assignment(ss.MarkovNet(parity, variables=[bit]), method=method)
    for k in (1, 2):
        assert ss.map_assignment(ss.MarkovNet(), k=k, method=method).log_value == 0.0


def test_a_step_ends_when_time_does(monkeypatch):
    most = 2**12
    monkeypatch.setattr(bestfirst, "LEAST", most)
    monkeypatch.setattr(bestfirst, "MOST", most)
    monkeypatch.setattr(part, "SHORT", most)
    rng = np.random.default_rng(3)
    scopes = np.stack([rng.permutation(60)[:3] for _ in range(240)])
    block = FactorBlock(scopes, (3, 3, 3), values=rng.normal(size=(240, 3, 3, 3)), space="log")
    net = ss.MarkovNet(block, variables=[ss.Discrete.array("x", (60,), states=3)])
    with ThreadPoolExecutor(1) as other:  # where no interrupt arrives, too
        ask = partial(ss.map_assignment, net, method=ss.inference.HybridBestFirst(), until=ss.Until(seconds=0.2))
        for found in (ask(), other.submit(ask).result()):
            assert found.status is ss.Status.TIME_LIMIT
            assert found.log_value < found.bound
            assert found.info["backtracks"] < most
    assert NEVER[0] == 0
