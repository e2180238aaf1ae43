"""What rows miss, filled in: against enumeration of the posterior, dense Gaussians, and one question per row."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from numpy.testing import assert_allclose
from scipy import stats

import oracle
import sepset as ss
from sepset.inference import costs
from sepset.inference.cliquetree.method import CliqueTree
from sepset.inference.completion import (
    complete_one_by_one,
    complete_rows,
    draw_one_by_one,
    draw_rows,
    drawn,
    mean_rows,
    mode_rows,
    modes_one_by_one,
)
from sepset.inference.evidencerows import EvidenceRows, Workers
from sepset.inference.exact.bruteforce import BruteForce
from sepset.inference.method import CompletesRows, prepare
from support.blocks import in_blocks
from support.filled_rows import Cells, filled
from support.random_incomplete import completions, incomplete
from support.random_models import structured_net, table_net
from support.strategies import plain_factors
from support.tolerances import TIE

ONE = Workers(1)


def run(net, cells, kind, seed=0, wanted=None):
    return filled(net, cells, kind, seed, wanted)[0]


def holes(rng, net, num_rows, share=0.5):
    """Possible rows with holes, so that no row has probability zero."""
    codes = net.sample(num_rows, rng).matrix().astype(np.int32)
    codes[rng.random(codes.shape) < share] = -1
    return Cells(tuple(range(len(net.variables))), codes, (), np.zeros((num_rows, 0)))


def posterior(joint, row):
    """The joint with the observed axes fixed, all others kept."""
    part = joint[tuple(slice(None) if c < 0 else slice(c, c + 1) for c in row)]
    return part / part.sum()


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
    for row, full in zip(values, found, strict=True):
        seen, hidden = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
        gain = covariance[np.ix_(hidden, seen)] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
        assert full[seen] == pytest.approx(row[seen], abs=0)
        assert full[hidden] == pytest.approx(mean[hidden] + gain @ (row[seen] - mean[seen]), abs=1e-9)


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


def mixed_holes(rng, net, num_rows, share=0.5):
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
            p *= stats.multivariate_normal.pdf(reals[o], mean[o], cov[np.ix_(o, o)])
        gain = cov[np.ix_(m, o)] @ np.linalg.inv(cov[np.ix_(o, o)])
        rest = cov[np.ix_(m, m)] - gain @ cov[np.ix_(o, m)]
        found.append(((d, e), p, mean[m] + gain @ (reals[o] - mean[o]), rest))
    total = sum(p for _, p, _, _ in found)
    return [(states, p / total, mean, rest) for states, p, mean, rest in found]


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=40, deadline=None)
def test_means_and_most_probable_completions_of_mixed_rows(seed):
    rng = np.random.default_rng(seed)
    net = network(rng)
    cells = mixed_holes(rng, net, 8)
    means, best = run(net, cells, "mean"), run(net, cells, "map")
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


def test_draws_of_mixed_rows_have_the_joint_posterior():
    """Frequencies of states, and moments of numbers given them, within five standard errors."""
    net, count = network(np.random.default_rng(4)), 30_000
    cells = Cells((0, 1), np.array([[-1, -1]], np.int32), (2, 3), np.array([[np.nan, 0.7]])).repeated(count)
    drawn = run(net, cells, "draw", seed=1)
    assert (drawn.reals[:, 1] == 0.7).all()
    for states, p, mean, rest in choices(net, [-1, -1], np.array([np.nan, 0.7])):
        same = (drawn.codes == states).all(axis=1)
        assert abs(same.mean() - p) <= 5 * np.sqrt(p * (1 - p) / count) + 1e-12
        if same.sum() > 500:
            values = drawn.reals[same, 0]
            assert values.mean() == pytest.approx(mean[0], abs=5 * np.sqrt(rest[0, 0] / same.sum()))
            assert values.var() == pytest.approx(rest[0, 0], rel=5 * np.sqrt(2 / same.sum()))


@pytest.mark.parametrize("kind", ["mean", "map", "mode"])
def test_the_same_as_one_question_per_row(kind, monkeypatch):
    rng = np.random.default_rng(8)
    net = network(rng)
    cells = mixed_holes(rng, net, 25)
    together = run(net, cells, kind)
    monkeypatch.setattr(costs, "CONTEXTS_ENUMERATED_PER_ROW", 0)
    alone = run(net, cells, kind)
    assert (together.codes == alone.codes).all()
    assert together.reals == pytest.approx(alone.reals, abs=1e-6 if kind == "mode" else 1e-8)


def test_only_what_is_wanted_is_filled():
    net = network(np.random.default_rng(1))
    cells = Cells((0, 1), np.array([[-1, -1]], np.int32), (2, 3), np.array([[np.nan, np.nan]]))
    found = run(net, cells, "map", wanted=(1, 3))
    assert found.codes[0, 0] == -1 <= found.codes[0, 1]
    assert np.isnan(found.reals[0]).tolist() == [True, False]


def test_draws_of_rows_that_miss_different_numbers():
    """Rows of several patterns are drawn together; each has its own joint posterior, by five standard errors."""
    net, count = network(np.random.default_rng(5)), 12_000
    codes = np.array([[-1, -1], [-1, 1], [0, -1], [-1, -1]], np.int32)
    reals = np.array([[np.nan, 0.7], [np.nan, np.nan], [0.4, np.nan], [-0.2, 0.3]])
    drawn = run(net, Cells((0, 1), codes, (2, 3), reals).repeated(count), "draw", seed=3)
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
def test_modes_of_mixed_rows_against_enumeration(seed):
    rng = np.random.default_rng(seed)
    net = network(rng)
    cells = mixed_holes(rng, net, 8)
    modes = run(net, cells, "mode")
    for row in range(len(cells)):
        every, hidden = choices(net, cells.codes[row], cells.reals[row]), np.isnan(cells.reals[row])
        for place in range(2):
            mass = [sum(p for s, p, _, _ in every if s[place] == state) for state in range((2, 3)[place])]
            assert mass[modes.codes[row, place]] >= max(mass) - 1e-9
        if hidden.any() and len(every) == 1:
            ((_, _, mean, _),) = every
            assert modes.reals[row, hidden] == pytest.approx(mean, abs=1e-8)


@given(incomplete(num_rows=4))
@settings(max_examples=30)
def test_each_row_is_completed_by_its_most_probable_values(case):
    net, rows = case
    found, logs = complete_rows(CliqueTree().prepare(net.problem()), EvidenceRows.of(rows, net.variables), ONE)
    for i, row in enumerate(rows.rows()):
        assert_allclose(np.exp(logs[i]), max(p for _, p in completions(net, row)), rtol=1e-10)
        for place, variable in enumerate(net.variables):
            if row[variable.name] is not None:
                assert found.codes[i, place] == variable.code(row[variable.name])


def test_auxiliaries_are_summed_out_not_maximized():
    causes = [ss.Discrete(f"u{i}") for i in range(4)]
    x = ss.Discrete("x")
    cause = ss.NoisyOr(x, dict.fromkeys(causes, 0.7), leak=0.2)
    net = ss.BayesNet(*(ss.TableCPD(u, [0.6, 0.4]) for u in causes), cause)
    assert net.cpd("x").auxiliaries
    rows = ss.Dataset({"x": [1, 0, None], "u0": [None, 1, None]}, net.variables, missing_columns="allow")
    _, logs = complete_rows(CliqueTree().prepare(net.problem()), EvidenceRows.of(rows, net.variables), ONE)
    for log, row in zip(logs, rows.rows(), strict=True):
        assert_allclose(np.exp(log), max(p for _, p in completions(net, row)), rtol=1e-10)


def causes_of(number, *, leak):
    causes = [ss.Discrete(f"u{i}") for i in range(number)]
    cause = ss.NoisyOr(ss.Discrete("x"), {u: 0.9 - 0.8 * i / number for i, u in enumerate(causes)}, leak=leak)
    return ss.BayesNet(cause, *(ss.TableCPD(u, [0.6, 0.4]) for u in causes))


@pytest.mark.parametrize("missing", [1, 3, 8])
def test_rows_under_a_noisy_or_are_scored_or_maximized(missing):
    """By listing their completions up to 64 of them, else by maxima; both are those of enumeration."""
    net = causes_of(8, leak=0.05)
    rng = np.random.default_rng(missing)
    frame = net.sample(12, seed=missing).to_frame("pandas").astype(object)
    for row in range(0, 12, 2):
        frame.iloc[row, rng.permutation(9)[:missing]] = None
    dataset = ss.Dataset(frame, net.variables)
    rows = EvidenceRows.of(dataset, net.variables)
    for method in (CliqueTree(), BruteForce()):
        made, logs = complete_rows(prepare(method, net.problem()), rows, ONE)
        for i, row in enumerate(dataset.rows()):
            best = max(p for _, p in completions(net, row))
            assert_allclose(np.exp(logs[i]), best, rtol=1e-10)
            whole = {net.variables[v].name: int(made.codes[i, c]) for c, v in enumerate(made.positions)}
            assert all(whole[name] == state for name, state in row.items() if state is not None)
            assert_allclose(np.exp(net.log_probability({name: [code] for name, code in whole.items()})[0]), best)


def test_wide_rows_with_few_missing_cells_need_no_maximum(monkeypatch):
    net = causes_of(40, leak=0.0)
    prepared = prepare(CliqueTree(), net.problem())
    monkeypatch.setattr(type(prepared), "best", lambda *args: pytest.fail("a maximum was asked for"))
    codes = np.zeros((3, 41), np.int32)
    places = {v.name: i for i, v in enumerate(net.variables)}
    codes[:, places["x"]] = [1, 1, 0]
    codes[0, places["u0"]] = codes[0, places["u7"]] = -1  # one of them is on: the stronger one
    codes[2, places["u0"]] = 1
    codes[2, places["x"]] = -1
    made, logs = complete_rows(prepared, EvidenceRows(tuple(range(41)), codes), ONE)
    assert made.codes[0, [places["u0"], places["u7"]]].tolist() == [1, 0]
    assert_allclose(logs[0], 39 * np.log(0.6) + np.log(0.4 * 0.9))
    assert logs[1] == -np.inf  # on without a cause
    assert (made.codes[1] == codes[1]).all()
    assert made.codes[2, places["x"]] == 1
    assert_allclose(logs[2], 39 * np.log(0.6) + np.log(0.4 * 0.9))


@pytest.mark.parametrize("kind", ["mode", "mean", "map", "draw"])
def test_impossible_rows_stay_as_they_are(kind):
    a, b, c = (ss.Discrete(n) for n in "abc")
    net = ss.BayesNet(
        ss.TableCPD(a, [0.5, 0.5]), ss.TableCPD(b, [[1.0, 0.0], [0.0, 1.0]], given=a), ss.TableCPD(c, [0.5, 0.5])
    )
    cells = Cells((0, 1, 2), np.array([[0, 0, -1], [0, 1, -1]], np.int32), (), np.zeros((2, 0)))
    for method in (CliqueTree(), BruteForce()):
        found, logs = filled(net, cells, kind, prepared=method.prepare(net.problem()))
        assert (logs == -np.inf).tolist() == [False, True]
        assert found.codes[1].tolist() == [0, 1, -1]
        assert found.codes[0, 2] >= 0


@in_blocks("seed", range(6))
def test_methods_that_cannot_complete_rows_are_asked_one_by_one(seed):
    """The same modes, means and completions as by the capability; draws are possible completions."""
    rng = np.random.default_rng(seed)
    net = network(rng) if seed % 2 else table_net(rng).model
    cells = mixed_holes(rng, net, 6) if seed % 2 else holes(rng, net, 6)
    plain, able = BruteForce().prepare(net.problem()), CliqueTree().prepare(net.problem())
    assert isinstance(able, CompletesRows)
    assert not isinstance(plain, CompletesRows)
    for kind in ("mode", "mean", "map"):
        (one, log), (other, same) = (filled(net, cells, kind, prepared=p) for p in (plain, able))
        assert_allclose(log, same, atol=1e-8)
        if kind != "map" or seed % 2:
            assert (one.codes == other.codes).all()
        assert_allclose(one.reals, other.reals, atol=1e-6)
    found, log = filled(net, cells, "draw", prepared=plain)
    assert (found.codes >= 0).all()
    assert not np.isnan(found.reals).any()
    assert (log > -np.inf).all()
    rows, everyone = cells.evidence, range(len(net.variables))
    assert_allclose(complete_one_by_one(able, rows, ONE).log_value, complete_rows(able, rows, ONE).log_value, atol=1e-8)
    assert (draw_one_by_one(able, rows, everyone, rng, ONE).rows.codes >= 0).all()
    assert modes_one_by_one(able, rows, everyone, ONE).rows.codes.tolist() == other_codes(able, rows, everyone)


def other_codes(prepared, rows, targets):
    return mode_rows(prepared, rows, targets, ONE).rows.codes.tolist()


def test_a_gaussian_markov_network_is_one_regression_per_pattern():
    """Its joint distribution, whatever the factors; log partitions include the total."""
    net = gaussian_net(None)
    undirected = ss.MarkovNet(*(2.0 * f.canonical for f in net.problem().factors()))
    rng = np.random.default_rng(0)
    values = rng.standard_normal((30, 3)) * 2
    values[rng.random(values.shape) < 0.5] = np.nan
    cells = Cells((), np.zeros((30, 0), np.int32), (0, 1, 2), values)
    assert isinstance(CliqueTree().prepare(undirected.problem()), CompletesRows)
    for kind in ("mode", "mean", "map"):
        (one, log), (other, same) = filled(net, cells, kind), filled(undirected, cells, kind)
        assert_allclose(one.reals, other.reals, atol=1e-9)
        assert_allclose(same, log + 3 * np.log(2.0), atol=1e-9)


def test_draws_by_numbers_between_zero_and_one():
    chances = np.array([[0.2, 0.0, 0.8], [0.0, 1.0, 0.0], [0.5, 0.5, 0.0]])
    assert drawn(chances, np.array([0.199, 0.0, 0.9999999])).tolist() == [0, 1, 1]
    assert drawn(chances, np.array([0.2, 1.0 - 1e-16, 0.5])).tolist() == [2, 1, 1]


def test_no_rows():
    net = table_net(np.random.default_rng(0)).model
    num = len(net.variables)
    cells = Cells(tuple(range(num)), np.zeros((0, num), np.int32), (), np.zeros((0, 0)))
    for kind in ("mode", "mean", "map", "draw"):
        assert filled(net, cells, kind)[0].codes.shape == (0, num)
    assert len(mean_rows(CliqueTree().prepare(net.problem()), cells.evidence, [0], ONE).rows) == 0
    assert (
        len(draw_rows(CliqueTree().prepare(net.problem()), cells.evidence, [0], np.random.default_rng(0), ONE)[1]) == 0
    )


def test_rows_with_more_completions_than_floats_are_no_warning():
    causes = [ss.Discrete(f"c{i}") for i in range(1100)]
    net = ss.BayesNet(
        *(ss.TableCPD(v, [0.7, 0.3]) for v in causes), ss.NoisyOr(ss.Discrete("x"), dict.fromkeys(causes[:40], 0.9))
    )
    rows = ss.Dataset({v.name: [0 if v.name == "x" else None] for v in net.variables}, variables=list(net.variables))
    found = ss.impute(net, rows, kind="map").datasets[0]
    assert found.codes("c1").tolist() == [0]
