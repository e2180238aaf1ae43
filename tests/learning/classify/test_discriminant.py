from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sepset.cpds.priors.gaussian import NormalMean
from sepset.data.dataset import Dataset
from sepset.data.scatter import Scatter
from sepset.engine.classifier import Classifier
from sepset.errors import ArgumentError, DataError, ScopeError
from sepset.learning.classify.discriminant import discriminant_analysis
from sepset.learning.estimation.estimators import MLE
from sepset.learning.fit import fit
from sepset.variables.variable import Discrete, Real
from support.tolerances import CLOSE, printed

PUBLISHED = {"c": [1, 1, 1, 2, 2], "x": [1.0, 2.0, 3.0, 10.0, 12.0]}


def test_published_classes():
    model = discriminant_analysis(PUBLISHED, "c")
    np.testing.assert_allclose(model.cpd("c").values, [0.6, 0.4])
    np.testing.assert_allclose(model.cpd("x").intercept[:, 0], [2.0, 11.0])
    np.testing.assert_allclose(model.cpd("x").covariance[:, 0, 0], [0.8, 0.8])
    found = Classifier(model, "c").predict({"x": [6.0]}).probabilities[0, 1]
    assert found == pytest.approx(0.0023986, abs=printed(7))
    for x in (5.5, 6.0, 7.0):
        logistic = 1 / (1 + math.exp(-(11.25 * x - 73.530465)))
        assert Classifier(model, "c").predict({"x": [x]}).probabilities[0, 1] == pytest.approx(logistic, abs=1e-6)
    np.testing.assert_allclose(discriminant_analysis(PUBLISHED, "c", pseudo_count=[2, 3]).cpd("c").values, [0.5, 0.5])


def test_published_shrinkage_of_class_means():
    first, second = (NormalMean(5.0, 1 / 4, noise=1.0).update(x) for x in ([1.0, 2.0, 3.0], [10.0, 12.0]))
    assert (first.mean, second.mean) == pytest.approx((2.230769, 10.333333), abs=printed(6))
    assert (first.precision, second.precision) == (3.25, 2.25)


def rows_of(seed=0, num_rows=90):
    rng = np.random.default_rng(seed)
    c = rng.integers(3, size=num_rows)
    mix = np.array([[1.0, 0.4, 0.0], [0.0, 1.0, -0.5], [0.0, 0.0, 0.7]])
    x = rng.normal(size=(num_rows, 3)) @ mix + c[:, None] * [1.0, 0.0, -0.5]
    return c, x, {"c": c, "x": x[:, 0], "y": x[:, 1], "z": x[:, 2]}


@pytest.mark.parametrize("covariance", ["shared", "own"])
def test_the_network_is_bayes_rule_with_scipy(covariance):
    c, x, frame = rows_of()
    model = discriminant_analysis(frame, "c", covariance=covariance)
    parts = [x[c == k] for k in range(3)]
    pooled = sum((p - p.mean(axis=0)).T @ (p - p.mean(axis=0)) for p in parts) / len(x)
    scores = np.stack(
        [
            stats.multivariate_normal(
                p.mean(axis=0), pooled if covariance == "shared" else np.cov(p.T, bias=True)
            ).logpdf(x)
            + math.log(len(p) / len(x))
            for p in parts
        ],
        axis=1,
    )
    expected = np.exp(scores - scores.max(axis=1, keepdims=True))
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(Classifier(model, "c").predict(frame).probabilities, expected, atol=CLOSE)
    assert model.log_probability(frame).sum() == pytest.approx(scores[np.arange(len(c)), c].sum(), rel=CLOSE)


def test_scikit_learn_agrees():
    discriminant = pytest.importorskip("sklearn.discriminant_analysis")
    c, x, frame = rows_of(1)
    ours = Classifier(discriminant_analysis(frame, "c"), "c").predict(frame).probabilities
    theirs = discriminant.LinearDiscriminantAnalysis(solver="lsqr").fit(x, c).predict_proba(x)
    np.testing.assert_allclose(ours, theirs, atol=1e-7)


def test_weights_and_no_features():
    c, _, frame = rows_of(2)
    weights = np.random.default_rng(0).integers(1, 4, size=len(c))
    again = {k: np.repeat(v, weights) for k, v in frame.items()}
    first, second = discriminant_analysis(frame, "c", weights=weights), discriminant_analysis(again, "c")
    np.testing.assert_allclose(first.log_probability(frame), second.log_probability(frame), rtol=CLOSE)
    carried = discriminant_analysis(Dataset(frame).with_weights(weights), "c")
    np.testing.assert_allclose(carried.log_probability(frame), second.log_probability(frame), rtol=CLOSE)
    alone = discriminant_analysis(frame, "c", features=[])
    assert alone.variables.names == ("c",)
    chosen = discriminant_analysis(frame, "c", features=["z", "x"])
    assert chosen.parents("x") == ("c", "z")


def test_what_is_refused():
    with pytest.raises(ArgumentError, match="'shared' or 'own'"):
        discriminant_analysis(PUBLISHED, "c", covariance="diagonal")
    with pytest.raises(ScopeError, match="Give it states"):
        discriminant_analysis(PUBLISHED, "x")
    with pytest.raises(ScopeError, match="real features"):
        discriminant_analysis({"c": [0, 1], "d": [0, 1]}, "c", features=["d"])
    with pytest.raises(DataError, match="EM"):
        discriminant_analysis({"c": [0, 1], "x": [0.5, None]}, "c")
    empty = Dataset.from_codes([Discrete("c"), Real("x")], {"c": [0, 0], "x": [1.0, 2.0]})
    with pytest.raises(DataError, match="No row has c=1"):
        discriminant_analysis(empty, "c")


def test_a_shared_covariance_is_one_set_of_parameters():
    """Two means and one variance; fitting the network again keeps one variance."""
    rows = {"c": [0, 0, 0, 1, 1], "x": [1.0, 2.0, 3.0, 10.0, 12.0]}
    shared, own = (discriminant_analysis(rows, "c", covariance=kind).cpd("x") for kind in ("shared", "own"))
    assert (shared.shared, shared.num_parameters) == ("covariance", 3)
    assert (own.shared, own.num_parameters) == (None, 4)
    again = fit(discriminant_analysis(rows, "c"), rows, MLE()).model.cpd("x")
    np.testing.assert_allclose(again.covariance, shared.covariance)


def exact_lines(groups, place, is_shared):
    """Slopes and variance of one feature given those before it, in fractions, in each class."""
    apart = []
    for rows in groups:
        means = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        apart.append([[x - mean for x, mean in zip(row, means, strict=True)] for row in rows])
    found = []
    together = [row for rows in apart for row in rows]
    for rows in [together] * len(apart) if is_shared else apart:
        table = [
            [sum(row[i] * row[j] for row in rows) for j in range(place)] + [sum(row[i] * row[place] for row in rows)]
            for i in range(place)
        ]
        for i in range(place):
            for j in range(place):
                if i != j:
                    share = table[j][i] / table[i][i]
                    table[j] = [x - share * y for x, y in zip(table[j], table[i], strict=True)]
        slope = [row[-1] / row[i] for i, row in enumerate(table)]
        left = [row[place] - sum(b * x for b, x in zip(slope, row, strict=False)) for row in rows]
        found.append((slope, sum(x * x for x in left) / len(rows)))
    return found


@pytest.mark.parametrize("covariance", ["shared", "own"])
@pytest.mark.parametrize(("near", "offset"), [(1e-3, 1e9), (1e-6, 0.0), (1e-8, 0.0)])
@pytest.mark.parametrize("units", [(1.0, 1.0, 1.0), (1e-20, 1e20, 1e3)])
def test_similar_columns_keep_the_digits_of_rows(covariance, near, offset, units):
    """Against fractions: products of columns that differ by 1e-8 have no digits of what they add."""
    rng = np.random.default_rng(4)
    c = np.arange(24) % 2
    x = rng.normal(size=24) + c
    y = x + near * rng.normal(size=24)
    rows = (np.stack([x, y, x - 0.5 * y + rng.normal(size=24)], axis=1) + offset) * units
    model = discriminant_analysis(
        {"c": c, "x": rows[:, 0], "y": rows[:, 1], "z": rows[:, 2]}, "c", covariance=covariance
    )
    groups = [[[Fraction(v) for v in row] for row in rows[c == k].tolist()] for k in (0, 1)]
    allowed = 1e-14 / near if offset == 0.0 else 1e-9
    for place, name in ((1, "y"), (2, "z")):
        for code, (slope, variance) in enumerate(exact_lines(groups, place, covariance == "shared")):
            right = np.array([float(b) * u for b, u in zip(slope, units, strict=False)])
            found = model.cpd(name).coefficients[code, 0] * units[:place]
            np.testing.assert_allclose(found, right, atol=allowed * np.abs(right).max(), rtol=0)
            assert model.cpd(name).covariance[code, 0, 0] == pytest.approx(float(variance), rel=allowed)


@pytest.mark.parametrize(("covariance", "place"), [("shared", 8), ("own", 4)])
def test_of_more_features_than_rows_only_the_first_are_looked_at(covariance, place, monkeypatch):
    """Of five rows of each of two classes, five features or, with one covariance, nine determine one of them."""
    rng, sizes = np.random.default_rng(0), []
    made = Scatter.of
    monkeypatch.setattr(Scatter, "of", lambda rows, weights: sizes.append(rows.shape[1]) or made(rows, weights))
    rows = Dataset({"c": [0, 1] * 5} | {f"x{i}": rng.normal(size=10) for i in range(300)})
    with pytest.raises(DataError, match=rf"The variance of x{place} given"):
        discriminant_analysis(rows, "c", covariance=covariance)
    assert sizes == [11, 11]
