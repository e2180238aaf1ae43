"""Assignments of methods that search, in names and states."""

from functools import partial

import numpy as np
import pytest

import sepset as ss


def test_findings_of_every_kind_reach_a_search():
    asia = ss.datasets.load("asia")
    kinds = [
        {"dysp": "yes"},
        {"xray": ss.Likelihood([0.2, 0.9])},
        {"smoke": ss.Not("no"), "dysp": "no"},
        {("tub", "lung"): ss.Likelihood([[0.1, 0.9], [0.8, 0.3]])},
        {"xray": ss.Soft([0.7, 0.3])},
    ]
    for given in kinds:
        exact = ss.map_assignment(asia, given=given)
        found = ss.map_assignment(asia, given=given, method=ss.ICM(restarts=60))
        assert found.log_value == pytest.approx(exact.log_value)
        assert found.assignment == exact.assignment


def test_wide_functions_are_factors_for_the_question():
    rng = np.random.default_rng(3)
    causes = [ss.Discrete(f"c{i}") for i in range(12)]
    effect = ss.Discrete("effect")
    priors = [ss.TableCPD(c, [1 - p, p]) for c, p in zip(causes, rng.uniform(0.1, 0.4, 12), strict=True)]
    net = ss.BayesNet(
        *priors, ss.NoisyOr(effect, dict(zip(causes, rng.uniform(0.3, 0.9, 12).tolist(), strict=True)), leak=0.01)
    )
    given = {"effect": 1, "c0": 0}
    exact = ss.map_assignment(net, given=given)
    found = ss.map_assignment(net, given=given, method=ss.ICM(), start=exact)
    assert found.log_value == pytest.approx(exact.log_value)
    assert found.assignment == exact.assignment


def test_observed_numbers_are_read_before_the_search():
    height, kind = ss.Real("height"), ss.Discrete("kind", ("short", "tall"))
    net = ss.BayesNet(
        ss.TableCPD(kind, [0.5, 0.5]), ss.LinearGaussian(height, [1.6, 1.9], covariance=[0.01, 0.01], by=kind)
    )
    assert ss.map_assignment(net, given={"height": 1.85}, method=ss.ICM()).assignment == {"kind": "tall"}
    with pytest.raises(ss.errors.NotApplicable, match="height"):
        ss.map_assignment(net, method=ss.ICM())


def test_starts_need_states_of_the_model():
    asia = ss.datasets.load("asia")
    with pytest.raises(ss.errors.SepsetError, match="smoke"):
        ss.map_assignment(asia, method=ss.ICM(), start={"smoke": "maybe"})


def test_arrays_of_codes_are_checked():
    pixel = ss.Discrete.array("pixel", (3, 3), states=3)
    net = ss.MarkovNet.potts(pixel, 0.5)
    for wrong in (np.zeros((2, 2), int), np.full((3, 3), 3), np.full((3, 3), -2), np.zeros((3, 3)), "codes"):
        with pytest.raises(ss.errors.ArgumentError, match=r"from 0 to 2 \(or -1\) and of shape \(3, 3\)"):
            ss.map_assignment(net, method=ss.ICM(), start={pixel: wrong})
    with pytest.raises(ss.errors.ArgumentError, match="one state per variable"):
        ss.map_assignment(net, method=ss.ICM(), start={pixel[0, 0]: ss.Not(0)})
    with pytest.raises(ss.errors.ArgumentError, match="seed="):
        ss.map_assignment(net, method=ss.ICM(), seed="x")
    kept = ss.map_assignment(net, method=ss.ICM(), start={pixel: np.full((3, 3), 2)})
    assert (kept[pixel] == 2).all()


def test_a_start_meets_its_model_by_name():
    rng = np.random.default_rng(2)
    variables = [ss.Discrete(f"v{i}", int(rng.integers(2, 4))) for i in range(5)]
    pairs = [ss.Table((a, b), rng.random((a.num_states, b.num_states))) for a in variables for b in variables if a != b]
    net, other = ss.MarkovNet(*pairs), ss.MarkovNet(*pairs[::-1])
    assert net.variables.names != other.variables.names
    best = ss.map_assignment(net)
    again = ss.map_assignment(other, method=ss.ICM(), start=ss.map_assignment(net, method=ss.BranchAndBound()))
    assert again.log_value == best.log_value or abs(again.log_value - best.log_value) < 1e-9
    assert dict(again.assignment) == dict(best.assignment)


@pytest.mark.parametrize("ask", [ss.map_assignment, lambda model, k: ss.prepare(model).map_assignment(k=k)])
def test_the_number_of_assignments_is_any_whole_number(ask):
    net = ss.datasets.load("asia")
    assert ask(net, k=np.int8(3)).assignments == ask(net, k=3).assignments
    for wrong in (0, 1.5, None, np.array([1, 2])):
        with pytest.raises(ss.errors.ArgumentError, match="k= is a whole number"):
            ask(net, k=wrong)


def test_findings_on_joints_reach_large_models():
    """In models for which the time of an exact answer is looked at first."""
    student, rng = ss.datasets.load("student"), np.random.default_rng(5)
    coins = [ss.TableCPD(ss.Discrete(f"c{i}"), rng.dirichlet([1.0, 1.0])) for i in range(600)]
    large = ss.BayesNet(*student.cpds, *coins)
    given = {("letter", "sat"): ss.Likelihood([[0.1, 0.9], [0.2, 0.7]])}
    small, names = ss.map_assignment(student, given=given), student.variables.names
    for over in (None, large.variables.names, [*large.variables.names][::-1]):
        found = ss.map_assignment(large, given=given, over=over)
        assert [found.assignment[name] for name in names] == [small.assignment[name] for name in names]
        assert found.guarantees["assignment"] is ss.Guarantee.EXACT


def test_to_ask_for_all_variables_by_name_is_to_ask_for_everything():
    """Where exact answers do not fit, too: all are searched for in the same way."""
    rng = np.random.default_rng(6)
    spins = [ss.Discrete(f"s{i}") for i in range(100)]
    pairs = {tuple(sorted(rng.choice(100, 2, replace=False).tolist())) for _ in range(1500)}
    energies = {(spins[i], spins[j]): rng.normal(size=(2, 2)) for i, j in pairs}
    net, names = ss.MarkovNet.pairwise_energies({}, energies), [v.name for v in spins]
    given = {"s7": 1}
    for k in (1, 2):
        ask = partial(ss.map_assignment, net, given=given, k=k, until=3)
        found = ask()
        assert found.guarantees["assignment"] is ss.Guarantee.HEURISTIC
        rest = [name for name in names[::-1] if name != "s7"]
        for over in (names, rest, iter(rest)):
            other = ask(over=over)
            assert other.log_value == found.log_value
            assert other.info["search"] == found.info["search"]
            assert ("s7" in other.assignment) == (over is names)
            assert all(other.assignment[name] == found.assignment[name] for name in rest)


def test_to_ask_for_all_but_one_sums_it_out():
    asia = ss.datasets.load("asia")
    rest = [name for name in asia.variables.names if name not in ("xray", "dysp")]
    exact = ss.map_assignment(asia, given={"dysp": "yes"}, over=rest)
    found = ss.map_assignment(asia, given={"dysp": "yes"}, over=rest, method=ss.inference.AutomaticSearch())
    assert found.log_value == pytest.approx(exact.log_value)
    assert "xray" not in found.assignment
