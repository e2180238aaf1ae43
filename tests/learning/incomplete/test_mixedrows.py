"""Rows with holes under networks of tables and lines, by dense normals and enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

import sepset as ss
from sepset.learning.incomplete import mixedrows
from sepset.learning.incomplete.mixedrows import log_densities

D, E, X, Y = ss.Discrete("d"), ss.Discrete("e", 3), ss.Real("x"), ss.Real("y")
NET = ss.BayesNet(
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
        density = stats.multivariate_normal(mu[seen], sigma[np.ix_(seen, seen)]).pdf(at) if seen else 1.0
        total += chance * density
    return math.log(total) if total else -math.inf


def holes(num, seed=0):
    rng = np.random.default_rng(seed)
    full = NET.sample(num, seed=seed)
    columns = {v.name: full.column(v).astype(float if v in (X, Y) else int) for v in NET.variables}
    for name, column in columns.items():
        column[rng.random(num) < 0.4] = np.nan if name in "xy" else -1
    return ss.Dataset.from_codes(NET.variables, columns)


def test_densities_by_hand_and_by_the_engine():
    rows = holes(60)
    found = log_densities(NET, rows, NET.variables)
    np.testing.assert_allclose(found, [by_hand(row) for row in rows.rows()], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found, ss.prepare(NET).log_probability(rows), rtol=1e-8, atol=1e-12)
    some = log_densities(NET, rows, [E, Y])
    expected = [by_hand(row | {"d": None, "x": None}) for row in rows.rows()]
    np.testing.assert_allclose(some, expected, rtol=1e-9, atol=1e-12)


def test_impossible_rows_and_no_rows():
    rows = ss.Dataset({"d": [0, 1], "e": [2, 2], "x": [None, 1.0], "y": [0.5, None]}, NET.variables)
    found = log_densities(NET, rows, NET.variables)
    assert found[0] == -math.inf
    assert found[1] == pytest.approx(by_hand(rows.row(1)))
    assert log_densities(NET, rows[:0], NET.variables).shape == (0,)


def test_other_models_are_left_to_engines(monkeypatch):
    rows = holes(5)
    certain = NET.with_cpds(ss.LinearGaussian(Y, 0.0, coefficients=1.0, covariance=0.0, given=X))
    tables = ss.BayesNet(*NET.cpds[:2])
    for model in (certain, tables, tables.markov_net()):
        assert log_densities(model, rows, model.variables) is None
    monkeypatch.setattr(mixedrows, "FEW", 1)
    assert log_densities(NET, rows, NET.variables) is None


def test_losses_and_likelihoods_take_it():
    rows = holes(40)
    expected = np.array([by_hand(row) for row in rows.rows()])
    risk = ss.evaluate(NET, rows)["log-loss"]
    np.testing.assert_allclose(risk.rows, -expected, rtol=1e-9, atol=1e-12)
    assert ss.observed_log_likelihood(NET, rows) == pytest.approx(expected.sum(), rel=1e-9)
