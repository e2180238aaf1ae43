"""Linear and integer programs: bounds, proofs, and assignments, against enumeration and other methods."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

import sepset as ss
from sepset.factors.block import FactorBlock
from sepset.inference.assignment import assign
from sepset.inference.wiring import Wiring
from sepset.problem import Problem
from sepset.variables.universe import Universe
from sepset.variables.variable import Discrete
from support.blocks import in_blocks
from support.planted import best_of_parts, planted_union
from support.wired import best_value, local_polytope, random_binary, random_problem, task_of


@in_blocks("seed", range(30))
def test_the_integer_program_is_the_enumeration(seed):
    wiring, parts = planted_union(np.random.default_rng(seed), 40)  # 1200 models
    found = assign(ss.LinearProgram(integer=True), task_of(wiring))
    best = best_of_parts(wiring, parts)
    assert found.guarantee is ss.Guarantee.EXACT
    assert found.log_values[0] == pytest.approx(best, abs=1e-9)
    assert found.bound == found.log_values[0]


@in_blocks("seed", range(60))
def test_bounds_are_valid_and_certificates_hold(seed):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_problem(rng) if seed % 2 else random_binary(rng, zeros=0.1, integer=seed % 4 == 0))
    best = best_value(wiring)
    how = [{}, {"tighten": "cycles"}, {"tighten": "triplets"}, {"tighten": "cycles", "integer": True}][seed % 4]
    if best == -np.inf:
        with pytest.raises(ss.ImpossibleEvidence):
            assign(ss.LinearProgram(integer=True), task_of(wiring))
        return
    found = assign(ss.LinearProgram(**how), task_of(wiring))
    assert found.log_values[0] - 1e-9 <= best <= found.bound + 1e-7
    assert found.certificate.check()
    if found.guarantee is ss.Guarantee.EXACT:
        assert found.log_values[0] == pytest.approx(best, abs=1e-9)


@in_blocks("seed", range(40))
def test_the_marginal_polytope_has_the_best_value_and_the_local_one_no_less(seed):
    """Mixtures of assignments by a general solver: one that is best, whatever the graph."""
    wiring = Wiring.of(random_binary(np.random.default_rng([seed, 3]), one_state=0.0))
    joint = np.array([wiring.log_value(codes) for codes in itertools.product((0, 1), repeat=wiring.num_variables)])
    mixture = linprog(-joint, A_eq=np.ones((1, len(joint))), b_eq=[1.0], bounds=(0.0, None), method="highs")
    assert -mixture.fun == pytest.approx(joint.max(), abs=1e-7)
    found = assign(ss.LinearProgram(), task_of(wiring))
    assert -mixture.fun <= found.bound + 1e-7
    assert found.bound <= local_polytope(wiring) + 1e-6  # equal unless two factors have the same pair


@in_blocks("seed", range(20))
def test_binary_pairs_have_the_bound_of_roof_duality(seed):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_binary(rng, one_state=0.0))
    pairs = {tuple(sorted(wiring.scope(f).tolist())) for f in range(wiring.num_factors)}
    if len(pairs) < wiring.num_factors:  # roof duality does not add them up
        return
    found, roof = assign(ss.LinearProgram(), task_of(wiring)), assign(ss.QPBO(), task_of(wiring))
    assert found.bound == pytest.approx(roof.bound, abs=1e-6)


@in_blocks("seed", range(10))
def test_trees_and_submodular_pairs_are_tight(seed):
    rng = np.random.default_rng(seed)
    submodular = Wiring.of(random_binary(rng, submodular=True, integer=seed % 2 == 0))
    found = assign(ss.LinearProgram(), task_of(submodular))
    assert found.guarantee is ss.Guarantee.EXACT
    assert found.log_values[0] == pytest.approx(best_value(submodular), abs=1e-9)
    variables = [ss.Discrete(f"v{i}", int(rng.integers(1, 4))) for i in range(7)]
    tree = [ss.Table(variables[0], rng.gamma(1.0, size=variables[0].num_states))]
    for i in range(1, 7):
        pair = variables[i], variables[int(rng.integers(i))]
        tree.append(ss.Table(pair, rng.gamma(1.0, size=[v.num_states for v in pair])))
    net = ss.MarkovNet(*(tree[i] for i in rng.permutation(len(tree))))
    result = ss.map_assignment(net, method=ss.LinearProgram())
    assert result.guarantees["assignment"] is ss.Guarantee.EXACT
    assert result.log_value == pytest.approx(ss.map_assignment(net).log_value, abs=1e-9)


@pytest.mark.parametrize("tighten", ["cycles", "triplets"])
def test_the_frustrated_triangle_is_solved_by_its_triplet(tighten):
    a, b, c = (ss.Discrete(n) for n in "abc")
    apart = [[1.0, 2.0], [2.0, 1.0]]
    net = ss.MarkovNet(ss.Table((a, b), apart), ss.Table((b, c), apart), ss.Table((a, c), apart))
    loose = ss.map_assignment(net, method=ss.LinearProgram())
    assert loose.bound == pytest.approx(3 * np.log(2))  # Koller & Friedman, example 13.11
    assert not loose.info["is_integral"]
    np.testing.assert_allclose(loose.info["fractional"]["b"], [0.5, 0.5])
    assert loose.guarantees["assignment"] is ss.Guarantee.HEURISTIC
    tight = ss.map_assignment(net, method=ss.LinearProgram(tighten=tighten))
    assert tight.bound == pytest.approx(2 * np.log(2))
    assert tight.guarantees["assignment"] is ss.Guarantee.EXACT
    assert tight.info["triplets"] == 1
    assert tight.certificate.check()


def test_ties_give_an_exact_answer():
    a, b, c = (ss.Discrete(n) for n in "abc")
    alike = [[2.0, 1.0], [1.0, 2.0]]
    net = ss.MarkovNet(ss.Table((a, b), alike), ss.Table((b, c), alike), ss.Table((a, c), alike))
    found = ss.map_assignment(net, method=ss.LinearProgram())
    assert found.log_value == pytest.approx(np.log(8))  # example 13.12: 000 and 111, and all between them
    assert found.guarantees["assignment"] is ss.Guarantee.EXACT


def test_wide_grids_are_proved_where_messages_leave_a_gap():
    rng = np.random.default_rng(2)
    pixel = ss.Discrete.array("pixel", (8, 8), states=3)
    logs = -rng.integers(0, 100, (8, 8, 3)).astype(float)
    net = ss.MarkovNet.potts(pixel, rng.integers(0, 60, len(pixel.grid_edges())).astype(float), log_values=logs)
    exact = ss.map_assignment(net)
    for how in ({"integer": True}, {"tighten": "cycles"}):
        found = ss.map_assignment(net, method=ss.LinearProgram(**how))
        assert found.log_value == pytest.approx(exact.log_value)
        assert found.bound >= exact.log_value - 1e-6
    assert ss.map_assignment(net, method=ss.LinearProgram(integer=True)).guarantees["assignment"] is ss.Guarantee.EXACT


def test_empty_models_budgets_and_refusals(tmp_path):
    assert ss.map_assignment(ss.MarkovNet(), method=ss.LinearProgram(integer=True)).log_value == 0.0
    a, b = ss.Discrete("a"), ss.Discrete("b", 1)
    alone = ss.map_assignment(ss.MarkovNet(ss.Table(a, [1, 3]), ss.Table(b, [2])), method=ss.LinearProgram())
    assert dict(alone.assignment) == {"a": 1, "b": 0}
    with pytest.raises(ss.ImpossibleEvidence):
        ss.map_assignment(ss.MarkovNet(ss.Table((a, b), [[0], [0]])), method=ss.LinearProgram())
    rng = np.random.default_rng(0)
    spin = ss.Discrete.array("spin", (6, 6), states=(-1, 1))
    glass = ss.MarkovNet.ising(spin, rng.normal(size=len(spin.grid_edges())))
    stopped = ss.map_assignment(glass, method=ss.LinearProgram(integer=True), until=ss.Until(seconds=0))
    exact = ss.map_assignment(glass)
    assert stopped.status is ss.Status.TIME_LIMIT
    assert stopped.log_value - 1e-9 <= exact.log_value <= stopped.bound + 1e-9
    assert stopped.certificate.check()
    how = ss.LinearProgram(tighten="cycles", integer=True)
    ss.map_assignment(glass, method=how, until=1, checkpoint=tmp_path / "c")
    whole = ss.map_assignment(glass, method=how, checkpoint=tmp_path / "c")
    assert whole.log_value == pytest.approx(exact.log_value)
    assert whole.guarantees["assignment"] is ss.Guarantee.EXACT
    for bad in ({"tighten": "circles"}, {"rounds": 0}, {"integer": 2}):
        with pytest.raises(ss.errors.ArgumentError, match="LinearProgram"):
            ss.LinearProgram(**bad)
    with pytest.raises(ss.errors.NotApplicable, match="LinearProgram finds one assignment"):
        ss.map_assignment(glass, k=2, method=ss.LinearProgram())


def test_large_losses_among_small_gains_do_not_count_as_solved():
    variables = Universe([Discrete(f"v{i}") for i in range(8)])
    for seed in (0, 2, 31):
        rng = np.random.default_rng([6, seed])
        scopes = [rng.permutation(8)[:2].tolist() for _ in range(20)]
        zero = rng.random((20, 2, 2)) < 0.1
        logs = np.where(zero, -1e8 * rng.random((20, 2, 2)), 1e-4 * rng.choice([-1, 1], size=(20, 2, 2)))
        blocks = tuple(FactorBlock([s], (2, 2), values=t, space="log") for s, t in zip(scopes, logs, strict=True))
        wiring = Wiring.of(Problem(variables, blocks))
        found = assign(ss.LinearProgram(integer=True), task_of(wiring))
        assert found.log_values[0] <= best_value(wiring) <= found.bound + 1e-9
        assert found.status is ss.Status.CONVERGED
        assert found.certificate.check()
