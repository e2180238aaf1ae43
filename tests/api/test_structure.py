"""The verbs of structure learning."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest

import sepset as ss


def test_a_frame_becomes_a_network() -> None:
    truth = ss.datasets.load("asia")
    data = ss.Dataset(truth.sample(20_000, seed=0))
    frames = [data, data.to_frame("pandas"), data.to_frame("polars"), data.to_frame("pyarrow")]
    found = [ss.learn_structure(frame) for frame in frames]
    assert len({str(one.graph) for one in found}) == 1
    assert ss.structure.compare(truth.dag, found[0].dag).distance <= 3
    model = found[0].fit(ss.Bayes(ss.BDeu(1.0))).model
    assert ss.query(model, "lung", given={"xray": "yes"})["yes"] == pytest.approx(
        ss.query(truth, "lung", given={"xray": "yes"})["yes"], abs=0.05
    )


def test_the_score_of_a_graph() -> None:
    data = pd.DataFrame({"a": [0, 0, 1, 1], "b": [0, 1, 1, 1], "w": [1.5, 2.5, 0.5, 1.0]})
    found = ss.structure.score(ss.DAG.parse("a -> b"), data, weights="w", score=ss.BDeu(1.0))
    assert set(found) == {"a", "b"}
    assert found.total == pytest.approx(sum(found.values()))
    assert "score" in str(found)
    assert f"{found.total:.7g}" in repr(found)
    with pytest.raises(ss.SepsetError, match="DAG"):
        ss.structure.score(ss.UndirectedGraph("ab", [("a", "b")]), data, weights="w")


def test_graphs_over_very_many_columns_are_scored_without_tables_of_all_pairs() -> None:
    n = 2**14 + 3
    rows = {f"v{i}": [0, 0, 1, 1] if i % 2 else [0, 1, 1, 1] for i in range(n)}
    graph = ss.DAG(list(rows), [("v0", "v1"), ("v1", "v2")])
    found = ss.structure.score(graph, rows)
    bits = math.log(4) / 2  # BIC of a column alone: its log-likelihood less half the logarithm of the rows
    alone = {0: math.log(0.25) + 3 * math.log(0.75) - bits, 1: 4 * math.log(0.5) - bits}
    assert [found[f"v{n - 1}"], found[f"v{n - 2}"]] == pytest.approx([alone[0], alone[1]])
    small = ss.structure.score(ss.DAG.parse("v0 -> v1 -> v2"), rows)
    rest = sum(alone[i % 2] for i in range(3, n))
    assert found.total == pytest.approx(small.total + rest)


def test_scores_by_pairs_of_very_many_columns_are_refused_before_they_are_read() -> None:
    class Unread(list):
        def __iter__(self):
            raise AssertionError("it was read")

    rows = {f"v{i}": Unread([0, 1]) for i in range(20_000)}
    for choice in ({"structure_prior": ss.structure.EdgePenalty(0.5)}, {"score": ss.structure.BGe()}):
        with pytest.raises(ss.errors.TooLarge, match="20,000 columns"):
            ss.structure.score(ss.DAG(list(rows)), rows, **choice)


def test_weights_are_copies_of_rows() -> None:
    rng = np.random.default_rng(0)
    rows = pl.DataFrame({"a": rng.integers(0, 2, 30), "b": rng.integers(0, 2, 30), "c": rng.integers(0, 3, 30)})
    copies = rng.integers(0, 4, 30)
    repeated = rows[np.repeat(np.arange(30), copies)]
    graph = ss.DAG.parse("a -> b -> c")
    for score in (ss.BIC(), ss.BDeu(2.0), ss.K2()):
        one, other = (
            ss.structure.score(graph, d, score=score, weights=w) for d, w in ((rows, copies), (repeated, None))
        )
        assert one.total == pytest.approx(other.total)


def test_bad_input() -> None:
    rows = {"a": [0, 1, 1], "b": [1, 0, 1]}
    with pytest.raises(ss.errors.NotApplicable, match="BIC"):
        ss.learn_structure(rows, score="bic")  # type: ignore[call-overload]
    with pytest.raises(ss.SepsetError, match="cycle"):
        ss.learn_structure(rows, constraints=ss.structure.Constraints(required=["a -> b", "b -> a"]))
    with pytest.raises(ss.SepsetError, match="positive weight"):
        ss.learn_structure(rows, weights=[0, 0, 0])


def test_tables_of_scores(tmp_path) -> None:
    rows = {"a": [0, 0, 1, 1] * 9, "b": [0, 1, 0, 1] * 9, "c": [0, 1, 1, 0] * 9}
    table = ss.structure.parent_set_scores(rows, score=ss.BDeu(2.0))
    table.write(tmp_path / "rows.jkl")
    again = ss.structure.ScoreTable.read(tmp_path / "rows.jkl")
    found = ss.ExactSearch().solve(again)
    assert found.score == pytest.approx(ss.learn_structure(rows, method=ss.ExactSearch(), score=ss.BDeu(2.0)).score)
    ranked = ss.structure.k_best(again, 3)
    assert [r.score for r in ranked] == pytest.approx([found.score] * 3)  # the three ways to direct a collider's class
    assert ss.structure.parent_set_scores(rows, pruned=True).num_sets < table.num_sets


def test_the_posterior_of_edges() -> None:
    rows = {"a": [0, 0, 1, 1] * 9, "b": [0, 1, 1, 1] + [0, 0, 1, 1] * 8, "c": [0, 1, 1, 0] * 9}
    exact = ss.structure_posterior(rows, method=ss.structure.TianHe())
    drawn = ss.structure_posterior(rows, method=ss.PartitionMCMC(num_samples=300), seed=1)
    assert drawn.probability("a -> b") == pytest.approx(exact.probability("a -> b"), abs=0.1)
    again = ss.structure_posterior(rows, method=ss.PartitionMCMC(num_samples=300), seed=1)
    assert (again.edges == drawn.edges).all()


def test_other_columns_are_left_out_of_a_score() -> None:
    data = {"a": [0, 0, 1, 1], "b": [0, 1, 1, 1], "c": [1, 0, 0, 1]}
    graph, was_set = ss.DAG.parse("a -> b"), {"b": [True, False, False, False]}
    part = {name: data[name] for name in "ab"}
    for options in ({}, {"interventions": was_set}):
        one = ss.structure.score(graph, data, **options)  # type: ignore[arg-type]
        other = ss.structure.score(graph, part, **options)  # type: ignore[arg-type]
        assert dict(one) == pytest.approx(dict(other))
    with pytest.raises(ss.SepsetError, match="no column 'z'"):
        ss.structure.score(ss.DAG.parse("a -> z"), data)


def test_arguments_are_checked_whatever_the_method() -> None:
    """An unknown setting, and a start of other columns or without use, are refused before the work."""
    rng = np.random.default_rng(0)
    rows = {name: rng.integers(0, 2, 40) for name in "abc"}
    start = ss.DAG.parse("a -> b; c")
    for method in (ss.ChowLiu(), ss.ExactSearch(), ss.PC(), ss.StructuralEM(), ss.HillClimb()):
        with pytest.raises(ss.SepsetError, match=r"until=|Until"):
            ss.learn_structure(rows, method=method, until="soon")
        with pytest.raises(ss.SepsetError, match="missing= is 'refuse' or 'available'; found 'drop'"):
            ss.learn_structure(rows, method=method, missing="drop")  # type: ignore[arg-type]
    for method in (ss.ChowLiu(), ss.ExactSearch(), ss.PC()):
        with pytest.raises(ss.SepsetError, match="from any start"):
            ss.learn_structure(rows, method=method, start=start)
    for averaging in (ss.structure.TianHe(), ss.structure.Exhaustive(), ss.structure.TreePosterior()):
        with pytest.raises(ss.SepsetError, match="from any start"):
            ss.structure_posterior(rows, method=averaging, start=start)
    for method in (ss.HillClimb(), ss.GES(), ss.StructuralEM()):
        with pytest.raises(ss.SepsetError, match="only one of the two has 'c'"):
            ss.learn_structure(rows, method=method, start=ss.DAG.parse("a -> b"))
