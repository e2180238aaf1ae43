from __future__ import annotations

import math
import pickle
import weakref

import numpy as np
import pytest
from hypothesis import given, strategies as st

import oracle
from sepset.errors import ModelError, NotClosed, ScopeError, StateError
from sepset.factors.algebra import Conditional, Factor
from sepset.factors.gaussian import CanonicalGaussian
from sepset.factors.table import Table
from sepset.semiring import BOOLEAN, MAX
from sepset.variables.variable import Discrete, Real, Vector
from support.random_forms import REALS, A, P, X, Y, Z, assert_same, eliminate, gaussian, multiply, points, some, width
from support.tolerances import CLOSE, EXACT, printed

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def first():
    return CanonicalGaussian((X, Y), [[1, -1], [-1, 1]], h=[1, -1], g=-3)


def second():
    return CanonicalGaussian((Y, Z), [[3, -2], [-2, 4]], h=[5, -1], g=1)


def test_it_is_a_factor():
    assert isinstance(first(), Factor)
    assert isinstance(second().eliminate(Y)[0], Conditional)


def test_the_product_of_example_14_1():
    product = first() * second()
    assert product.scope == (X, Y, Z)
    assert product.K.tolist() == [[1, -1, 0], [-1, 4, -2], [0, -2, 4]]
    assert product.h.tolist() == [1, 4, -1]
    assert product.g == -2


def test_the_moments_of_example_14_1():
    product = first() * second()
    moments = product.to_moments()
    np.testing.assert_allclose(moments.mu, [3.25, 2.25, 0.875], atol=EXACT)
    np.testing.assert_allclose(
        moments.covariance, [[1.5, 0.5, 0.25], [0.5, 0.5, 0.25], [0.25, 0.25, 0.375]], atol=EXACT
    )
    assert product.log_total == pytest.approx(5.404595, abs=printed(6))


def test_the_marginals_of_example_14_1():
    product = first() * second()
    onto_x = product.marginalize([Y, "z"])
    assert onto_x.scope == (X,)
    np.testing.assert_allclose([onto_x.K[0, 0], onto_x.h[0]], [2 / 3, 13 / 6], atol=EXACT)
    assert onto_x.g == pytest.approx(0.762090, abs=printed(6))
    pair = product.marginalize(Z)
    np.testing.assert_allclose(pair.K, [[1, -1], [-1, 3]], atol=EXACT)
    np.testing.assert_allclose(pair.h, [1, 3.5], atol=EXACT)
    assert pair.g == pytest.approx(-1.649209, abs=printed(6))


def test_the_reduction_of_example_14_1():
    reduced = (first() * second()).condition({"z": 2})
    assert (reduced.K.tolist(), reduced.h.tolist(), reduced.g) == ([[1, -1], [-1, 4]], [1, 8], -12)


def test_integrating_one_variable_of_an_improper_factor():
    vacuous = first().marginalize(X)
    assert (vacuous.K.tolist(), vacuous.h.tolist()) == ([[0]], [0])
    assert vacuous.g == pytest.approx(-1.581061, abs=printed(6))


def test_an_improper_factor_is_refused_only_when_its_integral_is_asked():
    improper = first()
    assert not improper.is_proper
    assert second().is_proper
    assert improper.log_total == math.inf
    for ask in (
        improper.normalize,
        improper.to_moments,
        lambda: improper.marginalize([X, Y]),
    ):
        with pytest.raises(NotClosed, match=r"'x', 'y'.*not positive definite"):
            ask()


@given(seeds)
def test_products_commute_and_associate(rng):
    f, g, h = gaussian(rng), gaussian(rng, proper=False), gaussian(rng)
    assert_same(f * g, g * f, rng)
    assert_same((f * g) * h, f * (g * h), rng)
    assert_same(f * CanonicalGaussian.ones(f.scope), f, rng)


@given(seeds)
def test_a_product_multiplies_values(rng):
    f, g = gaussian(rng), gaussian(rng, proper=False)
    for point in points(rng, (f * g).scope):
        assert (f * g).log_value(point) == pytest.approx(f.log_value(point) + g.log_value(point), abs=CLOSE)


@given(seeds)
def test_division_undoes_multiplication(rng):
    f, g = gaussian(rng), gaussian(rng)
    back = (f * g) / g
    for point in points(rng, back.scope):
        assert back.log_value(point) == pytest.approx(f.log_value(point), abs=CLOSE)


@given(seeds, st.floats(-3, 3))
def test_powers_multiply_logarithms(rng, power):
    f = gaussian(rng)
    for point in points(rng, f.scope):
        assert (f**power).log_value(point) == pytest.approx(power * f.log_value(point), abs=CLOSE)


@given(seeds)
def test_values_are_those_of_the_quadratic_form(rng):
    f = gaussian(rng, proper=False)
    for point in points(rng, f.scope):
        x = np.concatenate([np.empty(0), *(point[v] for v in f.scope)])
        assert f.log_value(point) == pytest.approx(oracle.canonical_log_value(f.K, f.h, f.g, x), abs=CLOSE)


@given(seeds)
def test_the_order_of_elimination_does_not_matter(rng):
    f = gaussian(rng, least=2)
    out = some(rng, f.scope, 1)
    at_once = f.marginalize(out)
    one_by_one = f
    for variable in rng.permutation(np.array(out, dtype=object)):
        one_by_one = one_by_one.marginalize([variable])
    assert_same(at_once, one_by_one, rng)
    largest = f.marginalize(out, MAX)
    for variable in out:
        f = f.marginalize(variable, MAX)
    assert_same(largest, f, rng)


@given(seeds)
def test_integrals_agree_with_a_grid(rng):
    f = gaussian(rng, scope=(X, Y, Z))
    out = list(some(rng, (X, Y, Z), 1))[:2]
    kept = [v for v in (X, Y, Z) if v not in out]
    held = {v: rng.normal() for v in kept}
    axes = {v: i for i, v in enumerate((X, Y, Z))}
    K, h = f.K / np.abs(f.K).max(), f.h
    f = CanonicalGaussian(f.scope, K, h=h, g=f.g)
    if np.linalg.cond(K) > 200:
        return
    grid = oracle.canonical_integral(K, h, f.g, [axes[v] for v in out], {axes[v]: held[v] for v in kept})
    assert f.marginalize(out).log_value(held) == pytest.approx(math.log(grid), abs=1e-8)


@given(seeds)
def test_conditioning_commutes_with_integrating_the_rest(rng):
    f = gaussian(rng, least=2)
    known = {f.scope[0]: rng.normal(size=f.scope[0].size)}
    out = f.scope[1:2]
    assert_same(f.condition(known).marginalize(out), f.marginalize(out).condition(known), rng)


@given(seeds)
def test_conditioning_commutes_with_products(rng):
    f, g = gaussian(rng, least=1), gaussian(rng)
    known = {f.scope[0]: rng.normal(size=f.scope[0].size)}
    assert_same((f * g).condition(known), f.condition(known) * g.condition(known), rng)


@given(seeds)
def test_moments_and_canonical_form_agree(rng):
    f = gaussian(rng)
    moments = f.to_moments()
    np.testing.assert_allclose(moments.covariance, np.linalg.inv(f.K), atol=CLOSE)
    back = CanonicalGaussian.from_moments(f.scope, moments.mu, covariance=moments.covariance, log_mass=f.log_total)
    assert_same(back, f, rng, 1e-8)
    assert f.normalize().log_total == pytest.approx(0.0, abs=CLOSE)
    density = oracle.gaussian_log_density(moments.mu, moments.mu, moments.covariance)
    at_mean = {
        v.name: value
        for v, value in zip(f.scope, np.split(moments.mu, np.cumsum([v.size for v in f.scope])[:-1]), strict=False)
    }
    assert f.normalize().log_value(at_mean) == pytest.approx(density, abs=1e-8)


@given(seeds)
def test_the_maximum_is_at_the_mode(rng):
    f = gaussian(rng, least=1)
    best = f.marginalize(f.scope, MAX)
    mode = f.eliminate(f.scope, MAX)[0].mode({}, 1)
    at_mode = f.log_value({v: values[0] for v, values in mode.items()})
    assert best.g == pytest.approx(at_mode, abs=CLOSE)
    for point in points(rng, f.scope, 5):
        assert f.log_value(point) <= at_mode + CLOSE


@given(seeds)
def test_a_linear_conditional_integrates_to_one_for_every_parent(rng):
    parents = some(rng, (X, Y, Z))
    a, B = rng.normal(size=2), rng.normal(size=(2, width(parents)))
    root = rng.normal(size=(2, 2))
    C = root @ root.T + 0.1 * np.eye(2)
    f = CanonicalGaussian.from_linear(P, parents, offset=a, slope=B, covariance=C)
    for point in points(rng, parents):
        u = np.concatenate([np.empty(0), *(point[v] for v in parents)])
        y = rng.normal(size=2)
        expected = oracle.gaussian_log_density(y, a + B @ u, C)
        assert f.log_value({**point, P: y}) == pytest.approx(expected, abs=1e-8)
    vacuous = f.marginalize(P)
    assert not vacuous.K.any()
    assert not vacuous.h.any()
    assert vacuous.g == pytest.approx(0.0, abs=1e-8)


def test_a_vacuous_message_is_not_mistaken_for_a_proper_one():
    rng = np.random.default_rng(5)
    for _ in range(50):
        slope = rng.normal(size=(1, 3)) * 10.0 ** rng.integers(-4, 5)
        f = CanonicalGaussian.from_linear(
            Y, (X, Z, Real("w")), offset=0.3, slope=slope, covariance=10.0 ** rng.integers(-6, 7)
        )
        assert not f.marginalize(Y).K.any()
        with pytest.raises(NotClosed):
            f.marginalize([Y, X])


def test_scales_far_apart_are_no_reason_to_refuse():
    f = CanonicalGaussian.from_moments((X, Y), [1e-7, 2e7], covariance=[[1e-14, 0.0], [0.0, 1e14]])
    assert f.log_total == pytest.approx(0.0, abs=CLOSE)
    assert f.marginalize(X).to_moments().variance() == pytest.approx(1e14)


@given(st.integers(0, 10**6))
def test_elimination_of_a_linear_network_matches_the_dense_joint(seed):
    rng = np.random.default_rng(seed)
    nodes = oracle.random_linear_gaussian(rng, int(rng.integers(1, 8)), parts=int(rng.integers(1, 3)))
    names = {node.child: Real(node.child) for node in nodes}
    factors = [
        CanonicalGaussian.from_linear(
            names[n.child],
            [names[p] for p in n.parents],
            offset=n.offset,
            slope=np.array(n.weights).reshape(1, -1),
            covariance=n.variance,
        )
        for n in nodes
    ]
    index, mean, cov = oracle.dense_gaussian(nodes)
    seen = [name for name in names if rng.random() < 0.3]
    values = {name: float(rng.normal()) for name in seen}
    at = [index[name][0] for name in seen]
    rest, mean_left, cov_left = oracle.condition_gaussian(mean, cov, at, list(values.values()))
    factors = [f.condition(values) for f in factors]
    log_evidence = oracle.gaussian_log_density(list(values.values()), mean[at], cov[np.ix_(at, at)])
    hidden = [names[n] for n in names if n not in seen]
    assert multiply(factors).log_total == pytest.approx(log_evidence, abs=1e-9)
    for target in hidden[:3]:
        order = [v for v in rng.permutation(np.array(hidden, dtype=object)) if v != target]
        answer = eliminate(factors, order)
        place = rest.index(index[target.name][0])
        found = answer.to_moments()
        assert answer.log_total == pytest.approx(log_evidence, abs=1e-9)
        assert found.mean() == pytest.approx(mean_left[place], abs=1e-9)
        assert found.variance() == pytest.approx(cov_left[place, place], abs=1e-9)


@given(seeds)
def test_backward_modes_give_the_joint_mode(rng):
    f = gaussian(rng, least=2)
    rows, rest, conditionals = {}, f, []
    for variable in f.scope:
        conditional, rest = rest.eliminate([variable], MAX)
        conditionals.append(conditional)
    for conditional in reversed(conditionals):
        rows.update(conditional.mode(rows, 1))
    found = np.concatenate([np.ravel(rows[v]) for v in f.scope])
    np.testing.assert_allclose(found, np.linalg.solve(f.K, f.h), atol=1e-8)


def test_backward_sampling_has_the_joint_moments():
    rng = np.random.default_rng(11)
    f = gaussian(rng, scope=(X, P, Y))
    last, rest = f.eliminate([P, Y])
    rows = rest.eliminate([X])[0].sample({}, 40_000, rng)
    assert rows[X].shape == (40_000,)
    rows |= last.sample(rows, 40_000, rng)
    assert rows[P].shape == (40_000, 2)
    drawn = np.column_stack([rows[X], rows[P], rows[Y]])
    moments = f.to_moments()
    error = np.sqrt(np.diag(moments.covariance) / 40_000)
    assert (np.abs(drawn.mean(axis=0) - moments.mu) < 5 * error).all()
    spread = np.sqrt(np.diag(moments.covariance))
    assert (np.abs(np.cov(drawn.T) - moments.covariance) < 5 * np.outer(spread, spread) * math.sqrt(2 / 40_000)).all()


def test_conditionals_match_the_dense_formula():
    rng = np.random.default_rng(3)
    f = gaussian(rng, scope=(Y, X, Z))
    conditional, _ = f.eliminate([Y])
    assert conditional.parents == (X, Z)
    assert repr(conditional) == "Conditional(y | x, z)"
    rows = {X: rng.normal(size=4), Z: rng.normal(size=4)}
    mean, cov = np.linalg.solve(f.K, f.h), np.linalg.inv(f.K)
    for i in range(4):
        _, expected, _ = oracle.condition_gaussian(mean, cov, [1, 2], [rows[X][i], rows[Z][i]])
        assert conditional.mode(rows, 4)[Y][i] == pytest.approx(expected[0])


def test_the_empty_scope_is_a_number():
    number = CanonicalGaussian.ones() * 3.0
    assert number.scope == ()
    assert number.log_total == number.log_value({}) == pytest.approx(math.log(3))
    assert (number * second()).log_total == pytest.approx(second().log_total + math.log(3))
    assert number.eliminate([])[0].sample({}, 2, np.random.default_rng(0)) == {}
    same = second()
    assert same.collapse([Y, Z]).g == same.log_total
    assert same.marginalize("elsewhere") is same
    assert same.condition({"elsewhere": 1}) is same


def test_numbers_scale():
    f = second()
    assert (2 * f).g == (f * 2).g == pytest.approx(1 + math.log(2))
    assert (f / 2).g == pytest.approx(1 - math.log(2))
    assert (2 / f).log_value({Y: 0, Z: 0}) == pytest.approx(math.log(2) - 1)
    with pytest.raises(ModelError, match=">= 0"):
        f * -1.0


def test_zero_is_a_factor_too():
    zero = second() * 0.0
    assert zero.g == zero.log_total == -math.inf
    assert zero.log_value({Y: 1, Z: 2}) == -math.inf
    assert zero.marginalize(Y).g == -math.inf
    assert (zero * first()).g == -math.inf
    assert (zero / zero).g == -math.inf
    assert (zero / second()).g == -math.inf
    assert (zero**0).g == 0
    assert (zero**2).g == -math.inf
    with pytest.raises(NotClosed, match="divides a positive value by zero"):
        second() / zero
    with pytest.raises(NotClosed, match="negative power"):
        zero**-1
    with pytest.raises(NotClosed, match="zero everywhere"):
        zero.normalize()
    with pytest.raises(NotClosed, match="zero everywhere"):
        zero.to_moments()
    with pytest.raises(NotClosed, match="no positive value"):
        zero.eliminate([Y, Z])[0].mode({}, 1)


def test_a_table_times_a_gaussian_is_a_table_of_gaussians():
    table = Table(A, [2.0, 0.0])
    for product in (table * second(), second() * table):
        assert product.scope == (A, Y, Z)
        assert product.log_value({A: "u", Y: 1, Z: 0}) == pytest.approx(math.log(2) + second().log_value({Y: 1, Z: 0}))
        assert product.log_value({A: "v", Y: 1, Z: 0}) == -math.inf
    quotient = table / second()
    assert quotient.log_value({A: "u", Y: 1, Z: 0}) == pytest.approx(math.log(2) - second().log_value({Y: 1, Z: 0}))
    over = second() / Table(A, [2.0, 4.0])
    assert over.log_value({A: "v", Y: 1, Z: 0}) == pytest.approx(second().log_value({Y: 1, Z: 0}) - math.log(4))
    assert isinstance(Table((), [3.0]) * second(), CanonicalGaussian)
    with pytest.raises(TypeError):
        second() * "two"


def test_alignment_reorders_blocks():
    rng = np.random.default_rng(0)
    f = gaussian(rng, scope=(X, P))
    turned = f.align([P, "x"])
    assert turned.scope == (P, X)
    np.testing.assert_array_equal(turned.K, f.K[np.ix_([1, 2, 0], [1, 2, 0])])
    with pytest.raises(ScopeError, match="missing"):
        f.align(["x"])


def test_distributions_of_any_variables():
    rng = np.random.default_rng(1)
    f = gaussian(rng, scope=REALS)
    found = f.to_distribution([Z, P])
    assert found.scope == (Z, P)
    np.testing.assert_allclose(found.covariance, np.linalg.inv(f.K)[np.ix_([4, 1, 2], [4, 1, 2])])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: CanonicalGaussian((X, Y), [[1, 2], [0, 1]], h=[0, 0]), ModelError, "K must be symmetric"),
        (lambda: CanonicalGaussian(X, [[np.nan]], h=[0]), ModelError, "K must be finite"),
        (lambda: CanonicalGaussian(X, [[1]], h=[np.inf]), ModelError, "H must be finite"),
        (lambda: CanonicalGaussian(X, [[1]], h=[0], g=np.inf), ModelError, "g is finite or -inf"),
        (lambda: CanonicalGaussian(P, [[1]], h=[0]), ModelError, r"shape \(1, 1\); expected \(2, 2\)"),
        (lambda: CanonicalGaussian((X, X), np.eye(2), h=[0, 0]), ScopeError, "twice"),
        (lambda: CanonicalGaussian((A,), np.eye(1), h=[0]), ScopeError, "Use CanonicalTable"),
        (lambda: CanonicalGaussian.from_moments(X, 0, covariance=0), NotClosed, "'x' is singular.*deterministic"),
        (lambda: CanonicalGaussian.from_moments(X, 0, covariance=-1), ModelError, "eigenvalue -1"),
        (lambda: CanonicalGaussian.from_linear(Y, X, offset=0, slope=1, covariance=0), NotClosed, "'y' is singular"),
        (lambda: second().log_value({Y: 1}), ScopeError, "missing 'z'"),
        (lambda: second().condition({Y: "high"}), StateError, "Give a number"),
        (lambda: second().condition({Y: np.nan}), StateError, "finite"),
        (lambda: second().marginalize(Y, BOOLEAN), NotClosed, "SUM .* or MAX; found any"),
        (lambda: second() * CanonicalGaussian(Vector("y", 2), np.eye(2), h=[0, 0]), ScopeError, "share one name"),
        (lambda: second() * Table(Discrete("y"), [1, 1]), ScopeError, "share one name"),
    ],
)
def test_errors_say_what_was_found(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_factors_are_immutable_and_can_be_pickled_and_weakly_held():
    f = second()
    with pytest.raises(AttributeError):
        f.scope = ()
    with pytest.raises(ValueError, match="read-only"):
        f.K[0, 0] = 5
    assert weakref.ref(f)() is f
    back = pickle.loads(pickle.dumps(f))
    assert back.K.tolist() == f.K.tolist()
    assert back.scope == f.scope
    assert repr(f) == "CanonicalGaussian(y, z)"
    assert f.size == 7


def test_the_callers_arrays_are_not_touched():
    K, h = np.eye(1), np.zeros(1)
    f = CanonicalGaussian(X, K, h=h)
    K[0, 0], h[0] = 7.0, 7.0
    assert f.K[0, 0] == 1.0
    assert f.h[0] == 0.0
