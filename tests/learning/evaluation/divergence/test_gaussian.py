"""The divergence of Gaussian and mixed networks against joint normals, one for each joint state of what is discrete."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from scipy import integrate, stats

import sepset as ss
from sepset.inference.hybrid.moments import forward_moments
from sepset.learning.evaluation.divergence.discrete import Truth
from sepset.learning.evaluation.divergence.gaussian import GaussianTruth
from sepset.learning.evaluation.divergence.relativeentropy import divergence
from support import rational_normals

EPSILON = np.finfo(float).eps


def network(rng, variables, share=0.5):
    """A random linear Gaussian network, parents drawn from the variables before in a random order."""
    order = [variables[int(i)] for i in rng.permutation(len(variables))]
    cpds = []
    for place, child in enumerate(order):
        given = [p for p in order[:place] if rng.random() < share]
        size, width = child.size, sum(p.size for p in given)
        root = rng.standard_normal((size, size)) + 2 * np.eye(size)
        B = rng.standard_normal((size, width))
        cpds.append(
            ss.LinearGaussian(child, rng.standard_normal(size), coefficients=B, covariance=root @ root.T, given=given)
        )
    return ss.BayesNet(*cpds)


def moments(net, variables):
    """Mean and covariance by solving x = a + B x + e, coordinates in the order of `variables`."""
    starts = dict(zip(variables, np.cumsum([0, *(v.size for v in variables)]), strict=False))
    size = sum(v.size for v in variables)
    a, A, C = np.zeros(size), np.zeros((size, size)), np.zeros((size, size))
    at = {v: slice(s, s + v.size) for v, s in starts.items()}
    for cpd in net.cpds:
        y, column = at[cpd.child], 0
        a[y], C[y, y] = cpd.intercept[0], cpd.covariance[0]
        for parent in cpd.given:
            A[y, at[parent]] = cpd.coefficients[0][:, column : column + parent.size]
            column += parent.size
    inverse = np.linalg.inv(np.eye(size) - A)
    return inverse @ a, inverse @ C @ inverse.T


def normal_kl(p, q):
    """KL between two normals, from the textbook formula."""
    (m, S), (n, T) = p, q
    inverse = np.linalg.inv(T)
    return 0.5 * (
        np.trace(inverse @ S) + (n - m) @ inverse @ (n - m) - len(m) + np.linalg.slogdet(T)[1] - np.linalg.slogdet(S)[1]
    )


FLOATS = SimpleNamespace(moments=moments, normal_kl=normal_kl)


def check_total(total, p, q, oracle):
    """The total is that of an oracle in floats; where they differ, that of the same oracle in rational arithmetic.

    Neither float is right beyond what rounding a covariance changes in its inverse.
    """
    if total != pytest.approx(oracle(FLOATS), rel=1e-9, abs=1e-9):
        exact = oracle(rational_normals)
        assert total == pytest.approx(exact, rel=1e-9 + 4 * EPSILON * rational_normals.condition(p, q), abs=1e-9)


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_the_total_is_the_divergence_of_the_joints(seed):
    rng = np.random.default_rng(seed)
    variables = [ss.Real("x"), ss.Vector("p", 2), ss.Real("y"), ss.Real("z")]
    p, q = network(rng, variables), network(rng, variables)
    found = divergence(p, q)
    check_total(found.total, p, q, lambda by: by.normal_kl(by.moments(p, variables), by.moments(q, variables)))
    assert found.structure >= 0
    assert min(found.families.values()) >= 0
    assert divergence(p, p).total == 0.0
    assert float(ss.evaluation.divergence(p, q)) == found.total


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_the_graph_costs_what_the_best_line_of_that_graph_does(seed):
    """The projection: a network over the second graph with regressions read from the true moments."""
    rng = np.random.default_rng(seed)
    variables = [ss.Real(n) for n in "wxyz"]
    p, q = network(rng, variables), network(rng, variables)
    mean, covariance = moments(p, variables)
    place = {v: i for i, v in enumerate(variables)}
    lines = []
    for cpd in q.cpds:
        u, y = [place[v] for v in cpd.given], place[cpd.child]
        B = np.linalg.solve(covariance[np.ix_(u, u)], covariance[u, y]) if u else np.zeros(0)
        rest = covariance[y, y] - B @ covariance[u, y]
        line = {"coefficients": B[None], "covariance": rest, "given": cpd.given}
        lines.append(ss.LinearGaussian(cpd.child, mean[y] - B @ mean[u], **line))
    best = divergence(p, ss.BayesNet(*lines))
    assert best.parameters == pytest.approx(0.0, abs=1e-8)
    assert best.structure == pytest.approx(divergence(p, q).structure, rel=1e-8, abs=1e-8)


def test_entropy_is_that_of_the_joint():
    rng = np.random.default_rng(3)
    variables = [ss.Real(n) for n in "wxyz"]
    net = network(rng, variables)
    expected = stats.multivariate_normal(*moments(net, variables)).entropy()
    assert Truth(net).entropy == pytest.approx(expected, rel=1e-12)


def test_one_variable_by_quadrature():
    x = ss.Real("x")
    p, q = ss.LinearGaussian(x, 1.0, covariance=0.5), ss.LinearGaussian(x, -0.5, covariance=2.0)
    ours, theirs = stats.norm(1.0, math.sqrt(0.5)), stats.norm(-0.5, math.sqrt(2.0))
    expected = integrate.quad(lambda t: ours.pdf(t) * (ours.logpdf(t) - theirs.logpdf(t)), -9, 11)[0]
    assert divergence(ss.BayesNet(p), ss.BayesNet(q)).total == pytest.approx(expected, rel=1e-9)


def test_parents_in_another_order_change_nothing():
    x, y, z = (ss.Real(n) for n in "xyz")
    roots = [ss.LinearGaussian(v, covariance=1.0) for v in (x, y)]
    first = ss.LinearGaussian(z, coefficients=[[1.0, 2.0]], covariance=1.0, given=(x, y))
    second = ss.LinearGaussian(z, coefficients=[[2.0, 1.0]], covariance=1.0, given=(y, x))
    assert divergence(ss.BayesNet(*roots, first), ss.BayesNet(*roots, second)).total == 0.0


def test_deterministic_lines_are_equal_or_infinitely_far():
    x, y = ss.Real("x"), ss.Real("y")

    def net(slope, variance):
        return ss.BayesNet(
            ss.LinearGaussian(x, covariance=1.0),
            ss.LinearGaussian(y, coefficients=slope, covariance=variance, given=x),
        )

    assert divergence(net(2.0, 0.0), net(2.0, 0.0)).total == 0.0
    for p, q in ((net(2.0, 0.0), net(1.0, 0.0)), (net(2.0, 0.0), net(2.0, 1.0)), (net(2.0, 1.0), net(2.0, 0.0))):
        assert divergence(p, q).total == math.inf
    assert Truth(net(2.0, 0.0)).entropy == -math.inf


def test_learning_curves_of_gaussian_networks_use_it():
    truth = network(np.random.default_rng(0), [ss.Real(n) for n in "xyz"], share=1.0)
    learner = ss.evaluation.Learner(truth.dag, ss.MLE())
    curve = ss.evaluation.learning_curve({"MLE": learner}, truth, sizes=[30, 3000], repeats=3, progress=False)
    assert "KL" in curve.measure


A, B, ONE = ss.Discrete("a", 2), ss.Discrete("b", 3), ss.Discrete("one", 1)
REALS = [ss.Real("x"), ss.Vector("p", 2), ss.Real("y")]
MIXED = [A, B, ONE, *REALS]


def mixed_network(rng, zeros=0.0, share=0.6):
    """A random network of tables and lines; discrete variables come first, in a random order."""
    order = [*(MIXED[int(i)] for i in rng.permutation(3)), *(MIXED[3 + int(i)] for i in rng.permutation(3))]
    cpds = []
    for place, child in enumerate(order):
        parents = [v for v in order[:place] if rng.random() < share]
        by = [v for v in parents if v.is_discrete]
        shape = tuple(v.num_states for v in by)
        if child.is_discrete:
            values = rng.dirichlet(np.ones(child.num_states), shape)
            values = np.where(rng.random(values.shape) < zeros, 0.0, values) + 1e-9 * np.eye(child.num_states)[0]
            cpds.append(ss.TableCPD.normalized(child, values, given=by))
            continue
        given = [v for v in parents if not v.is_discrete]
        size, width = child.size, sum(v.size for v in given)
        root = rng.standard_normal((*shape, size, size)) + 2 * np.eye(size)
        line = {"coefficients": rng.standard_normal((*shape, size, width)), "covariance": root @ root.swapaxes(-1, -2)}
        cpds.append(ss.LinearGaussian(child, rng.standard_normal((*shape, size)), **line, given=given, by=by))
    return ss.BayesNet(*cpds)


def at(net, states, by=FLOATS):
    """The probability of discrete states, and the lines that they select as a network."""
    chance, lines = 1.0, []
    for cpd in net.cpds:
        if cpd.child.is_discrete:
            chance *= float(cpd.values[tuple(states[v] for v in cpd.scope)])
            continue
        place = np.ravel_multi_index([states[v] for v in cpd.by], [v.num_states for v in cpd.by]) if cpd.by else 0
        parts = {"coefficients": cpd.coefficients[place], "covariance": cpd.covariance[place], "given": cpd.given}
        lines.append(ss.LinearGaussian(cpd.child, cpd.intercept[place], **parts))
    return chance, by.moments(ss.BayesNet(*lines), REALS)


def all_states(variables=(A, B, ONE)):
    for codes in itertools.product(*(range(v.num_states) for v in variables)):
        yield dict(zip(variables, codes, strict=True))


def mixed_kl(p, q, by=FLOATS):
    """Sum over joint states: of the states themselves, and of the normals they select."""
    total = 0.0
    for states in all_states():
        (ours, normal), (theirs, other) = at(p, states, by), at(q, states, by)
        if ours > 0:
            total += ours * (math.log(ours / theirs) + by.normal_kl(normal, other)) if theirs > 0 else math.inf
    return total


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.3]))
@settings(max_examples=60, deadline=None)
def test_mixed_networks_agree_with_every_joint_state(seed, zeros):
    rng = np.random.default_rng(seed)
    p, q = mixed_network(rng, zeros), mixed_network(rng)
    found = divergence(p, q)
    check_total(found.total, p, q, lambda by: mixed_kl(p, q, by))
    assert found.structure >= 0
    assert min(found.families.values()) >= 0
    assert divergence(p, p).total == 0.0
    assert found.guarantees == {"divergence": ss.Guarantee.EXACT}
    assert float(ss.evaluation.divergence(p, q)) == found.total


@pytest.mark.parametrize("seed", [1002254, 1000948, 1002972, 1002898])
def test_ill_conditioned_covariances_lose_no_more_digits_than_they_must(seed):
    """Condition numbers up to 1e10, where an oracle in floats is as far from the truth as anything."""
    rng = np.random.default_rng(seed)
    p, q = mixed_network(rng), mixed_network(rng)
    assert rational_normals.condition(q) > 1e7
    check_total(divergence(p, q).total, p, q, lambda by: mixed_kl(p, q, by))


def best_lines(p, q):
    """The network over the second graph with tables and regressions from the enumerated truth."""
    place = np.cumsum([0, *(v.size for v in REALS)])
    spots = {v: list(range(s, s + v.size)) for v, s in zip(REALS, place, strict=False)}
    made = []
    for cpd in q.cpds:
        by = tuple(v for v in cpd.parents if v.is_discrete)
        if cpd.child.is_discrete:
            values = np.zeros([v.num_states for v in cpd.scope])
            for states in all_states():
                values[tuple(states[v] for v in cpd.scope)] += at(p, states)[0]
            made.append(ss.TableCPD.normalized(cpd.child, values, given=by))
            continue
        u, y = [i for v in cpd.given for i in spots[v]], spots[cpd.child]
        parts = []
        for context in all_states(by):
            chosen = [at(p, s) for s in all_states() if all(s[v] == c for v, c in context.items())]
            share = np.array([chance for chance, _ in chosen]) / sum(chance for chance, _ in chosen)
            mean = sum(w * m for w, (_, (m, _)) in zip(share, chosen, strict=True))
            second = sum(w * (S + np.outer(m, m)) for w, (_, (m, S)) in zip(share, chosen, strict=True))
            S = second - np.outer(mean, mean)
            line = S[np.ix_(y, u)] @ np.linalg.inv(S[np.ix_(u, u)]) if u else np.zeros((len(y), 0))
            left = S[np.ix_(y, y)] - line @ S[np.ix_(u, y)]
            parts.append((mean[y] - line @ mean[u], line, (left + left.T) / 2))
        shape = tuple(v.num_states for v in by)
        a, slopes, C = (np.array(part).reshape(*shape, *part[0].shape) for part in zip(*parts, strict=True))
        made.append(ss.LinearGaussian(cpd.child, a, coefficients=slopes, covariance=C, given=cpd.given, by=by))
    return ss.BayesNet(*made)


@given(st.integers(0, 2**32 - 1))
@example(2892)  # inverses of covariances of all variables in floats keep four digits
@settings(max_examples=20, deadline=None)
def test_the_graph_of_a_mixed_network_costs_what_its_best_lines_do(seed):
    rng = np.random.default_rng(seed)
    p, q = mixed_network(rng), mixed_network(rng)
    lines = best_lines(p, q)
    best = divergence(p, lines)
    assert best.parameters == pytest.approx(0.0, abs=1e-7)
    assert best.structure == pytest.approx(divergence(p, q).structure, rel=1e-7, abs=1e-7)
    assert mixed_kl(p, lines, rational_normals) == pytest.approx(best.structure, rel=1e-7, abs=1e-7)


def test_a_mixture_against_one_normal_by_quadrature():
    """What the second network lacks is the edge from the state to the number: one normal for a mixture of two."""
    d, x = ss.Discrete("d"), ss.Real("x")
    p = ss.BayesNet(ss.TableCPD(d, [0.3, 0.7]), ss.LinearGaussian(x, [-1.0, 2.0], covariance=[0.5, 1.5], by=d))
    q = ss.BayesNet(ss.TableCPD(d, [0.6, 0.4]), ss.LinearGaussian(x, 0.5, covariance=3.0))
    parts = [(0.3, 0.6, stats.norm(-1.0, math.sqrt(0.5))), (0.7, 0.4, stats.norm(2.0, math.sqrt(1.5)))]
    other = stats.norm(0.5, math.sqrt(3.0))

    def piece(weight, theirs, ours):
        def value(t):
            return weight * ours.pdf(t) * (math.log(weight / theirs) + ours.logpdf(t) - other.logpdf(t))

        return integrate.quad(value, -15, 18, limit=200)[0]

    assert divergence(p, q).total == pytest.approx(sum(piece(*part) for part in parts), rel=1e-9)
    entropy = stats.entropy([0.3, 0.7]) + 0.3 * parts[0][2].entropy() + 0.7 * parts[1][2].entropy()
    assert Truth(p).entropy == pytest.approx(entropy, rel=1e-12)


def test_contexts_that_never_come_do_not_count():
    d, x = ss.Discrete("d"), ss.Real("x")

    def net(chances, means, variances):
        return ss.BayesNet(ss.TableCPD(d, chances), ss.LinearGaussian(x, means, covariance=variances, by=d))

    truth = net([1.0, 0.0], [0.0, 5.0], [1.0, 0.0])
    assert divergence(truth, net([0.5, 0.5], [0.0, -5.0], [1.0, 2.0])).total == pytest.approx(math.log(2.0))
    assert divergence(truth, net([0.5, 0.5], [0.0, 5.0], [0.0, 1.0])).total == math.inf
    assert divergence(truth, net([0.0, 1.0], [0.0, 5.0], [1.0, 1.0])).total == math.inf
    assert math.isfinite(Truth(truth).entropy)


@pytest.mark.parametrize("seed", range(5))
def test_sweeps_agree_with_lists_and_what_is_too_large_for_both_is_refused(monkeypatch, seed):
    rng = np.random.default_rng(seed)
    p, q = (mixed_network(rng, share=1.0) for _ in range(2))
    expected = divergence(p, q)
    calls = []
    monkeypatch.setattr("sepset.inference.hybrid.moments.MOST_MOMENT_ENTRIES", 0)
    monkeypatch.setattr(
        "sepset.inference.hybrid.moments.forward_moments",
        lambda *args, largest: calls.append(1) or forward_moments(*args),
    )
    found = divergence(p, q)
    assert calls
    assert found.total == pytest.approx(expected.total, rel=1e-10)
    assert found.families == pytest.approx(expected.families, rel=1e-10, abs=1e-12)
    monkeypatch.setattr("sepset.inference.hybrid.moments.forward_moments", forward_moments)
    with pytest.raises(ss.TooLarge, match="samples="):
        divergence(p, q)
    assert divergence(p, p).total == 0.0


def switching_chain(length, seed=2):
    """A hidden regime that switches, and a number that depends on its last value and the regime."""
    cpds, rng = [], np.random.default_rng(seed)
    for i in range(length):
        s, x = ss.Discrete(f"s{i}"), ss.Real(f"x{i}")
        cpds.append(
            ss.TableCPD(s, rng.dirichlet([1.0, 1.0], 2 if i else None), given=[ss.Discrete(f"s{i - 1}")] if i else [])
        )
        given = [ss.Real(f"x{i - 1}")] if i else []
        slopes = rng.uniform(-0.9, 0.9, size=(2, 1, len(given)))
        cpds.append(ss.LinearGaussian(x, rng.normal(size=2), coefficients=slopes, covariance=1.0, given=given, by=s))
    return ss.BayesNet(*cpds)


def test_switching_chains_of_any_length():
    """2^60 joint states of the regimes: their number does not matter; draws agree."""
    p, q = switching_chain(60), switching_chain(60, seed=3)
    exact, drawn = divergence(p, q), divergence(p, q, samples=20_000)
    assert abs(exact.total - drawn.total) < 5 * drawn.standard_error
    assert exact.structure == 0.0


def test_long_chains_need_the_states_above_a_number_only():
    """Forty states in a chain; each number depends on its own and on the number before within a group of four."""
    cpds, rng = [], np.random.default_rng(2)
    for i in range(40):
        s, x = ss.Discrete(f"s{i}"), ss.Real(f"x{i}")
        before = [ss.Discrete(f"s{i - 1}")] if i else []
        cpds.append(ss.TableCPD(s, rng.dirichlet([1.0, 1.0], 2 if i else None), given=before))
        given = [ss.Real(f"x{i - 1}")] if i % 4 else []
        cpds.append(
            ss.LinearGaussian(
                x, rng.normal(size=2), coefficients=np.full((2, 1, len(given)), 0.5), covariance=1.0, given=given, by=s
            )
        )
    p = ss.BayesNet(*cpds)
    q = p.with_cpds(
        *(c.with_parameters(0 * c.intercept, 0 * c.coefficients, covariance=2 * c.covariance) for c in p.cpds[1::2])
    )
    exact, drawn = divergence(p, q), divergence(p, q, samples=20_000)
    assert abs(exact.total - drawn.total) < 5 * drawn.standard_error


def test_what_has_no_lines_is_refused():
    x = ss.Real("x")
    line = ss.BayesNet(ss.LinearGaussian(x, covariance=1.0))
    with pytest.raises(ss.errors.ScopeError, match="'y'"):
        divergence(line, ss.BayesNet(ss.LinearGaussian(ss.Real("y"), covariance=1.0)))
    with pytest.raises(ss.errors.NotApplicable, match="discrete"):
        ss.evaluation.parameter_distance(line, line)
    with pytest.raises(ss.errors.NotApplicable, match="samples="):
        divergence(line, ss.BayesNet(ss.KernelCPD(x, {"x": [0.0, 1.0]}, width=1.0)))
    assert GaussianTruth(line).entropy == pytest.approx(0.5 * math.log(2 * math.pi * math.e))
