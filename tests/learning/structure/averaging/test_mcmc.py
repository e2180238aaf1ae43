"""Chains against the exact posterior over the 543 DAGs of four columns, with and without constraints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sepset.cpds.priors.dirichlet import BDeu
from sepset.errors import SepsetError, TooLarge
from sepset.graphs.graph import DAG
from sepset.learning.structure.averaging.candidates import CandidateTable
from sepset.learning.structure.averaging.exactsums import KoivistoSood
from sepset.learning.structure.averaging.exhaustive import Exhaustive
from sepset.learning.structure.averaging.mcmc import OrderMCMC, PartitionMCMC, StructureMCMC
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.learned import StructureTask
from support.score_tables import dependent_rows

DATA = Columns.of(dependent_rows(1, 4, 30))
CONSTRAINTS = [Constraints(), Constraints(required=[("x0", "x1")], forbidden=[("x2", "x3")], max_parents=2)]
SHORT = {"num_samples": 800, "thin": 20}


def task(constraints, **options):
    return StructureTask(DATA, BDeu(1.0), constraints=constraints, rng=np.random.default_rng(5), **options)


@pytest.mark.parametrize("constraints", CONSTRAINTS, ids=["free", "constrained"])
@pytest.mark.parametrize(
    "method",
    [
        OrderMCMC(**SHORT),
        OrderMCMC(**SHORT, is_corrected=True),
        PartitionMCMC(**SHORT),
        StructureMCMC(**SHORT),
        StructureMCMC(**SHORT, reversals=0.0),
        PartitionMCMC(**SHORT, candidates=1),
        OrderMCMC(**SHORT, candidates=2),
        PartitionMCMC(num_samples=500, thin=20, temperatures=(1.0, 3.0)),
    ],
    ids=repr,
)
def test_chains_against_exact_sums(method, constraints):
    by_orders = isinstance(method, OrderMCMC) and not method.is_corrected
    exact = (KoivistoSood(0) if by_orders else Exhaustive()).average(task(constraints))
    found = method.average(task(constraints))
    assert np.abs(found.edges - exact.edges).max() < 0.06
    assert np.abs(found.paths - exact.paths).max() < 0.08
    assert found.diagnostics["r_hat"] < 1.05
    allowed = constraints.bind(DATA.names)
    assert all(allowed.permits([np.flatnonzero(g[:, v]) for v in range(4)]) for g in found.parents[::50])


def test_many_columns_have_candidates():
    data = Columns.of(dependent_rows(2, 18, 200))
    limited = Constraints(max_parents=2)
    wide = StructureTask(data, BDeu(1.0), constraints=limited, rng=np.random.default_rng(0))
    found = PartitionMCMC(num_samples=20, thin=100, candidates=2).average(wide)
    assert found.edges.max() <= 1.0 + 1e-9
    assert found.edges.sum() > 5


def test_a_start_is_used():
    start = DAG(DATA.names, [("x0", "x1"), ("x1", "x2")])
    found = StructureMCMC(num_samples=1, thin=1, burn_in=0, num_chains=1).average(task(Constraints(), start=start))
    assert len(set(found.graphs[0].graph.edges) ^ set(start.edges)) <= 2


@pytest.mark.parametrize("seed", range(4))
def test_partitions_start_anywhere(seed):
    """With one parent each, all sets that touch the level below are nothing beside the best of lower levels."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 2, 1000)
    flipped = {name: np.where(rng.random(1000) < 0.1, 1 - first, first) for name in "bcd"}
    data = Columns.of({"a": first, **flipped, "e": rng.integers(0, 2, 1000)})
    start = DAG.parse("b -> e; e -> c; c -> a; a -> d")
    strict = StructureTask(data, BDeu(1.0), constraints=Constraints(max_parents=1), start=start, rng=rng)
    found = PartitionMCMC(num_samples=3, thin=1, burn_in=0).average(strict)
    assert (found.edges >= 0).all()
    assert found.edges.sum(0).max() <= 1 + 1e-5
    assert found.parents.sum(1).max() <= 1


def test_a_start_beyond_the_candidates():
    """Parent sets have one column more than candidates: a start with more begins without parents."""
    start = DAG(DATA.names, [("x0", "x3"), ("x1", "x3"), ("x2", "x3")])
    begun = task(Constraints(), start=start)
    table = CandidateTable.of(begun.scorer, begun.allowed, [[1], [0], [3], [2]])
    graphs = replace(StructureMCMC(), _table=table).init(begun, begun.rng).states.reshape(2, 4, 4)
    assert graphs[0].sum() == 0
    assert graphs[1].sum(0).max() == 1


def test_corrected_orders_of_too_many_columns():
    wide = Columns.of({f"x{i:02d}": [0, 1] for i in range(22)})
    with pytest.raises(TooLarge, match="up to 20 columns; found 22"):
        OrderMCMC(is_corrected=True).average(StructureTask(wide, BDeu(1.0)))


@pytest.mark.parametrize("share", [-0.1, 1.0, 2.0, "half"])
def test_shares_of_reversals_leave_room_for_single_edges(share):
    with pytest.raises(SepsetError, match="reversals"):
        StructureMCMC(reversals=share)
