"""Moments by sums over paths against rational arithmetic, and against elimination."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import sepset as ss
from sepset.inference import costs
from sepset.inference.hybrid.questions import RegressionQuestions
from support import rational_normals


def network(rng, variables, scale=0.0, zeros=0.0):
    """Regressions on some of the variables before; slopes and noise have sizes within a power of ten."""
    cpds = []
    for place, child in enumerate(variables):
        given = [p for p in variables[:place] if rng.random() < 0.6]
        size, width = child.size, sum(p.size for p in given)
        root = rng.standard_normal((size, size)) + 2 * np.eye(size)
        noise = 0.0 if rng.random() < zeros else 10.0 ** rng.uniform(-scale, scale)
        B = rng.standard_normal((size, width)) * 10.0 ** rng.uniform(-scale, scale, (size, width))
        a = rng.standard_normal(size) * 10.0 ** rng.uniform(-scale, scale)
        cpds.append(ss.LinearGaussian(child, a, coefficients=B, covariance=noise * (root @ root.T), given=given))
    return ss.BayesNet(*cpds)


def check(found, mean, covariance, tolerance):
    """Means relative to them or to their deviations; covariances relative to deviations."""
    deviation = np.sqrt([float(covariance[i, i]) for i in range(len(mean))])
    for i, (x, exact) in enumerate(zip(np.atleast_1d(found.mu), mean, strict=True)):
        assert abs(Fraction(float(x)) - exact) <= tolerance * max(abs(exact), Fraction(float(deviation[i])))
        for j, y in enumerate(found.covariance[i]):
            assert abs(Fraction(float(y)) - covariance[i, j]) <= tolerance * deviation[i] * deviation[j]


@pytest.mark.parametrize("scale", [0.0, 2.0, 30.0])
@pytest.mark.parametrize("method", [ss.CliqueTree(), ss.VariableElimination()])
def test_sums_over_paths_meet_exact_arithmetic(scale, method, monkeypatch):
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 0)
    variables = [*(ss.Real(n) for n in "abcde"), ss.Vector("p", 2), ss.Real("y"), ss.Real("z")]
    for seed in range(15):
        net = network(np.random.default_rng(seed), variables, scale, zeros=0.2)
        mean, covariance = rational_normals.moments(net, variables)
        for targets in (["z"], ["y", "c"], ["p", "z"]):
            at = [i for t in targets for i in {"c": [2], "p": [5, 6], "y": [7], "z": [8]}[t]]
            found = ss.query(net, targets, method=method)
            check(found.distribution, mean[at], covariance[np.ix_(at, at)], Fraction(1, 10**7))
            assert found.guarantees["marginals"] is ss.Guarantee.EXACT
            assert found.log_partition == 0.0
            assert found.info["residual"] < 1e-7


def test_slopes_that_cancel_keep_their_digits(monkeypatch):
    """Paths of weight 1e12 that leave 1: floats have four digits left, decimal numbers all."""
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 0)
    x, u, v, y = (ss.Real(n) for n in "xuvy")
    big = 1e12
    net = ss.BayesNet(
        ss.LinearGaussian(x, 1.0, covariance=1.0),
        ss.LinearGaussian(u, 0.0, coefficients=[0.1], covariance=0.0, given=x),
        ss.LinearGaussian(v, 0.0, coefficients=[0.3], covariance=0.0, given=x),
        ss.LinearGaussian(y, 0.0, coefficients=[3 * big, -big], covariance=0.0, given=[u, v]),
    )
    weight = 3 * Fraction(big) * Fraction(0.1) - Fraction(big) * Fraction(0.3)
    found = ss.query(net, "y")
    assert found.distribution.mean() == pytest.approx(float(weight), rel=1e-14)
    assert found.distribution.variance() == pytest.approx(float(weight**2), rel=1e-14)
    assert found.info["residual"] < 1e-12


PLACES = {"a": [0], "b": [1], "c": [2], "d": [3], "e": [4], "p": [5, 6], "y": [7], "z": [8]}


def drawn(net, names, seed):
    """Values of some variables in one draw."""
    columns = net.sample_columns(1, seed)
    return {n: np.asarray(columns[net.variables[n]][0]).tolist() for n in names}


@pytest.mark.parametrize("scale", [0.0, 3.0, 30.0])
@pytest.mark.parametrize("method", [ss.CliqueTree(), ss.VariableElimination()])
def test_findings_anywhere_meet_exact_arithmetic(scale, method, monkeypatch):
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 0)
    variables = [*(ss.Real(n) for n in "abcde"), ss.Vector("p", 2), ss.Real("y"), ss.Real("z")]
    for seed in range(25):
        rng = np.random.default_rng(seed)
        net = network(rng, variables, scale)
        names = [variables[i].name for i in rng.permutation(8)]
        found, targets = names[: 1 + seed % 4], names[5:]
        given = drawn(net, found, seed)
        at, places = [i for t in targets for i in PLACES[t]], [i for n in found for i in PLACES[n]]
        values = [x for n in found for x in np.ravel(given[n])]
        mean, covariance, log_density = rational_normals.conditioned(
            *rational_normals.moments(net, variables), places, values
        )
        for asked in (net, ss.BayesNet([net.cpds[i] for i in rng.permutation(8)])):
            answer = ss.query(asked, targets, given=given, method=method)
            check(answer.distribution, mean[at], covariance[np.ix_(at, at)], Fraction(1, 10**7))
            assert answer.log_partition == pytest.approx(log_density, rel=1e-7, abs=1e-7)
            assert answer.guarantees["marginals"] is ss.Guarantee.EXACT
            assert answer.info["residual"] < 1e-7
            single = ss.log_probability(asked, given=given, method=method)
            assert float(single) == pytest.approx(log_density, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("noise", [1e-4, 1e-12, 1e-20])
def test_small_noise_beside_a_large_prior(noise, monkeypatch):
    """What is left of a variance of 2e12 after two measurements has a size of the noise."""
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 0)
    u, v, x, y, z = (ss.Real(n) for n in "uvxyz")
    net = ss.BayesNet(
        ss.LinearGaussian(u, 3.0, covariance=1e12),
        ss.LinearGaussian(v, 0.0, coefficients=[0.7], covariance=1e12, given=u),
        ss.LinearGaussian(x, 0.1, coefficients=[1.0, 1.0], covariance=noise, given=[u, v]),
        ss.LinearGaussian(y, 0.0, coefficients=[1.0, -1.0], covariance=3.0 * noise, given=[u, v]),
        ss.LinearGaussian(z, 0.0, coefficients=[1.0, 2.0], covariance=0.0, given=[u, v]),
    )
    variables = [u, v, x, y, z]
    mean, covariance, log_density = rational_normals.conditioned(
        *rational_normals.moments(net, variables), [2, 3], [1e6, 2e5]
    )
    answer = ss.query(net, ["z", "u"], given={"x": 1e6, "y": 2e5})
    check(answer.distribution, mean[[4, 0]], covariance[np.ix_([4, 0], [4, 0])], Fraction(1, 10**9))
    assert answer.log_partition == pytest.approx(log_density, rel=1e-9)


def test_relations_without_noise_are_kept_or_broken(monkeypatch):
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 0)
    u, v, x, y, s, t = (ss.Real(n) for n in "uvxyst")
    net = ss.BayesNet(
        ss.LinearGaussian(u, 0.0, covariance=1.0),
        ss.LinearGaussian(v, 1.0, covariance=4.0),
        ss.LinearGaussian(x, 0.0, coefficients=[1.0, 1.0], covariance=0.0, given=[u, v]),
        ss.LinearGaussian(y, 0.0, coefficients=[0.3, 0.3], covariance=0.0, given=[u, v]),
        ss.LinearGaussian(s, 0.5, coefficients=[2.0], covariance=0.0, given=x),
        ss.LinearGaussian(t, 0.0, coefficients=[1.0, -1.0], covariance=0.0, given=[u, v]),
    )
    # x is normal with mean 1 and variance 5; u given x = 3 has the mean 2/5 and the variance 4/5.
    log_density = -0.5 * (np.log(2 * np.pi * 5.0) + 4.0 / 5.0)
    for given in ({"x": 3.0}, {"y": 3.0 * 0.3}, {"x": 3.0, "y": 3.0 * 0.3}, {"y": 3.0 * 0.3, "s": 6.5, "x": 3.0}):
        answer = ss.query(net, ["u", "t"], given=given)
        np.testing.assert_allclose(answer.distribution.mu, [0.4, -2.2], rtol=1e-12)
        np.testing.assert_allclose(answer.distribution.covariance, [[0.8, 1.6], [1.6, 3.2]], rtol=1e-12)
        if "x" in given:
            assert answer.log_partition == pytest.approx(log_density, rel=1e-12)
    certain = ss.query(net, "v", given={"x": 3.0, "t": 1.0}).distribution
    assert (certain.mean(), certain.variance()) == pytest.approx((1.0, 0.0))
    for given in ({"x": 3.0, "y": 0.91}, {"x": 3.0, "s": 6.6}, {"y": 0.9, "s": 6.6}):
        with pytest.raises(ss.ImpossibleEvidence):
            ss.query(net, "u", given=given)


def test_findings_in_parts_with_hidden_contexts(monkeypatch):
    """The context of w is hidden, and weighed by w; z does not depend on it."""
    d, w, x, y, z = ss.Discrete("d"), *(ss.Real(n) for n in "wxyz")
    net = ss.BayesNet(
        ss.TableCPD(d, [0.3, 0.7]),
        ss.LinearGaussian(w, [0.0, 2.0], covariance=[1.0, 4.0], by=d),
        ss.LinearGaussian(x, 0.5, covariance=1.0),
        ss.LinearGaussian(y, 0.0, coefficients=[2.0], covariance=1.0, given=x),
        ss.LinearGaussian(z, 0.0, coefficients=[1.0], covariance=0.5, given=x),
    )
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 1)
    found = ss.query(net, "z", given={"y": 2.0, "w": 1.0})
    # x given y: precision 1 + 4, mean (0.5 + 2 * 2) / 5.
    assert (found.distribution.mean(), found.distribution.variance()) == pytest.approx((0.9, 0.7))
    mixed = 0.3 * np.exp(-0.5) / np.sqrt(2 * np.pi) + 0.7 * np.exp(-0.125) / np.sqrt(8 * np.pi)
    assert found.log_partition == pytest.approx(np.log(mixed) - 0.5 * (np.log(10 * np.pi) + 0.2))


def test_observed_ancestors_and_observed_contexts(monkeypatch):
    d, x, y, z, w = ss.Discrete("d"), *(ss.Real(n) for n in "xyzw")
    net = ss.BayesNet(
        ss.TableCPD(d, [0.3, 0.7]),
        ss.LinearGaussian(w, 1.0, covariance=2.0),
        ss.LinearGaussian(x, 0.5, coefficients=[2.0], covariance=1.0, given=w),
        ss.LinearGaussian(y, [0.0, 1.0], coefficients=[[1.0], [3.0]], covariance=[1.0, 4.0], given=x, by=d),
        ss.LinearGaussian(z, 0.0, coefficients=[1.0, -1.0], covariance=0.5, given=[y, w]),
    )
    given = {"x": 2.0, "d": 1, "w": 1.5}
    swept = ss.query(net, ["z", "y"], given=given)
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 0)
    found = ss.query(net, ["z", "y"], given=given)
    # y = 1 + 3 * 2 = 7 with variance 4; z = y - 1.5.
    assert found.distribution.mu.tolist() == [5.5, 7.0]
    assert found.distribution.covariance.tolist() == [[4.5, 4.0], [4.0, 4.0]]
    assert found.log_partition == pytest.approx(swept.log_partition, rel=1e-12)


def test_a_measurement_below_is_not_left_out(monkeypatch):
    x, y = ss.Real("x"), ss.Real("y")
    net = ss.BayesNet(
        ss.LinearGaussian(x, 0.0, covariance=1.0),
        ss.LinearGaussian(y, 0.0, coefficients=[1.0], covariance=1.0, given=x),
    )
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 0)
    found = ss.query(net, "x", given={"y": 2.0})
    assert (found.distribution.mean(), found.distribution.variance()) == pytest.approx((1.0, 0.5))


@pytest.mark.parametrize("scale", [0.0, 3.0])
@pytest.mark.parametrize("method", [ss.CliqueTree(), ss.VariableElimination()])
@pytest.mark.parametrize("together", [1, 3, 64])
def test_marginals_of_all_meet_exact_arithmetic(scale, method, together, monkeypatch):
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 0)
    monkeypatch.setattr(costs, "TARGETS_TOGETHER", together)
    variables = [*(ss.Real(n) for n in "abcde"), ss.Vector("p", 2), ss.Real("y"), ss.Real("z")]
    for seed in range(6):
        rng = np.random.default_rng(seed)
        net = network(rng, variables, scale)
        found = [variables[i].name for i in rng.permutation(8)][: seed % 4]
        given, places = drawn(net, found, seed), [i for n in found for i in PLACES[n]]
        values = [x for n in found for x in np.ravel(given[n])]
        mean, covariance, log_density = rational_normals.conditioned(
            *rational_normals.moments(net, variables), places, values
        )
        for asked in (net, ss.BayesNet([net.cpds[i] for i in rng.permutation(8)])):
            answer = ss.marginals(asked, given=given, method=method)
            for name in set(PLACES) - set(found):
                at = PLACES[name]
                check(answer[name], mean[at], covariance[np.ix_(at, at)], Fraction(1, 10**7))
            assert answer.log_partition == pytest.approx(log_density, rel=1e-7, abs=1e-7)
            assert answer.guarantees["marginals"] is ss.Guarantee.EXACT
            assert answer.info["residual"] < 1e-7


@pytest.mark.parametrize("method", [ss.CliqueTree(), ss.VariableElimination()])
def test_marginals_beside_discrete_variables(method, monkeypatch):
    """A context that is observed, and a variable that depends on it; one that is hidden is left to an elimination."""
    c, d, x, y = ss.Discrete("c"), ss.Discrete("d"), ss.Real("x"), ss.Real("y")
    net = ss.BayesNet(
        ss.TableCPD(c, [0.3, 0.7]),
        ss.TableCPD(d, [[0.9, 0.1], [0.2, 0.8]], given=c),
        ss.LinearGaussian(x, [0.0, 2.0], covariance=[1.0, 4.0], by=c),
        ss.LinearGaussian(y, 0.0, coefficients=[1.0], covariance=1.0, given=x),
    )
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 0)
    answer = ss.marginals(net, given={"c": 1, "y": 1.0}, method=method)
    assert answer["d"][1] == pytest.approx(0.8)
    assert (answer["x"].mean(), answer["x"].variance()) == pytest.approx((2.0 - 0.8, 0.8))
    assert answer.log_partition == pytest.approx(np.log(0.7) - 0.5 * (np.log(10 * np.pi) + 0.2))
    weights = np.array([0.3 * np.exp(-0.25) / np.sqrt(2), 0.7 * np.exp(-0.1) / np.sqrt(5)])
    hidden = ss.marginals(net, given={"y": 1.0}, method=method)
    assert hidden["c"][0] == pytest.approx(weights[0] / weights.sum())
    assert hidden["x"].mean() == pytest.approx(weights @ [0.5, 1.2] / weights.sum())


@pytest.mark.parametrize("first", ["joint", "marginals"])
def test_the_residual_of_all_variables_is_that_of_sums_over_paths(first, monkeypatch):
    x, y, z = ss.Real("x"), ss.Real("y"), ss.Real("z")
    net = ss.BayesNet(
        ss.LinearGaussian(x, 0.0, covariance=1.0),
        ss.LinearGaussian(y, 0.0, coefficients=[1.0], covariance=1.0, given=x),
        ss.LinearGaussian(z, 0.0, coefficients=[1.0], covariance=1.0, given=y),
    )

    def refuse(*_):
        raise AssertionError("an elimination was measured")

    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 0)
    monkeypatch.setattr(RegressionQuestions, "loss", refuse)
    engine = ss.prepare(net, method=ss.VariableElimination())
    if first == "marginals":
        assert 0.0 < engine.marginals(given={"z": 3.0}).info["residual"] < 1e-12
    found = engine.query(["x", "y"], given={"z": 3.0})
    np.testing.assert_allclose(found.distribution.mu, [1.0, 2.0], rtol=1e-12)
    assert 0.0 < found.info["residual"] < 1e-12


def test_marginals_given_what_cannot_be(monkeypatch):
    x, y = ss.Real("x"), ss.Real("y")
    net = ss.BayesNet(
        ss.LinearGaussian(x, 1.0, covariance=0.0),
        ss.LinearGaussian(y, 0.0, coefficients=[2.0], covariance=0.0, given=x),
    )
    monkeypatch.setattr(costs, "NUMBERS_SWEPT", 0)
    assert ss.marginals(net, given={"y": 2.0})["x"].variance() == 0.0
    with pytest.raises(ss.ImpossibleEvidence):
        ss.marginals(net, given={"y": 2.1})


def wide(size):
    """Three random parents each: an elimination would fill matrices of all ancestors."""
    rng = np.random.default_rng(0)
    variables = [ss.Real(f"v{i}") for i in range(size)]
    mean, weights, cpds = np.zeros(size), np.zeros((size, size)), []
    for i, child in enumerate(variables):
        above = sorted(set(rng.integers(0, i, min(3, i)).tolist())) if i else []
        slopes = rng.uniform(-0.6, 0.6, len(above))
        mean[i], weights[i] = 0.1 + slopes @ mean[above], slopes @ weights[above]
        weights[i, i] = 1.0
        given = [variables[j] for j in above]
        cpds.append(ss.LinearGaussian(child, 0.1, coefficients=slopes, covariance=1.0, given=given))
    return ss.BayesNet(cpds), mean, weights


def test_wide_networks_are_answered_without_elimination():
    net, mean, weights = wide(3000)
    found = ss.query(net, ["v2999", "v2500"])
    at = [2999, 2500]
    np.testing.assert_allclose(found.distribution.mu, mean[at], rtol=1e-12)
    np.testing.assert_allclose(found.distribution.covariance, weights[at] @ weights[at].T, rtol=1e-12)
    assert found.info["residual"] < 1e-10


@pytest.mark.parametrize("num_found", [1, 40])
def test_wide_networks_with_findings(num_found):
    net, mean, weights = wide(3000)
    at, found = [2999, 2500, 3], [2998 - 7 * i for i in range(num_found)]
    values = mean[found] + np.linspace(-2.0, 2.0, num_found)
    joint = weights[[*found, *at]] @ weights[[*found, *at]].T
    first = joint[:num_found, :num_found]
    gain = np.linalg.solve(first, joint[:num_found, num_found:]).T
    given = {f"v{i}": x for i, x in zip(found, values.tolist(), strict=True)}
    answer = ss.query(net, [f"v{i}" for i in at], given=given)
    np.testing.assert_allclose(answer.distribution.mu, mean[at] + gain @ (values - mean[found]), rtol=1e-10)
    spread = joint[num_found:, num_found:] - gain @ joint[:num_found, num_found:]
    np.testing.assert_allclose(answer.distribution.covariance, spread, rtol=1e-10, atol=1e-12)
    _, logdet = np.linalg.slogdet(2 * np.pi * first)
    apart = values - mean[found]
    log_density = -0.5 * (logdet + apart @ np.linalg.solve(first, apart))
    assert answer.log_partition == pytest.approx(log_density, rel=1e-10)
    assert float(ss.log_probability(net, given=given)) == pytest.approx(log_density, rel=1e-10)
    assert answer.info["residual"] < 1e-8


def test_marginals_of_a_wide_network():
    net, mean, weights = wide(2000)
    joint = weights @ weights.T
    gain = joint[:, [1990]] / joint[1990, 1990]
    answer = ss.marginals(net, given={"v1990": mean[1990] + 2.0})
    center, spread = mean + 2.0 * gain[:, 0], np.diagonal(joint) - gain[:, 0] * joint[1990]
    for i in (0, 7, 500, 1500, 1989, 1991, 1999):
        assert answer[f"v{i}"].mean() == pytest.approx(center[i], rel=1e-10)
        assert answer[f"v{i}"].variance() == pytest.approx(spread[i], rel=1e-10)
    assert answer.info["residual"] < 1e-8


def test_long_chains_with_weights_beyond_the_range_of_floats():
    """Weights of 0.3 to the power of thousands are no numbers, and do not matter."""
    variables = [ss.Real(f"v{i}") for i in range(2500)]
    cpds = [ss.LinearGaussian(variables[0], 0.0, covariance=1.0)]
    for above, child in itertools.pairwise(variables):
        cpds.append(ss.LinearGaussian(child, 0.0, coefficients=[0.3], covariance=1.0, given=above))
    answer = ss.query(ss.BayesNet(cpds), "v2498", given={"v2499": 1.0})
    before = 1.0 / (1.0 - 0.09)  # the variance far from the start of the chain
    assert answer.distribution.mean() == pytest.approx(0.3 * before / (0.09 * before + 1.0), rel=1e-12)
    assert answer.distribution.variance() == pytest.approx(before / (0.09 * before + 1.0), rel=1e-12)
    assert answer.info["residual"] < 1e-12
