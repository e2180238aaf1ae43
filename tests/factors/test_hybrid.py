from __future__ import annotations

import itertools
import math
import pickle
import weakref

import numpy as np
import pytest
from hypothesis import given, strategies as st

import oracle
from sepset.errors import ModelError, NotClosed, ScopeError, TooLarge
from sepset.factors.algebra import Conditional, Factor
from sepset.factors.gaussian import CanonicalGaussian
from sepset.factors.hybrid import CanonicalTable
from sepset.factors.moments import Gaussian, GaussianMixture
from sepset.factors.sparse import SparseTable
from sepset.factors.table import Table
from sepset.semiring import MAX
from sepset.variables.variable import Discrete, Real, Vector
from support.random_forms import (
    ONE,
    STATES,
    A,
    B,
    C,
    P,
    X,
    Y,
    Z,
    assert_same,
    eliminate,
    gaussian,
    multiply,
    points,
    some,
    table_of_gaussians,
)
from support.tolerances import CLOSE, EXACT, printed

seeds = st.integers(0, 2**32 - 1).map(np.random.default_rng)


def prior():
    """The mixture 0.4 N(0; 1) + 0.6 N(3; 4) over a binary A, as in examples 14.4 and 14.8."""
    return CanonicalTable.from_moments((A, X), [0.0, 3.0], covariances=[1.0, 4.0], log_weights=np.log([0.4, 0.6]))


def test_it_is_a_factor():
    assert isinstance(prior(), Factor)
    assert isinstance(prior().eliminate([A, X])[0], Conditional)


def test_the_collapse_of_example_14_4():
    collapsed = prior().collapse(A)
    assert isinstance(collapsed, CanonicalGaussian)
    assert collapsed.log_total == pytest.approx(0.0, abs=EXACT)
    moments = collapsed.to_moments()
    assert moments.mean() == pytest.approx(1.8, abs=EXACT)
    assert moments.variance() == pytest.approx(4.96, abs=EXACT)


def test_example_14_8_exactly_and_after_a_collapse():
    y_given_x = CanonicalGaussian.from_linear(Y, X, offset=0.0, slope=1.0, covariance=1.0)
    posterior = (prior() * y_given_x).condition({Y: -2.0})
    weights = posterior.marginalize(X)
    np.testing.assert_allclose(weights.values, [0.0415107, 0.0087870], atol=printed(7))
    assert math.exp(posterior.log_total) == pytest.approx(0.0502977, abs=printed(7))
    assert weights.normalize()["u"] == pytest.approx(0.825301, abs=printed(6))
    mixture = posterior.to_mixture()
    np.testing.assert_allclose(mixture.means[:, 0], [-1, -1], atol=CLOSE)
    np.testing.assert_allclose(mixture.covariances[:, 0, 0], [0.5, 0.8], atol=CLOSE)
    exact = posterior.collapse(A).to_moments()
    assert exact.mean() == pytest.approx(-1.0, abs=CLOSE)
    assert exact.variance() == pytest.approx(0.552410, abs=printed(6))
    early = (prior().collapse(A) * y_given_x).condition({Y: -2.0})
    assert math.exp(early.log_total) == pytest.approx(0.048661, abs=printed(6))
    assert early.to_moments().mean() == pytest.approx(-1.362416, abs=printed(6))
    assert early.to_moments().variance() == pytest.approx(0.832215, abs=printed(6))


def example_14_9():
    x_given_a = CanonicalTable.from_moments((A, X), [0.0, 0.0], covariances=[2.0, 6.0], log_weights=np.log([0.5, 0.5]))
    slopes = [CanonicalGaussian.from_linear(Y, X, offset=0.0, slope=s, covariance=0.01) for s in (1.0, -1.0)]
    K, h, g = [f.K for f in slopes], [f.h for f in slopes], [f.g + math.log(0.5) for f in slopes]
    return x_given_a, CanonicalTable((C, X, Y), K, h=h, g=g)


def test_example_14_9_exactly():
    x_given_a, y_given_x = example_14_9()
    joint = (x_given_a * y_given_x).condition({Y: 4.0})
    assert math.exp(joint.log_total) == pytest.approx(0.024124, abs=printed(6))
    states = joint.marginalize(X).normalize()
    assert states.marginalize(C)["u"] == pytest.approx(0.108967, abs=printed(6))
    assert states.marginalize(A)[0] == pytest.approx(0.5, abs=CLOSE)
    moments = joint.collapse([A, C]).to_moments()
    assert moments.mean() == pytest.approx(0.0, abs=1e-8)
    assert moments.variance() == pytest.approx(15.945272, abs=printed(6))


def test_example_14_9_ends_in_an_improper_message():
    x_given_a, y_given_x = example_14_9()
    forward = x_given_a.collapse(A)
    assert forward.to_moments().variance() == pytest.approx(4.0, abs=CLOSE)
    clique = (y_given_x * forward).condition({Y: 4.0})
    np.testing.assert_allclose(np.abs(clique.to_mixture().means[:, 0]), 3.99, atol=printed(2))
    np.testing.assert_allclose(clique.to_mixture().covariances[:, 0, 0], 0.00998, atol=printed(5))
    assert math.exp(clique.log_total) == pytest.approx(0.027097, abs=printed(6))
    backward = clique.collapse(C)
    assert backward.to_moments().variance() == pytest.approx(15.93, abs=printed(2))
    belief = x_given_a * (backward / forward)
    np.testing.assert_allclose(belief.K[:, 0, 0], [0.31277, -0.02056], atol=printed(5))
    for ask in (belief.normalize, belief.to_mixture, lambda: belief.collapse(A), lambda: belief.marginalize(X)):
        with pytest.raises(NotClosed, match="a='v'"):
            ask()
    assert belief.log_total == math.inf


def test_the_four_components_of_figure_14_3():
    d1, d2, x1, x2 = Discrete("d1"), Discrete("d2"), Real("x1"), Real("x2")
    first = CanonicalTable.from_moments((d1, x1), [0.0, 1.5], covariances=[0.49, 0.36])
    lines = [
        CanonicalGaussian.from_linear(x2, x1, offset=a, slope=s, covariance=v)
        for a, s, v in ((0, -1.5, 0.36), (1.5, 0, 0.49))
    ]
    second = CanonicalTable((d2, x1, x2), [f.K for f in lines], h=[f.h for f in lines], g=[f.g for f in lines])
    mixture = (first * second * Table(d1, [0.5, 0.5]) * Table(d2, [0.5, 0.5])).to_mixture([x1, x2])
    np.testing.assert_allclose(mixture.means, [[0, 0], [0, 1.5], [1.5, -2.25], [1.5, 1.5]], atol=EXACT)
    expected = [
        [[0.49, -0.735], [-0.735, 1.4625]],
        [[0.49, 0], [0, 0.49]],
        [[0.36, -0.54], [-0.54, 1.17]],
        [[0.36, 0], [0, 0.49]],
    ]
    np.testing.assert_allclose(mixture.covariances, expected, atol=EXACT)
    np.testing.assert_allclose(mixture.weights, [0.25] * 4)


@given(seeds)
def test_products_commute_and_associate(rng):
    f, g = table_of_gaussians(rng), table_of_gaussians(rng, proper=False)
    table, normal = Table.random(some(rng, STATES), rng, zeros=0.2), gaussian(rng)
    assert_same(f * g, g * f, rng)
    assert_same((f * table) * g, f * (table * g), rng)
    assert_same((f * normal) * table, table * (normal * f), rng)
    assert_same(f * CanonicalTable.ones(f.scope), f, rng)


@given(seeds)
def test_a_product_multiplies_values(rng):
    f, other = table_of_gaussians(rng), table_of_gaussians(rng, zeros=0.6)
    product = f * other
    for point in points(rng, product.scope):
        expected = f.log_value(point) + other.log_value(point)
        assert product.log_value(point) == pytest.approx(expected, abs=CLOSE)


@given(seeds)
def test_division_undoes_multiplication_on_the_support(rng):
    f, g = table_of_gaussians(rng), table_of_gaussians(rng)
    back = (f * g) / g
    for point in points(rng, back.scope):
        expected = f.log_value(point) if g.log_value(point) > -math.inf else -math.inf
        assert back.log_value(point) == pytest.approx(expected, abs=CLOSE)


@given(seeds, st.floats(0.1, 3))
def test_powers_multiply_logarithms(rng, power):
    f = table_of_gaussians(rng)
    for point in points(rng, f.scope):
        assert (f**power).log_value(point) == pytest.approx(power * f.log_value(point), abs=CLOSE)


@given(seeds)
def test_integrals_over_reals_are_those_of_each_entry(rng):
    f = table_of_gaussians(rng)
    out = some(rng, f.continuous, 1)
    result = f.marginalize(out)
    for states in itertools.product(*(v.states for v in f.discrete)):
        context = dict(zip(f.discrete, states, strict=True))
        alone = f.condition(context)
        assert isinstance(alone, CanonicalGaussian)
        assert_same(result.condition(context), alone.marginalize(out), rng)


@given(seeds)
def test_with_the_reals_gone_states_sum_and_maximize_exactly(rng):
    f = table_of_gaussians(rng)
    out = some(rng, f.discrete)
    for semiring in (None, MAX):
        settings = () if semiring is None else (semiring,)
        result = f.marginalize([*out, *f.continuous], *settings)
        assert isinstance(result, Table)
        in_two = f.marginalize(f.continuous, *settings).marginalize(out, *settings)
        np.testing.assert_allclose(result.log_values, in_two.log_values, atol=CLOSE)
    total = sum(
        math.exp(f.condition(dict(zip(f.discrete, states, strict=True))).log_total)
        for states in itertools.product(*(v.states for v in f.discrete))
    )
    assert f.log_total == pytest.approx(math.log(total), abs=CLOSE)
    assert f.normalize().log_total == pytest.approx(0.0, abs=CLOSE)


@given(seeds)
def test_conditioning_commutes_with_products_and_integrals(rng):
    f, g = table_of_gaussians(rng, (A, B), (X, P)), table_of_gaussians(rng, (B, C), (P, Y))
    known = {A: "v", C: 0, X: rng.normal(), Y: rng.normal()}
    assert_same((f * g).condition(known), f.condition(known) * g.condition(known), rng)
    assert_same(f.marginalize(P).condition({A: "u", X: 0.5}), f.condition({A: "u", X: 0.5}).marginalize(P), rng)


@given(seeds)
def test_collapse_keeps_mass_mean_and_covariance(rng):
    f = table_of_gaussians(rng, (A, B), (X, P))
    collapsed = f.collapse([B, X])
    for state in A.states:
        entries = [f.condition({A: state, B: b}) for b in B.states]
        alive = [e for e in entries if e.g > -math.inf]
        after = collapsed.condition({A: state})
        if not alive:
            assert after.g == -math.inf
            continue
        weights = [math.exp(e.log_total) for e in alive]
        mean, cov = oracle.collapse(
            weights,
            [np.linalg.solve(e.K, e.h)[1:] for e in alive],
            [np.linalg.inv(e.K)[1:, 1:] for e in alive],
        )
        moments = after.to_moments()
        assert after.log_total == pytest.approx(math.log(sum(weights)), abs=CLOSE)
        np.testing.assert_allclose(moments.mu, mean, atol=1e-8)
        np.testing.assert_allclose(moments.covariance, cov, atol=1e-8)


def test_a_sum_of_different_gaussians_leaves_the_family():
    with pytest.raises(NotClosed, match=r"mixture of different Gaussians.*collapse"):
        prior().marginalize(A)
    with pytest.raises(NotClosed, match="collapse"):
        prior().marginalize(A, MAX)
    with pytest.raises(NotClosed, match="collapse"):
        prior().eliminate(A)


@given(seeds)
def test_entries_that_agree_up_to_their_weight_sum_exactly(rng):
    normal = gaussian(rng, (X, P), proper=False)
    table = Table.random((A, B), rng, zeros=0.3)
    lifted = table * normal
    assert_same(lifted.marginalize(B), table.marginalize(B) * normal, rng)
    assert_same(lifted.marginalize([A, B], MAX), table.marginalize([A, B], MAX) * normal, rng)
    assert_same(lifted.collapse(A), table.marginalize(A) * normal, rng)
    conditional, _ = lifted.eliminate(B)
    rows = {A: np.array([0, 1]), X: np.zeros(2), P: np.zeros((2, 2))}
    if (table.marginalize(B).values > 0).all():
        modes = table.eliminate(B)[0].mode(rows, 2)[B]
        assert conditional.mode(rows, 2)[B].tolist() == modes.tolist()


def test_a_barren_hybrid_child_leaves_nothing_behind():
    lines = [
        CanonicalGaussian.from_linear(Y, (X, Z), offset=a, slope=[[s, 2.0]], covariance=v)
        for a, s, v in ((0, -1.5, 0.3), (7, 300.0, 0.01))
    ]
    child = CanonicalTable((A, X, Z, Y), [f.K for f in lines], h=[f.h for f in lines], g=[f.g for f in lines])
    vacuous = child.marginalize([Y, A])
    assert not vacuous.K.any()
    assert vacuous.g == pytest.approx(math.log(2), abs=CLOSE)


def test_a_single_live_entry_may_stay_improper():
    improper = CanonicalTable((A, X), [[[0.0]], [[1.0]]], h=[[1.0], [0.0]], g=[0.0, -np.inf])
    collapsed = improper.collapse(A)
    assert collapsed.K.tolist() == [[0.0]]
    both = CanonicalTable((A, X), [[[0.0]], [[1.0]]], h=[[1.0], [0.0]], g=[0.0, 0.0])
    with pytest.raises(NotClosed, match="not normalizable"):
        both.collapse(A)


def test_zero_entries_are_not_tested_for_definiteness():
    f = CanonicalTable((A, X), [[[1.0]], [[-1.0]]], h=[[0.0], [5.0]], g=[0.0, -np.inf])
    assert f.K[1, 0, 0] == 0.0
    assert f.marginalize(X).values[1] == 0.0
    assert f.log_value({A: "v", X: 3.0}) == -math.inf
    assert f.to_mixture().num_components == 1


def test_an_all_zero_factor():
    zero = prior() * 0.0
    assert zero.log_total == -math.inf
    assert zero.collapse(A).g == -math.inf
    assert (zero / zero).log_total == -math.inf
    assert ((zero**0).g == 0).all()
    for ask in (zero.normalize, zero.to_mixture, lambda: zero**-1, lambda: prior() / zero):
        with pytest.raises(NotClosed):
            ask()


def test_conditionals_sample_the_joint():
    rng = np.random.default_rng(4)
    f = table_of_gaussians(rng, (A, B), (X, Y), zeros=0.4).normalize()
    conditional, rest = f.eliminate([A, B, X, Y])
    assert rest.scope == ()
    assert rest.log_total == pytest.approx(0.0, abs=CLOSE)
    assert conditional.frontal == (A, B, X, Y)
    assert conditional.parents == ()
    rows = conditional.sample({}, 60_000, rng)
    expected = f.marginalize([X, Y]).values
    found = np.zeros_like(expected)
    np.add.at(found, (rows[A], rows[B]), 1 / 60_000)
    assert (np.abs(found - expected) <= 5 * np.sqrt(expected * (1 - expected) / 60_000)).all()
    whole = f.collapse([A, B]).to_moments()
    drawn = np.column_stack([rows[X], rows[Y]])
    assert (np.abs(drawn.mean(axis=0) - whole.mu) < 5 * np.sqrt(np.diag(whole.covariance) / 60_000)).all()
    assert repr(conditional) == "Conditional(a[2], b[3], x, y)"


def test_conditionals_of_reals_given_states():
    f = prior()
    conditional, rest = f.eliminate(X)
    assert isinstance(rest, Table)
    assert (conditional.frontal, conditional.parents) == ((X,), (A,))
    np.testing.assert_allclose(conditional.mode({A: np.array([0, 1, 0])}, 3)[X], [0, 3, 0], atol=EXACT)


@given(seeds)
def test_the_mode_is_the_highest_density(rng):
    f = table_of_gaussians(rng, (A, B), (X, P))
    for semiring in (None, MAX):
        conditional, rest = f.eliminate(f.scope) if semiring is None else f.eliminate(f.scope, semiring)
        mode = conditional.mode({}, 1)
        point = {v: v.states[int(mode[v][0])] if isinstance(v, Discrete) else mode[v][0] for v in f.scope}
        best = f.marginalize(f.scope, MAX).log_value({})
        assert f.log_value(point) == pytest.approx(best, abs=CLOSE)
    assert rest.log_value({}) == pytest.approx(best, abs=CLOSE)


def hybrid_factors(families, cards, nodes):
    states = {name: Discrete(name, card) for name, card in cards.items()}
    reals = {node.child: Real(node.child) for node in nodes}
    factors = [Table([states[n] for n in (*parents, child)], table) for child, parents, table in families]
    for node in nodes:
        lines = [
            CanonicalGaussian.from_linear(
                reals[node.child],
                [reals[p] for p in node.continuous],
                offset=offset,
                slope=np.array(weights).reshape(1, -1),
                covariance=variance,
            )
            for weights, offset, variance in (
                node.cases[cell] for cell in itertools.product(*(range(cards[n]) for n in node.discrete))
            )
        ]
        scope = (*(states[n] for n in node.discrete), *lines[0].scope)
        factors.append(CanonicalTable(scope, [f.K for f in lines], h=[f.h for f in lines], g=[f.g for f in lines]))
    return states, reals, factors


@given(st.integers(0, 10**6))
def test_eliminating_reals_first_matches_the_enumerated_mixture(seed):
    rng = np.random.default_rng(seed)
    families, cards, nodes = oracle.random_clg(rng, int(rng.integers(1, 4)), int(rng.integers(1, 5)))
    states, reals, factors = hybrid_factors(families, cards, nodes)
    seen = {name: float(rng.normal()) for name in reals if rng.random() < 0.3}
    mixture = oracle.clg_mixture(families, cards, nodes, values=seen)
    factors = [f.condition(seen) for f in factors]
    hidden = [v for name, v in reals.items() if name not in seen]
    order = list(rng.permutation(np.array(hidden, dtype=object)))
    weights = eliminate(factors, order)
    assert weights.log_total == pytest.approx(mixture.log_evidence, abs=1e-9)
    names = list(states)
    posterior = weights.normalize().align(names)
    np.testing.assert_allclose(posterior.values, mixture.discrete_marginal(names, cards), atol=1e-9)
    mean, cov = mixture.moments()
    for target in hidden[:2]:
        joint = eliminate(factors, [v for v in order if v != target])
        place = mixture.index[target.name][0]
        collapsed = joint.collapse(list(states.values())).to_moments()
        assert collapsed.mean() == pytest.approx(mean[place], abs=1e-9)
        assert collapsed.variance() == pytest.approx(cov[place, place], abs=1e-9)
        exact = joint.to_distribution([target])
        assert exact.mean() == pytest.approx(mean[place], abs=1e-9)


def test_several_reals_collapse_to_their_joint_moments():
    rng = np.random.default_rng(8)
    families, cards, nodes = oracle.random_clg(rng, 3, 4)
    states, reals, factors = hybrid_factors(families, cards, nodes)
    mixture = oracle.clg_mixture(families, cards, nodes, values={"x3": 0.4})
    joint = multiply([f.condition({"x3": 0.4}) for f in factors])
    mean, cov = mixture.moments()
    places = [mixture.index[name][0] for name in ("x2", "x0")]
    collapsed = joint.collapse([*states.values(), reals["x1"]]).to_moments().marginal(["x2", "x0"])
    np.testing.assert_allclose(collapsed.mu, mean[places], atol=1e-9)
    np.testing.assert_allclose(collapsed.covariance, cov[np.ix_(places, places)], atol=1e-9)


def test_tables_gaussians_and_sparse_tables_lift():
    table, normal = Table((A, B), np.arange(6.0)), CanonicalGaussian(X, [[1.0]], h=[0.0])
    lifted = CanonicalTable.of(table)
    assert (lifted.discrete, lifted.continuous) == ((A, B), ())
    np.testing.assert_allclose((lifted * Table.ones()).values, table.values)
    assert CanonicalTable.of(normal).discrete == ()
    sparse = SparseTable((A, B), [[0, 1], [1, 2]], values=[2.0, 3.0])
    for product in (sparse * prior(), prior() * sparse):
        assert product.log_value({A: "v", B: 2, X: 1.0}) == pytest.approx(
            math.log(3) + prior().log_value({A: "v", X: 1.0})
        )
        assert product.log_value({A: "v", B: 1, X: 1.0}) == -math.inf
    quotient = Table(A, [0.5, 0.5]) / prior()
    assert quotient.log_value({A: "u", X: 1.0}) == pytest.approx(math.log(0.5) - prior().log_value({A: "u", X: 1.0}))
    assert (2 / prior()).log_value({A: "u", X: 1.0}) == pytest.approx(math.log(2) - prior().log_value({A: "u", X: 1.0}))
    assert (prior() / 2 * 2).log_total == pytest.approx(0.0, abs=EXACT)
    with pytest.raises(TypeError):
        prior() * "two"
    with pytest.raises(TypeError):
        prior() / None


def test_one_state_variables_and_many_axes():
    lone = CanonicalTable((ONE, X), [[[1.0]]], h=[[0.5]], g=[0.0])
    assert lone.marginalize(ONE).scope == (X,)
    assert lone.condition({ONE: 0}).scope == (X,)
    many = [Discrete(f"one {i}", 1) for i in range(80)]
    wide = CanonicalTable((*many, A, X), np.ones((2, 1, 1)), h=np.zeros((2, 1)), g=np.log([0.25, 0.75]))
    assert wide.marginalize([*many, X]).normalize()["v"] == pytest.approx(0.75)
    assert (wide * Table(A, [1.0, 0.0])).condition(dict.fromkeys(many, 0)).condition({A: "v"}).g == -math.inf


def test_alignment():
    rng = np.random.default_rng(2)
    f = table_of_gaussians(rng, (A, B), (X, P))
    turned = f.align([P, B, "x", A])
    assert turned.scope == (B, A, P, X)
    assert_same(turned, f, rng)
    with pytest.raises(ScopeError, match="missing"):
        f.align([A])


def test_distributions():
    f = table_of_gaussians(np.random.default_rng(6), (A, B), (X, Y))
    assert isinstance(f.to_distribution(Y), GaussianMixture)
    assert f.to_distribution([Y, X]).scope == (Y, X)
    assert f.to_distribution([B, A]).scope == (B, A)
    assert isinstance((prior() * Table(A, [1, 0])).to_distribution(X), Gaussian)
    hybrid = f.to_distribution([B, A, Y])
    assert hybrid.log_total == pytest.approx(0.0, abs=CLOSE)
    np.testing.assert_allclose(
        f.to_mixture(["y", "x"]).mean()["x"], f.collapse([A, B]).to_moments().mean()["x"], atol=CLOSE
    )
    with pytest.raises(ScopeError, match="'w' is not in the scope"):
        f.to_mixture("w")


def test_evidence_outside_the_scope_is_ignored():
    f = prior()
    assert f.condition({"elsewhere": 3}) is f
    with pytest.raises(ScopeError, match="missing 'x'"):
        f.log_value({A: "u"})


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: CanonicalTable((A, X), np.ones((3, 1, 1)), h=np.zeros((2, 1)), g=[0, 0]), ModelError, "expected"),
        (lambda: CanonicalTable((A, X), np.ones((2, 1, 1)), h=[[0], [np.nan]], g=[0, 0]), ModelError, "finite"),
        (lambda: CanonicalTable((A, X), np.ones((2, 1, 1)), h=np.zeros((2, 1)), g=[0, np.nan]), ModelError, "-inf"),
        (lambda: CanonicalTable((A, X, A), 1.0, h=0.0, g=0.0), ScopeError, "twice"),
        (lambda: CanonicalTable.from_moments((A, X), 0.0, covariances=[1.0, 0.0]), NotClosed, "a='v'"),
        (lambda: CanonicalTable.ones([Discrete(f"d{i}", 10) for i in range(12)]), TooLarge, "1e[+]12 Gaussians"),
        (lambda: prior() / Table(A, [1, 0]), NotClosed, "a='v'"),
        (lambda: prior() * Table(Discrete("x"), [1, 1]), ScopeError, "share one name"),
        (lambda: prior() * CanonicalGaussian(Vector("x", 2), np.eye(2), h=[0, 0]), ScopeError, "share one name"),
    ],
)
def test_errors_say_what_was_found(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_they_are_immutable_and_can_be_pickled_and_weakly_held():
    f = prior()
    with pytest.raises(AttributeError):
        f.forms = None
    with pytest.raises(ValueError, match="read-only"):
        f.g[0] = 1
    assert weakref.ref(f)() is f
    assert pickle.loads(pickle.dumps(f)).g.tolist() == f.g.tolist()
    assert repr(f) == "CanonicalTable(a[2], x)"
    assert f.size == 6
    assert (f.K.shape, f.h.shape) == ((2, 1, 1), (2, 1))
