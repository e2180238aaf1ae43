"""Tables of candidate parents: their sums against all parent sets."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from sepset.cpds.priors.dirichlet import BDeu
from sepset.errors import TooLarge
from sepset.kernels.structure.candidatesums import score_family, sum_before
from sepset.learning.structure.averaging import candidates
from sepset.learning.structure.averaging.candidates import (
    CandidateTable,
    climbed,
    expanded,
    first_candidates,
    with_parents,
)
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.familyscores import Scorer
from sepset.learning.structure.learned import StructureTask, dag_of
from sepset.learning.structure.search.hillclimb import HillClimb
from support.score_tables import dependent_rows

DATA = Columns.of(dependent_rows(0, 5, 40))


@pytest.mark.parametrize("constraints", [Constraints(), Constraints(required=[("x0", "x1")], max_parents=2)], ids=repr)
@pytest.mark.parametrize("chosen", [None, [[1], [2, 3], [], [0, 1, 2], [3]]])
def test_sums_are_over_the_sets_of_the_table(constraints, chosen):
    scorer, allowed = Scorer(DATA, BDeu(1.0)), constraints.bind(DATA.names)
    table = CandidateTable.full(scorer, allowed) if chosen is None else CandidateTable.of(scorer, allowed, chosen)
    rng = np.random.default_rng(1)
    for v in range(5):
        inside = (rng.random(5) < 0.7).astype(np.uint8)
        inside[v] = 0
        total = -np.inf
        members = np.flatnonzero(inside).tolist()
        for parents in itertools.chain.from_iterable(itertools.combinations(members, k) for k in range(5)):
            flags = np.zeros(5, np.uint8)
            flags[list(parents)] = 1
            beyond = 0 if chosen is None else len(set(parents) - set(chosen[v]))
            missing = set(np.flatnonzero(allowed.required[:, v]).tolist()) - set(parents)
            known = beyond <= 1 and not missing and len(parents) <= allowed.max_parents
            value = scorer.family(v, parents) if known else -np.inf
            found = score_family(v, flags, table.cands, table.outs, table.scores, int(table.starts[v]))
            assert found == pytest.approx(value, abs=1e-9)
            total = np.logaddexp(total, value)
        found = sum_before(v, inside, table.cands, table.outs, table.sums, int(table.starts[v]))
        assert found == pytest.approx(total, abs=1e-9)


def test_first_candidates_respect_constraints():
    constraints = Constraints(required=[("x0", "x1")], forbidden=[("x2", "x3")], max_parents=3)
    chosen = first_candidates(Scorer(DATA, BDeu(1.0)), constraints.bind(DATA.names), 2)
    assert 0 in chosen[1]
    assert 2 not in chosen[3]
    assert max(map(len, chosen)) <= 2


def test_probable_columns_become_candidates():
    edges = np.array([[0.0, 0.5, 0.2], [0.3, 0.0, 0.0], [0.1, 0.4, 0.0]])
    assert expanded([[], [0], []], edges, 0.15) == [[1], [0, 2], [0]]
    assert expanded([[], [0], []], edges, 0.15, most=1) == [[1], [0], [0]]


def test_too_large(monkeypatch):
    monkeypatch.setattr(candidates, "MOST_BYTES", 100)
    with pytest.raises(TooLarge, match="parent sets takes"):
        CandidateTable.of(Scorer(DATA, BDeu(1.0)), Constraints().bind(DATA.names), [[]] * 5)


def test_parents_of_a_good_graph_are_candidates():
    """Hill climbing by itself and through the search end alike; its parents come before other candidates."""
    task = StructureTask(DATA, BDeu(1.0))
    assert dag_of(DATA, climbed(task)) == HillClimb().learn(StructureTask(DATA, BDeu(1.0))).graph
    assert with_parents([[0, 1, 2], []], [[3, 4], [0]], 3) == [[0, 3, 4], [0]]
