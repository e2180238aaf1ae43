"""Search over networks of trees: local optima by enumeration, parities, constraints, priors, resuming, orders."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.local.treescore import TreeScore
from sepset.learning.structure.local.treesearch import TreeSearch
from support.local_trees import LeafFunction, bdeu_leaf, penalized_leaf


def sampled(seed: int, num_rows: int = 300) -> pd.DataFrame:
    return ss.Dataset(ss.datasets.load("asia").sample(num_rows, seed=seed)).to_frame()


def context_specific(num_rows: int, seed: int) -> pd.DataFrame:
    """The child follows b where a is 0, and c where a is 1."""
    rng = np.random.default_rng(seed)
    a, b, c, d = rng.integers(0, 2, (4, num_rows))
    x = np.where(rng.random(num_rows) < 0.9, np.where(a == 0, b, c), rng.integers(0, 2, num_rows))
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "x": x})


class Judge:
    """Scores of the leaves of tree CPDs, counted row by row."""

    def __init__(self, data: pd.DataFrame, leaf: LeafFunction) -> None:
        self.columns, self.leaf = Columns.of(data), leaf
        self.codes = dict(zip(self.columns.names, self.columns.codes, strict=True))
        self.states = {name: int(card) for name, card in zip(self.columns.names, self.columns.cards, strict=True)}

    def value(self, child: str, inside: np.ndarray, share: float) -> float:
        rows = self.codes[child][inside]
        weights = self.columns.weights[inside].astype(float)
        return self.leaf(np.bincount(rows, weights, self.states[child]), share)

    def leaves(self, cpd: ss.TreeCPD) -> list[tuple[np.ndarray, float, dict[str, np.ndarray]]]:
        """The rows, the share and the possible states of each leaf."""
        found, parts = [], cpd.partition
        for leaf in range(parts.num_leaves):
            inside, share, possible = np.ones(self.columns.num_rows, bool), 1.0, {}
            for axis in parts.tested[leaf]:
                mask = parts.masks[axis][leaf]
                inside &= mask[self.codes[parts.variables[axis].name]]
                share *= mask.mean()
                possible[parts.variables[axis].name] = mask
            found.append((inside, share, possible))
        return found

    def total(self, model: ss.BayesNet) -> float:
        return sum(self.value(c.child.name, i, s) for c in model.cpds for i, s, _ in self.leaves(c))  # type: ignore[arg-type]

    def split_gains(self, model: ss.BayesNet, most: int) -> list[float]:
        """The gains of all splits that keep the graph acyclic."""
        graph = nx.DiGraph(model.dag.edges)
        graph.add_nodes_from(self.states)
        found = []
        for cpd in model.cpds:
            child = cpd.child.name
            parents = set(graph.predecessors(child))
            for column in set(self.states) - {child} - nx.descendants(graph, child):
                if column in parents or len(parents) < most:
                    found += [self._gain(child, column, leaf) for leaf in self.leaves(cpd)]  # type: ignore[arg-type]
        return found

    def _gain(self, child: str, column: str, leaf: tuple[np.ndarray, float, dict[str, np.ndarray]]) -> float:
        inside, share, possible = leaf
        states = np.flatnonzero(possible.get(column, np.ones(self.states[column], bool)))
        if len(states) < 2:
            return -np.inf
        parts = [inside & (self.codes[column] == state) for state in states]
        return sum(self.value(child, part, share / len(states)) for part in parts) - self.value(child, inside, share)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("most", [2, 7])
def test_no_change_improves(seed: int, most: int) -> None:
    data = sampled(seed)
    known = ss.structure.Constraints(max_parents=most)
    for score, leaf in ((ss.BDeu(4.0), bdeu_leaf(4.0)), (ss.BIC(), penalized_leaf(0.5 * np.log(300)))):
        found = ss.learn_structure(data, method=TreeSearch(), score=score, constraints=known)
        model, judge = found.fit(ss.Bayes(ss.BDeu(1.0))).model, Judge(data, leaf)
        assert found.score == pytest.approx(judge.total(model), abs=1e-7)
        assert max(judge.split_gains(model, most)) <= 1e-7
        assert model.dag == found.graph
        assert max(len(found.graph.parents(name)) for name in found.graph.nodes) <= most
        assert found.guarantees["structure"] is ss.Guarantee.LOCAL_OPTIMUM
        assert (np.diff(found.trace) >= -1e-9).all()


@pytest.mark.parametrize("score", [ss.BDeu(4.0), ss.BIC(), TreeScore(ss.K2(), splits="value")], ids=repr)
def test_context_specific_structure(score: ss.structure.FamilyScore) -> None:
    data = context_specific(1_000, 2)
    known = ss.structure.Constraints(tiers=[["a", "b", "c", "d"], ["x"]])
    found = ss.learn_structure(data, method=TreeSearch(), score=score, constraints=known)
    assert set(found.graph.parents("x")) == {"a", "b", "c"}
    cpd = found.fit().model.cpd("x")
    assert type(cpd) is ss.TreeCPD
    assert cpd.num_parameters < 8


def test_a_parity_is_found_by_replacing_a_tree() -> None:
    rng = np.random.default_rng(4)
    a, b, c = rng.integers(0, 2, (3, 500))
    data = {"a": a, "b": b, "c": c, "x": a ^ b ^ (rng.random(500) < 0.05)}
    found = ss.learn_structure(data, method=TreeSearch(), score=ss.BDeu(2.0))
    assert found.info["replace_moves"] >= 1
    assert found.graph.num_edges >= 2
    assert ss.learn_structure(data, method=ss.HillClimb(), score=ss.BDeu(2.0)).score < found.score - 100


def test_a_start_is_improved() -> None:
    data = sampled(2)
    score = TreeScore(ss.BIC())
    graph = ss.learn_structure(data, method=ss.HillClimb(), score=score)
    trees = ss.learn_structure(data, method=TreeSearch(), score=score, start=graph.graph)
    assert trees.score >= graph.score - 1e-9
    assert trees.score >= trees.trace[0] - 1e-9


def test_constraints_and_structure_priors() -> None:
    data = sampled(3)
    known = ss.structure.Constraints(
        required=["xray -> asia"], forbidden=["smoke -> lung"], tiers=[["smoke", "bronc"], ["dysp"]], max_parents=2
    )
    found = ss.learn_structure(data, method=TreeSearch(), score=ss.BDeu(3.0), constraints=known)
    assert found.graph.has_edge("xray", "asia")
    assert ("smoke", "lung") not in found.graph.directed
    assert not {("dysp", "smoke"), ("dysp", "bronc")} & set(found.graph.directed)
    prior = ss.structure.EdgePenalty(1e-4)
    sparse = ss.learn_structure(data, method=TreeSearch(), score=ss.BDeu(3.0), structure_prior=prior)
    dense = ss.learn_structure(data, method=TreeSearch(), score=ss.BDeu(3.0))
    assert sparse.graph.num_edges < dense.graph.num_edges
    total = Judge(data, bdeu_leaf(3.0)).total(sparse.fit(ss.Bayes(ss.BDeu(1.0))).model)
    assert sparse.score == pytest.approx(total + sparse.graph.num_edges * np.log(1e-4), abs=1e-6)


def test_resuming_is_not_stopping(tmp_path: Path) -> None:
    data, kept = sampled(5), tmp_path / "trees.checkpoint"
    whole = ss.learn_structure(data, method=TreeSearch(), score=ss.BIC())
    first = ss.learn_structure(data, method=TreeSearch(), score=ss.BIC(), until=ss.Until(steps=3), checkpoint=kept)
    assert first.guarantees["structure"] is ss.Guarantee.HEURISTIC
    assert len(first.trace) == 3
    rest = ss.learn_structure(data, method=TreeSearch(), score=ss.BIC(), checkpoint=kept)
    assert rest.graph == whole.graph
    assert rest.score == pytest.approx(whole.score, abs=1e-9)
    assert rest.trace == pytest.approx(whole.trace)


def test_columns_and_states_in_another_order() -> None:
    data = context_specific(600, 7)
    other = data[["x", "c", "a", "d", "b"]].map(lambda cell: f"{1 - cell}")
    known = ss.structure.Constraints(tiers=[["a", "b", "c", "d"], ["x"]])
    one, two = (
        ss.learn_structure(d, method=TreeSearch(), score=ss.BDeu(3.0), constraints=known) for d in (data, other)
    )
    assert one.score == pytest.approx(two.score)
    assert set(one.graph.directed) == set(two.graph.directed)


def test_weights_interventions_and_small_frames() -> None:
    data = context_specific(80, 1)
    weights = np.random.default_rng(0).integers(0, 3, 80)
    repeated = data.loc[data.index.repeat(weights)]
    one = ss.learn_structure(data, method=TreeSearch(), score=ss.BDeu(2.0), weights=weights)
    assert one.score == pytest.approx(ss.learn_structure(repeated, method=TreeSearch(), score=ss.BDeu(2.0)).score)
    away = {"x": np.arange(80) < 40}
    marked = ss.learn_structure(data, method=TreeSearch(), score=ss.K2(), interventions=away)
    assert marked.guarantees["structure"] is ss.Guarantee.LOCAL_OPTIMUM
    alone = ss.learn_structure({"x": [0, 1, 1]}, method=TreeSearch(), score=ss.K2())
    assert alone.graph.num_edges == 0
    flat = ss.learn_structure(
        {"x": [0, 1, 1], "one": [0, 0, 0]}, method=TreeSearch(), variables=[ss.Discrete("one", (0,))]
    )
    assert flat.graph.num_edges == 0


def test_bad_input() -> None:
    data = context_specific(30, 0)
    with pytest.raises(ss.errors.NotApplicable, match="BIC, AIC"):
        ss.learn_structure(data, method=TreeSearch(), score=ss.structure.QNML())
    uniform = ss.BayesNet(*(ss.TableCPD(ss.Discrete(name), [0.5, 0.5]) for name in data))
    with pytest.raises(ss.errors.NotApplicable, match="BDeu or K2"):
        ss.learn_structure(data, method=TreeSearch(), score=ss.priors.BDe(uniform, 3.0))
    with pytest.raises(ss.errors.NotApplicable, match="missing"):
        ss.learn_structure({"y": [0, None, 1], "z": [0, 1, 1]}, method=TreeSearch(), missing="available")
    with pytest.raises(ss.errors.NotApplicable, match="real"):
        ss.learn_structure({"y": [0.5, 1.5, 2.5]}, method=TreeSearch())
