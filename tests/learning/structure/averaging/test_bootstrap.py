"""Bootstrap confidence."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sepset.errors import ArgumentError
from sepset.inference.result import Status
from sepset.learning.structure.averaging.bootstrap import BootstrapStructures
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.exact.search import ExactSearch
from sepset.learning.structure.exact.trees import ChowLiu
from sepset.learning.structure.learned import StructureTask
from sepset.learning.structure.scores.likelihood import BIC
from support.score_tables import dependent_rows


def task(seed=0):
    rows = dependent_rows(0, 4, 200)
    return StructureTask(Columns.of(rows), BIC(), rng=np.random.default_rng(seed), progress=False)


def test_strong_and_weak_edges():
    found = BootstrapStructures(ExactSearch(), num_replicates=30).average(task())
    pairs = found.edges + found.edges.T
    whole = ExactSearch().learn(task()).graph
    for a, b in whole.edges:
        assert pairs[whole.nodes.index(a), whole.nodes.index(b)] > 0.5
    assert pairs.max() <= 1.0 + 1e-12
    assert found.consensus().num_edges >= 1
    assert found.graphs[0].weight <= 1.0


def test_directions_of_a_class_are_shared():
    shared = BootstrapStructures(ChowLiu(), num_replicates=5).average(task()).edges
    assert np.array_equal(shared, shared.T)  # a forest has no collider
    directed = BootstrapStructures(ChowLiu(), num_replicates=5, is_class=False).average(task()).edges
    assert np.array_equal(directed + directed.T, shared + shared.T)
    with pytest.raises(ArgumentError, match="num_replicates="):
        BootstrapStructures(ChowLiu(), num_replicates=0)


def test_replicates_end_resume_and_are_interrupted(tmp_path):
    path, method = tmp_path / "replicates", BootstrapStructures(ExactSearch(), num_replicates=8)
    whole = method.average(task())
    few = method.average(replace(task(), until=3, checkpoint=path))
    assert (len(few.parents), few.status, whole.status) == (3, Status.STEP_LIMIT, Status.COMPLETED)
    resumed = method.average(replace(task(), checkpoint=path))
    assert np.array_equal(resumed.edges, whole.edges)
    assert np.array_equal(resumed.parents, whole.parents)

    class CutShort:
        count = 0

        def learn(self, task):
            CutShort.count += 1
            found = ExactSearch().learn(task)
            return replace(found, status=Status.INTERRUPTED) if CutShort.count == 3 else found

    cut = BootstrapStructures(CutShort(), num_replicates=8).average(task())
    assert (len(cut.parents), cut.status) == (2, Status.INTERRUPTED)
