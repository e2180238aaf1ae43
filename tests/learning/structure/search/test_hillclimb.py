"""Hill climbing: local optima, published narratives, ties, tabu, restarts, constraints, resuming."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.familyscores import TOLERANCE, Scorer
from sepset.learning.structure.scores.likelihood import BIC
from sepset.learning.structure.search.hillclimb import HillClimb
from sepset.learning.structure.search.moves import SearchedGraph


def binary_rows(n: int) -> dict[str, np.ndarray]:
    cells = np.indices((2,) * n).reshape(n, -1)
    return dict(zip("abcdefg", cells, strict=False))


def sampled(seed: int, num_rows: int = 400) -> ss.Dataset:
    return ss.Dataset(ss.datasets.load("asia").sample(num_rows, seed=seed))


@pytest.mark.parametrize("method", [HillClimb(), HillClimb(tabu=10), HillClimb(tabu=5, restarts=3)], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_no_move_improves(method: HillClimb, seed: int) -> None:
    data = sampled(seed)
    found = ss.learn_structure(data, method=method, score=ss.BDeu(5.0), seed=seed)
    columns = Columns.of(data)
    place = {name: k for k, name in enumerate(columns.names)}
    parents = [[place[p] for p in found.graph.parents(name)] for name in columns.names]
    graph = SearchedGraph(Scorer(columns, ss.BDeu(5.0)), Constraints().bind(columns.names), parents)
    best = graph.best()
    assert best is None or best.gain <= TOLERANCE
    assert found.score == pytest.approx(graph.score)
    assert found.guarantees["structure"] is ss.Guarantee.LOCAL_OPTIMUM
    assert found.score >= ss.learn_structure(data, method=HillClimb(), score=ss.BDeu(5.0)).score - 1e-9


def test_deleting_edges_repairs_what_additions_did() -> None:
    a, b, c, d = binary_rows(4).values()
    p_b, p_c = np.where(a, 0.20, 0.95), np.where(a, 0.85, 0.05)
    p_d = np.array([0.80, 0.90, 0.30, 0.75])[2 * b + c]
    mass = 0.5 * np.where(b, p_b, 1 - p_b) * np.where(c, p_c, 1 - p_c) * np.where(d, p_d, 1 - p_d)
    found = ss.learn_structure(binary_rows(4), weights=10_000 * mass, method=HillClimb())
    assert found.score == pytest.approx(-18561.75528, abs=1e-4)
    assert found.cpdag == ss.graphs.cpdag(ss.DAG.parse("a -> b; a -> c; b -> d; c -> d"))


def test_reversing_edges_escapes() -> None:
    a, b, c = binary_rows(3).values()
    p_c = np.array([0.75, 0.95, 0.10, 0.70])[2 * a + b]
    mass = 0.25 * np.where(c, p_c, 1 - p_c)
    start = ss.DAG("abc", [("c", "a")])
    found = ss.learn_structure(binary_rows(3), weights=5_000 * mass, method=HillClimb(), start=start)
    assert found.score == pytest.approx(-9078.020, abs=1e-3)
    assert set(found.graph.directed) == {("a", "c"), ("b", "c")}


def test_greedy_climbing_does_not_see_a_parity() -> None:
    a, b, c = binary_rows(3).values()
    mass = 0.25 * np.where(c == a ^ b, 0.9, 0.1)
    found = ss.learn_structure(binary_rows(3), weights=1_000 * mass, method=HillClimb())
    assert found.graph.num_edges == 0
    assert found.score == pytest.approx(-2089.80317, abs=1e-4)
    true = ss.structure.score(ss.DAG.parse("a -> c <- b"), binary_rows(3), weights=1_000 * mass)
    assert true.total == pytest.approx(-1732.10060, abs=1e-4)


def test_columns_and_states_in_another_order() -> None:
    data = sampled(1, 2_000).to_frame()
    one = ss.learn_structure(data, score=ss.BDeu(3.0))
    renamed = data.map(lambda cell: f"{9 - len(str(cell))}{cell}")
    other = ss.learn_structure(renamed, score=ss.BDeu(3.0))
    assert other.score == pytest.approx(one.score)
    assert other.graph == one.graph
    for seed in range(3):
        shuffled = renamed[list(np.random.default_rng(seed).permutation(data.columns))]
        again = ss.structure.score(one.graph, shuffled, score=ss.BDeu(3.0))
        assert again.total == pytest.approx(one.score)
        from_there = ss.learn_structure(shuffled, score=ss.BDeu(3.0), method=HillClimb(), start=one.graph)
        assert from_there.cpdag == one.cpdag


def test_constraints_hold() -> None:
    data = sampled(2, 1_000)
    constraints = Constraints(
        required=["asia -> xray"], forbidden=["lung -> either"], tiers=[["asia", "smoke"]], max_parents=1
    )
    for method in (HillClimb(), HillClimb(tabu=10, restarts=2)):
        found = ss.learn_structure(data, method=method, constraints=constraints, seed=3)
        assert found.graph.has_edge("asia", "xray")
        assert not found.graph.has_edge("lung", "either")
        assert max(len(found.graph.parents(name)) for name in found.graph.nodes) <= 1


def test_resuming_is_the_same_as_going_on(tmp_path: Path) -> None:
    data, method = sampled(4, 300), HillClimb(tabu=6, restarts=2)
    whole = ss.learn_structure(data, method=method, seed=5)
    file = tmp_path / "climb"
    for steps in (3, 9, 1_000):
        part = ss.learn_structure(
            data, method=method, seed=5, until=ss.Until(steps=steps, tolerance=None), checkpoint=file
        )
    assert part.graph == whole.graph
    assert part.score == whole.score
    assert np.array_equal(part.trace, whole.trace)


def test_a_limit_ends_with_the_best_so_far() -> None:
    found = ss.learn_structure(sampled(0), method=HillClimb(tabu=20, restarts=5), until=3)
    assert found.status is ss.Status.STEP_LIMIT
    assert found.graph.num_edges == 3
    assert found.guarantees["structure"] is ss.Guarantee.HEURISTIC


def test_degenerate_columns() -> None:
    one_state = [ss.Discrete("a", ("x",))]
    constant = ss.learn_structure({"a": ["x"] * 5, "b": [0, 1, 0, 1, 1]}, variables=one_state)
    assert constant.graph.num_edges == 0
    alone = ss.learn_structure({"a": [0, 1, 1]})
    assert alone.graph.num_edges == 0
    assert alone.score == pytest.approx(ss.structure.score(alone.graph, {"a": [0, 1, 1]}).total)
    twins = ss.learn_structure(ss.Dataset({name: [0, 1] * 10 for name in "abc"}))
    assert twins.graph.num_edges == 2
    wide = ss.learn_structure(pd.DataFrame({"a": [str(k) for k in range(9)], "b": [str(k) for k in range(9)]}))
    assert wide.graph.num_edges == 0


@pytest.mark.parametrize("settings", [{"tabu": -1}, {"patience": 0}, {"restarts": -1}, {"perturb": 0}])
def test_bad_settings(settings: dict[str, int]) -> None:
    with pytest.raises(ss.SepsetError, match=next(iter(settings))):
        HillClimb(**settings)


def test_random_ties() -> None:
    rows = ss.Dataset({name: [0, 0, 1, 1] * 5 for name in "abcd"})
    graphs = {str(ss.learn_structure(rows, method=HillClimb(ties="random"), seed=seed).graph) for seed in range(8)}
    assert len(graphs) > 1
    first = ss.learn_structure(rows, method=HillClimb())
    assert ss.learn_structure(rows, method=HillClimb(ties="random")).score == pytest.approx(first.score)
    with pytest.raises(ss.SepsetError, match="ties"):
        HillClimb(ties="last")


def test_scores_of_an_independent_climb() -> None:
    """The climb of an independent implementation on rows that everyone has: scores to one decimal."""
    path = Path(__file__).parents[5] / "shared/data/structure/insurance_5000.csv.gz"
    if not path.exists():
        pytest.skip("the common rows are not here")
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    found = ss.learn_structure(frame.loc[:, frame.nunique() > 1], method=HillClimb(), score=BIC())
    assert found.score == pytest.approx(-68209.2, abs=0.05)
