"""Steps over DAGs keep the exact distribution over the 543 DAGs of four columns."""

from __future__ import annotations

import numpy as np
import pytest

from sepset.kernels.structure.dagchain import run_structures
from support.stationary import NEVER, SCORER, TABLE, all_graphs, assert_same, uniforms


@pytest.mark.parametrize("heat", [1.0, 0.5])
def test_a_step_keeps_the_distribution(heat):
    graphs, shares = all_graphs()
    place = {g.tobytes(): i for i, g in enumerate(graphs)}
    wanted = shares**heat / (shares**heat).sum()
    start = np.random.default_rng(0).choice(len(graphs), 8000, p=wanted)
    ends = []
    for k, row in zip(start, uniforms(8000), strict=True):
        edges = graphs[k].astype(np.int64).reshape(-1)
        score, _ = run_structures(edges, *TABLE.arrays, row[None], heat, 0.0, NEVER)
        ends.append(place[edges.reshape(4, 4).astype(np.uint8).tobytes()])
    found = graphs[ends[-1]]
    assert score == pytest.approx(SCORER.total([np.flatnonzero(found[:, v]).tolist() for v in range(4)]))
    assert_same(ends, wanted, start)
