"""What a model says of rows is what its joint distribution says, cell by cell."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

import oracle
import sepset as ss
from sepset.api.learning import fit
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.engine.engine import Engine
from sepset.engine.kept import engine_for
from sepset.engine.rows import most_probable, refuse_missing, true_codes
from sepset.errors import DataError, ModelError, NotApplicable, ScopeError
from sepset.factors.table import Table
from sepset.models.bayesnet import BayesNet
from sepset.models.markovnet import MarkovNet
from sepset.variables.variable import Discrete, Real
from support.strategies import bayes_nets, plain_factors
from support.tolerances import EXACT


def joint_of(model) -> np.ndarray:
    factors, cards = plain_factors(model)
    return oracle.joint(factors, cards)


@st.composite
def nets_and_rows(draw, min_variables=1):
    net = draw(bayes_nets(max_variables=4, min_variables=min_variables))
    seed = draw(st.integers(0, 10_000))
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.integers(0, v.num_states, 6) for v in net.variables], axis=1)
    codes[rng.random(codes.shape) < draw(st.sampled_from([0.0, 0.3, 1.0]))] = -1
    return net, Dataset.from_codes(net.variables, codes)


def probability(joint: np.ndarray, row) -> float:
    return float(joint[tuple(slice(None) if c < 0 else c for c in row)].sum())


@settings(max_examples=60, deadline=None)
@given(nets_and_rows())
def test_log_probabilities_sum_the_joint(case):
    net, rows = case
    joint = joint_of(net)
    found = np.exp(Engine(net).log_probabilities(rows))
    expected = [probability(joint, row) for row in rows.matrix().tolist()]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=EXACT)


@settings(max_examples=60, deadline=None)
@given(nets_and_rows(min_variables=2), st.data())
def test_posteriors_and_joint_modes_are_those_of_the_joint(case, data):
    net, rows = case
    joint = joint_of(net)
    places = data.draw(st.lists(st.integers(0, len(net.variables) - 1), min_size=1, max_size=2, unique=True))
    targets = [net.variables[p] for p in places]
    engine = Engine(net)
    found = engine.posteriors(rows, targets)
    modes = engine.modes(rows, targets)
    for m, row in enumerate(rows.matrix().tolist()):
        free = [-1 if p in places else c for p, c in enumerate(row)]
        seen = joint[tuple(slice(None) if c < 0 else slice(c, c + 1) for c in free)]
        if seen.sum() == 0:
            assert all(np.isnan(part[m]).all() for part in found)
            assert (modes[m] == -1).all()
            continue
        for place, part in zip(places, found, strict=True):
            others = tuple(a for a in range(seen.ndim) if a != place)
            np.testing.assert_allclose(part[m], seen.sum(axis=others) / seen.sum(), atol=1e-9)
        others = tuple(a for a in range(seen.ndim) if a not in places)
        over = seen.sum(axis=others, keepdims=True)
        at = [0] * seen.ndim
        for place, code in zip(places, modes[m].tolist(), strict=True):
            at[place] = code
        assert over[tuple(at)] >= over.max() * (1 - 1e-9)


def test_only_what_is_given_counts():
    a, b, c = (Discrete(n) for n in "abc")
    net = BayesNet(
        TableCPD(a, [0.5, 0.5]),
        TableCPD(b, [[0.9, 0.1], [0.2, 0.8]], given=a),
        TableCPD(c, [[0.7, 0.3], [0.4, 0.6]], given=a),
    )
    rows = {"a": [0], "b": [1], "c": [1]}
    (none,) = Engine(net).posteriors(rows, "a", features=[])
    (one,) = Engine(net).posteriors(rows, "a", features="b")
    np.testing.assert_allclose(none[0], [0.5, 0.5])
    np.testing.assert_allclose(one[0], [1 / 9, 8 / 9])


def test_undirected_models_are_normalized():
    a, b = Discrete("a"), Discrete("b")
    net = MarkovNet(Table([a, b], [[30.0, 5.0], [1.0, 10.0]]))
    found = np.exp(Engine(net).log_probabilities({"a": [0, 1, None], "b": [0, None, None]}))
    np.testing.assert_allclose(found, [30 / 46, 11 / 46, 1.0])


def test_real_variables():
    d, x = Discrete("d"), Real("x")
    net = BayesNet(TableCPD(d, [0.25, 0.75]), LinearGaussian(x, [0.0, 2.0], covariance=1.0, by=d))
    density = np.exp(-0.5 * np.array([0.0, 4.0])) / np.sqrt(2 * np.pi)
    (found,) = Engine(net).posteriors({"x": [0.0]}, "d")
    weights = np.array([0.25, 0.75]) * density
    np.testing.assert_allclose(found[0], weights / weights.sum())
    rows = {"d": [0, None], "x": [0.0, 0.0]}
    np.testing.assert_allclose(np.exp(Engine(net).log_probabilities(rows)), [weights[0], weights.sum()])
    with pytest.raises(NotApplicable, match="'x' are continuous"):
        Engine(net).posteriors(rows, "x")


def test_engines_that_report_share_what_is_prepared():
    net = BayesNet(TableCPD(Discrete("a"), [0.5, 0.5]), TableCPD(Discrete("b"), [0.2, 0.8]))
    engine, heard = engine_for(net), []
    reporter = engine.reporting(lambda done, total: heard.append((done, total)))
    assert reporter.prepared is engine.prepared
    assert reporter.model is engine.model
    reporter.log_probabilities({"a": [0, None]})
    assert heard[-1][0] == heard[-1][1] > 0


def test_bad_questions_are_refused():
    net = BayesNet(TableCPD(Discrete("a"), [0.5, 0.5]), TableCPD(Discrete("b"), [0.5, 0.5]))
    engine = Engine(net)
    rows = engine.rows({"a": [0, None]})
    assert rows.num_missing == {"a": 1, "b": 2}
    with pytest.raises(ScopeError, match="both target and given"):
        engine.posteriors(rows, "a", features=["a"])
    with pytest.raises(ScopeError, match="Different variables"):
        engine.posteriors(rows, ["a", "a"])
    with pytest.raises(ScopeError, match="at least one"):
        engine.variables([])
    with pytest.raises(DataError, match="'a' is missing in row 1"):
        refuse_missing(rows, [net["a"]])
    with pytest.raises(DataError, match="'b' is missing in row 0"):
        true_codes(rows, [net["b"]])
    with pytest.raises(ModelError, match=r"Questions are asked of a model; found 'net'\. Build one, fit one"):
        Engine("net")
    with pytest.raises(ModelError, match=r"Use its \.model"):
        Engine(fit(net, {"a": [0, 1], "b": [0, 1]}))
    with pytest.raises(DataError, match="No column is a variable of the model: columns are 'A'"):
        engine.log_probabilities({"A": [0, 1]})
    with pytest.raises(DataError, match="No column is a variable"):
        engine.log_probabilities(Dataset({"A": [0, 1]}))
    assert Engine(BayesNet()).log_probabilities({"A": [0, 1]}).tolist() == [0.0, 0.0]


def test_ties_go_to_the_first_state():
    assert most_probable(np.array([[0.5, 0.5], [0.2, 0.8], [np.nan, np.nan]])).tolist() == [0, 1, -1]


@settings(max_examples=40, deadline=None)
@given(nets_and_rows(min_variables=1), st.data())
def test_complete_rows_need_no_engine_and_say_the_same(case, data):
    net, rows = case
    place = data.draw(st.integers(0, len(net.variables) - 1))
    target = net.variables[place]
    logs = Engine(net).log_posterior(rows, target)
    (by_engine,) = Engine(net).posteriors(rows, [target], features=[v for v in net.variables if v != target])
    np.testing.assert_allclose(np.exp(logs), by_engine, atol=1e-9)


def test_complete_rows_of_real_features_by_hand():
    c, x = Discrete("c", 3), Real("x")
    net = BayesNet(TableCPD(c, [0.2, 0.3, 0.5]), LinearGaussian(x, [0.0, 1.0, 9.0], covariance=1.0, by=c))
    points = np.array([0.0, 0.7, 8.0])
    weights = np.array([0.2, 0.3, 0.5]) * np.exp(-0.5 * (points[:, None] - np.array([0.0, 1.0, 9.0])) ** 2)
    expected = weights / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(Engine(net).posteriors({"x": points}, "c")[0], expected)
    np.testing.assert_allclose(Engine(net).posteriors({"x": points}, "c", features="x")[0], expected)


D, E, X, Y = ss.Discrete("d"), ss.Discrete("e", 3), ss.Real("x"), ss.Real("y")
MIXED = ss.BayesNet(
    ss.TableCPD(D, [0.25, 0.75]),
    ss.TableCPD(E, [[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]], given=D),
    ss.LinearGaussian(X, [0.0, 1.0, 3.0], covariance=[1.0, 0.5, 2.0], by=E),
    ss.LinearGaussian(Y, [1.0, -1.0], coefficients=[[[0.5]], [[2.0]]], covariance=[0.3, 0.7], given=X, by=D),
)


def by_hand(row):
    """The density of what a row has: a sum over states of a dense normal of two numbers."""
    total = 0.0
    for d, e in itertools.product(range(2), range(3)):
        if row["d"] not in (None, d) or row["e"] not in (None, e):
            continue
        chance = [0.25, 0.75][d] * [[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]][d][e]
        mean, spread = [0.0, 1.0, 3.0][e], [1.0, 0.5, 2.0][e]
        slope, start, noise = [0.5, 2.0][d], [1.0, -1.0][d], [0.3, 0.7][d]
        mu = np.array([mean, start + slope * mean])
        sigma = np.array([[spread, slope * spread], [slope * spread, slope**2 * spread + noise]])
        seen = [k for k, name in enumerate("xy") if row[name] is not None]
        at = [row["xy"[k]] for k in seen]
        density = stats.multivariate_normal.pdf(at, mu[seen], sigma[np.ix_(seen, seen)]) if seen else 1.0
        total += chance * density
    return math.log(total) if total else -math.inf


def mixed_holes(num, seed=0):
    rng = np.random.default_rng(seed)
    full = MIXED.sample(num, seed=seed)
    columns = {v.name: full.column(v).astype(float if v in (X, Y) else int) for v in MIXED.variables}
    for name, column in columns.items():
        column[rng.random(num) < 0.4] = np.nan if name in "xy" else -1
    return ss.Dataset.from_codes(MIXED.variables, columns)


def test_densities_of_mixed_rows_by_hand():
    rows = mixed_holes(60)
    found = Engine(MIXED).log_probabilities(rows)
    np.testing.assert_allclose(found, [by_hand(row) for row in rows.rows()], rtol=1e-9, atol=1e-12)
    by_plain_questions = [float(ss.log_probability(MIXED, given=row)) for row in rows.rows()]
    np.testing.assert_allclose(found, by_plain_questions, rtol=1e-8, atol=1e-12)
    some = Engine(MIXED).log_probabilities(rows, over=["e", "y"])
    expected = [by_hand(row | {"d": None, "x": None}) for row in rows.rows()]
    np.testing.assert_allclose(some, expected, rtol=1e-9, atol=1e-12)


def test_impossible_mixed_rows_and_no_rows():
    rows = ss.Dataset({"d": [0, 1], "e": [2, 2], "x": [None, 1.0], "y": [0.5, None]}, MIXED.variables)
    found = Engine(MIXED).log_probabilities(rows)
    assert found[0] == -math.inf
    assert found[1] == pytest.approx(by_hand(rows.row(1)))
    assert Engine(MIXED).log_probabilities(rows[:0]).shape == (0,)


def test_losses_and_likelihoods_of_mixed_rows():
    rows = mixed_holes(40)
    expected = np.array([by_hand(row) for row in rows.rows()])
    risk = ss.evaluate(MIXED, rows)[ss.evaluation.LogLoss()]
    np.testing.assert_allclose(risk.rows, -expected, rtol=1e-9, atol=1e-12)
    assert ss.prepare(MIXED).log_probabilities(rows).sum() == pytest.approx(expected.sum(), rel=1e-9)
