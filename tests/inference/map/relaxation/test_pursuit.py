"""Triplets in the dual: bounds that fall, proofs, and assignments."""

import numpy as np
import pytest

import sepset as ss
from sepset.inference.assignment import assign
from sepset.inference.map.relaxation.pursuit import Clustered, ClusterPursuit, Pursuit, carried
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks
from support.planted import planted_union
from support.wired import best_value, random_binary, random_pairs, random_problem, task_of


@in_blocks("seed", range(40))
def test_bounds_fall_and_are_never_below_the_best_value(seed):
    rng = np.random.default_rng(seed)
    made = [
        lambda: Wiring.of(random_problem(rng)),
        lambda: Wiring.of(random_binary(rng, zeros=0.1)),
        lambda: random_pairs(rng, tables=True, zeros=0.1),
    ]
    wiring = made[seed % 3]()
    best = best_value(wiring)
    if best == -np.inf:
        return
    found = assign(ClusterPursuit(), task_of(wiring, until=int(rng.integers(1, 60))))
    assert (np.diff(found.trace) >= -1e-9).all()  # the trace is minus the bound
    assert found.log_values[0] - 1e-9 <= best <= found.bound + 1e-9
    assert found.certificate.check()
    if found.guarantee is ss.Guarantee.EXACT:
        assert found.log_values[0] == pytest.approx(best, abs=1e-7)


@in_blocks("seed", range(6))
def test_the_bound_is_that_of_the_linear_program_with_all_triplets(seed):
    rng = np.random.default_rng(seed)
    bits = [ss.Discrete(f"b{i}") for i in range(5)]
    pairs = [(bits[i], bits[j]) for i in range(5) for j in range(i)]
    net = ss.MarkovNet(*(ss.Table(p, np.exp(rng.normal(0, 2, size=(2, 2)))) for p in pairs))
    found = ss.map_assignment(net, method=ClusterPursuit(), until=ss.Until(steps=3000, tolerance=1e-13))
    tight = ss.map_assignment(net, method=ss.LinearProgram(tighten="triplets"))
    loose = ss.map_assignment(net, method=ss.LinearProgram())
    assert tight.bound - 1e-6 <= found.bound <= loose.bound + 1e-6
    assert found.bound == pytest.approx(tight.bound, abs=1e-3)


@in_blocks("seed", range(20))
def test_any_values_and_messages_give_an_upper_bound(seed):
    rng = np.random.default_rng(seed)
    wiring, _ = planted_union(rng, 1, most=5)
    n = wiring.num_variables
    rows = [sorted(rng.permutation(n)[:3].tolist()) for _ in range(2 if n > 2 else 0)]
    model = Clustered.of(wiring, np.array(rows, np.int64).reshape(-1, 3))
    lambdas, messages = rng.normal(size=model.num_values), rng.normal(size=int(model.wiring.wires.messages[-1]))
    before = model.bound(lambdas, messages)
    assert before >= best_value(wiring) - 1e-9
    after = model.passed(lambdas, messages)
    assert best_value(wiring) - 1e-9 <= after <= before + 1e-9
    assert model.bound(lambdas, messages) == pytest.approx(after, abs=1e-9)


def test_messages_are_carried_to_scopes_that_occur_once():
    a, b = ss.Discrete("a"), ss.Discrete("b", 3)
    rng = np.random.default_rng(0)
    net = ss.MarkovNet(ss.Table((a, b), rng.gamma(1.0, size=(2, 3))), ss.Table((b, a), rng.gamma(1.0, size=(3, 2))))
    wiring = Wiring.of(net.as_written())
    model = Clustered.of(wiring, np.zeros((0, 3), np.int64))
    assert (wiring.num_factors, model.wiring.num_factors) == (2, 1)
    np.testing.assert_array_equal(carried(wiring, model, np.arange(10.0)), [0 + 8, 1 + 9, 2 + 5, 3 + 6, 4 + 7])


def test_a_glass_with_a_gap_is_proved():
    rng = np.random.default_rng(0)
    spin = ss.Discrete.array("spin", (7, 7), states=(-1, 1))
    glass = ss.MarkovNet.ising(spin, rng.normal(size=len(spin.grid_edges())), field=0.3 * rng.normal(size=(7, 7)))
    loose = ss.map_assignment(glass, method=ss.TRWS())
    found = ss.map_assignment(glass, method=ClusterPursuit())
    assert loose.guarantees["assignment"] is ss.Guarantee.HEURISTIC
    assert found.guarantees["assignment"] is ss.Guarantee.EXACT
    assert found.log_value == pytest.approx(ss.map_assignment(glass).log_value)
    assert found.bound < loose.bound
    assert found.certificate.check()


def test_runs_resume_and_bad_questions_are_refused(tmp_path):
    rng = np.random.default_rng(1)
    spin = ss.Discrete.array("spin", (5, 5), states=(-1, 1))
    glass = ss.MarkovNet.ising(spin, rng.normal(size=len(spin.grid_edges())))
    rule = ss.Until(steps=12, tolerance=None)
    whole = ss.map_assignment(glass, method=ClusterPursuit(cycles=3), until=rule)
    ss.map_assignment(glass, method=ClusterPursuit(cycles=3), until=2, checkpoint=tmp_path / "c")
    rest = ss.map_assignment(glass, method=ClusterPursuit(cycles=3), until=rule, checkpoint=tmp_path / "c")
    np.testing.assert_allclose(rest.trace, whole.trace)
    assert rest.bound == pytest.approx(whole.bound)
    assert ss.map_assignment(ss.MarkovNet(), method=ClusterPursuit()).log_value == 0.0
    a, b, c = (ss.Discrete(n) for n in "abc")
    unequal = [[0.0, 1.0], [1.0, 0.0]]
    odd = ss.MarkovNet(ss.Table((a, b), unequal), ss.Table((b, c), unequal), ss.Table((a, c), unequal))
    with pytest.raises(ss.ImpossibleEvidence):  # arc consistency does not see it, the triplet does
        ss.map_assignment(odd, method=ClusterPursuit())
    for bad in ({"cycles": 0}, {"decode_every": 0}):
        with pytest.raises(ss.errors.ArgumentError, match="ClusterPursuit"):
            ClusterPursuit(**bad)


def test_long_constraints_stay_as_they_are():
    rng = np.random.default_rng(2)
    bit = ss.Discrete.array("bit", (40,))
    checks = ss.factors.FactorBlock([list(range(40)), list(range(40))], (2,) * 40, values=ss.potentials.Parity())
    logs = ss.factors.FactorBlock(np.arange(40)[:, None], (2,), values=rng.normal(size=(40, 2)), space="log")
    near = ss.factors.FactorBlock([[i, (i + 1) % 40] for i in range(40)], (2, 2), values=ss.potentials.Potts(-0.4))
    net = ss.MarkovNet(logs, checks, near, variables=[bit])
    found = ss.map_assignment(net, method=ClusterPursuit(), until=30)
    assert found[bit].sum() % 2 == 0
    assert found.log_value <= found.bound + 1e-9
    assert found.certificate.check()


def test_late_searches_are_left_out():
    rng = np.random.default_rng(0)
    wiring = random_pairs(rng, tables=True)
    task = task_of(wiring)
    search = Pursuit(ClusterPursuit())
    state = search.init(task, rng)
    assert search._more(task.again(until=ss.Until(seconds=0.0)), state) is state
