"""Regressions in moment form: the laws of factors, scipy's normals, and relations without noise."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

import oracle
from sepset.errors import ModelError, NotClosed, ScopeError
from sepset.factors.algebra import Conditional, Factor
from sepset.factors.gaussian import CanonicalGaussian
from sepset.factors.hybrid import CanonicalTable
from sepset.factors.moments import Gaussian, GaussianMixture
from sepset.factors.regression import Regression, in_context
from sepset.factors.table import Table
from sepset.semiring import MAX
from sepset.variables.variable import Discrete, Real, Vector
from support.random_forms import (
    STATES,
    A,
    B,
    P,
    X,
    Y,
    Z,
    assert_same,
    gaussian,
    points,
    some,
    table_of_gaussians,
    width,
)
from support.tolerances import CLOSE, EXACT, STANDARD_ERRORS

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def regression(rng, child=P, given=None, by=None, rank=None):
    """A random regression; covariances have this rank, or are positive definite."""
    given = some(rng, (X, Y, Z)) if given is None else given
    by = some(rng, STATES) if by is None else by
    shape, size = tuple(v.num_states for v in by), child.size
    root = rng.normal(size=(*shape, size, size if rank is None else rank))
    covariance = root @ np.swapaxes(root, -1, -2) + (0.1 * np.eye(size) if rank is None else 0.0)
    slopes = rng.normal(size=(*shape, size, width(given)))
    return Regression(child, rng.normal(size=(*shape, size)), slopes, covariance, given=given, by=by)


def entry_of(found, point):
    cells = list(itertools.product(*(v.states for v in found.by)))
    return cells.index(tuple(point[v] for v in found.by))


def mean_at(found, point):
    e = entry_of(found, point)
    u = np.concatenate([np.empty(0), *(np.ravel(point[v]) for v in found.given)])
    return found.intercept[e] + found.coefficients[e] @ u


def test_it_is_a_factor_and_a_conditional():
    found = regression(np.random.default_rng(0), given=(X,), by=(A,))
    assert isinstance(found, Factor)
    assert isinstance(found, Conditional)
    assert found.scope == (A, X, P)
    assert (found.frontal, found.parents) == ((P,), (A, X))
    assert found.size == 2 * (2 + 2 + 4)
    assert repr(found) == "Regression(p | a[2], x)"


def test_arrays_are_shaped_and_read_only():
    found = Regression(Y, [0.0, 1.5], -1.0, 0.5, given=X, by=A)
    assert found.intercept.tolist() == [[0.0], [1.5]]
    assert found.coefficients.tolist() == [[[-1.0]], [[-1.0]]]
    assert found.covariance.tolist() == [[[0.5]], [[0.5]]]
    with pytest.raises(ValueError, match="read-only"):
        found.intercept[0] = 3.0
    with pytest.raises(AttributeError):
        found.child = X
    assert pickle.loads(pickle.dumps(found)).intercept.tolist() == found.intercept.tolist()


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: Regression(Y, 0.0, None, -1.0), ModelError, "eigenvalue -1"),
        (lambda: Regression(Y, np.nan, None, 1.0), ModelError, "finite"),
        (lambda: Regression(Y, 0.0, np.inf, 1.0, given=X), ModelError, "Coefficients of y"),
        (lambda: Regression(Y, 0.0, 1.0, 1.0, given=Y), ScopeError, "'y' appears twice"),
        (lambda: Regression(Y, 0.0, [1.0, 2.0], 1.0, given=X), ModelError, r"expected \(1, 1\)"),
        (lambda: Regression(P, [0.0, 1.0], None, [[1.0, 2.0], [0.0, 1.0]]), ModelError, "symmetric"),
    ],
)
def test_what_is_refused(make, kind, message):
    with pytest.raises(kind, match=message):
        make()


@given(seeds)
def test_values_are_densities(rng):
    found = regression(rng)
    for point in points(rng, found.scope, 1):
        expected = oracle.gaussian_log_density(
            point[P], mean_at(found, point), found.covariance[entry_of(found, point)]
        )
        assert found.log_value(point) == pytest.approx(expected, rel=CLOSE, abs=CLOSE)


@given(seeds, st.sampled_from([0, 1, 2]))
def test_values_on_and_off_a_thin_support(rng, rank):
    """Scipy's normal distributions with singular covariances: the density on the support, and -inf off it."""
    child = Vector("q", 3)
    found = regression(rng, child, rank=rank)
    for point in points(rng, found.scope, 1):
        e, mean = entry_of(found, point), mean_at(found, point)
        C = found.covariance[e]
        vectors = np.linalg.eigh(C)[1]
        on = mean + vectors[:, 3 - rank :] @ rng.normal(size=rank)
        off = on + 0.5 * vectors[:, 0]
        expected = stats.multivariate_normal.logpdf(on, mean, C, allow_singular=True) if rank else 0.0
        assert found.log_value(point | {child: on}) == pytest.approx(expected, rel=1e-7, abs=1e-7)
        assert found.log_value(point | {child: off}) == -math.inf
    assert not found.is_definite.any()


def test_a_context_without_noise_beside_one_with_it():
    found = Regression(Y, [1.0, 0.0], 2.0, [0.0, 1.0], given=X, by=A)
    assert found.is_definite.tolist() == [False, True]
    logs = [found.log_value({"a": "u", "x": 1.0, "y": y}) for y in (3.0, 3.5)]
    assert logs == [0.0, -math.inf]
    assert found.log_value({"a": "v", "x": 1.0, "y": 3.0}) == pytest.approx(stats.norm(2.0).logpdf(3.0))
    likelihood = found.condition({"x": 1.0, "y": 3.0})
    assert likelihood.scope == (A,)
    assert likelihood.values.tolist() == pytest.approx([1.0, stats.norm(2.0).pdf(3.0)])
    with pytest.raises(NotClosed, match=r"Regression\(y \| a\[2\], x\) has no canonical form.*where a='u'"):
        found.condition({"y": 3.0})
    assert found.condition({"a": "v", "y": 3.0}).log_value({"x": 1.0}) == pytest.approx(stats.norm(2.0).logpdf(3.0))


def test_rounding_does_not_break_a_relation():
    """The sum of three tenths and six tenths is not nine tenths in floating point, and lies on the relation."""
    law = Regression(Y, 0.3, [[1.0, -1e6]], 0.0, given=(X, Z))
    point = {X: 1e6 / 3.0, Z: 1.0 / 3.0}
    assert law.log_value(point | {Y: 0.3 + point[X] - 1e6 * point[Z]}) == 0.0
    assert law.log_value(point | {Y: 0.31}) == -math.inf


@given(seeds)
def test_conditioning_on_parents_stays_in_moment_form(rng):
    found = regression(rng, rank=int(rng.integers(3)))
    for point in points(rng, found.scope, 1):
        part = {v: point[v] for v in found.parents if rng.random() < 0.5}
        rest = found.condition(part)
        assert isinstance(rest, Regression)
        assert set(rest.parents) == set(found.parents) - set(part)
        np.testing.assert_allclose(mean_at(rest, point), mean_at(found, point), atol=EXACT)
        np.testing.assert_array_equal(rest.covariance[entry_of(rest, point)], found.covariance[entry_of(found, point)])


@given(seeds)
def test_conditioning_is_that_of_the_canonical_form(rng):
    found = regression(rng)
    for point in points(rng, found.scope, 1):
        part = {v: value for v, value in point.items() if rng.random() < 0.6}
        assert_same(found.condition(part), found.canonical.condition(part), rng, 1e-7)
    assert found.condition({"elsewhere": 1}) is found


@given(seeds)
def test_products_quotients_and_powers_are_those_of_the_canonical_form(rng):
    found, canonical = (lambda f: (f, f.canonical))(regression(rng, given=(X,), by=(A,)))
    other, mixed = gaussian(rng, (X, Y)), table_of_gaussians(rng, (A, B), (X,), zeros=0.0)
    table = Table(B, rng.random(3) + 0.1)
    for f in (other, mixed, table, 2.5):
        assert_same(found * f, canonical * f, rng)
        assert_same(f * found, f * canonical, rng)
        assert_same(found / f, canonical / f, rng)
        assert_same(f / found, f / canonical, rng)
    assert_same(found * found, canonical * canonical, rng)
    assert_same(found**2.0, canonical**2.0, rng)


def test_times_one_is_itself_even_without_noise():
    law = Regression(Y, 1.0, 2.0, 0.0, given=X)
    for same in (law * 1.0, 1.0 * law, law * Table.ones(), Table.ones() * law, law / 1.0, law**1):
        assert same is law
    for act in (lambda: law * 2.0, lambda: law * law, lambda: law / law, lambda: law**2, lambda: 1.0 / law):
        with pytest.raises(NotClosed, match="deterministic"):
            act()


@given(seeds)
def test_marginals_are_those_of_the_canonical_form(rng):
    found = regression(rng, given=(X,), by=(A, B))
    for out in ([P], [P, A], [P, A, B]):
        assert_same(found.marginalize(out), found.canonical.marginalize(out), rng)
        assert_same(found.collapse(out), found.canonical.collapse(out), rng)
    for out in ([A], [P, X]):
        with pytest.raises(NotClosed):
            found.marginalize(out)
    assert_same(found.marginalize([P], MAX), found.canonical.marginalize([P], MAX), rng)
    root = regression(rng, given=(), by=(A,))
    assert_same(root.collapse([A]), root.canonical.collapse([A]), rng)
    assert found.marginalize(["elsewhere"]) is found


def test_integrating_a_child_without_noise_gives_one():
    law = Regression(Y, 1.0, 2.0, 0.0, given=X, by=A)
    rest = law.marginalize(Y)
    assert isinstance(rest, CanonicalTable)
    assert rest.log_value({"a": "u", "x": 3.0}) == 0.0
    assert Regression(Y, 1.0, None, 0.0).marginalize("y").values == 1.0
    assert Regression(Y, [1.0, 2.0], None, 0.0, by=A).marginalize([Y]).values.tolist() == [1.0, 1.0]
    assert isinstance(Regression(Y, 1.0, 2.0, 0.0, given=X).marginalize([Y]), CanonicalGaussian)


def test_eliminating_the_child_leaves_itself_behind():
    law = Regression(Y, [1.0, 0.0], 2.0, [0.0, 4.0], given=X, by=A)
    conditional, rest = law.eliminate([Y])
    assert conditional is law
    assert rest.log_value({"a": "v", "x": 1.0}) == 0.0
    rows = {A: np.array([0, 1]), X: np.array([1.0, 3.0])}
    assert conditional.mode(rows, 2)[Y].tolist() == [3.0, 6.0]
    drawn = conditional.sample({A: np.repeat([0, 1], 10_000), X: np.ones(20_000)}, 20_000, np.random.default_rng(0))[Y]
    assert (drawn[:10_000] == 3.0).all()
    assert abs(drawn[10_000:].mean() - 2.0) < STANDARD_ERRORS * 2.0 / 100
    assert abs(drawn[10_000:].var() - 4.0) < STANDARD_ERRORS * 4.0 * math.sqrt(2 / 10_000)
    other, peak = Regression(Y, 1.0, None, 4.0).eliminate([Y], MAX)
    assert other.mode({}, 1)[Y].tolist() == [1.0]
    assert peak.log_total == pytest.approx(-0.5 * math.log(2 * math.pi * 4.0))


@given(seeds, st.sampled_from([None, 1]))
def test_draws_have_the_moments_of_their_context(rng, rank):
    found = regression(rng, given=(X,), by=(A,), rank=rank)
    count = 4000
    rows = {A: np.repeat([0, 1], count), X: np.full(2 * count, 0.5)}
    drawn = found.sample(rows, 2 * count, rng)[P].reshape(2, count, 2)
    for e in range(2):
        mean, C = found.intercept[e] + found.coefficients[e] @ [0.5], found.covariance[e]
        spread = np.sqrt(np.diag(C))
        assert (np.abs(drawn[e].mean(axis=0) - mean) <= 6 * spread / math.sqrt(count)).all()
        error = 6 * math.sqrt(2 / count) * np.outer(spread, spread)
        assert (np.abs(np.cov(drawn[e].T) - C) <= error).all()
        vectors = np.linalg.eigh(C)[1]
        if rank == 1:
            np.testing.assert_allclose((drawn[e] - mean) @ vectors[:, 0], 0.0, atol=1e-7 * spread.max())


def test_totals():
    assert Regression(Y, 1.0, 2.0, 1.0, given=X).log_total == math.inf
    assert Regression(Y, [1.0, 2.0], None, 0.0, by=A).log_total == pytest.approx(math.log(2.0))
    assert Regression(Y, 1.0, None, 0.0).log_total == 0.0
    root = Regression(Y, 1.0, None, 0.0)
    assert root.normalize() is root
    mixture = Regression(Y, [1.0, 2.0], None, 1.0, by=A).normalize()
    assert mixture.log_total == pytest.approx(0.0, abs=EXACT)
    with pytest.raises(NotClosed):
        Regression(Y, 1.0, 2.0, 1.0, given=X).normalize()


def test_distributions():
    point = Regression(Y, 1.0, None, 0.0)
    assert isinstance(point.to_distribution([Y]), Gaussian)
    assert (point.to_moments().mean(), point.to_moments().variance()) == (1.0, 0.0)
    mixture = Regression(Y, [1.0, 3.0], None, [0.0, 1.0], by=A).to_distribution("y")
    assert isinstance(mixture, GaussianMixture)
    assert (mixture.mean(), mixture.variance()) == pytest.approx((2.0, 1.5))
    table = Regression(Y, [1.0, 3.0], None, [2.0, 1.0], by=A)
    assert table.to_distribution([A]).values.tolist() == pytest.approx([0.5, 0.5])
    assert table.align([Y, A]).scope == (A, Y)
    with pytest.raises(NotClosed, match="depends on 'a'"):
        table.to_moments()


def test_log_value_needs_the_whole_scope():
    with pytest.raises(ScopeError, match="missing 'x'"):
        Regression(Y, 1.0, 2.0, 1.0, given=X).log_value({Y: 1.0})


@pytest.mark.parametrize("size", [1, 2, 4])
def test_rows_times_the_matrix_of_their_context(size):
    rng = np.random.default_rng(size)
    matrices, rows, entry = rng.normal(size=(5, size, size)), rng.normal(size=(40, size)), rng.integers(5, size=40)
    expected = np.array([matrices[e] @ row for e, row in zip(entry, rows, strict=True)])
    np.testing.assert_allclose(in_context(matrices, rows, entry), expected, atol=EXACT)
    np.testing.assert_allclose(in_context(matrices[:1], rows, 0 * entry), rows @ matrices[0].T, atol=EXACT)


def test_many_rows_at_once():
    rng = np.random.default_rng(5)
    found = Regression(Y, [1.0, 0.0], [[[2.0]], [[-1.0]]], [0.0, 0.5], given=X, by=Discrete("d"))
    entry, u = rng.integers(2, size=50), rng.normal(size=(50, 1))
    y = np.where(entry == 0, 1.0 + 2.0 * u[:, 0], rng.normal(size=50))[:, None]
    expected = np.where(entry == 0, 0.0, stats.norm(-u[:, 0], math.sqrt(0.5)).logpdf(y[:, 0]))
    np.testing.assert_allclose(found.log_densities(entry, u, y), expected, rtol=1e-12)
    y[entry == 0] += 0.1
    assert (found.log_densities(entry, u, y)[entry == 0] == -math.inf).all()


def test_reals_and_vectors_as_children_and_parents():
    found = Regression(Real("s"), 1.0, [[1.0, 2.0]], 0.5, given=P)
    assert found.log_value({P: [1.0, -1.0], "s": 0.5}) == pytest.approx(stats.norm(0.0, math.sqrt(0.5)).logpdf(0.5))
