"""The hidden numbers of one part: moments, largest densities and draws, against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

import oracle
import sepset as ss
from sepset.inference import costs
from sepset.inference.gaussian.components import components
from sepset.inference.gaussian.coordinates import Coordinates
from sepset.inference.hybrid.posteriors import Posterior
from support.blocks import in_blocks
from support.random_gaussians import linear_net
from support.tolerances import CLOSE, STANDARD_ERRORS


def case(seed, num=6):
    """A posterior of all numbers given one, and its dense mean and covariance, both by coordinate."""
    rng = np.random.default_rng(seed)
    nodes = oracle.random_linear_gaussian(rng, num)
    net = linear_net(nodes)
    coordinates = Coordinates.of(net.problem())
    index, mean, covariance = oracle.dense_gaussian(nodes)
    place = {coordinates.column(net.variables.id(name)): i[0] for name, i in index.items()}
    order = [place[c] for c in range(num)]
    mean, covariance = mean[order], covariance[np.ix_(order, order)]
    seen = int(rng.integers(num))
    parts = components(coordinates, range(num), [seen], {})
    rest, after, spread = oracle.condition_gaussian(mean, covariance, [seen], [0.7])
    return (
        [Posterior.of(part, {seen: 0.7}) for part in parts],
        rest,
        after,
        spread,
        (mean[seen], covariance[seen, seen]),
    )


@in_blocks("seed", range(20))
def test_moments_and_peaks_are_dense_ones(seed):
    posteriors, rest, mean, covariance, (center, variance) = case(seed)
    total = 0.0
    for posterior in posteriors:
        total += float(posterior.log_density[0])
        own = posterior.component.hidden
        at = [rest.index(int(i)) for i in own]
        np.testing.assert_allclose(posterior.means(own)[0], mean[at], atol=CLOSE)
        np.testing.assert_allclose(posterior.covariances(own)[0], covariance[np.ix_(at, at)], atol=CLOSE)
        np.testing.assert_allclose(posterior.variances[0], np.diag(covariance)[at], atol=CLOSE)
        for i, place in zip(own.tolist(), at, strict=True):
            assert [float(x[0]) for x in posterior.single(i)] == pytest.approx([mean[place], covariance[place, place]])
        vector = np.linspace(-1.0, 2.0, len(own))
        products = posterior.products(np.zeros(1, np.int64), vector)[0]
        np.testing.assert_allclose(products, covariance[np.ix_(at, at)] @ vector, atol=CLOSE)
        for some in (own, own[::2]):
            if len(some):
                inner = covariance[np.ix_([rest.index(int(i)) for i in some], [rest.index(int(i)) for i in some])]
                log, certain = posterior.log_peaks(some)
                assert log[0] == pytest.approx(-0.5 * np.linalg.slogdet(2 * np.pi * inner)[1], abs=CLOSE)
                assert certain[0] == 0
    assert total == pytest.approx(oracle.gaussian_log_density([0.7], np.array([center]), np.array([[variance]])))


def test_states_in_pieces_are_states_at_once(monkeypatch):
    c = ss.Discrete("c", 7)
    x, y = ss.Real("x"), ss.Real("y")
    net = ss.BayesNet(
        ss.TableCPD(c, np.full(7, 1 / 7)),
        ss.LinearGaussian(x, np.arange(7.0), covariance=np.arange(1.0, 8.0), by=c),
        ss.LinearGaussian(y, 0.0, coefficients=2.0, covariance=1.0, given=x),
    )
    coordinates = Coordinates.of(net.problem())
    at = [coordinates.column(net.variables.id(name)) for name in "xy"]

    def found():
        (part,) = components(coordinates, at[:1], at[1:], {})
        posterior = Posterior.of(part, {at[1]: 3.0})
        own = part.hidden
        peaks = posterior.log_peaks(own)[0]
        return posterior.log_density, posterior.means(own), posterior.covariances(own), posterior.variances, peaks

    whole = found()
    monkeypatch.setattr(costs, "GAIN_ENTRIES_CACHED", 0)
    monkeypatch.setattr(costs, "GAIN_ENTRIES_AT_ONCE", 6)
    for a, b in zip(whole, found(), strict=True):
        np.testing.assert_array_equal(a, b)
    expected = 1 / (1 / np.arange(1.0, 8.0) + 4.0)
    np.testing.assert_allclose(whole[3][:, 0], expected, rtol=CLOSE)


def test_draws_have_the_moments():
    posteriors, rest, mean, covariance, _ = case(3)
    for posterior in posteriors:
        own = posterior.component.hidden
        at = [rest.index(int(i)) for i in own]
        rows = posterior.draws(np.zeros(4000, np.int64), np.random.default_rng(0))
        spread = np.sqrt(np.diag(covariance)[at])
        assert (np.abs(rows.mean(axis=0) - mean[at]) < STANDARD_ERRORS * spread / np.sqrt(4000)).all()
        if len(at):
            np.testing.assert_allclose(
                np.atleast_2d(np.cov(rows.T)) / np.outer(spread, spread),
                covariance[np.ix_(at, at)] / np.outer(spread, spread),
                atol=0.15,
            )
