"""Cluster graphs: exact on trees, better with larger clusters, graphs of one's own."""

import numpy as np
import pytest

import sepset as ss
from inference.propagation.test_loopybp import enumerated, spin_glass
from sepset.errors import ArgumentError, ImpossibleEvidence, ModelError, NotApplicable
from sepset.graphs import ClusterGraph, bethe_graph
from sepset.inference import ClusterBP
from sepset.inference.wiring import Wiring
from support.blocks import in_blocks
from support.random_models import random_finding
from support.wired import best_value, random_problem, task_of


@in_blocks("seed", range(40))
def test_trees_of_clusters_are_exact(seed):
    rng = np.random.default_rng(seed)
    wiring = Wiring.of(random_problem(rng))
    log_z, marginals = enumerated(wiring)
    found = ClusterBP(8).propagate(wiring)
    assert found.is_forest
    assert found.energy() == pytest.approx(log_z, abs=1e-9)
    if log_z == -np.inf:
        return
    assert found.has_converged
    for i, expected in enumerate(marginals):
        assert found.variable(i) == pytest.approx(expected, abs=1e-9)
    for f in range(wiring.num_factors):
        belief = found.factor(f)
        for axis, i in enumerate(wiring.scope(f).tolist()):
            rest = tuple(a for a in range(belief.ndim) if a != axis)
            assert belief.sum(axis=rest) == pytest.approx(marginals[i], abs=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_bethe_graphs_give_the_beliefs_of_factors(seed):
    net = spin_glass(np.random.default_rng(seed), 3, 3)
    names = [v.name for v in net.variables]
    graph = bethe_graph([[v.name for v in f.scope] for f in net.factors if len(f.scope) > 1], names)
    until = ss.Until(steps=3000, tolerance=1e-11)
    found = ss.marginals(net, method=ClusterBP(graph=graph, until=until))
    loopy = ss.marginals(net, method=ss.LoopyBP(until=until))
    assert found.log_partition == pytest.approx(loopy.log_partition, abs=1e-7)
    for name in names:
        assert found[name].values == pytest.approx(loopy[name].values, abs=1e-7)


def test_larger_clusters_are_closer():
    errors = {2: 0.0, 4: 0.0}
    for seed in range(5):
        net = spin_glass(np.random.default_rng(seed), 4, 4, 0.8)
        exact = ss.marginals(net)
        for bound in errors:
            near = ss.marginals(net, method=ClusterBP(bound))
            errors[bound] += sum(abs(near[n].values[0] - exact[n].values[0]) for n in exact)
        assert ss.log_partition(net, method=ClusterBP(6)).guarantees["log_partition"] is ss.Guarantee.EXACT
    assert errors[4] < 0.7 * errors[2]


@in_blocks("seed", range(25))
def test_assignments_of_trees_are_the_best(seed):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    task = ss.inference.AssignmentTask(problem, ss.variables.Evidence())
    best = best_value(task.wiring)
    found = ClusterBP(8).assign(task)
    if best == -np.inf:
        assert found.bound == -np.inf
        return
    assert found.log_values[0] == pytest.approx(best, abs=1e-9)
    assert found.bound == pytest.approx(best, abs=1e-9)
    loops = ClusterBP(1, until=20).assign(task)
    assert loops.log_values[0] <= best + 1e-9


def test_evidence_and_graphs_of_ones_own():
    net = ss.datasets.load("student")
    clusters = [("difficulty", "intelligence", "grade"), ("intelligence", "sat"), ("grade", "letter")]
    method = ClusterBP(graph=ClusterGraph(clusters, [(0, 1), (0, 2)]))
    rng = np.random.default_rng(0)
    for _ in range(10):
        given = {v.name: random_finding(rng, v)[0] for v in net.variables if rng.random() < 0.4}
        try:
            exact = ss.marginals(net, given=given)
        except ImpossibleEvidence:
            continue
        found = ss.marginals(net, given=given, method=method)
        assert found.log_partition == pytest.approx(exact.log_partition, abs=1e-10)
        for name in exact:
            assert found[name].values == pytest.approx(exact[name].values, abs=1e-10)
    assert ss.query(net, ["sat", "intelligence"], method=method).values == pytest.approx(
        ss.query(net, ["sat", "intelligence"]).values
    )


def test_graphs_that_do_not_fit_are_refused():
    net = ss.datasets.load("misconception")
    with pytest.raises(NotApplicable, match="No cluster covers"):
        ss.marginals(net, method=ClusterBP(graph=ClusterGraph([("Alice", "Bob"), ("Charles",), ("Debbie",)])))
    with pytest.raises(ModelError, match="Running intersection"):
        ClusterBP(graph=ClusterGraph([("a", "b"), ("b", "c")]))
    for settings in ({"bound": 0}, {"graph": [("a", "b")]}, {"damping": 1.0}):
        with pytest.raises(ArgumentError):
            ClusterBP(**settings)


def test_empty_models_and_impossible_evidence():
    assert ss.log_partition(ss.MarkovNet(variables=[ss.Discrete("a", 3)]), method=ClusterBP()).value == pytest.approx(
        np.log(3)
    )
    a, b, c = (ss.Discrete(n) for n in "abc")
    unequal = [ss.Table([u, v], [[0, 1], [1, 0]]) for u, v in [(a, b), (b, c), (c, a)]]
    with pytest.raises(ImpossibleEvidence):
        ss.marginals(ss.MarkovNet(*unequal), method=ClusterBP(3))


@in_blocks("seed", range(60))
def test_passes_that_end_early_refute_nothing(seed):
    """Zeros reach other clusters pass by pass: a possible model stays one however soon they end."""
    wiring = Wiring.of(random_problem(np.random.default_rng([seed, 2])))
    best = best_value(wiring)
    if best == -np.inf:
        return
    for steps in (1, 2):
        method = ClusterBP(2, until=ss.Until(steps=steps, tolerance=1e-9))
        assert method.propagate(wiring).log_totals > -np.inf
        found = method.assign(task_of(wiring))
        assert found.bound >= best - 1e-9
        assert found.log_values[0] <= best + 1e-9
