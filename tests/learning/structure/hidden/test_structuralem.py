"""Structural EM: monotone, ordinary on complete rows, hidden causes, resuming, permuted columns, bad input."""

from __future__ import annotations

import itertools
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
    mixed = {"a": [0, 1, None, 0, 1], "x": [0.5, 1.5, 2.5, np.nan, 3.5]}
    for score in (ss.structure.BGe(), ss.BDeu(1.0), ss.structure.LeaveOneOut()):
        with pytest.raises((NotApplicable, DataError), match=r"BIC\(\)|BGe|real|numbers"):
            ss.learn_structure(mixed, method=ss.StructuralEM(), score=score)
    with pytest.raises(NotApplicable, match="'h' has no cell"):
        ss.learn_structure(mixed, method=ss.StructuralEM(), variables=[ss.Real("h")])
    with pytest.raises(NotApplicable, match="interventions"):
        ss.learn_structure(rows, method=ss.StructuralEM(), interventions=[["a"], [], []])
    with pytest.raises(NotApplicable, match=r"HillClimb\(\)"):
        ss.learn_structure(rows, method=ss.StructuralEM(ss.PC()))
    with pytest.raises(NotApplicable, match=r"available.*StructuralEM"):
        ss.learn_structure(rows, method=ss.GES(), missing="available")
    with pytest.raises(NotApplicable, match="search="):
        ss.StructuralEM(ss.HillClimb)  # type: ignore[arg-type]
    assert ss.learn_structure(rows, missing="available").dag.nodes == ("a", "b")


def mixed_rows(seed: int, num_rows: int = 200, share: float = 0.2) -> dict[str, list[object]]:
    """Rows of a -> b, a -> x, (b, x) -> y and z, y -> w, with cells missing at random."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 3, num_rows)
    b = np.where(rng.random(num_rows) < 0.75, (a > 0).astype(int), rng.integers(0, 2, num_rows))
    x = 1.3 * a + rng.normal(size=num_rows)
    y = np.where(b == 1, 1.0 + x, -0.7 * x) + 0.6 * rng.normal(size=num_rows)
    w, z = 50.0 - 2.0 * y + rng.normal(size=num_rows), rng.normal(size=num_rows)
    made: dict[str, list[object]] = {}
    for name, column in {"a": a, "b": b, "x": x, "y": y, "w": w, "z": z}.items():
        gone = rng.random(num_rows) < share
        made[name] = [None if g else f"s{v}" if name in "ab" else float(v) for v, g in zip(column, gone, strict=True)]
    return made


def log_density_by_hand(net: ss.BayesNet, row: dict[str, object]) -> float:
    """The log density of the found cells: a sum over missing states of dense Gaussians."""
    states = [v for v in net.variables if v.is_discrete]
    reals = [name for name in net.dag.topological_order if not net.variables[net.variables.id(name)].is_discrete]
    terms = []
    for cell in itertools.product(*(v.states if row.get(v.name) is None else [row[v.name]] for v in states)):
        state, at = dict(zip((v.name for v in states), cell, strict=True)), {name: k for k, name in enumerate(reals)}
        total, mean, slopes, noise = 0.0, np.zeros(len(reals)), np.zeros((len(reals), len(reals))), np.zeros(len(reals))
        for cpd in net.cpds:
            if cpd.child.is_discrete:
                place = tuple(v.states.index(state[v.name]) for v in (*cpd.parents, cpd.child))
                total += float(np.log(cpd.values[place]))
                continue
            where = (
                int(
                    np.ravel_multi_index(
                        [v.states.index(state[v.name]) for v in cpd.by], [v.num_states for v in cpd.by]
                    )
                )
                if cpd.by
                else 0
            )
            own = at[cpd.child.name]
            mean[own], noise[own] = cpd.intercept[where, 0], cpd.covariance[where, 0, 0]
            slopes[own, [at[v.name] for v in cpd.given]] = cpd.coefficients[where, 0]
        spread = np.linalg.inv(np.eye(len(reals)) - slopes)
        seen = [at[name] for name in reals if row.get(name) is not None]
        apart = np.array([row[reals[k]] for k in seen], float) - (spread @ mean)[seen]
        dense = (spread @ np.diag(noise) @ spread.T)[np.ix_(seen, seen)]
        total -= 0.5 * (np.linalg.slogdet(2 * np.pi * dense)[1] + apart @ np.linalg.solve(dense, apart))
        terms.append(total)
    return float(np.logaddexp.reduce(terms))


def test_columns_of_states_and_numbers() -> None:
    """The score is that of the network by hand, never falls, and does not depend on the order of columns and states."""
    method = ss.StructuralEM(ss.ExactSearch(), em_steps=2)
    for seed in range(3):
        rows = mixed_rows(seed)
        found = ss.learn_structure(rows, method=method)
        each = [dict(zip(rows, cells, strict=True)) for cells in zip(*rows.values(), strict=True)]
        by_hand = sum(log_density_by_hand(found.model, row) for row in each)
        assert found.log_likelihood == pytest.approx(by_hand, rel=1e-9)
        assert found.score == pytest.approx(by_hand - 0.5 * np.log(200) * found.model.num_parameters, rel=1e-9)
        assert np.diff(found.trace).min() >= RISES
        assert found.guarantees["structure"] is ss.Guarantee.LOCAL_OPTIMUM
        other = {name: rows[name] for name in "zwybxa"}
        states = [ss.Discrete("a", ("s2", "s0", "s1"))]
        again = ss.learn_structure(other, method=method, variables=states)
        assert again.score == pytest.approx(found.score, rel=1e-6)
        assert again.cpdag == found.cpdag


def test_mixed_columns_are_recovered_better_than_from_available_rows() -> None:
    truth = ss.learn_structure(mixed_rows(3, 1_000, 0.0)).dag
    assert set(truth.edges) >= {("b", "y"), ("x", "y")}
    rows = mixed_rows(3, 1_000, 0.25)
    found = ss.learn_structure(rows, method=ss.StructuralEM())
    assert ss.graphs.skeleton(found.dag) == ss.graphs.skeleton(truth)


def test_no_round_lowers_the_score_of_mixed_columns() -> None:
    changes, method = [], ss.StructuralEM(em_steps=1, restarts=1)
    for seed, score in itertools.product(range(2), (ss.BIC(), ss.structure.AIC())):
        rng = np.random.default_rng(seed)
        task = StructureTask(Columns(ss.Dataset(mixed_rows(seed, 60, 0.35)), missing="available"), score)
        state, is_done = method.init(task, rng), False
        while not is_done:
            before, (state, info) = state, method.step(task, state, rng)
            is_done = info.is_done
            if state.starts == before.starts:
                changes.append(state.score - before.score)
    assert len(changes) > 10
    assert min(changes) >= RISES


def test_mixed_columns_weights_resuming_and_complete_rows(tmp_path: Path) -> None:
    rows, times = mixed_rows(5, 100), np.random.default_rng(5).integers(1, 4, 100)
    method = ss.StructuralEM(em_steps=1, restarts=1)
    repeated = {
        name: [v for v, t in zip(column, times, strict=True) for _ in range(t)] for name, column in rows.items()
    }
    one, other = ss.learn_structure(rows, method=method, weights=times), ss.learn_structure(repeated, method=method)
    assert other.score == pytest.approx(one.score)
    assert other.cpdag == one.cpdag
    for steps in (1, 3, 1000):
        cut = ss.learn_structure(rows, method=method, weights=times, until=steps, checkpoint=tmp_path / "run")
    assert cut.trace.tolist() == one.trace.tolist()
    assert cut.dag == one.dag
    complete = mixed_rows(5, 300, 0.0)
    assert (
        ss.learn_structure(complete, method=method).score == ss.learn_structure(complete, method=ss.HillClimb()).score
    )


def test_a_hidden_state_explains_numbers() -> None:
    rng = np.random.default_rng(1)
    h = rng.integers(0, 2, 300)
    rows = {f"x{k}": 3.0 * h + rng.normal(size=300) for k in range(4)}
    found = ss.learn_structure(rows, method=ss.StructuralEM(), variables=[ss.Discrete("h", 2)])
    assert {(a, b) for a, b in found.dag.edges if a == "h"} == {("h", x) for x in rows}
    assert found.score > ss.learn_structure(rows).score + 20


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
