"""What the forms of message passing share: projections, homes, trees of plans, and trees over what a query needs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.graphs.clusters import ClusterTree as Tree
from sepset.inference.exact.beliefupdate import BeliefUpdate
from sepset.inference.exact.messages import (
    assigned,
    homes,
    initial,
    is_hybrid,
    log_total,
    plan_tree,
    project,
    smallest_home,
)
from sepset.inference.exact.shafershenoy import ShaferShenoy
from sepset.variables.evidence import Evidence
from support.random_gaussians import hybrid_net

A, B, C = (ss.Discrete(n, 2) for n in "abc")
TREE = Tree([("a", "b"), ("b", "c")], [(0, 1)])


def test_each_factor_goes_to_the_smallest_clique_that_holds_it_and_constants_to_the_first():
    factors = [ss.Table((A, B), np.ones((2, 2))), ss.Table(C, [1, 2]), ss.Table((), [3.0]), ss.Table(B, [1, 5])]
    groups = assigned(TREE, factors)
    assert [[factors.index(f) for f in group] for group in groups] == [[0, 2, 3], [1]]
    first, second = initial(TREE, factors)
    assert first.align((A, B)).values.tolist() == [[3, 15], [3, 15]]
    assert second.values.tolist() == [1, 2]


def test_a_projection_sums_or_maximizes_what_is_not_kept():
    table = ss.Table((A, B), [[1, 2], [3, 4]])
    assert project(table, {"b"}, ss.factors.SUM).values.tolist() == [4, 6]
    assert project(table, {"b"}, ss.factors.MAX, exact=True).values.tolist() == [3, 4]
    assert project(table, {"a", "b", "elsewhere"}, ss.factors.SUM) is table
    assert log_total(table, ss.factors.SUM) == pytest.approx(math.log(10))
    assert log_total(table, ss.factors.MAX) == pytest.approx(math.log(4))


def test_the_smallest_home_of_names():
    where = homes(TREE)
    assert where == {"a": {0}, "b": {0, 1}, "c": {1}}
    assert smallest_home(where, ["b"], [4, 2]) == 1
    assert smallest_home(where, ["b"], [4, 4]) == 0
    assert smallest_home(where, [], [4, 2]) == 1
    assert smallest_home(where, ["a", "c"], [4, 2]) is None
    assert smallest_home(where, ["unknown"], [4, 2]) is None


def test_plans_become_trees_and_hybrid_ones_get_a_strong_root():
    d, x = ss.Discrete("d", 2), ss.Real("x")
    net = ss.BayesNet(ss.TableCPD(d, [0.5, 0.5]), ss.LinearGaussian(x, [0.0, 3.0], covariance=1.0, by=d))
    problem = net.problem()
    assert is_hybrid(problem)
    tree, root = plan_tree(problem, ss.prepare(net, method=ss.VariableElimination()).plan())
    assert set(tree.clusters[root]) == {"d", "x"}
    plain = ss.MarkovNet(ss.Table((A, B), np.ones((2, 2))), ss.Table((B, C), np.ones((2, 2)))).problem()
    assert not is_hybrid(plain)
    plan = ss.VariableElimination().prepare(plain).plan([], [])
    assert plan_tree(plain, plan)[1] is None
    assert plan_tree(plain, plan)[0].is_connected


@pytest.mark.parametrize("method", [BeliefUpdate(), ShaferShenoy()], ids=lambda m: type(m).__name__)
def test_empty_models_and_constants(method):
    prepared = method.prepare(ss.MarkovNet(ss.Table((), [3.0]), ss.Table((), [2.0])).problem())
    assert prepared.calibrate(Evidence()).log_partition == pytest.approx(math.log(6.0))
    assert prepared.log_partition(Evidence()) == pytest.approx(math.log(6.0))
    assert prepared.query([], Evidence()).distribution.values == pytest.approx(1.0)
    prepared = method.prepare(ss.MarkovNet(ss.Table((), [3.0]), variables=[ss.Discrete("a", 5)]).problem())
    assert prepared.log_partition(Evidence()) == pytest.approx(math.log(15.0))
    nothing = method.prepare(ss.MarkovNet(ss.Table((), [0.0])).problem())
    assert nothing.query([], Evidence()).log_partition == -math.inf


@pytest.mark.parametrize("method", [BeliefUpdate(), ShaferShenoy()], ids=lambda m: type(m).__name__)
def test_a_query_needs_a_tree_over_its_ancestors_only(method):
    names = [ss.Discrete(f"x{i}", 2) for i in range(60)]
    first, rest = names[0], names[1:]
    wide = ss.Discrete("wide", 2)
    cpds = [ss.TableCPD(v, [0.3, 0.7]) for v in rest[:30]]
    cpds.append(ss.TableCPD(first, [[0.2, 0.8], [0.6, 0.4]], given=rest[0]))
    table = np.full((2,) * 12 + (2,), 0.5)
    cpds.append(ss.TableCPD(wide, table, given=rest[:12]))
    small = ss.prepare(ss.BayesNet(*cpds), method=type(method)(memory=1000))
    assert small.query("x0").values == pytest.approx([0.3 * 0.2 + 0.7 * 0.6, 0.3 * 0.8 + 0.7 * 0.4])
    with pytest.raises(ss.TooLarge):
        small.marginals()


def test_maxima_of_a_tree_are_max_marginals():
    model = ss.datasets.load("asia")
    best = ss.map_assignment(model, method=ss.inference.BruteForce())
    for method in (BeliefUpdate(), ShaferShenoy()):
        tree = method.prepare(model.problem()).calibrate(Evidence(), ss.factors.MAX)
        assert tree.log_partition == pytest.approx(best.log_value)
        for name, state in best.assignment.items():
            assert model[name].states[int(np.argmax(tree.marginal([name]).values))] == state


def test_hybrid_models_by_belief_updates_have_exact_moments():
    rng = np.random.default_rng(3)
    families, cards, nodes = oracle.random_clg(rng, 3, 3)
    net = hybrid_net(families, cards, nodes)
    mixture = oracle.clg_mixture(families, cards, nodes)
    mean, cov = mixture.moments()
    engine = ss.prepare(net, method=BeliefUpdate())
    answers = engine.marginals()
    assert float(engine.log_partition()) == pytest.approx(mixture.log_evidence, abs=1e-9)
    for name, (at,) in mixture.index.items():
        assert answers[name].mean() == pytest.approx(mean[at], abs=1e-9)
        assert answers[name].variance() == pytest.approx(cov[at, at], abs=1e-9)
    for name in cards:
        expected = mixture.discrete_marginal([name], cards)
        np.testing.assert_allclose(answers[name].values, expected, atol=1e-9)
        np.testing.assert_allclose(engine.query(name).values, expected, atol=1e-9)
