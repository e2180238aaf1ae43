"""What all chains share: settings, diagnostics, resuming, limits."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.cpds.priors.dirichlet import BDeu
from sepset.errors import ArgumentError, NotApplicable
from sepset.inference.result import Status
from sepset.learning.structure.averaging.chains import r_hat
from sepset.learning.structure.averaging.mcmc import OrderMCMC, PartitionMCMC, StructureMCMC
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.learned import StructureTask
from support.score_tables import dependent_rows

DATA = Columns.of(dependent_rows(0, 4, 20))


def task(**options):
    return StructureTask(DATA, BDeu(1.0), rng=np.random.default_rng(3), **options)


@pytest.mark.parametrize("kind", [OrderMCMC, PartitionMCMC, StructureMCMC])
def test_resumed_is_uninterrupted(kind, tmp_path):
    method = kind(num_samples=12, thin=5, burn_in=2, temperatures=(1.0, 2.0))
    whole = method.average(task())
    path = tmp_path / "chain"
    method.average(task(until=6, checkpoint=path))
    resumed = method.average(task(until=14, checkpoint=path))
    assert np.array_equal(whole.edges, resumed.edges)
    assert np.array_equal(whole.parents, resumed.parents)
    assert whole.status is Status.COMPLETED
    assert resumed.status is Status.STEP_LIMIT
    assert len(whole.trace) == 14
    assert 0.0 <= whole.diagnostics["exchanges"] <= 1.0


def test_r_hat_tells_chains_apart():
    rng = np.random.default_rng(0)
    same = rng.normal(size=(3, 400))
    assert r_hat(same) == pytest.approx(1.0, abs=0.02)
    assert r_hat(same + np.array([[0.0], [5.0], [0.0]])) > 2
    assert r_hat(np.zeros((2, 10))) == 1.0
    assert np.isnan(r_hat(np.zeros((2, 3))))


def test_bad_settings():
    for setting in ({"num_samples": 0}, {"thin": 0}, {"burn_in": -1}, {"num_chains": 0}, {"temperatures": (2.0,)}):
        with pytest.raises(ArgumentError):
            PartitionMCMC(**setting)
    with pytest.raises(NotApplicable, match="ended in its burn-in"):
        PartitionMCMC(num_samples=10, thin=1).average(task(until=1))
