"""Entropies and divergences against sums written out, and the identities between them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

import oracle
from sepset.errors import ScopeError
from sepset.factors import information
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.variables.variable import Discrete
from support import many_digits, small_tables as small
from support.tolerances import CLOSE

X, Y, Z = Discrete("X", 2), Discrete("Y", 3), Discrete("Z", 2)


def joints(scope: tuple[Discrete, ...] = (X, Y, Z)) -> st.SearchStrategy[np.ndarray]:
    """Distributions over a scope, with zeros."""
    return small.arrays(scope).filter(lambda values: values.sum() > 0).map(lambda values: values / values.sum())


@given(joints(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_figures_are_the_oracles(p, sparse):
    table = Table((X, Y, Z), 7.0 * p)
    factor = SparseTable.from_table(table) if sparse else table
    assert factor.entropy() == pytest.approx(oracle.entropy(p), abs=CLOSE)
    assert factor.mutual_information(X, "Y") == pytest.approx(oracle.mutual_information(p, [0], [1]), abs=CLOSE)
    found = factor.mutual_information([X], [Y], given=[Z])
    assert found == pytest.approx(oracle.mutual_information(p, [0], [1], [2]), abs=CLOSE)
    rest = p.sum(axis=(0, 1))
    expected = sum(oracle.entropy(p[:, :, z] / rest[z]) * rest[z] for z in range(2) if rest[z] > 0)
    assert factor.conditional_entropy([X, Y], Z) == pytest.approx(expected, abs=CLOSE)


@given(joints())
@settings(max_examples=60, deadline=None)
def test_mutual_information_is_entropy_saved_either_way(p):
    table = Table((X, Y, Z), p)
    x, y = table.project(X), table.project(Y)
    gain = table.mutual_information(X, Y)
    assert gain >= 0
    assert gain == pytest.approx(x.entropy() - table.conditional_entropy(X, Y), abs=CLOSE)
    assert gain == pytest.approx(y.entropy() - table.conditional_entropy(Y, X), abs=CLOSE)
    assert gain == pytest.approx(table.project([X, Y]).kl(x * y), abs=CLOSE)
    chain = table.project(Z).entropy() + table.conditional_entropy([X, Y], Z)
    assert table.entropy() == pytest.approx(chain, abs=CLOSE)


@given(joints(), joints())
@settings(max_examples=60, deadline=None)
def test_kl_is_the_oracles(p, q):
    expected = oracle.kl(p, q)
    mine, other = Table((X, Y, Z), p), Table((X, Y, Z), 3.0 * q).align((Z, X, Y))
    assert mine.kl(other) == pytest.approx(expected, rel=CLOSE, abs=CLOSE)
    assert SparseTable.from_table(mine).kl(other) == pytest.approx(expected, rel=CLOSE, abs=CLOSE)
    assert mine.kl(SparseTable.from_table(other)) == pytest.approx(expected, rel=CLOSE, abs=CLOSE)
    assert mine.kl(mine) == pytest.approx(0.0, abs=CLOSE)


def test_worked_numbers():
    assert Table(X, [1, 1]).entropy() == pytest.approx(math.log(2))
    assert Table(Discrete("n", 8), np.ones(8)).entropy() == pytest.approx(3 * math.log(2))
    assert Table(X, [0, 5]).entropy() == 0.0
    assert Table(X, [1, 1]).kl(Table(X, [1, 3])) == pytest.approx(0.5 * math.log(4 / 3))
    assert Table(X, [1, 1]).kl(Table(X, [1, 0])) == math.inf
    assert Table(X, [1, 0]).kl(Table(X, [1, 1])) == pytest.approx(math.log(2))
    copy = Table((X, Z), [[1, 0], [0, 1]])
    assert copy.mutual_information(X, Z) == pytest.approx(math.log(2))
    assert copy.conditional_entropy(X, Z) == 0.0


def test_log_tables_have_the_same_figures():
    logs = np.array([0.0, -1.0, -1e5])
    table = Table.from_log(Y, logs)
    assert table.space == "log"
    p = np.exp(logs) / np.exp(logs).sum()
    assert table.entropy() == pytest.approx(oracle.entropy(p), rel=CLOSE)
    assert table.mean() == pytest.approx(float(p @ [0, 1, 2]), rel=CLOSE)
    assert table.kl(Table(Y, [1, 1, 1])) == pytest.approx(math.log(3) - oracle.entropy(p), rel=CLOSE)
    # q is e^-1e5 where p is 1/3: a divergence only logarithms can state.
    assert Table(Y, [1, 1, 1]).kl(table) == pytest.approx(1e5 / 3, rel=1e-4)


def test_arrays():
    assert information.entropy(np.array([0.0, 1.0])) == 0.0
    assert not math.copysign(1.0, information.entropy(np.array([1.0]))) < 0
    assert information.kl(np.array([1.0, 0.0]), np.array([1.0, 0.0])) == 0.0
    assert information.kl(np.array([0.5, 0.5]), np.array([1.0, 0.0])) == math.inf
    assert information.kl(np.array([1.0]), np.array([0.25]), beyond=0.75) == pytest.approx(math.log(4))


def test_unknown_variables_are_refused():
    table = Table((X, Y), np.ones((2, 3)))
    with pytest.raises(ScopeError, match="Did you mean 'X'"):
        table.mutual_information("XX", "Y")
    with pytest.raises(ScopeError):
        table.conditional_entropy("X", "Z")
    with pytest.raises(ScopeError):
        table.kl(Table(X, [1, 1]))


@given(small.factors(3))
@settings(max_examples=30, deadline=None)
def test_entropy_does_not_depend_on_scale(f):
    scope, values = f
    assume(values.sum() > 0)
    expected = oracle.entropy(values / values.sum())
    assert (Table(scope, values) * 1e-250).entropy() == pytest.approx(expected, abs=CLOSE)


def hard_joint(rng, kind):
    """Probabilities of three variables that cancel in sums: any sizes, nearly independent, nearly certain."""
    values = rng.dirichlet(np.ones(12)).reshape(2, 3, 2)
    if kind == "any sizes":
        return values * 10.0 ** rng.uniform(-60, 0, values.shape)
    if kind == "nearly independent":
        parts = [rng.dirichlet(np.ones(n)) for n in (2, 3, 2)]
        return np.einsum("i,j,k->ijk", *parts) * (1.0 + 10.0 ** rng.uniform(-8, -3) * rng.normal(size=values.shape))
    return np.where(np.arange(3)[:, None] == 1, 1.0, 10.0 ** rng.uniform(-60, -8, values.shape)) * [1.0, 0.5]


@pytest.mark.parametrize("kind", ["any sizes", "nearly independent", "nearly certain"])
@pytest.mark.parametrize("seed", range(3))
def test_small_measures_keep_their_digits(kind, seed):
    rng = np.random.default_rng([seed, 17])
    p = hard_joint(rng, kind)
    q = p * (1.0 + 10.0 ** rng.uniform(-8, -2) * rng.normal(size=p.shape))
    exact = {
        "entropy": many_digits.entropy(p, [0, 1, 2]),
        "given": many_digits.entropy(p, [0], [1, 2]),
        "told": many_digits.mutual_information(p, [0], [1]),
        "told given": many_digits.mutual_information(p, [0], [1], [2]),
        "kl": many_digits.kl(p, q),
    }
    for factor in (Table((X, Y, Z), p), SparseTable.from_table(Table((X, Y, Z), p))):
        assert factor.entropy() == pytest.approx(exact["entropy"], rel=1e-12)
        assert factor.conditional_entropy(X, (Y, Z)) == pytest.approx(exact["given"], rel=1e-12)
        assert factor.mutual_information(X, Y) == pytest.approx(exact["told"], rel=1e-6)
        assert factor.mutual_information(X, Y, given=Z) == pytest.approx(exact["told given"], rel=1e-6)
        assert factor.kl(Table((X, Y, Z), q)) == pytest.approx(exact["kl"], rel=1e-6)


def test_of_independent_variables_nothing_is_told():
    rng = np.random.default_rng(4)
    for _ in range(20):
        px, py, pz = (rng.dirichlet(np.ones(n)) for n in (2, 3, 2))
        assert Table((X, Y, Z), np.einsum("i,j,k->ijk", px, py, pz)).mutual_information(X, Y, given=Z) == 0.0


@given(joints())
@settings(max_examples=20, deadline=None)
def test_sets_that_share_variables(p):
    table = Table((X, Y, Z), p)
    assert table.mutual_information((X, Z), (Y, Z)) == pytest.approx(
        oracle.entropy(p.sum(axis=(0, 1))) + oracle.mutual_information(p, [0], [1], [2]), abs=CLOSE
    )
    assert table.mutual_information(X, X) == pytest.approx(oracle.entropy(p.sum(axis=(1, 2))), abs=CLOSE)
    assert table.mutual_information(X, Y, given=(Y, Z)) == 0.0


def test_wide_sparse_tables_have_measures_too():
    many = [Discrete(f"v{i}", 2) for i in range(40)]
    codes = np.random.default_rng(2).integers(0, 2, (16, 40))
    codes[:, :4] = np.arange(16)[:, None] >> np.arange(4) & 1
    table = SparseTable(many, codes, values=np.ones(16))
    assert table.mutual_information(many[:2], many[2:]) == pytest.approx(
        2 * math.log(2) - table.conditional_entropy(many[:2], many[2:])
    )
    assert table.conditional_entropy(many[4:], many[:4]) == 0.0
