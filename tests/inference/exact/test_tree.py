"""Calibrated clique trees: sums, maxima, Gaussians and conditional linear Gaussians by one pass."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.graphs.clusters import ClusterTree as Tree, strong_root, tree_decomposition
from sepset.inference.exact.elimination import eliminate
from sepset.inference.exact.messages import calibrate
from sepset.inference.plan import interaction_graph
from sepset.variables.evidence import Evidence, resolve
from support.blocks import in_blocks
from support.random_gaussians import hybrid_net, linear_net
from support.random_models import markov_net, random_case
from support.tolerances import CLOSE, EXACT


def everything(problem):
    return problem.relevant(range(len(problem.variables)), prune=False)


def tree_of(model, joined=False):
    problem = model.problem()
    graph = interaction_graph(problem, everything(problem))
    return tree_decomposition(graph, joined=joined)


def with_isolated(model):
    factors = list(model.problem().factors())
    mentioned = {v for f in factors for v in f.scope}
    return factors + [ss.Table.ones(v) for v in model.variables if v not in mentioned]


def dense(factor):
    table = factor if isinstance(factor, ss.Table) else factor.to_table()
    return tuple(v.name for v in table.scope), np.asarray(table.values)


@in_blocks("seed", range(25))
@pytest.mark.parametrize(("semiring", "fold"), [(ss.factors.SUM, math.fsum), (ss.factors.MAX, max)], ids=["sum", "max"])
def test_beliefs_are_marginals_and_neighbors_agree(seed, semiring, fold):
    case = markov_net(np.random.default_rng([seed, 1]))
    tree = tree_of(case.model)
    if not len(tree):
        return
    measure = oracle.joint(case.factors, case.cards)
    result = calibrate(tree, with_isolated(case.model), semiring)
    assert result.log_partition == pytest.approx(math.log(fold(measure.ravel().tolist())), abs=CLOSE)
    # Parts that no edge joins are calibrated apart, so beliefs are compared up to their scale.
    for belief in result.beliefs:
        names, values = dense(belief)
        expected = oracle.project(measure, case.cards, names, fold)
        np.testing.assert_allclose(values / values.max(), expected / expected.max(), rtol=CLOSE, atol=EXACT)
    for (a, b), sepset in zip(tree.edges, result.sepset_beliefs, strict=True):
        names, values = dense(sepset)
        for side in (a, b):
            out = [v for v in result.beliefs[side].scope if v.name not in names]
            projected = result.beliefs[side].marginalize(out, semiring).align(names)
            np.testing.assert_allclose(dense(projected)[1], values, rtol=CLOSE, atol=1e-300)


@in_blocks("seed", range(25))
def test_beliefs_over_sepset_beliefs_are_the_measure_they_started_from(seed):
    case = markov_net(np.random.default_rng([seed, 2]))
    tree = tree_of(case.model)
    if not len(tree):
        return
    for semiring in (ss.factors.SUM, ss.factors.MAX):
        result = calibrate(tree, with_isolated(case.model), semiring)
        rebuilt = result.beliefs[0]
        for belief in result.beliefs[1:]:
            rebuilt = rebuilt * belief
        for sepset in result.sepset_beliefs:
            rebuilt = rebuilt / sepset
        values = dense(rebuilt.align(list(case.cards)))[1]
        np.testing.assert_allclose(values, oracle.joint(case.factors, case.cards), rtol=CLOSE, atol=1e-300)


@in_blocks("seed", range(10))
def test_any_root_calibrates_to_the_same_beliefs(seed):
    case = markov_net(np.random.default_rng([seed, 3]))
    tree = tree_of(case.model)
    factors = with_isolated(case.model)
    results = [calibrate(tree, factors, root=root) for root in range(len(tree))]
    for result in results[1:]:
        assert result.log_partition == pytest.approx(results[0].log_partition, abs=CLOSE)
        for mine, other in zip(result.beliefs, results[0].beliefs, strict=True):
            np.testing.assert_allclose(dense(mine.align(other.scope))[1], dense(other)[1], rtol=CLOSE, atol=1e-300)


def test_a_joint_inside_a_clique_is_read_and_one_outside_is_not():
    rng = np.random.default_rng(4)
    a, b, c = (ss.Discrete(n) for n in "abc")
    factors = [ss.Table((a, b), rng.random((2, 2))), ss.Table((b, c), rng.random((2, 2)))]
    result = calibrate(Tree([("a", "b"), ("b", "c")], [(0, 1)]), factors)
    joint = factors[0] * factors[1]
    expected = joint.marginalize([a]).normalize()
    np.testing.assert_allclose(result.marginal(["c", "b"]).align((b, c)).values, expected.align((b, c)).values)
    assert result.marginal(["a", "c"]) is None
    assert result.marginal([]).values == pytest.approx(1.0)


def test_a_measure_that_is_zero_everywhere_stops_after_collecting():
    a, b = ss.Discrete("a"), ss.Discrete("b")
    factors = [ss.Table((a, b), [[1, 0], [0, 0]]), ss.Table(b, [0, 1])]
    result = calibrate(Tree([("a", "b")], []), factors)
    assert result.log_partition == -math.inf


def test_messages_from_empty_models_and_constants():
    prepared = ss.CliqueTree().prepare(ss.MarkovNet(ss.Table((), [3.0]), ss.Table((), [2.0])).problem())
    assert prepared.calibrate(Evidence()).log_partition == pytest.approx(math.log(6.0))
    prepared = ss.CliqueTree().prepare(ss.MarkovNet(ss.Table((), [3.0]), variables=[ss.Discrete("a", 5)]).problem())
    assert prepared.calibrate(Evidence()).log_partition == pytest.approx(math.log(15.0))


@in_blocks("seed", range(30))
def test_linear_gaussian_networks_meet_the_dense_joint(seed):
    # map-and-hybrid C12: means, covariances and the log-density of the evidence.
    rng = np.random.default_rng(seed)
    nodes = oracle.random_linear_gaussian(rng, int(rng.integers(1, 8)), parts=int(rng.integers(1, 3)))
    net = linear_net(nodes)
    index, mean, cov = oracle.dense_gaussian(nodes)
    values = {node.child: float(rng.normal()) for node in nodes if rng.random() < 0.35}
    at = [index[name][0] for name in values]
    rest, mu, sigma = oracle.condition_gaussian(mean, cov, at, list(values.values()))
    place = {name: rest.index(index[name][0]) for name in index if name not in values}
    log_density = oracle.gaussian_log_density(list(values.values()), mean[at], cov[np.ix_(at, at)])
    tree = calibrate_net(net, values)
    assert tree.log_partition == pytest.approx(log_density, abs=CLOSE)
    for belief in tree.beliefs:
        found = belief.to_moments()
        where = [place[v.name] for v in belief.scope]
        np.testing.assert_allclose(found.mu, mu[where], rtol=0, atol=CLOSE)
        np.testing.assert_allclose(found.covariance, sigma[np.ix_(where, where)], rtol=0, atol=CLOSE)
    factors = [f.condition(values) for f in net.problem().factors()]
    free = [net[name] for name in place]
    remainder = eliminate(factors, [free[i] for i in rng.permutation(len(free))], keep=False).remainder
    assert remainder.log_total == pytest.approx(log_density, abs=CLOSE)
    for method in (ss.VariableElimination(), ss.CliqueTree(), ss.inference.BruteForce()):
        check_gaussian_answers(ss.prepare(net, method=method), values, place, mu, sigma, log_density, rng)


def calibrate_net(net, values):
    prepared = ss.CliqueTree().prepare(net.problem())
    return prepared.calibrate(resolve(values, net.variables))


def check_gaussian_answers(engine, values, place, mu, sigma, log_density, rng):
    assert float(engine.log_probability(given=values)) == pytest.approx(log_density, abs=CLOSE)
    names = list(place)
    answers = engine.marginals(given=values)
    for name in names:
        assert answers[name].mean() == pytest.approx(mu[place[name]], abs=CLOSE)
        assert answers[name].variance() == pytest.approx(sigma[place[name], place[name]], abs=CLOSE)
    for name, value in values.items():
        assert (answers[name].mean(), answers[name].variance()) == (value, 0.0)
    if not names:
        return
    asked = [names[i] for i in rng.permutation(len(names))]
    joint = engine.query(asked, given=values).distribution
    where = [place[name] for name in asked]
    assert isinstance(joint, ss.Gaussian)
    assert [v.name for v in joint.scope] == asked
    np.testing.assert_allclose(joint.mu, mu[where], rtol=0, atol=CLOSE)
    np.testing.assert_allclose(joint.covariance, sigma[np.ix_(where, where)], rtol=0, atol=CLOSE)
    # The most probable values of a Gaussian are its mean.
    best = engine.map_assignment(given=values)
    assert set(best.assignment) == set(names)
    np.testing.assert_allclose([best.assignment[n] for n in names], mu[[place[n] for n in names]], rtol=0, atol=CLOSE)
    peak = log_density - 0.5 * np.linalg.slogdet(2 * math.pi * sigma)[1]
    assert best.log_value == pytest.approx(peak, abs=CLOSE)
    some = asked[: 1 + len(asked) // 2]
    part = engine.map_assignment(given=values, over=some)
    np.testing.assert_allclose([part.assignment[n] for n in some], mu[[place[n] for n in some]], rtol=0, atol=CLOSE)


@in_blocks("seed", range(40))
def test_hybrid_networks_meet_the_enumerated_mixture(seed):
    # map-and-hybrid H2 and H18: discrete marginals, means, covariances and log p(e), through a strong root.
    rng = np.random.default_rng([seed, 5])
    families, cards, nodes = oracle.random_clg(rng, int(rng.integers(1, 4)), int(rng.integers(1, 4)))
    net = hybrid_net(families, cards, nodes)
    states = {name: int(rng.integers(card)) for name, card in cards.items() if rng.random() < 0.25}
    values = {node.child: float(rng.normal()) for node in nodes if rng.random() < 0.3}
    mixture = oracle.clg_mixture(families, cards, nodes, states, values)
    given = {**states, **values}
    if not mixture.components:
        with pytest.raises(ss.ImpossibleEvidence):
            ss.marginals(net, given=given)
        return
    for method in (ss.CliqueTree(), ss.VariableElimination(), ss.inference.BruteForce()):
        check_hybrid_answers(ss.prepare(net, method=method), given, mixture, cards)


def check_hybrid_answers(engine, given, mixture, cards):
    assert float(engine.log_probability(given=given)) == pytest.approx(mixture.log_evidence, abs=CLOSE)
    answers = engine.marginals(given=given)
    mean, cov = mixture.moments()
    for name in cards:
        np.testing.assert_allclose(answers[name].values, mixture.discrete_marginal([name], cards), rtol=0, atol=CLOSE)
        np.testing.assert_allclose(
            engine.query(name, given=given).values, mixture.discrete_marginal([name], cards), rtol=0, atol=CLOSE
        )
    for name, (where,) in mixture.index.items():
        for answer in (answers[name], engine.query(name, given=given)):
            assert answer.mean() == pytest.approx(mean[where], abs=CLOSE)
            assert answer.variance() == pytest.approx(cov[where, where], abs=CLOSE)
    if mixture.index:
        joint = engine.query(list(mixture.index), given=given).distribution
        flat = joint.to_gaussian() if isinstance(joint, ss.GaussianMixture) else joint
        np.testing.assert_allclose(flat.mu, mean, rtol=0, atol=CLOSE)
        np.testing.assert_allclose(flat.covariance, cov, rtol=0, atol=CLOSE)
    check_hybrid_maximum(engine, given, mixture)


def check_hybrid_maximum(engine, given, mixture):
    """The best complete assignment is the mean of the component with the highest peak."""
    peaks = [
        part.log_weight - 0.5 * (np.linalg.slogdet(2 * math.pi * part.cov)[1] if len(part.mean) else 0.0)
        for part in mixture.components
    ]
    best = engine.map_assignment(given=given)
    assert best.log_value == pytest.approx(max(peaks), abs=CLOSE)
    near = [part for part, peak in zip(mixture.components, peaks, strict=True) if peak >= max(peaks) - CLOSE]
    assert any(
        all(
            value
            == (
                part.assignment[name]
                if name in part.assignment
                else pytest.approx(part.mean[mixture.index[name][0]], abs=CLOSE)
            )
            for name, value in best.assignment.items()
        )
        for part in near
    )


@in_blocks("seed", range(20))
def test_collapsed_beliefs_keep_the_moments_in_each_discrete_state(seed):
    # map-and-hybrid H18: continuous moments are exact given the discrete variables of their clique, too.
    rng = np.random.default_rng([seed, 6])
    families, cards, nodes = oracle.random_clg(rng, 2, 3)
    net = hybrid_net(families, cards, nodes)
    values = {nodes[-1].child: float(rng.normal())}
    mixture = oracle.clg_mixture(families, cards, nodes, None, values)
    tree = calibrate_net(net, values)
    root = strong_root(tree.tree, [node.child for node in nodes])
    assert root is not None
    for belief in tree.beliefs:
        discrete = [v for v in belief.scope if v.is_discrete]
        reals = [v for v in belief.scope if not v.is_discrete]
        for states in itertools.product(*(v.states for v in discrete)) if reals else ():
            where = dict(zip([v.name for v in discrete], states, strict=True))
            if mixture.discrete_marginal(list(where), cards)[states] < 1e-12:
                continue
            part = belief.condition(where).to_moments()
            mean, cov = mixture.moments(where)
            at = [mixture.index[v.name][0] for v in part.scope]
            np.testing.assert_allclose(part.mu, mean[at], rtol=0, atol=1e-8)
            np.testing.assert_allclose(part.covariance, cov[np.ix_(at, at)], rtol=0, atol=1e-8)


def test_a_hybrid_model_in_parts_is_calibrated_through_one_strong_root():
    d, e = ss.Discrete("d", 2), ss.Discrete("e", 3)
    x, y, z = (ss.Real(n) for n in "xyz")
    net = ss.BayesNet(
        ss.TableCPD(d, [0.3, 0.7]),
        ss.TableCPD(e, [0.2, 0.3, 0.5]),
        ss.LinearGaussian(x, [0.0, 1.0], covariance=[1.0, 2.0], by=d),
        ss.LinearGaussian(y, [0.0, 1.0, 2.0], covariance=1.0, by=e),
        ss.LinearGaussian(z, 4.0, covariance=9.0),
    )
    answers = ss.marginals(net)
    assert answers["x"].mean() == pytest.approx(0.7)
    assert answers["x"].variance() == pytest.approx(0.3 * 1 + 0.7 * 2 + 0.3 * 0.7)
    assert answers["y"].mean() == pytest.approx(1.3)
    assert (answers["z"].mean(), answers["z"].variance()) == pytest.approx((4.0, 9.0))
    np.testing.assert_allclose(answers["e"].values, [0.2, 0.3, 0.5])


@in_blocks("seed", range(10))
def test_random_models_calibrate_under_any_evidence(seed):
    case = random_case(np.random.default_rng([seed, 8]))
    prepared = ss.CliqueTree().prepare(case.model.problem())
    assert prepared.calibrate(Evidence()).log_partition == pytest.approx(
        oracle.log_z(case.factors, case.cards), abs=CLOSE
    )
