"""Counting numbers: reparameterizations after every message, certificates both ways, low temperatures."""

import itertools

import numpy as np
import pytest

import sepset as ss
from inference.propagation.test_loopybp import spin_glass
from inference.propagation.test_maxproduct import triangle
from sepset.errors import ArgumentError, NotApplicable
from sepset.inference.assignment import AssignmentTask, assign
from sepset.inference.propagation.agreement import Agreements
from sepset.inference.propagation.passing import BUDGET, Passing, beliefs_of, propagated
from sepset.inference.wiring import Wiring
from sepset.variables.evidence import Evidence
from support.wired import best_value, local_polytope, random_binary, random_pairs


def value_by_beliefs(beliefs, codes):
    """The log value of an assignment from beliefs and counting numbers."""
    wiring, total = beliefs.wiring, 0.0
    own = beliefs.counts.copy()
    for f in range(wiring.num_factors):
        scope = wiring.scope(f)
        belief = wiring.table(f)[tuple(codes[scope])] / beliefs.rhos[f]
        for axis, i in enumerate(scope):
            s = wiring.plugs.starts[f] + axis
            belief += beliefs.logs[wiring.plugs.states[i] + codes[i]]
            belief -= beliefs.messages[wiring.wires.messages[s] + codes[i]]
            own[i] -= beliefs.rhos[f]
        total += beliefs.rhos[f] * belief
    each = beliefs.logs[wiring.plugs.states[:-1] + codes]
    return wiring.constant + beliefs.log_totals + total + float((own * each).sum())


@pytest.mark.parametrize("schedule", ["sequential", "synchronous", "random", "residual", "tree"])
@pytest.mark.parametrize("is_max", [False, True])
def test_every_step_is_a_reparameterization(is_max, schedule):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        wiring = random_pairs(rng, tables=True)
        rhos = rng.gamma(2.0, size=wiring.num_factors) + 0.2
        counts = rng.gamma(2.0, size=wiring.num_variables) + 0.5
        passing = Passing(0.3, schedule, is_max, rhos, counts)
        state = passing.init(beliefs_of(passing, wiring, np.zeros(int(wiring.wires.messages[-1]))), rng)
        for _ in range(4):
            beliefs = beliefs_of(passing, wiring, state)
            for codes in itertools.product(*map(range, wiring.plugs.cards)):
                expected = wiring.log_value(codes)
                assert value_by_beliefs(beliefs, np.array(codes)) == pytest.approx(expected, abs=1e-8)
            state, _ = passing.step(beliefs, state, rng)


@pytest.mark.parametrize("variable", [0.0, 0.5, 2.0])
def test_decoded_assignments_are_the_best(variable):
    decoded = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        problem = random_binary(rng, one_state=0.1, zeros=0.1 * (seed % 3 == 0))
        task = AssignmentTask(problem, Evidence())
        if (best := best_value(task.wiring)) == -np.inf:
            continue
        method = ss.inference.ConvexBP(1.0, variable, until=ss.Until(steps=2000, tolerance=1e-10))
        found = assign(method, task)
        assert found.log_values[0] <= best + 1e-9 <= found.bound + 2e-9
        assert found.certificate.check()
        if found.info["locally_optimal"]:
            decoded += 1
            assert found.log_values[0] == pytest.approx(best, abs=1e-6)
            assert found.bound == pytest.approx(best, abs=1e-4)
    assert decoded > 30


def test_assignments_are_decoded_only_where_the_linear_program_is_tight():
    tight = 0
    for seed in range(60):
        wiring = Wiring.of(random_binary(np.random.default_rng(seed), one_state=0.0))
        gap = local_polytope(wiring) - best_value(wiring)
        found = propagated(ss.inference.ConvexBP(1.0, 1.0).passing(wiring, is_max=True), wiring, BUDGET)
        search = Agreements(found).found()
        tight += gap < 1e-7
        if gap > 1e-5:
            assert search.codes is None
    assert 30 < tight < 60


def test_states_of_all_best_assignments_are_among_those_that_agree():
    for seed in range(80):
        rng = np.random.default_rng(seed)
        wiring = Wiring.of(random_binary(rng, one_state=0.0, integer=True))
        found = propagated(ss.inference.ConvexBP().passing(wiring, is_max=True), wiring, BUDGET)
        states = Agreements(found).states() if found.has_converged else None
        if states is None:
            continue
        best = best_value(wiring)
        for codes in itertools.product(*map(range, wiring.plugs.cards)):
            if wiring.log_value(codes) > best - 1e-9:
                assert all(code in options for code, options in zip(codes, states, strict=True))


def test_without_an_assignment_that_agrees_nothing_is_known_of_single_states():
    net = triangle(2.0, 1.0)
    pull = ss.Table([net.variables[0]], [1.0, 1.05])
    wiring = Wiring.of(ss.MarkovNet(*net.factors, pull).as_written())
    found = propagated(ss.inference.ConvexBP().passing(wiring, is_max=True), wiring, BUDGET)
    assert Agreements(found).states() is None


@pytest.mark.parametrize("seed", range(4))
def test_low_temperatures_have_maxima_in_the_limit(seed):
    rng = np.random.default_rng(seed)
    wiring = random_pairs(rng, tables=True)
    method = ss.inference.ConvexBP(1.0, 1.0, until=ss.Until(steps=600, tolerance=1e-9))
    maxima = propagated(method.passing(wiring, is_max=True), wiring, ss.Until(steps=600, tolerance=1e-9))
    cold = 0.02
    tables = wiring.plugs._replace(tables=wiring.plugs.tables / cold, weights=wiring.plugs.weights / cold)
    frozen = Wiring(wiring.free, wiring.numbers, tables, wiring.unary / cold, 0.0, wiring.variables)
    beliefs = propagated(method.passing(frozen, is_max=False), frozen, ss.Until(steps=600, tolerance=1e-9))
    for i in range(wiring.num_variables):
        at = slice(wiring.plugs.states[i], wiring.plugs.states[i + 1])
        zero = cold * (beliefs.logs[at] - beliefs.logs[at].max())
        for f in range(wiring.num_factors):
            scope = wiring.scope(f).tolist()
            if i in scope:  # calibrated by maxima
                with np.errstate(divide="ignore"):
                    pair = cold * np.log(beliefs.factor(f))
                rest = tuple(a for a in range(2) if a != scope.index(i))
                assert (pair - pair.max()).max(axis=rest) == pytest.approx(zero, abs=0.05)
    assert maxima.has_converged


def test_numbers_that_cancel_are_refused():
    net = spin_glass(np.random.default_rng(0), 3, 3)
    with pytest.raises(NotApplicable, match="larger variable="):
        ss.marginals(net, method=ss.inference.ConvexBP(1.0, -2.0))
    with pytest.raises(ArgumentError):
        ss.inference.ConvexBP(0.0)
    with pytest.raises(ArgumentError):
        ss.inference.ConvexBP(schedule="backward")


def test_marginals_and_free_energies():
    net = spin_glass(np.random.default_rng(0), 3, 3, 0.3)
    found, exact = ss.marginals(net, method=ss.inference.ConvexBP(0.7, -0.3)), ss.marginals(net)
    assert found.guarantees["marginals"] is ss.Guarantee.ESTIMATE
    assert max(abs(found[n].values - exact[n].values).max() for n in found) < 0.25
    single = ss.MarkovNet(ss.Table([ss.Discrete("a", 3)], [1, 2, 5]))
    assert ss.marginals(single, method=ss.inference.ConvexBP())["a"].values == pytest.approx([1 / 8, 2 / 8, 5 / 8])
