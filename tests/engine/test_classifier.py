from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

import sepset as ss
from sepset.api.learning import fit
from sepset.cpds.lineargaussian import LinearGaussian
from sepset.cpds.priors.dirichlet import Dirichlet
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.engine.classifier import Classifier
from sepset.errors import DataError, ImpossibleEvidence, ModelError, ScopeError
from sepset.graphs.graph import DAG
from sepset.learning.classify.naivebayes import naive_bayes, tree_augmented
from sepset.learning.estimation.estimators import Bayes
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real
from support.tolerances import CLOSE, EXACT, printed


def smoothed(dag, rows):
    """The network over a graph whose tables have one added to every count."""
    return fit(dag, rows, Bayes(Dirichlet(1.0))).model


def random_dag(rng, size):
    order = rng.permutation(size)
    edges = [(f"v{order[i]}", f"v{order[j]}") for j in range(size) for i in range(j) if rng.random() < 0.5]
    return DAG([f"v{i}" for i in range(size)], edges)


def enumerated(model, target, row):
    """The posterior of one variable given the observed cells of a row, by summing the whole joint."""
    names = [v.name for v in model.variables]
    axes = {name: axis for axis, name in enumerate(names)}
    joint = np.ones([v.num_states for v in model.variables])
    for cpd in model.cpds:
        letters = [axes[v.name] for v in cpd.scope]
        view = np.transpose(cpd.to_table().values, np.argsort(letters))
        joint = joint * view.reshape([joint.shape[i] if i in letters else 1 for i in range(joint.ndim)])
    for name, code in row.items():
        if code >= 0 and name != target:
            joint = np.take(joint, [code], axis=axes[name])
    kept = joint.sum(axis=tuple(i for i in range(joint.ndim) if i != axes[target]))
    return kept / kept.sum()


@settings(deadline=None, max_examples=40)
@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_any_discrete_network_any_holes_is_enumeration(size, seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(rng, size)
    model = BayesNet.random(dag, states={n: int(rng.integers(1, 4)) for n in dag.nodes}, seed=rng)
    rows = model.sample(6, seed=rng)
    codes = {v.name: np.where(rng.random(6) < 0.3, -1, rows.codes(v)) for v in model.variables}
    holes = Dataset.from_codes(model.variables, codes)
    found = Classifier(model, "v0").predict(holes).probabilities
    for place in range(6):
        expected = enumerated(model, "v0", {name: int(column[place]) for name, column in codes.items()})
        np.testing.assert_allclose(found[place], expected, rtol=0, atol=EXACT)


@pytest.mark.parametrize("hidden", [(), ("d",), ("a",), ("a", "d")])
def test_a_row_that_is_impossible_far_from_the_class_is_impossible(hidden):
    """The blanket of `c` is `b` alone: that `a` excludes this `b`, or `d` this `e`, is found by other CPDs."""
    a, b, c, d, e = (Discrete(name, ("no", "yes")) for name in "abcde")
    copy, noisy = [[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.2, 0.8]]
    model = BayesNet(
        TableCPD(a, [0.5, 0.5]),
        TableCPD(b, copy, given=a),
        TableCPD(c, noisy, given=b),
        TableCPD(d, [0.3, 0.7]),
        TableCPD(e, copy, given=d),
    )
    rows = {"a": ["no", "no", "yes"], "b": ["no", "yes", "yes"], "d": ["no", "no", "yes"], "e": ["no", "no", "no"]}
    columns = {name: column for name, column in rows.items() if name not in hidden}
    found = Classifier(model, "c").predict(columns, on_impossible="null").probabilities
    possible = [True, "a" in hidden, "d" in hidden]
    assert (~np.isnan(found).any(axis=1)).tolist() == possible
    np.testing.assert_allclose(found[0], [0.9, 0.1], rtol=0, atol=EXACT)
    if not all(possible):
        with pytest.raises(ImpossibleEvidence, match="row 1" if "a" not in hidden else "row 2"):
            Classifier(model, "c").predict(columns)


@pytest.mark.parametrize("seed", range(3))
def test_complete_rows_equal_the_exact_engine(seed):
    dag = DAG.parse("c -> w; c -> x; c -> y; w -> x; x -> y; a -> c")
    model = BayesNet.random(dag, states={"a": 2, "c": 3, "w": 2, "x": 3, "y": 2}, seed=seed)
    rows = model.sample(200, seed=seed)
    exact = ss.predict(model, rows.select(["a", "w", "x", "y"]), targets="c").probabilities("c")
    np.testing.assert_allclose(Classifier(model, "c").predict(rows).probabilities, exact, rtol=0, atol=EXACT)


def test_mixed_naive_bayes_is_bayes_rule_with_scipy():
    c, d, x, y = Discrete("c", "ab"), Discrete("d", 3), Real("x"), Real("y")
    table, means = [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], [[0.0, 0.5, 1.0], [1.0, 2.0, 3.0]]
    model = BayesNet(
        TableCPD(c, [0.3, 0.7]),
        TableCPD(d, table, given=c),
        LinearGaussian(x, [0.0, 2.0], covariance=[1.0, 4.0], by=c),
        LinearGaussian(y, means, coefficients=[[0.5] * 3, [-1.0] * 3], covariance=2.0, given=x, by=(c, d)),
    )
    rows = {"d": [0, 2, 1], "x": [0.3, -1.0, 5.0], "y": [0.1, 2.0, -3.0]}
    found = Classifier(model, "c").predict(rows).probabilities
    for m, (s, u, v) in enumerate(zip(*rows.values(), strict=True)):
        first = 0.3 * table[0][s] * stats.norm(0, 1).pdf(u) * stats.norm([0, 0.5, 1][s] + 0.5 * u, 2**0.5).pdf(v)
        second = 0.7 * table[1][s] * stats.norm(2, 2).pdf(u) * stats.norm([1, 2, 3][s] - u, 2**0.5).pdf(v)
        assert found[m].tolist() == pytest.approx([first / (first + second), second / (first + second)], abs=EXACT)
    holes = {"d": [0], "x": [None], "y": [None]}
    expected = [0.3 * 0.2 / (0.3 * 0.2 + 0.7 * 0.6)]
    assert Classifier(model, "c").predict(holes).probabilities[:, 0].tolist() == pytest.approx(expected, abs=EXACT)
    inner = {"d": [0, 1], "x": [None, 0.5], "y": [0.4, None]}
    exact = ss.predict(model, inner, targets="c").probabilities("c")
    np.testing.assert_allclose(Classifier(model, "c").predict(inner).probabilities, exact, atol=CLOSE)


def test_gaussian_naive_bayes_is_scikit_learns():
    sklearn = pytest.importorskip("sklearn.naive_bayes")
    rng = np.random.default_rng(0)
    c = rng.integers(3, size=150)
    x = rng.normal(c[:, None] * [0.5, 1.0, -0.7], [1.0, 2.0, 0.5])
    frame = {"c": c, **{f"x{i}": x[:, i] for i in range(3)}}
    model = fit(naive_bayes("c", ["x0", "x1", "x2"]), frame).model
    theirs = sklearn.GaussianNB(var_smoothing=0.0).fit(x, c)
    np.testing.assert_allclose(Classifier(model, "c").predict(frame).probabilities, theirs.predict_proba(x), atol=CLOSE)
    assert Classifier(model, "c").predict(frame).states.tolist() == theirs.predict(x).tolist()


def test_bernoulli_naive_bayes_is_scikit_learns():
    sklearn = pytest.importorskip("sklearn.naive_bayes")
    rng = np.random.default_rng(1)
    c = rng.integers(2, size=60)
    x = (rng.random((60, 5)) < 0.2 + 0.4 * c[:, None]).astype(int)
    dag = naive_bayes("c", [f"x{i}" for i in range(5)])
    rows = Dataset.from_codes([Discrete(n) for n in dag.nodes], np.concatenate([c[:, None], x], axis=1))
    model = smoothed(dag, rows)
    prior = np.bincount(c) / 60
    model = model.with_cpds(TableCPD(model.variables["c"], prior))
    theirs = sklearn.BernoulliNB(alpha=1.0).fit(x, c)
    np.testing.assert_allclose(Classifier(model, "c").predict(rows).probabilities, theirs.predict_proba(x), atol=CLOSE)


def test_published_bernoulli_corpus():
    words = ["ball", "bank", "dollar"]
    documents = [{"ball", "dollar"}, {"ball"}, {"bank", "dollar"}, {"bank", "dollar"}]
    dag = naive_bayes("topic", words)
    codes = [[m // 2, *(int(w in d) for w in words)] for m, d in enumerate(documents)]
    rows = Dataset.from_codes([Discrete(n) for n in dag.nodes], np.array(codes))
    asked = {"ball": [1], "bank": [0], "dollar": [1]}
    found = Classifier(smoothed(dag, rows), "topic").predict(asked).probabilities
    assert found[0, 0] == pytest.approx(0.857143, abs=printed(6))
    assert Classifier(fit(dag, rows).model, "topic").predict(asked).probabilities[0].tolist() == [1.0, 0.0]


def test_published_overconfidence_of_copies():
    c = Discrete("c")
    copies = [Discrete(f"x{i}") for i in range(10)]
    model = BayesNet(TableCPD(c, [0.5, 0.5]), *(TableCPD(x, [[0.6, 0.4], [0.4, 0.6]], given=c) for x in copies))
    found = Classifier(model, "c").predict({x.name: [0] for x in copies}).probabilities[0, 0]
    assert found == pytest.approx(1.5**10 / (1 + 1.5**10), abs=EXACT)
    assert found == pytest.approx(0.982954, abs=printed(6))
    one = Classifier(model, "c").predict({"x0": [0]}).probabilities[0, 0]
    assert one == pytest.approx(0.6, abs=EXACT)


def test_many_features_do_not_underflow():
    c = Discrete("c")
    features = [Real(f"x{i}") for i in range(400)]
    model = BayesNet(TableCPD(c, [0.5, 0.5]), *(LinearGaussian(x, [0.0, 0.1], covariance=1.0, by=c) for x in features))
    found = Classifier(model, "c").predict({x.name: [40.0] for x in features}).log_probabilities
    gap = 400 * (0.1 * 40 - 0.005)
    assert found[0, 0] - found[0, 1] == pytest.approx(-gap, rel=CLOSE)


def test_decisions_cost_least():
    c, x = Discrete("mail", ("good", "junk")), Discrete("x", 3)
    table = np.array([[0.80, 0.15, 0.05], [0.05, 0.15, 0.80]])
    classify = Classifier(BayesNet(TableCPD(c, [0.5, 0.5]), TableCPD(x, table, given=c)), "mail")
    rows, costs = {"x": [0, 1, 2]}, [[0.0, 9.0], [1.0, 0.0]]
    posterior = (table / table.sum(axis=0))[1]
    assert classify.predict(rows).decide(costs).tolist() == [("good", "junk")[int(p > 9 / 10)] for p in posterior]
    assert classify.predict(rows).decide(decline=0.2).tolist() == ["good", None, "junk"]
    assert classify.predict(rows).states.tolist() == ["good", "good", "junk"]


def test_a_tree_of_features_beats_independence_on_copies():
    rng = np.random.default_rng(0)
    c = rng.integers(2, size=400)
    a = (rng.random(400) < 0.3 + 0.3 * c).astype(int)
    b = np.where(rng.random(400) < 0.95, a, 1 - a)
    rows = Dataset.from_codes([Discrete(n) for n in "cab"], np.stack([c, a, b], axis=1))
    tree, naive = smoothed(tree_augmented(rows, "c"), rows), smoothed(naive_bayes("c", "ab"), rows)
    score = [Classifier(m, "c").predict(rows).log_probabilities[np.arange(400), c].mean() for m in (tree, naive)]
    assert score[0] > score[1]


def test_impossible_rows_are_named_or_left_out():
    c, x = Discrete("c"), Discrete("x", 3)
    model = BayesNet(TableCPD(c, [0.5, 0.5]), TableCPD(x, [[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]], given=c))
    with pytest.raises(ImpossibleEvidence, match=r"1 of 2 rows .* \(first: row 1\)"):
        Classifier(model, "c").predict({"x": [0, 2]})
    found = Classifier(model, "c").predict({"x": [1, 2]}, on_impossible="null").probabilities
    assert found[0].tolist() == [1.0, 0.0]
    assert np.isnan(found[1]).all()


def test_columns_may_be_few_or_strange():
    model = BayesNet.random(DAG.parse("c -> x; c -> y"), seed=0)
    classify = Classifier(model, "c")
    with pytest.raises(DataError, match="No column is a variable of the model: columns are 'other'"):
        classify.predict({"other": ["p", "q"]}).probabilities
    found = classify.predict({"x": [None, None], "other": ["p", "q"]}).probabilities
    np.testing.assert_allclose(found, [model.cpd("c").values] * 2, atol=EXACT)
    assert classify.predict(Dataset.from_codes([Discrete("x")], {"x": [0, 1]})).probabilities.shape == (2, 2)
    rows = {"x": [0, 1], "y": [1, 1]}
    labeled = classify.predict(rows | {"c": ["never", "seen"]}).probabilities
    np.testing.assert_array_equal(labeled, classify.predict(rows).probabilities)
    alone = Classifier(BayesNet(TableCPD(Discrete("c"), [0.25, 0.75])), "c")
    np.testing.assert_allclose(alone.predict({"other": ["p", "q"]}).probabilities, [[0.25, 0.75]] * 2, atol=EXACT)
    assert classify.features == (model.variables["x"], model.variables["y"])
    assert classify.predict(Dataset.from_codes(model.variables, np.zeros((0, 3), int))).probabilities.shape == (0, 2)


def test_what_is_refused():
    model = BayesNet(LinearGaussian(Real("x"), covariance=1.0))
    with pytest.raises(ScopeError, match="discrete"):
        Classifier(model, "x")
    with pytest.raises(ModelError, match=r"Use its \.model"):
        Classifier(fit(DAG.parse("c"), {"c": [0, 1]}), "c")


def test_what_comes_back_is_a_result():
    model = BayesNet.random(DAG.parse("c -> x; z -> x"), seed=0)
    easy, hard = (Classifier(model, "c").predict(rows) for rows in ({"x": [0], "z": [1]}, {"x": [0]}))
    assert easy.guarantees == hard.guarantees == {"marginals": ss.Guarantee.EXACT}
    assert easy.method == ss.CliqueTree()
    assert (
        Classifier(model, "c", method=ss.inference.BruteForce()).predict({"x": [0]}).method == ss.inference.BruteForce()
    )
    assert len(easy) == 1
    assert repr(easy) == "Classification(1 row; c)"
