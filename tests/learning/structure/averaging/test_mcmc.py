"""Chains against the exact posterior over the 543 DAGs of four columns, with and without constraints."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.priors.dirichlet import BDeu
from sepset.errors import TooLarge
from sepset.graphs.graph import DAG
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


def test_corrected_orders_of_too_many_columns():
    wide = Columns.of({f"x{i:02d}": [0, 1] for i in range(22)})
    with pytest.raises(TooLarge, match="up to 20 columns; found 22"):
        OrderMCMC(is_corrected=True).average(StructureTask(wide, BDeu(1.0)))
