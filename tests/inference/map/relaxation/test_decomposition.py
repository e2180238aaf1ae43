"""Dual decomposition: valid bounds at every stop, proofs, and assignments."""

import numpy as np
import pytest

import sepset as ss
from sepset.inference.assignment import assign
from sepset.inference.map.relaxation.decomposition import DualDecomposition
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks
from support.planted import planted_union
from support.wired import best_value, local_polytope, random_problem, task_of

HOW = [("polyak", "trees"), ("polyak", "factors"), ("decaying", "trees"), ("smoothed", "trees"), ("admm", "factors")]


@pytest.mark.parametrize("how", HOW)
@in_blocks("seed", range(8))
def test_bounds_are_never_below_the_best_value(seed, how):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_problem(rng)) if seed % 2 else planted_union(rng, 2)[0]
    best = best_value(wiring)
    if best == -np.inf:
        return
    found = assign(DualDecomposition(*how), task_of(wiring, until=int(rng.integers(1, 30))))
    assert (np.diff(found.trace) >= 0.0).all()  # the trace is minus the least bound
    assert found.log_values[0] - 1e-9 <= best <= found.bound + 1e-9
    assert found.certificate.check()
    if found.guarantee is ss.Guarantee.EXACT:
        assert found.log_values[0] == pytest.approx(best, abs=1e-7)


@pytest.mark.parametrize("how", HOW)
def test_bounds_fall_to_that_of_the_linear_program(how):
    rng = np.random.default_rng(0)
    spins = [ss.Discrete(f"s{i}") for i in range(5)]
    pairs = [(spins[i], spins[j]) for i in range(5) for j in range(i)]
    tables = [np.exp(w * np.eye(2)) for w in rng.normal(size=len(pairs))]
    net = ss.MarkovNet(*(ss.Table(*each) for each in zip(pairs, tables, strict=True)))
    wiring = Wiring.of(net.as_written())
    expected = local_polytope(wiring)
    assert expected > best_value(wiring) + 0.1
    found = assign(DualDecomposition(*how), task_of(wiring, until=200))
    assert expected - 1e-7 <= found.bound < expected + 0.03


def test_multiple_states_where_messages_of_single_factors_may_stop():
    rng = np.random.default_rng(3)
    pixel = ss.Discrete.array("pixel", (4, 4), states=3)
    net = ss.MarkovNet.potts(pixel, 0.8, log_values=rng.normal(size=(4, 4, 3)))
    exact = ss.map_assignment(net)
    for how in HOW:
        found = ss.map_assignment(net, method=DualDecomposition(*how), until=100)
        assert found.bound >= exact.log_value - 1e-9
        assert found.log_value == pytest.approx(exact.log_value)


def test_runs_resume_and_bad_questions_are_refused(tmp_path):
    rng = np.random.default_rng(1)
    spin = ss.Discrete.array("spin", (3, 3), states=(-1, 1))
    glass = ss.MarkovNet.ising(spin, rng.normal(size=len(spin.grid_edges())), field=0.2)
    for number, how in enumerate(HOW):
        method, rule, path = DualDecomposition(*how), ss.Until(steps=8, tolerance=None), tmp_path / str(number)
        whole = ss.map_assignment(glass, method=method, until=rule)
        ss.map_assignment(glass, method=method, until=ss.Until(steps=3, tolerance=None), checkpoint=path)
        rest = ss.map_assignment(glass, method=method, until=rule, checkpoint=path)
        np.testing.assert_array_equal(rest.trace, whole.trace)
        assert (rest.bound, rest.log_value) == (whole.bound, whole.log_value)
    assert ss.map_assignment(ss.MarkovNet(), method=DualDecomposition()).log_value == 0.0
    a = ss.Discrete("a")
    with pytest.raises(ss.ImpossibleEvidence):
        ss.map_assignment(ss.MarkovNet(ss.Table(a, [0, 0])), method=DualDecomposition())
    for bad in ({"update": "newton"}, {"over": "stars"}, {"decode_every": 0}, {"update": "admm"}):
        with pytest.raises(ss.errors.ArgumentError, match="DualDecomposition"):
            DualDecomposition(**bad)
