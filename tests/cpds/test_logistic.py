"""Logistic CPDs against the formula, chains of partial sums, and learned from data."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import sepset as ss
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.priors.dirichlet import Dirichlet
from sepset.cpds.priors.weights import NormalWeights
from sepset.errors import DataError, ModelError, NotApplicable, TooLarge
from sepset.variables.variable import Discrete
from support.cpd_contract import check_contract, joint_states, random_rows

A, B, X = Discrete("a"), Discrete("b", 3), Discrete("x", ("no", "yes"))


def softmax_table(child, parents, weights, bias):
    table = np.zeros([*(p.num_states for p in parents), child.num_states])
    for cell in joint_states(parents):
        scores = [bias[x] + sum(weights[i][c][x] for i, c in enumerate(cell)) for x in range(child.num_states)]
        total = math.fsum(math.exp(s) for s in scores)
        table[cell] = [math.exp(s) / total for s in scores]
    return table


def test_the_sigmoid():
    cpd = LogisticCPD(X, {A: 1.5, B: [0.0, -1.0, 2.0]}, bias=-0.5)
    for a, b in joint_states((A, B)):
        odds = -0.5 + 1.5 * a + (0.0, -1.0, 2.0)[b]
        assert cpd.to_table()[a, b][1] == pytest.approx(1 / (1 + math.exp(-odds)), rel=1e-14)
    assert cpd.num_parameters == 4


@pytest.mark.parametrize(
    ("cards", "levels"), [((), 2), ((2,), 3), ((2, 3), 3), ((1, 2), 2), ((2, 2, 2), 1), ((3, 2), 2)]
)
def test_contract(cards, levels):
    rng = np.random.default_rng(len(cards) + levels)
    child, parents = Discrete("x", levels), tuple(Discrete(f"p{i}", card) for i, card in enumerate(cards))
    weights = [rng.normal(size=(card, levels)) for card in cards]
    bias = rng.normal(size=levels)
    cpd = LogisticCPD(child, dict(zip(parents, weights, strict=True)), bias=bias)
    check_contract(cpd, softmax_table(child, parents, weights, bias))


def test_flat_weights_are_irrelevant():
    flat = np.array([[1.0, 2.0], [3.0, 4.0]])  # both states add the same log-odds
    cpd = LogisticCPD(X, {A: flat, B: [0.0, 1.0, 0.0]})
    assert cpd.irrelevant({}) == (A,)
    assert cpd.irrelevant({"a": 1}) == ()


def test_equal_weights_become_a_chain_of_partial_sums():
    parents = tuple(Discrete(f"p{i}") for i in range(8))
    cpd = LogisticCPD(X, dict.fromkeys(parents, 0.3), bias=-1.0)
    assert [v.num_states for v in cpd.auxiliaries] == [2, 3, 4, 5, 6, 7, 8]
    weights = [[[0, 0], [0, 0.3]]] * 8
    table = softmax_table(X, parents, weights, [0, -1.0])
    product = cpd.factors()[0]
    for factor in cpd.factors()[1:]:
        product = product * factor
    found = product.project(cpd.scope)
    np.testing.assert_allclose(getattr(found, "to_table", lambda: found)().values, table, rtol=0, atol=1e-12)


def test_thirty_equal_parents_need_no_table():
    parents = tuple(Discrete(f"p{i}") for i in range(30))
    cpd = LogisticCPD(X, dict.fromkeys(parents, 0.1), bias=-1.0)
    assert sum(f.size for f in cpd.factors()) < 2_000
    rng = np.random.default_rng(0)
    rows = {p: rng.integers(2, size=1000) for p in parents}
    drawn = cpd.sample(rows, 1000, rng)
    odds = -1.0 + 0.1 * np.sum([rows[p] for p in parents], axis=0)
    exact = np.where(drawn == 1, 1 / (1 + np.exp(-odds)), 1 / (1 + np.exp(odds)))
    np.testing.assert_allclose(np.exp(cpd.log_probability({**rows, X: drawn})), exact, rtol=1e-10)


def test_thirty_unequal_parents_are_refused_with_the_figure():
    parents = {Discrete(f"p{i}"): math.sqrt(i + 2) for i in range(31)}
    cpd = LogisticCPD(X, parents)
    with pytest.raises(TooLarge, match=r"4\.29e\+09 entries"):
        cpd.factors()


def exact_statistics(cpd, table):
    cells = np.array(list(joint_states(cpd.scope)))
    rows = {v: cells[:, axis] for axis, v in enumerate(cpd.scope)}
    return cpd.statistics(rows, 1000.0 * table.reshape(-1))


def test_estimates_recover_the_table():
    rng = np.random.default_rng(4)
    child = Discrete("x", 3)
    weights = [rng.normal(size=(2, 3)), rng.normal(size=(3, 3))]
    table = softmax_table(child, (A, B), weights, [0.2, -0.3, 0.5])
    start = LogisticCPD(child, {A: np.zeros((2, 3)), B: np.zeros((3, 3))}, block="shared")
    learned = start.from_statistics(exact_statistics(start, table))
    np.testing.assert_allclose(learned.to_table().values, table, atol=1e-6)
    assert learned.block == start.block
    assert not learned.bias[0]
    assert not learned.weights[1][0].any()


def test_the_slope_is_that_of_the_loss():
    cpd = LogisticCPD(X, {A: 1.0, B: [0.0, 1.0, 2.0]})
    from sepset.cpds.logistic import PenalizedFit

    fit = PenalizedFit(cpd.statistics(random_rows(cpd, 200, 0)), 0.7)
    point = np.random.default_rng(1).normal(size=fit.size)
    slope = fit.loss(point)[1]
    for i, unit in enumerate(np.eye(fit.size)):
        change = (fit.loss(point + 1e-6 * unit)[0] - fit.loss(point - 1e-6 * unit)[0]) / 2e-6
        assert slope[i] == pytest.approx(change, rel=1e-6, abs=1e-6)


def test_a_prior_shrinks_separated_weights():
    cpd = LogisticCPD(X, {A: 0.0})
    stats = cpd.statistics({A: np.array([0, 0, 1, 1]), X: np.array([0, 0, 1, 1])})
    free, tight = cpd.from_statistics(stats), cpd.from_statistics(stats, NormalWeights(0.5))
    assert abs(tight.weights[0][1, 1]) < 1.0 < abs(free.weights[0][1, 1])
    assert np.isfinite(free.weights[0]).all()


def test_unseen_states_follow_the_policy():
    cpd = LogisticCPD(X, {B: [0.0, 1.0, 2.0]})
    stats = cpd.statistics({B: np.array([0, 0, 1, 1]), X: np.array([0, 1, 0, 1])})
    assert cpd.from_statistics(stats).weights[0][2].tolist() == [0.0, 0.0]
    with pytest.raises(DataError, match="in the data: b=2"):
        cpd.from_statistics(stats, unseen="raise")
    with pytest.raises(NotApplicable, match="NormalWeights, LaplaceWeights or ImaginaryData"):
        cpd.from_statistics(stats, Dirichlet(1.0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LogisticCPD(X, {A: [1.0, 2.0, 3.0]}), r"weights of a have the shape \(3,\); expected \(2, 2\)"),
        (lambda: LogisticCPD(X, {A: math.inf}), "weights of a hold inf"),
        (lambda: LogisticCPD(Discrete("y", 3), {A: 1.0}), r"expected \(2, 3\)"),
        (lambda: LogisticCPD(Discrete("y", 3), {}, bias=1.0), "weights of the bias"),
        (lambda: LogisticCPD(X, {}, bias=math.nan), "the bias hold nan"),
    ],
)
def test_bad_weights_are_refused(make, message):
    with pytest.raises(ModelError, match=message):
        make()


@pytest.mark.parametrize("observed", [{}, {1: 2}, {0: 1, 2: 0}, {0: 0, 1: 1, 2: 1}])
def test_the_table_of_some_parents_is_that_of_each_joint_state(observed):
    rng = np.random.default_rng(5)
    child, parents = Discrete("y", 3), [Discrete("a", 2), Discrete("b", 4), Discrete("c", 2)]
    weights = {p: rng.normal(size=(p.num_states, 3)) for p in parents}
    bias = rng.normal(size=3)
    cpd = LogisticCPD(child, weights, bias=bias)
    rest = cpd.conditioned({parents[i]: code for i, code in observed.items()}).to_table()
    assert rest.parents == tuple(p for i, p in enumerate(parents) if i not in observed)
    free = [i for i in range(3) if i not in observed]
    for codes in itertools.product(*(range(parents[i].num_states) for i in free)):
        state = observed | dict(zip(free, codes, strict=True))
        odds = np.exp(bias + sum(weights[parents[i]][code] for i, code in state.items()))
        np.testing.assert_allclose(rest.values[codes], odds / odds.sum(), rtol=1e-12)


def steep(num_parents, scale, seed=0):
    """A network with one logistic CPD of large weights, and the log value of every joint state of parents and child."""
    rng = np.random.default_rng(seed)
    vs = [ss.Discrete(f"c{i}") for i in range(num_parents)]
    child = ss.Discrete("y", 3)
    weights = [scale * rng.normal(size=(2, 3)) for _ in vs]
    priors = rng.uniform(0.1, 0.9, num_parents)
    cpd = ss.LogisticCPD(child, dict(zip(vs, weights, strict=True)), bias=np.zeros(3))
    net = ss.BayesNet(*(ss.TableCPD(v, [1 - p, p]) for v, p in zip(vs, priors, strict=True)), cpd)
    codes = np.indices([2] * num_parents + [3]).reshape(num_parents + 1, -1)
    logits = sum(w[codes[i]] for i, w in enumerate(weights))
    own = logits[np.arange(codes.shape[1]), codes[-1]] - np.logaddexp.reduce(logits, axis=1)
    parents = sum(np.log(np.where(codes[i], p, 1 - p)) for i, p in enumerate(priors))
    return net, cpd, codes, own, parents + own


@pytest.mark.parametrize("scale", [700.0, 2000.0])
@pytest.mark.parametrize("num_parents", [2, 9])
def test_states_below_the_smallest_number_are_possible(num_parents, scale):
    net, cpd, codes, own, logs = steep(num_parents, scale)
    assert own.min() < -745
    columns = dict(zip(cpd.scope, codes, strict=True))
    np.testing.assert_allclose(cpd.log_probability(columns), own, rtol=1e-12, atol=1e-12)
    worst = int(own.argmin())
    given = {v.name: int(codes[i, worst]) for i, v in enumerate(cpd.scope) if v.name != "c0"}
    kept = (codes[1:] == codes[1:, [worst]]).all(axis=0)
    total = np.logaddexp.reduce(logs[kept])
    np.testing.assert_allclose(float(ss.log_probability(net, given=given)), total, rtol=1e-12)
    np.testing.assert_allclose(ss.query(net, "c0", given=given).values, np.exp(logs[kept] - total), rtol=1e-9)
    np.testing.assert_allclose(ss.map_assignment(net, given=given, k=2).log_values, np.sort(logs[kept])[::-1])
    row = {name: [state] for name, state in given.items()} | {"c0": [None]}
    found = ss.prepare(net).predict(ss.Dataset(row, variables=net.variables), targets=["c0"])
    np.testing.assert_allclose(found.log_probability, [total], rtol=1e-12)
    every = ss.map_assignment(net, k=len(logs))
    np.testing.assert_allclose(every.log_values, np.sort(logs)[::-1], rtol=1e-12, atol=1e-12)


def test_a_chain_of_large_weights_keeps_small_states():
    """Equal weights make a chain of sums, whose last factor has logarithms."""
    vs, child = [ss.Discrete(f"c{i}") for i in range(14)], ss.Discrete("y")
    net = ss.BayesNet(*(ss.TableCPD(v, [0.5, 0.5]) for v in vs), ss.LogisticCPD(child, dict.fromkeys(vs, -400.0)))
    on = np.arange(15)
    ways = np.array([math.comb(14, int(n)) for n in on])
    logs = 14 * np.log(0.5) - np.logaddexp(0.0, 400.0 * on)
    expected = np.repeat(logs, ways)[:1000]
    np.testing.assert_allclose(ss.map_assignment(net, given={"y": 1}, k=1000).log_values, expected, rtol=1e-12)
    everyone = {v.name: 1 for v in vs}
    np.testing.assert_allclose(float(ss.log_probability(net, given={**everyone, "y": 1})), logs[-1], rtol=1e-12)


def test_a_table_is_foreseen_only_where_every_chain_has_too_many_sums():
    """The partial sums of all orders by enumeration, of few and of many distinct weights."""
    rng, seen = np.random.default_rng(0), set()
    for num, values, states in itertools.product((2, 3, 4), (1, 2, 9), (2, 3)):
        parents = [Discrete(f"p{i}", int(rng.integers(2, 5))) for i in range(num)]
        weights = {p: rng.integers(0, values, (p.num_states, states)).astype(float) for p in parents}
        cpd = LogisticCPD(Discrete("x", states), weights, bias=np.zeros(states))
        seen.add(cpd.is_tabled)
        if cpd.is_tabled:
            assert [factor.scope for factor in cpd.decomposition().factors] == [cpd.scope]
            most = math.isqrt(math.prod([v.num_states for v in cpd.scope]) // 8)
            assert all(most_partial_sums(order) > most for order in itertools.permutations(weights.values()))
    assert seen == {False, True}


def most_partial_sums(weights):
    sums, most = {(0.0,) * weights[0].shape[1]}, 0
    for term in weights[:-1]:
        odds = (term - term[:, :1]).tolist()
        sums = {tuple(a + b for a, b in zip(found, row, strict=True)) for found in sums for row in odds}
        most = max(most, len(sums))
    return most
