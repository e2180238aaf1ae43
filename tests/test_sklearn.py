"""The scikit-learn estimators: their conventions, and agreement with the network they hold."""

from __future__ import annotations

import math
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import sepset as ss
from sepset.cpds.priors.dirichlet import BDeu, Dirichlet
from sepset.learning.estimation.estimators import MLE, Bayes
from sepset.sklearn import BayesNetClassifier, BayesNetImputer, Discretizer, best_tree

IRIS = load_iris()


@pytest.mark.parametrize("estimator", [BayesNetClassifier(), BayesNetClassifier("tan"), BayesNetImputer()], ids=repr)
def test_scikit_learns_own_checks(estimator):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(estimator, on_fail=None)
    failed = {r["check_name"]: str(r["exception"]) for r in found if r["status"] not in ("passed", "skipped")}
    assert failed == {}


def frame(num: int = 200, seed: int = 0) -> pd.DataFrame:
    rows = ss.datasets.load("asia").sample(num, seed=seed).to_frame("pandas")
    rows["age"] = np.random.default_rng(seed).normal(50, 10, num)
    return rows


def test_naive_bayes_is_that_of_scikit_learn():
    ours = BayesNetClassifier(method=MLE()).fit(IRIS.data, IRIS.target)
    theirs = GaussianNB(var_smoothing=0.0).fit(IRIS.data, IRIS.target)
    np.testing.assert_allclose(ours.predict_proba(IRIS.data), theirs.predict_proba(IRIS.data), atol=1e-9)
    X = np.random.default_rng(0).integers(0, 3, (80, 4))
    y = (X[:, 0] + X[:, 1] > 2).astype(int)
    ours = BayesNetClassifier(method=Bayes(Dirichlet(1.0))).fit(X, y)
    theirs = CategoricalNB(alpha=1.0, class_prior=(np.bincount(y) + 1) / (len(y) + 2)).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-9)


def test_the_default_is_close_to_gaussian_naive_bayes():
    ours = BayesNetClassifier().fit(IRIS.data, IRIS.target)
    theirs = GaussianNB().fit(IRIS.data, IRIS.target)
    assert abs(ours.score(IRIS.data, IRIS.target) - theirs.score(IRIS.data, IRIS.target)) < 0.02


def test_mixed_frames_and_posteriors_of_the_network():
    rows = frame()
    X, y = rows.drop(columns="lung"), rows["lung"]
    found = BayesNetClassifier("tan").fit(X, y)
    assert found.target_.name == "lung"
    assert sorted(found.classes_) == ["no", "yes"]
    assert list(found.feature_names_in_) == list(X.columns)
    expected = ss.prepare(found.model_).predict(X.head(20), targets=["lung"]).probabilities("lung")
    np.testing.assert_allclose(found.predict_proba(X.head(20)), expected, atol=1e-9)
    np.testing.assert_array_equal(found.predict(X), found.classes_[found.predict_proba(X).argmax(axis=1)])
    np.testing.assert_allclose(np.exp(found.predict_log_proba(X)), found.predict_proba(X))


def test_polars_and_pandas_agree():
    rows = frame().drop(columns="age").astype(str)
    X, y = rows.drop(columns="lung"), rows["lung"]
    first = BayesNetClassifier().fit(X, y)
    second = BayesNetClassifier(target="lung").fit(pl.from_pandas(X), pl.from_pandas(rows)["lung"].to_numpy())
    np.testing.assert_allclose(first.predict_proba(X), second.predict_proba(pl.from_pandas(X)))


def test_given_structures_and_networks():
    rows = frame().drop(columns="age")
    X, y = rows.drop(columns="dysp"), rows["dysp"]
    asia = ss.datasets.load("asia")
    by_graph = BayesNetClassifier(asia.dag, method=Bayes(BDeu(10))).fit(X, y)
    assert set(by_graph.model_.dag.edges) == set(asia.dag.edges)
    with pytest.raises(ss.errors.ScopeError, match="no node 'outcome' for the class"):
        BayesNetClassifier(asia.dag, target="outcome").fit(X, y)
    with pytest.raises(ss.errors.ModelError, match="Did you mean 'naive'"):
        BayesNetClassifier("naiv").fit(X, y)


def test_weights_are_repetitions():
    X = np.random.default_rng(0).normal(size=(30, 2))
    y = (X[:, 0] > 0).astype(int)
    weights = np.random.default_rng(1).integers(1, 4, 30)
    weighted = BayesNetClassifier().fit(X, y, sample_weight=weights)
    repeated = BayesNetClassifier().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X))


def test_missing_cells_are_summed_out():
    rows = frame().drop(columns="age")
    X, y = rows.drop(columns="lung"), rows["lung"]
    found = BayesNetClassifier().fit(X, y)
    holes = X.head(3).astype(object)
    holes.iloc[0, 0] = None
    holes.iloc[1, :] = None
    posterior = found.predict_proba(holes)
    prior = found.model_.cpd("lung").values
    np.testing.assert_allclose(posterior[1], prior)
    for m in range(3):
        given = {k: v for k, v in holes.iloc[m].items() if v is not None and v == v}
        np.testing.assert_allclose(posterior[m], ss.query(found.model_, "lung", given=given).values, atol=1e-9)


def test_fitting_around_missing_cells():
    rng = np.random.default_rng(0)
    X = IRIS.data.copy()
    X[rng.random(X.shape) < 0.1] = np.nan
    found = BayesNetClassifier().fit(X, IRIS.target)
    assert found.score(X, IRIS.target) > 0.9


def test_unknown_states():
    X, y = pd.DataFrame({"a": ["x", "y", "x", "y"]}), [0, 1, 0, 1]
    strange = pd.DataFrame({"a": ["z", "x", None]})
    with pytest.raises(ss.SepsetError, match="'z'"):
        BayesNetClassifier().fit(X, y).predict(strange)
    found = BayesNetClassifier(unknown="missing").fit(X, y).predict_proba(strange)
    np.testing.assert_allclose(found[0], [0.5, 0.5])
    np.testing.assert_allclose(found[2], [0.5, 0.5])
    assert found[1][0] > 0.5
    with pytest.raises(ss.errors.ArgumentError, match="'raise' or 'missing'"):
        BayesNetClassifier(unknown="ignore").fit(X, y)


@pytest.mark.parametrize("unknown", ["raise", "missing"])
def test_columns_of_another_type_at_prediction(unknown):
    """Whole numbers with holes come as floats, columns may be empty, and rows few or none."""
    X = pd.DataFrame({"i": [0, 1, 0, 1], "s": list("abab")})
    found = BayesNetClassifier(unknown=unknown).fit(X, [0, 1, 0, 1])
    whole = found.predict_proba(X)
    floats = found.predict_proba(pd.DataFrame({"i": [0.0, np.nan], "s": ["a", "b"]}))
    np.testing.assert_allclose(floats[0], whole[0])
    np.testing.assert_allclose(floats[1], found.predict_proba(pd.DataFrame({"i": [None], "s": ["b"]}))[0])
    for nothing in (None, np.nan):
        np.testing.assert_allclose(found.predict_proba(pd.DataFrame({"i": [0], "s": [nothing]})).sum(), 1.0)
    assert found.predict_proba(X[:0]).shape == (0, 2)
    filled = BayesNetImputer(unknown=unknown).fit(X).transform(pd.DataFrame({"i": [0.0, np.nan], "s": ["a", "b"]}))
    assert filled["i"].tolist() == [0, 1]


def test_arrays_after_frames_and_frames_after_arrays_are_read_by_position():
    frame = pd.DataFrame({"p": [0.1, 0.3, 1.1, 1.4], "q": [5.0, 4.0, 2.0, 1.0]})
    holes = frame.mask(frame == 4.0)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        found = BayesNetClassifier().fit(frame, [0, 0, 1, 1]).predict(frame.to_numpy())
    assert found.tolist() == [0, 0, 1, 1]
    with pytest.warns(UserWarning, match="fitted without feature names"):
        found = BayesNetClassifier().fit(frame.to_numpy(), [0, 0, 1, 1]).predict(frame)
    assert found.tolist() == [0, 0, 1, 1]
    by_name = BayesNetImputer().fit(frame).transform(holes)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        by_place = BayesNetImputer().fit(frame.to_numpy()).transform(holes)
    assert list(by_place.columns) == ["p", "q"]
    pd.testing.assert_frame_equal(by_place, by_name)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        array = BayesNetImputer().fit(frame).transform(holes.to_numpy())
    np.testing.assert_array_equal(array, by_name.to_numpy())


def test_numbers_without_bound_and_mappings_are_refused():
    X = pd.DataFrame({"x": [1.0, np.inf, 2.0], "k": ["a", "b", "a"]})
    with pytest.raises(ValueError, match=r"infinity \(column 'x', row 1"):
        BayesNetClassifier().fit(X, [0, 1, 0])
    with pytest.raises(TypeError, match="found a mapping"):
        BayesNetClassifier().fit({"x": [1.0, 2.0]}, [0, 1])


def test_columns_of_one_name_are_refused_by_their_name():
    X = pd.DataFrame([[1, 2, 3], [4, 5, 6]], columns=["a", "b", "a"])
    for estimator in (BayesNetClassifier(), BayesNetImputer(), Discretizer()):
        with pytest.raises(ss.errors.DataError, match="'a' is the name of several columns"):
            estimator.fit(X, [0, 1])


def test_clones_pipelines_searches_and_pickles():
    found = BayesNetClassifier("tan", method=Bayes([Dirichlet(1.0)]), target="kind")
    copied = clone(found)
    assert copied.get_params()["structure"] == "tan"
    assert copied.get_params()["target"] == "kind"
    rng = np.random.default_rng(0)
    holes = IRIS.data.copy()
    holes[rng.random(holes.shape) < 0.05] = np.nan
    pipeline = make_pipeline(BayesNetImputer(), BayesNetClassifier())
    assert cross_val_score(pipeline, holes, IRIS.target, cv=3).mean() > 0.85
    search = GridSearchCV(BayesNetClassifier(), {"structure": ["naive", "tan"]}, cv=3).fit(IRIS.data, IRIS.target)
    assert search.best_score_ > 0.9
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(IRIS.data), search.best_estimator_.predict(IRIS.data))


def test_unfitted_estimators_say_so():
    for call in (BayesNetClassifier().predict, BayesNetClassifier().predict_proba, BayesNetImputer().transform):
        with pytest.raises(NotFittedError):
            call([[1.0]])


def test_imputed_cells_are_posterior_means_and_the_others_stay():
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    X = np.stack([x, 2 * x + rng.normal(scale=0.5, size=300)], axis=1)
    holes = X.copy()
    holes[::10, 1] = np.nan
    found = BayesNetImputer().fit(holes)
    filled = found.transform(holes)
    seen = ~np.isnan(holes)
    np.testing.assert_array_equal(filled[seen], holes[seen])
    for m in (0, 10, 20):
        expected = ss.query(found.model_, "x1", given={"x0": float(holes[m, 0])}).distribution.mean()
        assert filled[m, 1] == pytest.approx(float(np.ravel(expected)[0]))
    assert np.abs(filled[::10, 1] - X[::10, 1]).mean() < 0.6


def test_frames_come_back_as_frames():
    rows = frame(60)
    rows.index = pd.Index([f"row {m}" for m in range(60)])
    holes = rows.copy()
    holes.loc["row 3", "lung"] = None
    holes.loc["row 5", "age"] = np.nan
    found = BayesNetImputer().fit(holes)
    filled = found.transform(holes)
    assert isinstance(filled, pd.DataFrame)
    assert list(filled.columns) == list(holes.columns)
    assert list(filled.index) == list(holes.index)
    assert not filled.isna().any().any()
    assert filled.dtypes.to_dict() == holes.dtypes.to_dict()
    untouched = filled.drop(index=["row 3", "row 5"])
    pd.testing.assert_frame_equal(untouched, holes.drop(index=["row 3", "row 5"]))
    assert list(found.get_feature_names_out()) == list(holes.columns)
    polars = pl.DataFrame({"a": ["x", "y", None, "x"], "b": [1.0, 2.0, 1.5, None]})
    back = BayesNetImputer().fit_transform(polars)
    assert isinstance(back, pl.DataFrame)
    assert back.null_count().sum_horizontal().item() == 0


def test_types_of_columns_are_kept():
    rows = {"a": ["x", "y", None, "x"], "e": ["u", "v", None, "u"], "i": [1, 2, None, 1], "f": [1.0, 2.0, None, 1.5]}
    kinds = {"a": pl.Categorical(), "e": pl.Enum(["v", "u"]), "i": pl.Int8(), "f": pl.Float32()}
    polars = pl.DataFrame(rows, schema_overrides=kinds)
    assert BayesNetImputer().fit_transform(polars).schema == polars.schema
    arrow = pa.table(
        {"a": pa.array(rows["a"]).dictionary_encode(), "e": rows["e"], "f": pa.array(rows["f"], pa.float32())}
    )
    dictionary, *others = BayesNetImputer().fit_transform(arrow).schema.types
    assert pa.types.is_dictionary(dictionary)
    assert others == [pa.string(), pa.float32()]
    pandas = pd.DataFrame(
        {
            "a": pd.Categorical(rows["a"], categories=["y", "x", "never"]),
            "e": pd.array(rows["e"], dtype="string"),
            "i": pd.array(rows["i"], dtype="Int8"),
            "f": np.array([1.0, 2.0, np.nan, 1.5], np.float32),
            "o": np.array(["p", None, "p", "q"], object),
        },
        index=[5, 5, 6, 6],
    )
    filled = BayesNetImputer().fit_transform(pandas)
    assert filled.dtypes.to_dict() == pandas.dtypes.to_dict()
    assert filled.index.tolist() == [5, 5, 6, 6]
    assert not filled.isna().any().any()
    array = np.array([[1.0, 2.0], [2.0, np.nan], [3.0, 6.5]], np.float32)
    assert BayesNetImputer().fit_transform(array).dtype == np.float32


def test_states_that_a_column_cannot_hold_widen_its_type():
    fitted = BayesNetImputer().fit(pd.DataFrame({"a": ["x", "x", "y"], "n": [0.5, 0.7, 2.5]}))
    narrow = pd.DataFrame({"a": pd.Categorical(["y", None], categories=["y"]), "n": pd.array([None, 1], dtype="Int64")})
    filled = fitted.transform(narrow)
    assert filled["a"].tolist() == ["y", "x"]
    assert filled["n"].tolist()[1] == 1
    assert 1.5 < filled["n"].tolist()[0] < 3.0


def test_set_output():
    X = np.array([[1.0, np.nan], [2.0, 2.1], [3.0, 2.9], [4.0, 4.2]])
    made = BayesNetImputer().set_output(transform="pandas").fit_transform(X)
    assert isinstance(made, pd.DataFrame)
    assert list(made.columns) == ["x0", "x1"]


def test_kinds_of_imputation():
    rows = frame(80).drop(columns="age").astype(object)
    rows.iloc[::7, 2] = None
    for kind in ("mean", "mode", "map", "draw"):
        first, second = (BayesNetImputer(kind=kind, random_state=1).fit(rows).transform(rows) for _ in range(2))
        pd.testing.assert_frame_equal(first, second)
        assert not first.isna().any().any()


def test_states_that_were_never_seen_can_be_filled():
    X = pd.DataFrame({"a": ["x", "y", "x", "y"], "b": ["u", "v", "u", "v"]})
    strange = pd.DataFrame({"a": ["x", "q"], "b": ["u", "v"]})
    filled = BayesNetImputer(unknown="missing").fit(X).transform(strange)
    assert filled["a"].tolist() == ["x", "y"]


def test_the_best_tree_is_the_best_of_all():
    """Every tree over four columns is tried."""
    import itertools

    rng = np.random.default_rng(3)
    a = rng.integers(0, 2, 300)
    b = np.where(rng.random(300) < 0.8, a, rng.integers(0, 3, 300))
    c = np.where(rng.random(300) < 0.7, b, rng.integers(0, 3, 300))
    d = np.where(rng.random(300) < 0.6, a, 1 - a)
    rows = ss.Dataset({"a": a, "b": b, "c": c, "d": d})

    def information(i, j):
        counts = np.zeros((3, 3))
        np.add.at(counts, (rows.codes(i), rows.codes(j)), 1.0)
        p = counts / counts.sum()
        q = p.sum(axis=1, keepdims=True) * p.sum(axis=0, keepdims=True)
        return float((p[p > 0] * np.log(p[p > 0] / q[p > 0])).sum())

    pairs = list(itertools.combinations("abcd", 2))

    def spans(edges):
        parts = {n: n for n in "abcd"}
        for i, j in edges:
            old, new = parts[i], parts[j]
            parts = {k: new if v == old else v for k, v in parts.items()}
        return len(set(parts.values())) == 1

    best = max((e for e in itertools.combinations(pairs, 3) if spans(e)), key=lambda e: sum(information(*p) for p in e))
    assert {tuple(sorted(e)) for e in best_tree(rows).edges} == {tuple(sorted(e)) for e in best}


def test_trees_from_cells_that_are_there():
    x = [0.5, 1.5, 2.5, 3.5, 4.5, math.nan]
    rows = ss.Dataset(
        {"x": x, "y": [v + 0.1 * (-1) ** k for k, v in enumerate(x)], "z": [1.5, -1.5, 1.5, -1.5, 1.5, 2.0]}
    )
    assert ("x", "y") in {tuple(sorted(e)) for e in best_tree(rows).edges}
    constant = ss.Dataset({"x": [1.0, 1.0], "y": [0.0, 0.5]})
    assert len(best_tree(constant).edges) == 1


def test_no_rows_are_refused():
    rows = frame(3)[:0]
    with pytest.raises(ValueError, match="0 sample"):
        BayesNetClassifier().fit(rows.drop(columns="lung"), rows["lung"])


def test_columns_without_any_value_are_refused():
    X = np.array([[1.0, np.nan], [2.0, np.nan]])
    with pytest.raises(ss.errors.DataError, match="'x1'"):
        BayesNetImputer().fit(X)
    with pytest.raises(ss.errors.DataError, match="'x1'"):
        BayesNetClassifier().fit(X, [0, 1])


@pytest.mark.parametrize(
    ("labels", "row"),
    [
        (np.array([0.0, np.nan, 1.0]), 1),
        (np.array(["a", None, "b"], object), 1),
        (np.array(["a", "b", np.nan], object), 2),
        (np.array([pd.NA, "a", "b"], object), 0),
    ],
)
def test_missing_labels_are_refused_by_row(labels, row):
    with pytest.raises(ValueError, match=f"y contains NaN or None .first in row {row}"):
        BayesNetClassifier().fit(np.array([[0.5], [1.5], [2.5]]), labels)


def test_a_structure_can_be_learned():
    data = ss.datasets.load("asia").sample(3_000, seed=5).to_frame("pandas")
    X, y = data.drop(columns="dysp"), data["dysp"]
    found = BayesNetClassifier(ss.HillClimb(tabu=5), random_state=0).fit(X, y)
    expected = ss.learn_structure(data[[*X.columns, "dysp"]], method=ss.HillClimb(tabu=5))
    assert set(found.model_.dag.edges) == set(expected.graph.edges)
    assert found.score(X, y) > BayesNetClassifier().fit(X, y).score(X, y) - 0.02
    gaps = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    assert not pd.DataFrame(BayesNetImputer(ss.HillClimb(), random_state=0).fit_transform(gaps)).isna().any().any()


@pytest.mark.parametrize("method", ["quantile", "width", "entropy"])
def test_a_discretizer_in_a_pipeline(method):
    rng = np.random.default_rng(2)
    X = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300), "c": rng.choice(["u", "v"], 300)})
    y = np.where(X.a + 0.2 * rng.normal(size=300) > 0.3, "high", "low")
    chain = make_pipeline(Discretizer(method, bins=4), BayesNetClassifier())
    assert chain.fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.8
    plain = make_pipeline(Discretizer(method, bins=4), BayesNetClassifier())
    cells = X[["a", "b"]].to_numpy()
    assert plain.fit(cells[:200], y[:200]).score(cells[200:], y[200:]) > 0.8


def test_a_discretizer_is_that_of_discretize():
    X = pd.DataFrame({"a": [0.5, 1.5, 2.5, 3.5], "c": ["u", "v", "u", "v"]})
    cut = Discretizer(bins=2).fit(X)
    assert cut.transform(X).equals(ss.discretize(X, bins=2).data)
    assert cut.get_feature_names_out().tolist() == ["a", "c"]


def test_a_discretizer_takes_columns_by_position():
    array = np.array([[1.1, 2.5], [3.3, 4.4], [5.2, 6.1]])
    wanted = Discretizer(bins=2).fit_transform(array).tolist()
    assert Discretizer(bins=2).fit_transform(pd.DataFrame(array)).tolist() == wanted
    with pytest.warns(UserWarning, match="feature names"):
        assert Discretizer(bins=2).fit(array).transform(pd.DataFrame(array, columns=["a", "b"])).tolist() == wanted
    with pytest.raises(ValueError, match="requires y"):
        Discretizer("entropy").fit(array)


def test_notes_say_what_columns_were_taken_for():
    codes = np.array([[0.0, 0.5], [1.0, 1.5], [2.0, 0.25], [1.0, 0.0]])
    for made in (BayesNetClassifier().fit(codes, [0, 1, 0, 1]), BayesNetImputer().fit(codes)):
        assert isinstance(made.variables_[0], ss.Discrete)
        assert len(made.notes_) == 1
        assert "'x0' holds whole numbers as floats, with 3 distinct values: taken as states" in made.notes_[0]


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (BayesNetClassifier(target=["label"]), r"target= is the name of the class"),
        (BayesNetClassifier(structure=np.zeros((2, 2))), r"structure"),
        (Discretizer(method=np.zeros((2, 2))), r"method="),
    ],
)
def test_mistaken_settings_are_refused(estimator, message):
    with pytest.raises(ss.SepsetError, match=message):
        estimator.fit(np.arange(12.0).reshape(6, 2), list("ababab"))
