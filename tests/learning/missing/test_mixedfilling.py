"""Mixed rows filled together, against enumeration with scipy's normals and against one question a row."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

import sepset as ss
from sepset.inference.evidencerows import Workers
from sepset.learning.missing import mixedfilling
from sepset.learning.missing.filling import Cells, completed
from sepset.learning.missing.mixedfilling import fill_mixed, is_mixed

D, E, X, Y = ss.Discrete("d", 2), ss.Discrete("e", 3), ss.Real("x"), ss.Real("y")


def network(rng):
    """d -> e, (d, e) -> x, (e, x) -> y, with random numbers; some states of e are impossible."""
    rows = rng.dirichlet(np.ones(3), 2)
    if rng.random() < 0.5:
        rows[0] = [0.4, 0.0, 0.6]
    return ss.BayesNet(
        ss.TableCPD(D, rng.dirichlet([1, 1])),
        ss.TableCPD(E, rows, given=D),
        ss.LinearGaussian(X, 2 * rng.standard_normal((2, 3)), covariance=rng.uniform(0.3, 2, (2, 3)), by=(D, E)),
        ss.LinearGaussian(
            Y,
            rng.standard_normal(3),
            coefficients=rng.standard_normal((3, 1, 1)),
            covariance=rng.uniform(0.3, 2, 3),
            given=X,
            by=E,
        ),
    )


def holes(rng, net, num_rows, share=0.5):
    drawn = net.sample(num_rows, rng)
    codes = np.stack([drawn.codes("d"), drawn.codes("e")], axis=1).astype(np.int32)
    reals = np.stack([drawn.values("x"), drawn.values("y")], axis=1)
    codes[rng.random(codes.shape) < share] = -1
    reals[rng.random(reals.shape) < share] = np.nan
    return Cells((0, 1), codes, (2, 3), reals)


def choices(net, codes, reals):
    """Each joint state with its probability, and the mean and covariance of the missing numbers given it."""
    found = []
    for d, e in itertools.product(range(2), range(3)):
        if any(c not in (-1, s) for c, s in zip(codes, (d, e), strict=True)):
            continue
        p = net.cpd("d").values[d] * net.cpd("e").values[d, e]
        a, s = net.cpd("x").intercept.reshape(2, 3)[d, e], net.cpd("x").covariance.reshape(2, 3)[d, e]
        b, w, t = net.cpd("y").intercept[e, 0], net.cpd("y").coefficients[e, 0, 0], net.cpd("y").covariance[e, 0, 0]
        mean, cov = np.array([a, b + w * a]), np.array([[s, w * s], [w * s, w * w * s + t]])
        o, m = np.flatnonzero(~np.isnan(reals)), np.flatnonzero(np.isnan(reals))
        if len(o):
            p *= stats.multivariate_normal(mean[o], cov[np.ix_(o, o)]).pdf(reals[o])
        gain = cov[np.ix_(m, o)] @ np.linalg.inv(cov[np.ix_(o, o)])
        rest = cov[np.ix_(m, m)] - gain @ cov[np.ix_(o, m)]
        found.append(((d, e), p, mean[m] + gain @ (reals[o] - mean[o]), rest))
    total = sum(p for _, p, _, _ in found)
    return [(states, p / total, mean, rest) for states, p, mean, rest in found]


def filled(net, cells, kind, seed=0, wanted=(0, 1, 2, 3)):
    copy = cells.repeated(1)
    left = fill_mixed(net, copy, wanted, kind, np.random.default_rng(seed))
    return copy, left


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_means_and_most_probable_completions(seed):
    rng = np.random.default_rng(seed)
    net = network(rng)
    cells = holes(rng, net, 8)
    means, left = filled(net, cells, "mean")
    assert not len(left)
    best, _ = filled(net, cells, "map")
    for row in range(len(cells)):
        codes, reals = cells.codes[row], cells.reals[row]
        every, hidden = choices(net, codes, reals), np.isnan(reals)
        for place in range(2):
            mass = [sum(p for s, p, _, _ in every if s[place] == state) for state in range((2, 3)[place])]
            assert mass[means.codes[row, place]] >= max(mass) - 1e-9
        expected = sum((p * mean for _, p, mean, _ in every), np.zeros(hidden.sum()))
        assert means.reals[row, hidden] == pytest.approx(expected, abs=1e-8)
        assert (means.reals[row, ~hidden] == reals[~hidden]).all()
        peaks = {s: p / np.sqrt(np.linalg.det(2 * np.pi * rest)) for s, p, _, rest in every}
        chosen = tuple(best.codes[row].tolist())
        assert peaks[chosen] >= max(peaks.values()) * (1 - 1e-9)
        there = next(mean for s, _, mean, _ in every if s == chosen)
        assert best.reals[row, hidden] == pytest.approx(there, abs=1e-8)


def test_draws_have_the_joint_posterior():
    """Frequencies of states, and moments of numbers given them, within five standard errors."""
    net, count = network(np.random.default_rng(4)), 30_000
    cells = Cells((0, 1), np.array([[-1, -1]], np.int32), (2, 3), np.array([[np.nan, 0.7]])).repeated(count)
    drawn, left = filled(net, cells, "draw", seed=1)
    assert not len(left)
    assert (drawn.reals[:, 1] == 0.7).all()
    for states, p, mean, rest in choices(net, [-1, -1], np.array([np.nan, 0.7])):
        same = (drawn.codes == states).all(axis=1)
        assert abs(same.mean() - p) <= 5 * np.sqrt(p * (1 - p) / count) + 1e-12
        if same.sum() > 500:
            values = drawn.reals[same, 0]
            assert values.mean() == pytest.approx(mean[0], abs=5 * np.sqrt(rest[0, 0] / same.sum()))
            assert values.var() == pytest.approx(rest[0, 0], rel=5 * np.sqrt(2 / same.sum()))


@pytest.mark.parametrize("kind", ["mean", "map", "mode"])
def test_the_same_as_one_question_a_row(kind):
    rng = np.random.default_rng(8)
    net = network(rng)
    cells = holes(rng, net, 25)
    together, left = filled(net, cells, kind)
    alone = completed(net.problem(), cells, [0, 1, 2, 3], kind, rng, Workers(1))
    done = np.setdiff1d(np.arange(25), left)
    assert (together.codes[done] == alone.codes[done]).all()
    assert together.reals[done] == pytest.approx(alone.reals[done], abs=1e-8)
    assert (len(left) > 0) == (kind == "mode")


def test_rows_that_are_left_are_answered_all_the_same(monkeypatch):
    rng = np.random.default_rng(9)
    net = network(rng)
    data = ss.mask(net.sample(40, 1), ss.MCAR(0.4), seed=2)
    whole = ss.impute(net, data, kind="mean")
    monkeypatch.setattr(mixedfilling, "FEW", 1)
    parts = ss.impute(net, data, kind="mean")
    assert whole.is_complete
    assert parts.is_complete
    assert whole.values("y") == pytest.approx(parts.values("y"), abs=1e-8)


def test_only_what_is_wanted_is_filled():
    net = network(np.random.default_rng(1))
    cells = Cells((0, 1), np.array([[-1, -1]], np.int32), (2, 3), np.array([[np.nan, np.nan]]))
    found, _ = filled(net, cells, "map", wanted=(1, 3))
    assert found.codes[0, 0] == -1 <= found.codes[0, 1]
    assert np.isnan(found.reals[0]).tolist() == [True, False]


def test_impossible_rows_are_named_once_whatever_the_copies():
    net = ss.BayesNet(ss.TableCPD(D, [1.0, 0.0]), ss.LinearGaussian(X, [0.0, 1.0], covariance=1.0, by=D))
    rows = {"d": [0, 0, 1], "x": [0.5, 1.5, None]}
    with pytest.raises(ss.ImpossibleEvidence, match="rows 2, counted from 0"):
        ss.impute(net, rows, kind="draw", copies=3)
    coin = ss.BayesNet(ss.TableCPD(D, [1.0, 0.0]), ss.TableCPD(E, np.full(3, 1 / 3)))
    with pytest.raises(ss.ImpossibleEvidence, match="1 of 3 rows have holes and probability zero: rows 2, counted"):
        ss.impute(coin, {"d": [0, 0, 1], "e": [1, 2, None]}, kind="draw", copies=3)


def test_which_networks_are_mixed():
    assert is_mixed(network(np.random.default_rng(0)))
    assert not is_mixed(ss.BayesNet(ss.TableCPD(D, [0.5, 0.5])))
    assert not is_mixed(ss.BayesNet(ss.LinearGaussian(X, covariance=1.0)))
    assert not is_mixed("net")


def test_draws_of_rows_that_miss_different_numbers():
    """Rows of several patterns are drawn together; each has its own joint posterior, by five standard errors."""
    net, count = network(np.random.default_rng(5)), 12_000
    codes = np.array([[-1, -1], [-1, 1], [0, -1], [-1, -1]], np.int32)
    reals = np.array([[np.nan, 0.7], [np.nan, np.nan], [0.4, np.nan], [-0.2, 0.3]])
    drawn, left = filled(net, Cells((0, 1), codes, (2, 3), reals).repeated(count), "draw", seed=3)
    assert not len(left)
    for row in range(4):
        own = np.arange(4 * count) % 4 == row
        there, hidden = drawn.reals[own], np.isnan(reals[row])
        assert (there[:, ~hidden] == reals[row][~hidden]).all()
        for states, p, mean, rest in choices(net, codes[row], reals[row]):
            same = (drawn.codes[own] == states).all(axis=1)
            assert abs(same.mean() - p) <= 5 * np.sqrt(p * (1 - p) / count) + 1e-12
            if same.sum() > 500 and hidden.any():
                values, error = there[same][:, hidden], 5 / np.sqrt(same.sum())
                spread = np.sqrt(np.diag(rest))
                assert (np.abs(values.mean(axis=0) - mean) <= error * spread).all()
                apart = np.cov(values.T).reshape(rest.shape) - rest
                assert (np.abs(apart) <= error * np.sqrt(2) * np.outer(spread, spread)).all()


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_modes_against_enumeration(seed):
    rng = np.random.default_rng(seed)
    net = network(rng)
    cells = holes(rng, net, 8)
    modes, left = filled(net, cells, "mode")
    for row in np.setdiff1d(np.arange(len(cells)), left):
        every, hidden = choices(net, cells.codes[row], cells.reals[row]), np.isnan(cells.reals[row])
        for place in range(2):
            mass = [sum(p for s, p, _, _ in every if s[place] == state) for state in range((2, 3)[place])]
            assert mass[modes.codes[row, place]] >= max(mass) - 1e-9
        if hidden.any():
            ((_, _, mean, _),) = every
            assert modes.reals[row, hidden] == pytest.approx(mean, abs=1e-8)


@pytest.mark.parametrize("kind", ["mode", "mean", "map", "draw"])
def test_lines_that_leave_nothing_over(kind):
    """Without noise there is no precision matrix; such rows are filled all the same, pattern by pattern."""
    net = ss.BayesNet(
        ss.TableCPD(D, [0.5, 0.5]),
        ss.LinearGaussian(X, [0.0, 4.0], covariance=1.0, by=D),
        ss.LinearGaussian(Y, 1.0, coefficients=2.0, covariance=0.0, given=X),
    )
    data = {"d": [0, 1, 0], "x": [0.5, None, 0.25], "y": [None, 7.0, 1.5]}
    found = ss.impute(net, data, kind=kind)
    assert found.values("y")[0] == pytest.approx(2.0)
    assert found.values("x")[1] == pytest.approx(3.0)
