"""Steps of chains keep their states valid; numbers of topological orders."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from sepset.cpds.priors.dirichlet import BDeu
from sepset.kernels.structure.chains import log_extensions, run_orders, run_partitions, run_structures
from sepset.learning.structure.averaging.candidates import CandidateTable
from sepset.learning.structure.columns import Columns
from sepset.learning.structure.constraints import Constraints
from sepset.learning.structure.exact.scoretable import bits
from sepset.learning.structure.familyscores import Scorer
from support.score_tables import dependent_rows

NEVER = np.zeros(1, np.uint8)


def table_and_scorer():
    data = Columns.of(dependent_rows(0, 4, 20))
    scorer = Scorer(data, BDeu(1.0))
    return CandidateTable.full(scorer, Constraints().bind(data.names)), scorer


def test_states_stay_valid():
    table, scorer = table_and_scorer()
    rng = np.random.default_rng(0)
    order, levels, edges = np.arange(4), np.zeros(4, np.int64), np.zeros(16, np.int64)
    for _ in range(60):
        uniforms = 1.0 - rng.random((3, 9))
        uniforms[:, :3] = 1.0 - uniforms[:, :3]
        run_orders(order, *table.arrays, uniforms, 1.0, NEVER)
        assert sorted(order) == [0, 1, 2, 3]
        run_partitions(levels, *table.arrays, uniforms, 1.0, NEVER)
        assert set(levels) == set(range(levels.max() + 1))
        score, _ = run_structures(edges, *table.arrays, uniforms, 1.0, NEVER)
        graph = edges.reshape(4, 4)
        assert not np.trace(np.linalg.matrix_power(np.eye(4, dtype=int) + graph, 4) - np.eye(4, dtype=int))
        assert score == pytest.approx(scorer.total([np.flatnonzero(graph[:, v]).tolist() for v in range(4)]))


def test_topological_orders():
    rng = np.random.default_rng(1)
    for _ in range(20):
        parents = [int(rng.integers(0, 1 << v)) for v in range(5)]
        count = sum(
            all(set(bits(parents[v])) <= set(order[:i]) for i, v in enumerate(order))
            for order in itertools.permutations(range(5))
        )
        assert log_extensions(np.array(parents)) == pytest.approx(math.log(count))
