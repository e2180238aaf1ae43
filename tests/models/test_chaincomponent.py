"""Chain components: normalizers, draws and errors against enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest

import oracle
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.noisy import NoisyOr
from sepset.cpds.table import TableCPD
from sepset.errors import ModelError, ScopeError, TooLarge
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.models.chaincomponent import ChainComponent
from sepset.variables.variable import Discrete, Real
from support.tolerances import CLOSE, STANDARD_ERRORS

u, v, a, b, c = Discrete("u", 2), Discrete("v", 3), Discrete("a", 2), Discrete("b", 3), Discrete("c", 2)


def loop() -> ChainComponent:
    """A three-cycle a - b - c with two parents."""
    rng = np.random.default_rng(3)
    scopes = [(a, b), (b, c), (c, a), (u, a), (v, c)]
    return ChainComponent((a, b, c), *(Table(s, rng.exponential(size=[x.num_states for x in s])) for s in scopes))


def dense(component):
    """P(k | u) by enumeration, axes (*parents, *variables)."""
    cards = {x.name: x.num_states for x in (*component.parents, *component.variables)}
    factors = [(tuple(x.name for x in f.scope), np.asarray(f.values)) for f in component.factors]
    measure = oracle.joint(factors, cards)
    axes = tuple(range(len(component.parents), measure.ndim))
    return measure / measure.sum(axis=axes, keepdims=True)


def test_the_normalizer_and_the_conditional():
    component = loop()
    assert component.parents == (u, v)
    assert repr(component) == "ChainComponent(a, b, c | u, v)"
    expected = dense(component)
    codes = np.argwhere(np.ones(expected.shape, bool))
    columns = dict(zip((u, v, a, b, c), codes.T, strict=True))
    got = np.exp(component.log_probability(columns, len(codes)))
    np.testing.assert_allclose(got, expected.reshape(-1), atol=CLOSE)


def test_draws_follow_the_conditional():
    component = loop()
    expected = dense(component)
    num_rows = 60_000
    rng = np.random.default_rng(4)
    rows = {u: rng.integers(0, 2, num_rows), v: rng.integers(0, 3, num_rows)}
    drawn = component.sample(rows, num_rows, rng)
    counts = np.zeros(expected.shape)
    np.add.at(counts, (rows[u], rows[v], drawn[a], drawn[b], drawn[c]), 1)
    totals = counts.sum(axis=(2, 3, 4), keepdims=True)
    error = np.sqrt(expected * (1 - expected) / totals)
    assert (np.abs(counts / totals - expected) <= STANDARD_ERRORS * error).all()


def test_one_variable_without_factors_is_uniform():
    lone = ChainComponent(b)
    assert lone.log_probability({b: np.array([0, 2])}, 2) == pytest.approx(np.log([1 / 3, 1 / 3]))
    assert set(lone.sample({}, 100, np.random.default_rng(0))[b].tolist()) == {0, 1, 2}


def test_sparse_factors_and_cpds():
    equal = ChainComponent((a, c), SparseTable((a, c), [[0, 0], [1, 1]], values=[1.0, 3.0]))
    assert np.exp(equal.log_probability({a: np.array([0, 0, 1]), c: np.array([0, 1, 1])}, 3)) == pytest.approx(
        [0.25, 0, 0.75]
    )
    cpd = ChainComponent.of_cpd(TableCPD(a, [[0.1, 0.9], [0.6, 0.4]], given=u))
    assert cpd.all_factors() == cpd.factors
    noisy = ChainComponent.of_cpd(NoisyOr(a, {u: 0.8, c: 0.4}, leak=0.01))
    assert noisy.parents == (u, c)
    ones = {u: np.array([1]), c: np.array([1]), a: np.array([1])}
    assert np.exp(noisy.log_probability(ones, 1))[0] == pytest.approx(0.8812)


def test_refusals():
    with pytest.raises(ModelError, match="at least one variable"):
        ChainComponent(())
    with pytest.raises(ModelError, match=r"not connected by its factors: \(a\) and \(b\)"):
        ChainComponent((a, b), Table(a, [1, 2]))
    with pytest.raises(ScopeError, match="has no variable of the component"):
        ChainComponent(a, Table(a, [1, 1]), Table(u, [1, 2]))
    with pytest.raises(ModelError, match="made of tables"):
        ChainComponent(a, 3)
    with pytest.raises(ScopeError, match="share one name"):
        ChainComponent(a, Table(Discrete("a", 3), [1, 2, 3]))
    with pytest.raises(ModelError, match="discrete"):
        ChainComponent.of_cpd(LinearGaussian(Real("x"), 0.0, covariance=1.0))
    with pytest.raises(ModelError, match=r"no positive value given \(u=1\)"):
        ChainComponent(a, Table((u, a), [[1, 2], [0, 0]])).all_factors()
    with pytest.raises(AttributeError, match="immutable"):
        loop().parents = ()


def test_a_component_is_eliminated_by_the_smallest_tables_first():
    """Each variable leaves when the table over it and its neighbors is the smallest; the first of equal ones."""
    rng = np.random.default_rng(0)
    v = [Discrete(f"v{i}", int(rng.integers(2, 4))) for i in range(8)]
    pairs = [(i, j) for i in range(8) for j in range(i) if j == i - 1 or rng.random() < 0.3]
    tables = [Table([v[i], v[j]], rng.random((v[i].num_states, v[j].num_states)) + 0.1) for i, j in pairs]
    component = ChainComponent(v[1:], *tables)  # v0 is its parent
    scopes, waiting, expected = [set(t.scope) for t in tables], v[1:], []
    while waiting:
        joint = {u: {u}.union(*(s for s in scopes if u in s)) for u in waiting}
        best = min(waiting, key=lambda u: math.prod(w.num_states for w in joint[u]))
        scopes = [s for s in scopes if best not in s] + [joint[best] - {best}]
        expected.append(best)
        waiting = [u for u in waiting if u is not best]
    assert [c.frontal[0] for c in component.conditionals] == expected


def test_a_component_too_wide_is_refused_before_a_table_is_made(monkeypatch):
    v = [Discrete(f"v{i}") for i in range(40)]
    tables = [Table([v[i], v[j]], np.ones((2, 2))) for i in range(40) for j in range(i)]
    component = ChainComponent(v, *tables)
    monkeypatch.setattr(Table, "__mul__", None)
    with pytest.raises(TooLarge):
        component.normalizer


def test_parents_with_two_domains_are_refused():
    with pytest.raises(ScopeError, match="share one name"):
        ChainComponent(
            [a, b],
            Table([a, b], np.ones((2, 3))),
            Table([Discrete("u", 2), a], np.ones((2, 2))),
            Table([Discrete("u", 3), b], np.ones((3, 3))),
        )
