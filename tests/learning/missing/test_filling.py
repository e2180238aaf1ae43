"""Completions against enumeration of the posterior, and against dense Gaussian regression."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import oracle
import sepset as ss
from sepset.inference.evidencerows import Workers
from sepset.learning.missing.filling import Cells, completed
from support.random_models import structured_net, table_net
from support.strategies import plain_factors
from support.tolerances import TIE


def holes(rng, net, num_rows, share=0.5):
    """Possible rows with holes, so that no row has probability zero."""
    codes = net.sample(num_rows, rng).matrix().astype(np.int32)
    codes[rng.random(codes.shape) < share] = -1
    return Cells(tuple(range(len(net.variables))), codes, (), np.zeros((num_rows, 0)))


def posterior(joint, row):
    """The joint with the observed axes fixed, all others kept."""
    part = joint[tuple(slice(None) if c < 0 else slice(c, c + 1) for c in row)]
    return part / part.sum()


def run(net, cells, kind, seed=0, wanted=None):
    everyone = range(len(net.variables)) if wanted is None else wanted
    return completed(net.problem(), cells, list(everyone), kind, np.random.default_rng(seed), Workers(1))


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=30, deadline=None)
def test_modes_and_most_probable_completions(seed, structured):
    rng = np.random.default_rng(seed)
    case = structured_net(rng) if structured else table_net(rng)
    net = case.model
    joint = oracle.joint(case.factors, case.cards)
    assert list(case.cards) == list(net.variables.names)
    cells = holes(rng, net, 12)
    modes, best = run(net, cells, "mode"), run(net, cells, "map")
    for row in range(12):
        part = posterior(joint, cells.codes[row])
        at = tuple(np.where(cells.codes[row] < 0, best.codes[row], 0))
        assert np.log(part[at]) >= np.log(part.max()) - TIE
        for v in range(len(net.variables)):
            if cells.codes[row, v] >= 0:
                assert modes.codes[row, v] == best.codes[row, v] == cells.codes[row, v]
            else:
                marginal = part.sum(axis=tuple(i for i in range(part.ndim) if i != v))
                assert marginal[modes.codes[row, v]] >= marginal.max() - TIE


def test_completions_of_one_row_do_not_depend_on_the_others():
    rng = np.random.default_rng(5)
    net = table_net(rng).model
    cells = holes(rng, net, 30)
    together = run(net, cells, "map").codes
    for row in range(30):
        alone = run(net, replace(cells, codes=cells.codes[row : row + 1], reals=cells.reals[:1]), "map").codes
        assert (alone == together[row]).all()


def test_draws_have_the_joint_posterior():
    """Frequencies of joint completions of one row, over many copies, within five standard errors of enumeration."""
    rng = np.random.default_rng(2)
    a, b, c = ss.Discrete("a", 2), ss.Discrete("b", 3), ss.Discrete("c", 2)
    net = ss.BayesNet(
        ss.TableCPD(a, [0.3, 0.7]),
        ss.TableCPD(b, rng.dirichlet(np.ones(3), 2), given=a),
        ss.TableCPD(c, [[[0.9, 0.1], [0.5, 0.5], [0.0, 1.0]], [[0.2, 0.8], [1.0, 0.0], [0.6, 0.4]]], given=(a, b)),
    )
    factors, cards = plain_factors(net)
    joint = oracle.joint(factors, cards)
    count = 20_000
    for row in ([-1, -1, 1], [-1, 1, -1], [-1, -1, -1]):
        cells = Cells((0, 1, 2), np.array([row], np.int32), (), np.zeros((1, 0))).repeated(count)
        drawn = run(net, cells, "draw", seed=1).codes
        part = posterior(joint, row)
        found = np.zeros(joint.shape)
        np.add.at(found, tuple(drawn.T), 1.0 / count)
        expected = np.zeros(joint.shape)
        expected[tuple(slice(None) if x < 0 else slice(x, x + 1) for x in row)] = part
        error = 5 * np.sqrt(expected * (1 - expected) / count)
        assert (np.abs(found - expected) <= error + 1e-12).all()


def gaussian_net(rng):
    x, y, z = (ss.Real(n) for n in "xyz")
    return ss.BayesNet(
        ss.LinearGaussian(x, 1.0, covariance=2.0),
        ss.LinearGaussian(y, -1.0, coefficients=0.8, covariance=0.5, given=x),
        ss.LinearGaussian(z, 0.5, coefficients=[[1.0, -2.0]], covariance=1.5, given=(x, y)),
    )


def dense_moments(net):
    """Mean and covariance by propagating x = a + B x + noise: (I - B)^-1."""
    A = np.array([[0, 0, 0], [0.8, 0, 0], [1.0, -2.0, 0]])
    inverse = np.linalg.inv(np.eye(3) - A)
    return inverse @ np.array([1.0, -1.0, 0.5]), inverse @ np.diag([2.0, 0.5, 1.5]) @ inverse.T


@pytest.mark.parametrize("kind", ["mean", "mode", "map"])
def test_gaussian_rows_are_regressions(kind):
    rng = np.random.default_rng(0)
    net = gaussian_net(rng)
    mean, covariance = dense_moments(net)
    values = rng.standard_normal((40, 3)) * 2
    values[rng.random(values.shape) < 0.5] = np.nan
    cells = Cells((), np.zeros((40, 0), np.int32), (0, 1, 2), values)
    found = run(net, cells, kind).reals
    for row, filled in zip(values, found, strict=True):
        seen, hidden = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
        gain = covariance[np.ix_(hidden, seen)] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
        assert filled[seen] == pytest.approx(row[seen], abs=0)
        assert filled[hidden] == pytest.approx(mean[hidden] + gain @ (row[seen] - mean[seen]), abs=1e-9)


def test_gaussian_draws_have_the_posterior_moments():
    net = gaussian_net(np.random.default_rng(0))
    mean, covariance = dense_moments(net)
    count = 20_000
    cells = Cells((), np.zeros((1, 0), np.int32), (0, 1, 2), np.array([[np.nan, 0.5, np.nan]])).repeated(count)
    drawn = run(net, cells, "draw", seed=3).reals
    gain = covariance[[0, 2], 1] / covariance[1, 1]
    expected = mean[[0, 2]] + gain * (0.5 - mean[1])
    rest = covariance[np.ix_([0, 2], [0, 2])] - np.outer(gain, covariance[1, [0, 2]])
    assert (drawn[:, 1] == 0.5).all()
    assert drawn[:, [0, 2]].mean(axis=0) == pytest.approx(expected, abs=5 * np.sqrt(rest.max() / count))
    assert np.cov(drawn[:, [0, 2]].T) == pytest.approx(rest, abs=0.1)


def hybrid_net():
    d, x, y = ss.Discrete("d", 2), ss.Real("x"), ss.Real("y")
    return ss.BayesNet(
        ss.TableCPD(d, [0.3, 0.7]),
        ss.LinearGaussian(x, [-2.0, 2.0], covariance=[1.0, 0.5], by=d),
        ss.LinearGaussian(y, 0.5, coefficients=1.5, covariance=0.25, given=x),
    )


def test_hybrid_rows():
    from scipy.stats import norm

    net = hybrid_net()
    codes = np.array([[-1], [-1], [1], [0]], np.int32)
    reals = np.array([[1.0, np.nan], [np.nan, np.nan], [np.nan, 4.0], [np.nan, np.nan]])
    cells = Cells((0,), codes, (1, 2), reals)
    found = run(net, cells, "mean")
    weight = np.array([0.3 * norm(-2, 1).pdf(1.0), 0.7 * norm(2, np.sqrt(0.5)).pdf(1.0)])
    assert found.codes[:, 0].tolist() == [int(weight.argmax()), 1, 1, 0]
    assert found.reals[0, 1] == pytest.approx(0.5 + 1.5 * 1.0)
    assert found.reals[1, 0] == pytest.approx(0.3 * -2 + 0.7 * 2)
    gain = 0.5 * 1.5 / (0.5 * 1.5**2 + 0.25)
    assert found.reals[2, 0] == pytest.approx(2.0 + gain * (4.0 - 3.5))
    assert found.reals[3].tolist() == pytest.approx([-2.0, -2.5])
    best = run(net, cells, "map")
    assert best.reals[3].tolist() == pytest.approx([-2.0, -2.5])
    drawn = run(net, cells.repeated(2000), "draw", seed=1)
    assert not np.isnan(drawn.reals).any()
    assert drawn.codes[1::4, 0].mean() == pytest.approx(0.7, abs=5 * np.sqrt(0.21 / 2000))
    assert drawn.reals[3::4, 0].mean() == pytest.approx(-2.0, abs=5 / np.sqrt(2000))
    assert len(np.unique(drawn.reals[3::4, 0])) == 2000


def test_only_what_is_wanted():
    net = hybrid_net()
    cells = Cells((0,), np.array([[-1]], np.int32), (1, 2), np.array([[np.nan, 1.0]]))
    found = run(net, cells, "mean", wanted=[1])
    assert found.codes[0, 0] == -1
    assert not np.isnan(found.reals[0, 0])
    pure = gaussian_net(None)
    cells = Cells((), np.zeros((1, 0), np.int32), (0, 1, 2), np.array([[np.nan, 1.0, np.nan]]))
    assert np.isnan(run(pure, cells, "mean", wanted=[0]).reals[0]).tolist() == [False, False, True]


@pytest.mark.parametrize("kind", ["mode", "map", "draw"])
def test_impossible_rows_are_named(kind):
    a, b, c = (ss.Discrete(n) for n in "abc")
    net = ss.BayesNet(
        ss.TableCPD(a, [0.5, 0.5]), ss.TableCPD(b, [[1.0, 0.0], [0.0, 1.0]], given=a), ss.TableCPD(c, [0.5, 0.5])
    )
    cells = Cells((0, 1, 2), np.array([[0, 0, -1], [0, 1, -1]], np.int32), (), np.zeros((2, 0)))
    with pytest.raises(ss.ImpossibleEvidence, match="rows 1"):
        run(net, cells, kind)
