"""PC: the exact class from an oracle, conflicts, corrections, and published behavior."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.graphs.equivalence import cpdag
from sepset.learning.structure.independence.corrections import BenjaminiHochberg, Bonferroni
from sepset.learning.structure.independence.oracles import DSeparation
from sepset.learning.structure.skeletons.pc import PC
from support.random_dags import random_dag


@pytest.mark.parametrize("n", [5, 10, 15])
def test_an_oracle_gives_the_exact_class(n):
    for seed in range(6):
        dag = random_dag(n, 2.5 / n, seed)
        found = PC(test=DSeparation(dag)).ask(dag.nodes)
        assert found.graph == cpdag(dag)
        assert found.conflicts == ()


def test_many_rows_give_the_class():
    truth = ss.DAG.parse("a -> c; b -> c; c -> d; c -> e")
    found = ss.learn_structure(_network(truth).sample(40_000, seed=0), method=PC(level=0.001))
    assert found.graph == cpdag(truth)


def _network(dag):
    variables = {name: ss.Discrete(name, ["no", "yes"]) for name in dag.nodes}
    cpds = []
    for name in dag.nodes:
        parents = [variables[p] for p in dag.parents(name)]
        chance = np.linspace(0.15, 0.85, 2 ** len(parents)) if parents else np.array([0.5])
        cells = np.column_stack([1 - chance, chance]).ravel()
        cpds.append(ss.TableCPD(variables[name], cells, given=parents))
    return ss.BayesNet(*cpds)


def test_corrections_keep_fewer_edges():
    rng = np.random.default_rng(1)
    rows = {f"v{i}": rng.integers(0, 2, 200) for i in range(12)}
    rows["v1"] = np.where(rng.random(200) < 0.8, rows["v0"], rows["v1"])
    plain = ss.learn_structure(rows, method=PC(level=0.1)).graph
    false = ss.learn_structure(rows, method=PC(level=0.1, correction=BenjaminiHochberg())).graph
    strict = ss.learn_structure(rows, method=PC(level=0.1, correction=Bonferroni())).graph
    assert strict.num_edges <= false.num_edges <= plain.num_edges
    assert strict.has_edge("v0", "v1")
    assert strict.num_edges == 1


def test_one_noisy_exclusive_or_is_not_found():
    """No pair depends on each other: the distribution is not faithful to its graph."""
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 2, (2, 4000))
    c = (a ^ b) ^ (rng.random(4000) < 0.1)
    assert ss.learn_structure({"a": a, "b": b, "c": c.astype(int)}, method=PC(level=0.001)).graph.num_edges == 0
