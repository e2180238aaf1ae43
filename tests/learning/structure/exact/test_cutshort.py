"""Where the time ends an exact search: a DAG that the constraints allow, and a bound on all of them."""

from __future__ import annotations

import numpy as np
import pytest

import sepset as ss
from sepset.cpds.priors.dirichlet import K2, BDeu
from sepset.inference.result import Guarantee, Status
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.exact.cutshort import cut_short
from sepset.learning.structure.exact.search import ExactSearch
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.scores.likelihood import AIC, BIC
from support.score_tables import dependent_rows, random_constraints


def test_the_end_of_the_time_gives_a_dag_and_a_bound():
    """Whatever the constraints: the score of a DAG that they allow, below the optimum, below the bound."""
    rng = np.random.default_rng(3)
    for trial in range(20):
        rows = dependent_rows(trial, 6, 40, states=2 + trial % 2)
        constraints = random_constraints(rng, list(rows))
        score = (BIC(), BDeu(1.0), K2(), AIC())[trial % 4]
        best = ExactSearch("dynamic").learn(StructureTask(Columns.of(rows), score, constraints=constraints)).score
        task = StructureTask(Columns.of(rows), score, constraints=constraints, until=ss.Until(seconds=0))
        found = ExactSearch("dynamic").learn(task)
        assert (found.status, found.guarantees["structure"]) == (Status.TIME_LIMIT, Guarantee.HEURISTIC)
        assert found.score <= best + 1e-9 <= found.bound + 2e-9
        parents = [[list(rows).index(p) for p in found.graph.parents(v)] for v in rows]
        assert task.allowed.permits(parents)
        assert found.score == pytest.approx(task.scorer.total(parents), abs=1e-9)


def test_a_bound_that_is_known_is_kept_where_it_is_tighter():
    task = StructureTask(Columns.of(dependent_rows(1, 4, 30)), BIC())
    loose = cut_short(task, None, Status.TIME_LIMIT)
    tight = cut_short(task, None, Status.TIME_LIMIT, bound=loose.score + 0.5)
    assert loose.score + 0.5 < loose.bound
    assert (tight.bound, tight.score) == (loose.score + 0.5, loose.score)
