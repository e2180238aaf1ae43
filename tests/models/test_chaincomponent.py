"""Chain components: normalizers, draws and errors against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.noisy import NoisyOr
from sepset.cpds.table import TableCPD
from sepset.errors import ModelError, ScopeError
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
