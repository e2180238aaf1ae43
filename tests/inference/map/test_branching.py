"""Branch and bound finds the best assignments, and its bound holds wherever it stops."""

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.inference.assignment import assign
from sepset.inference.map import branching
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks
from support.wired import random_problem, task_of


def ranked(wiring):
    joint = itertools.product(*(range(int(c)) for c in wiring.plugs.cards))
    return sorted((wiring.log_value(codes) for codes in joint), reverse=True)


@in_blocks("seed", range(30))
def test_the_best_assignments_by_enumeration(seed):
    for each in range(6):
        rng = np.random.default_rng([seed, each])
        wiring = Wiring.of(random_problem(rng))
        values, k = ranked(wiring), int(rng.integers(1, 6))
        task = task_of(wiring, k=k)
        method = ss.BranchAndBound(entries=int(rng.integers(1, 9)), rounds=int(rng.integers(1, 4)))
        if values[0] == -np.inf:
            with pytest.raises(ss.ImpossibleEvidence):
                assign(method, task)
            continue
        found = assign(method, task)
        possible = [v for v in values[:k] if v > -np.inf]
        np.testing.assert_allclose(found.log_values, possible, atol=1e-8)
        assert len({tuple(codes) for codes in found.codes.tolist()}) == len(possible)
        assert found.guarantee is ss.Guarantee.EXACT
        assert found.certificate.check()


@pytest.mark.parametrize("seed", range(12))
def test_bounds_hold_wherever_a_search_stops(seed, monkeypatch):
    monkeypatch.setattr(branching, "LEAST_NODES", 3)
    monkeypatch.setattr(branching, "MOST_NODES", 3)
    rng = np.random.default_rng(seed)
    variables = [ss.Discrete(f"v{i}", 3) for i in range(7)]
    scopes = [[variables[i] for i in rng.permutation(7)[:3]] for _ in range(12)]
    whole_numbers = rng.integers(0 if seed % 2 else 1, 4, (12, 3, 3, 3)).astype(float)  # ties and zeros
    net = ss.MarkovNet(*(ss.Table(s, t) for s, t in zip(scopes, whole_numbers, strict=True)), variables=variables)
    wiring = Wiring.of(net.problem())
    best = ranked(wiring)[0]
    if best == -np.inf:
        return
    method, bounds = ss.BranchAndBound(entries=3, rounds=1), []
    for steps in range(0, 40, 4):
        found = assign(method, task_of(wiring, until=ss.Until(steps=steps, tolerance=None)))
        assert found.log_values[0] <= best + 1e-9 <= found.bound + 2e-9
        assert found.certificate.check()
        bounds.append(found.bound)
    assert (np.diff(bounds) <= 1e-9).all()
    assert assign(method, task_of(wiring)).log_values[0] == pytest.approx(best)


def test_runs_resume_and_bad_questions_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(branching, "LEAST_NODES", 5)
    rng = np.random.default_rng(0)
    spin = ss.Discrete.array("spin", (4, 4), states=(-1, 1))
    glass = ss.MarkovNet.ising(spin, rng.normal(size=len(spin.grid_edges())))
    method, path = ss.BranchAndBound(entries=4, rounds=1), tmp_path / "c"
    whole = ss.map_assignment(glass, method=method)
    ss.map_assignment(glass, method=method, until=ss.Until(steps=2, tolerance=None), checkpoint=path)
    rest = ss.map_assignment(glass, method=method, checkpoint=path)
    np.testing.assert_array_equal(rest.trace, whole.trace)
    assert whole.log_value == pytest.approx(ss.map_assignment(glass).log_value)
    assert whole.guarantees["assignment"] is ss.Guarantee.EXACT
    with pytest.raises(ss.errors.NotApplicable, match="BranchAndBound maximizes over all"):
        ss.map_assignment(glass, over=[spin[0, 0]], method=method)
    with pytest.raises(ss.errors.ArgumentError, match="entries"):
        ss.BranchAndBound(entries=0)
    bit = ss.Discrete.array("bit", (30,))
    parity = ss.factors.FactorBlock([list(range(30))], (2,) * 30, values=ss.potentials.Parity())
    with pytest.raises(ss.errors.NotApplicable, match="factor 0 has 30 variables"):
        ss.map_assignment(ss.MarkovNet(parity, variables=[bit]), method=method)
    assert ss.map_assignment(ss.MarkovNet(), method=method).log_value == 0.0
