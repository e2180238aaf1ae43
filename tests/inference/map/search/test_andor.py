"""AND/OR search finds the best assignment with any caches, and its bound holds wherever it stops."""

import numpy as np
import pytest

import sepset as ss
from sepset.inference.assignment import assign
from sepset.inference.map.search import andor
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks
from support.sparse import joint, sparse_wiring
from support.wired import best_value, random_problem, task_of


def random_method(rng):
    cache = int(rng.choice([0, 5, 40, 10**6]))
    return ss.inference.AndOrSearch(int(rng.integers(1, 9)), cache=cache, rounds=int(rng.integers(1, 4)))


@in_blocks("seed", range(12))
def test_the_best_assignment_by_enumeration(seed):
    for each in range(10):
        rng = np.random.default_rng([seed, each])
        wiring = Wiring.of(random_problem(rng))
        best, task, method = best_value(wiring), task_of(wiring), random_method(rng)
        if best == -np.inf:
            with pytest.raises(ss.ImpossibleEvidence):
                assign(method, task)
            continue
        found = assign(method, task)
        assert found.log_values[0] == pytest.approx(best, abs=1e-9)
        assert found.guarantee is ss.Guarantee.EXACT
        assert found.certificate.check()


@pytest.mark.parametrize("seed", range(24))
def test_sparse_models_with_ties_and_zeros(seed, monkeypatch):
    monkeypatch.setattr(andor, "LEAST_MOVES", 50)
    rng = np.random.default_rng(seed)
    wiring = sparse_wiring(rng, zeros=0.1 * (seed % 3), ties=seed % 2 == 0, factors=int(rng.integers(6, 18)))
    best, method = joint(wiring).max(), random_method(rng)
    if best == -np.inf:
        with pytest.raises(ss.ImpossibleEvidence):
            assign(method, task_of(wiring))
        return
    found = assign(method, task_of(wiring))
    assert found.log_values[0] == pytest.approx(best, abs=1e-9)
    assert found.guarantee is ss.Guarantee.EXACT
    assert found.certificate.check()


@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_wherever_a_search_stops(seed, monkeypatch):
    monkeypatch.setattr(andor, "LEAST_MOVES", 20)
    monkeypatch.setattr(andor, "MOST_MOVES", 20)
    rng = np.random.default_rng(seed)
    wiring = sparse_wiring(rng, n=9, factors=20, zeros=0.0, ties=seed % 2 == 0)
    best, bounds = joint(wiring).max(), []
    method = ss.inference.AndOrSearch(3, cache=[0, 10**4][seed % 2], rounds=1)
    for steps in range(0, 60, 15):
        found = assign(method, task_of(wiring, until=ss.Until(steps=steps, tolerance=None)))
        assert found.log_values[0] <= best + 1e-9 <= found.bound + 2e-9
        assert found.certificate.check()
        bounds.append(found.bound)
    assert (np.diff(bounds) <= 1e-9).all()


def test_caches_save_work():
    spin, rng = ss.Discrete.array("spin", (6, 6), states=(-1, 1)), np.random.default_rng(1)
    glass = ss.MarkovNet.ising(spin, rng.normal(size=len(spin.grid_edges())))
    exact = ss.map_assignment(glass).log_value
    nodes = []
    for cache in (0, 10**6):
        found = ss.map_assignment(glass, method=ss.inference.AndOrSearch(4, cache=cache, rounds=1))
        assert found.log_value == pytest.approx(exact)
        assert (found.info["cached"] > 0) == (cache > 0)
        nodes.append(found.info["nodes"])
    assert nodes[1] < nodes[0] / 2
    assert found.info["width"] <= found.info["depth"]


def test_runs_resume_and_bad_questions_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(andor, "LEAST_MOVES", 5)
    rng = np.random.default_rng(0)
    spin = ss.Discrete.array("spin", (4, 4), states=(-1, 1))
    glass = ss.MarkovNet.ising(spin, rng.normal(size=len(spin.grid_edges())))
    method, path = ss.inference.AndOrSearch(4, rounds=1), tmp_path / "c"
    whole = ss.map_assignment(glass, method=method)
    ss.map_assignment(glass, method=method, until=ss.Until(steps=2, tolerance=None), checkpoint=path)
    rest = ss.map_assignment(glass, method=method, checkpoint=path)
    np.testing.assert_array_equal(rest.trace, whole.trace)
    assert dict(rest.assignment) == dict(whole.assignment)
    for bad in ({"entries": 0}, {"cache": -1}, {"rounds": 0}):
        with pytest.raises(ss.errors.ArgumentError, match=next(iter(bad))):
            ss.inference.AndOrSearch(**bad)
    with pytest.raises(ss.errors.NotApplicable, match="AndOrSearch finds one assignment; found k=2"):
        ss.map_assignment(glass, k=2, method=method)
    with pytest.raises(ss.errors.NotApplicable, match="AndOrSearch maximizes over all"):
        ss.map_assignment(glass, over=[spin[0, 0]], method=method)
    assert ss.map_assignment(ss.MarkovNet(), method=method).log_value == 0.0


def test_evidence_starts_and_permuted_models():
    asia = ss.datasets.load("asia")
    given = {"dysp": "yes", "xray": "no"}
    exact = ss.map_assignment(asia, given=given)
    found = ss.map_assignment(asia, given=given, method=ss.inference.AndOrSearch(2))
    assert dict(found.assignment) == dict(exact.assignment)
    rng = np.random.default_rng(4)
    variables = [ss.Discrete(f"v{i}", 3) for i in range(6)]
    parts = [ss.Table([variables[i] for i in rng.permutation(6)[:3]], rng.gamma(1.0, size=(3, 3, 3))) for _ in range(6)]
    one = ss.map_assignment(ss.MarkovNet(*parts), method=ss.inference.AndOrSearch(3))
    two = ss.map_assignment(ss.MarkovNet(*parts[::-1]), method=ss.inference.AndOrSearch(3), start=one)
    assert one.log_value == pytest.approx(two.log_value)
    assert dict(one.assignment) == dict(two.assignment)
