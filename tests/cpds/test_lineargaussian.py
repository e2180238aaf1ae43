from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import multivariate_normal

import oracle
from sepset.cpds.cpd import CPD, ParameterBlock
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.priors.dirichlet import Dirichlet
from sepset.errors import DataError, ModelError, NotApplicable, NotClosed, ScopeError
from sepset.factors.gaussian import CanonicalGaussian
from sepset.factors.hybrid import CanonicalTable
from sepset.factors.regression import Regression
from sepset.factors.table import Table
from sepset.models.jointgaussian import joint_gaussian
from sepset.variables.variable import Discrete, Real, Vector
from support.random_forms import ONE, STATES, A, B, C, P, X, Y, Z, eliminate, points, some, width
from support.tolerances import CLOSE, EXACT

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def random_cpd(rng, child=P, given=None, by=None):
    given = some(rng, (X, Y, Z)) if given is None else given
    by = some(rng, STATES) if by is None else by
    shape, size = tuple(v.num_states for v in by), child.size
    root = rng.normal(size=(*shape, size, size))
    return LinearGaussian(
        child,
        rng.normal(size=(*shape, size)),
        coefficients=rng.normal(size=(*shape, size, width(given))),
        covariance=root @ np.swapaxes(root, -1, -2) + 0.1 * np.eye(size),
        given=given,
        by=by,
    )


def random_parents(rng, cpd, count):
    states = {v: rng.integers(v.num_states, size=count) for v in cpd.by}
    reals = {v: rng.normal(size=count if isinstance(v, Real) else (count, v.size)) for v in cpd.given}
    return {**states, **reals}


def test_parameters_by_state_are_those_in_order():
    rng = np.random.default_rng(0)
    cpd = random_cpd(rng, given=(X, Z), by=(A, B))
    codes = list(np.ndindex(A.num_states, B.num_states))
    rng.shuffle(codes)

    def named(numbers, *axes):
        array = numbers.reshape(A.num_states, B.num_states, *numbers.shape[1:])
        return {(A.states[i], B.states[j]): array[(i, j, ..., *axes)] for i, j in codes}

    slopes = {Z: named(cpd.coefficients, slice(1, 1 + Z.size)), X: named(cpd.coefficients, slice(0, 1))}
    assert (X.size, width((X, Z))) == (1, 1 + Z.size)
    numbers = named(cpd.intercept), named(cpd.covariance)
    other = LinearGaussian(P, numbers[0], coefficients=slopes, covariance=numbers[1], given=(X, Z), by=(A, B))
    for part in ("intercept", "coefficients", "covariance"):
        np.testing.assert_array_equal(getattr(other, part), getattr(cpd, part))
    with pytest.raises(ModelError, match=r"LinearGaussian of p was given 0 of \d+ intercepts; the intercept"):
        LinearGaussian(P, {}, covariance=np.eye(P.size), by=(A, B))


def test_it_is_a_cpd():
    cpd = random_cpd(np.random.default_rng(0), given=(X,), by=(A,))
    assert isinstance(cpd, CPD)
    assert cpd.parents == (A, X)
    assert cpd.scope == (A, X, P)
    assert cpd.auxiliaries == ()
    assert cpd.block == ParameterBlock("p")
    assert repr(cpd) == "LinearGaussian(p | a[2], x)"


def test_scalars_for_reals():
    cpd = LinearGaussian(Y, 1.0, coefficients=2.0, covariance=0.5, given=X)
    assert (cpd.intercept.tolist(), cpd.coefficients.tolist(), cpd.covariance.tolist()) == ([[1]], [[[2]]], [[[0.5]]])
    assert cpd.num_parameters == 3
    alone = LinearGaussian(Y, covariance=1.0)
    assert alone.intercept.tolist() == [[0.0]]
    assert alone.num_parameters == 2
    assert isinstance(alone.factors()[0], Regression)


def test_one_value_serves_every_state():
    cpd = LinearGaussian(Y, [0.0, 1.0], coefficients={"z": [5.0, 6.0], X: 2.0}, covariance=0.5, given=(X, Z), by=A)
    assert cpd.coefficients.tolist() == [[[2, 5]], [[2, 6]]]
    assert cpd.covariance.tolist() == [[[0.5]], [[0.5]]]
    assert cpd.num_parameters == 2 * (1 + 2 + 1)


@given(seeds)
def test_the_factor_is_the_density(rng):
    cpd = random_cpd(rng)
    (factor,) = cpd.factors()
    assert isinstance(factor.canonical, CanonicalTable if cpd.by else CanonicalGaussian)
    assert set(factor.scope) == set(cpd.scope)
    cells = list(itertools.product(*(v.states for v in cpd.by)))
    for point in points(rng, cpd.scope, 1):
        e = cells.index(tuple(point[v] for v in cpd.by))
        u = np.concatenate([np.empty(0), *(point[v] for v in cpd.given)])
        mean = cpd.intercept[e] + cpd.coefficients[e] @ u
        expected = oracle.gaussian_log_density(point[P], mean, cpd.covariance[e])
        assert factor.log_value(point) == pytest.approx(expected, rel=1e-7, abs=1e-7)
        row = {v: np.array([v.code(point[v]) if isinstance(v, Discrete) else point[v]]) for v in cpd.scope}
        assert cpd.log_probability(row)[0] == pytest.approx(expected, rel=1e-8, abs=1e-8)


@given(seeds)
def test_the_child_integrates_to_one(rng):
    cpd = random_cpd(rng)
    rest = cpd.factors()[0].marginalize([P])
    for point in points(rng, rest.scope, 1):
        assert rest.log_value(point) == pytest.approx(0.0, abs=1e-7)


def test_samples_follow_each_line():
    rng = np.random.default_rng(1)
    cpd = random_cpd(rng, given=(X, Y), by=(A, ONE))
    rows = {A: np.repeat([0, 1], 20_000), ONE: np.zeros(40_000, int), X: np.full(40_000, 0.5), Y: np.full(40_000, -1.0)}
    drawn = cpd.sample(rows, 40_000, rng)
    assert drawn.shape == (40_000, 2)
    for e in (0, 1):
        mean = cpd.intercept[e] + cpd.coefficients[e] @ [0.5, -1.0]
        part = drawn[20_000 * e : 20_000 * (e + 1)]
        spread = np.sqrt(np.diag(cpd.covariance[e]))
        assert (np.abs(part.mean(axis=0) - mean) < 5 * spread / math.sqrt(20_000)).all()
        bound = 5 * np.outer(spread, spread) * math.sqrt(2 / 20_000)
        assert (np.abs(np.cov(part.T) - cpd.covariance[e]) < bound).all()
    assert random_cpd(rng, Z, (X,), ()).sample({X: np.zeros(3)}, 3, rng).shape == (3,)
    assert random_cpd(rng, Z, (), ()).sample({}, 0, rng).shape == (0,)


def test_a_deterministic_relation_samples_but_has_no_density():
    cpd = LinearGaussian(Y, [1.0, 0.0], coefficients=2.0, covariance=[0.0, 1.0], given=X, by=A)
    rows = {A: np.zeros(2, int), X: np.array([1.0, 3.0])}
    assert cpd.sample(rows, 2, np.random.default_rng(0)).tolist() == [3.0, 7.0]
    with pytest.raises(NotClosed, match=r"Regression\(y \| a\[2\], x\) has no canonical form.*a='u'.*deterministic"):
        cpd.factors()[0] * Table(A, [1.0, 2.0])
    with pytest.raises(NotClosed, match="has no density"):
        cpd.log_probability({**rows, Y: np.zeros(2)})


@given(seeds)
def test_statistics_add_up(rng):
    cpd = random_cpd(rng)
    rows = random_parents(rng, cpd, 60)
    rows[P] = rng.normal(size=(60, 2))
    weights = rng.random(60)
    whole = cpd.statistics(rows, weights)
    halves = [
        cpd.statistics({v: c[part] for v, c in rows.items()}, weights[part]) for part in (slice(0, 25), slice(25, 60))
    ]
    np.testing.assert_allclose(halves[0] + halves[1], whole, atol=CLOSE)
    assert whole[:, 0, 0].sum() == pytest.approx(weights.sum())
    np.testing.assert_allclose(cpd.statistics(rows), cpd.statistics(rows, np.ones(60)), atol=EXACT)


@given(seeds)
def test_the_estimate_is_least_squares(rng):
    cpd = random_cpd(rng, given=(X, Y), by=(A,))
    rows = random_parents(rng, cpd, 80)
    rows[P] = cpd.sample(rows, 80, rng)
    if len(np.unique(rows[A])) < 2 or np.bincount(rows[A]).min() < 8:
        return
    learned = cpd.from_statistics(cpd.statistics(rows))
    for e in (0, 1):
        at = rows[A] == e
        design = np.column_stack([np.ones(at.sum()), rows[X][at], rows[Y][at]])
        solution = np.linalg.lstsq(design, rows[P][at], rcond=None)[0]
        residue = rows[P][at] - design @ solution
        np.testing.assert_allclose(learned.intercept[e], solution[0], atol=1e-7)
        np.testing.assert_allclose(learned.coefficients[e], solution[1:].T, atol=1e-7)
        np.testing.assert_allclose(learned.covariance[e], residue.T @ residue / at.sum(), atol=1e-7)
    assert learned.log_probability(rows).sum() >= cpd.log_probability(rows).sum() - 1e-6
    assert (learned.scope, learned.block) == (cpd.scope, cpd.block)


def test_weights_are_repetitions():
    rng = np.random.default_rng(3)
    cpd = random_cpd(rng, Z, (X,), ())
    rows = {X: rng.normal(size=10), Z: rng.normal(size=10)}
    weights = rng.integers(1, 4, size=10)
    repeated = {v: np.repeat(c, weights) for v, c in rows.items()}
    np.testing.assert_allclose(cpd.statistics(rows, weights.astype(float)), cpd.statistics(repeated), atol=CLOSE)


def test_collinear_parents_share_their_effect_and_perfect_fits_have_no_variance():
    cpd = LinearGaussian(Z, coefficients=[0.0, 0.0], covariance=1.0, given=(X, Y))
    x = np.arange(5.0)
    learned = cpd.from_statistics(cpd.statistics({X: x, Y: x, Z: 3.0 + 2.0 * x}))
    np.testing.assert_allclose(learned.coefficients[0, 0], [1.0, 1.0], atol=1e-8)
    assert learned.intercept[0, 0] == pytest.approx(3.0)
    assert 0.0 <= learned.covariance[0, 0, 0] < 1e-10
    rng = np.random.default_rng(9)
    for _ in range(50):
        u = rng.normal(size=(2, 6))
        fit = cpd.from_statistics(cpd.statistics({X: u[0], Y: u[1], Z: 0.1 + 0.7 * u[0] - 1.3 * u[1]}))
        assert 0.0 <= fit.covariance[0, 0, 0] < 1e-12
    lone = cpd.from_statistics(cpd.statistics({X: x[:1], Y: x[:1], Z: x[:1] + 4.0}))
    assert lone.intercept[0, 0] == pytest.approx(4.0)
    assert lone.covariance[0, 0, 0] == 0.0


def test_contexts_without_data():
    cpd = LinearGaussian(Y, [7.0, 8.0], covariance=[1.0, 2.0], by=A)
    stats = cpd.statistics({A: np.zeros(3, int), Y: np.array([1.0, 2.0, 3.0])})
    with pytest.raises(DataError, match="no data where a='v'"):
        cpd.from_statistics(stats)
    kept = cpd.from_statistics(stats, unseen="keep")
    np.testing.assert_allclose(kept.intercept[:, 0], [2.0, 8.0])
    np.testing.assert_allclose(kept.covariance[:, 0, 0], [2 / 3, 2.0])


@given(seeds)
def test_irrelevant_parents_by_brute_force(rng):
    by = (A, B, C)
    table = rng.integers(0, 2, size=(2, 3, 2)).astype(float)
    cpd = LinearGaussian(Y, table, covariance=1.0, by=by)
    for fixed in ({}, {"a": "u"}, {"b": 2}, {"a": "v", "c": 1}, {"elsewhere": 0}):
        chosen = [fixed.get(v.name) for v in by]
        for axis, variable in enumerate(by):
            if chosen[axis] is not None:
                assert variable not in cpd.irrelevant(fixed)
                continue
            part = table[
                tuple(
                    slice(None) if s is None else slice(v.code(s), v.code(s) + 1)
                    for v, s in zip(by, chosen, strict=True)
                )
            ]
            constant = bool((part == part.take([0], axis=axis)).all())
            assert (variable in cpd.irrelevant(fixed)) == constant


@given(st.integers(0, 10**6))
def test_the_joint_of_a_linear_network(seed):
    rng = np.random.default_rng(seed)
    nodes = oracle.random_linear_gaussian(rng, int(rng.integers(1, 8)), parts=2)
    reals = {node.child: Real(node.child) for node in nodes}
    cpds = [
        LinearGaussian(
            reals[n.child],
            n.offset,
            coefficients=dict(zip(n.parents, n.weights, strict=True)),
            covariance=n.variance,
            given=[reals[p] for p in n.parents],
        )
        for n in nodes
    ]
    index, mean, cov = oracle.dense_gaussian(nodes)
    joint = joint_gaussian(cpds).marginal([n.child for n in nodes])
    order = [index[n.child][0] for n in nodes]
    np.testing.assert_allclose(joint.mu, mean[order], atol=CLOSE)
    np.testing.assert_allclose(joint.covariance, cov[np.ix_(order, order)], atol=1e-8)
    target = nodes[-1].child
    factors = [f for cpd in cpds for f in cpd.factors()]
    answer = eliminate(factors, [v for v in reals.values() if v.name != target])
    assert answer.log_total == pytest.approx(0.0, abs=CLOSE)
    assert answer.to_moments().mean() == pytest.approx(joint.marginal(target).mean(), abs=1e-8)


def test_a_conditional_network_matches_the_enumerated_mixture():
    rng = np.random.default_rng(12)
    families, cards, nodes = oracle.random_clg(rng, 2, 3)
    states = {name: Discrete(name, card) for name, card in cards.items()}
    reals = {node.child: Real(node.child) for node in nodes}

    factors = [Table([states[n] for n in (*parents, child)], table) for child, parents, table in families]
    for node in nodes:
        shape = tuple(cards[n] for n in node.discrete)
        cases = [node.cases[cell] for cell in itertools.product(*map(range, shape))]
        cpd = LinearGaussian(
            reals[node.child],
            np.reshape([offset for _, offset, _ in cases], shape),
            coefficients=np.reshape([w for w, _, _ in cases], (*shape, 1, len(node.continuous))),
            covariance=np.reshape([variance for _, _, variance in cases], shape),
            given=[reals[p] for p in node.continuous],
            by=[states[n] for n in node.discrete],
        )
        factors += cpd.factors()
    mixture = oracle.clg_mixture(families, cards, nodes, values={"x2": 0.7})
    weights = eliminate([f.condition({"x2": 0.7}) for f in factors], [reals["x0"], reals["x1"]])
    assert weights.log_total == pytest.approx(mixture.log_evidence, abs=1e-9)
    names = list(states)
    np.testing.assert_allclose(
        weights.normalize().align(names).values, mixture.discrete_marginal(names, cards), atol=1e-9
    )


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: LinearGaussian(A, covariance=1.0, given=X), ScopeError, "discrete variable with real parents"),
        (lambda: LinearGaussian(Y, covariance=1.0, given=A), ScopeError, "belongs in by="),
        (lambda: LinearGaussian(Y, covariance=1.0, by=X), ScopeError, "belongs in given="),
        (lambda: LinearGaussian(Y, coefficients=1.0, covariance=1.0, given=Y), ScopeError, "twice"),
        (lambda: LinearGaussian(Y, covariance=1.0, given=X), ModelError, "give coefficients="),
        (lambda: LinearGaussian(Y, coefficients={}, covariance=1.0, given=X), ModelError, "leave out its parent x"),
        (lambda: LinearGaussian(Y, coefficients={"q": 1}, covariance=1.0, given=X), ScopeError, "'q'"),
        (lambda: LinearGaussian(Y, coefficients=np.nan, covariance=1.0, given=X), ModelError, "of y must be finite"),
        (lambda: LinearGaussian(Y, [1, 2, 3], covariance=1.0, by=A), ModelError, r"Intercepts of y.*expected \(2, 1\)"),
        (
            lambda: LinearGaussian(Y, covariance=[1.0, -2.0], by=A),
            ModelError,
            "of y have the eigenvalue -2 where a='v'",
        ),
        (lambda: LinearGaussian(P, covariance=1.0), ModelError, r"expected \(2, 2\)"),
        (lambda: LinearGaussian(P, covariance=[[1, 2], [0, 1]]), ModelError, "symmetric"),
        (lambda: LinearGaussian(Y, covariance=1.0).log_probability({}), DataError, "column for y"),
        (lambda: LinearGaussian(Y, covariance=1.0).statistics({Y: np.array([np.nan])}), DataError, "complete"),
        (lambda: LinearGaussian(Y, covariance=1.0).from_statistics(np.ones((1, 3, 3))), DataError, "shape"),
        (
            lambda: LinearGaussian(Y, covariance=1.0).from_statistics(np.ones((1, 2, 2)), Dirichlet(1.0)),
            NotApplicable,
            "takes no prior",
        ),
        (
            lambda: LinearGaussian(Y, coefficients=1.0, covariance=1.0, given=X).statistics({Y: np.ones(1)}),
            DataError,
            "column for x",
        ),
        (
            lambda: LinearGaussian(Y, coefficients=1.0, covariance=1.0, given=X).sample({}, 1, np.random.default_rng()),
            DataError,
            "column for x",
        ),
    ],
)
def test_errors_say_what_was_found(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_it_is_immutable_and_can_be_pickled():
    cpd = LinearGaussian(Y, 1.0, coefficients=2.0, covariance=0.5, given=X, block="slope")
    with pytest.raises(AttributeError):
        cpd.child = X
    with pytest.raises(ValueError, match="read-only"):
        cpd.intercept[0] = 1
    again = pickle.loads(pickle.dumps(cpd))
    assert again.block == ParameterBlock("slope")
    assert again.coefficients.tolist() == [[[2.0]]]


@given(st.integers(0, 10_000), st.integers(1, 2), st.booleans())
@settings(max_examples=30)
def test_statistics_tell_the_likelihood_of_any_parameters(seed, size, is_weighted):
    rng = np.random.default_rng(seed)
    d, u, y = Discrete("d", 3), Real("u"), Vector("y", size)
    roots = rng.normal(size=(3, size, size))
    cpd = LinearGaussian(
        y,
        rng.normal(size=(3, size)),
        coefficients=rng.normal(size=(3, size, 1)),
        covariance=roots @ np.swapaxes(roots, 1, 2) + 0.1 * np.eye(size),
        given=u,
        by=d,
    )
    num = int(rng.integers(0, 12))
    rows = {d: rng.integers(2, size=num), u: rng.normal(size=num), y: rng.normal(size=(num, size))}
    weights = rng.integers(0, 3, size=num).astype(float) if is_weighted else None
    logs = [
        multivariate_normal(cpd.intercept[c] + cpd.coefficients[c][:, 0] * a, cpd.covariance[c]).logpdf(b)
        for c, a, b in zip(rows[d], rows[u], rows[y], strict=True)
    ]
    expected = float(np.sum(logs)) if weights is None else float(weights @ np.array(logs).reshape(num))
    np.testing.assert_allclose(cpd.log_probability(rows), logs, atol=1e-10)
    assert cpd.log_likelihood(cpd.scatters(rows, weights)) == pytest.approx(expected, abs=1e-9)
    assert cpd.log_likelihood(cpd.statistics(rows, weights)) == pytest.approx(expected, abs=1e-8)


def test_a_variance_of_zero_matters_only_where_rows_are():
    d, y = Discrete("d"), Real("y")
    cpd = LinearGaussian(y, [0.0, 0.0], covariance=[1.0, 0.0], by=d)
    seen = cpd.scatters({d: np.array([0, 0]), y: np.array([1.0, -1.0])})
    assert cpd.log_likelihood(seen) == pytest.approx(-1.0 - np.log(2 * np.pi))
    with pytest.raises(NotClosed, match="d=1"):
        cpd.log_likelihood(cpd.scatters({d: np.array([1]), y: np.array([1.0])}))
