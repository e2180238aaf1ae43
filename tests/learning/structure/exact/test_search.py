"""`ExactSearch`: its methods agree, respect constraints, prove or say the gap, and refuse with an estimate."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.priors.dirichlet import K2, BDeu
from sepset.errors import ArgumentError, TooLarge
from sepset.inference.result import Guarantee, Status
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.exact.enumeration import all_scores
from sepset.learning.structure.exact.families import score_table
from sepset.learning.structure.exact.search import ExactSearch
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.scores.likelihood import AIC, BIC
from support.score_tables import dependent_rows, random_constraints, random_table


def test_ctrl_c_before_the_first_dag_gives_a_greedy_one(monkeypatch):
    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr("sepset.learning.structure.exact.search.score_table", interrupted)
    limits = Constraints(required=[("x3", "x0")])
    task = StructureTask(Columns.of(dependent_rows(4, 4, 50)), BIC(), constraints=limits)
    best = ExactSearch("dynamic").learn(task).score
    found = ExactSearch("astar").learn(task)
    assert found.status is Status.INTERRUPTED
    assert found.score <= best <= found.bound
    assert found.guarantees["structure"] is Guarantee.HEURISTIC
    assert ("x3", "x0") in found.graph.edges
    assert found.score == pytest.approx(
        task.scorer.total([[int(p[1:]) for p in found.graph.parents(v)] for v in found.graph.nodes])
    )


def test_ctrl_c_after_the_table_gives_a_dag_of_the_table(monkeypatch):
    def interrupted(*_args, **_options):
        raise KeyboardInterrupt

    task = StructureTask(Columns.of(dependent_rows(4, 6, 50)), BIC())
    best = ExactSearch("dynamic").learn(task).score
    monkeypatch.setattr("sepset.learning.structure.exact.search.astar", interrupted)
    found = ExactSearch("astar").learn(task)
    assert found.status is Status.INTERRUPTED
    assert found.score <= best <= found.bound < 0


METHODS = ("auto", "dynamic", "astar", "integer")


@pytest.mark.parametrize("score", [BIC(), AIC(), BDeu(1.0), K2()], ids=repr)
@pytest.mark.parametrize(
    "constraints",
    [Constraints(), Constraints(required=[("x0", "x1")], forbidden=[("x2", "x3"), ("x3", "x2")], max_parents=2)],
    ids=repr,
)
def test_all_methods_agree(score, constraints):
    task = StructureTask(Columns.of(dependent_rows(4, 4, 50)), score, constraints=constraints)
    best = all_scores(score_table(task.scorer, task.allowed)).max()
    for method in METHODS:
        found = ExactSearch(method).learn(task)
        assert found.score == pytest.approx(best, abs=1e-8)
        assert found.gap == 0.0
        assert found.guarantees["structure"] is Guarantee.EXACT
        assert found.status is Status.COMPLETED
        names = found.columns.names
        assert task.allowed.permits([[names.index(p) for p in found.graph.parents(v)] for v in names])


def test_a_thousand_random_tables():
    """Enumeration, dynamic programming, A* and the integer program agree on a thousand, half of them with ties."""
    rng = np.random.default_rng(7)
    for trial in range(1000):
        table = random_table(rng, int(rng.integers(1, 5)), tied=bool(trial % 2))
        best = all_scores(table).max()
        for method in ("dynamic", "astar", "integer"):
            assert ExactSearch(method).solve(table).score == pytest.approx(best, abs=1e-8)


def test_random_rows_and_constraints():
    """Dynamic programming, A* and some integer programs against enumeration."""
    rng = np.random.default_rng(8)
    for trial in range(120):
        n = int(rng.integers(2, 5))
        rows = {f"x{i}": rng.integers(0, 2 + i % 2, 15) for i in range(n)}
        task = StructureTask(Columns.of(rows), AIC(), constraints=random_constraints(rng, list(rows)))
        best = all_scores(score_table(task.scorer, task.allowed)).max()
        for method in ("dynamic", "astar", *(("integer",) if trial % 10 == 0 else ())):
            found = ExactSearch(method).learn(task)
            assert found.score == pytest.approx(best, abs=1e-8)
            assert task.allowed.permits([[list(rows).index(p) for p in found.graph.parents(v)] for v in rows])


def test_columns_in_another_order():
    rows = dependent_rows(6, 6, 80)
    scores = set()
    for names in (list(rows), list(rows)[::-1]):
        task = StructureTask(Columns.of({name: rows[name] for name in names}), BIC())
        scores |= {round(ExactSearch(method).learn(task).score, 7) for method in METHODS}
    assert len(scores) == 1


def test_the_gap_when_steps_end_it():
    task = StructureTask(Columns.of(dependent_rows(8, 9, 60)), K2(), until=0)
    found = ExactSearch("integer").learn(task)
    best = ExactSearch("dynamic").learn(task).score
    assert found.status is Status.STEP_LIMIT
    assert found.guarantees["structure"] is Guarantee.LOWER_BOUND
    assert found.score <= best + 1e-9 <= found.bound + 2e-9


def test_refused():
    with pytest.raises(ArgumentError, match="'auto', 'dynamic'"):
        ExactSearch("dynamics")
    data = Columns.of({f"x{i:02d}": [0, 1, 1, 0] for i in range(40)})
    with pytest.raises(TooLarge, match="the subsets of 40 columns takes about"):
        ExactSearch("dynamic").learn(StructureTask(data, BIC()))
    wide = Columns.of({f"x{i:02d}": [0, 1, 1, 0] for i in range(70)})
    with pytest.raises(TooLarge, match="up to 62 columns; found 70"):
        ExactSearch().learn(StructureTask(wide, BIC()))


def test_one_column_and_constant_columns():
    one = ExactSearch().learn(StructureTask(Columns.of({"a": [0, 1]}), BIC()))
    assert one.graph.edges == ()
    rows = {"a": [0, 1, 0, 1], "b": ["x"] * 4}
    for method in METHODS:
        assert ExactSearch(method).learn(StructureTask(Columns.of(rows), BDeu(1.0))).gap == 0.0
