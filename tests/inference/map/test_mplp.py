"""Block-coordinate descent on the dual: bounds that fall, proofs, and assignments, for factors of any size."""

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.inference.assignment import assign
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks
from support.wired import best_value, local_polytope, random_binary, random_problem, task_of


@in_blocks("seed", range(30))
def test_bounds_fall_and_are_never_below_the_best_value(seed):
    for each in range(20):
        rng = np.random.default_rng([seed, each])
        wiring = Wiring.of(random_problem(rng))
        best = best_value(wiring)
        if best == -np.inf and wiring.consistent.log_value(wiring.consistent.modes) == -np.inf:
            continue
        found = assign(ss.MPLP(), task_of(wiring, until=int(rng.integers(1, 30))))
        assert (np.diff(found.trace) >= -1e-9).all()  # the trace is minus the bound
        assert found.bound >= best - 1e-9
        assert found.log_values[0] <= best + 1e-9
        assert found.certificate.check()
        if found.guarantee is ss.Guarantee.EXACT:
            assert found.log_values[0] == pytest.approx(best, abs=1e-7)


@in_blocks("seed", range(30))
def test_binary_bounds_are_those_of_the_linear_program(seed):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_binary(rng, one_state=0.0))
    found = assign(ss.MPLP(), task_of(wiring, until=ss.Until(steps=3000, tolerance=1e-13)))
    assert found.bound == pytest.approx(local_polytope(wiring), abs=1e-5)


def test_frustrated_triangles_have_the_value_of_the_linear_program_unless_one_factor_has_them():
    a, b, c = (ss.Discrete(n) for n in "abc")
    apart = [[1.0, 2.0], [2.0, 1.0]]
    pairs = ss.Table((a, b), apart), ss.Table((b, c), apart), ss.Table((a, c), apart)
    loose = ss.map_assignment(ss.MarkovNet(*pairs), method=ss.MPLP())
    assert loose.bound == pytest.approx(3 * np.log(2))  # the best value is log 4
    assert loose.guarantees["assignment"] is ss.Guarantee.HEURISTIC
    joined = pairs[0] * pairs[1] * pairs[2]
    whole = ss.map_assignment(ss.MarkovNet(joined), method=ss.MPLP())
    assert whole.log_value == pytest.approx(np.log(4))
    assert whole.guarantees["assignment"] is ss.Guarantee.EXACT


@in_blocks("seed", range(8))
def test_long_constraints_need_no_table(seed):
    rng = np.random.default_rng(seed)
    bit = ss.Discrete.array("bit", (60,))
    ids = rng.permutation(60)
    scopes = [ids[:40].tolist(), ids[40:].tolist()]  # apart, so that the bound is reached
    kind = [ss.potentials.Parity(), ss.potentials.AtLeastOne()][seed % 2]
    logs = rng.normal(size=(60, 2)) - (np.array([0.0, 4.0]) if seed % 2 else 0.0)
    checks = [ss.factors.FactorBlock([scope], (2,) * len(scope), values=kind) for scope in scopes]
    net = ss.MarkovNet(
        ss.factors.FactorBlock(np.arange(60)[:, None], (2,), values=logs, space="log"), *checks, variables=[bit]
    )
    found = ss.map_assignment(net, method=ss.MPLP())
    expected = 0.0
    for scope in scopes:
        own = logs[scope]
        fails = (own.argmax(axis=1).sum() % 2 == 1) if seed % 2 == 0 else own.argmax(axis=1).sum() == 0
        expected += own.max(axis=1).sum() - (np.abs(own[:, 0] - own[:, 1]).min() if fails else 0.0)
    assert found.log_value == pytest.approx(expected)
    assert found.guarantees["assignment"] is ss.Guarantee.EXACT


def test_runs_resume_and_bad_questions_are_refused(tmp_path):
    rng = np.random.default_rng(3)
    variables = [ss.Discrete(f"v{i}", 3) for i in range(9)]
    scopes = [[variables[i] for i in rng.permutation(9)[:3]] for _ in range(9)]
    net = ss.MarkovNet(*(ss.Table(s, rng.gamma(1.0, size=(3, 3, 3))) for s in scopes))
    rule = ss.Until(steps=20, tolerance=None)
    whole = ss.map_assignment(net, method=ss.MPLP(), until=rule)
    ss.map_assignment(net, method=ss.MPLP(), until=ss.Until(steps=2, tolerance=None), checkpoint=tmp_path / "c")
    rest = ss.map_assignment(net, method=ss.MPLP(), until=rule, checkpoint=tmp_path / "c")
    np.testing.assert_array_equal(rest.trace, whole.trace)
    assert (rest.bound, rest.log_value) == (whole.bound, whole.log_value)
    assert whole.log_value - 1e-9 <= ss.map_assignment(net).log_value <= whole.bound + 1e-9
    with pytest.raises(ss.errors.NotApplicable, match="MPLP finds one assignment"):
        ss.map_assignment(net, k=2, method=ss.MPLP())
    with pytest.raises(ss.errors.ArgumentError, match="decode_every"):
        ss.MPLP(decode_every=0)


def test_empty_and_impossible_models():
    assert ss.map_assignment(ss.MarkovNet(), method=ss.MPLP()).log_value == 0.0
    a, b, c = (ss.Discrete(n) for n in "abc")
    never = np.zeros((2, 2, 2))
    with pytest.raises(ss.ImpossibleEvidence):
        ss.map_assignment(
            ss.MarkovNet(ss.Table((a, b, c), never), ss.Table((a, b), [[1, 2], [2, 1]])), method=ss.MPLP()
        )


def test_the_order_of_factors_and_variables_does_not_change_a_proved_answer():
    rng = np.random.default_rng(5)
    variables = [ss.Discrete(f"v{i}", int(rng.integers(1, 4))) for i in range(7)]
    scopes = [variables[i : i + 3] for i in range(5)]
    parts = [ss.Table(s, rng.gamma(1.0, size=[v.num_states for v in s])) for s in scopes]
    values = [
        ss.map_assignment(ss.MarkovNet(*order), method=ss.MPLP()).log_value
        for order in itertools.islice(itertools.permutations(parts), 0, 120, 17)
    ]
    np.testing.assert_allclose(values, values[0])
