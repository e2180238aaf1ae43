"""Structural EM: monotone, ordinary on complete rows, hidden causes, resuming, permuted columns, bad input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sepset as ss
from sepset.errors import DataError, NotApplicable
from sepset.inference.result import Status
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.learned import StructureTask
from support.incomplete_rows import completions, masked_rows, random_network

RISES = -1e-7


def observed_log_likelihood(net: ss.BayesNet, data: ss.Dataset) -> float:
    """By the chain rule: the probability of a completion over that of the completion given the row."""
    first = {row: (codes, chance) for row, codes, chance in completions(net, data) if chance > 0}
    total = 0.0
    for codes, chance in first.values():
        whole = net.log_probability(ss.Dataset.from_codes(data.variables, codes[None]))[0]
        total += float(whole) - np.log(chance)
    return total


@pytest.mark.parametrize("score", [ss.BIC(), ss.structure.AIC(), ss.BDeu(2.0)], ids=repr)
@pytest.mark.parametrize("seed", range(3))
def test_the_score_of_observed_cells_never_decreases(seed: int, score: object) -> None:
    rng = np.random.default_rng(seed)
    net = random_network(rng, (2, 3, 2, 2, 2))
    data = masked_rows(net, 150, 0.3, rng)
    found = ss.learn_structure(data, method=ss.StructuralEM(em_steps=2, restarts=1), score=score, seed=seed)
    assert np.diff(found.trace).min() >= RISES
    assert found.trace[-1] == pytest.approx(found.score)
    assert found.status is ss.Status.CONVERGED
    assert found.fit().log_likelihood >= found.log_likelihood + RISES


@pytest.mark.parametrize("score", [ss.BIC(), ss.structure.AIC(), ss.BDeu(2.0), ss.BDeu(20.0), ss.K2()], ids=repr)
def test_no_round_lowers_the_score_of_its_start(score: object) -> None:
    """The trace is the best score of all starts; here each round of a start is compared with the one before."""
    changes, method = [], ss.StructuralEM(em_steps=1, restarts=1)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        data = masked_rows(random_network(rng, (2, 3, 2, 2, 2)), 100, 0.4, rng)
        data = data.take(np.flatnonzero((data.matrix() >= 0).any(axis=1)))
        task = StructureTask(Columns(data, missing="available"), score)  # type: ignore[arg-type]
        state, is_done = method.init(task, rng), False
        while not is_done:
            before, (state, info) = state, method.step(task, state, rng)
            is_done = info.is_done
            if state.starts == before.starts:
                changes.append(state.score - before.score)
    assert len(changes) > 30
    assert min(changes) >= RISES


@pytest.mark.parametrize("seed", range(2))
def test_the_score_is_that_of_the_network(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = masked_rows(random_network(rng, (2, 3, 2)), 60, 0.3, rng)
    data = data.take(np.flatnonzero((data.matrix() >= 0).any(axis=1)))
    found = ss.learn_structure(data, method=ss.StructuralEM())
    assert found.log_likelihood == pytest.approx(observed_log_likelihood(found.model, data))
    penalty = 0.5 * np.log(data.num_rows) * found.model.num_parameters
    assert found.score == pytest.approx(found.log_likelihood - penalty)


@pytest.mark.parametrize("score", [ss.BIC(), ss.BDeu(4.0)], ids=repr)
@pytest.mark.parametrize("search", [ss.HillClimb(), ss.GES(), ss.ExactSearch()], ids=repr)
def test_complete_rows_are_searched_as_ever(search: object, score: object) -> None:
    data = random_network(np.random.default_rng(0), (2, 3, 2, 2)).sample(200)
    found = ss.learn_structure(data, method=ss.StructuralEM(search), score=score)
    plain = ss.learn_structure(data, method=search, score=score)
    assert found.dag == plain.dag
    assert found.score == plain.score
    assert found.trace.tolist() == plain.trace.tolist()
    assert found.fit().model.dag == plain.dag


@pytest.mark.parametrize("search", [ss.GES(), ss.ExactSearch(), ss.HillClimb(tabu=5), ss.structure.BOSS()], ids=repr)
def test_other_searches(search: object) -> None:
    rng = np.random.default_rng(5)
    data = masked_rows(random_network(rng, (2, 2, 2, 2)), 200, 0.2, rng)
    found = ss.learn_structure(data, method=ss.StructuralEM(search))
    assert np.diff(found.trace).min(initial=0.0) >= RISES
    assert found.score >= ss.learn_structure(data, method=ss.StructuralEM(), until=1).score - 1e-6


def hidden_cause() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    cause = rng.integers(0, 2, 400)
    return {f"x{k}": np.where(rng.random(400) < 0.9, cause, 1 - cause) for k in range(5)}


def test_a_hidden_common_cause_improves_the_score() -> None:
    data = hidden_cause()
    plain = ss.learn_structure(data, method=ss.HillClimb())
    found = ss.learn_structure(data, method=ss.StructuralEM(), variables=[ss.Discrete("h", 2)])
    assert found.score > plain.score + 20
    assert found.info["hidden"] == "h"
    assert ss.graphs.skeleton(found.dag) == ss.graphs.skeleton(ss.DAG(found.dag.nodes, [("h", x) for x in data]))
    assert np.diff(found.trace).min() >= RISES
    given = ss.DAG(found.dag.nodes, [("h", x) for x in data])
    again = ss.learn_structure(data, method=ss.StructuralEM(), variables=[ss.Discrete("h", 2)], start=given)
    assert again.score == pytest.approx(found.score, rel=1e-6)
    two = ss.learn_structure(
        data, method=ss.StructuralEM(), variables=[ss.Discrete("h", 2), ss.Discrete("g", 3)], until=3
    )
    assert two.info["hidden"] == "h, g"


def test_columns_and_states_in_another_order() -> None:
    rng = np.random.default_rng(2)
    data = masked_rows(random_network(rng, (2, 3, 2, 2)), 300, 0.2, rng)
    found = ss.learn_structure(data, method=ss.StructuralEM())
    variables = [ss.Discrete(v.name, v.states[::-1]) for v in reversed(tuple(data.variables))]
    other = ss.learn_structure(ss.Dataset(data, variables), method=ss.StructuralEM())
    assert other.score == pytest.approx(found.score, rel=1e-7)
    assert other.cpdag == found.cpdag


def test_rows_without_any_cell_are_left_out() -> None:
    rng = np.random.default_rng(4)
    data = masked_rows(random_network(rng, (2, 2, 2)), 80, 0.3, rng)
    seen = data.take(np.flatnonzero((data.matrix() >= 0).any(axis=1)))
    empty = ss.Dataset.from_codes(data.variables, np.full((5, 3), -1))
    found, other = (ss.learn_structure(rows, method=ss.StructuralEM()) for rows in (seen, seen.concat(empty)))
    assert other.dag == found.dag
    assert other.score == pytest.approx(found.score)
    with pytest.raises(DataError, match="Every cell is missing"):
        ss.learn_structure(empty, method=ss.StructuralEM())


def test_weights_are_repeated_rows() -> None:
    rng = np.random.default_rng(6)
    data = masked_rows(random_network(rng, (2, 3, 2)), 60, 0.3, rng)
    times = rng.integers(1, 4, 60)
    weighted = ss.learn_structure(data, method=ss.StructuralEM(), weights=times)
    repeated = ss.learn_structure(data.take(np.repeat(np.arange(60), times)), method=ss.StructuralEM())
    assert weighted.dag == repeated.dag
    assert weighted.score == pytest.approx(repeated.score)


def test_resumed_is_uninterrupted(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    data = masked_rows(random_network(rng, (2, 3, 2, 2)), 120, 0.4, rng)
    method, file = ss.StructuralEM(em_steps=1, restarts=2), tmp_path / "run"
    whole = ss.learn_structure(data, method=method, seed=3)
    for steps in (1, 3, 1000):
        found = ss.learn_structure(data, method=method, seed=3, until=steps, checkpoint=file)
    assert len(whole.trace) > 4
    assert found.trace.tolist() == whole.trace.tolist()
    assert found.dag == whole.dag
    assert found.status is whole.status


def test_constraints_hold() -> None:
    rng = np.random.default_rng(8)
    data = masked_rows(random_network(rng, (2, 2, 2, 2)), 200, 0.2, rng)
    known = ss.structure.Constraints(required=["v3 -> v0"], forbidden=["v0 -> v1"], max_parents=1)
    found = ss.learn_structure(data, method=ss.StructuralEM(restarts=2), constraints=known)
    assert ("v3", "v0") in found.dag.edges
    assert ("v0", "v1") not in found.dag.edges
    assert max(len(found.dag.parents(name)) for name in found.dag.nodes) <= 1


def test_what_is_refused() -> None:
    rows = {"a": [0, 1, None], "b": [0, 1, 1]}
    with pytest.raises(DataError, match=r"'a' misses one cell.*StructuralEM\(\)"):
        ss.learn_structure(rows)
    with pytest.raises(DataError, match=r"'h'.*StructuralEM\(\)"):
        ss.learn_structure({"a": [0, 1]}, variables=[ss.Discrete("h")])
    with pytest.raises(NotApplicable, match="'x' is real"):
        ss.learn_structure({"a": [0, 1, None], "x": [0.5, 1.5, 2.5]}, method=ss.StructuralEM())
    with pytest.raises(NotApplicable, match="interventions"):
        ss.learn_structure(rows, method=ss.StructuralEM(), interventions=[["a"], [], []])
    with pytest.raises(NotApplicable, match=r"HillClimb\(\)"):
        ss.learn_structure(rows, method=ss.StructuralEM(ss.PC()))
    with pytest.raises(NotApplicable, match=r"available.*StructuralEM"):
        ss.learn_structure(rows, method=ss.GES(), missing="available")
    with pytest.raises(NotApplicable, match="search="):
        ss.StructuralEM(ss.HillClimb)  # type: ignore[arg-type]
    assert ss.learn_structure(rows, missing="available").dag.nodes == ("a", "b")


def test_ctrl_c_inside_the_search_ends_the_rounds():
    """A search inside that Ctrl-C cut short is not taken for a round; mixtures and candidates stop as well."""
    rng = np.random.default_rng(0)
    rows = {name: rng.integers(0, 2, 60).astype(float) for name in "abc"}
    rows["a"][:5] = np.nan
    states = [ss.Discrete(name, (0.0, 1.0)) for name in "abc"]

    class CutShort:
        def learn(self, task):
            return replace(ss.HillClimb().learn(task), status=Status.INTERRUPTED)

    found = ss.learn_structure(rows, method=ss.StructuralEM(CutShort()), variables=states)
    assert (found.status, len(found.trace)) == (Status.INTERRUPTED, 0)
    complete = {name: column[5:].astype(int) for name, column in rows.items()}
    mixture = ss.learn_structure(complete, method=ss.structure.MixtureOfNetworks(2, CutShort()))
    assert mixture.status is Status.INTERRUPTED


def test_ctrl_c_among_the_candidates_ends_the_hybrid_search():
    rng = np.random.default_rng(0)
    rows = {name: rng.integers(0, 2, 60) for name in "abc"}

    class CutShort(ss.structure.MMPC):
        def learn(self, task):
            return replace(super().learn(task), status=Status.INTERRUPTED)

    found = ss.learn_structure(rows, method=ss.MMHC(candidates=CutShort()))
    assert (found.status, found.graph.num_edges) == (Status.INTERRUPTED, 0)
