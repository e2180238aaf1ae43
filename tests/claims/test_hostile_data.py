"""What users do: empty and constant columns, collinear parents, scales and weights beyond floats."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sepset.api.learning import fit
from sepset.cpds.dirichletposterior import log_polya
from sepset.cpds.priors.dirichlet import K2, BDeu
from sepset.cpds.priors.regression import LinearNormalGamma, NormalGamma
from sepset.data.dataset import Dataset
from sepset.data.moments import Moments
from sepset.errors import ArgumentError, DataError, ModelError, NotApplicable, ScopeError
from sepset.graphs.graph import DAG
from sepset.learning.classify.naivebayes import tree_augmented
from sepset.learning.estimation.estimators import MLE, Bayes, PosteriorMode
from sepset.learning.estimation.metanetwork import meta_network
from sepset.learning.estimation.networkpriors import BDe, ImaginaryData
from sepset.learning.incomplete.em import EM
from sepset.variables.variable import Discrete

RNG = np.random.default_rng(0)
X, NOISE = RNG.normal(size=30), RNG.normal(size=30)
LINE, PAIR = DAG.parse("x -> y"), DAG.parse("a -> b")
PRIOR = NormalGamma(0.0, 1.0, shape=2.0, rate=1.0)
METHODS = [MLE(), Bayes(PRIOR), PosteriorMode(PRIOR), EM(), EM(PRIOR)]


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e150, 1e200, 1e300])
@pytest.mark.parametrize("method", METHODS, ids=repr)
@pytest.mark.parametrize("name", ["x", "y"])
def test_columns_whose_squares_are_no_floats_are_named(scale, method, name):
    columns = {"x": X, "y": X + NOISE}
    columns[name] = scale * columns[name]
    with pytest.raises(DataError, match=rf"Column '{name}' holds numbers up to .*Rescale it"):
        fit(LINE, columns, method)


@pytest.mark.parametrize("scale", [1e-130, 1e-30, 1e30, 1e130])
def test_units_do_not_matter(scale):
    """The line scales with its columns; the share of the variance that it explains does not."""
    base = fit(LINE, {"x": X, "y": X + NOISE}).model.cpd("y")
    found = fit(LINE, {"x": scale * X, "y": X + NOISE}).model.cpd("y")
    assert found.coefficients[0, 0, 0] * scale == pytest.approx(base.coefficients[0, 0, 0])
    assert found.covariance[0, 0, 0] == pytest.approx(base.covariance[0, 0, 0])
    found = fit(LINE, {"x": X, "y": scale * (X + NOISE)}).model.cpd("y")
    assert found.coefficients[0, 0, 0] / scale == pytest.approx(base.coefficients[0, 0, 0])


def test_times_in_seconds_as_parents():
    """Bayes of a line on parents of 1.7e9: a weak prior leaves the classical interval."""
    times = 1.7e9 + 3600.0 * np.arange(200)
    y = 20.0 + 1e-5 * (times - times[0]) + np.random.default_rng(1).normal(size=200)
    net = fit(LINE, {"x": times, "y": y}).model
    priors = {
        "x": NormalGamma(1.7e9, 1e-6, shape=2.0, rate=1.0),
        "y": LinearNormalGamma([0.0, 0.0], [1e-20, 1e-9], shape=1e-9, rate=1e-9),
    }
    post = fit(net, {"x": times, "y": y}, Bayes(priors)).posterior
    line = stats.linregress(times - times[0], y)
    t = stats.t(200.0, line.slope, line.stderr * np.sqrt(198.0 / 200.0))
    np.testing.assert_allclose(post.interval("y", "x"), t.interval(0.95), rtol=1e-5)


@pytest.mark.parametrize("columns", [(X, np.full(30, 3.7)), (np.full(30, 3.7), X), (np.zeros(30), np.zeros(30))])
def test_constant_columns(columns):
    rows = dict(zip("xy", columns, strict=True))
    with pytest.raises(DataError, match=r"variance is zero.*constant"):
        fit(LINE, rows)
    assert np.isfinite(fit(LINE, rows, MLE(min_variance=1e-6)).log_likelihood)
    for method in (Bayes(PRIOR), PosteriorMode(PRIOR), EM(PRIOR)):
        assert np.isfinite(fit(LINE, rows, method).log_likelihood)


def test_collinear_and_duplicate_parents():
    dag = DAG.parse("x -> z; y -> z")
    for y in (X, 2.0 * X + 1.0):
        rows = {"x": X, "y": y, "z": X + NOISE}
        alone = fit(DAG.parse("x -> z"), rows).model.cpd("z")
        found = fit(dag, rows)
        assert found.model.cpd("z").covariance[0, 0, 0] == pytest.approx(alone.covariance[0, 0, 0])
        assert "1 of 2" in str(found.info["parent_rank"]["z"])
        assert np.isfinite(fit(dag, rows, Bayes(PRIOR)).posterior.log_marginal_likelihood)
        with pytest.raises(ModelError, match="not collinear"):
            fit(dag, rows, Bayes([ImaginaryData(rows)]))


def test_one_row_and_none():
    states = [Discrete("a"), Discrete("b")]
    with pytest.raises(DataError, match=r"1 of 2 contexts never occur in the data: \(a=1\)"):
        fit(PAIR, {"a": [0], "b": [1]}, variables=states)
    one = fit(PAIR, {"a": [0], "b": [1]}, Bayes(K2()), variables=states).model
    np.testing.assert_allclose(one.cpd("b").values, [[1 / 3, 2 / 3], [0.5, 0.5]])
    none = {"a": np.zeros(0, np.int64), "b": np.zeros(0, np.int64)}
    with pytest.raises(DataError, match="no rows"):
        fit(PAIR, none, variables=states)
    np.testing.assert_allclose(fit(PAIR, none, Bayes(K2()), variables=states).model.cpd("b").values, 0.5)
    with pytest.raises(DataError, match=r"variance is zero \(1 rows\)"):
        fit(DAG.parse("x"), {"x": [1.0]})


def test_weights():
    rows = {"a": [0, 1, 0, 1], "b": [0, 0, 1, 1]}
    with pytest.raises(DataError, match="all have weight zero"):
        fit(PAIR, rows, weights=np.zeros(4))
    with pytest.raises(DataError, match="more than a float holds"):
        fit(PAIR, rows, weights=np.full(4, 1e308))
    for weight in (1e-300, 1e300):
        np.testing.assert_allclose(fit(PAIR, rows, weights=np.full(4, weight)).model.cpd("b").values, 0.5)
        found = fit(LINE, {"x": X, "y": NOISE}, weights=np.full(30, weight)).model.cpd("y")
        assert found.covariance[0, 0, 0] == pytest.approx(
            fit(LINE, {"x": X, "y": NOISE}).model.cpd("y").covariance[0, 0, 0]
        )
    skipped = fit(
        LINE, {"x": np.append(X, 1e6), "y": np.append(NOISE, -1e6)}, weights=np.append(np.ones(30), 0.0)
    ).model
    assert skipped.cpd("x").intercept[0, 0] == pytest.approx(X.mean())


def test_priors_beyond_the_data():
    rows = {"x": X, "y": NOISE}
    with pytest.raises(DataError, match="far from the prior mean"):
        fit(LINE, rows, Bayes(NormalGamma(1e200, 1.0, shape=2.0, rate=1.0)))
    assert np.isfinite(fit(LINE, rows, Bayes(NormalGamma(0.0, 1e-300, shape=1e-300, rate=1e-300))).log_likelihood)
    assert np.isfinite(fit(LINE, rows, Bayes(NormalGamma(0.0, 1e300, shape=1e300, rate=1e300))).log_likelihood)
    for size in (1e-300, 1e300):
        table = fit(PAIR, {"a": [0, 1, 0, 1], "b": [0, 0, 1, 1]}, Bayes(BDeu(size))).model.cpd("b").values
        np.testing.assert_allclose(table, 0.5)
    with pytest.raises(ModelError, match="BDe needs a prior network"):
        BDe(None, 3.0)


def test_questions_that_make_no_sense():
    post = fit(LINE, {"x": X, "y": NOISE}, Bayes(PRIOR)).posterior
    for parameter in (["x"], None, 3, "q"):
        with pytest.raises(ScopeError, match="has no parameter"):
            post.interval("y", parameter)
    with pytest.raises(ArgumentError, match="above= is a number"):
        post.tail("y", "x", above=float("nan"))
    with pytest.raises(ArgumentError, match="level= is a number between 0 and 1"):
        post.interval("y", "x", level=float("nan"))
    with pytest.raises(DataError, match="Rescale"):
        post.update({"x": [1e200], "y": [1.0]})
    for wrong in ("a", [0.1], float("nan"), 2.0):
        with pytest.raises(ArgumentError, match="floor= is a number between 0 and 1"):
            MLE(floor=wrong)
    for wrong in ([], {}, None, 3):
        with pytest.raises(ArgumentError, match="unseen= is"):
            MLE(unseen=wrong)


def test_small_numbers_beside_larger_ones_are_numbers():
    """Chances that became tiny are a column like any other, as long as some are not."""
    chances = np.concatenate([np.full(20, 1e-250), [0.2, 0.7, 0.9]])
    assert fit(DAG.parse("x"), Dataset({"x": chances})).model.cpd("x").intercept[0, 0] == pytest.approx(chances.mean())


def test_other_verbs_refuse_the_same():
    big = {"c": [0, 1] * 15, "x": 1e200 * X, "y": NOISE}
    with pytest.raises(DataError, match="Column 'x' holds numbers up to"):
        tree_augmented(big, "c")
    with pytest.raises(DataError, match="squares are not floats"):
        PRIOR.update(1e200 * X)
    for rows in (["a"], np.zeros((2, 2, 2)), [np.nan]):
        with pytest.raises(DataError, match="Rows are"):
            PRIOR.update(rows)
    with pytest.raises(DataError, match="over 2 coordinates; the data have 1"):
        LinearNormalGamma([0.0, 0.0], 1.0, shape=1.0, rate=1.0).update([1.0, 2.0, 3.0])
    for alpha, counts in ((["a"], [1.0]), ([1.0], [np.inf]), ([1.0, 2.0], [1.0])):
        with pytest.raises(ModelError, match="log_polya needs"):
            log_polya(alpha, counts)
    moments = Moments.of({"x": X}, ["x"])
    for factor in ("a", np.nan, -1.0):
        with pytest.raises(ArgumentError, match="factor= is a finite number >= 0"):
            moments.scale(factor)
    with pytest.raises(DataError, match="Moments times 1e\\+308 are not floats"):
        moments.scale(1e308)
    net = fit(PAIR, {"a": [0, 1, 0, 1], "b": [0, 0, 1, 1]}).model
    for number, kind in ((0, "blocks"), ("2", "blocks"), (2, "block")):
        with pytest.raises(ArgumentError, match=r"num_rows=|blocks"):
            meta_network(net, number, parameters=kind)
    post = fit(net, {"a": [0, 1], "b": [0, 1]}, Bayes(K2())).posterior
    with pytest.raises(ArgumentError, match="given= maps"):
        post.interval("b", 1, given=["a"])
    with pytest.raises(ArgumentError, match="above= is a number"):
        post.tail("a", 0, above="high")
    with pytest.raises(ArgumentError, match="level= is a number between 0 and 1"):
        post.interval("a", 0, level="high")


@pytest.mark.parametrize("method", [Bayes, PosteriorMode, EM])
def test_a_prior_of_the_wrong_kind_names_those_that_fit(method):
    rows = {"x": X, "y": NOISE}
    for prior in (BDeu(10.0), K2(), LinearNormalGamma([0.0, 0.0, 0.0], 1.0, shape=2.0, rate=1.0)):
        with pytest.raises(NotApplicable, match=r"LinearGaussian\(x\) takes .*NormalGamma.*give a list of priors"):
            fit(LINE, rows, method(prior))
    with pytest.raises(ArgumentError, match=r"BDeu\(10\)"):
        fit(LINE, rows, method(BDeu))
