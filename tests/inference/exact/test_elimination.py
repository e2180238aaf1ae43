"""Variable elimination: one loop for sums, maxima and draws, under any order and any family of factors."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.base.threads import OutOfWork, working
from sepset.inference.buckets.pool import ENTRY_NANOSECONDS, product
from sepset.inference.exact.elimination import eliminate, read_back
from sepset.variables.evidence import Evidence
from support.blocks import in_blocks
from support.counted_orders import CountedOrders
from support.random_gaussians import hybrid_net, linear_net
from support.random_models import markov_net
from support.tolerances import CLOSE, EXACT, STANDARD_ERRORS

A, B, C, D = (ss.Discrete(name, 2) for name in "abcd")


def chain(rng, length=4):
    variables = [ss.Discrete(f"x{i}", 2) for i in range(length)]
    pairs = itertools.pairwise(variables)
    return variables, [ss.Table(pair, rng.uniform(0.1, 1.0, (2, 2))) for pair in pairs]


def test_the_empty_product_is_one():
    assert product([]).log_total == 0.0
    assert eliminate([], []).remainder.log_total == 0.0


@in_blocks("seed", range(30))
def test_every_order_gives_the_same_sum(seed):
    rng = np.random.default_rng([seed, 1])
    case = markov_net(rng)
    factors = list(case.model.problem().factors())
    order = [case.variables[i] for i in rng.permutation(len(case.variables))]
    for keep in (True, False):
        done = eliminate(factors, order, keep=keep)
        assert done.remainder.log_total == pytest.approx(oracle.log_z(case.factors, case.cards), abs=CLOSE)
        assert len(done.conditionals) == (len(order) if keep else 0)


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_modes_read_backwards_are_a_maximizer_for_every_order(order):
    variables, factors = chain(np.random.default_rng(3))
    done = eliminate(factors, [variables[i] for i in order], ss.factors.MAX)
    columns = read_back(done.conditionals, 1, None)
    states = {v: v.states[int(columns[v][0])] for v in variables}
    plain = [(tuple(v.name for v in f.scope), f.values) for f in factors]
    best, value = oracle.map_assignments(plain, {v.name: 2 for v in variables})
    assert done.remainder.log_total == pytest.approx(value, abs=EXACT)
    assert {v.name: s for v, s in states.items()} == best[0]


def test_each_variable_may_have_its_own_sum():
    # Marginal MAP: b is summed, then a maximized; the marginal's maximizer differs from the joint's.
    joint = ss.Table((A, B), [[0.35, 0.05], [0.30, 0.30]])
    done = eliminate([joint], [B, A], lambda v: ss.factors.MAX if v == A else ss.factors.SUM)
    assert done.remainder.log_total == pytest.approx(math.log(0.6))
    assert read_back([c for c in done.conditionals if c.frontal[0] == A], 1, None)[A].tolist() == [1]
    assert read_back(eliminate([joint], [B, A], ss.factors.MAX).conditionals, 1, None)[A].tolist() == [0]


def test_draws_read_backwards_follow_the_joint():
    rng = np.random.default_rng(5)
    variables, factors = chain(rng)
    drawn = read_back(eliminate(factors, variables).conditionals, 20_000, rng)
    joint = oracle.joint([(tuple(v.name for v in f.scope), f.values) for f in factors], {v.name: 2 for v in variables})
    p = joint / joint.sum()
    counts = np.zeros_like(p)
    np.add.at(counts, tuple(drawn[v] for v in variables), 1.0)
    assert (np.abs(counts / 20_000 - p) <= STANDARD_ERRORS * np.sqrt(p * (1 - p) / 20_000)).all()


def test_a_variable_without_factors_is_uniform_and_a_real_one_is_refused():
    done = eliminate([], [A])
    assert done.remainder.log_total == pytest.approx(math.log(2))
    with pytest.raises(ss.errors.NotClosed, match="No factor has x in its scope"):
        eliminate([], [ss.Real("x")])


@in_blocks("seed", range(20))
def test_gaussian_factors_through_the_same_loop(seed):
    rng = np.random.default_rng([seed, 2])
    nodes = oracle.random_linear_gaussian(rng, 5)
    factors = list(linear_net(nodes).problem().factors())
    index, mean, cov = oracle.dense_gaussian(nodes)
    order = [f.scope[-1] for f in factors]
    target, *rest = [order[i] for i in rng.permutation(len(order))]
    found = eliminate(factors, rest, keep=False).remainder.to_moments()
    (at,) = index[target.name]
    assert found.mean() == pytest.approx(mean[at], abs=CLOSE)
    assert found.variance() == pytest.approx(cov[at, at], abs=CLOSE)


@in_blocks("seed", range(20))
def test_hybrid_factors_reals_first_and_a_mixture_where_reals_are_kept(seed):
    rng = np.random.default_rng([seed, 3])
    families, cards, nodes = oracle.random_clg(rng, 2, 2)
    net = hybrid_net(families, cards, nodes)
    mixture = oracle.clg_mixture(families, cards, nodes)
    mean, cov = mixture.moments()
    reals, states = [net[n.child] for n in nodes], [net[name] for name in cards]
    table = eliminate(net.problem().factors(), [*reals, states[0]], keep=False).remainder
    np.testing.assert_allclose(
        ss.query(net, states[1]).values, table.align([states[1]]).values / math.exp(table.log_total), atol=CLOSE
    )
    answer = ss.query(net, reals[::-1]).distribution
    flat = answer.to_gaussian() if isinstance(answer, ss.GaussianMixture) else answer
    at = [mixture.index[v.name][0] for v in reals[::-1]]
    np.testing.assert_allclose(flat.mu, mean[at], atol=CLOSE)
    np.testing.assert_allclose(flat.covariance, cov[np.ix_(at, at)], atol=CLOSE)


def test_only_states_that_mix_a_target_are_components():
    """Thirty discrete variables, one of them above the real: two components, not a billion."""
    states = [ss.Discrete(f"d{i}", 2) for i in range(30)]
    cpds = [ss.TableCPD(states[0], [0.4, 0.6])]
    cpds += [ss.TableCPD(v, [[0.9, 0.1], [0.2, 0.8]], given=u) for u, v in itertools.pairwise(states)]
    x = ss.Real("x")
    net = ss.BayesNet(*cpds, ss.LinearGaussian(x, [0.0, 3.0], covariance=[1.0, 2.0], by=states[-1]))
    answer = ss.query(net, x, given={"d0": 1})
    assert answer.distribution.num_components == 2
    p = np.linalg.matrix_power([[0.9, 0.1], [0.2, 0.8]], 29)[1]
    assert answer.mean() == pytest.approx(3 * p[1])
    assert ss.plan(net, "x").largest == 4


def test_a_real_and_the_state_it_depends_on_are_asked_together():
    d, e, x = ss.Discrete("d", 2), ss.Discrete("e", 2), ss.Real("x")
    means = [[0.0, 1.0], [2.0, 3.0]]
    net = ss.BayesNet(
        ss.TableCPD(d, [0.25, 0.75]),
        ss.TableCPD(e, [0.5, 0.5]),
        ss.LinearGaussian(x, np.array(means)[..., None], covariance=1.0, by=(d, e)),
    )
    joint = ss.query(net, [x, d, e]).distribution
    expected = math.log(0.75 * 0.5) - 0.5 * math.log(2 * math.pi)
    assert joint.log_value({"d": 1, "e": 1, "x": 3.0}) == pytest.approx(expected)
    with pytest.raises(ss.errors.NotClosed, match="Ask for the continuous targets alone, or for 'e' too"):
        ss.query(net, [x, d])
    with pytest.raises(ss.errors.ScopeError, match="Leave out 'd', whose values are known"):
        ss.query(net, [x, d], given={"d": 1})


def test_maxima_of_reals_under_a_sum_over_states_are_refused_with_a_way_out():
    d, x = ss.Discrete("d", 2), ss.Real("x")
    net = ss.BayesNet(ss.TableCPD(d, [0.5, 0.5]), ss.LinearGaussian(x, [0.0, 3.0], covariance=1.0, by=d))
    with pytest.raises(ss.errors.NotClosed, match=r"density of 'x' .* mixture .* leave out `over=`"):
        ss.map_assignment(net, over="x")
    assert ss.map_assignment(net, given={"x": 2.0}).assignment == {"d": 1}


def test_plans_are_kept_and_evidence_values_do_not_make_new_ones():
    orders, model = CountedOrders(), ss.MarkovNet(ss.Table((A, B), np.ones((2, 2))))
    prepared = ss.VariableElimination(order=orders).prepare(model.problem())
    first = prepared.query([0], Evidence({1: 0}))
    second = prepared.query([0], Evidence({1: 1}))
    assert orders.made == 1
    assert first.distribution.values.tolist() == second.distribution.values.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("prune", [True, False])
def test_pruning_changes_the_work_and_not_the_answer(prune):
    rng = np.random.default_rng(9)
    families, cards = oracle.random_network(rng, 7, parts=2)
    made = {name: ss.Discrete(name, card) for name, card in cards.items()}
    net = ss.BayesNet(*(ss.TableCPD(made[c], t, given=[made[p] for p in ps]) for c, ps, t in families))
    engine = ss.prepare(net, method=ss.VariableElimination(prune=prune))
    name = families[0][0]
    expected = oracle.conditional(oracle.bayes_factors(families), cards, [name])
    np.testing.assert_allclose(engine.query(name).values, expected, atol=EXACT)
    kept = engine.prepared.plan([0], []).relevant.factors
    assert len(kept) <= len(families) if prune else len(kept) == len(families)


def test_maxima_that_take_too_long_are_refused_before_the_first_product(monkeypatch):
    case = markov_net(np.random.default_rng(4))
    prepared = ss.VariableElimination().prepare(case.model.problem())
    over = list(range(len(case.variables)))
    best = prepared.best(Evidence(), over)
    assert best.log_value == pytest.approx(oracle.map_assignments(case.factors, case.cards)[1], abs=CLOSE)
    price = ENTRY_NANOSECONDS * prepared.best_plan(over, ()).cost
    with working(price):
        assert prepared.best(Evidence(), over) == best
    monkeypatch.setattr("sepset.inference.exact.elimination.eliminate", None)
    with working(0.9 * price), pytest.raises(OutOfWork):
        prepared.best(Evidence(), over)
