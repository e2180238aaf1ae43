"""Latent trees from rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import sepset as ss
from sepset.errors import ArgumentError, NotApplicable
from support.latent_trees import splits

LEAVES = [f"x{i}{j}" for i in range(3) for j in range(3)]


def causes(strength: float = 0.88) -> ss.BayesNet:
    """A hidden root with three hidden children, each with three observed ones."""

    def copy(child: ss.Discrete, parent: ss.Discrete) -> ss.TableCPD:
        return ss.TableCPD(child, [[strength, 1 - strength], [1 - strength, strength]], given=parent)

    root, middle = ss.Discrete("r"), [ss.Discrete(f"m{i}") for i in range(3)]
    return ss.BayesNet(
        ss.TableCPD(root, [0.5, 0.5]),
        *(copy(m, root) for m in middle),
        *(copy(ss.Discrete(f"x{i}{j}"), middle[i]) for i in range(3) for j in range(3)),
    )


def named_splits(graph: ss.DAG) -> set[frozenset[frozenset[int]]]:
    number = {name: k for k, name in enumerate([*LEAVES, *(n for n in graph.nodes if n not in LEAVES)])}
    return splits([(number[a], number[b]) for a, b in graph.directed], range(len(LEAVES)))


ROWS = causes().sample(600, seed=2).select(LEAVES)


def test_hidden_causes_are_found() -> None:
    found = ss.learn_structure(ROWS, method=ss.structure.LatentTree(num_trees=4))
    assert named_splits(found.graph) == named_splits(causes().dag)
    assert [v.num_states for v in found.hidden] == [2] * 4
    truth = ss.structure.log_evidence(causes(), ROWS, method=ss.structure.ObservedBIC("parameters"))
    assert found.score == pytest.approx(truth.value, abs=0.01)
    tree = ss.learn_structure(ROWS, method=ss.ChowLiu())
    assert found.score > tree.score + 100
    assert found.log_likelihood > tree.fit().log_likelihood + 100
    assert found.tried[0].num_hidden == 0
    assert found.score - found.tried[0].score == pytest.approx(max(one.gain for one in found.tried), abs=1e-9)


def test_the_result_is_fitted_and_prints_what_was_tried() -> None:
    found = ss.learn_structure(ROWS, method=ss.structure.LatentTree(num_trees=3))
    again = found.fit()
    assert again.log_likelihood == pytest.approx(found.log_likelihood, abs=0.01)
    assert again.model.dag == found.graph
    assert "gain" in str(found)
    assert found.guarantees["structure"] is ss.Guarantee.HEURISTIC


def test_missing_cells_are_summed_out() -> None:
    rows = ss.missing.hide_cells(ROWS, ss.missing.MCAR(0.05), seed=0)
    found = ss.learn_structure(rows, method=ss.structure.LatentTree(num_trees=3))
    assert named_splits(found.graph) == named_splits(causes().dag)


def test_orders_of_columns_say_nothing() -> None:
    rng = np.random.default_rng(0)
    other = ROWS.select(rng.permutation(LEAVES).tolist())
    one, two = (ss.learn_structure(rows, method=ss.structure.LatentTree(num_trees=3)) for rows in (ROWS, other))
    assert named_splits(one.graph) == named_splits(two.graph)
    assert one.score == pytest.approx(two.score, abs=0.01)


def test_independent_and_constant_columns_stay_alone() -> None:
    rng = np.random.default_rng(1)
    rows = {"a": rng.integers(0, 2, 300), "b": rng.integers(0, 3, 300), "c": ["same"] * 300}
    found = ss.learn_structure(rows, method=ss.structure.LatentTree(), variables=[ss.Discrete("c", ("same",))])
    assert found.graph.num_edges == 0
    assert found.hidden == ()
    assert found.score == pytest.approx(ss.structure.score(ss.DAG("ab"), rows).total, abs=1e-6)


def test_a_tree_without_hidden_variables_stays_as_it_is() -> None:
    """A chain of observed variables: the spanning tree, with the same score as Chow and Liu's."""
    chain = [ss.Discrete(n) for n in "abcd"]
    net = ss.BayesNet(
        ss.TableCPD(chain[0], [0.5, 0.5]),
        *(ss.TableCPD(v, [[0.85, 0.15], [0.2, 0.8]], given=u) for u, v in itertools.pairwise(chain)),
    )
    rows = net.sample(600, seed=0)
    found = ss.learn_structure(rows, method=ss.structure.LatentTree())
    assert found.hidden == ()
    assert found.score == pytest.approx(ss.learn_structure(rows, method=ss.ChowLiu()).score, abs=1e-6)


def test_more_states_where_they_help() -> None:
    rng = np.random.default_rng(0)
    cluster = rng.integers(0, 3, 300)
    rows = {n: np.where(rng.random(300) < 0.9, cluster, rng.integers(0, 3, 300)) for n in "abcd"}
    found = ss.learn_structure(rows, method=ss.structure.LatentTree(max_states=3, num_trees=2))
    assert [v.num_states for v in found.hidden] == [3]


def test_names_that_are_columns_are_not_taken() -> None:
    star = ss.classify.latent_class([ss.Discrete(n) for n in ("H1", "b", "c")], 2)
    likely = [
        ss.TableCPD(star.variables[n], [[0.9, 0.1], [0.1, 0.9]], given=star.variables["class"])
        for n in ("H1", "b", "c")
    ]
    rows = star.with_cpds(*likely).sample(500, seed=0).select(["H1", "b", "c"])
    assert [v.name for v in ss.learn_structure(rows, method=ss.structure.LatentTree()).hidden] == ["H2"]


def test_bad_input_is_one_error() -> None:
    with pytest.raises(ArgumentError, match="max_states"):
        ss.structure.LatentTree(3, max_states=2)
    with pytest.raises(NotApplicable, match="real"):
        ss.learn_structure({"x": [0.5, 1.5, 2.5]}, method=ss.structure.LatentTree())
    with pytest.raises(NotApplicable, match="BIC"):
        ss.learn_structure(ROWS, method=ss.structure.LatentTree(), score=ss.BDeu(1))
    known = ss.structure.Constraints(forbidden=["x00 -> x01"])
    with pytest.raises(NotApplicable, match="constraints"):
        ss.learn_structure(ROWS, method=ss.structure.LatentTree(), constraints=known)
