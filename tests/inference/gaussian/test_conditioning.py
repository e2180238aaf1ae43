"""Missing numbers of many rows at once, held to dense normal distributions row by row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

import sepset as ss
from sepset.inference.gaussian import conditioning
from sepset.inference.gaussian.conditioning import CompletedRows, Groups, Spread
from sepset.inference.gaussian.coordinates import Coordinates
from support.exact_gaussians import Line, joint_of, network

D, E = ss.Discrete("d", 2), ss.Discrete("e", 3)
X, Y, Z = ss.Real("x"), ss.Real("y"), ss.Real("z")


def random_net(rng):
    """x given d, y given x, and z given x, y and both states."""
    return ss.BayesNet(
        ss.TableCPD(D, [0.5, 0.5]),
        ss.TableCPD(E, [0.2, 0.3, 0.5]),
        ss.LinearGaussian(X, rng.normal(size=2), covariance=rng.random(2) + 0.2, by=D),
        ss.LinearGaussian(Y, rng.normal(), coefficients=rng.normal(), covariance=0.5, given=X),
        ss.LinearGaussian(
            Z,
            rng.normal(size=(2, 3)),
            coefficients=rng.normal(size=(2, 3, 1, 2)),
            covariance=rng.random((2, 3)) + 0.1,
            given=(X, Y),
            by=(D, E),
        ),
    )


def dense(net, d, e):
    """The mean and covariance of (x, y, z), one regression after the other."""
    a, b, c = net.cpds[2:]
    mean, sigma = np.zeros(3), np.zeros((3, 3))
    mean[0], sigma[0, 0] = a.intercept[d, 0], a.covariance[d, 0, 0]
    slopes = [b.coefficients[0, 0], c.coefficients.reshape(2, 3, 2)[d, e]]
    starts = [b.intercept[0, 0], c.intercept.reshape(2, 3)[d, e]]
    noises = [b.covariance[0, 0, 0], c.covariance.reshape(2, 3)[d, e]]
    for i, (slope, start, noise) in enumerate(zip(slopes, starts, noises, strict=True), start=1):
        mean[i] = start + slope @ mean[:i]
        sigma[i, :i] = sigma[:i, i] = sigma[:i, :i] @ slope
        sigma[i, i] = noise + slope @ sigma[:i, :i] @ slope
    return mean, sigma


def completed(net, values, contexts):
    """Each row as a group of its own."""
    coordinates = Coordinates.of(net.problem())
    groups = Groups.of(coordinates, ~np.isnan(values), np.isnan(values), contexts)
    return CompletedRows.of(coordinates, groups, values, np.arange(len(values)))


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=60, deadline=None)
def test_rows_are_conditioned_one_by_one(seed):
    rng = np.random.default_rng(seed)
    net = random_net(rng)
    values = rng.normal(size=(12, 3))
    values[rng.random(values.shape) < 0.4] = np.nan
    contexts = np.stack([rng.integers(2, size=12), rng.integers(3, size=12)], axis=1)
    found = completed(net, values, contexts)
    groups = found.spread.groups
    for row in range(12):
        mean, sigma = dense(net, *contexts[row])
        m, o = (np.flatnonzero(np.isnan(values[row]) == flag) for flag in (True, False))
        gain = sigma[np.ix_(m, o)] @ np.linalg.inv(sigma[np.ix_(o, o)])
        expected = values[row].copy()
        expected[m] = mean[m] + gain @ (values[row, o] - mean[o])
        inner = sigma[np.ix_(m, m)] - gain @ sigma[np.ix_(o, m)]
        np.testing.assert_allclose(found.values[row], expected, atol=1e-9)
        assert (found.values[row, o] == values[row, o]).all()
        F = found.spread.loadings[groups.square[row] : groups.square[row + 1]].reshape(len(m), len(m))
        noise = found.spread.noise[groups.begin[row] : groups.begin[row + 1]]
        np.testing.assert_allclose(F @ np.diag(noise) @ F.T, inner, atol=1e-9)
        assert abs(np.linalg.det(F)) == pytest.approx(1.0)
        np.testing.assert_allclose(found.spread.variances[row, m], np.diag(inner), atol=1e-9)
        assert (found.spread.variances[row, o] == 0).all()
        log = stats.multivariate_normal.logpdf(values[row, o], mean[o], sigma[np.ix_(o, o)]) if len(o) else 0.0
        assert found.log_density[row] == pytest.approx(log, abs=1e-8)
        peak = stats.multivariate_normal.logpdf(np.zeros(len(m)), np.zeros(len(m)), inner) if len(m) else 0.0
        assert found.spread.log_peaks[0][row] == pytest.approx(peak, abs=1e-8)
    assert not found.exact.any()
    assert not found.spread.log_peaks[1].any()


def test_a_missing_parent_is_regressed_on_its_child():
    """By hand: Var y = 17, Cov = 8, E y = 2.5."""
    net = ss.BayesNet(
        ss.LinearGaussian(X, 1.0, covariance=4.0),
        ss.LinearGaussian(Y, 0.5, coefficients=2.0, covariance=1.0, given=X),
    )
    found = completed(net, np.array([[np.nan, 6.5], [np.nan, np.nan]]), np.zeros((2, 0), np.int64))
    np.testing.assert_allclose(found.values, [[1.0 + 8 / 17 * 4.0, 6.5], [1.0, 2.5]])
    np.testing.assert_allclose(found.spread.variances, [[4 - 64 / 17, 0], [4, 17]], atol=1e-12)
    np.testing.assert_allclose(found.log_density, [-0.5 * (np.log(2 * np.pi * 17) + 16 / 17), 0.0])
    np.testing.assert_allclose(found.spread.log_peaks[0][0], -0.5 * np.log(2 * np.pi * (4 - 64 / 17)))


def test_groups_share_what_they_leave_open():
    net = random_net(np.random.default_rng(0))
    coordinates = Coordinates.of(net.problem())
    values = np.array([[1.0, np.nan, 2.0], [3.0, np.nan, 4.0], [np.nan, 1.0, 1.0]])
    missing = np.array([[False, True, False], [True, False, False]])
    groups = Groups.of(coordinates, ~missing, missing, np.array([[0, 2], [1, 0]]))
    found = CompletedRows.of(coordinates, groups, values, np.array([0, 0, 1]))
    alone = completed(net, values, np.array([[0, 2], [0, 2], [1, 0]]))
    np.testing.assert_allclose(found.values, alone.values)
    np.testing.assert_allclose(found.log_density, alone.log_density)
    assert len(found.spread.noise) == 2


def test_coordinates_that_nobody_asks_for_are_left_alone():
    net = random_net(np.random.default_rng(0))
    coordinates = Coordinates.of(net.problem())
    values = np.array([[np.nan, 1.0, np.nan]])
    found, missing = np.array([[False, True, False]]), np.array([[True, False, False]])
    groups = Groups.of(coordinates, found, missing, np.array([[1, 0]]))
    short = CompletedRows.of(coordinates, groups, values, np.zeros(1, np.int64))
    whole = completed(net, values, np.array([[1, 0]]))
    assert short.log_density == pytest.approx(whole.log_density)
    assert short.values[0, 0] == pytest.approx(whole.values[0, 0])
    assert np.isnan(short.values[0, 2])


def test_draws_of_what_is_missing():
    net = random_net(np.random.default_rng(4))
    values, count = np.array([[np.nan, 0.5, np.nan]]), 40_000
    found = completed(net, values, np.array([[1, 2]]))
    drawn = found.drawn(np.zeros(count, np.int64), np.random.default_rng(0))
    mean, sigma = dense(net, 1, 2)
    gain = sigma[[0, 2], 1] / sigma[1, 1]
    expected = mean[[0, 2]] + gain * (0.5 - mean[1])
    rest = sigma[np.ix_([0, 2], [0, 2])] - np.outer(gain, sigma[1, [0, 2]])
    spread = np.sqrt(np.diag(rest))
    assert (drawn[:, 1] == 0.5).all()
    assert (np.abs(drawn[:, [0, 2]].mean(axis=0) - expected) <= 5 * spread / np.sqrt(count)).all()
    apart = np.abs(np.cov(drawn[:, [0, 2]].T) - rest)
    assert (apart <= 5 * np.sqrt(2 / count) * np.outer(spread, spread)).all()


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_expected_products(seed):
    rng = np.random.default_rng(seed)
    net = random_net(rng)
    coordinates = Coordinates.of(net.problem())
    values = rng.normal(size=(9, 3))
    values[rng.random(values.shape) < 0.5] = np.nan
    contexts = np.stack([rng.integers(2, size=9), rng.integers(3, size=9)], axis=1)
    weights = rng.random(9) * (rng.random(9) < 0.8)
    moments = np.zeros(int(coordinates.layout[2][-1]))
    completed(net, values, contexts).add_moments(coordinates, weights, moments)
    found = coordinates.split(moments)
    expected = {2: np.zeros((2, 2, 2)), 3: np.zeros((1, 3, 3)), 4: np.zeros((6, 4, 4))}
    for row in range(9):
        mean, sigma = dense(net, *contexts[row])
        m, o = (np.flatnonzero(np.isnan(values[row]) == flag) for flag in (True, False))
        gain = sigma[np.ix_(m, o)] @ np.linalg.inv(sigma[np.ix_(o, o)])
        full, spread = values[row].copy(), np.zeros((3, 3))
        full[m] = mean[m] + gain @ (values[row, o] - mean[o])
        spread[np.ix_(m, m)] = sigma[np.ix_(m, m)] - gain @ sigma[np.ix_(o, m)]
        d, e = contexts[row]
        for v, at, entry in ((2, [0], d), (3, [0, 1], 0), (4, [0, 1, 2], 3 * d + e)):
            z = np.array([1.0, *full[at]])
            product = np.outer(z, z)
            product[1:, 1:] += spread[np.ix_(at, at)]
            expected[v][entry] += weights[row] * product
    for v, products in expected.items():
        np.testing.assert_allclose(found[v], products, atol=1e-9)


def test_relations_without_noise():
    """y = 2 x + 1 exactly: y found says x; x and y found agree or not; y missing has no variance left."""
    net = ss.BayesNet(
        ss.LinearGaussian(X, 0.0, covariance=1.0),
        ss.LinearGaussian(Y, 1.0, coefficients=2.0, covariance=0.0, given=X),
    )
    values = np.array([[np.nan, 2.0], [0.5, 2.0], [0.5, 2.1], [0.5, np.nan], [np.nan, np.nan]])
    found = completed(net, values, np.zeros((5, 0), np.int64))
    np.testing.assert_allclose(found.values[[0, 3, 4]], [[0.5, 2.0], [0.5, 2.0], [0.0, 1.0]])
    density = stats.norm.logpdf(0.5)
    np.testing.assert_allclose(found.log_density, [stats.norm(1.0, 2.0).logpdf(2.0), density, -np.inf, density, 0.0])
    assert found.exact.tolist() == [0, 1, 1, 0, 0]
    np.testing.assert_allclose(found.spread.variances, [[0, 0], [0, 0], [0, 0], [0, 0], [1, 4]], atol=1e-15)
    logs, certain = found.spread.log_peaks
    assert certain.tolist() == [1, 0, 0, 1, 1]
    np.testing.assert_allclose(logs, [0.0, 0.0, 0.0, 0.0, stats.norm.logpdf(0.0)])


def test_nothing_missing_and_no_rows():
    net = random_net(np.random.default_rng(0))
    coordinates = Coordinates.of(net.problem())
    nothing = np.zeros((0, 3), np.bool_)
    groups = Groups.of(coordinates, nothing, nothing, np.zeros((0, 2), np.int64))
    assert not len(Spread.of(coordinates, groups).noise)
    empty = CompletedRows.of(coordinates, groups, np.zeros((0, 3)), np.zeros(0, np.int64))
    assert empty.values.shape == (0, 3)
    whole = completed(net, np.ones((2, 3)), np.zeros((2, 2), np.int64))
    assert (whole.values == 1.0).all()
    assert not whole.spread.variances.any()


def test_sums_that_cancel_keep_their_digits():
    """x - y is known through a third number alone: what is left of their loadings has a few digits in floats."""
    lines = [
        Line((), (), 1e4, 1e6),
        Line((0,), (1.0 + 1e-11,), 3.0, 0.0),
        Line((0, 1), (1.0, -1.0), 0.5, 1e-14),
        Line((0,), (1.0,), 0.0, 4.0),
    ]
    coordinates, found = Coordinates.of(network(lines).problem()), {2: -2.5 - 1e-7, 3: 1.1e4}
    values = np.full((1, 4), np.nan)
    for place, value in found.items():
        values[0, coordinates.column(place)] = value
    groups = Groups.of(coordinates, ~np.isnan(values), np.isnan(values), np.zeros((1, 0), np.int64))
    made = CompletedRows.of(coordinates, groups, values, np.zeros(1, np.int64))
    expected = joint_of(lines).given(2, found[2]).given(3, found[3])
    assert made.log_density[0] == pytest.approx(expected.log_density, rel=1e-12)
    first = coordinates.column(0)
    assert made.values[0, first] == pytest.approx(float(expected.mean[0]), rel=1e-14)
    assert made.spread.variances[0, first] == pytest.approx(float(expected.covariance[0][0]), rel=1e-12)
    assert made.loss[0] < 1e-12


def test_canceled_sweeps_end_at_once(monkeypatch):
    """A flag that is set before the start leaves everything as it was, and only long sweeps leave this thread."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(4, 3))
    values[:, 0] = np.nan
    short = []

    def canceled(task, *, is_short):
        short.append(is_short)
        return task(np.ones(1, np.uint8))

    monkeypatch.setattr(conditioning, "interruptible", canceled)
    found = completed(random_net(rng), values, np.zeros((4, 2), np.int64))
    assert not found.spread.noise.any()
    assert not found.log_density.any()
    assert short == [True, True]
    monkeypatch.setattr(conditioning, "UNINTERRUPTED", 1)
    completed(random_net(rng), values, np.zeros((4, 2), np.int64))
    assert short == [True, True, False, False]
