"""Sequential tree-reweighted message passing: bounds that fall, proofs, and assignments."""

import numpy as np
import pytest

import sepset as ss
from sepset.factors.potentials import Potts, TruncatedLinear, TruncatedQuadratic
from sepset.inference.assignment import assign
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks
from support.wired import METRICS, best_value, local_polytope, random_binary, random_pairs, task_of

KINDS = [*METRICS, Potts(-0.7), TruncatedLinear(-0.4, 2.0), TruncatedQuadratic(0.3, 3.0), TruncatedQuadratic(-0.2)]


@in_blocks("seed", range(200))
def test_bounds_fall_and_are_never_below_the_best_value(seed):
    rng = np.random.default_rng(seed)
    wiring = random_pairs(rng, potentials=KINDS, tables=seed % 2 == 0, zeros=0.2 * (seed % 4 == 0))
    best = best_value(wiring)
    if best == -np.inf:
        with pytest.raises(ss.errors.ImpossibleEvidence):
            assign(ss.TRWS(), task_of(wiring))
        return
    found = assign(ss.TRWS(), task_of(wiring, until=int(rng.integers(1, 60))))
    assert (np.diff(found.trace) >= -1e-9).all()  # the trace is minus the bound
    assert found.bound >= best - 1e-9
    assert found.log_values[0] <= best + 1e-9
    assert found.certificate.check()
    if found.guarantee is ss.Guarantee.EXACT:
        assert found.log_values[0] == pytest.approx(best, abs=1e-7)


@in_blocks("seed", range(60))
def test_binary_bounds_are_those_of_the_linear_program(seed):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_binary(rng, one_state=0.0))
    found = assign(ss.TRWS(), task_of(wiring, until=ss.Until(steps=3000, tolerance=1e-13)))
    assert found.bound == pytest.approx(local_polytope(wiring), abs=1e-5)


@in_blocks("seed", range(40))
def test_trees_are_exact(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 8))
    variables = [ss.Discrete(f"v{i}", int(rng.integers(1, 4))) for i in rng.permutation(n)]
    parts = [ss.Table(v, rng.gamma(1.0, size=v.num_states)) for v in variables]
    for i in range(1, n):
        pair = variables[i], variables[int(rng.integers(i))]
        parts.append(ss.Table(pair, rng.gamma(1.0, size=[v.num_states for v in pair])))
    net = ss.MarkovNet(*(parts[i] for i in rng.permutation(len(parts))))
    found = ss.map_assignment(net, method=ss.TRWS())
    assert found.log_value == pytest.approx(ss.map_assignment(net).log_value, abs=1e-9)
    assert found.guarantees["assignment"] is ss.Guarantee.EXACT


def test_frustrated_triangles_have_the_value_of_the_linear_program():
    a, b, c = (ss.Discrete(n) for n in "abc")
    apart = [[1.0, 2.0], [2.0, 1.0]]
    net = ss.MarkovNet(ss.Table((a, b), apart), ss.Table((b, c), apart), ss.Table((a, c), apart))
    found = ss.map_assignment(net, method=ss.TRWS())
    assert found.bound == pytest.approx(3 * np.log(2))  # the best value is log 4
    assert found.log_value == pytest.approx(np.log(4))
    assert found.guarantees["assignment"] is ss.Guarantee.HEURISTIC


def test_runs_resume_and_wide_factors_are_refused(tmp_path):
    rng = np.random.default_rng(1)
    pixel = ss.Discrete.array("pixel", (7, 7), states=3)
    net = ss.MarkovNet.potts(pixel, 0.8, log_values=rng.normal(size=(7, 7, 3)))
    rule = ss.Until(steps=30, tolerance=None)
    whole = ss.map_assignment(net, method=ss.TRWS(), until=rule)
    ss.map_assignment(net, method=ss.TRWS(), until=ss.Until(steps=2, tolerance=None), checkpoint=tmp_path / "c")
    rest = ss.map_assignment(net, method=ss.TRWS(), until=rule, checkpoint=tmp_path / "c")
    np.testing.assert_array_equal(rest.trace, whole.trace)
    assert (rest.bound, rest.log_value) == (whole.bound, whole.log_value)
    assert ss.map_assignment(net).log_value <= whole.bound + 1e-9
    a, b, c = (ss.Discrete(n) for n in "abc")
    with pytest.raises(ss.errors.NotApplicable, match="TRWS takes factors of at most two variables; factor 0 has 3"):
        ss.map_assignment(ss.MarkovNet(ss.Table((a, b, c), np.arange(8.0))), method=ss.TRWS())


@pytest.mark.parametrize("method", [ss.TRWS(precision="float32"), ss.inference.MPLP(precision="float32")])
@in_blocks("seed", range(20))
def test_messages_of_fewer_digits_have_valid_bounds(seed, method):
    rng = np.random.default_rng(seed)
    wiring = random_pairs(rng, potentials=KINDS, tables=seed % 2 == 0, zeros=0.2 * (seed % 4 == 0))
    best = best_value(wiring)
    if best == -np.inf:
        with pytest.raises(ss.errors.ImpossibleEvidence):
            assign(method, task_of(wiring))
        return
    found = assign(method, task_of(wiring, until=int(rng.integers(1, 60))))
    same = assign(type(method)(), task_of(wiring, until=200))
    assert found.bound >= best - 1e-12 * max(1.0, abs(best))
    assert found.log_values[0] <= best + 1e-9
    assert found.certificate.check()
    settled = assign(method, task_of(wiring, until=200))
    assert settled.bound == pytest.approx(same.bound, abs=1e-3)


def test_large_losses_do_not_lower_the_bound():
    rng = np.random.default_rng(3)
    for _ in range(10):
        wiring = random_pairs(rng, potentials=[Potts(-1e8), Potts(0.3)])
        found = assign(ss.TRWS(), task_of(wiring, until=20))
        assert found.bound >= best_value(wiring)


def test_numbers_beyond_the_type_are_refused():
    line = ss.Discrete.array("x", (3,), states=2)
    net = ss.MarkovNet.potts(line, 0.7, log_values=np.array([[0.0, 1e35], [0.0, 1.0], [1.0, 0.0]]))
    with pytest.raises(ss.errors.NotApplicable, match=r"up to 1e\+30 in size; found 1e\+35. Use precision='float64'"):
        ss.map_assignment(net, method=ss.TRWS(precision="float32"))
    assert ss.map_assignment(net, method=ss.TRWS())[line].tolist() == [1, 1, 0]
    with pytest.raises(ss.errors.ArgumentError, match="precision"):
        ss.TRWS(precision="float16")
