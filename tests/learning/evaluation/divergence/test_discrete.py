"""Divergence by graph and families against written-out joints."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import oracle
import sepset as ss
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.logistic import LogisticCPD
from sepset.cpds.table import TableCPD
from sepset.engine.engine import Engine
from sepset.errors import ModelError, NotApplicable, ScopeError, TooLarge
from sepset.graphs.graph import DAG
from sepset.learning.evaluation.divergence.discrete import Truth, cpd_distance, parameter_distance
from sepset.learning.evaluation.divergence.relativeentropy import divergence
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real
from support import many_digits
from support.blocks import in_blocks
from support.random_models import structured_net
from support.strategies import bayes_nets, plain_factors
from support.tolerances import CLOSE


def joint_of(net: BayesNet, order=None) -> np.ndarray:
    factors, cards = plain_factors(net)
    joint = oracle.joint(factors, cards)
    names = list(cards)
    return joint if order is None else joint.transpose([names.index(n) for n in order])


@st.composite
def pairs(draw):
    """Two networks over the same variables, with graphs of their own; rows may have zeros."""
    first = draw(bayes_nets(max_variables=4, min_variables=1))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    order = [first.variables[int(i)] for i in rng.permutation(len(first.variables))]
    cpds = []
    for place, v in enumerate(order):
        parents = [p for p in order[:place] if rng.random() < 0.5][:2]
        values = rng.random((*(p.num_states for p in parents), v.num_states))
        values[rng.random(values.shape) < 0.1] = 0.0
        values[..., 0] += 1e-3
        cpds.append(TableCPD.normalized(v, values, given=parents))
    return first, BayesNet(*cpds)


@settings(max_examples=80, deadline=None)
@given(pairs())
def test_the_total_is_the_divergence_of_the_joints(case):
    p, q = case
    names = p.variables.names
    expected = oracle.kl(joint_of(p), joint_of(q, names))
    found = divergence(p, q)
    assert found.total == pytest.approx(expected, abs=CLOSE)
    assert found.structure >= 0
    assert min(found.families.values()) >= 0
    assert divergence(p, p).total == 0.0


@settings(max_examples=40, deadline=None)
@given(pairs())
def test_the_graph_part_is_the_divergence_to_the_projection(case):
    p, q = case
    names = p.variables.names
    joint = joint_of(p)
    projected = np.ones(joint.shape)
    for v in q.variables:
        keep = [names.index(n) for n in (*q.parents(v), v.name)]
        drop = tuple(a for a in range(joint.ndim) if a not in keep)
        family = joint.sum(axis=drop, keepdims=True)
        total = family.sum(axis=names.index(v.name), keepdims=True)
        projected = projected * np.divide(family, total, out=np.zeros_like(family), where=total > 0)
    assert divergence(p, q).structure == pytest.approx(oracle.kl(joint, projected), abs=CLOSE)


@in_blocks("seed", range(6))
def test_structured_cpds_are_compared_as_tables(seed):
    net = structured_net(np.random.default_rng(seed)).model
    tables = BayesNet(*(cpd.to_table() for cpd in net.cpds))
    assert divergence(net, tables).total == pytest.approx(0.0, abs=CLOSE)


def test_one_reference_serves_many_models():
    truth = BayesNet.random(DAG.parse("a -> b <- c; b -> d"), seed=0)
    others = [BayesNet.random(truth.dag, seed=s) for s in range(1, 4)]
    reference = Truth(truth)
    for q in others:
        found, parts = divergence(truth, q), reference.parts(q)
        assert (found.structure, found.families) == (parts.structure, parts.families)
        assert found.total == pytest.approx(found.structure + sum(found.families.values()))
    assert reference.entropy == pytest.approx(oracle.entropy(joint_of(truth)))


def test_zeros_are_infinite_only_where_the_truth_is_positive():
    a, b = Discrete("a"), Discrete("b")
    truth = BayesNet(TableCPD(a, [1.0, 0.0]), TableCPD(b, [[0.5, 0.5], [0.5, 0.5]], given=a))
    unseen = BayesNet(TableCPD(a, [0.5, 0.5]), TableCPD(b, [[0.5, 0.5], [1.0, 0.0]], given=a))
    assert divergence(truth, unseen).total == pytest.approx(math.log(2))
    never = BayesNet(TableCPD(a, [0.5, 0.5]), TableCPD(b, [[1.0, 0.0], [0.5, 0.5]], given=a))
    found = divergence(truth, never)
    assert (found.total, found.families["b"], found.bits) == (math.inf, math.inf, math.inf)
    assert found.families["a"] == pytest.approx(math.log(2))


def test_bits_and_floats():
    a = Discrete("a")
    found = divergence(BayesNet(TableCPD(a, [1.0, 0.0])), BayesNet(TableCPD(a, [0.25, 0.75])))
    assert found.bits == pytest.approx(2.0)
    assert float(found) == found.total
    from rich.console import Console

    console = Console(record=True)
    console.print(found)
    assert "1.386" in console.export_text()


def test_distances_of_parameters():
    dag = DAG.parse("a -> b")
    p, q = BayesNet.random(dag, seed=1), BayesNet.random(dag, seed=2)
    flat = [np.concatenate([np.ravel(c.values) for c in net.cpds]) for net in (p, q)]
    gap = flat[0] - flat[1]
    assert parameter_distance(p, q) == pytest.approx(math.sqrt((gap**2).sum()))
    assert parameter_distance(p, q, order=1) == pytest.approx(np.abs(gap).sum())
    assert parameter_distance(p, q, order=math.inf) == pytest.approx(np.abs(gap).max())
    rows = [np.concatenate([c.values.reshape(-1, 2) for c in net.cpds]) for net in (p, q)]
    expected = np.mean([oracle.kl(a, b) for a, b in zip(*rows, strict=True)])
    assert cpd_distance(p, q) == pytest.approx(expected)


def test_distances_ignore_how_often_a_context_comes():
    a, b = Discrete("a"), Discrete("b")
    common, rare = ([[0.5, 0.5], [0.1, 0.9]], [[0.1, 0.9], [0.5, 0.5]])
    nets = [
        BayesNet(TableCPD(a, [0.99, 0.01]), TableCPD(b, rows, given=a)) for rows in ([[0.5, 0.5]] * 2, common, rare)
    ]
    assert cpd_distance(nets[0], nets[1]) == pytest.approx(cpd_distance(nets[0], nets[2]))
    assert divergence(nets[0], nets[2]).total > 50 * divergence(nets[0], nets[1]).total


def test_what_cannot_be_compared_is_refused():
    net = BayesNet.random(DAG.parse("a -> b"), seed=1)
    with pytest.raises(ModelError, match="the parents of 'b' differ"):
        parameter_distance(net, BayesNet.random(DAG.parse("a; b"), seed=1))
    with pytest.raises(ScopeError, match="differ in 'b'"):
        divergence(net, BayesNet.random(DAG.parse("a"), seed=1))
    with pytest.raises(ScopeError, match="differ in 'a', 'b', 'x'"):
        divergence(net, BayesNet(LinearGaussian(Real("x"), covariance=1.0)))
    with pytest.raises(NotApplicable, match="'x' are continuous"):
        parameter_distance(net, BayesNet(*net.cpds, LinearGaussian(Real("x"), covariance=1.0)))
    with pytest.raises(ScopeError, match="differ in 'x'"):
        divergence(net, BayesNet(*net.cpds, LinearGaussian(Real("x"), covariance=1.0)))
    with pytest.raises(NotApplicable, match="to_bayes_net"):
        divergence(net, "net")


def test_the_empty_network_is_at_no_distance():
    assert divergence(BayesNet(), BayesNet()).total == 0.0
    assert parameter_distance(BayesNet(), BayesNet()) == cpd_distance(BayesNet(), BayesNet()) == 0.0


def test_equal_structure_costs_nothing_whatever_the_order_of_parents():
    a, b, c = (Discrete(n, k) for n, k in zip("abc", (2, 3, 2), strict=True))
    rng = np.random.default_rng(0)
    values = rng.dirichlet(np.ones(2), (2, 3))
    first = BayesNet(TableCPD(a, [0.5, 0.5]), TableCPD(b, [0.2, 0.3, 0.5]), TableCPD(c, values, given=(a, b)))
    swapped = first.with_cpds(TableCPD(c, values.transpose(1, 0, 2), given=(b, a)))
    assert divergence(first, swapped).total == 0.0
    assert parameter_distance(first, swapped) == 0.0


def test_the_deepest_family_is_asked_first(monkeypatch):
    net = BayesNet.random(DAG.parse("c -> b; b -> a; d -> a; d -> e"), seed=1)
    truth = Truth(net)
    assert truth.deepest_first[0] == "a"
    asked = []

    def refuse(targets, **others):
        asked.append(tuple(targets))
        raise TooLarge("beyond the memory")

    monkeypatch.setattr(Engine, "query", lambda self, targets, **others: refuse(targets))
    with pytest.raises(TooLarge):
        truth.parts(BayesNet.random(net.dag, seed=2))
    assert asked == [("a", "b", "d")]


@pytest.mark.parametrize("seed", range(4))
def test_nearly_equal_networks_keep_the_digits_of_their_divergence(seed):
    rng = np.random.default_rng([seed, 23])
    a, b, c = Discrete("a"), Discrete("b", 3), Discrete("c")
    tables = [rng.dirichlet(np.ones(shape[-1]), shape[:-1]) for shape in ((2,), (2, 3), (2, 3, 2))]
    if seed % 2:
        tables = [t * 10.0 ** rng.uniform(-60, 0, t.shape) for t in tables]
    others = [t * (1.0 + 10.0 ** rng.uniform(-8, -4) * rng.normal(size=t.shape)) for t in tables]
    scopes = ((a, ()), (b, a), (c, (a, b)))
    p, q = ([t / t.sum(axis=-1, keepdims=True) for t in part] for part in (tables, others))
    nets = [BayesNet(*(TableCPD(v, t, given=g) for (v, g), t in zip(scopes, part, strict=True))) for part in (p, q)]
    assert divergence(*nets).total == pytest.approx(many_digits.kl_of_chains(p, q), rel=1e-6)


def test_what_an_almost_useless_arc_tells_is_right_in_digits():
    a, b = Discrete("a"), Discrete("b")
    for gap in (1e-3, 1e-6, 1e-8):
        prior, rows = np.array([0.3, 0.7]), np.array([[0.2, 0.8], [0.2 + gap, 0.8 - gap]])
        alone = prior @ rows
        p = BayesNet(TableCPD(a, prior), TableCPD(b, rows, given=a))
        q = BayesNet(TableCPD(a, prior), TableCPD(b, alone / alone.sum()))
        expected = many_digits.mutual_information(prior[:, None] * rows, [0], [1])
        assert divergence(p, q).structure == pytest.approx(expected, rel=1e-6)
        assert Engine(p).value_of_information("a")["b"] == pytest.approx(expected, rel=1e-6)


def test_a_state_of_any_small_probability_is_possible():
    a, x = Discrete("a"), Discrete("x")
    p, q = (BayesNet(TableCPD(a, [0.5, 0.5]), LogisticCPD(x, {a: w}, bias=-w / 2)) for w in (2000.0, 4000.0))
    assert divergence(p, q).total < 1e-300
    even = BayesNet(TableCPD(a, [0.5, 0.5]), TableCPD(x, [[0.5, 0.5], [0.5, 0.5]], given=a))
    assert divergence(even, q).total == pytest.approx(1000.0 - math.log(2.0), rel=1e-12)
    assert cpd_distance(even, q) == pytest.approx(2.0 / 3.0 * (1000.0 - math.log(2.0)), rel=1e-12)  # three rows


def test_small_differences_of_entropies_are_estimates():
    """Neither set of parents has the other: the loss is a difference of entropies, of which nothing is left here."""
    a, b, c = (ss.Discrete(name, 2) for name in "abc")
    coins = [ss.TableCPD(v, [0.5, 0.5]) for v in (a, b)]
    child = [[0.3, 0.7], [0.3 + 1e-9, 0.7 - 1e-9]]
    p, q = (ss.BayesNet(*coins, ss.TableCPD(c, child, given=parent)) for parent in (a, b))
    assert ss.evaluation.divergence(p, q).guarantees["divergence"] is ss.Guarantee.ESTIMATE
    far = ss.BayesNet(*coins, ss.TableCPD(c, [[0.3, 0.7], [0.6, 0.4]], given=a))
    assert ss.evaluation.divergence(far, q).guarantees["divergence"] is ss.Guarantee.EXACT
