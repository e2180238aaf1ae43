"""Standard errors: textbook ones for complete rows, numeric Hessians for others, infinite where nothing is known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sepset.api.learning import fit
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import ScopeError, TooLarge
from sepset.graphs.graph import DAG
from sepset.inference.iterate import Until
from sepset.learning.incomplete.em import EM
from sepset.learning.incomplete.standarderrors import standard_errors
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real
from support.random_incomplete import log_likelihood


def test_complete_tables_have_the_textbook_errors():
    net = BayesNet.random(DAG.parse("a -> b"), states={"a": 3, "b": 2}, seed=1)
    rows = net.sample(300, seed=2)
    model = fit(net, rows).model
    found = standard_errors(model, rows)
    theta, M = model.cpd("b").values, np.bincount(rows.codes("a"), minlength=3)[:, None]
    assert_allclose(found["b"], np.sqrt(theta * (1 - theta) / M), rtol=1e-5)
    p = model.cpd("a").values
    assert_allclose(found["a"], np.sqrt(p * (1 - p) / 300), rtol=1e-5)
    assert_allclose(found.missing, 0.0, atol=1e-6)
    assert found.is_identified


def test_complete_lines_have_the_textbook_errors():
    rng = np.random.default_rng(0)
    x = rng.normal(3.0, 2.0, 400)
    y = 1.0 + 0.5 * x + rng.normal(size=400)
    frame = {"x": x, "y": y}
    model = fit(DAG.parse("x -> y"), frame).model
    found = standard_errors(model, frame)
    s2 = model.cpd("y").covariance.item()
    Z = np.column_stack([np.ones(400), x])
    errors = np.sqrt(np.diag(s2 * np.linalg.inv(Z.T @ Z)))
    assert_allclose(found["y"][0], [*errors, s2 * np.sqrt(2 / 400)], rtol=1e-4)


def _textbook(x, y):
    """The errors of a line by the QR decomposition of its columns about their means."""
    count, means = len(y), x.mean(axis=0)
    Q, R = np.linalg.qr(x - means)
    slopes = np.linalg.solve(R, Q.T @ (y - y.mean()))
    s2 = np.mean((y - y.mean() - (x - means) @ slopes) ** 2)
    inverse = np.linalg.inv(R)
    at_zero = 1.0 / count + np.sum((inverse.T @ means) ** 2)
    return np.sqrt([s2 * at_zero, *s2 * (inverse**2).sum(axis=1), 2.0 * s2**2 / count])


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_complete_lines_have_the_textbook_errors_in_any_units(unit, offset):
    rng = np.random.default_rng(1)
    x = (rng.normal(size=(300, 2)) + offset) * [unit, 1.0 / unit]
    y = (x @ [2.0 / unit, unit] + rng.normal(size=300)) * unit**2
    frame = {"u": x[:, 0], "v": x[:, 1], "y": y}
    found = standard_errors(fit(DAG.parse("u -> y; v -> y"), frame).model, frame)
    assert found.is_identified
    assert_allclose(found["y"][0], _textbook(x, y), rtol=1e-5)


def test_complete_lines_have_the_textbook_errors_where_parents_are_almost_collinear():
    rng = np.random.default_rng(2)
    u = rng.normal(size=500)
    x = np.column_stack([u, u + 1e-4 * rng.normal(size=500)])
    y = x.sum(axis=1) + rng.normal(size=500)
    frame = {"u": x[:, 0], "v": x[:, 1], "y": y}
    found = standard_errors(fit(DAG.parse("u -> y; v -> y"), frame).model, frame)
    assert_allclose(found["y"][0], _textbook(x, y), rtol=1e-5)


def _with_gaps(unit, rows=200):
    rng = np.random.default_rng(5)
    d = rng.integers(0, 2, rows)
    u = rng.normal(1.0, 1.0, rows) * unit
    y = (u / unit + d + rng.normal(size=rows)) / unit
    gaps = rng.random(rows) < 0.3
    return {"d": d, "u": np.where(gaps, np.nan, u), "y": y}


@pytest.mark.parametrize("unit", [1e-6, 1e-3, 1e6])
def test_units_do_not_matter_with_gaps(unit):
    def errors(unit):
        frame = _with_gaps(unit)
        model = fit(DAG.parse("d -> y; u -> y"), frame, EM(), until=Until(steps=300, tolerance=1e-13)).model
        return standard_errors(model, frame)

    here, there = errors(1.0), errors(unit)
    assert here.is_identified
    assert there.is_identified
    assert_allclose(there["u"], here["u"] * [unit, unit**2], rtol=1e-4)
    assert_allclose(there["y"], here["y"] * [1 / unit, 1 / unit**2, 1 / unit**2], rtol=1e-4)
    assert_allclose(there.missing, here.missing, atol=1e-5)


def test_what_no_row_tells_is_infinite():
    d, y, values = Discrete("d", 3), Real("y"), ([1.0, 2.0, 6.0], [4.0, 5.0, 9.0, 10.0])
    rows = Dataset({"d": [0] * 3 + [1] * 4, "y": np.concatenate(values)}, variables=[d, y])
    means, variances = [np.mean(v) for v in values], [np.var(v) for v in values]
    line = LinearGaussian(y, intercept=[*means, 9.0], covariance=[*variances, 3.0], by=d)
    found = standard_errors(BayesNet(TableCPD(d, [3 / 7, 4 / 7, 0.0]), line), rows)
    assert np.isinf(found["y"][2]).all()
    for own, values_of, variance in zip(found["y"][:2], values, variances, strict=True):
        assert_allclose(own, [np.sqrt(variance / len(values_of)), variance * np.sqrt(2 / len(values_of))], rtol=1e-5)
    assert found.num_unknown == 2


def test_collinear_parents_are_not_determined():
    rng = np.random.default_rng(4)
    u = rng.normal(size=100)
    frame = {"u": u, "v": 2.0 * u, "y": u + rng.normal(size=100)}
    net = BayesNet(
        *fit(DAG.parse("u; v"), {"u": u, "v": 2.0 * u}).model.cpds,
        LinearGaussian(Real("y"), coefficients=[0.2, 0.4], covariance=1.0, given=[Real("u"), Real("v")]),
    )
    found = standard_errors(net, frame)
    assert np.isinf(found["y"][0, 1:3]).all()
    assert np.isfinite(found["y"][0, [0, 3]]).all()
    assert found.num_unknown == 1


def test_missing_cells_widen_them_as_a_numeric_hessian_says():
    rows = [(1, 1)] * 13 + [(1, 0)] * 16 + [(0, 1)] * 9 + [(0, 0)] * 4 + [(None, 1)] * 5 + [(0, None)] * 3
    a, b = Discrete("a"), Discrete("b")
    data = Dataset({"a": [r[0] for r in rows], "b": [r[1] for r in rows]}, [a, b])
    model = fit(DAG.parse("a -> b"), data, EM(), until=Until(steps=500, tolerance=None)).model

    def net(t):
        return BayesNet(TableCPD(a, [1 - t[0], t[0]]), TableCPD(b, [[1 - t[1], t[1]], [1 - t[2], t[2]]], given=a))

    at = np.array([model.cpd("a").values[1], *model.cpd("b").values[:, 1]])
    h = 1e-4
    H = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            e, f = np.eye(3)[i] * h, np.eye(3)[j] * h
            H[i, j] = sum(s * u * log_likelihood(net(at + s * e + u * f), data) for s in (1, -1) for u in (1, -1))
    errors = np.sqrt(np.diag(np.linalg.inv(-H / (4 * h * h))))
    found = standard_errors(model, data)
    assert_allclose([found["a"][1], *found["b"][:, 1]], errors, rtol=1e-3)
    assert 0 < found.missing[0] < 1


def test_the_largest_missing_share_is_the_rate_of_em():
    net = BayesNet.random(DAG.parse("h -> a; h -> b; h -> c; h -> d"), states=2, seed=3)
    rows = net.sample(500, seed=1).select(["a", "b", "c", "d"])
    found = fit(net, rows, EM(start="model", acceleration="squarem"), until=Until(steps=300, tolerance=1e-15))
    errors = standard_errors(found.model, rows)
    before = fit(net, rows, EM(start="model"), until=Until(steps=60, tolerance=None)).trace
    gaps = found.log_likelihood - before[-3:]
    assert_allclose(np.sqrt(gaps[2] / gaps[1]), errors.missing[0], rtol=0.05)


def test_what_is_not_identified_is_infinite():
    h, x = Discrete("h"), Discrete("x")
    net = BayesNet(TableCPD(h, [0.4, 0.6]), TableCPD(x, [[0.3, 0.7], [0.8, 0.2]], given=h))
    rows = {"x": [0] * 60 + [1] * 40}
    model = fit(net, rows, EM(start="model"), until=Until(steps=200, tolerance=None)).model
    found = standard_errors(model, rows)
    assert found.num_unknown == 2
    assert np.isinf(found["h"]).all()
    assert "2 directions unknown" in repr(found)


def test_borders_have_none():
    rows = {"a": [0, 0, 1, 1], "b": [0, 0, 0, 1]}
    found = standard_errors(fit(DAG.parse("a -> b"), rows).model, rows)
    assert np.isnan(found["b"][0]).all()
    assert_allclose(found["b"][1], np.sqrt(0.25 / 2), rtol=1e-5)


def test_weights_names_and_limits(monkeypatch):
    rows = {"a": [0, 1]}
    model = fit(DAG.parse("a"), rows, weights=[30.0, 10.0]).model
    found = standard_errors(model, rows, weights=[30.0, 10.0])
    assert_allclose(found["a"], np.sqrt(0.75 * 0.25 / 40), rtol=1e-5)
    assert (list(found), len(found)) == (["a"], 1)
    assert found[Discrete("a")] is found["a"]
    with pytest.raises(ScopeError, match="no standard errors"):
        found["b"]
    monkeypatch.setattr("sepset.learning.incomplete.standarderrors.LARGEST", 1)
    with pytest.raises(TooLarge):
        standard_errors(model, rows)
    assert len(standard_errors(BayesNet(), {})) == 0


def test_unknown_names_are_absent():
    rows = {"a": [0, 1, 1]}
    found = standard_errors(fit(DAG.parse("a"), rows).model, rows)
    assert "a" in found
    assert Discrete("a") in found
    for stranger in ("b", Discrete("b"), 3, None):
        assert stranger not in found
        assert found.get(stranger) is None
        assert found.get(stranger, 7) == 7
