"""First graphs of structural EM: required edges, hidden variables for what they explain, and random moves."""

from __future__ import annotations

import numpy as np

import sepset as ss
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.familyscores import Scorer
from sepset.learning.structure.hidden.starts import first_graph, never_observed, perturbed
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.search.moves import SearchedGraph


def columns_with_cause() -> Columns:
    rng = np.random.default_rng(0)
    cause = rng.integers(0, 2, 300)
    rows = {f"x{k}": np.where(rng.random(300) < 0.95, cause, 1 - cause) for k in range(4)}
    return Columns.of(
        rows | {"noise": rng.integers(0, 2, 300)}, variables=[ss.Discrete("h")], missing="available", hidden=True
    )


def test_hidden_variables_begin_with_what_they_explain() -> None:
    columns = columns_with_cause()
    assert never_observed(columns) == [5]
    task = StructureTask(columns, ss.BIC())
    assert first_graph(task, np.random.default_rng(0)) == [[5], [5], [5], [5], [], []]
    known = ss.structure.Constraints(required=["x1 -> h"], forbidden=["h -> x0"])
    bound = StructureTask(columns, ss.BIC(), constraints=known)
    assert first_graph(bound, np.random.default_rng(0))[5] == [1]
    start = StructureTask(columns, ss.BIC(), start=ss.DAG(columns.names, [("x0", "h")]))
    assert first_graph(start, np.random.default_rng(0)) == [[], [], [], [], [], [0]]


def test_random_moves_respect_constraints() -> None:
    columns = Columns.of({name: [0, 1, 1, 0] for name in "abcd"})
    known = ss.structure.Constraints(required=["a -> b"], forbidden=["c -> d"])
    task = StructureTask(columns, ss.BIC(), constraints=known)
    graph = SearchedGraph(Scorer(columns, ss.BIC()), task.allowed, task.start_parents())
    parents = perturbed(graph, np.random.default_rng(1))
    assert task.allowed.permits(parents)
    assert parents != task.start_parents()
