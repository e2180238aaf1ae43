from __future__ import annotations

import itertools

import numpy as np
import pytest

from sepset.api.learning import fit
from sepset.cpds.table import TableCPD
from sepset.data.dataset import Dataset
from sepset.errors import DataError, ScopeError, TooLarge
from sepset.graphs.graph import DAG
from sepset.learning.classify.naivebayes import naive_bayes, tree_augmented
from sepset.models.bayesnet import BayesNet
from sepset.variables.variable import Discrete, Real


def test_naive_bayes_is_a_star():
    dag = naive_bayes(Discrete("c"), [Real("x"), "y"])
    assert dag.nodes == ("c", "x", "y")
    assert dag.parents("c") == ()
    assert dag.parents("x") == dag.parents("y") == ("c",)
    assert naive_bayes("c", []).nodes == ("c",)


def rooted_trees(size):
    """The parents of every tree directed away from a root."""
    for parents in itertools.product(range(-1, size), repeat=size):
        if parents.count(-1) == 1 and all(reaches_root(parents, i) for i in range(size)):
            yield parents


def reaches_root(parents, node):
    for _ in parents:
        node = parents[node] if parents[node] >= 0 else node
    return parents[node] < 0


@pytest.mark.parametrize("seed", range(3))
def test_the_tree_has_the_largest_likelihood(seed):
    dag = DAG.parse("c -> w; c -> x; c -> y; c -> z; w -> x; x -> y; w -> z")
    rows = BayesNet.random(dag, states={"c": 2, "w": 2, "x": 3, "y": 2, "z": 2}, seed=seed).sample(400, seed=seed)
    found = tree_augmented(rows, "c")
    features = ["w", "x", "y", "z"]
    best = -np.inf
    for parents in rooted_trees(4):
        edges = [(features[p], f) for f, p in zip(features, parents, strict=True) if p >= 0]
        tree = DAG(["c", *features], [*(("c", f) for f in features), *edges])
        best = max(best, log_likelihood(tree, rows))
    assert log_likelihood(found, rows) == pytest.approx(best, rel=1e-12)


def log_likelihood(dag, rows):
    """The largest log-likelihood of tables over a graph, from plain counts of families."""
    total = 0.0
    for name in dag.nodes:
        parents = dag.parents(name)
        cells = list(zip(*(rows.codes(n).tolist() for n in (*parents, name)), strict=True))
        joint = {cell: cells.count(cell) for cell in set(cells)}
        above = {}
        for cell, count in joint.items():
            above[cell[:-1]] = above.get(cell[:-1], 0) + count
        total += sum(count * np.log(count / above[cell[:-1]]) for cell, count in joint.items())
    return total


def test_discrete_features_take_no_real_parents():
    rng = np.random.default_rng(0)
    c = rng.integers(2, size=300)
    x = rng.normal(c, 1.0)
    frame = {"x": x, "c": c, "a": (x + 0.2 * rng.normal(size=300) > 0).astype(int), "y": x + 0.1 * rng.normal(size=300)}
    rows = Dataset.from_codes([Real("x"), Discrete("c"), Discrete("a"), Real("y")], frame)
    dag = tree_augmented(rows, "c")
    assert dag.parents("a") == ("c",)
    assert set(dag.parents("x")) == {"c", "a"}
    assert set(dag.parents("y")) == {"c", "x"}
    model = fit(dag, rows).model
    assert np.isfinite(model.log_probability(rows)).all()


def test_frames_features_weights_and_names():
    frame = {"c": list("aabbab"), "x": list("pqpqpq"), "y": list("pqpqpp"), "note": list("uvwxyz")}
    dag = tree_augmented(frame, "c", features=["x", "y"])
    assert dag.nodes == ("c", "x", "y")
    assert dag.parents("y") == ("c", "x")
    chosen = tree_augmented(Dataset(frame), "c", features=["y", "x"], weights=np.array([1.0, 2.0, 0.0, 1.0, 1.0, 1.0]))
    assert chosen.parents("x") == ("c", "y")
    assert tree_augmented(frame, "c", features=["x"]) == naive_bayes("c", ["x"])


def test_a_path_is_a_table(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("c,x,y\na,p,p\nb,q,q\na,q,q\nb,p,p\n", encoding="utf-8")
    assert tree_augmented(path, "c").parents("y") == ("c", "x")


def test_what_is_refused():
    with pytest.raises(ScopeError, match="feature of itself"):
        naive_bayes("c", ["c"])
    with pytest.raises(ScopeError, match="found twice: 'x'"):
        naive_bayes("c", ["x", "x"])
    with pytest.raises(ScopeError, match="Give it states"):
        tree_augmented({"c": [0.5, 1.5], "x": [0, 1]}, "c")
    empty = Dataset.from_codes([Discrete("c"), Discrete("x")], np.zeros((0, 2), int))
    with pytest.raises(DataError, match="there are none"):
        tree_augmented(empty, "c")
    with pytest.raises(DataError, match="one per row"):
        tree_augmented({"c": [0, 1], "x": [0, 1]}, "c", weights=np.ones(3))


def test_fitted_naive_bayes_keeps_the_counts():
    frame = {"c": list("aabbb"), "x": list("pqppq")}
    model = fit(naive_bayes("c", ["x"]), frame).model
    assert isinstance(model.cpd("x"), TableCPD)
    np.testing.assert_allclose(model.cpd("x").values, [[1 / 2, 1 / 2], [2 / 3, 1 / 3]])


def test_trees_of_too_many_columns_are_refused_before_they_are_read():
    class Unread(list):
        def __iter__(self):
            raise AssertionError("it was read")

    rows = {f"v{i}": Unread(["a", "b"]) for i in range(20_000)}
    with pytest.raises(TooLarge, match="20,000 columns"):
        tree_augmented(rows, "v0")
    with pytest.raises(TooLarge, match="19,000 columns"):
        tree_augmented(rows, "v0", features=[f"v{i}" for i in range(1000, 20_000)])
