from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy import stats

from sepset.api.learning import fit
from sepset.data.dataset import Dataset
from sepset.data.moments import Moments
from sepset.data.scatter import Scatter
from sepset.errors import ArgumentError, DataError, ScopeError
from sepset.factors.moments import Gaussian
from sepset.graphs.graph import DAG
from sepset.learning.estimation.gaussian import conditional_regression, fit_gaussian, fit_regression, gaussian_scatter
from sepset.models.jointgaussian import joint_gaussian
from sepset.variables.variable import Discrete, Real, Vector
from support.tolerances import CLOSE

U, V, X = Real("u"), Real("v"), Real("x")


def rows_of(seed, num_rows=30):
    rng = np.random.default_rng(seed)
    u = rng.normal(2.0, 1.5, size=num_rows)
    v = 0.5 * u + rng.normal(size=num_rows)
    return {"u": u, "v": v, "x": 1.0 - u + 2.0 * v + 0.3 * rng.normal(size=num_rows)}


def test_published_line():
    found = fit_regression({"u": [0.0, 1, 2, 3], "x": [1.0, 3, 2, 5]}, X, given=U)
    np.testing.assert_allclose(found.cpd.coefficients, [[[1.1]]])
    np.testing.assert_allclose(found.cpd.intercept, [[1.1]])
    np.testing.assert_allclose(found.cpd.covariance, [[[0.675]]])
    moments = gaussian_scatter({"u": [0.0, 1, 2, 3], "x": [1.0, 3, 2, 5]}, (U, X)).covariance
    np.testing.assert_allclose(moments, [[1.25, 1.375], [1.375, 2.1875]])
    # x = 0..3, y = 1, 3, 4, 8: intercept 0.7, slope 2.2, mean square 0.45, half the squares 0.9
    found = fit_regression({"u": [0.0, 1, 2, 3], "x": [1.0, 3, 4, 8]}, "x", given="u")
    np.testing.assert_allclose([found.cpd.intercept[0, 0], found.cpd.coefficients[0, 0, 0]], [0.7, 2.2])
    np.testing.assert_allclose(found.cpd.covariance, [[[0.45]]])
    assert 0.5 * 4 * found.cpd.covariance[0, 0, 0] == pytest.approx(0.9)


@given(st.integers(0, 2**32 - 1), st.integers(5, 40))
def test_gaussians_have_the_largest_likelihood(seed, num_rows):
    rows = rows_of(seed, num_rows)
    x = np.stack(list(rows.values()), axis=1)
    found = fit_gaussian(rows, (U, V, X))
    np.testing.assert_allclose(found.mu, x.mean(axis=0), rtol=CLOSE)
    np.testing.assert_allclose(found.covariance, np.cov(x.T, bias=True), rtol=CLOSE, atol=CLOSE)
    best = stats.multivariate_normal(found.mu, found.covariance).logpdf(x).sum()
    rng = np.random.default_rng(seed)
    for _ in range(3):
        turn = np.eye(3) + 0.05 * rng.normal(size=(3, 3))
        other = stats.multivariate_normal(found.mu + 0.05 * rng.normal(size=3), turn @ found.covariance @ turn.T)
        assert other.logpdf(x).sum() <= best + 1e-9


@given(st.integers(0, 2**32 - 1))
def test_lines_are_least_squares_and_the_conditional_of_the_joint(seed):
    rows = rows_of(seed)
    found = fit_regression(rows, X, given=(U, V))
    design = np.stack([np.ones(30), rows["u"], rows["v"]], axis=1)
    beta, rss = np.linalg.lstsq(design, rows["x"], rcond=None)[:2]
    np.testing.assert_allclose([found.cpd.intercept[0, 0], *found.cpd.coefficients[0, 0]], beta, rtol=1e-7, atol=1e-9)
    assert found.cpd.covariance[0, 0, 0] == pytest.approx(rss[0] / 30, rel=1e-7)
    assert (found.rank, found.is_unique) == (2, True)
    joint = conditional_regression(fit_gaussian(rows, (X, U, V)), "x", given=["u", "v"])
    np.testing.assert_allclose(joint.coefficients, found.cpd.coefficients, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(joint.intercept, found.cpd.intercept, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(joint.covariance, found.cpd.covariance, rtol=1e-8)


def test_a_complete_network_is_the_joint():
    rows = rows_of(1)
    joint = fit_gaussian(rows, (U, V, X))
    families = {"u": (), "v": ["u"], "x": ["u", "v"]}
    chain = [conditional_regression(joint, child, given=given) for child, given in families.items()]
    again = joint_gaussian(chain)
    np.testing.assert_allclose(again.mu, joint.mu, rtol=CLOSE)
    np.testing.assert_allclose(again.covariance, joint.covariance, rtol=CLOSE)
    network = fit(DAG.parse("u -> v; u -> x; v -> x"), rows).model
    fitted = joint_gaussian(network.cpds)
    np.testing.assert_allclose(fitted.marginal(["u", "v", "x"]).covariance, joint.covariance, rtol=1e-7)


def test_chunks_weights_and_vectors():
    rows = rows_of(2)
    parts = [gaussian_scatter({k: c[part] for k, c in rows.items()}, (U, X)) for part in (slice(11), slice(11, 30))]
    merged = fit_regression(parts[0] + parts[1], X, given=U).cpd
    np.testing.assert_allclose(merged.coefficients, fit_regression(rows, X, given=U).cpd.coefficients, rtol=CLOSE)
    twice = {k: np.repeat(c, 2) for k, c in rows.items()}
    weighted = fit_gaussian(rows, (U, X), weights=np.full(30, 2.0))
    np.testing.assert_allclose(weighted.covariance, fit_gaussian(twice, (U, X)).covariance, rtol=CLOSE)
    pair = Vector("p", 2)
    points = np.stack([rows["u"], rows["v"]], axis=1)
    np.testing.assert_allclose(fit_gaussian({"p": points}, pair).mu, points.mean(axis=0), rtol=CLOSE)
    line = fit_regression({"p": points, "x": rows["x"]}, X, given=pair)
    np.testing.assert_allclose(
        line.cpd.coefficients, fit_regression(rows, X, given=(U, V)).cpd.coefficients, rtol=CLOSE
    )


def test_lazy_frames_files_and_moments_give_the_same(tmp_path):
    polars = pytest.importorskip("polars")
    rows = rows_of(3)
    expected = fit_gaussian(rows, (U, X)).covariance
    frame = polars.DataFrame(rows)
    frame.write_parquet(tmp_path / "rows.parquet")
    moments = Moments.of(rows | {"d": np.arange(30) % 2}, ["x", "v", "u"], given="d")
    for data in (frame, frame.lazy(), tmp_path / "rows.parquet", moments):
        np.testing.assert_allclose(fit_gaussian(data, ["u", "x"]).covariance, expected, rtol=1e-9)


def test_collinear_parents_are_reported():
    u = np.arange(5.0)
    found = fit_regression({"u": u, "v": 3.0 * u, "x": u + np.array([0.1, -0.1, 0.0, 0.2, -0.2])}, X, given=(U, V))
    assert (found.rank, found.num_coordinates, found.is_unique) == (1, 2, False)
    alone = fit_regression({"u": u, "x": u + np.array([0.1, -0.1, 0.0, 0.2, -0.2])}, X, given=U)
    slope = found.cpd.coefficients[0, 0]
    assert slope[0] + 3.0 * slope[1] == pytest.approx(alone.cpd.coefficients[0, 0, 0], rel=CLOSE)
    assert found.cpd.covariance[0, 0, 0] == pytest.approx(alone.cpd.covariance[0, 0, 0], rel=CLOSE)


def test_zero_variance_is_never_silent():
    constant = {"x": [2.0, 2.0]}
    with pytest.raises(DataError, match="no inverse"):
        fit_gaussian(constant, X)
    assert fit_gaussian(constant, X, singular="keep").variance() == 0.0
    assert fit_gaussian(constant, X, singular=0.01).variance() == pytest.approx(0.01)
    assert fit_gaussian({"x": [1.0, 2.0, 3.0, 4.0]}, X, singular=1).variance() == pytest.approx(1.25)
    with pytest.raises(DataError, match="2 rows over 3 coordinates"):
        fit_gaussian({k: c[:2] for k, c in rows_of(0).items()}, (U, V, X))
    perfect = {"u": [0.0, 1.0, 2.0], "x": [1.0, 3.0, 5.0]}
    with pytest.raises(DataError, match="no inverse"):
        fit_regression(perfect, X, given=U)
    assert fit_regression(perfect, X, given=U, singular=1e-6).cpd.covariance[0, 0, 0] == pytest.approx(1e-6)
    assert fit_regression(perfect, X, given=U, singular="keep").cpd.covariance[0, 0, 0] == pytest.approx(0.0, abs=1e-12)
    tiny = {"u": [0.0, 1e-9, 3e-9], "x": [1e6, 5e6, 2e6]}
    assert fit_gaussian(tiny, (U, X)).covariance[0, 0] > 0


def test_what_is_refused():
    with pytest.raises(ArgumentError, match="singular= is a finite number > 0"):
        fit_gaussian({"x": [1.0, 2.0]}, X, singular=0.0)
    with pytest.raises(ArgumentError, match="'raise', 'keep'"):
        fit_gaussian({"x": [1.0, 2.0]}, X, singular="floor")
    with pytest.raises(DataError, match="missing"):
        fit_gaussian(Dataset({"x": [1.0, None]}), X)
    with pytest.raises(ScopeError):
        fit_gaussian({"d": [0, 1]}, [Discrete("d")])
    with pytest.raises(ScopeError, match="own parent"):
        conditional_regression(Gaussian(X, 0.0, covariance=1.0), "x", given="x")
    with pytest.raises(DataError, match="No rows"):
        fit_gaussian(Scatter.nothing(1), X)


def test_a_tight_line_keeps_the_digits_of_its_variance():
    rng = np.random.default_rng(7)
    u = rng.normal(size=50)
    y = 2.0 * u + 1e-8 * rng.normal(size=50)
    away = np.linalg.lstsq(np.column_stack([np.ones(50), u]), y - 2.0 * u)[1][0]
    for weights in (None, np.full(50, 3.0)):
        found = fit_regression({"u": u, "y": y}, "y", given="u", weights=weights).cpd
        assert found.covariance[0, 0, 0] == pytest.approx(away / 50, rel=1e-6)
    with pytest.raises(DataError, match="no inverse"):
        fit_regression({"u": u, "y": 2.0 * u}, "y", given="u")
