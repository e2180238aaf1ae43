"""Scores of families at their best trees: by enumeration, as tables, in any search, in any order of columns."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.local.trees import num_leaves
from sepset.learning.structure.local.treescore import TreeScore
from support.local_trees import LeafFunction, all_scores, bdeu_leaf, grown_score, k2_leaf, penalized_leaf

SCORES = [ss.BDeu(3.0), ss.K2(), ss.BIC(), ss.structure.AIC(), ss.structure.LogLikelihood()]


def leaf_of(score: object, total: float) -> LeafFunction:
    known = {
        "BDeu": bdeu_leaf(3.0),
        "K2": k2_leaf,
        "BIC": penalized_leaf(0.5 * math.log(total)),
        "AIC": penalized_leaf(1.0),
        "LogLikelihood": penalized_leaf(0.0),
    }
    return known[type(score).__name__]


def random_rows(seed: int, cards: tuple[int, ...] = (2, 2, 2, 3), num_rows: int = 60) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose last column depends on the others in some contexts, with weights, some of them zero."""
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.integers(0, card, num_rows) for card in cards], axis=1)
    signal = np.where(rows[:, 0] == 0, rows[:, 1], rows[:, 0] + rows[:, 2]) % cards[-1]
    rows[:, -1] = np.where(rng.random(num_rows) < 0.7, signal, rows[:, -1])
    return rows, rng.integers(0, 4, num_rows) * (1.0 if seed % 2 else 0.7)


def columns_of(rows: np.ndarray, weights: np.ndarray, cards: tuple[int, ...], **options: object) -> Columns:
    variables = [ss.Discrete(f"v{k}", card) for k, card in enumerate(cards)]
    data = {f"v{k}": rows[:, k] for k in range(len(cards))}
    return Columns.of(data, variables=variables, weights=weights, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("score", SCORES, ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_the_best_tree_by_enumeration(score: object, seed: int) -> None:
    cards = (2, 2, 2, 3)
    rows, weights = random_rows(seed, cards)
    columns, leaf = columns_of(rows, weights, cards), leaf_of(score, weights.sum())
    trees = all_scores(rows, weights, [0, 1, 2], cards, leaf)
    assert len(trees) == 1 + 3 * 81
    exact = TreeScore(score, search="exact").family(3, (0, 1, 2), columns)  # type: ignore[arg-type]
    greedy = TreeScore(score).family(3, (0, 1, 2), columns)  # type: ignore[arg-type]
    assert exact == pytest.approx(max(trees), abs=1e-8)
    assert greedy == pytest.approx(grown_score(rows, weights, [0, 1, 2], cards, leaf), abs=1e-8)
    assert trees[0] - 1e-9 <= greedy <= exact + 1e-9


@pytest.mark.parametrize("score", SCORES, ids=repr)
def test_many_states_one_state_and_wide_families(score: object) -> None:
    cards = (3, 1, 4, 2)
    rows, weights = random_rows(5, cards, 80)
    columns, leaf = columns_of(rows, weights, cards), leaf_of(score, weights.sum())
    for parents in ((0, 1, 2), (1,), (2, 0), ()):
        expected = grown_score(rows, weights, sorted(parents), cards, leaf)
        found = TreeScore(score).family(3, tuple(sorted(parents)), columns)  # type: ignore[arg-type]
        assert found == pytest.approx(expected, abs=1e-8), parents
    one = columns_of(rows[:, [0, 2, 3, 1]], weights, (3, 4, 2, 1))  # a child of one state
    assert TreeScore(score).family(3, (0, 1, 2), one) == pytest.approx(0.0, abs=1e-9)  # type: ignore[arg-type]


@pytest.mark.parametrize("score", [ss.BDeu(3.0), ss.BIC(), ss.K2()], ids=repr)
def test_the_full_tree_is_the_table(score: ss.structure.FamilyScore) -> None:
    """With a prior of exploding trees the full tree wins; less that prior, its score is the table's."""
    rows, weights = random_rows(2, num_rows=200)
    columns = columns_of(rows, weights + 1, (2, 2, 2, 3))
    for search in ("exact", "greedy"):
        tree = TreeScore(score, search=search, per_leaf=1e30).tree(3, (0, 1, 2), columns)
        assert num_leaves(tree.tree) == 8
        assert tree.score - 8 * math.log(1e30) == pytest.approx(score.family(3, (0, 1, 2), columns), abs=1e-6)


def test_a_prior_network_at_the_leaves() -> None:
    rows, weights = random_rows(4)
    columns = columns_of(rows, weights, (2, 2, 2, 3))
    known = [columns.variables[name] for name in columns.names]
    uniform = ss.BayesNet(*(ss.TableCPD(v, [1 / v.num_states] * v.num_states) for v in known))
    for search in ("exact", "greedy"):
        same = TreeScore(ss.priors.BDe(uniform, 3.0), search=search)
        for parents in ((), (0,), (0, 1, 2)):
            expected = TreeScore(ss.BDeu(3.0), search=search).family(3, parents, columns)
            assert same.family(3, parents, columns) == pytest.approx(expected, abs=1e-8)
    v0, v1, v2, x = known
    chain = ss.BayesNet(
        ss.TableCPD(v0, [0.3, 0.7]),
        ss.TableCPD(v1, [[0.6, 0.4], [0.1, 0.9]], given=v0),
        ss.TableCPD(v2, [0.5, 0.5]),
        ss.TableCPD(x, [[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]], given=v1),
    )
    prior = ss.priors.BDe(chain, 5.0)
    full = TreeScore(prior, per_leaf=1e30).tree(3, (0, 1), columns)
    assert full.score - 4 * math.log(1e30) == pytest.approx(prior.family(3, (0, 1), columns), abs=1e-6)


def test_weights_are_repeated_rows() -> None:
    rows, _ = random_rows(1)
    weights = np.random.default_rng(0).integers(0, 3, len(rows))
    once = columns_of(np.repeat(rows, weights, axis=0), np.ones(weights.sum()), (2, 2, 2, 3))
    for score in (TreeScore(ss.BDeu(2.0)), TreeScore(ss.BIC(), splits="value"), TreeScore(ss.K2(), search="exact")):
        found = score.family(3, (0, 1, 2), columns_of(rows, weights, (2, 2, 2, 3)))
        assert found == pytest.approx(score.family(3, (0, 1, 2), once), abs=1e-8)


def test_rows_with_interventions_count_for_others_only() -> None:
    rows, _ = random_rows(3)
    kept = np.random.default_rng(1).random(len(rows)) < 0.6
    marked = columns_of(rows, np.ones(len(rows)), (2, 2, 2, 3), interventions={"v3": ~kept})
    alone = columns_of(rows[kept], np.ones(int(kept.sum())), (2, 2, 2, 3))
    for score in (TreeScore(ss.BDeu(2.0)), TreeScore(ss.K2(), search="exact")):
        assert score.family(3, (0, 1, 2), marked) == pytest.approx(score.family(3, (0, 1, 2), alone), abs=1e-8)
    assert TreeScore(ss.K2()).family(0, (3,), marked) != pytest.approx(TreeScore(ss.K2()).family(0, (3,), alone))


def test_values_against_the_rest_save_leaves() -> None:
    rng = np.random.default_rng(2)
    u = rng.integers(0, 5, 2_000)
    x = (rng.random(2_000) < np.where(u == 3, 0.9, 0.1)).astype(int)
    columns = Columns.of({"u": u, "x": x})
    apart = TreeScore(ss.BDeu(5.0), splits="value").tree(1, (0,), columns)
    assert num_leaves(apart.tree) == 2
    assert apart.score > TreeScore(ss.BDeu(5.0)).tree(1, (0,), columns).score + 5
    leaf = bdeu_leaf(5.0)
    counts = [np.bincount(x[u == 3], minlength=2), np.bincount(x[u != 3], minlength=2)]
    assert apart.score == pytest.approx(leaf(counts[0], 0.2) + leaf(counts[1], 0.8), abs=1e-8)


def context_specific(num_rows: int, seed: int) -> pd.DataFrame:
    """The child follows b where a is 0, and c where a is 1."""
    rng = np.random.default_rng(seed)
    a, b, c, d = rng.integers(0, 2, (4, num_rows))
    x = np.where(rng.random(num_rows) < 0.9, np.where(a == 0, b, c), rng.integers(0, 2, num_rows))
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "x": x})


@pytest.mark.parametrize("method", [ss.HillClimb(), ss.ExactSearch(), ss.structure.BOSS()], ids=repr)
def test_any_search_finds_structure_inside_a_cpd(method: ss.structure.StructureMethod) -> None:
    data = context_specific(800, 1)
    known = ss.structure.Constraints(tiers=[["a", "b", "c", "d"], ["x"]])
    score = TreeScore(ss.BDeu(4.0), search="exact")
    found = ss.learn_structure(data, method=method, score=score, constraints=known)
    assert set(found.dag.parents("x")) == {"a", "b", "c"}
    cpd = found.fit(ss.Bayes(ss.BDeu(4.0))).model.cpd("x")
    assert type(cpd) is ss.TreeCPD
    assert cpd.num_parameters == 4
    assert [v.name for v in cpd.irrelevant({"a": 0})] == ["c"]
    assert [v.name for v in cpd.irrelevant({"a": 1})] == ["b"]
    assert found.score == pytest.approx(ss.structure.score(found.dag, data, score=score).total, abs=1e-8)


def test_the_exact_search_is_the_best_of_all_graphs() -> None:
    data = context_specific(60, 3).drop(columns="d")
    score = TreeScore(ss.BIC(), search="exact")
    found = ss.learn_structure(data, method=ss.ExactSearch(), score=score)
    columns = Columns.of(data)
    family = {
        (x, parents): score.family(x, parents, columns)
        for x in range(4)
        for size in range(4)
        for parents in combinations([y for y in range(4) if y != x], size)
    }
    names = columns.names
    totals = [
        sum(family[x, tuple(sorted(names.index(p) for p in dag.parents(name)))] for x, name in enumerate(names))
        for dag in ss.structure.all_dags(names)
    ]
    assert found.score == pytest.approx(max(totals), abs=1e-8)
    assert found.gap == pytest.approx(0.0, abs=1e-8)


def test_columns_and_states_in_another_order() -> None:
    data = context_specific(300, 5)
    other = data[["x", "c", "a", "d", "b"]].map(lambda cell: f"{1 - cell}")
    for score in (TreeScore(ss.BDeu(3.0)), TreeScore(ss.BIC(), search="exact"), TreeScore(splits="value")):
        graph = ss.DAG("abcdx", [("a", "x"), ("b", "x"), ("c", "x"), ("a", "d")])
        one, two = ss.structure.score(graph, data, score=score), ss.structure.score(graph, other, score=score)
        assert {name: one[name] for name in "abcdx"} == pytest.approx({name: two[name] for name in "abcdx"})


def test_bad_input() -> None:
    data = context_specific(40, 0)
    with pytest.raises(ss.errors.NotApplicable, match="BIC, AIC"):
        ss.learn_structure(data, score=TreeScore(ss.structure.QNML()))
    with pytest.raises(ss.errors.ArgumentError, match="search"):
        TreeScore(search="best")
    with pytest.raises(ss.errors.ArgumentError, match="complete"):
        TreeScore(search="exact", splits="value")
    with pytest.raises(ss.errors.ArgumentError, match="per_leaf"):
        TreeScore(per_leaf=0.0)
    with pytest.raises(ss.errors.ArgumentError, match="TreeScore takes"):
        TreeScore(0.5)  # type: ignore[arg-type]
    with pytest.raises(ss.errors.NotApplicable, match="real"):
        ss.learn_structure({"y": [0.5, 1.5, 2.5]}, score=TreeScore())
    with pytest.raises(ss.errors.NotApplicable, match="missing"):
        ss.learn_structure({"y": [0, None, 1], "z": [0, 1, 1]}, score=TreeScore(), missing="available")
    wide = Columns.of({f"v{k}": np.arange(12) % 3 for k in range(16)})
    with pytest.raises(ss.TooLarge, match="partial assignments"):
        TreeScore(search="exact").family(0, tuple(range(1, 16)), wide)
