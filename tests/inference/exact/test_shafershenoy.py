"""Messages without division: every belief is a marginal, and each message is sent when it is first read."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.graphs.clusters import ClusterTree as Tree, tree_decomposition
from sepset.inference.exact.messages import calibrate
from sepset.inference.exact.shafershenoy import Messages, ShaferShenoy, all_but_one
from sepset.inference.method import Method, Prepared
from sepset.inference.plan import interaction_graph
from sepset.inference.result import Guarantee
from support.blocks import in_blocks
from support.random_gaussians import hybrid_net, linear_net
from support.random_models import markov_net
from support.tolerances import CLOSE, EXACT


def tree_and_factors(model):
    problem = model.problem()
    graph = interaction_graph(problem, problem.relevant(range(len(problem.variables)), prune=False))
    factors = list(problem.factors())
    mentioned = {v for f in factors for v in f.scope}
    return tree_decomposition(graph), factors + [ss.Table.ones(v) for v in model.variables if v not in mentioned]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("semiring", "fold"), [(ss.factors.SUM, math.fsum), (ss.factors.MAX, max)], ids=["sum", "max"])
def test_beliefs_are_marginals_whatever_the_root(seed, semiring, fold):
    case = markov_net(np.random.default_rng([seed, 13]))
    tree, factors = tree_and_factors(case.model)
    measure = oracle.joint(case.factors, case.cards)
    for root in range(len(tree)):
        found = Messages(tree, factors, semiring, root)
        assert found.log_partition == pytest.approx(math.log(fold(measure.ravel().tolist())), abs=CLOSE)
        for clique in range(len(tree)):
            belief = found.belief(clique)
            names = tuple(v.name for v in belief.scope)
            expected = oracle.project(measure, case.cards, names, fold)
            values = np.asarray((belief if isinstance(belief, ss.Table) else belief.to_table()).values)
            np.testing.assert_allclose(values / values.max(), expected / expected.max(), rtol=CLOSE, atol=EXACT)


def chain(length):
    rng = np.random.default_rng(0)
    names = [ss.Discrete(f"x{i}", 2) for i in range(length)]
    return [ss.Table(pair, rng.random((2, 2)) + 0.1) for pair in itertools.pairwise(names)]


def test_only_the_messages_towards_what_is_read_are_sent():
    factors = chain(10)
    tree = Tree([tuple(v.name for v in f.scope) for f in factors], [(i, i + 1) for i in range(8)])
    found = Messages(tree, factors, root=8)
    assert len(found.down) == 0
    found.marginal(["x9"])
    assert len(found.down) == 0
    found.marginal(["x5"])
    assert sorted(found.down) in ([4, 5, 6, 7], [5, 6, 7])
    found.marginal(["x0"])
    assert sorted(found.down) == list(range(8))
    assert found.marginal(["x0", "x9"]) is None


def test_a_long_chain_needs_no_deep_stack_and_agrees_with_belief_updates():
    factors = chain(3000)
    tree = Tree([tuple(v.name for v in f.scope) for f in factors], [(i, i + 1) for i in range(2998)])
    found, other = Messages(tree, factors), calibrate(tree, factors)
    assert found.log_partition == pytest.approx(other.log_partition, rel=1e-12)
    np.testing.assert_allclose(found.marginal(["x0"]).values, other.marginal(["x0"]).values, rtol=CLOSE)


def test_all_but_one_leaves_each_part_out():
    a = ss.Discrete("a", 2)
    parts = [ss.Table(a, [p, 1.0]) for p in (2.0, 3.0, 5.0, 7.0, 11.0)]
    found = [f.values[0] for f in all_but_one(ss.Table(a, [1.0, 1.0]), parts)]
    assert found == pytest.approx([1155, 770, 462, 330, 210])
    assert list(all_but_one(ss.Table.ones(), [])) == []


def test_zeros_are_never_divided_by():
    a, b, c = (ss.Discrete(n, 2) for n in "abc")
    factors = [ss.Table((a, b), [[1, 0], [0, 0]]), ss.Table((b, c), [[0.5, 0.5], [1, 0]])]
    found = Messages(Tree([("a", "b"), ("b", "c")], [(0, 1)]), factors)
    assert found.marginal(["c"]).values.tolist() == [0.5, 0.5]
    assert found.marginal(["a"]).values.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("name", ["asia", "alarm", "child"])
def test_it_agrees_with_elimination_on_published_networks(name):
    net = ss.datasets.load(name)
    rng = np.random.default_rng(1)
    drawn = ss.sample(net, 1, seed=2).rows()
    row = next(iter(drawn))
    seen = [net.variables[i].name for i in rng.permutation(len(net.variables))[: len(net.variables) // 8]]
    given = {n: row[n] for n in seen}
    mine = ss.prepare(net, method=ShaferShenoy())
    other = ss.prepare(net, method=ss.VariableElimination())
    assert float(mine.log_probability(given=given)) == pytest.approx(
        float(other.log_probability(given=given)), abs=CLOSE
    )
    answers = mine.marginals(given=given)
    for v in net.variables:
        np.testing.assert_allclose(answers[v.name].values, other.query(v, given=given).values, atol=EXACT)


@in_blocks("seed", range(10))
def test_linear_gaussians_meet_the_dense_joint(seed):
    rng = np.random.default_rng(seed)
    nodes = oracle.random_linear_gaussian(rng, int(rng.integers(1, 7)), parts=2)
    index, mean, cov = oracle.dense_gaussian(nodes)
    answers = ss.marginals(linear_net(nodes), method=ShaferShenoy())
    for name, (at,) in index.items():
        assert answers[name].mean() == pytest.approx(mean[at], abs=CLOSE)
        assert answers[name].variance() == pytest.approx(cov[at, at], abs=CLOSE)


def test_hybrid_models_are_refused_with_a_method_that_serves():
    net = hybrid_net(*oracle.random_clg(np.random.default_rng(0), 2, 2)).markov_net()
    with pytest.raises(ss.errors.NotApplicable, match=r"cannot collapse mixtures .* Use CliqueTree"):
        ss.prepare(net, method=ShaferShenoy())


def test_it_is_a_method_and_refuses_what_is_too_large():
    model = ss.datasets.load("asia")
    assert isinstance(ShaferShenoy(), Method)
    assert isinstance(ShaferShenoy().prepare(model.problem()), Prepared)
    assert set(ShaferShenoy().promises(model.problem()).values()) == {Guarantee.EXACT}
    with pytest.raises(ss.TooLarge):
        ss.marginals(model, method=ShaferShenoy(memory=10))
